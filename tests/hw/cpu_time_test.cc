// Where a CPU's time goes: how long it has been halted, and what an interrupt leaves of a stretch.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::HaltKind;
using hw::Vector;

constexpr Time ns(std::int64_t count) { return Time::ns(count); }

TEST(HaltedTime, FromTheInstructionToTheNext) {
  MachineUnderTest m(flat_spec(1));
  const hw::Cpu& cpu = m.machine.cpu(0);
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(5))});
  m.run_on(0, {},
           {exec(ns(50)), halt(HaltKind::kHlt, ns(20), ns(300)), irq_off(), exec(ns(100)),
            halt(HaltKind::kWfi, ns(20), ns(300)), exec(ns(10))});
  m.deliver_at(ns(1000), 0, Vector::kReschedule);
  m.deliver_at(ns(2000), 0, Vector::kReschedule);
  m.at(ns(500), [&] { EXPECT_EQ(cpu.halted_time(), ns(450)); });  // while it is
  m.at(ns(1400), [&] { EXPECT_EQ(cpu.halted_time(), ns(1250)); });
  m.run();
  // Until 1300; again from 1300 + 5 + 100, until 2300.
  EXPECT_EQ(cpu.halted_time(), ns(1250 + 895));
}
TEST(HaltedTime, NothingIfItFallsThrough) {
  MachineUnderTest m(flat_spec(1));
  m.run_on(0, {}, {exec(ns(50)), halt(HaltKind::kWfi, ns(20), ns(300))});
  m.deliver_at(ns(20), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.machine.cpu(0).halted_time(), Time{});
}

// --- exec_until_interrupt()

using Seen = std::vector<std::pair<Time, Time>>;
struct Left {
  Seen seen;  // when, and what was left
};
sim::Co<> stretches(hw::Cpu& cpu, Left& left) {
  hw::Cpu& self = cpu;
  co_await self.local_irq_enable();
  Time remaining = ns(100);
  while (remaining > Time{}) {
    remaining = co_await self.exec_until_interrupt(remaining);
    left.seen.emplace_back(self.now(), remaining);
  }
  // Another stretch is not cut short by what happened before.
  co_await self.exec_time(ns(50));
  left.seen.emplace_back(self.now(), Time{});
}
Seen left_with(const std::vector<std::int64_t>& interrupts) {
  MachineUnderTest m(flat_spec(1));
  Left left;
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(30))});
  m.run_on(0, {}, stretches(m.machine.cpu(0), left));
  for (const std::int64_t time : interrupts) m.deliver_at(ns(time), 0, Vector::kReschedule);
  m.run();
  return left.seen;
}

TEST(ExecUntilInterrupt, RunsToTheEndIfNothingComes) {
  EXPECT_EQ(left_with({}), (Seen{{ns(100), {}}, {ns(150), {}}}));
}
TEST(ExecUntilInterrupt, SaysWhatIsLeftWhenTheHandlerHasEnded) {
  EXPECT_EQ(left_with({40}), (Seen{{ns(70), ns(60)}, {ns(130), {}}, {ns(180), {}}}));
  EXPECT_EQ(left_with({40, 90}),
            (Seen{{ns(70), ns(60)}, {ns(120), ns(40)}, {ns(160), {}}, {ns(210), {}}}));
}
// Ordinary stretches go on where they were.
TEST(ExecUntilInterrupt, IsNotForOtherStretches) {
  EXPECT_EQ(left_with({120}), (Seen{{ns(100), {}}, {ns(180), {}}}));
}

}  // namespace
}  // namespace idlesim::testing

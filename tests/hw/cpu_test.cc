// A CPU by itself: store buffer, interrupts, instructions that wait. Times by hand from
// flat_spec(): a line from another core takes 10 + 20 + 30 ns, from memory 10 + 30 + 5000.
#include "idlesim/hw/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;
using hw::AtomicOp;
using hw::HaltKind;
using hw::LineState;
using hw::Vector;

constexpr Time kStart = Time::us(100);

hw::MachineSpec arm_spec(int cores) {
  hw::MachineSpec spec = flat_spec(cores);
  spec.cpu.arch = Arch::kArm64;
  return spec;
}

// --- store buffer

TEST(StoreBuffer, AStoreReturnsAtOnceAndIsSeenWhenItsLineIsHere) {
  MachineUnderTest m(flat_spec(2));
  hw::Word& x = m.word();
  m.run_on(1, {}, {store(x, 1)});
  Script& r = m.run_on(0, kStart, {store(x, 2), load(x), exec(ns(1))});
  m.at(kStart + ns(60) - Time::ps(1), [&] { EXPECT_EQ(x.peek(), 1u); });
  m.at(kStart + ns(60) + Time::ps(1), [&] { EXPECT_EQ(x.peek(), 2u); });
  m.run();
  EXPECT_EQ(r.time(0), kStart);
  EXPECT_EQ(r.time(1), kStart);  // forwarded
  EXPECT_EQ(r.value(1), 2u);
}

TEST(StoreBuffer, ForwardsTheNewestStore) {
  MachineUnderTest m(flat_spec(2));
  hw::Word &x = m.word(), &y = m.word();
  Script& r = m.run_on(0, {}, {store(x, 1), store(y, 5), store(x, 2), load(x)});
  m.run();
  EXPECT_EQ(r.value(3), 2u);
  EXPECT_EQ(r.time(3), Time{});
  EXPECT_EQ(x.peek(), 2u);
}

TEST(StoreBuffer, DrainsInOrder) {
  MachineUnderTest m(flat_spec(2));
  hw::Word &cold = m.word(), &hot = m.word();
  m.run_on(0, {}, {store(hot, 1), until(kStart), store(cold, 1), store(hot, 2)});
  m.at(kStart + ns(5039), [&] { EXPECT_EQ(hot.peek(), 1u); });
  m.at(kStart + ns(5041), [&] {
    EXPECT_EQ(cold.peek(), 1u);
    EXPECT_EQ(hot.peek(), 2u);
  });
  m.run();
  EXPECT_EQ(hot.peek(), 2u);
}

TEST(StoreBuffer, ABarrierWaitsForItAndCosts) {
  MachineUnderTest m(flat_spec(2));
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {barrier(), store(x, 1), barrier()});
  m.run();
  EXPECT_EQ(r.time(0), ns(7));
  EXPECT_EQ(r.time(1), ns(7));
  EXPECT_EQ(r.time(2), ns(7 + 5040 + 7));
}

TEST(StoreBuffer, ALockedInstructionWaitsForItOnX86) {
  MachineUnderTest m(flat_spec(2));
  hw::Word &x = m.word(), &y = m.word();
  Script& r = m.run_on(0, {}, {load(y), store(x, 1), posted(AtomicOp::kOr, y, 1)});
  m.run();
  EXPECT_EQ(r.time(1), ns(5040));
  EXPECT_EQ(r.time(2), ns(5040 + 5040 + 5));
}

TEST(StoreBuffer, AnAtomicWithoutResultIsPostedOnArm64) {
  MachineUnderTest m(arm_spec(2));
  hw::Word &x = m.word(), &y = m.word();
  Script& r = m.run_on(0, {}, {load(y), store(x, 1), posted(AtomicOp::kOr, y, 1), load(y)});
  m.run();
  EXPECT_EQ(r.time(2), ns(5040));
  // Its result is not known before it is executed, hence after the store to x.
  EXPECT_EQ(r.time(3), ns(5040 + 5040));
  EXPECT_EQ(r.value(3), 1u);
}

TEST(StoreBuffer, AFullOneMakesTheStoreWaitForOneEntry) {
  MachineUnderTest m(flat_spec(2));
  Steps steps;
  for (int i = 0; i < 6; ++i) steps.push_back(store(m.word(), 1));
  Script& r = m.run_on(0, {}, steps);
  m.run();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(r.time(i), Time{});
  EXPECT_EQ(r.time(4), ns(5040));
  EXPECT_EQ(r.time(5), ns(2 * 5040));
}

TEST(StoreBuffer, KeepsItsOrderOverManyEntries) {
  MachineUnderTest m(flat_spec(2));
  hw::Word &x = m.word(), &y = m.word();
  Steps mine, theirs;
  for (std::uint64_t i = 1; i <= 300; ++i) mine.push_back(store(i % 2 != 0 ? x : y, i));
  for (int i = 0; i < 100; ++i) theirs.push_back(atomic(AtomicOp::kOr, i % 2 != 0 ? x : y, 0));
  Script& a = m.run_on(0, {}, mine);
  Script& b = m.run_on(1, {}, theirs);
  m.run();
  EXPECT_TRUE(a.done && b.done);
  EXPECT_EQ(x.peek(), 299u);
  EXPECT_EQ(y.peek(), 300u);
  std::uint64_t last[2] = {0, 0};
  for (std::size_t i = 0; i < b.samples.size(); ++i) {
    EXPECT_GE(b.value(i), last[i % 2]);
    last[i % 2] = b.value(i);
  }
}

// --- far atomics

// How long a barrier waits for a posted atomic to a line that `owner` has modified.
Time far_atomic_seen(hw::Atomics atomics, CpuId owner) {
  hw::MachineSpec spec = arm_spec(2);
  spec.coherence.atomics = atomics;
  MachineUnderTest m(spec);
  hw::Word& x = m.word();
  Steps steps = {until(kStart), posted(AtomicOp::kAdd, x, 1), barrier()};
  if (owner == 0) steps.insert(steps.begin(), store(x, 4));
  if (owner == 1) m.run_on(1, {}, {store(x, 4)});
  Script& r = m.run_on(0, {}, steps);
  m.run();
  EXPECT_EQ(x.peek(), 5u);
  const bool far =
      atomics == hw::Atomics::kFar || (atomics == hw::Atomics::kFarUnlessUnique && owner == 1);
  EXPECT_EQ(x.line().owner(), far ? hw::kNoCore : 0);
  EXPECT_TRUE(x.line().sharers().empty());
  return r.samples.back().time - kStart - ns(7);
}

TEST(FarAtomic, IsExecutedAtTheHome) {
  // request + snoop + data to the home + service
  EXPECT_EQ(far_atomic_seen(hw::Atomics::kFar, 1), ns(10 + 20 + 30 + 9));
  EXPECT_EQ(far_atomic_seen(hw::Atomics::kFarUnlessUnique, 1), ns(10 + 20 + 30 + 9));
  EXPECT_EQ(far_atomic_seen(hw::Atomics::kNear, 1), ns(10 + 20 + 30));
}
TEST(FarAtomic, StaysInTheCoreThatHasTheLineToItself) {
  EXPECT_EQ(far_atomic_seen(hw::Atomics::kFarUnlessUnique, 0), ns(5));
  EXPECT_EQ(far_atomic_seen(hw::Atomics::kNear, 0), ns(5));
  // Always far: the line goes home with the request.
  EXPECT_EQ(far_atomic_seen(hw::Atomics::kFar, 0), ns(10 + 9));
}

TEST(Atomic, OperationsGiveTheOldValue) {
  MachineUnderTest m(flat_spec(1));
  hw::Word& x = m.word();
  Script& r = m.run_on(
      0, {},
      {store(x, 12), atomic(AtomicOp::kAnd, x, 6), atomic(AtomicOp::kOr, x, 3),
       atomic(AtomicOp::kAdd, x, 10), atomic(AtomicOp::kXchg, x, 99),
       atomic(AtomicOp::kCmpxchg, x, 1, 98), atomic(AtomicOp::kCmpxchg, x, 2, 99), load(x)});
  m.run();
  const std::uint64_t expected[] = {0, 12, 4, 7, 17, 99, 99, 2};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(r.value(i), expected[i]) << i;
}

// --- interrupts

TEST(Interrupt, SplitsAStretchExactly) {
  MachineUnderTest m(flat_spec(1));
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(30))});
  Script& r = m.run_on(0, {}, {irq_on(), exec(ns(100)), exec(ns(10))});
  m.deliver_at(ns(40), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kReschedule, ns(40), ns(40)}}));
  EXPECT_EQ(r.time(1), ns(130));
  EXPECT_EQ(r.time(2), ns(140));
  EXPECT_TRUE(m.machine.cpu(0).irqs_enabled());
}

TEST(Interrupt, AMaskedOneStaysPendingUntilEnabled) {
  MachineUnderTest m(flat_spec(1));
  m.on_interrupt(0, Vector::kLocalTimer, {exec(ns(5))});
  Script& r = m.run_on(0, {}, {exec(ns(100)), irq_on(), exec(ns(10)), irq_off()});
  m.deliver_at(ns(40), 0, Vector::kLocalTimer);
  m.at(ns(99), [&] { EXPECT_EQ(m.machine.cpu(0).pending(), bit(Vector::kLocalTimer)); });
  m.run();
  EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kLocalTimer, ns(100), ns(40)}}));
  EXPECT_EQ(r.time(1), ns(105));
  EXPECT_EQ(r.time(2), ns(115));
}

TEST(Interrupt, HigherVectorsFirstAndEachOnce) {
  MachineUnderTest m(flat_spec(1));
  for (Vector v : {Vector::kReschedule, Vector::kCallFunctionSingle, Vector::kLocalTimer})
    m.on_interrupt(0, v, {exec(ns(10))});
  m.run_on(0, {}, {exec(ns(100)), irq_on(), exec(ns(1))});
  m.deliver_at(ns(10), 0, Vector::kLocalTimer);
  m.deliver_at(ns(20), 0, Vector::kCallFunctionSingle);
  m.deliver_at(ns(30), 0, Vector::kReschedule);
  m.deliver_at(ns(40), 0, Vector::kReschedule);  // merges with the pending one
  m.run();
  EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kReschedule, ns(100), ns(30)},
                                         {0, Vector::kCallFunctionSingle, ns(110), ns(20)},
                                         {0, Vector::kLocalTimer, ns(120), ns(10)}}));
}

TEST(Interrupt, WaitsForTheEndOfAMemoryAccess) {
  MachineUnderTest m(flat_spec(1));
  hw::Word& x = m.word();
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(30))});
  Script& r = m.run_on(0, {}, {irq_on(), load(x), exec(ns(1))});
  m.deliver_at(ns(40), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken.at(0).time, ns(5040));
  EXPECT_EQ(r.time(1), ns(5070));
}

// The handler's own load must not change what the interrupted one has read.
TEST(Interrupt, KeepsTheResultOfTheInterruptedAccess) {
  MachineUnderTest m(flat_spec(1));
  hw::Word &x = m.word(), &y = m.word();
  x.poke(11);
  y.poke(22);
  m.on_interrupt(0, Vector::kReschedule, {load(y)});
  Script& r = m.run_on(0, {}, {irq_on(), load(x)});
  m.deliver_at(ns(40), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(r.value(1), 11u);
  EXPECT_EQ(m.handled.at(0).value, 22u);
}

TEST(Interrupt, NestsWhereAHandlerEnables) {
  MachineUnderTest m(flat_spec(1));
  m.on_interrupt(0, Vector::kLocalTimer, {irq_on(), exec(ns(50)), irq_off()});
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(7))});
  Script& r = m.run_on(0, {}, {irq_on(), exec(ns(100))});
  m.deliver_at(ns(40), 0, Vector::kLocalTimer);
  m.deliver_at(ns(60), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken.size(), 2u);
  EXPECT_EQ(m.taken.at(1).time, ns(60));
  EXPECT_EQ(r.time(1), ns(100 + 50 + 7));
}

TEST(Interrupt, IpiAndTimerArriveOnTime) {
  hw::TopologySpec topology;
  topology.sockets = 2;
  topology.clusters_per_node = 2;
  MachineUnderTest m(small_spec(topology));
  for (CpuId cpu : {1, 2}) m.run_on(cpu, {}, {irq_on(), exec(Time::us(1))});
  m.run_on(0, ns(5),
           {ipi(1, Vector::kReschedule), ipi(2, Vector::kCallFunctionSingle), timer(ns(300)),
            irq_on(), exec(Time::us(1))});
  m.run();
  EXPECT_EQ(m.taken, (std::vector<Taken>{{1, Vector::kReschedule, ns(75), ns(75)},
                                         {2, Vector::kCallFunctionSingle, ns(95), ns(95)},
                                         {0, Vector::kLocalTimer, ns(300), ns(300)}}));
}

// --- HLT, WFI

TEST(Hlt, AnInterruptEndsItAfterTheExitLatency) {
  MachineUnderTest m(flat_spec(1));
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(5))});
  Script& r = m.run_on(0, {}, {halt(HaltKind::kHlt, ns(20), ns(300)), irq_off()});
  m.deliver_at(ns(1000), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken.at(0).time, ns(1300));
  EXPECT_EQ(m.taken.at(0).arrived, ns(1000));
  EXPECT_EQ(r.time(0), ns(1305));
}

TEST(Hlt, AWakeDuringEntryWaitsForIt) {
  MachineUnderTest m(flat_spec(1));
  Script& r = m.run_on(0, {}, {halt(HaltKind::kHlt, ns(20), ns(300)), irq_off()});
  m.deliver_at(ns(5), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(r.time(0), ns(20 + 300));
}

// STI's shadow: what is pending is taken, and HLT does not sleep over it.
TEST(Hlt, DoesNotSleepOverAPendingInterrupt) {
  for (HaltKind kind : {HaltKind::kHlt, HaltKind::kMwait}) {
    MachineUnderTest m(flat_spec(1));
    hw::Word& x = m.word();
    m.on_interrupt(0, Vector::kReschedule, {exec(ns(5))});
    Script& r = m.run_on(
        0, {}, {load(x), monitor(x), until(ns(6000)), halt(kind, ns(20), ns(300)), irq_off()});
    m.deliver_at(ns(5500), 0, Vector::kReschedule);
    m.run();
    EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kReschedule, ns(6000), ns(5500)}}));
    EXPECT_TRUE(r.done);
    EXPECT_EQ(r.time(3), ns(6005));
  }
}

TEST(Hlt, IsNotEndedByAStore) {
  MachineUnderTest m(flat_spec(2));
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {load(x), monitor(x), halt(HaltKind::kHlt, {}, {})});
  m.run_on(1, kStart, {store(x, 1)});
  m.run();
  EXPECT_FALSE(r.done);
  EXPECT_TRUE(m.machine.cpu(0).halted());
}

TEST(Wfi, AMaskedInterruptEndsItAndStaysPending) {
  MachineUnderTest m(arm_spec(1));
  Script& r = m.run_on(0, {}, {halt(HaltKind::kWfi, ns(20), ns(300)), exec(ns(50)), irq_on()});
  m.deliver_at(ns(1000), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(r.time(0), ns(1300));
  EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kReschedule, ns(1350), ns(1000)}}));
}

TEST(Wfi, FallsThroughIfOneIsPending) {
  MachineUnderTest m(arm_spec(1));
  Script& r = m.run_on(0, {}, {exec(ns(50)), halt(HaltKind::kWfi, ns(20), ns(300))});
  m.deliver_at(ns(10), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(r.time(1), ns(50));
  EXPECT_TRUE(m.taken.empty());
}

// --- MONITOR, MWAIT

struct Mwait {
  Time over = Time::never();
  bool asleep = false;
};
// CPU 0 brings the line (5040 ns), arms the monitor at 6000 and executes MWAIT at 7000; CPU 1
// starts `steps`, given the monitored word and another of its line, at `at`.
Mwait mwait(HaltKind kind, Time at, Steps (*steps)(hw::Word&, hw::Word&), int threads = 1) {
  hw::MachineSpec spec = flat_spec(2);
  spec.topology.threads_per_core = threads;
  MachineUnderTest m(spec);
  hw::Line& line = m.line();
  hw::Word &x = m.word(line), &y = m.word(line);
  Script& r = m.run_on(
      0, {}, {load(x), until(ns(6000)), monitor(x), until(ns(7000)), halt(kind, ns(20), ns(300))});
  m.run_on(threads == 1 ? 1 : 2, at, steps(x, y));
  m.run();
  if (!r.done) return {Time::never(), m.machine.cpu(0).halted()};
  return {r.time(4), false};
}
Steps write(hw::Word& x, hw::Word&) { return {store(x, 1)}; }
Steps write_neighbour(hw::Word&, hw::Word& y) { return {store(y, 1)}; }
Steps read(hw::Word& x, hw::Word&) { return {load(x)}; }

TEST(Mwait, AStoreBeforeMonitorIsNotRemembered) {
  // The line leaves at 5910 and MONITOR arms on a line that is elsewhere: a spurious end is
  // legal, but what is not seen is the store. With the line back in time it sleeps.
  hw::MachineSpec spec = flat_spec(2);
  MachineUnderTest m(spec);
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {},
                       {load(x), until(ns(6000)), load(x), monitor(x), until(ns(7000)),
                        halt(HaltKind::kMwaitBreak, ns(20), ns(300))});
  m.run_on(1, ns(5800), {store(x, 1)});
  m.run();
  EXPECT_EQ(r.value(2), 1u);
  EXPECT_FALSE(r.done);
  EXPECT_TRUE(m.machine.cpu(0).halted());
}

TEST(Mwait, AStoreBetweenMonitorAndMwaitFallsThrough) {
  EXPECT_EQ(mwait(HaltKind::kMwaitBreak, ns(6500), write).over, ns(7000));
  EXPECT_EQ(mwait(HaltKind::kMwait, ns(6500), write).over, ns(7000));
}

TEST(Mwait, AStoreDuringItEndsIt) {
  // The sleeper's copy goes 10 + 20 after the store was issued: that is the wake-up event.
  EXPECT_EQ(mwait(HaltKind::kMwaitBreak, ns(8000), write).over, ns(8030 + 300));
  EXPECT_EQ(mwait(HaltKind::kMwait, ns(8000), write).over, ns(8030 + 300));
}

TEST(Mwait, AStoreDuringEntryWaitsForIt) {
  EXPECT_EQ(mwait(HaltKind::kMwaitBreak, ns(6975), write).over, ns(7020 + 300));
}

TEST(Mwait, FalseSharingEndsIt) {
  EXPECT_EQ(mwait(HaltKind::kMwaitBreak, ns(8000), write_neighbour).over, ns(8330));
}

TEST(Mwait, AReadDoesNotEndIt) {
  const Mwait result = mwait(HaltKind::kMwaitBreak, ns(8000), read);
  EXPECT_TRUE(result.asleep);
}

// The sibling has the line already: its store is there at once.
TEST(Mwait, TheSiblingsStoreEndsIt) {
  EXPECT_EQ(mwait(HaltKind::kMwaitBreak, ns(8000), write, 2).over, ns(8300));
  EXPECT_EQ(mwait(HaltKind::kMwaitBreak, ns(6500), write, 2).over, ns(7000));
}

TEST(Mwait, OnesOwnStoreDoesNot) {
  MachineUnderTest m(flat_spec(1));
  hw::Word& x = m.word();
  Script& r = m.run_on(
      0, {}, {load(x), monitor(x), store(x, 1), halt(HaltKind::kMwaitBreak, ns(20), ns(300))});
  m.run();
  EXPECT_FALSE(r.done);
}

TEST(Mwait, WithoutMonitorFallsThrough) {
  MachineUnderTest m(flat_spec(1));
  Script& r = m.run_on(0, {}, {halt(HaltKind::kMwaitBreak, ns(20), ns(300))});
  m.run();
  EXPECT_EQ(r.time(0), Time{});
}

TEST(Mwait, Ecx1IsEndedByAMaskedInterruptWhichStaysPending) {
  MachineUnderTest m(flat_spec(1));
  hw::Word& x = m.word();
  Script& r = m.run_on(
      0, {},
      {load(x), monitor(x), halt(HaltKind::kMwaitBreak, ns(20), ns(300)), exec(ns(50)), irq_on()});
  m.deliver_at(ns(6000), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(r.time(2), ns(6300));
  EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kReschedule, ns(6350), ns(6000)}}));
}

TEST(Mwait, Ecx0TakesTheInterrupt) {
  MachineUnderTest m(flat_spec(1));
  hw::Word& x = m.word();
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(9))});
  Script& r =
      m.run_on(0, {}, {load(x), monitor(x), halt(HaltKind::kMwait, ns(20), ns(300)), irq_off()});
  m.deliver_at(ns(6000), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kReschedule, ns(6300), ns(6000)}}));
  EXPECT_EQ(r.time(2), ns(6309));
}

TEST(Story, SaysWhereACpuIsAndWhatItWaitsFor) {
  MachineUnderTest m(flat_spec(2));
  hw::Word& x = m.word();
  m.run_on(0, {}, {load(x), monitor(x), halt(HaltKind::kMwaitBreak, {}, {})});
  m.run_on(1, {}, {spin_until_set(x, ns(10))});
  m.deliver_at(ns(20000), 1, Vector::kReschedule);
  m.run();
  EXPECT_THAT(m.machine.stories(),
              ::testing::MatchesRegex("  CPU 0: machine_under_test.h:[0-9]+ execute_step\\(\\), "
                                      "asleep, monitoring X, interrupts off\n"
                                      "  CPU 1: machine_under_test.h:[0-9]+ execute_step\\(\\), "
                                      "spinning on X, interrupts off, pending RESCHEDULE\n"));
}

}  // namespace
}  // namespace idlesim::testing

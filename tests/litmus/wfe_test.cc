// Waiting in WFE for a word to be written, in every order of waiter and writers: the sequence of
// Linux's __cmpwait() loses no store, and each part of it is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/explorer.h"
#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::AtomicOp;
using hw::Atomics;
using hw::Vector;
using ::testing::HasSubstr;

struct Sequence {
  bool sevl = true;
  bool compare = true;
};

// Until the word is not 0.
sim::Co<> wait_in_wfe(hw::Cpu& cpu, hw::Word& word, Sequence sequence, bool irqs) {
  hw::Word& awaited = word;
  if (irqs) co_await cpu.local_irq_enable();
  for (;;) {
    const std::uint64_t val = co_await cpu.load(awaited);
    if (val != 0) co_return;
    if (sequence.sevl) cpu.sevl();
    co_await cpu.wfe({});
    const std::uint64_t seen = co_await cpu.load_exclusive(awaited);
    if (sequence.compare && seen != val) continue;
    co_await cpu.wfe({});
  }
}

class WfeProgram final : public Program {
 public:
  WfeProgram(Atomics atomics, Sequence sequence, bool irqs,
             std::vector<Steps> (*writers)(hw::Word&))
      : m_(spec(atomics)) {
    hw::Word& x = m_.word();
    scripts_.push_back(&m_.run_on(0, {}, wait_in_wfe(m_.machine.cpu(0), x, sequence, irqs)));
    for (const Steps& steps : writers(x))
      scripts_.push_back(&m_.run_on(static_cast<CpuId>(scripts_.size()), {}, steps));
  }
  hw::Machine& machine() override { return m_.machine; }
  std::string verdict() override {
    for (const Script* script : scripts_)
      if (!script->done) return "deadlock";
    return {};
  }

 private:
  static hw::MachineSpec spec(Atomics atomics) {
    hw::MachineSpec spec = flat_spec(3);
    spec.cpu.arch = hw::Arch::kArm64;
    spec.coherence.atomics = atomics;
    return spec;
  }
  MachineUnderTest m_;
  std::vector<Script*> scripts_;
};

Exploration explore_wfe(std::vector<Steps> (*writers)(hw::Word&), Sequence sequence = {},
                        bool irqs = false, Atomics atomics = Atomics::kNear,
                        int stream_events = 0) {
  ExploreOptions options;
  options.stream_events = stream_events;
  return explore([=] { return std::make_unique<WfeProgram>(atomics, sequence, irqs, writers); },
                 options);
}

std::vector<Steps> store_it(hw::Word& x) { return {{store(x, 1)}}; }
std::vector<Steps> compare_exchange_it(hw::Word& x) {
  return {{atomic(AtomicOp::kCmpxchg, x, 1, 0)}};
}
std::vector<Steps> set_bit_in_it(hw::Word& x) { return {{posted(AtomicOp::kOr, x, 1)}}; }
// The second writer's store, or its failing compare-exchange, changes nothing.
std::vector<Steps> two_write_it(hw::Word& x) {
  return {{store(x, 0), store(x, 1)}, {atomic(AtomicOp::kCmpxchg, x, 2, 7)}};
}
std::vector<Steps> interrupt_and_store(hw::Word& x) {
  return {{ipi(0, Vector::kReschedule), store(x, 1)}};
}

TEST(Wfe, LosesNoStore) {
  for (const auto writers : {store_it, compare_exchange_it, set_bit_in_it, two_write_it})
    for (const Atomics atomics : {Atomics::kNear, Atomics::kFar, Atomics::kLlSc}) {
      const Exploration result = explore_wfe(writers, {}, false, atomics);
      EXPECT_TRUE(result.passed()) << result.failure;
      EXPECT_GE(result.runs, 3u);
    }
}
TEST(Wfe, InterruptsAndTheEventStreamChangeNothing) {
  for (const bool irqs : {false, true}) {
    const Exploration result = explore_wfe(interrupt_and_store, {}, irqs, Atomics::kNear, 2);
    EXPECT_TRUE(result.passed()) << result.failure;
  }
}
TEST(Wfe, WithoutComparingAStoreIsLost) {
  EXPECT_THAT(explore_wfe(store_it, {true, false}).failure, HasSubstr("deadlock"));
}
TEST(Wfe, WithoutSevlAStoreIsLost) {
  EXPECT_THAT(explore_wfe(store_it, {false, true}).failure, HasSubstr("deadlock"));
}

}  // namespace
}  // namespace idlesim::testing

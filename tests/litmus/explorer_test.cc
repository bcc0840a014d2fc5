// The explorer itself: it finds what it must find, says how, and counts right.
#include "support/explorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::AtomicOp;
using hw::HaltKind;
using hw::Vector;
using ::testing::HasSubstr;

// A program put together by `build`; it must be over at the end, and `judge`, if any, be content.
class Built final : public Program {
 public:
  using Judge = std::function<std::string()>;
  using Build = std::function<Judge(MachineUnderTest&, std::vector<Script*>&)>;
  explicit Built(const Build& build, int cpus = 2) : m_(flat_spec(cpus)) {
    judge_ = build(m_, scripts_);
  }
  hw::Machine& machine() override { return m_.machine; }
  std::string verdict() override {
    for (const Script* script : scripts_)
      if (!script->done) return "deadlock";
    return judge_ ? judge_() : std::string();
  }

 private:
  MachineUnderTest m_;
  std::vector<Script*> scripts_;
  Judge judge_;
};

Exploration explore_built(const Built::Build& build, const ExploreOptions& options = {}) {
  return explore([&] { return std::make_unique<Built>(build); }, options);
}

// --- counts

Exploration independent_loads(int each, bool reduce, bool one_line, std::uint64_t cap = 1'000'000) {
  ExploreOptions options;
  options.reduce = reduce;
  options.max_runs = cap;
  return explore_built(
      [&](MachineUnderTest& m, std::vector<Script*>& scripts) {
        hw::Word &x = m.word(), &y = one_line ? x : m.word();
        Steps a, b;
        for (int i = 0; i < each; ++i) {
          a.push_back(atomic(AtomicOp::kAdd, x, 1));
          b.push_back(atomic(AtomicOp::kAdd, y, 1));
        }
        scripts = {&m.run_on(0, {}, a), &m.run_on(1, {}, b)};
        return Built::Judge();
      },
      options);
}

TEST(Explorer, RunsEveryOrderOnce) {
  // 4 steps among 8: 70 orders, whether they touch each other or not.
  EXPECT_EQ(independent_loads(4, false, true).runs, 70u);
  EXPECT_EQ(independent_loads(4, false, false).runs, 70u);
  EXPECT_EQ(independent_loads(4, false, true).longest, 8u);
  EXPECT_EQ(independent_loads(4, true, true).runs, 70u);
}

TEST(Explorer, OrdersOfWhatDoesNotTouchAreOne) {
  EXPECT_EQ(independent_loads(4, true, false).runs, 1u);
}

TEST(Explorer, ManagesManyRuns) { EXPECT_EQ(independent_loads(8, false, true).runs, 12870u); }

TEST(Explorer, TheCapFailsInsteadOfTruncating) {
  EXPECT_THAT(independent_loads(4, false, true, 69).failure,
              HasSubstr("not finished after 69 runs"));
  EXPECT_TRUE(independent_loads(4, false, true, 70).passed());
}

// --- Dekker: each raises its flag and looks at the other's; both must not miss.

Built::Build dekker(bool with_barrier) {
  return [with_barrier](MachineUnderTest& m, std::vector<Script*>& scripts) -> Built::Judge {
    hw::Word &x = m.word(), &y = m.word();
    Steps a = {store(x, 1), load(y)}, b = {store(y, 1), load(x)};
    if (with_barrier) {
      a.insert(a.begin() + 1, barrier());
      b.insert(b.begin() + 1, barrier());
    }
    scripts = {&m.run_on(0, {}, a), &m.run_on(1, {}, b)};
    return [&scripts] {
      return scripts[0]->samples.back().value == 0 && scripts[1]->samples.back().value == 0
                 ? std::string("both missed")
                 : std::string();
    };
  };
}

TEST(Explorer, DekkerHoldsWithBarriers) {
  const Exploration result = explore_built(dekker(true));
  EXPECT_TRUE(result.passed()) << result.failure;
}
TEST(Explorer, DekkerFailsWithoutBarriersAndTheStepsAreTold) {
  const Exploration result = explore_built(dekker(false));
  EXPECT_THAT(result.failure, HasSubstr("both missed"));
  EXPECT_THAT(result.failure, HasSubstr("CPU 0: reads"));
  EXPECT_THAT(result.failure, HasSubstr("CPU 1: its store is seen: line X"));
}

// --- MONITOR, MWAIT: the flag must be tested between the two.

sim::Co<> sleep_until_set(hw::Cpu& cpu, hw::Word& flag, bool test_after_monitor) {
  hw::Word& word = flag;
  for (;;) {
    std::uint64_t set = co_await cpu.load(word);
    if (set != 0) co_return;
    co_await cpu.load(word);  // MONITOR's own
    cpu.monitor(word);
    if (test_after_monitor) {
      set = co_await cpu.load(word);
      if (set != 0) co_return;
    }
    co_await cpu.halt(HaltKind::kMwaitBreak, {});
  }
}
Built::Build sleeper(bool test_after_monitor) {
  return [test_after_monitor](MachineUnderTest& m, std::vector<Script*>& scripts) {
    hw::Word& flag = m.word();
    scripts = {&m.run_on(0, {}, sleep_until_set(m.machine.cpu(0), flag, test_after_monitor)),
               &m.run_on(1, {}, {store(flag, 1)})};
    return Built::Judge();
  };
}

TEST(Explorer, MwaitLosesNoWakeUp) {
  const Exploration result = explore_built(sleeper(true));
  EXPECT_TRUE(result.passed()) << result.failure;
  EXPECT_GE(result.runs, 5u);
}
TEST(Explorer, MwaitWithoutTheTestLosesOne) {
  const Exploration result = explore_built(sleeper(false));
  EXPECT_THAT(result.failure, HasSubstr("deadlock"));
  EXPECT_THAT(result.failure, HasSubstr("CPU 0: explorer_test.cc:"));
  EXPECT_THAT(result.failure, HasSubstr("asleep, monitoring X"));
}

// --- HLT and an interrupt: between the test and HLT interrupts must be off.

sim::Co<> halt_until_set(hw::Cpu& cpu, hw::Word& flag, bool irqs_off) {
  hw::Word& word = flag;
  for (;;) {
    if (irqs_off)
      cpu.local_irq_disable();
    else
      co_await cpu.local_irq_enable();
    const std::uint64_t set = co_await cpu.load(word);
    if (set != 0) co_return;
    co_await cpu.halt(HaltKind::kHlt, {});
  }
}
Built::Build halter(bool irqs_off) {
  return [irqs_off](MachineUnderTest& m, std::vector<Script*>& scripts) {
    hw::Word& flag = m.word();
    scripts = {&m.run_on(0, {}, halt_until_set(m.machine.cpu(0), flag, irqs_off)),
               &m.run_on(1, {}, {store(flag, 1), barrier(), ipi(0, Vector::kReschedule)})};
    return Built::Judge();
  };
}
TEST(Explorer, HltLosesNoInterruptWithStiHlt) {
  const Exploration result = explore_built(halter(true));
  EXPECT_TRUE(result.passed()) << result.failure;
}
TEST(Explorer, HltWithInterruptsOnLosesOne) {
  EXPECT_THAT(explore_built(halter(false)).failure, HasSubstr("deadlock"));
}
// The interrupt may overtake a store that is still in the buffer.
TEST(Explorer, AnIpiBeforeTheStoreIsSeenIsLost) {
  const Exploration result = explore_built([](MachineUnderTest& m, std::vector<Script*>& scripts) {
    hw::Word& flag = m.word();
    scripts = {&m.run_on(0, {}, halt_until_set(m.machine.cpu(0), flag, true)),
               &m.run_on(1, {}, {store(flag, 1), ipi(0, Vector::kReschedule)})};
    return Built::Judge();
  });
  EXPECT_THAT(result.failure, HasSubstr("deadlock"));
}

// An interrupt comes before an access, right after it, or later.
TEST(Explorer, InterruptsComeBetweenAnyTwoSteps) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;  // by the code, by the handler
  ExploreOptions options;
  options.lines = {"X"};
  const Exploration result = explore_built(
      [&](MachineUnderTest& m, std::vector<Script*>& scripts) -> Built::Judge {
        hw::Word& x = m.word();
        hw::Word& unseen = m.word(m.named_line("private"));
        m.on_interrupt(0, Vector::kReschedule, {load(x)});
        scripts = {&m.run_on(0, {}, {irq_on(), load(x), irq_off(), store(unseen, 1), load(unseen)}),
                   &m.run_on(1, {}, {ipi(0, Vector::kReschedule), store(x, 1)})};
        return [&] {
          const std::uint64_t handler = m.handled.empty() ? 2 : m.handled[0].value;
          seen.insert({scripts[0]->value(1), handler});
          return std::string();
        };
      },
      options);
  EXPECT_TRUE(result.passed()) << result.failure;
  // (0, 1): the handler ran after the load and before interrupts were off. 2: never taken.
  EXPECT_EQ(seen, (std::set<std::pair<std::uint64_t, std::uint64_t>>{
                      {0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
}

// --- relax loops

Built::Build spinner(Time deadline, std::set<std::uint64_t>& ended_by) {
  return [deadline, &ended_by](MachineUnderTest& m, std::vector<Script*>& scripts) -> Built::Judge {
    hw::Word &x = m.word(), &y = m.word(x.line());
    hw::SpinLoop loop;
    loop.mask = 1;
    loop.period = ns(10);
    loop.check_every = 3;
    loop.deadline = deadline;
    scripts = {&m.run_on(0, {}, {spin(x, loop)}),
               &m.run_on(1, {}, {store(y, 1), store(x, 2), store(x, 1)})};
    return [&] {
      ended_by.insert(scripts[0]->value(0));
      return std::string();
    };
  };
}

TEST(Explorer, ARelaxLoopIsReadyOnlyWhenItsLineWasWritten) {
  std::set<std::uint64_t> ended_by;
  const Exploration result = explore_built(spinner(Time::never(), ended_by));
  EXPECT_TRUE(result.passed()) << result.failure;
  EXPECT_EQ(ended_by, (std::set<std::uint64_t>{1}));
  EXPECT_LE(result.longest, 7u);  // three stores and a load after each, and the first
}
TEST(Explorer, DeadlinesPassOnlyWhereAskedFor) {
  std::set<std::uint64_t> ended_by;
  EXPECT_TRUE(explore_built(spinner(ns(1), ended_by)).passed());
  EXPECT_EQ(ended_by, (std::set<std::uint64_t>{1}));
  ExploreOptions options;
  options.spin_deadlines = 1;
  const Exploration result = explore_built(spinner(ns(1), ended_by), options);
  EXPECT_TRUE(result.passed()) << result.failure;
  EXPECT_EQ(ended_by, (std::set<std::uint64_t>{0, 1}));
}

TEST(Explorer, ADeadlockOfRelaxLoopsIsFound) {
  const Exploration result = explore_built([](MachineUnderTest& m, std::vector<Script*>& scripts) {
    hw::Word &x = m.word(), &y = m.word();
    scripts = {&m.run_on(0, {}, {spin_until_set(x, ns(10)), store(y, 1)}),
               &m.run_on(1, {}, {spin_until_set(y, ns(10)), store(x, 1)})};
    return Built::Judge();
  });
  EXPECT_THAT(result.failure, HasSubstr("deadlock"));
  EXPECT_THAT(result.failure, HasSubstr("spinning on X"));
}

TEST(Explorer, ARunThatDoesNotEndFails) {
  ExploreOptions options;
  options.max_steps = 20;
  const Exploration result = explore_built(
      [](MachineUnderTest& m, std::vector<Script*>& scripts) {
        hw::Word& x = m.word();
        Steps many(50, load(x));
        scripts = {&m.run_on(0, {}, many)};
        return Built::Judge();
      },
      options);
  EXPECT_THAT(result.failure, HasSubstr("a run does not end"));
}

// The reduction loses no outcome: random programs, with and without it.
TEST(Explorer, TheReductionLosesNoOutcome) {
  std::uint64_t all = 0, reduced = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::set<std::vector<std::uint64_t>> outcomes[2];
    for (bool reduce : {false, true}) {
      ExploreOptions options;
      options.reduce = reduce;
      const Exploration result = explore_built(
          [&](MachineUnderTest& m, std::vector<Script*>& scripts) -> Built::Judge {
            sim::Random random(seed, 0, "explorer", 0);
            hw::Word* words[] = {&m.word(), &m.word(), &m.word()};
            const auto steps = [&](int n, bool interrupts) {
              Steps list;
              for (int i = 0; i < n; ++i) {
                hw::Word& word = *words[random.below(3)];
                switch (random.below(interrupts ? 5 : 4)) {
                  case 0:
                    list.push_back(store(word, random.below(3)));
                    break;
                  case 1:
                    list.push_back(atomic(AtomicOp::kAdd, word, 1));
                    break;
                  case 4:
                    list.push_back(ipi(static_cast<CpuId>(random.below(2)), Vector::kReschedule));
                    break;
                  default:
                    list.push_back(load(word));
                }
              }
              return list;
            };
            m.on_interrupt(0, Vector::kReschedule, steps(1, false));
            Steps first = steps(3, true);
            first.insert(first.begin(), irq_on());
            scripts = {&m.run_on(0, {}, first), &m.run_on(1, {}, steps(3, true))};
            return [&, words = std::vector<hw::Word*>(words, words + 3)] {
              std::vector<std::uint64_t> outcome;
              for (const Script* script : scripts)
                for (const Sample& sample : script->samples) outcome.push_back(sample.value);
              for (const Sample& sample : m.handled) outcome.push_back(100 + sample.value);
              for (const hw::Word* word : words) outcome.push_back(word->peek());
              outcomes[reduce ? 1 : 0].insert(outcome);
              return std::string();
            };
          },
          options);
      ASSERT_TRUE(result.passed()) << result.failure;
      (reduce ? reduced : all) += result.runs;
    }
    ASSERT_EQ(outcomes[0], outcomes[1]) << "seed " << seed;
  }
  EXPECT_LT(reduced * 2, all);
}

}  // namespace
}  // namespace idlesim::testing

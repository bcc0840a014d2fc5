// Litmus tests by the names of their shapes (Alglave, Maranget, Tautschnig, "Herding Cats", TOPLAS
// 2014). Each runs over many delays and placements of its lines on a machine with latencies, and in
// every order on the explorer; both must see only what total store order allows, and the explorer
// all of it. (arm64 allows more; the model keeps its stores in order, see cpu.h.)
#include <gtest/gtest.h>

#include <set>

#include "support/explorer.h"
#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;
using hw::AtomicOp;
using Outcome = std::vector<std::uint64_t>;
using Outcomes = std::set<Outcome>;

// The words of a test; a shape gives each CPU's steps. Its outcome: what the loads and atomics that
// read x or y gave, CPU by CPU.
struct Words {
  hw::Word &x, &y, &z;
};
using Shape = std::vector<Steps> (*)(const Words&);

bool is_read(const Step& step, const Words& words) {
  return (step.kind == Step::Kind::kLoad || step.kind == Step::Kind::kAtomic) &&
         (step.word == &words.x || step.word == &words.y);
}
void add_reads(const Script& script, std::size_t from, const Words& words, Outcome& outcome) {
  for (std::size_t i = from; i < script.steps.size(); ++i)
    if (is_read(script.steps[i], words)) outcome.push_back(script.value(i));
}

hw::MachineSpec spec_for(Arch arch, int cpus) {
  hw::MachineSpec spec = flat_spec(cpus);
  spec.cpu.arch = arch;
  return spec;
}

// Every pair of delays, lines first with one CPU, the other, or shared.
Outcomes timed(Arch arch, Shape shape) {
  Outcomes outcomes;
  constexpr Time kStart = Time::us(100);
  for (std::int64_t delay = -130; delay <= 130; delay += 5) {
    for (int placement = 0; placement < 4; ++placement) {
      hw::MachineSpec spec = spec_for(arch, 2);
      MachineUnderTest m(spec);
      const Words words{m.word(), m.word(), m.word()};
      const std::vector<Steps> cpus = shape(words);
      std::vector<Script*> scripts;
      for (int cpu = 0; cpu < 2; ++cpu) {
        Steps steps = {until(Time::us(20 * cpu))};
        if (placement != cpu)
          for (hw::Word* word : {&words.x, &words.y}) steps.push_back(load(*word));
        const std::int64_t wait =
            cpu == 0 ? std::max<std::int64_t>(delay, 0) : std::max<std::int64_t>(-delay, 0);
        steps.push_back(until(kStart + ns(wait)));
        steps.insert(steps.end(), cpus[static_cast<std::size_t>(cpu)].begin(),
                     cpus[static_cast<std::size_t>(cpu)].end());
        scripts.push_back(&m.run_on(cpu, {}, steps));
      }
      m.run();
      Outcome outcome;
      for (std::size_t cpu = 0; cpu < 2; ++cpu)
        add_reads(*scripts[cpu], scripts[cpu]->steps.size() - cpus[cpu].size(), words, outcome);
      outcomes.insert(outcome);
    }
  }
  return outcomes;
}

class ShapeProgram final : public Program {
 public:
  ShapeProgram(Arch arch, Shape shape, int cpus, Outcomes& outcomes)
      : m_(spec_for(arch, cpus)), words_{m_.word(), m_.word(), m_.word()}, outcomes_(outcomes) {
    for (const Steps& steps : shape(words_))
      scripts_.push_back(&m_.run_on(static_cast<CpuId>(scripts_.size()), {}, steps));
  }
  hw::Machine& machine() override { return m_.machine; }
  std::string verdict() override {
    Outcome outcome;
    for (const Script* script : scripts_) {
      if (!script->done) return "deadlock";
      add_reads(*script, 0, words_, outcome);
    }
    outcomes_.insert(outcome);
    return {};
  }

 private:
  MachineUnderTest m_;
  Words words_;
  std::vector<Script*> scripts_;
  Outcomes& outcomes_;
};

Outcomes all_orders(Arch arch, Shape shape, int cpus = 2, bool reduce = true) {
  Outcomes outcomes;
  ExploreOptions options;
  options.reduce = reduce;
  const Exploration result =
      explore([&] { return std::make_unique<ShapeProgram>(arch, shape, cpus, outcomes); }, options);
  EXPECT_TRUE(result.passed()) << result.failure;
  return outcomes;
}

void expect(Arch arch, Shape shape, const Outcomes& allowed) {
  EXPECT_EQ(all_orders(arch, shape), allowed);
  EXPECT_EQ(all_orders(arch, shape, 2, false), allowed);
  for (const Outcome& outcome : timed(arch, shape))
    EXPECT_TRUE(allowed.count(outcome)) << ::testing::PrintToString(outcome);
}

std::vector<Steps> sb(const Words& w) {
  return {{store(w.x, 1), load(w.y)}, {store(w.y, 1), load(w.x)}};
}
TEST(Litmus, SB) {
  expect(Arch::kX86_64, sb, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  expect(Arch::kArm64, sb, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  EXPECT_TRUE(timed(Arch::kX86_64, sb).count({0, 0}));
}

std::vector<Steps> sb_mbs(const Words& w) {
  return {{store(w.x, 1), barrier(), load(w.y)}, {store(w.y, 1), barrier(), load(w.x)}};
}
TEST(Litmus, SBWithBarriers) {
  expect(Arch::kX86_64, sb_mbs, {{0, 1}, {1, 0}, {1, 1}});
  expect(Arch::kArm64, sb_mbs, {{0, 1}, {1, 0}, {1, 1}});
}

std::vector<Steps> sb_one_mb(const Words& w) {
  return {{store(w.x, 1), barrier(), load(w.y)}, {store(w.y, 1), load(w.x)}};
}
TEST(Litmus, SBWithOneBarrierIsNotEnough) {
  expect(Arch::kX86_64, sb_one_mb, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
}

// An atomic on a third word between store and load.
std::vector<Steps> sb_posted(const Words& w) {
  return {{store(w.x, 1), posted(AtomicOp::kOr, w.z, 1), load(w.y)},
          {store(w.y, 1), posted(AtomicOp::kOr, w.z, 2), load(w.x)}};
}
TEST(Litmus, SBWithAtomicsBetween) {
  expect(Arch::kX86_64, sb_posted, {{0, 1}, {1, 0}, {1, 1}});
  expect(Arch::kArm64, sb_posted, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
}

// The atomic is the store, as in clear_bit(POLLING) against a push to the call queue.
std::vector<Steps> sb_atomics(const Words& w) {
  return {{posted(AtomicOp::kOr, w.x, 1), load(w.y)}, {posted(AtomicOp::kOr, w.y, 1), load(w.x)}};
}
TEST(Litmus, SBOfAtomics) {
  expect(Arch::kX86_64, sb_atomics, {{0, 1}, {1, 0}, {1, 1}});
  expect(Arch::kArm64, sb_atomics, {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
}

std::vector<Steps> mp(const Words& w) {
  return {{store(w.x, 1), store(w.y, 1)}, {load(w.y), load(w.x)}};
}
TEST(Litmus, MP) { expect(Arch::kX86_64, mp, {{0, 0}, {0, 1}, {1, 1}}); }

std::vector<Steps> lb(const Words& w) {
  return {{load(w.x), store(w.y, 1)}, {load(w.y), store(w.x, 1)}};
}
TEST(Litmus, LB) { expect(Arch::kX86_64, lb, {{0, 0}, {0, 1}, {1, 0}}); }

std::vector<Steps> corr(const Words& w) {
  return {{store(w.x, 1), store(w.x, 2)}, {load(w.x), load(w.x)}};
}
TEST(Litmus, CoRR) {
  expect(Arch::kX86_64, corr, {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}});
}

// One's own store is seen by oneself before it is seen by others, and never unseen again.
std::vector<Steps> cowr(const Words& w) {
  return {{store(w.x, 1), load(w.x), load(w.x)}, {store(w.x, 2)}};
}
TEST(Litmus, CoWR) { expect(Arch::kX86_64, cowr, {{1, 1}, {1, 2}, {2, 2}}); }

std::vector<Steps> s(const Words& w) {
  return {{store(w.x, 2), store(w.y, 1)},
          {load(w.y), store(w.x, 1), barrier(), atomic(AtomicOp::kOr, w.x, 0)}};
}
TEST(Litmus, S) { expect(Arch::kX86_64, s, {{0, 1}, {0, 2}, {1, 1}}); }

std::vector<Steps> two_cmpxchg(const Words& w) {
  return {{atomic(AtomicOp::kCmpxchg, w.x, 1, 0)}, {atomic(AtomicOp::kCmpxchg, w.x, 2, 0)}};
}
TEST(Litmus, OneCmpxchgWins) { expect(Arch::kX86_64, two_cmpxchg, {{0, 1}, {2, 0}}); }

// Two readers agree on the order of two writers. Every order of four CPUs.
std::vector<Steps> iriw(const Words& w) {
  return {{store(w.x, 1)}, {store(w.y, 1)}, {load(w.x), load(w.y)}, {load(w.y), load(w.x)}};
}
TEST(Litmus, IRIW) {
  const Outcomes outcomes = all_orders(Arch::kX86_64, iriw, 4);
  EXPECT_EQ(outcomes.size(), 15u);
  EXPECT_FALSE(outcomes.count({1, 0, 1, 0}));
}

}  // namespace
}  // namespace idlesim::testing

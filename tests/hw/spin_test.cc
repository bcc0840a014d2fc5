// Relax loops: times and counts by hand, and the proof that skipping rounds is exact: random
// programs give the same samples, interrupts and counts with every round executed.
#include <gtest/gtest.h>

#include <algorithm>

#include "idlesim/sim/random.h"
#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::AtomicOp;
using hw::HaltKind;
using hw::SpinLoop;
using hw::Vector;

class Spin : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SkippedAndIterated, Spin, ::testing::Bool());

SpinLoop poll_loop(Time deadline) {
  SpinLoop loop;
  loop.mask = 1;
  loop.period = ns(10);
  loop.instructions = 3;
  loop.check_every = 5;
  loop.check_time = ns(7);
  loop.check_instructions = 100;
  loop.deadline = deadline;
  return loop;
}

// The first load is over at 5040 (memory). The store, issued at 6000, takes the line at 6030; the
// next load, round 99 at 6030, misses: the line is with the writer at 6060, and its request, there
// at 6040, is served then: 20 + 30 more.
TEST_P(Spin, SeesAStoreInItsNextRound) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {spin_until_set(x, ns(10)), exec(ns(1))});
  m.run_on(1, ns(6000), {store(x, 1)});
  m.run();
  EXPECT_EQ(r.time(0), ns(6060 + 20 + 30));
  EXPECT_EQ(r.value(0), 1u);
  EXPECT_EQ(r.samples.at(0).instructions, 99u * 3);
}

// Between rounds nothing is seen: the line goes at 6025, the round at 6030 asks for it.
TEST_P(Spin, LooksOnlyInItsRounds) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {spin_until_set(x, ns(10))});
  m.run_on(1, ns(5995), {store(x, 1)});
  m.run();
  EXPECT_EQ(r.time(0), ns(6055 + 20 + 30));
  EXPECT_EQ(r.samples.at(0).instructions, 99u * 3);
}

// A block of 5 rounds lasts 57 ns; checks stand at 5040 + 57 k. The first later than 5200 is 5211.
TEST_P(Spin, LeavesAtTheFirstCheckAfterTheDeadline) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {spin(x, poll_loop(ns(5200)))});
  m.run();
  EXPECT_EQ(r.time(0), ns(5040 + 3 * 57));
  EXPECT_EQ(r.value(0), 0u);
  EXPECT_EQ(r.samples.at(0).instructions, 15u * 3 + 3 * 100);
}

// A check exactly at the deadline does not leave.
TEST_P(Spin, TheDeadlineItselfIsNotPassed) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {spin(x, poll_loop(ns(5040 + 57)))});
  m.run();
  EXPECT_EQ(r.time(0), ns(5040 + 2 * 57));
}

// Loads at 5040, 5050, ...; the interrupt at 5053 is handled until 5153, 7 ns of the round remain.
TEST_P(Spin, GoesOnWhereAnInterruptStoppedIt) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word &x = m.word(), &y = m.word();
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(100)), store(y, 1)});
  Script& r = m.run_on(0, {}, {irq_on(), spin(x, poll_loop(ns(5200)))});
  m.deliver_at(ns(5053), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken.at(0).time, ns(5053));
  // The check of 5097 now stands at 5197, the next one at 5254.
  EXPECT_EQ(r.time(1), ns(5254));
  EXPECT_EQ(r.samples.at(1).instructions, 10u * 3 + 2 * 100);
}

// A handler may itself spin; the interrupted loop is not mixed up with it.
TEST_P(Spin, NestedLoopsKeepApart) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word &x = m.word(), &y = m.word();
  m.on_interrupt(0, Vector::kReschedule, {spin_until_set(y, ns(4))});
  Script& r = m.run_on(0, {}, {irq_on(), spin_until_set(x, ns(10))});
  m.run_on(1, ns(20000), {store(x, 2), store(y, 1)});
  m.deliver_at(ns(6003), 0, Vector::kReschedule);
  m.run();
  // y from memory at 11043. Both stores miss, one after the other: x from CPU 0 at 20060, then y,
  // invalidated at 20090; the load at 20091 gets it when it is served at 20120.
  EXPECT_EQ(m.handled.at(0).value, 1u);
  EXPECT_EQ(m.handled.at(0).time, ns(20120 + 50));
  // 7 ns of the outer round were left; its load misses x.
  EXPECT_EQ(r.time(1), ns(20170 + 7 + 60));
  EXPECT_EQ(r.value(1), 1u);
}

// The interrupt arrives while the loop waits for its line; the loop does not end: it is taken then.
TEST_P(Spin, AnInterruptDuringAMissIsTakenAfterIt) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(3))});
  m.run_on(0, {}, {irq_on(), spin(x, poll_loop(ns(20000)))});
  m.deliver_at(ns(40), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken, (std::vector<Taken>{{0, Vector::kReschedule, ns(5040), ns(40)}}));
}

TEST_P(Spin, ASiblingsStoreIsSeenAfterTheTransferInTheCore) {
  hw::TopologySpec topology;
  topology.threads_per_core = 2;
  MachineUnderTest m(small_spec(topology));
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {spin_until_set(x, ns(10))});
  m.run_on(1, ns(6001), {store(x, 1)});
  m.run();
  EXPECT_EQ(r.time(0), ns(6010 + 6));
}

// A loop that is still running at the end has executed the rounds until then.
TEST_P(Spin, CountsTheRoundsOfALoopThatRuns) {
  MachineUnderTest m(flat_spec(2));
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  m.run_on(0, {}, {spin_until_set(x, ns(10))});
  m.at(ns(6001), [&] { m.machine.engine().stop(); });
  m.run();
  EXPECT_EQ(m.machine.cpu(0).instructions(), 96u * 3);
}

// --- random programs

struct Outcome {
  std::vector<std::vector<Sample>> samples;
  std::vector<Taken> taken;
  std::vector<Sample> handled;
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> instructions;
  std::uint64_t events = 0;
  std::string stories;
};

class Generator {
 public:
  Generator(std::uint64_t seed, MachineUnderTest& machine)
      : random_(seed, 0, "programs", 0), m_(machine) {
    hw::Line& shared = m_.line();
    words_ = {&m_.word(shared), &m_.word(shared), &m_.word(), &m_.word()};
  }
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  hw::Word& word() { return *words_[below(words_.size())]; }
  Vector vector() { return static_cast<Vector>(below(hw::kVectors)); }
  CpuId cpu() {
    return static_cast<CpuId>(below(static_cast<std::uint64_t>(m_.machine.nr_cpus())));
  }
  // Coarse, so that many things happen at the same instant.
  Time time() { return ns(static_cast<std::int64_t>(below(12)) * 10); }

  SpinLoop loop() {
    SpinLoop loop;
    loop.mask = 1 + below(3);
    loop.while_set = below(2) == 0;
    loop.period = ns(below(2) == 0 ? 10 : 5 + static_cast<std::int64_t>(below(9)));
    loop.pause = ns(static_cast<std::int64_t>(below(6)));
    loop.instructions = 3;
    loop.check_every = static_cast<std::uint32_t>(1 + below(6));
    loop.check_time = ns(static_cast<std::int64_t>(below(3)) * 5);
    loop.check_instructions = 11;
    // Always one, so that every program ends.
    loop.deadline = ns(static_cast<std::int64_t>(below(60)) * 100);
    return loop;
  }

  Step any() {
    switch (below(13)) {
      case 0:
        return load(word());
      case 1:
      case 2:
        return store(word(), below(4));
      case 3:
        return atomic(static_cast<AtomicOp>(below(5)), word(), below(4), below(4));
      case 4:
        return posted(AtomicOp::kOr, word(), 1 + below(3));
      case 5:
        return barrier();
      case 6:
        return exec(time(), 10);
      case 7:
        return ipi(cpu(), vector());
      case 8:
        return irq_on();
      case 9:
        return irq_off();
      default:
        return spin(word(), loop());
    }
  }
  Steps handler() {
    Steps steps;
    for (std::uint64_t n = below(3); n-- > 0;) {
      Step s = any();
      if (s.kind != Step::Kind::kIrqOn && s.kind != Step::Kind::kIpi) steps.push_back(s);
    }
    return steps;
  }
  Steps program() {
    Steps steps;
    for (std::uint64_t n = 3 + below(10); n-- > 0;) {
      if (below(8) != 0) {
        steps.push_back(any());
        continue;
      }
      hw::Word& watched = word();
      steps.push_back(load(watched));
      steps.push_back(monitor(watched));
      const HaltKind kinds[] = {HaltKind::kHlt, HaltKind::kMwait, HaltKind::kMwaitBreak};
      steps.push_back(halt(kinds[below(3)], time(), time()));
    }
    return steps;
  }

 private:
  sim::Random random_;
  MachineUnderTest& m_;
  std::vector<hw::Word*> words_;

 public:
  const std::vector<hw::Word*>& words() const { return words_; }
};

hw::MachineSpec random_spec(std::uint64_t seed) {
  sim::Random random(seed, 0, "machine", 0);
  hw::TopologySpec topology;
  topology.sockets = 1 + static_cast<int>(random.below(2));
  topology.cores_per_cluster = 1 + static_cast<int>(random.below(2));
  topology.threads_per_core = 1 + static_cast<int>(random.below(2));
  if (topology.sockets * topology.cores_per_cluster * topology.threads_per_core == 1)
    topology.clusters_per_node = 3;
  hw::MachineSpec spec = small_spec(topology);
  if (random.below(2) == 0) spec.cpu.arch = hw::Arch::kArm64;
  if (random.below(2) == 0) {  // coarse: many coincidences
    spec.coherence.sibling_transfer = ns(10 * static_cast<std::int64_t>(random.below(2)));
    spec.coherence.cluster = {ns(0), ns(10), ns(0)};
    spec.coherence.socket = {ns(10), ns(10), ns(10)};
    spec.coherence.remote = {ns(20), ns(20), ns(20)};
    spec.coherence.directory = ns(10);
    spec.coherence.memory = ns(30);
    spec.cpu.atomic = ns(10 * static_cast<std::int64_t>(random.below(2)));
    spec.cpu.barrier = ns(0);
    spec.interrupt.delivery_sibling = ns(0);
    spec.interrupt.delivery_socket = ns(10);
    spec.interrupt.delivery_remote = ns(30);
  }
  spec.cpu.smt_share_running_permille = 500 + 100 * static_cast<int>(random.below(6));
  spec.cpu.smt_share_pause_permille = 500 + 125 * static_cast<int>(random.below(5));
  spec.coherence.protocol = random.below(2) == 0 ? hw::Protocol::kMesi : hw::Protocol::kMoesi;
  spec.coherence.atomics = static_cast<hw::Atomics>(random.below(3));
  return spec;
}

Outcome run_random(std::uint64_t seed, bool iterate) {
  MachineUnderTest m(random_spec(seed));
  m.machine.iterate_spins = iterate;
  Generator generator(seed, m);
  std::vector<Script*> scripts;
  for (CpuId cpu = 0; cpu < m.machine.nr_cpus(); ++cpu) {
    for (int vector = 0; vector < hw::kVectors; ++vector)
      m.on_interrupt(cpu, static_cast<Vector>(vector), generator.handler());
    scripts.push_back(&m.run_on(cpu, generator.time(), generator.program()));
    for (std::uint64_t n = generator.below(4); n-- > 0;)
      m.deliver_at(generator.time() * 40, cpu, generator.vector());
  }
  m.run();
  Outcome outcome;
  for (const Script* script : scripts) outcome.samples.push_back(script->samples);
  outcome.taken = m.taken;
  outcome.handled = m.handled;
  for (const hw::Word* word : generator.words()) outcome.values.push_back(word->peek());
  for (CpuId cpu = 0; cpu < m.machine.nr_cpus(); ++cpu)
    outcome.instructions.push_back(m.machine.cpu(cpu).instructions());
  outcome.events = m.machine.engine().events();
  outcome.stories = m.machine.stories();
  return outcome;
}

class SkippedRounds : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SkippedRounds, ::testing::Values(0, 10000, 20000, 30000));

TEST_P(SkippedRounds, AreExact) {
  std::uint64_t fewer_events = 0;
  std::uint64_t interrupts = 0;
  for (std::uint64_t seed = GetParam(); seed < GetParam() + 10000; ++seed) {
    const Outcome skipped = run_random(seed, false);
    const Outcome iterated = run_random(seed, true);
    fewer_events += skipped.events < iterated.events ? 1 : 0;
    interrupts += skipped.taken.size();
    ASSERT_EQ(skipped.samples.size(), iterated.samples.size());
    for (std::size_t cpu = 0; cpu < skipped.samples.size(); ++cpu) {
      const auto& a = skipped.samples[cpu];
      const auto& b = iterated.samples[cpu];
      ASSERT_EQ(a.size(), b.size()) << "seed " << seed << " CPU " << cpu;
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i].time.count_ps(), b[i].time.count_ps())
            << "seed " << seed << " CPU " << cpu << " step " << i;
        ASSERT_EQ(a[i].value, b[i].value) << "seed " << seed << " CPU " << cpu << " step " << i;
        ASSERT_EQ(a[i].instructions, b[i].instructions)
            << "seed " << seed << " CPU " << cpu << " step " << i;
      }
    }
    ASSERT_EQ(skipped.taken, iterated.taken) << "seed " << seed;
    ASSERT_EQ(skipped.handled, iterated.handled) << "seed " << seed;
    ASSERT_EQ(skipped.values, iterated.values) << "seed " << seed;
    ASSERT_EQ(skipped.instructions, iterated.instructions) << "seed " << seed;
    ASSERT_EQ(skipped.stories, iterated.stories) << "seed " << seed;
  }
  // The programs do what they are for.
  EXPECT_GT(fewer_events, 5000u);
  EXPECT_GT(interrupts, 10000u);
}

}  // namespace
}  // namespace idlesim::testing

// Threads that share a core: rates, SPEC_CTRL and idle states of the core, all times by hand.
#include <gtest/gtest.h>

#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::HaltKind;
using hw::Vector;

// One core of two threads (CPUs 0 and 1), and a second one (2 and 3). Beside a running sibling a
// thread has 0.6 of the core, beside one in PAUSE 0.85.
hw::MachineSpec smt_spec() {
  hw::TopologySpec topology;
  topology.clusters_per_node = 2;
  topology.threads_per_core = 2;
  topology.numbering = hw::Numbering::kAdjacent;
  hw::MachineSpec spec = small_spec(topology);
  spec.cpu.smt_share_running_permille = 600;
  spec.cpu.smt_share_pause_permille = 850;
  spec.cpu.mispredict = ns(10);
  spec.spec_ctrl_write = ns(50);
  hw::IdleStateSpec c1, c6;
  c1.timing = {ns(10), ns(100), 1};
  c6.timing = {ns(1000), ns(5000), 2};
  spec.idle_states = {c1, c6};
  return spec;
}

// Two threads that do not slow each other down.
hw::MachineSpec wide_spec() {
  hw::MachineSpec spec = smt_spec();
  spec.cpu.smt_share_running_permille = spec.cpu.smt_share_pause_permille = 1000;
  return spec;
}

Step sleep() { return halt(HaltKind::kHlt, ns(0), ns(0)); }

// --- rates

TEST(SmtRate, AChangeInTheMiddleOfAStretchTimesTheRestOfItAgain) {
  MachineUnderTest m(smt_spec());
  Script& busy = m.run_on(0, {}, {exec(ns(1000)), sleep()});
  Script& sibling = m.run_on(1, ns(400), {exec(ns(300)), sleep()});
  m.run();
  // Alone until 400: 600 left. 300 ns of the sibling's take 300 / 0.6, until 900; meanwhile 300 of
  // the 600 are done. The last 300 are executed alone.
  EXPECT_EQ(sibling.time(0), ns(900));
  EXPECT_EQ(busy.time(0), ns(1200));
}

TEST(SmtRate, OtherCoresDoNotMatter) {
  MachineUnderTest m(smt_spec());
  Script& busy = m.run_on(0, {}, {exec(ns(1000)), sleep()});
  m.run_on(2, ns(400), {exec(ns(300)), sleep()});
  m.run();
  EXPECT_EQ(busy.time(0), ns(1000));
}

// 7 ps at 0.6 are 4.2 ps of work: 4 count. 6 / 0.6 = 10.
TEST(SmtRate, RoundsWorkDownAndTimeUp) {
  const hw::Stretch stretch{Time::ps(10), Time::ps(10), {}, 0, false};
  const hw::Pace pace{600'000, false};
  EXPECT_EQ(hw::work_done(Time::ps(7), stretch, pace, {}), Time::ps(4));
  EXPECT_EQ(hw::duration(Time::ps(6), stretch, pace, {}), Time::ps(10));
  EXPECT_EQ(hw::duration(Time::ps(5), stretch, pace, {}), Time::ps(9));  // 8.33

  MachineUnderTest m(smt_spec());
  Script& busy = m.run_on(0, {}, {exec(Time::ps(10)), sleep()});
  m.run_on(1, {}, {sleep(), exec(ns(1)), sleep()});
  m.deliver_at(Time::ps(1), 1, Vector::kReschedule);  // from 1 ps on the sibling runs
  m.run();
  EXPECT_EQ(busy.time(0), Time::ps(1 + 15));  // 9 left at 0.6
}

TEST(SmtRate, AnInterruptedStretchGoesOnAtThePaceOfThen) {
  MachineUnderTest m(smt_spec());
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(100))});
  Script& busy = m.run_on(0, {}, {irq_on(), exec(ns(1000)), sleep()});
  m.run_on(1, ns(550), {exec(ns(6000)), sleep()});
  m.deliver_at(ns(500), 0, Vector::kReschedule);
  m.run();
  // The handler: 50 alone, 50 / 0.6 = 83.333 (rounded up to a picosecond). Then 500 / 0.6.
  EXPECT_EQ(busy.time(1), Time::ps(550'000 + 83'334 + 833'334));
}

TEST(SmtRate, ThreadsThatSleepLeaveTheWholeCore) {
  MachineUnderTest m(smt_spec());
  hw::Word& x = m.word();
  Script& busy = m.run_on(0, ns(10'000), {exec(ns(1000)), sleep()});
  m.run_on(1, {}, {load(x), monitor(x), halt(HaltKind::kMwait, ns(0), ns(0)), sleep()});
  m.run();
  EXPECT_EQ(busy.time(0), ns(11'000));
}

// From the instruction that begins it to the end of the way back.
TEST(SmtRate, TheWaysIntoAndOutOfAnIdleStateCountAsAsleep) {
  MachineUnderTest m(smt_spec());
  Script& busy = m.run_on(0, {}, {exec(ns(1000)), sleep()});
  m.run_on(1, {}, {exec(ns(60)), halt(HaltKind::kHlt, ns(200), ns(300)), exec(ns(60)), sleep()});
  m.deliver_at(ns(150), 1, Vector::kReschedule);
  m.run();
  // Beside the sibling until 100 (60 done), alone until 200 + 300 + 100, beside it for 100 (60),
  // alone to the end: the lost 80 come on top.
  EXPECT_EQ(busy.time(0), ns(1080));
}

// --- relax loops

struct PauseCase {
  std::int64_t pause;
  hw::Share beside;
};
class PollingSibling : public ::testing::TestWithParam<PauseCase> {};
// 4 ns of code take 6.667 ns beside a running thread. A round leaves
// (0.6 * 6.667 + 0.85 * 140) / 146.667 = 0.838635 of the core; with a PAUSE of 34 ns
// (0.6 * 6.667 + 0.85 * 34) / 40.667 = 0.809014.
INSTANTIATE_TEST_SUITE_P(Pauses, PollingSibling,
                         ::testing::Values(PauseCase{140, 838'635}, PauseCase{34, 809'014}));

hw::SpinLoop poll(std::int64_t pause) {
  hw::SpinLoop loop;
  loop.mask = 1;
  loop.pause = ns(pause);
  loop.period = ns(pause + 4);
  loop.instructions = 3;
  return loop;
}

TEST_P(PollingSibling, SlowsItsNeighbourByTheShareAndTheLengthOfPause) {
  MachineUnderTest m(smt_spec());
  hw::Word& x = m.word();
  Script& busy = m.run_on(0, ns(10'000), {exec(Time::us(100)), sleep()});
  m.run_on(1, {}, {spin(x, poll(GetParam().pause))});
  m.run();
  const std::int64_t ps = (100'000'000LL * 1'000'000 + GetParam().beside - 1) / GetParam().beside;
  EXPECT_EQ(busy.time(0), ns(10'000) + Time::ps(ps));
  EXPECT_EQ(hw::share_beside_loop(m.spec.cpu, ns(4), ns(GetParam().pause)), GetParam().beside);
}

class SmtSpin : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SkippedAndIterated, SmtSpin, ::testing::Bool());

// The loop's line arrives at 5040 and its loads stand at 5040 + 144 k. The sibling runs from 5500
// to 6100: the round that began at 5472 keeps its length; from 5616 on a round takes 140 + 6.667.
// The one that began at 5616 + 3 * 146.667 = 6056.001 keeps its length, too, and ends at 6202.668.
TEST_P(SmtSpin, AChangeOfPaceShowsFromTheNextLoadOn) {
  MachineUnderTest m(smt_spec());
  m.machine.iterate_spins = GetParam();
  hw::Word& x = m.word();
  hw::SpinLoop loop = poll(140);
  loop.check_every = 1;  // a clock check at every load
  loop.deadline = ns(6200);
  Script& r = m.run_on(0, {}, {spin(x, loop)});
  loop.deadline = ns(6203);
  m.run_on(1, ns(5500), {exec(ns(360)), sleep()});
  m.run();
  // Beside the loop the sibling has 0.838635 of the core for 360 ns: until 5929.268.
  // 5616, then 146.667 each: 5762.667, 5909.334, 6056.001, which is after the sibling's end.
  // The round begun at 5909.334 keeps its length; then 144.
  EXPECT_EQ(r.time(0), Time::ps(6'056'001 + 144'000));
  EXPECT_EQ(r.samples.at(0).instructions, 8u * 3);
}

// --- SPEC_CTRL

struct BranchCase {
  std::uint32_t branches;
  std::int64_t end;
};
class IbrsOfTheSibling : public ::testing::TestWithParam<BranchCase> {};
// 500 of 1000 ns are left when the bit is set: half of the branches, 10 ns each.
INSTANTIATE_TEST_SUITE_P(BranchMixes, IbrsOfTheSibling,
                         ::testing::Values(BranchCase{0, 1000}, BranchCase{20, 1100},
                                           BranchCase{40, 1200}));

TEST_P(IbrsOfTheSibling, CostsIndirectBranchesTheirPredictions) {
  for (const std::uint64_t bit : {hw::SPEC_CTRL_IBRS, hw::SPEC_CTRL_STIBP}) {
    MachineUnderTest m(wide_spec());
    Script& busy = m.run_on(0, {}, {branchy_exec(ns(1000), GetParam().branches), sleep()});
    m.run_on(1, ns(450), {write_spec_ctrl(bit), sleep()});
    m.run();
    EXPECT_EQ(busy.time(0), ns(GetParam().end));
  }
}

TEST(SpecCtrl, IsInForceWhenItsWriteIsOver) {
  MachineUnderTest m(wide_spec());
  Script& r = m.run_on(
      0, {},
      {write_spec_ctrl(1), branchy_exec(ns(100), 2), write_spec_ctrl(0), branchy_exec(ns(100), 2)});
  m.run();
  EXPECT_EQ(r.time(0), ns(50));
  EXPECT_EQ(r.time(1), ns(50 + 120));
  EXPECT_EQ(r.time(2), ns(170 + 50 + 0));
  EXPECT_EQ(r.time(3), ns(220 + 100));
}

TEST(SpecCtrl, RestrictsUntilTheLastThreadHasClearedIt) {
  MachineUnderTest m(wide_spec());
  Script& busy = m.run_on(0, ns(50),
                          {write_spec_ctrl(1), branchy_exec(ns(1000), 100), write_spec_ctrl(0),
                           branchy_exec(ns(1000), 100)});
  m.run_on(1, {}, {write_spec_ctrl(1), until(ns(2500)), write_spec_ctrl(0), sleep()});
  m.run();
  EXPECT_EQ(busy.time(1), ns(100 + 2000));
  // 2150 to 2550 at half the pace: 200 done, 800 left.
  EXPECT_EQ(busy.time(3), ns(2550 + 800));
}

TEST(SpecCtrl, OtherCoresAreNotRestricted) {
  MachineUnderTest m(wide_spec());
  Script& busy = m.run_on(0, ns(100), {branchy_exec(ns(1000), 100), sleep()});
  m.run_on(2, {}, {write_spec_ctrl(1), sleep()});
  m.run();
  EXPECT_EQ(busy.time(0), ns(1100));
}

// --- a log of the pace

sim::Co<> logged_program(hw::Cpu& cpu) {
  hw::Cpu& self = cpu;
  co_await self.local_irq_enable();
  co_await self.exec_logged({ns(1000)});
  co_await self.halt(HaltKind::kHlt, {ns(0), ns(0)});
}

TEST(PaceLog, HoldsEveryChangeOfPaceAndEveryInterruption) {
  MachineUnderTest m(smt_spec());
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(100))});
  m.run_on(0, {}, logged_program(m.machine.cpu(0)));
  m.run_on(1, ns(600), {exec(ns(60)), sleep()});
  m.deliver_at(ns(200), 0, Vector::kReschedule);
  m.run();
  const std::vector<hw::PacePoint> expected = {
      {ns(200), ns(200)}, {ns(300), ns(200)}, {ns(600), ns(500)}, {ns(700), ns(560)}};
  EXPECT_EQ(m.machine.cpu(0).pace_log(), expected);
}

// --- idle states of the core

class CoreState : public ::testing::Test {
 protected:
  struct States final : trace::Listener {
    std::uint32_t wants() const override { return trace::kinds<trace::CoreIdle>(); }
    void on(const trace::CoreIdle& e) override { seen.emplace_back(e.time, e.state); }
    std::vector<std::pair<Time, int>> seen;
  };
  CoreState() { m.machine.tracer().add(&states); }

  Step c1() { return halt(HaltKind::kMwaitBreak, m.spec.idle_states[0].timing); }
  Step c6() { return halt(HaltKind::kMwaitBreak, m.spec.idle_states[1].timing); }

  MachineUnderTest m{wide_spec()};
  States states;
};

TEST_F(CoreState, IsReachedOnlyWhenAllThreadsAskForIt) {
  hw::Word& x = m.word();
  m.run_on(1, {}, {load(x), until(ns(20'000)), sleep()});
  Script& r = m.run_on(0, {}, {load(x), monitor(x), c6(), sleep()});
  m.deliver_at(ns(15'000), 0, Vector::kReschedule);
  m.run();
  // Beside a thread that runs it sleeps as in C1.
  EXPECT_EQ(r.time(2), ns(15'100));
  EXPECT_TRUE(states.seen.empty() || states.seen.front().first >= ns(20'000));
}

TEST_F(CoreState, IsEnteredWhenTheLastThreadAsks) {
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {load(x), monitor(x), c6(), sleep()});
  m.run_on(1, {}, {load(x), monitor(x), until(ns(20'000)), c6()});
  m.deliver_at(ns(20'500), 0, Vector::kReschedule);
  m.run();
  // Entered from 20000 to 21000, left until 26000.
  EXPECT_EQ(r.time(2), ns(26'000));
  const std::vector<std::pair<Time, int>> expected = {{ns(20'000), 2}, {ns(20'500), 0}};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), states.seen.begin()));
}

TEST_F(CoreState, IsTheShallowestAskedFor) {
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {load(x), monitor(x), c6(), sleep()});
  m.run_on(1, {}, {load(x), monitor(x), until(ns(20'000)), c1()});
  m.deliver_at(ns(30'000), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(r.time(2), ns(30'100));
  EXPECT_EQ(states.seen.at(0), std::make_pair(ns(20'000), 1));
}

// A thread cannot be awake before its core is.
TEST_F(CoreState, TheSecondThreadWaitsForTheCoreToBeBack) {
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {}, {load(x), monitor(x), until(ns(19'000)), c6(), sleep()});
  Script& s = m.run_on(1, {}, {load(x), monitor(x), until(ns(20'000)), c6(), sleep()});
  m.deliver_at(ns(30'000), 0, Vector::kReschedule);
  m.deliver_at(ns(31'000), 1, Vector::kReschedule);
  m.run();
  EXPECT_EQ(r.time(3), ns(35'000));
  EXPECT_EQ(s.time(3), ns(35'000));
}

// --- offline

TEST(DeadHalt, EndsByItsLineOrByInitOnly) {
  MachineUnderTest m(smt_spec());
  hw::Word& x = m.word();
  Script& r = m.run_on(0, {},
                       {load(x), monitor(x), halt(HaltKind::kMwaitDead, ns(10), ns(100)),
                        halt(HaltKind::kHltDead, ns(10), ns(100))});
  m.deliver_at(ns(6000), 0, Vector::kReschedule);
  m.run_on(2, ns(7000), {store(x, 1), exec(ns(1000)), exec(ns(1000)), sleep()});
  m.at(ns(9000), [&] { m.machine.cpu(0).start_up(); });
  m.run();
  EXPECT_EQ(r.time(2), ns(7030 + 100));  // the store's request reaches the line at 7030
  EXPECT_EQ(r.time(3), ns(9000 + 100));
  EXPECT_TRUE(m.taken.empty());
  EXPECT_EQ(m.machine.cpu(0).pending(), 0u);
}

}  // namespace
}  // namespace idlesim::testing

// haltpoll, teo and ladder on sequences computed by hand (rules: kernel-paths 1.10, 1.12,
// ladder.c), and what haltpoll does on a whole kernel (check 10 of kernel-paths section 10).
#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;

// CPU 0's governor on a kernel that is not booted: the only timers are those that a test arms. The
// tick's period is 10 ms. States: POLL, C1 (exit 1 us, residency 2 us), C6 (100 us, 300 us).
class Governor {
 public:
  using Select = Co<kernel::GovernorChoice> (*)(Cpu& cpu);
  using Reflect = void (*)(kernel::PerCpu& cpu, int index);
  explicit Governor(const char* name, const kernel::HaltpollParameters& haltpoll = {},
                    std::function<void(hw::MachineSpec&)> machine = {})
      : k(options(name, haltpoll, std::move(machine))), dev(k.cpu(0).cpuidle) {}

  kernel::GovernorChoice select() {
    sim::Root root;
    bool done = false;
    root.start(run(k.machine.cpu(0), *this), ended, &done);
    k.machine.run();
    EXPECT_TRUE(done);
    return choice_;
  }
  // One idle period in `state`, which the governor hears of.
  void slept(int state, Time residency) {
    dev.last_residency = residency;
    k.kernel.ops.governor_reflect(k.cpu(0), state);
  }
  void arm(Time expires) {
    timer_.expires = expires;
    timer_.queued = true;
    k.cpu(0).hrtimers.queue = {&timer_};
  }

  KernelUnderTest k;
  kernel::CpuidleDevice& dev;

 private:
  static KernelUnderTest::Options options(const char* name,
                                          const kernel::HaltpollParameters& haltpoll,
                                          std::function<void(hw::MachineSpec&)> machine) {
    KernelUnderTest::Options options;
    options.config.features = features_of(Arch::kX86_64, {{"governor", name}});
    options.config.haltpoll = haltpoll;
    options.machine = std::move(machine);
    return options;
  }
  static Co<> run(Cpu& cpu, Governor& governor) {
    Governor& self = governor;
    self.choice_ = co_await self.k.kernel.ops.governor_select(cpu);
  }
  static void ended(void* done) { *static_cast<bool*>(done) = true; }

  kernel::HrTimer timer_;
  kernel::GovernorChoice choice_;
};

void expect_choice(Governor& governor, int index, bool stop_tick) {
  const kernel::GovernorChoice choice = governor.select();
  EXPECT_EQ(choice.index, index);
  EXPECT_EQ(choice.stop_tick, stop_tick);
}

// --- haltpoll

TEST(Haltpoll, HasStatesOfItsOwn) {
  const Governor g("haltpoll");
  ASSERT_EQ(g.dev.states.size(), 2u);
  EXPECT_TRUE(kernel::is_polling(g.dev, 0));
  EXPECT_EQ(kernel::residency_ns(g.dev, 1), 1000);
  EXPECT_EQ(kernel::exit_latency_ns(g.dev, 1), 1000);
}

TEST(Haltpoll, TheLimitGrowsAndShrinks) {
  Governor g("haltpoll");
  EXPECT_EQ(g.dev.poll_limit_ns, 0);
  const auto halted = [&](int us, std::int64_t expected) {
    g.slept(1, Time::us(us));
    EXPECT_EQ(g.dev.poll_limit_ns, expected) << us;
  };
  halted(60, 50'000);
  halted(50, 50'000);  // not longer than it polls
  halted(100, 100'000);
  halted(200, 200'000);
  halted(150, 200'000);
  halted(200, 200'000);
  halted(201, 100'000);
  halted(1000, 50'000);
  halted(1000, 0);  // 25 us is less than grow_start
  halted(1000, 0);
  halted(1, 50'000);
}
TEST(Haltpoll, ASuccessfulPollChangesNothing) {
  Governor g("haltpoll");
  g.slept(1, Time::us(60));
  g.slept(0, Time::us(10));
  g.slept(0, Time::us(500));
  EXPECT_EQ(g.dev.poll_limit_ns, 50'000);
}
TEST(Haltpoll, Of61KeepsSmallLimits) {
  Governor g("haltpoll_6_1");
  g.slept(1, Time::us(60));
  for (const std::int64_t limit : {25'000, 12'500, 6'250}) {
    g.slept(1, Time::ms(1));
    EXPECT_EQ(g.dev.poll_limit_ns, limit);
  }
  g.slept(1, Time::us(7));  // 12.5 us, at least grow_start
  EXPECT_EQ(g.dev.poll_limit_ns, 50'000);
}
TEST(Haltpoll, Parameters) {
  kernel::HaltpollParameters p;
  p.guest_halt_poll_ns = 70'000;
  p.guest_halt_poll_grow = 3;
  p.guest_halt_poll_grow_start = 20'000;
  p.guest_halt_poll_shrink = 0;
  Governor g("haltpoll", p);
  g.slept(1, Time::us(1));
  EXPECT_EQ(g.dev.poll_limit_ns, 20'000);
  g.slept(1, Time::us(21));
  EXPECT_EQ(g.dev.poll_limit_ns, 60'000);
  g.slept(1, Time::us(61));
  EXPECT_EQ(g.dev.poll_limit_ns, 70'000);
  g.slept(1, Time::us(71));
  EXPECT_EQ(g.dev.poll_limit_ns, 0);
  p.guest_halt_poll_allow_shrink = false;
  Governor stays("haltpoll", p);
  stays.slept(1, Time::us(1));
  stays.slept(1, Time::us(71));
  EXPECT_EQ(stays.dev.poll_limit_ns, 20'000);
}
TEST(Haltpoll, PollsUnlessItTimedOut) {
  Governor g("haltpoll");
  expect_choice(g, 1, true);  // limit 0
  g.slept(1, Time::us(60));
  expect_choice(g, 0, false);
  g.dev.poll_time_limit = true;
  g.slept(0, Time::us(50));
  expect_choice(g, 1, true);
  g.slept(1, Time::us(60));  // after a halt it polls, whatever ended the poll before
  expect_choice(g, 0, false);
  g.dev.poll_time_limit = false;
  g.slept(0, Time::us(5));
  expect_choice(g, 0, false);
}
TEST(Haltpoll, TellsTheHypervisorNotToPoll) {
  EXPECT_TRUE(Governor("haltpoll").k.kernel.disables_host_halt_poll());
  EXPECT_FALSE(Governor("menu").k.kernel.disables_host_halt_poll());
  KernelUnderTest::Options options;
  options.arch = Arch::kArm64;
  options.config.features =
      features_of(Arch::kArm64, {{"governor", "haltpoll"}, {"polling", "tif_polling"}});
  EXPECT_FALSE(KernelUnderTest(options).kernel.disables_host_halt_poll());
}

// Calls to an idle CPU: the first finds it halted, and the next ones polling, as long as they come
// within what it polls.
TEST(Haltpoll, OnAKernel) {
  for (const char* form :
       {"relax_200", "cond_load_200", "cond_load_1", "cond_load_timeout", "wfet"}) {
    for (const bool of_6_1 : {false, true}) {
      KernelUnderTest::Options options;
      options.config.features =
          features_of(Arch::kX86_64, {{"governor", of_6_1 ? "haltpoll_6_1" : "haltpoll"},
                                      {"idle_enter", "hlt"},
                                      {"poll_idle", form}});
      KernelUnderTest k(options);
      std::deque<Called> called;
      Acts acts;
      for (const int us : {100, 130, 150, 170}) {
        acts.push_back(busy_until(Time::us(us)));
        acts.push_back(call(2, called.emplace_back()));
      }
      k.task(0, acts);
      ASSERT_TRUE(k.run(Time::ms(9), Time::us(90)));
      // Its first idle period, 100 us in HLT, ends by an interrupt; afterwards it polls, 50 us, and
      // after the last call it halts again.
      EXPECT_EQ(count_to(k.record.sent, 2), 1) << form;
      EXPECT_EQ(count_to(k.record.elided, 2), 3) << form;
      EXPECT_EQ(k.cpu(2).cpuidle.poll_limit_ns, 50'000);
      EXPECT_TRUE(k.cpu(2).cpuidle.poll_time_limit);
      EXPECT_EQ(k.record.polls.size(), 4u);
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(k.record.polls.at(i).timed_out, i == 3);
    }
  }
}

// --- ladder

// Up after four periods longer than twice the exit latency, down after one shorter than that.
TEST(Ladder, FourUpOneDown) {
  Governor g("ladder");
  const auto next = [&](Time residency, int expected) {
    g.slept(g.dev.last_state_idx, residency);
    expect_choice(g, expected, true);
  };
  EXPECT_EQ(g.dev.last_state_idx, 1);
  for (int i = 0; i < 3; ++i) next(Time::us(3), 1);
  next(Time::us(2), 1);  // 2 us - 1 us is not more than 1 us: no step, and nothing is forgotten
  next(Time::us(3), 2);
  next(Time::us(200), 2);  // 200 us - 100 us: neither
  next(Time::us(199), 1);
  for (int i = 0; i < 3; ++i) next(Time::us(3), 1);
  next(Time::us(3), 2);
  next(Time::ms(5), 2);  // there is nothing deeper
}
// The lowest step is not left downwards.
TEST(Ladder, NeverPolls) {
  Governor g("ladder");
  for (int i = 0; i < 20; ++i) {
    g.slept(1, Time::us(1));
    expect_choice(g, 1, true);
  }
}
TEST(Ladder, CountsStartAnewAfterAStep) {
  Governor g("ladder", {}, [](hw::MachineSpec& spec) {
    hw::IdleStateSpec third = spec.idle_states[1];
    third.exit_latency = Time::us(500);
    spec.idle_states.push_back(third);
  });
  for (int i = 0; i < 4; ++i) {
    g.slept(1, Time::us(3));
    g.select();
  }
  ASSERT_EQ(g.dev.last_state_idx, 2);
  for (int i = 0; i < 3; ++i) {
    g.slept(2, Time::us(201));
    expect_choice(g, 2, true);
  }
  g.slept(2, Time::us(201));
  expect_choice(g, 3, true);
  g.slept(3, Time::us(999));
  expect_choice(g, 2, true);
  g.slept(2, Time::us(201));
  expect_choice(g, 2, true);
  EXPECT_EQ(g.dev.ladder[2].promotion_count, 1);
}

// --- teo

TEST(Teo, KnowsNothingYet) {
  Governor g("teo");
  expect_choice(g, 2, true);  // no timer at all
  EXPECT_EQ(g.dev.teo.sleep_length_ns, kernel::KTIME_MAX);
}
// The timer in 200 us lies before C6 pays: C1, and, as that is less than a tick, with the tick.
TEST(Teo, NotDeeperThanTheTimerAllows) {
  Governor g("teo");
  g.arm(Time::us(300) - Time::ns(1));
  expect_choice(g, 1, false);
  g.arm(Time::us(300));
  expect_choice(g, 2, false);
  g.arm(Time::us(2) - Time::ns(1));
  expect_choice(g, 0, false);
  g.arm(Time::ms(10) - Time::ns(1));
  expect_choice(g, 2, false);
  g.arm(Time::ms(10));
  expect_choice(g, 2, true);
}
// Sleep length and duration in one bin: a hit. Bins: below 2 us, below 300 us, the rest.
TEST(Teo, HitsAndIntercepts) {
  Governor g("teo");
  g.arm(Time::us(400));
  g.select();
  g.slept(2, Time::us(360));  // less half of 100 us: 310 us
  g.select();
  EXPECT_EQ(g.dev.teo.bins[2].hits, 1024u);
  g.slept(2, Time::us(340));  // 290 us
  g.select();
  EXPECT_EQ(g.dev.teo.bins[2].hits, 896u);  // 1024 - 128
  EXPECT_EQ(g.dev.teo.bins[1].intercepts, 1024u);
  EXPECT_EQ(g.dev.teo.total, 1920u);
  EXPECT_EQ(g.dev.teo.tick_intercepts, 1024u);
  g.slept(2, Time::us(99));  // shorter than the exit latency: half of it
  g.select();
  EXPECT_EQ(g.dev.teo.bins[1].intercepts, 1920u);
}
// One intercept against one hit of before: 2 * 1024 > 1024 + 896 - 0, so C1.
TEST(Teo, MostlyEarlyMeansShallower) {
  Governor g("teo");
  g.arm(Time::us(400));
  g.select();
  g.slept(2, Time::us(360));
  expect_choice(g, 2, false);
  g.slept(2, Time::us(340));
  // C1 pays after less than 15 us, and there is polling: no timer is asked.
  expect_choice(g, 1, false);
  EXPECT_EQ(g.dev.teo.sleep_length_ns, kernel::KTIME_MAX);
}
// Intercepts in the bin of POLL: the timer is asked, to learn whether that was right.
TEST(Teo, PollsIfMostWakeUpsComeAtOnce) {
  Governor g("teo");
  g.select();
  for (int i = 0; i < 2; ++i) {
    g.slept(1, Time::ns(1500));
    g.arm(Time::us(400));
    expect_choice(g, 0, false);
    EXPECT_EQ(g.dev.teo.sleep_length_ns, 400'000);
  }
}
// Neither the poll's time limit nor the tick says that something came early.
TEST(Teo, SafetyNetsAreNoIntercepts) {
  Governor g("teo");
  g.arm(Time::us(400));
  g.select();
  g.dev.poll_time_limit = true;
  g.slept(0, Time::us(20));
  EXPECT_FALSE(g.dev.poll_time_limit);
  g.select();
  EXPECT_EQ(g.dev.teo.bins[2].hits, 1024u);
  g.arm(Time::ms(11));
  g.select();
  g.k.cpu(0).tick.got_tick = true;
  g.slept(1, Time::us(20));
  g.select();
  EXPECT_EQ(g.dev.teo.bins[2].hits, 896u + 1024u);
  g.arm(Time::ms(9));  // the tick is no safety net if the timer comes before the next one
  g.select();
  g.k.cpu(0).tick.got_tick = true;
  g.slept(1, Time::us(20));
  g.select();
  EXPECT_EQ(g.dev.teo.bins[1].intercepts, 1024u);
}
// Most wake-ups come before a tick: it is kept, even if the timer is far. C6 pays after 300 us and
// the tick comes in `tick`: then C1.
TEST(Teo, KeepsTheTickIfMostWakeUpsComeBeforeIt) {
  Governor g("teo", {}, [](hw::MachineSpec& spec) {
    spec.idle_states[0].target_residency = Time::us(20);  // so that the timer is asked for
  });
  g.select();
  for (int i = 0; i < 3; ++i) {
    g.slept(2, Time::us(250));
    g.select();
  }
  g.slept(2, Time::us(250));
  expect_choice(g, 1, false);
  EXPECT_EQ(g.dev.teo.sleep_length_ns, kernel::KTIME_MAX);
  EXPECT_GT(g.dev.teo.tick_intercepts, g.dev.teo.total / 2);
}
// Without the tick nothing would end a stay in a shallow state.
TEST(Teo, StoppedTickAvoidsShallowStates) {
  Governor g("teo");
  g.select();
  for (int i = 0; i < 3; ++i) {
    g.slept(2, Time::us(250));
    g.select();
  }
  g.k.cpu(0).tick.stopped = true;
  g.slept(2, Time::us(250));
  expect_choice(g, 2, true);
}

}  // namespace
}  // namespace idlesim::testing

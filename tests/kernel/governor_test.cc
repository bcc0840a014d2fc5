// The menu governor's choice on sequences computed by hand (rules: kernel-paths 1.11), and
// cpuidle_poll_time() (1.6).
#include <gtest/gtest.h>

#include <array>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using Intervals = std::array<std::uint32_t, 8>;
constexpr std::uint32_t kInfinite = ~std::uint32_t{0};
constexpr std::int64_t kForever = std::int64_t{1} << 62;

// CPU 0's governor. The tick's period is 10 ms; the kernel is not booted: the only timers are those
// that a test arms.
class Menu {
 public:
  explicit Menu(int first_us = 2, int second_us = 300, int exit_us = 1)
      : k(options(first_us, second_us, exit_us)), dev(k.cpu(0).cpuidle), menu(dev.menu) {
    dev.last_residency = Time::us(1);  // not refused
  }
  kernel::GovernorChoice select() {
    sim::Root root;
    bool done = false;
    root.start(run(k.machine.cpu(0), *this), ended, &done);
    k.machine.run();
    EXPECT_TRUE(done);
    return choice_;
  }
  void arm(Time expires, bool tick = false) {
    timer_.expires = expires;
    timer_.queued = true;
    timer_.is_tick = tick;
    k.cpu(0).hrtimers.queue.push_back(&timer_);
  }
  // The last idle period.
  void slept(int state, Time residency, Time next_timer) {
    menu.needs_update = true;
    dev.last_state_idx = state;
    dev.last_residency = residency;
    menu.next_timer_ns = next_timer.count_ns();
    menu.bucket = 3;
  }

  KernelUnderTest k;
  kernel::CpuidleDevice& dev;
  kernel::MenuDevice& menu;

 private:
  static KernelUnderTest::Options options(int first_us, int second_us, int exit_us) {
    KernelUnderTest::Options options;
    options.config.features = features_of(hw::Arch::kX86_64, {{"governor", "menu"}});
    options.machine = [=](hw::MachineSpec& spec) {
      spec.idle_states[0].target_residency = Time::us(first_us);
      spec.idle_states[0].exit_latency = Time::us(exit_us);
      spec.idle_states[1].target_residency = Time::us(second_us);
    };
    return options;
  }
  static Co<> run(Cpu& cpu, Menu& menu) {
    Menu& self = menu;
    self.choice_ = co_await kernel::menu_select(cpu);
  }
  static void ended(void* done) { *static_cast<bool*>(done) = true; }

  kernel::HrTimer timer_;
  kernel::GovernorChoice choice_;
};

// The state chosen last was refused: late 6.12.y counts that as an interval without end, 6.10 does
// not notice.
TEST(MenuRefusal, LeavesATraceOrNone) {
  for (const char* governor : {"menu", "menu_6_10"}) {
    Menu menu;
    menu.k.kernel.ops = kernel::make_ops(features_of(hw::Arch::kX86_64, {{"governor", governor}}));
    menu.menu.intervals = {8, 8, 8, 8, 8, 8, 8, 8};
    menu.dev.last_residency = Time{};
    menu.select();
    const Intervals expected = governor == std::string("menu")
                                   ? Intervals{~std::uint32_t{0}, 8, 8, 8, 8, 8, 8, 8}
                                   : Intervals{8, 8, 8, 8, 8, 8, 8, 8};
    EXPECT_EQ(menu.menu.intervals, expected) << governor;
  }
}

// Predicted is the typical interval `us`, to the microsecond: a state that pays from `us` on is
// chosen, one that pays from us + 1 on is not.
void expect_typical(const Intervals& intervals, int us) {
  Menu menu(us, us + 1, 0);
  menu.menu.intervals = intervals;
  EXPECT_EQ(menu.select().index, 1) << ::testing::PrintToString(intervals);
}
void expect_no_pattern(const Intervals& intervals) {
  Menu menu;
  menu.menu.intervals = intervals;
  const kernel::GovernorChoice choice = menu.select();  // no timer: for ever
  EXPECT_EQ(choice.index, 2) << ::testing::PrintToString(intervals);
  EXPECT_TRUE(choice.stop_tick);
}

TEST(MenuTypicalInterval, SmallVariance) {
  expect_typical({8, 8, 8, 8, 8, 8, 8, 8}, 8);
  // Mean 100, variance 400: accepted.
  expect_typical({80, 120, 80, 120, 80, 120, 80, 120}, 100);
  // Mean 100, variance 441; 100^2 < 36 * 441. Without 121: mean 79, variance 0.
  expect_typical({79, 121, 79, 121, 79, 121, 79, 121}, 79);
}
TEST(MenuTypicalInterval, SmallAgainstTheMean) {
  // Mean 1025, variance (6 * 25^2 + 2 * 75^2) / 8 = 1875; 1025^2 > 36 * 1875.
  expect_typical({1000, 1000, 1000, 1000, 1000, 1000, 1100, 1100}, 1025);
}
TEST(MenuTypicalInterval, OneLongIsDropped) {
  // Mean 633, variance 2723449; without 5000: mean 10, variance 0.
  expect_typical({10, 10, 10, 5000, 10, 10, 10, 10}, 10);
}
TEST(MenuTypicalInterval, InfiniteIntervalsDoNotCount) {
  expect_typical({12, 12, kInfinite, 12, 12, kInfinite, 12, 12}, 12);
}
TEST(MenuTypicalInterval, NoPattern) {
  // Variances 210000 of 8, 160000 of 7, 116666 of 6; no more are dropped.
  expect_no_pattern({100, 300, 500, 700, 900, 1100, 1300, 1500});
  // Nothing known yet.
  expect_no_pattern({});
  expect_no_pattern(
      {kInfinite, kInfinite, kInfinite, kInfinite, kInfinite, kInfinite, kInfinite, kInfinite});
}

TEST(MenuSelect, ShortTypicalIntervalsAskForNoTimer) {
  Menu menu;
  menu.menu.intervals = {15, 15, 15, 15, 15, 15, 15, 15};
  const kernel::GovernorChoice choice = menu.select();
  EXPECT_EQ(choice.index, 1);
  EXPECT_FALSE(choice.stop_tick);
  EXPECT_EQ(menu.menu.next_timer_ns, kForever);
  EXPECT_FALSE(menu.k.cpu(0).tick.next_event_known);
}
TEST(MenuSelect, LongerOnesDo) {
  Menu menu;
  menu.menu.intervals = {16, 16, 16, 16, 16, 16, 16, 16};
  menu.arm(Time::us(700));
  EXPECT_EQ(menu.select().index, 1);
  EXPECT_EQ(menu.menu.next_timer_ns, 700'000);
  EXPECT_EQ(menu.menu.bucket, 2u);
  EXPECT_TRUE(menu.k.cpu(0).tick.next_event_known);
}
// Rather C1 than POLL, if its exit latency (1 us) is within what is predicted.
TEST(MenuSelect, PollOrC1) {
  Menu one;
  one.menu.intervals = {1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(one.select().index, 1);
  Menu none;
  none.menu.intervals = {0, 0, 0, 0, 0, 0, 0, 1};  // mean 0
  const kernel::GovernorChoice choice = none.select();
  EXPECT_EQ(choice.index, 0);
  EXPECT_FALSE(choice.stop_tick);
  // Not if C1 pays only after 15 us or more.
  Menu late(15);
  late.menu.intervals = {10, 10, 10, 10, 10, 10, 10, 10};
  EXPECT_EQ(late.select().index, 0);
  Menu just(14);
  just.menu.intervals = {10, 10, 10, 10, 10, 10, 10, 10};
  EXPECT_EQ(just.select().index, 1);
}
TEST(MenuSelect, ATimerBeforeC1PaysMeansPoll) {
  for (const bool before : {true, false}) {
    Menu menu;
    menu.arm(Time::us(2) - Time::ns(before ? 1 : 0));
    EXPECT_EQ(menu.select().index, before ? 0 : 1);
  }
}
// A timer in 20 ms, a tick in 3 ms, and a state that pays after 50 ms: shallow, with the tick.
TEST(MenuSelect, ShallowKeepsTheTick) {
  Menu menu(2, 50'000);
  menu.arm(Time::ms(20));
  const kernel::GovernorChoice choice = menu.select();
  EXPECT_EQ(choice.index, 1);
  EXPECT_FALSE(choice.stop_tick);
}
TEST(MenuSelect, LongEnoughStopsTheTick) {
  Menu menu;
  menu.arm(Time::ms(20));
  const kernel::GovernorChoice choice = menu.select();
  EXPECT_EQ(choice.index, 2);
  EXPECT_TRUE(choice.stop_tick);
}
// Shorter than a tick: the tick stays, and the state must pay before it comes.
TEST(MenuSelect, TheTickIsATimerIfItStays) {
  Menu menu;
  menu.menu.intervals = {400, 400, 400, 400, 400, 400, 400, 400};
  menu.arm(Time::us(299), true);
  kernel::GovernorChoice choice = menu.select();
  EXPECT_EQ(choice.index, 1);
  EXPECT_FALSE(choice.stop_tick);
  menu.k.cpu(0).hrtimers.queue.clear();
  menu.arm(Time::us(300), true);
  choice = menu.select();
  EXPECT_EQ(choice.index, 2);
  EXPECT_FALSE(choice.stop_tick);
}
// Without a tick that would correct it, what the timer says counts.
TEST(MenuSelect, StoppedTickTrustsTheTimer) {
  Menu menu;
  menu.k.cpu(0).tick.stopped = true;
  menu.menu.intervals = {8, 8, 8, 8, 8, 8, 8, 8};
  menu.arm(Time::us(400));
  EXPECT_EQ(menu.select().index, 2);
}

// --- what is learnt

TEST(MenuUpdate, CorrectionFactorAndInterval) {
  Menu menu;
  menu.slept(1, Time::us(251), Time::ms(1));
  menu.select();
  // 250 us without the exit latency: 8192 - 8192 / 8 + 1024 * 250 / 1000.
  EXPECT_EQ(menu.menu.correction_factor[3], 7424u);
  EXPECT_EQ(menu.menu.intervals[0], 250u);
  EXPECT_EQ(menu.menu.interval_ptr, 1);
}
// 1 ms * 7424 / 8192 = 906.25 us, rounded to 906.
TEST(MenuUpdate, TheFactorScalesTheTimer) {
  Menu menu(906, 907, 0);
  menu.menu.correction_factor[3] = 7424;
  menu.arm(Time::ms(1));
  EXPECT_EQ(menu.select().index, 1);
}
TEST(MenuUpdate, ShortResidenciesAreHalved) {
  Menu menu;
  menu.slept(2, Time::us(200), Time::ms(1));  // not more than twice 100 us
  menu.select();
  EXPECT_EQ(menu.menu.intervals[0], 100u);
  menu.slept(2, Time::us(201), Time::ms(1));
  menu.select();
  EXPECT_EQ(menu.menu.intervals[1], 101u);
}
TEST(MenuUpdate, NotLongerThanTheTimer) {
  Menu menu;
  menu.slept(1, Time::us(400), Time::us(300));
  menu.select();
  EXPECT_EQ(menu.menu.intervals[0], 300u);
}
TEST(MenuUpdate, WokenByTheTick) {
  for (const bool beyond : {false, true}) {
    Menu menu;
    menu.slept(1, Time::us(401), Time::ms(beyond ? 60 : 10));
    menu.menu.tick_wakeup = true;
    menu.select();
    EXPECT_EQ(menu.menu.intervals[0], beyond ? 45000u : 400u);
  }
}
TEST(MenuUpdate, PollThatTimedOut) {
  Menu menu;
  menu.slept(0, Time::us(20), Time::us(700));
  menu.dev.poll_time_limit = true;
  menu.select();
  EXPECT_EQ(menu.menu.intervals[0], 700u);
}
TEST(MenuUpdate, RefusedIsInfinite) {
  Menu menu;
  menu.dev.last_residency = {};
  menu.select();
  EXPECT_EQ(menu.menu.intervals[0], kInfinite);
}
TEST(MenuUpdate, FiftyMillisecondsCountAsPerfect) {
  Menu menu;
  menu.slept(1, Time::ms(50) + Time::us(1), Time::seconds(1));
  menu.menu.correction_factor[3] = 4096;
  menu.select();
  EXPECT_EQ(menu.menu.correction_factor[3], 4096u - 512u + 1024u);
}

// --- cpuidle_poll_time()

std::int64_t poll_time(int first_us, int second_us, int hz, kernel::KernelConfig config = {}) {
  KernelUnderTest::Options options;
  options.config = config;
  options.config.features = features_of(hw::Arch::kX86_64, {{"governor", "menu"}});
  options.hz = hz;
  options.machine = [=](hw::MachineSpec& spec) {
    spec.idle_states[0].target_residency = Time::us(first_us);
    spec.idle_states[1].target_residency = Time::us(second_us);
  };
  KernelUnderTest k(options);
  return kernel::cpuidle_poll_time(k.machine.cpu(0));
}

TEST(CpuidlePollTime, FirstStateOfTenMicroseconds) {
  EXPECT_EQ(poll_time(2, 20, 250), 20'000);
  EXPECT_EQ(poll_time(9, 30, 250), 30'000);
  EXPECT_EQ(poll_time(10, 30, 250), 10'000);
}
TEST(CpuidlePollTime, AtMostASixteenthOfATick) {
  EXPECT_EQ(poll_time(2, 600, 250), 250'000);
  EXPECT_EQ(poll_time(2, 600, 1000), 62'500);
  EXPECT_EQ(poll_time(2, 3, 250), 250'000);
}
TEST(CpuidlePollTime, IsCached) {
  Menu menu(20);
  EXPECT_EQ(kernel::cpuidle_poll_time(menu.k.machine.cpu(0)), 20'000);
  EXPECT_EQ(menu.dev.poll_limit_ns, 20'000);
  menu.dev.poll_limit_ns = 777;
  EXPECT_EQ(kernel::cpuidle_poll_time(menu.k.machine.cpu(0)), 777);
}

}  // namespace
}  // namespace idlesim::testing

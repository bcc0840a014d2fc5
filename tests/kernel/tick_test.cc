// When idle stops the tick and what that touches (kernel-paths 1.3, 1.8); jiffies.
#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

KernelUnderTest::Options with_tick(const char* tick, const char* governor = "none") {
  KernelUnderTest::Options options;
  options.config.features =
      features_of(hw::Arch::kX86_64, {{"tick", tick}, {"governor", governor}});
  options.hz = 1000;
  return options;
}
// The n-th tick, and a little, so that all CPUs have handled it.
Time after_tick(KernelUnderTest& k, int n) {
  return k.kernel.tick_phase() + k.kernel.tick_period() * n + Time::us(50);
}

TEST(Tick, WithoutGovernorItIsRetained) {
  KernelUnderTest k(with_tick("governor"));
  k.run_until(after_tick(k, 5));
  for (CpuId cpu = 0; cpu < 4; ++cpu) EXPECT_FALSE(k.cpu(cpu).tick.stopped);
  EXPECT_EQ(k.kernel.jiffies.peek(), 5u);
  EXPECT_EQ(k.record.taken.size(), 5u * 4u);
}

TEST(Tick, AlwaysStopStopsAtOnce) {
  KernelUnderTest k(with_tick("always_stop"));
  k.run_until(after_tick(k, 1) - Time::us(60));
  for (CpuId cpu = 0; cpu < 4; ++cpu) EXPECT_TRUE(k.cpu(cpu).tick.stopped);
  k.run_until(after_tick(k, 5));
  EXPECT_EQ(k.record.taken.size(), 0u);
  EXPECT_EQ(k.kernel.nohz_nr_cpus.peek(), 4u);
  EXPECT_EQ(k.kernel.nohz_cpus_mask.peek(), 4u);
  EXPECT_EQ(k.kernel.llc_shared[0].nr_busy_cpus.peek(), 0u);
  EXPECT_EQ(k.kernel.nohz_has_blocked.peek(), 1u);
}

TEST(Tick, StopAfterTickWaitsForOne) {
  KernelUnderTest k(with_tick("stop_after_tick"));
  k.run_until(after_tick(k, 1) - Time::us(60));
  for (CpuId cpu = 0; cpu < 4; ++cpu) EXPECT_FALSE(k.cpu(cpu).tick.stopped);
  k.run_until(after_tick(k, 1));
  for (CpuId cpu = 0; cpu < 4; ++cpu) EXPECT_TRUE(k.cpu(cpu).tick.stopped);
  EXPECT_EQ(k.record.taken.size(), 4u);
}

// The menu governor with nothing known expects a long sleep.
TEST(Tick, MenuStopsItForLongSleeps) {
  KernelUnderTest k(with_tick("governor", "menu"));
  k.run_until(Time::us(500));
  for (CpuId cpu = 0; cpu < 4; ++cpu) {
    EXPECT_TRUE(k.cpu(cpu).tick.stopped);
    ASSERT_EQ(count_on(k.record.enters, cpu), 1);
  }
  EXPECT_EQ(k.record.enters[0].state, 2);
}

// Who comes from idle finds jiffies behind and brings them up to date.
TEST(Tick, LeavingIdleUpdatesJiffies) {
  KernelUnderTest k(with_tick("always_stop"));
  Called called;
  bool seen = false;
  k.task(0, {sleep_until(Time::us(5900)), note([&] {
               const Time since = k.machine.now() - k.kernel.tick_phase();
               EXPECT_EQ(k.kernel.jiffies.peek(),
                         static_cast<std::uint64_t>(since / k.kernel.tick_period()));
               seen = true;
             })});
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(seen);
  EXPECT_GE(k.kernel.jiffies.peek(), 4u);
}

// A short wake-up leaves the CPU in the mask of idle CPUs; the tick of a busy one takes it out.
TEST(Tick, NohzMaskIsLeftByTheTickOfABusyCpu) {
  KernelUnderTest k(with_tick("always_stop"));
  Time end;
  k.task(1, {sleep_until(Time::us(300)), note([&] { EXPECT_TRUE(k.cpu(1).tick.in_nohz_mask); }),
             busy_until(Time::us(320)), sleep_until(Time::us(340)),
             note([&] { EXPECT_TRUE(k.cpu(1).tick.in_nohz_mask); }), busy_until(Time::us(2500)),
             note([&] {
               EXPECT_FALSE(k.cpu(1).tick.in_nohz_mask);
               EXPECT_EQ(k.kernel.nohz_nr_cpus.peek(), 3u);
               EXPECT_EQ(k.kernel.llc_shared[0].nr_busy_cpus.peek(), 1u);
             })});
  ASSERT_TRUE(k.run());
  EXPECT_EQ(k.kernel.nohz_nr_cpus.peek(), 4u);
  // Each CPU once at the start; CPU 1, the last then, has it when it leaves and comes back.
  EXPECT_EQ(k.transfers_of("NOHZMASK").size(), 4u);
}

// The CPU that keeps the time hands it to whoever ticks next.
TEST(Tick, TimekeepingIsHandedOver) {
  KernelUnderTest k(with_tick("stop_after_tick"));
  k.task(3, {busy_until(Time::us(8000))});
  k.run_until(after_tick(k, 1));
  const std::uint64_t first = k.kernel.tick_do_timer_cpu.peek();
  k.run_until(after_tick(k, 2));
  EXPECT_EQ(k.kernel.tick_do_timer_cpu.peek(), 3u);
  EXPECT_TRUE(first == kernel::kNoTimerCpu || first == 3u);
  k.run_until(after_tick(k, 5));
  EXPECT_EQ(k.kernel.jiffies.peek(), 5u);
}

}  // namespace
}  // namespace idlesim::testing

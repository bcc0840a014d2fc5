// The event stream's bit and the conversion to counts, by hand (kernel-paths 8.5), and what waits
// in WFE on arm64.
#include "idlesim/kernel/cmpwait.h"

#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using kernel::event_stream_bit;

// Half of the counts of 100 us, to the nearest power of two.
TEST(EventStream, TheBitNearestTo10kHz) {
  EXPECT_EQ(event_stream_bit(Frequency::mhz(25), false), 10);       // 1250: 81.92 us
  EXPECT_EQ(event_stream_bit(Frequency::mhz(50), false), 11);       // 2500
  EXPECT_EQ(event_stream_bit(Frequency::khz(121'875), false), 12);  // 6093: 67.2 us
  EXPECT_EQ(event_stream_bit(Frequency::mhz(100), false), 12);      // 5000
  EXPECT_EQ(event_stream_bit(Frequency::mhz(1), false), 6);         // 50: 32 + 18
  EXPECT_EQ(event_stream_bit(Frequency::khz(10), false), 0);
}
TEST(EventStream, Above15OnlyWithEcv) {
  EXPECT_EQ(event_stream_bit(Frequency::mhz(1000), false), 15);  // 65.5 us
  EXPECT_EQ(event_stream_bit(Frequency::mhz(1000), true), 16);   // 131.1 us
  EXPECT_EQ(event_stream_bit(Frequency::mhz(1050), false), 15);
  EXPECT_EQ(event_stream_bit(Frequency::mhz(1050), true), 16);
  EXPECT_EQ(event_stream_bit(Frequency::mhz(25), true), 10);
}
TEST(EventStream, EveryCpuHasIt) {
  KernelUnderTest::Options options;
  options.arch = hw::Arch::kArm64;
  options.config.features = features_of(
      hw::Arch::kArm64,
      {{"polling", "tif_polling"}, {"governor", "fixed"}, {"poll_idle", "cond_load_1"}});
  options.config.idle_state = 0;
  KernelUnderTest k(options);
  k.run_until(Time::us(40));
  for (CpuId cpu = 0; cpu < 4; ++cpu) EXPECT_EQ(count_on(k.record.event_waits, cpu), 1);
}

TEST(NsecsToCycles, IsASixthTooLong) {
  EXPECT_EQ(kernel::nsecs_to_cycles(Frequency::mhz(25), Time::us(50)), 1455);  // 1250 are 50 us
  EXPECT_EQ(kernel::nsecs_to_cycles(Frequency::mhz(1000), Time::us(200)), 232'830);
  EXPECT_EQ(kernel::nsecs_to_cycles(Frequency::mhz(1000), Time{}), 0);
}

// A caller waits in WFE on the line of its csd, also for a lock that another CPU holds.
TEST(WaitInWfe, OfACaller) {
  KernelUnderTest::Options options;
  options.arch = hw::Arch::kArm64;
  options.config.features = features_of(hw::Arch::kArm64, {});
  KernelUnderTest k(options);
  Called called;
  called.takes = Time::us(20);
  std::uint64_t waits = 0;
  k.task(0, {busy_until(Time::us(100)), note([&] { k.record.clear(); }), call(2, called),
             note([&] { waits = k.record.event_waits.size(); })});
  ASSERT_TRUE(k.run());
  ASSERT_GE(waits, 1u);
  const trace::EventWait& wait = k.record.event_waits.at(waits - 1);
  EXPECT_EQ(wait.cpu, 0);
  EXPECT_EQ(wait.end, trace::WaitEnd::kEvent);
  EXPECT_GE(wait.time, called.at + Time::us(20));
  EXPECT_LE(waits, 3u);  // the csd is taken to be listed, and unlocked; one event of the stream
}
TEST(WaitInWfe, X86Relaxes) {
  KernelUnderTest::Options options;
  options.config.features = features_of(hw::Arch::kX86_64, {});
  KernelUnderTest k(options);
  Called called;
  k.task(0, {busy_until(Time::us(100)), call(2, called)});
  ASSERT_TRUE(k.run());
  EXPECT_TRUE(k.record.event_waits.empty());
}

}  // namespace
}  // namespace idlesim::testing

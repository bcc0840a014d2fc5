// When each form of poll_idle() looks at the clock, to the nanosecond (checks 9 of kernel-paths
// section 10, rules in 1.6).
//
// Every segment of code takes 10 ns, but a look at the clock 7, an atomic 5 and PAUSE 11. Polling
// begins with the head and setting POLLING; it is to last until the second state pays.
#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;

constexpr std::int64_t kBegin = 10 + 5;
constexpr std::int64_t kRound = 10 + 11;
constexpr std::int64_t kCheck = 7;

struct Polled {
  std::int64_t lasted = 0;  // from the beginning of poll_idle()
  std::int64_t over = 0;    // the time limit
  bool timed_out = false;
};

// The first poll_idle() of CPU 3, which nobody disturbs.
Polled poll(const char* form, Time limit) {
  KernelUnderTest::Options options;
  options.config.features =
      features_of(Arch::kX86_64, {{"governor", "fixed"}, {"poll_idle", form}});
  options.config.idle_state = 0;
  options.machine = [limit](hw::MachineSpec& spec) {
    spec.cpu.pause = Time::ns(11);
    spec.idle_states[1].target_residency = limit;
  };
  options.costs = [](kernel::KernelSpec& spec) {
    spec.segments[static_cast<std::size_t>(Path::poll_idle_clock_check)].instructions = 7;
  };
  KernelUnderTest k(options);
  k.run_until(Time::ms(1));
  for (const trace::PollDone& e : k.record.polls)
    if (e.cpu == 3)
      return {(e.time - e.started).count_ns(), (e.time - e.limit).count_ns(), e.timed_out};
  ADD_FAILURE() << "no poll ended";
  return {};
}

void expect_end(const char* form, Time limit, std::int64_t lasted) {
  const Polled polled = poll(form, limit);
  EXPECT_EQ(polled.lasted, lasted) << form;
  EXPECT_EQ(polled.over, lasted - limit.count_ns()) << form;
  EXPECT_TRUE(polled.timed_out) << form;
}

constexpr Time kLimit = Time::us(300);

// 201 rounds, then the clock.
TEST(PollIdle, Relax200) {
  constexpr std::int64_t kBlock = 201 * kRound + kCheck;
  static_assert(kBegin + 70 * kBlock <= 300'000 && kBegin + 71 * kBlock > 300'000);
  expect_end("relax_200", kLimit, kBegin + 71 * kBlock);
  // Exactly at the limit it goes on.
  expect_end("relax_200", Time::ns(kBegin + 71 * kBlock), kBegin + 72 * kBlock);
}
// 200 rounds; the condition is tested once more when the counter ends them, and once again before
// the next 200.
TEST(PollIdle, CondLoad200) {
  constexpr std::int64_t kBlock = 200 * kRound + kCheck + 2 * 10;
  static_assert(kBegin + 70 * kBlock <= 300'000 && kBegin + 71 * kBlock > 300'000);
  expect_end("cond_load_200", kLimit, kBegin + 71 * kBlock);
}
// The same on x86, but the clock comes first.
TEST(PollIdle, CondLoad1) {
  constexpr std::int64_t kBlock = 200 * kRound + kCheck + 2 * 10;
  expect_end("cond_load_1", kLimit, kBegin + kCheck + 71 * kBlock);
}
// 201 rounds; the limit counts from where polling begins, and it ends exactly there.
TEST(PollIdle, CondLoadTimeout) {
  constexpr std::int64_t kBlock = 201 * kRound + kCheck;
  expect_end("cond_load_timeout", kLimit, kBegin + 71 * kBlock);
  expect_end("cond_load_timeout", Time::ns(71 * kBlock), kBegin + 71 * kBlock);
  expect_end("cond_load_timeout", Time::ns(71 * kBlock + 1), kBegin + 72 * kBlock);
}
// 200 rounds.
TEST(PollIdle, Wfet) {
  constexpr std::int64_t kBlock = 200 * kRound + kCheck;
  static_assert(71 * kBlock < 300'000 && 72 * kBlock >= 300'000);
  expect_end("wfet", kLimit, kBegin + 72 * kBlock);
  expect_end("wfet", Time::ns(72 * kBlock), kBegin + 72 * kBlock);
}

// --- arm64
//
// The counter has 1 GHz and no ECV: the event stream follows bit 15, so an event comes at
// 32768 + 65536 k ns. It ends a WFE after 3 ns; then the flags are loaded, and after 7 ns the time
// is known.

constexpr std::int64_t kEvent(std::int64_t k) { return 32'768 + 65'536 * k; }
constexpr std::int64_t kSeen = 3 + kCheck;
// Before the first wait: the head, setting POLLING, a barrier.
constexpr std::int64_t kBeginArm = 10 + 5 + 7;

struct ArmPoll {
  const char* form;
  bool wfxt = false;
  bool event_stream = true;
};

// The first poll_idle() of CPU 3, to last 300 us. No tick comes before it is over.
trace::PollDone poll_on_arm64(const ArmPoll& poll, std::vector<trace::EventWait>* waits = nullptr) {
  KernelUnderTest::Options options;
  options.arch = Arch::kArm64;
  options.hz = 10;
  options.config.features = features_of(
      Arch::kArm64, {{"polling", "tif_polling"}, {"governor", "fixed"}, {"poll_idle", poll.form}});
  options.config.idle_state = 0;
  options.config.event_stream = poll.event_stream;
  options.machine = [poll](hw::MachineSpec& spec) {
    spec.cpu.pause = Time::ns(11);
    spec.cpu.wfe = {Time::ns(2), Time::ns(3)};
    spec.cpu.wfxt = poll.wfxt;
  };
  options.costs = [](kernel::KernelSpec& spec) {
    spec.segments[static_cast<std::size_t>(Path::poll_idle_clock_check)].instructions = 7;
  };
  KernelUnderTest k(options);
  k.run_until(Time::ms(20));
  for (const trace::PollDone& e : k.record.polls) {
    if (e.cpu != 3) continue;
    EXPECT_TRUE(e.timed_out) << poll.form;
    EXPECT_EQ(e.limit, e.started + kLimit);
    EXPECT_LT(e.started, Time::us(1));
    if (waits != nullptr)
      for (const trace::EventWait& wait : k.record.event_waits)
        if (wait.cpu == 3 && wait.time <= e.time) waits->push_back(wait);
    return e;
  }
  ADD_FAILURE() << "no poll ended";
  return {};
}

TEST(PollIdleArm64, Relax200) {
  const trace::PollDone e = poll_on_arm64({"relax_200"});
  constexpr std::int64_t kBlock = 201 * kRound + kCheck;
  EXPECT_EQ((e.time - e.started).count_ns(), kBeginArm + 71 * kBlock);
}
// The 200th wait ends with event 199: 12.8 ms late.
TEST(PollIdleArm64, CondLoad200LooksAfter200Waits) {
  std::vector<trace::EventWait> waits;
  const trace::PollDone e = poll_on_arm64({"cond_load_200"}, &waits);
  EXPECT_EQ(e.time, Time::ns(kEvent(199) + kSeen));
  EXPECT_EQ(waits.size(), 200u);
}
// After each: late by less than a period. Event 4 is at 294.9 us.
TEST(PollIdleArm64, CondLoad1LooksAfterEachWait) {
  std::vector<trace::EventWait> waits;
  const trace::PollDone e = poll_on_arm64({"cond_load_1"}, &waits);
  EXPECT_EQ(e.time, Time::ns(kEvent(5) + kSeen));
  ASSERT_EQ(waits.size(), 6u);
  for (const trace::EventWait& wait : waits) EXPECT_EQ(wait.end, trace::WaitEnd::kEventStream);
}
TEST(PollIdleArm64, CondLoadTimeoutLooksAfterEachWait) {
  EXPECT_EQ(poll_on_arm64({"cond_load_timeout"}).time, Time::ns(kEvent(5) + kSeen));
}
// Without FEAT_WFxT the same.
TEST(PollIdleArm64, WfetWithoutTheInstruction) {
  EXPECT_EQ(poll_on_arm64({"wfet"}).time, Time::ns(kEvent(5) + kSeen));
}

// Time is turned into counts as x * 5 / 2^32, 16.4 % too many.
constexpr std::int64_t wfet_ns(std::int64_t ns) { return ns * 5 * 1'000'000'000 >> 32; }

// The last wait begins 10 ns after event 4 was seen, and would last what is left, and a sixth more.
TEST(PollIdleArm64, WfetEndsTheLastWait) {
  std::vector<trace::EventWait> waits;
  const trace::PollDone e = poll_on_arm64({"wfet", true}, &waits);
  const std::int64_t seen = kEvent(4) + kSeen;
  const std::int64_t left = e.started.count_ns() + kBeginArm + 300'000 - seen;
  EXPECT_EQ(e.time, Time::ns(seen + 10 + wfet_ns(left) + kSeen));
  ASSERT_EQ(waits.size(), 6u);
  EXPECT_EQ(waits.back().end, trace::WaitEnd::kDeadline);
}
TEST(PollIdleArm64, WfetNeedsNoEventStream) {
  static_assert(wfet_ns(300'000) == 349'245);
  const trace::PollDone e = poll_on_arm64({"wfet", true, false});
  EXPECT_EQ((e.time - e.started).count_ns(), kBeginArm + 10 + 349'245 + kSeen);
}
// With neither there is only cpu_relax().
TEST(PollIdleArm64, RelaxesWithoutEventStream) {
  trace::PollDone e = poll_on_arm64({"cond_load_timeout", false, false});
  EXPECT_EQ((e.time - e.started).count_ns(), kBeginArm + 71 * (201 * kRound + kCheck));
  // One round, then the clock.
  constexpr std::int64_t kBlock = kRound + kCheck;
  static_assert(10'714 * kBlock < 300'000 && 10'715 * kBlock >= 300'000);
  e = poll_on_arm64({"wfet", false, false});
  EXPECT_EQ((e.time - e.started).count_ns(), kBeginArm + 10'715 * kBlock);
}

}  // namespace
}  // namespace idlesim::testing

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

}  // namespace
}  // namespace idlesim::testing

// Whole paths with every time summed by hand. Each segment of code takes 10 ns, an atomic 5; CPU 0
// (socket 0) calls CPU 2 (socket 1). A line's way: from CPU 0 to a home in socket 1 and back from
// CPU 2 there: 100 + 20 + 300; from CPU 2 to a home in its socket, CPU 0 being the owner:
// 10 + 200 + 300; the other way round likewise.
//
// Each test makes one call to bring the lines to where a call leaves them, and measures the next:
// the csd's line (home 0) is shared by both, its queue's (home 1) is CPU 2's.
#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Vector;

constexpr Time ns(std::int64_t count) { return Time::ns(count); }

constexpr std::int64_t kExec = 10;
constexpr std::int64_t kAtomic = 5;
constexpr std::int64_t kFar = 100 + 20 + 300;   // home with the other, who has it
constexpr std::int64_t kNear = 10 + 200 + 300;  // home here, the other has it

class SecondCall {
 public:
  static constexpr CpuId kTarget = 2;
  explicit SecondCall(std::initializer_list<Axis> axes, Time function = {}, int idle_state = 1)
      : k(options(axes, idle_state)) {
    called_.takes = function;
    k.task(0,
           {busy_until(Time::us(100)), call(kTarget, first_), busy_until(Time::us(200)),
            note([this] { k.record.clear(); }), call(kTarget, called_), busy_until(Time::us(250))});
    EXPECT_TRUE(k.run());
    EXPECT_EQ(k.record.calls.size(), 1u);
    done = k.record.calls.at(0);
    for (const trace::LineTransfer& e : k.transfers_of("CSD"))
      if (e.completed > done.queued) ++csd_transfers;
  }
  // Since the call began.
  std::int64_t since(Time time) const { return (time - done.issued).count_ns(); }

  KernelUnderTest k;
  trace::CallDone done;
  int csd_transfers = 0;  // between the push and the return

 private:
  static KernelUnderTest::Options options(std::initializer_list<Axis> axes, int idle_state) {
    KernelUnderTest::Options options;
    options.config.features = features_of(hw::Arch::kX86_64, axes);
    options.config.idle_state = idle_state;
    return options;
  }
  Called first_, called_;
};

// Until the entry is on the queue: head; the queue's line to read it; the store to the csd, begun
// after the head with 10 + 200 + 300 (CPU 2 has a copy), is seen before; then the line again, to
// write it.
constexpr std::int64_t kStoreSeen = kExec + kNear;
constexpr std::int64_t kHeadRead = kExec + kExec + kFar;
constexpr std::int64_t kQueued = std::max(kStoreSeen, kHeadRead) + kFar + kAtomic;
// The flag word: read, written. The target hears of it when the request reaches it.
constexpr std::int64_t kFlagSnooped = kQueued + kFar + 100 + 20;
constexpr std::int64_t kElided = kQueued + kFar + kFar + kAtomic;
// MWAIT's exit; clear POLLING, which asks for the line back (not before the sender's atomic is
// over), smp_mb(); tail.
constexpr std::int64_t kAwake = kFlagSnooped + 300;
constexpr std::int64_t kCleared = std::max(kAwake + 10, kElided) + 200 + 300 + kAtomic + kAtomic;
// ct_cpuidle_exit, default_idle_call's tail; set POLLING; the tails of cpuidle_idle_call, of the
// loop, of leaving it; tick_nohz_idle_exit; clear POLLING and its segment; look at the queue.
constexpr std::int64_t kLookedAtQueue =
    kCleared + kExec + 2 * kExec + kAtomic + 3 * kExec + kExec + kAtomic + kExec + kNear;
// The two heads of the flush; the queue is emptied; the csd comes to be written; the entry.
constexpr std::int64_t kCsdSnooped = kLookedAtQueue + 2 * kExec + kNear + kAtomic + 100 + 20;
constexpr std::int64_t kCsdHere = kCsdSnooped + 300;
constexpr std::int64_t kStarted = kCsdHere + kExec;

// The waiting sender looks every 20 ns, from the end of the signalling on.
constexpr std::int64_t kRound = 20;
constexpr std::int64_t look_after(std::int64_t first, std::int64_t time) {
  return first + (time - first + kRound - 1) / kRound * kRound;
}

TEST(ExactPaths, ElidedCallToAPollingCpu) {
  const SecondCall call({{"wake_queue", "csq"}, {"schedule_idle", "sm_idle"}});
  EXPECT_EQ(call.since(call.done.queued), kQueued);
  EXPECT_EQ(call.since(call.done.signalled), kElided);
  EXPECT_TRUE(call.done.elided);
  EXPECT_EQ(call.since(call.k.record.exits.at(0).time), kCleared + kExec);
  EXPECT_EQ(call.since(call.done.started), kStarted);
  // The sender misses the line and asks for it; it gets it after the target, who unlocks before
  // the request reaches it: the line's transfers are the target's and the sender's.
  const std::int64_t look = look_after(kElided + kExec, kCsdSnooped);
  EXPECT_LT(kStarted + kExec, kCsdHere + 200);
  const std::int64_t fetched = std::max(look + 10, kCsdHere) + 200 + 300;
  EXPECT_EQ(call.since(call.done.returned), fetched + kExec);
  EXPECT_EQ(call.csd_transfers, 2);
}

// Check 7, the other timing: the sender fetches the line while the function runs, so that the
// unlock needs it again, and the sender once more.
TEST(ExactPaths, SenderLooksWhileTheFunctionRuns) {
  const SecondCall call({{"wake_queue", "csq"}, {"schedule_idle", "sm_idle"}}, ns(2000));
  const std::int64_t look = look_after(kElided + kExec, kCsdSnooped);
  const std::int64_t fetched = std::max(look + 10, kCsdHere) + 200 + 300;
  const std::int64_t unlock = kStarted + 2000 + kExec;
  EXPECT_LT(fetched, unlock);
  const std::int64_t again = look_after(fetched, unlock + 100 + 20);
  const std::int64_t unlocked = unlock + kFar;
  const std::int64_t got = std::max(again + 10, unlocked) + 200 + 300;
  EXPECT_EQ(call.since(call.done.started), kStarted);
  EXPECT_EQ(call.since(call.done.returned), got + kExec);
  EXPECT_EQ(call.csd_transfers, 4);
}

// A real interrupt to a CPU in MWAIT with ECX=1: it ends MWAIT, and is taken where
// cpuidle_enter_state() enables interrupts.
TEST(ExactPaths, InterruptToMwaitWithInterruptsOff) {
  SecondCall call({{"wake_queue", "csq_always_ipi"}, {"governor", "fixed"}});
  const std::int64_t signalled = kQueued + kExec;
  const std::int64_t arrived = signalled + 40 + 90;
  // Exit; clear POLLING, smp_mb(); the tails of mwait_idle_with_hints and cpuidle_enter_state with
  // ct_cpuidle_exit between them.
  const std::int64_t taken = arrived + 300 + kAtomic + kAtomic + 3 * kExec;
  // Entry, irq_enter, EOI, the handler's and the flush's head; the rest as above.
  const std::int64_t started = taken + 31 + kExec + 13 + 2 * kExec + kNear + kAtomic + kFar + kExec;
  EXPECT_FALSE(call.done.elided);
  EXPECT_EQ(call.since(call.done.queued), kQueued);
  EXPECT_EQ(call.since(call.done.signalled), signalled);
  ASSERT_EQ(call.k.record.taken.size(), 1u);
  EXPECT_EQ(call.since(call.k.record.taken[0].arrived), arrived);
  EXPECT_EQ(call.since(call.k.record.taken[0].time), taken);
  EXPECT_EQ(call.since(call.done.started), started);
}

// --- interrupts around the entry of an idle state

// CPU 3 goes round its idle loop once for a first RESCHEDULE, at 50 us (or, polling, because of the
// time limit); more come at chosen times after it has begun to enter the state again. The handler
// takes 31 + 13 + 10 + 29 ns.
constexpr std::int64_t kHandler = 31 + 13 + kExec + 29;

struct Round {
  std::vector<std::int64_t> taken;  // after the entry began
  std::vector<bool> polling;        // at that time
  std::int64_t left = 0;            // the first time that the state was left again, or 0
  bool timed_out = false;
};
Round round_with(const std::vector<std::int64_t>& delivered, const char* enter, int idle_state) {
  KernelUnderTest::Options options;
  options.config.features =
      features_of(hw::Arch::kX86_64, {{"idle_enter", enter}, {"governor", "fixed"}});
  options.config.idle_state = idle_state;
  Round round;
  Time entered;
  for (const bool measured : {false, true}) {
    KernelUnderTest k(options);
    k.at(Time::us(50), [&] {
      k.record.clear();
      k.machine.cpu(3).deliver(Vector::kReschedule);
    });
    k.record.when_taken = [&](const trace::InterruptTaken& e) {
      if (!measured || e.cpu != 3 || e.time < entered) return;
      round.taken.push_back((e.time - entered).count_ns());
      round.polling.push_back(k.polling(3));
    };
    if (measured)
      for (const std::int64_t time : delivered)
        k.at(entered + ns(time), [&k] { k.machine.cpu(3).deliver(Vector::kReschedule); });
    if (measured)
      k.at(entered + ns(302'290), [&] { round.timed_out = k.cpu(3).cpuidle.poll_time_limit; });
    k.run_until(Time::us(900));
    for (const trace::IdleEnter& e : k.record.enters)
      if (!measured && e.cpu == 3 && entered == Time{}) entered = e.time;
    for (const trace::IdleExit& e : k.record.exits)
      if (measured && e.cpu == 3 && e.time > entered && round.left == 0)
        round.left = (e.time - entered).count_ns();
  }
  return round;
}

// From the entry to MWAIT: acpi_idle_enter; head, set POLLING, MONITOR; the way to MWAIT.
constexpr std::int64_t kMwait = kExec + kExec + kAtomic + 23 + kExec;
// From the end of MWAIT to where interrupts are enabled.
constexpr std::int64_t kMwaitToIrqOn = kAtomic + kAtomic + 3 * kExec;

// Check 8: it pends across MWAIT, which falls through, and is taken when POLLING is cleared.
TEST(ExactPaths, InterruptPendingBeforeMwait) {
  const Round round = round_with({20}, "mwait_ecx1", 1);
  ASSERT_EQ(round.taken.size(), 1u);
  EXPECT_EQ(round.taken[0], kMwait + kMwaitToIrqOn);
  EXPECT_FALSE(round.polling[0]);
}
// While the state is being entered (110 ns), which is finished first; then its exit.
TEST(ExactPaths, InterruptDuringTheEntryOfMwait) {
  const Round round = round_with({kMwait + 60}, "mwait_ecx1", 1);
  ASSERT_EQ(round.taken.size(), 1u);
  EXPECT_EQ(round.taken[0], kMwait + 110 + 300 + kMwaitToIrqOn);
  EXPECT_FALSE(round.polling[0]);
}
TEST(ExactPaths, InterruptAfterTheEntryOfMwait) {
  const Round round = round_with({kMwait + 1000}, "mwait_ecx1", 1);
  ASSERT_EQ(round.taken.size(), 1u);
  EXPECT_EQ(round.taken[0], kMwait + 1000 + 300 + kMwaitToIrqOn);
  EXPECT_FALSE(round.polling[0]);
}
// STI;MWAIT: taken at once, still polling, before or after.
TEST(ExactPaths, InterruptToMwaitWithInterruptsOn) {
  Round round = round_with({20}, "mwait_ecx0", 1);
  ASSERT_EQ(round.taken.size(), 1u);
  EXPECT_EQ(round.taken[0], kMwait);
  EXPECT_TRUE(round.polling[0]);
  round = round_with({kMwait + 1000}, "mwait_ecx0", 1);
  ASSERT_EQ(round.taken.size(), 1u);
  EXPECT_EQ(round.taken[0], kMwait + 1000 + 300);
  EXPECT_TRUE(round.polling[0]);
}

// --- check 9: poll_idle()

// Head; set POLLING; the first load. A round takes 10 + 10 (PAUSE) ns, the clock is looked at after
// every 201 of them, for 10 ns. The limit is 300 us (C6; C1 pays too early).
constexpr std::int64_t kFirstLoad = kExec + kAtomic;
constexpr std::int64_t kBlock = 201 * 20 + 10;
constexpr std::int64_t kPollTail = kAtomic + kAtomic + kExec;

TEST(ExactPaths, PollIdleLooksAtTheClockEvery201Rounds) {
  const Round round = round_with({}, "mwait_ecx1", 0);
  static_assert(kFirstLoad + 74 * kBlock <= 300'000 && kFirstLoad + 75 * kBlock > 300'000);
  EXPECT_EQ(round.left, kFirstLoad + 75 * kBlock + kPollTail);
  EXPECT_TRUE(round.timed_out);
}
// An interrupt is taken in the loop, POLLING stays set, and polling goes on: the loop is longer by
// the handler, the limit is not.
TEST(ExactPaths, PollIdleGoesOnAfterAnInterrupt) {
  const Round round = round_with({1000}, "mwait_ecx1", 0);
  ASSERT_EQ(round.taken, std::vector<std::int64_t>{1000});
  EXPECT_TRUE(round.polling[0]);
  EXPECT_EQ(round.left, kFirstLoad + 75 * kBlock + kHandler + kPollTail);
}
TEST(ExactPaths, PollIdleCountsTheHandlersTime) {
  std::vector<std::int64_t> times;
  for (std::int64_t i = 1; i <= 22; ++i) times.push_back(1000 * i);
  const Round round = round_with(times, "mwait_ecx1", 0);
  EXPECT_EQ(round.taken.size(), 22u);
  static_assert(kFirstLoad + 74 * kBlock + 22 * kHandler > 300'000);
  static_assert(kFirstLoad + 74 * kBlock + 21 * kHandler <= 300'000);
  EXPECT_EQ(round.left, kFirstLoad + 74 * kBlock + 22 * kHandler + kPollTail);
}

}  // namespace
}  // namespace idlesim::testing

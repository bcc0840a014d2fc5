// Conformance checks of kernel-paths section 10, each over every combination of kernel features
// to which it applies. Checks 7 and 9 are in exact_paths_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;
using hw::Vector;
using kernel::Features;

class Conformance : public ::testing::TestWithParam<KernelGroup> {
 protected:
  bool queue_is(const char* name) const { return GetParam().wake_queue == name; }
  bool schedule_is(const char* name) const { return GetParam().schedule_idle == name; }
  template <class Check>
  void for_all_features(Check check) {
    const KernelGroup& group = GetParam();
    for (const Features& features : group.features()) {
      SCOPED_TRACE(to_string(features));
      KernelUnderTest::Options options;
      options.arch = group.arch;
      options.config.features = features;
      check(options);
      if (HasFailure()) return;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::ValuesIn(kernel_groups()));

bool has_flag(const Features& features) { return features.get("polling") == "tif_polling"; }
// What a CPU that has been idle for long waits with: haltpoll, which has not polled yet, halts in
// 6.1 by HLT.
std::string_view rests_with(const Features& features) {
  const std::string_view enter = features.get("idle_enter");
  return features.get("governor") == "haltpoll_6_1" && enter != "poll" ? "hlt" : enter;
}
// It says that it polls, if it waits by looking at its flag word.
bool polls_at_rest(const Features& features) {
  const std::string_view enter = rests_with(features);
  return has_flag(features) && enter != "hlt" && enter != "wfi";
}

// CPU 0 acts at 100 us on CPUs that have been idle for long; what it does to CPU 2 is watched.
class QuietAction {
 public:
  static constexpr CpuId kTarget = 2;
  QuietAction(const KernelUnderTest::Options& options, const std::function<Acts(Called&)>& acts)
      : k(options) {
    Acts all{busy_until(Time::us(100)), note([this] { begin(); })};
    for (Act& act : acts(called)) all.push_back(std::move(act));
    all.push_back(busy_until(Time::us(200)));
    k.task(0, std::move(all));
    k.record.when_taken = [this](const trace::InterruptTaken& e) {
      if (!begun_ || e.cpu != kTarget) return;
      polling_at_interrupt = k.polling(kTarget);
      rcu_idle_at_interrupt = k.cpu(kTarget).rcu_idle;
    };
  }
  void run() { ASSERT_TRUE(k.run()) << k.machine.stories(); }
  int sent() const { return count_to(k.record.sent, kTarget); }
  int elided() const { return count_to(k.record.elided, kTarget); }
  int schedules() const { return count_on(k.record.schedules, kTarget); }
  bool tick_restarted() const { return tick_was_stopped && tick_was_running; }

  KernelUnderTest k;
  Called called;
  bool was_polling = false;
  bool tick_was_stopped = false;
  bool tick_was_running = false;
  bool polling_at_interrupt = false;
  bool rcu_idle_at_interrupt = false;

 private:
  void begin() {
    begun_ = true;
    k.record.clear();
    was_polling = k.polling(kTarget);
    tick_was_stopped = k.cpu(kTarget).tick.stopped;
    if (!tick_was_stopped) return;
    k.watch(Time::ns(9), [this] {
      tick_was_running = !k.cpu(kTarget).tick.stopped;
      return !tick_was_running && k.machine.now() < Time::us(120);
    });
  }
  bool begun_ = false;
};

// Checks 1, 3, 4 and 5, and 8: one call to an idle CPU.
TEST_P(Conformance, Checks1345And8SingleCall) {
  int stopped = 0;
  for_all_features([&](const KernelUnderTest::Options& options) {
    const Features& features = options.config.features;
    const std::string_view enter = rests_with(features);
    QuietAction action(options,
                       [](Called& called) { return Acts{call(QuietAction::kTarget, called)}; });
    ASSERT_NO_FATAL_FAILURE(action.run());
    EXPECT_EQ(action.called.runs, 1);
    EXPECT_EQ(action.was_polling, polls_at_rest(features));

    const bool elidable = action.was_polling && (queue_is("csq") || queue_is("csq_notify"));
    EXPECT_EQ(action.sent(), elidable ? 0 : 1);
    EXPECT_EQ(action.elided(), elidable ? 1 : 0);
    // A real interrupt leaves the idle loop where it is; a polled wake-up ends it.
    const bool conditional = queue_is("csq_notify") && schedule_is("conditional");
    EXPECT_EQ(action.schedules(), elidable && !conditional ? 1 : 0);
    EXPECT_EQ(action.tick_restarted(), elidable && action.tick_was_stopped);
    for (const trace::ScheduleIdle& pass : action.k.record.schedules)
      EXPECT_TRUE(pass.nothing_to_run);
    stopped += action.tick_was_stopped;
    if (elidable) return;
    // Taken in the idle routine, before it has cleared what it set; or, if interrupts were off
    // there, when the idle state has been left.
    const bool at_once = enter == "hlt" || enter == "mwait_ecx0" || enter == "poll";
    EXPECT_EQ(action.rcu_idle_at_interrupt, at_once);
    EXPECT_EQ(action.polling_at_interrupt, at_once && action.was_polling);
  });
  EXPECT_GE(stopped, 20);
}

// Check 2: a call to many CPUs of which one is newly signalled is like a single one.
TEST_P(Conformance, Check2ManyCallToOne) {
  for_all_features([&](const KernelUnderTest::Options& options) {
    QuietAction action(options, [](Called& called) {
      return Acts{call_many(CpuMask::of(4, QuietAction::kTarget), called)};
    });
    ASSERT_NO_FATAL_FAILURE(action.run());
    EXPECT_EQ(action.called.runs, 1);
    const bool elidable = action.was_polling && (queue_is("csq") || queue_is("csq_notify"));
    EXPECT_EQ(action.sent(), elidable ? 0 : 1);
    EXPECT_EQ(action.elided(), elidable ? 1 : 0);
  });
}
// Of more, nobody asks whether they poll.
TEST_P(Conformance, Check2ManyCallToMany) {
  for_all_features([&](const KernelUnderTest::Options& options) {
    QuietAction action(options,
                       [](Called& called) { return Acts{call_many(CpuMask::all(4), called)}; });
    ASSERT_NO_FATAL_FAILURE(action.run());
    EXPECT_EQ(action.called.runs, 3);
    EXPECT_EQ(action.k.record.sent.size(), 3u);
    EXPECT_EQ(action.k.record.elided.size(), 0u);
    EXPECT_EQ(action.k.record.schedules.size(), 0u);
  });
}

// Check 4: SM_IDLE takes the run queue's lock and picks nothing; a full pick reads run queues.
TEST_P(Conformance, Check4LockAndPick) {
  if (!queue_is("csq")) GTEST_SKIP() << "only a polled wake-up leads there";
  for_all_features([&](const KernelUnderTest::Options& options) {
    if (!polls_at_rest(options.config.features)) return;
    QuietAction* self = nullptr;
    const auto steal = [&self] {
      self->k.kernel.rd_overloaded.poke(1);
      self->k.cpu(QuietAction::kTarget).rq_lock.line().take(0, self->k.machine.cpu(0).core());
    };
    QuietAction action(options, [&](Called& called) {
      return Acts{note(steal), call(QuietAction::kTarget, called)};
    });
    self = &action;
    ASSERT_NO_FATAL_FAILURE(action.run());
    const auto& schedules = action.k.record.schedules;
    ASSERT_EQ(schedules.size(), 1u);
    // Two CPUs that share the cache, and all four.
    EXPECT_EQ(schedules[0].cpus_walked, schedule_is("sm_idle") ? 0 : 2 + 4);
    int locks = 0;
    for (const trace::LineTransfer& e : action.k.transfers_of("RQ", QuietAction::kTarget))
      locks += e.access == trace::Access::kWrite && e.completed <= schedules[0].time;
    EXPECT_GE(locks, 1);
  });
}

// Check 5: with NOTIFY and the conditional call, a queued task does lead to schedule_idle(). So it
// does in all kernels.
TEST_P(Conformance, Check5AWokenTaskRuns) {
  for_all_features([&](const KernelUnderTest::Options& options) {
    Task* sleeper = nullptr;
    Time ran;
    QuietAction action(options, [&](Called&) { return Acts{wake_later(sleeper)}; });
    sleeper = &action.k.task(QuietAction::kTarget,
                             {block(), note([&] { ran = action.k.machine.now(); })});
    ASSERT_NO_FATAL_FAILURE(action.run());
    EXPECT_GT(ran, Time::us(100));
    ASSERT_GE(action.schedules(), 1);
    EXPECT_FALSE(action.k.record.schedules[0].nothing_to_run);
    EXPECT_EQ(action.tick_restarted(), action.tick_was_stopped);
  });
}

// Check 6: waiting callers are served before wake-ups, in whatever order they were queued.
TEST_P(Conformance, Check6CallsBeforeWakeUps) {
  if (queue_is("rqlist")) GTEST_SKIP() << "calls and wake-ups have queues of their own";
  for (const bool call_first : {false, true}) {
    for_all_features([&](const KernelUnderTest::Options& options) {
      KernelUnderTest k(options);
      Task* sleeper = nullptr;
      bool both_queued = false, on_rq_at_call = true, ran = false;
      Called called;
      called.inside = [&] { on_rq_at_call = sleeper->on_rq.peek() != 0; };
      sleeper = &k.task(2, {block(), note([&] { ran = true; })});
      k.task(2, {busy_until(Time::us(100)), mask_until(Time::us(200)), busy_until(Time::us(210)),
                 note([&] { EXPECT_TRUE(called.runs == 1 && sleeper->on_rq.peek() != 0); })});
      k.task(0, {busy_until(Time::us(call_first ? 140 : 120)), wake(*sleeper)});
      k.task(1, {busy_until(Time::us(130)), call(2, called)});
      k.run_until(Time::us(190));
      both_queued =
          called.runs == 0 && k.cpu(2).ttwu_pending.peek() == 1 && sleeper->on_rq.peek() == 0;
      ASSERT_TRUE(k.run()) << k.machine.stories();
      EXPECT_TRUE(both_queued);
      EXPECT_EQ(called.runs, 1);
      EXPECT_FALSE(on_rq_at_call);
      EXPECT_TRUE(ran);
    });
  }
}

// Check 15: the second call that does not wait waits for the first to be taken from the queue,
// since both use the sender's one csd; the third CPU does not matter.
TEST_P(Conformance, Check15SecondAsyncCallWaits) {
  for_all_features([&](const KernelUnderTest::Options& options) {
    KernelUnderTest k(options);
    Called first, second;
    Time after_first, after_second;
    k.task(2, {busy_until(Time::us(50)), mask_until(Time::us(300))});
    k.task(0, {busy_until(Time::us(100)), call(2, first, false),
               note([&] { after_first = k.machine.now(); }), call(3, second, false),
               note([&] { after_second = k.machine.now(); })});
    ASSERT_TRUE(k.run()) << k.machine.stories();
    EXPECT_LT(after_first, Time::us(110));
    EXPECT_GE(first.at, Time::us(300));
    EXPECT_GT(after_second, Time::us(300));
    EXPECT_GT(second.at, Time::us(300));
    EXPECT_EQ(first.runs + second.runs, 2);
  });
}

// Check 18: from the push of a wake-up until the task runs, one of the three things that
// idle_cpu() looks at says that the CPU is not idle.
TEST_P(Conformance, Check18NobodySeesAnIdleCpu) {
  if (queue_is("rqlist")) GTEST_SKIP() << "rq->ttwu_pending does not exist";
  for_all_features([&](const KernelUnderTest::Options& options) {
    KernelUnderTest k(options);
    int watched = 0;
    bool ran = false;
    Task& sleeper = k.task(2, {block(), note([&] { ran = true; }), busy_until(Time::us(200))});
    bool queued = false;
    const auto look = [&] {
      kernel::PerCpu& cpu = k.cpu(2);
      queued = queued || cpu.call_single_queue.peek() != 0;
      if (!queued || ran) return !ran;
      ++watched;
      EXPECT_TRUE(cpu.rq_curr.peek() != 0 || cpu.nr_running.peek() != 0 ||
                  cpu.ttwu_pending.peek() != 0);
      return true;
    };
    k.task(0,
           {busy_until(Time::us(100)), note([&] { k.watch(Time::ns(3), look); }), wake(sleeper)});
    ASSERT_TRUE(k.run()) << k.machine.stories();
    EXPECT_TRUE(ran);
    EXPECT_GT(watched, 100);
    EXPECT_EQ(k.cpu(2).ttwu_pending.peek(), 0u);
  });
}

}  // namespace
}  // namespace idlesim::testing

// No call and no wake-up is lost, whatever the order in which sender and idle CPU act: every order
// is run (support/explorer.h), with the kernel's own code. CPU 1 begins in do_idle(): going idle,
// or, since somebody has just signalled it for nothing, leaving idle and going idle again.
//
// What CPUs act on each other with is gated: the idle task's flag word, the queue, the calls'
// lines, interrupts, store buffers and halting. The rest of the kernel runs between those steps.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "kernel/race_program.h"

namespace idlesim::testing {
namespace {

// How an idle CPU waits.
struct Wait {
  const char* name;
  Arch arch;
  std::vector<Axis> axes;
  int idle_state;
};
void PrintTo(const Wait& wait, std::ostream* out) { *out << wait.name; }
std::vector<Axis> arm_polling(const char* form) {
  return {{"polling", "tif_polling"}, {"governor", "fixed"}, {"poll_idle", form}};
}
std::vector<Wait> waits() {
  constexpr Arch x86 = Arch::kX86_64, arm = Arch::kArm64;
  return {
      {"hlt", x86, {{"idle_enter", "hlt"}}, 1},
      {"mwait_ecx0", x86, {{"idle_enter", "mwait_ecx0"}}, 1},
      {"mwait_ecx1", x86, {{"idle_enter", "mwait_ecx1"}}, 1},
      {"idle_poll", x86, {{"idle_enter", "poll"}}, 1},
      {"state_c1_ecx0", x86, {{"idle_enter", "mwait_ecx0"}, {"governor", "fixed"}}, 1},
      {"state_c1_ecx1", x86, {{"idle_enter", "mwait_ecx1"}, {"governor", "fixed"}}, 1},
      {"state_poll", x86, {{"idle_enter", "mwait_ecx1"}, {"governor", "fixed"}}, 0},
      {"haltpoll_hlt", x86, {{"idle_enter", "hlt"}, {"governor", "haltpoll"}}, 1},
      {"haltpoll_6_1", x86, {{"idle_enter", "mwait_ecx1"}, {"governor", "haltpoll_6_1"}}, 1},
      {"mwait_no_flag", x86, {{"idle_enter", "mwait_ecx1"}, {"polling", "none"}}, 1},
      {"wfi", arm, {{"idle_enter", "wfi"}}, 1},
      {"wfi_with_flag", arm, {{"idle_enter", "wfi"}, {"polling", "tif_polling"}}, 1},
      {"nohlt", arm, {{"idle_enter", "poll"}}, 1},
      {"nohlt_with_flag", arm, {{"idle_enter", "poll"}, {"polling", "tif_polling"}}, 1},
      {"arm_poll_relax", arm, arm_polling("relax_200"), 0},
      {"arm_poll_wfe", arm, arm_polling("cond_load_1"), 0},
      {"arm_poll_wfet", arm, arm_polling("wfet"), 0},
      {"arm_haltpoll", arm, {{"polling", "tif_polling"}, {"governor", "haltpoll"}}, 1},
  };
}

class Interleaving : public ::testing::TestWithParam<Wait> {
 protected:
  void for_all_queues(const std::vector<Do>& sender, bool leaving, bool gate_csd = true) {
    for (const char* queue : {"rqlist", "csq_always_ipi", "csq", "csq_notify"}) {
      Race race;
      race.leaving = leaving;
      race.gate_csd = gate_csd;
      race.arch = GetParam().arch;
      race.idle_state = GetParam().idle_state;
      race.axes = GetParam().axes;
      race.axes.push_back({"wake_queue", queue});
      race.axes.push_back(
          {"schedule_idle", std::string(queue) == "csq_notify" ? "conditional" : "full"});
      race.sender = sender;
      expect_no_loss(race);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(All, Interleaving, ::testing::ValuesIn(waits()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Interleaving, CallGoingIdle) { for_all_queues({Do::kCall}, false); }
TEST_P(Interleaving, AsyncCallGoingIdle) { for_all_queues({Do::kCallNoWait}, false); }
TEST_P(Interleaving, WakeUpGoingIdle) { for_all_queues({Do::kWake}, false); }

// The rest without the calls' own lines: when a waiting sender goes on is then a matter of the
// latencies, all else is not.
TEST_P(Interleaving, CallLeavingIdle) { for_all_queues({Do::kCall}, true, false); }
TEST_P(Interleaving, AsyncCallLeavingIdle) { for_all_queues({Do::kCallNoWait}, true, false); }
TEST_P(Interleaving, WakeUpLeavingIdle) { for_all_queues({Do::kWake}, true, false); }
TEST_P(Interleaving, TwoCalls) { for_all_queues({Do::kCall, Do::kCall}, false, false); }
TEST_P(Interleaving, TwoAsyncCalls) {
  for_all_queues({Do::kCallNoWait, Do::kCallNoWait}, false, false);
}
TEST_P(Interleaving, TwoQueuedCalls) { for_all_queues({Do::kManyNoWait, Do::kCall}, false, false); }
TEST_P(Interleaving, WakeUpAndCall) {
  // Millions of orders with the polling waits of arm64: not for every day.
  if (std::string(GetParam().name).starts_with("arm_")) GTEST_SKIP();
  for_all_queues({Do::kWake, Do::kCall}, false, false);
}
TEST_P(Interleaving, TwoCallsLeavingIdle) {
  if (std::string(GetParam().name).starts_with("arm_")) GTEST_SKIP();  // as above
  for_all_queues({Do::kCall, Do::kCall}, true, false);
}

// poll_idle() may also end by its time limit, at any moment.
TEST(InterleavingPollIdle, TheTimeLimit) {
  for (const char* form :
       {"relax_200", "cond_load_200", "cond_load_1", "cond_load_timeout", "wfet"}) {
    for (const char* queue : {"rqlist", "csq_always_ipi", "csq", "csq_notify"}) {
      Race race;
      race.axes = {{"governor", "fixed"}, {"wake_queue", queue}, {"poll_idle", form}};
      race.idle_state = 0;
      race.sender = {Do::kCall};
      expect_no_loss(race, 1);
    }
  }
}

// On arm64 also by an event of the event stream, which changes nothing: nor may a wake-up depend on
// one. The csd waits in WFE, too, and its line is not gated here.
TEST(InterleavingPollIdle, TheTimeLimitAndTheEventStream) {
  for (const char* form : {"cond_load_200", "cond_load_1", "cond_load_timeout", "wfet"}) {
    for (const char* queue : {"rqlist", "csq_always_ipi", "csq", "csq_notify"}) {
      Race race;
      race.arch = Arch::kArm64;
      race.axes = arm_polling(form);
      race.axes.push_back({"wake_queue", queue});
      race.idle_state = 0;
      race.sender = {Do::kCall};
      race.gate_csd = false;
      expect_no_loss(race, 1, 1);
    }
  }
}

// --- tests of the test: kernels with a fault

void expect_loss(const Race& race, const char* what) {
  const Exploration result = run_race(race);
  EXPECT_FALSE(result.passed()) << to_string(race) << ": not found in " << result.runs << " orders";
  EXPECT_EQ(result.failure.rfind(what, 0), 0u) << result.failure;
}

Race race_with(Arch arch, const char* enter, void (*fault)(KernelOps&)) {
  Race race;
  race.arch = arch;
  race.axes = {{"idle_enter", enter}, {"polling", "tif_polling"}};
  race.sender = {Do::kCall};
  race.leaving = true;
  race.gate_csd = false;
  race.fault = fault;
  return race;
}

// The queue is looked at first, and TIF_POLLING_NRFLAG cleared after.
Co<> clear_late(Cpu& cpu) {
  Cpu& self = cpu;
  co_await kernel::current_clr_polling(self);
  co_await kernel::smp_mb__after_atomic(self);
  co_await kernel::schedule_idle(self);
}
void flush_before_clear(KernelOps& ops) {
  ops.current_clr_polling = kernel::no_polling;  // idle=poll: only the end of do_idle() clears it
  ops.idle_schedule = clear_late;
}
TEST(InterleavingFault, FlushBeforeClearingPolling) {
  for (const Arch arch : {Arch::kX86_64, Arch::kArm64})
    expect_loss(race_with(arch, "poll", flush_before_clear), "the sender waits for ever");
}

// The flag is cleared after do_idle()'s barrier, right before the flush: with a barrier of its own,
// and without. An atomic of x86 is one by itself.
Co<> clear_and_barrier(Cpu& cpu) {
  Cpu& self = cpu;
  co_await kernel::current_clr_polling(self);
  co_await kernel::smp_mb__after_atomic(self);
}
void clear_with_barrier(KernelOps& ops) {
  ops.current_clr_polling = kernel::no_polling;
  ops.current_clr_notify_ipi = clear_and_barrier;
}
void clear_without_barrier(KernelOps& ops) {
  ops.current_clr_polling = kernel::no_polling;
  ops.current_clr_notify_ipi = kernel::current_clr_polling;
}
TEST(InterleavingFault, NoBarrierAfterClearingPolling) {
  expect_no_loss(race_with(Arch::kArm64, "poll", clear_with_barrier));
  expect_no_loss(race_with(Arch::kX86_64, "poll", clear_without_barrier));
  expect_loss(race_with(Arch::kArm64, "poll", clear_without_barrier), "the sender waits for ever");
}

// mwait_idle() without the test between MONITOR and MWAIT.
Co<> mwait_without_test(Cpu& cpu) {
  hw::Word& flags = kernel::this_cpu(cpu).idle.flags;
  if (!co_await kernel::current_set_polling_and_test(cpu)) {
    co_await kernel::read_once(cpu, flags);
    cpu.monitor(flags);
    co_await cpu.halt(hw::HaltKind::kMwaitBreak, {});
  }
  co_await kernel::current_clr_polling(cpu);
}
TEST(InterleavingFault, NoTestBetweenMonitorAndMwait) {
  expect_loss(race_with(Arch::kX86_64, "mwait_ecx1",
                        [](KernelOps& ops) { ops.arch_cpu_idle = mwait_without_test; }),
              "the sender waits for ever");
}

// --- of WFE: a polling idle CPU of arm64 whose wait has a fault

Race wfe_race(void (*fault)(KernelOps& ops)) {
  Race race;
  race.arch = Arch::kArm64;
  race.axes = arm_polling("cond_load_1");
  race.idle_state = 0;
  race.sender = {Do::kCall};
  race.gate_csd = false;
  race.fault = fault;
  return race;
}

enum class WfeFault { kNone, kNoCompare, kMonitorLate, kNoMonitor, kNoSevl };

// poll_idle()'s wait, statement by statement.
template <WfeFault fault>
Co<bool> faulty_wait(Cpu& cpu, Time, std::int64_t) {
  hw::Word& flags = kernel::this_cpu(cpu).idle.flags;
  for (;;) {
    if constexpr (fault == WfeFault::kMonitorLate) co_await cpu.load_exclusive(flags);
    const std::uint64_t val = co_await kernel::read_once(cpu, flags);
    if ((val & kernel::TIF_NEED_RESCHED) != 0) co_return false;
    // A step at which the store may come: a WFE that does not wait is none.
    if constexpr (fault == WfeFault::kMonitorLate) co_await kernel::read_once(cpu, flags);
    if constexpr (fault != WfeFault::kNoSevl) cpu.sevl();
    co_await cpu.wfe({});
    if constexpr (fault != WfeFault::kMonitorLate) {
      const std::uint64_t seen = co_await cpu.load_exclusive(flags);
      if (fault != WfeFault::kNoCompare && seen != val) continue;
    }
    // As if losing the line did not set the event register.
    if constexpr (fault == WfeFault::kNoMonitor) cpu.disarm_monitor();
    co_await cpu.wfe({});
  }
}
template <WfeFault fault>
void wait_with_fault(KernelOps& ops) {
  ops.poll_wait = faulty_wait<fault>;
}

TEST(InterleavingFault, TheWaitInWfeWithoutAFault) {
  expect_no_loss(wfe_race(wait_with_fault<WfeFault::kNone>));
}
// LDXR after the test, and its value ignored: a store in between was before the monitor.
TEST(InterleavingFault, LdxrWithoutComparing) {
  expect_loss(wfe_race(wait_with_fault<WfeFault::kNoCompare>), "the sender waits for ever");
}
// LDXR before the test, but SEVL; WFE after both: they consume the event of the monitor.
TEST(InterleavingFault, SevlAfterLdxr) {
  expect_loss(wfe_race(wait_with_fault<WfeFault::kMonitorLate>), "the sender waits for ever");
}
TEST(InterleavingFault, TheMonitorSetsNoEvent) {
  expect_loss(wfe_race(wait_with_fault<WfeFault::kNoMonitor>), "the sender waits for ever");
}
// The first WFE waits, before the monitor is armed.
TEST(InterleavingFault, NoSevl) {
  expect_loss(wfe_race(wait_with_fault<WfeFault::kNoSevl>), "the sender waits for ever");
}

// do_idle() takes one entry from the queue instead of all.
Co<> pop_one(Cpu& cpu) {
  hw::Word& queue = kernel::this_cpu(cpu).call_single_queue;
  cpu.local_irq_disable();
  std::uint64_t first = co_await kernel::read_once(cpu, queue);
  while (first != 0) {
    kernel::CallSingleData& csd = kernel::entry_at(first);
    const std::uint64_t next = co_await kernel::read_once(cpu, csd.llist);
    const std::uint64_t old = co_await kernel::cmpxchg(cpu, queue, first, next);
    if (old != first) {
      first = old;
      continue;
    }
    co_await csd.func(cpu, csd.info);
    co_await kernel::smp_store_release(cpu, csd.flags, 0);
    break;
  }
  co_await cpu.local_irq_enable();
}
TEST(InterleavingFault, OneEntryAtATime) {
  Race race = race_with(Arch::kX86_64, "poll", [](KernelOps& ops) { ops.drain_queue = pop_one; });
  race.sender = {Do::kManyNoWait, Do::kCall};
  race.leaving = false;
  expect_loss(race, "call 0 ran 0 times");
}

// NEED_RESCHED set without asking for the old value is a wake-up lost to a CPU that does not poll.
Co<bool> always_elide(Cpu& cpu, CpuId target) {
  co_await kernel::set_nr_if_polling(cpu, target);
  co_return true;
}
TEST(InterleavingFault, NoInterruptWithoutPolling) {
  Race race = race_with(Arch::kX86_64, "hlt",
                        [](KernelOps& ops) { ops.call_function_single_prep_ipi = always_elide; });
  race.sender = {Do::kCall};
  expect_loss(race, "the sender waits for ever");
}

}  // namespace
}  // namespace idlesim::testing

#include "idlesim/kernel/features.h"

#include "idlesim/base/check.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/kernel.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/kernel/spec_ctrl.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

namespace {

// --- wake_queue ---

void wake_queue_rqlist(KernelOps& ops) {
  ops.call_function_single_prep_ipi = never_elide;
  ops.current_clr_notify_ipi = no_polling;
  ops.ttwu_queue_cond = ttwu_queue_cond_rqlist;
  ops.ttwu_queue_remote = ttwu_queue_rqlist;
  ops.scheduler_ipi = scheduler_ipi_rqlist;
  ops.drain_queue = drain_rqlist;
}

void wake_queue_csq_always_ipi(KernelOps& ops) {
  ops.call_function_single_prep_ipi = never_elide;
  ops.current_clr_notify_ipi = no_polling;
  ops.ttwu_queue_cond = ttwu_queue_cond_csq;
  ops.ttwu_queue_remote = ttwu_queue_csq;
  ops.scheduler_ipi = scheduler_ipi_fold;
  ops.drain_queue = flush_smp_call_function_queue;
}

void wake_queue_csq(KernelOps& ops) {
  wake_queue_csq_always_ipi(ops);
  ops.call_function_single_prep_ipi = set_nr_if_polling;
}

void wake_queue_csq_notify(KernelOps& ops) {
  wake_queue_csq_always_ipi(ops);
  ops.call_function_single_prep_ipi = notify_ipi_if_polling;
  ops.current_clr_notify_ipi = current_clr_notify_ipi;
  ops.idle_exit_flags = TIF_NEED_RESCHED | TIF_NOTIFY_IPI;
}

constexpr FeatureValue kWakeQueue[] = {
    {"rqlist", "before v5.8: calls always send an IPI; wake-ups go by rq->wake_list",
     wake_queue_rqlist},
    {"csq_always_ipi", "b2a02fc43a1f reverted: one queue, every signal is a real IPI",
     wake_queue_csq_always_ipi},
    {"csq", "v5.8 and later: a polling CPU is signalled by TIF_NEED_RESCHED", wake_queue_csq},
    {"csq_notify", "series of 2024: a polling CPU is signalled by TIF_NOTIFY_IPI",
     wake_queue_csq_notify},
};

// --- ttwu_queue ---

// Comes after wake_queue, whose rqlist has a rule of its own.
constexpr FeatureValue kTtwuQueue[] = {
    {"llc_idle", "v6.0 and later: an idle CPU of the same cache activates its task itself",
     [](KernelOps&) {}},
    {"llc_on_cpu", "v5.8 to v5.19: only if the task is still leaving that CPU",
     [](KernelOps& ops) {
       if (ops.ttwu_queue_cond == ttwu_queue_cond_csq) ops.ttwu_queue_cond = ttwu_queue_cond_on_cpu;
     }},
};

// --- schedule_idle ---

constexpr FeatureValue kScheduleIdle[] = {
    {"full", "before v6.12: a whole pick with newidle_balance, even if nothing is runnable",
     [](KernelOps& ops) {
       ops.pick_next_task_idle = pick_next_task_idle_full;
       ops.idle_schedule = schedule_idle_always;
     }},
    {"sm_idle", "v6.12 (3dcac251b066): an empty run queue is not picked from",
     [](KernelOps& ops) {
       ops.pick_next_task_idle = pick_next_task_sm_idle;
       ops.idle_schedule = schedule_idle_always;
     }},
    {"conditional", "series of 2024: called only if TIF_NEED_RESCHED is set",
     [](KernelOps& ops) {
       ops.pick_next_task_idle = pick_next_task_idle_full;
       ops.idle_schedule = schedule_idle_if_needed;
     }},
};

// --- polling ---

// Comes after wake_queue: without the flag nobody asks for it, and TIF_NOTIFY_IPI does not exist.
constexpr FeatureValue kPolling[] = {
    {"none", "no TIF_POLLING_NRFLAG (arm64 up to 6.12): every wake-up is an IPI",
     [](KernelOps& ops) {
       ops.can_poll = false;
       ops.idle_exit_flags = TIF_NEED_RESCHED;
       ops.call_function_single_prep_ipi = never_elide;
       ops.set_nr_if_polling = never_elide;
       ops.set_nr_and_not_polling = set_nr_without_polling;
       ops.current_clr_notify_ipi = no_polling;
       ops.current_set_polling = no_polling;
       ops.current_clr_polling = no_polling;
       ops.current_set_polling_and_test = idle_exit_pending;
       ops.current_clr_polling_and_test = idle_exit_pending;
     }},
    {"tif_polling", "idle tasks say in TIF_POLLING_NRFLAG that they look at their flag word",
     [](KernelOps& ops) {
       ops.can_poll = true;
       ops.set_nr_if_polling = set_nr_if_polling;
       ops.set_nr_and_not_polling = set_nr_and_not_polling;
       ops.current_set_polling = current_set_polling;
       ops.current_clr_polling = current_clr_polling;
       ops.current_set_polling_and_test = current_set_polling_and_test;
       ops.current_clr_polling_and_test = current_clr_polling_and_test;
     }},
};

// --- idle_enter ---

constexpr FeatureValue kIdleEnter[] = {
    {"hlt", "STI;HLT",
     [](KernelOps& ops) {
       ops.idle_call = cpuidle_idle_call;
       ops.arch_cpu_idle = default_idle_hlt;
       ops.enter_state = enter_state_hlt;
     }},
    {"mwait_ecx0", "STI;MWAIT: an interrupt is taken at once on wake (mwait_idle, intel_idle_irq)",
     [](KernelOps& ops) {
       ops.idle_call = cpuidle_idle_call;
       ops.arch_cpu_idle = mwait_idle;
       ops.enter_state = enter_state_mwait_irq;
     }},
    {"mwait_ecx1", "MWAIT with interrupts off: a masked interrupt ends it (intel_idle, acpi_idle)",
     [](KernelOps& ops) {
       ops.idle_call = cpuidle_idle_call;
       ops.arch_cpu_idle = mwait_idle_break;
       ops.enter_state = enter_state_mwait;
     }},
    {"poll", "idle=poll, nohlt: cpu_idle_poll()",
     [](KernelOps& ops) {
       ops.idle_call = cpu_idle_poll;
       ops.arch_cpu_idle = nullptr;
       ops.enter_state = nullptr;
     }},
    {"wfi", "arm64: WFI with interrupts masked",
     [](KernelOps& ops) {
       ops.idle_call = cpuidle_idle_call;
       ops.arch_cpu_idle = cpu_do_idle_wfi;
       ops.enter_state = enter_state_wfi;
     }},
};

// --- tick ---

constexpr FeatureValue kTick[] = {
    {"governor", "as the cpuidle governor says; without one it is retained",
     [](KernelOps& ops) { ops.stop_tick_without_governor = never_stop_tick; }},
    {"always_stop", "without a cpuidle driver every idle period stops the tick (to 6.14)",
     [](KernelOps& ops) { ops.stop_tick_without_governor = always_stop_tick; }},
    {"stop_after_tick", "only if the last idle round was ended by a tick (late 6.1.y and 6.12.y)",
     [](KernelOps& ops) { ops.stop_tick_without_governor = stop_tick_after_tick; }},
};

// --- governor ---

void governor_menu(KernelOps& ops) {
  ops.governor_select = menu_select;
  ops.governor_reflect = menu_reflect;
}

void governor_haltpoll(KernelOps& ops) {
  ops.governor_enable = haltpoll_enable_device;
  ops.governor_select = haltpoll_select;
  ops.governor_reflect = haltpoll_reflect;
  ops.haltpoll_arch_idle = ops.arch_cpu_idle;
}

constexpr FeatureValue kGovernor[] = {
    {"none", "no cpuidle driver: arch_cpu_idle()",
     [](KernelOps& ops) {
       ops.governor_select = nullptr;
       ops.governor_reflect = nullptr;
     }},
    {"fixed", "always the state that the scenario names",
     [](KernelOps& ops) {
       ops.governor_enable = fixed_enable;
       ops.governor_select = fixed_select;
       ops.governor_reflect = fixed_reflect;
     }},
    {"menu", "drivers/cpuidle/governors/menu.c",
     [](KernelOps& ops) {
       governor_menu(ops);
       ops.menu_records_refusals = true;
     }},
    {"menu_6_10", "menu.c before late 6.12.y: a refused state leaves no trace", governor_menu},
    {"teo", "drivers/cpuidle/governors/teo.c of 6.12",
     [](KernelOps& ops) {
       ops.governor_enable = teo_enable_device;
       ops.governor_select = teo_select;
       ops.governor_reflect = teo_reflect;
     }},
    {"ladder", "drivers/cpuidle/governors/ladder.c",
     [](KernelOps& ops) {
       ops.governor_enable = ladder_enable_device;
       ops.governor_select = ladder_select;
       ops.governor_reflect = ladder_reflect;
     }},
    {"haltpoll", "the haltpoll driver and governor: POLL, then the architecture's default idle",
     governor_haltpoll},
    {"haltpoll_6_1", "x86, 6.1: it halts by HLT, and a small limit is kept when it shrinks",
     [](KernelOps& ops) {
       governor_haltpoll(ops);
       ops.haltpoll_keeps_small_limit = true;
       ops.haltpoll_arch_idle = default_idle_hlt;
     }},
};

// --- poll_idle ---

constexpr FeatureValue kPollIdle[] = {
    {"relax_200", "6.12, and v1 for arm64: cpu_relax(), the clock after 201 rounds",
     [](KernelOps& ops) { ops.poll_wait = poll_relax_200; }},
    {"cond_load_200", "v2 to v4 for arm64: smp_cond_load_relaxed(), the clock after 200 waits",
     [](KernelOps& ops) { ops.poll_wait = poll_cond_load_200; }},
    {"cond_load_1", "v5 to v8: the clock before each wait on arm64, before each 200 on x86",
     [](KernelOps& ops) { ops.poll_wait = poll_cond_load_1; }},
    {"cond_load_timeout", "v9 and v10: smp_cond_load_relaxed_timeout(), the clock after each wait",
     [](KernelOps& ops) { ops.poll_wait = poll_cond_load_timeout; }},
    {"wfet", "series of 2025-26: the same, and WFET with the time limit where the CPU has it",
     [](KernelOps& ops) { ops.poll_wait = poll_wfet; }},
};

// --- line placement ---

constexpr FeatureValue kTifLine[] = {
    {"task", "thread_info.flags shares its line with __state and on_cpu (x86-64)",
     [](KernelOps& ops) { ops.tif_alone = false; }},
    {"own", "thread_info.flags alone on its line", [](KernelOps& ops) { ops.tif_alone = true; }},
};

constexpr FeatureValue kCsdLine[] = {
    {"own", "the csd of a waited call alone on its line",
     [](KernelOps& ops) { ops.csd_with_stack = false; }},
    {"stack", "the csd of a waited call shares its line with locals of the caller",
     [](KernelOps& ops) { ops.csd_with_stack = true; }},
};

constexpr FeatureValue kRqLine[] = {
    {"packed", "rq->__lock and nr_running on one line",
     [](KernelOps& ops) { ops.rq_split = false; }},
    {"split", "rq->__lock and nr_running on two lines",
     [](KernelOps& ops) { ops.rq_split = true; }},
};

constexpr FeatureValue kMmCountLine[] = {
    {"own", "mm->mm_count alone on its line (6.12)",
     [](KernelOps& ops) { ops.mm_count_alone = true; }},
    {"shared", "mm->mm_count beside mm_users and the page-table counters (6.1)",
     [](KernelOps& ops) { ops.mm_count_alone = false; }},
};

// --- ibrs ---

void ibrs_kernel(KernelOps& ops) {
  ops.spec_ctrl_base = hw::SPEC_CTRL_IBRS;
  ops.idle_clears_ibrs = keep_ibrs_in_idle;
}

constexpr FeatureValue kIbrs[] = {
    {"off", "no kernel IBRS: enhanced IBRS, retpolines, retbleed=stuff or no mitigation",
     [](KernelOps& ops) {
       ops.spec_ctrl_base = 0;
       ops.idle_clears_ibrs = keep_ibrs_in_idle;
     }},
    {"kernel_ibrs", "SPEC_CTRL is written on entry from and exit to user mode; idle keeps IBRS set",
     ibrs_kernel},
    {"long_idle",
     "v5.19 (bf5835bcdb96): intel_idle clears it in states flagged IBRS: C6 and deeper",
     [](KernelOps& ops) {
       ibrs_kernel(ops);
       ops.idle_clears_ibrs = clear_ibrs_in_long_idle;
     }},
    {"all_idle", "v6.6, intel_idle.ibrs_off: cleared in every state, with interrupts masked",
     [](KernelOps& ops) {
       ibrs_kernel(ops);
       ops.idle_clears_ibrs = clear_ibrs_in_all_idle;
     }},
};

constexpr FeatureValue kIbrsOffline[] = {
    {"kept", "a CPU goes offline with IBRS as it is",
     [](KernelOps& ops) { ops.play_dead_clears_ibrs = false; }},
    {"cleared", "2743fe89d4d4: native_play_dead() clears it",
     [](KernelOps& ops) { ops.play_dead_clears_ibrs = true; }},
};

constexpr std::array<FeatureAxis, kAxes> kAxisTable = {{
    {"wake_queue", "how a queued call or wake-up is signalled", kWakeQueue},
    {"schedule_idle", "what the idle loop's schedule_idle() does", kScheduleIdle},
    {"polling", "whether the architecture has TIF_POLLING_NRFLAG", kPolling},
    {"idle_enter", "what an idle CPU waits with", kIdleEnter},
    {"tick", "when idle stops the tick", kTick},
    {"governor", "who chooses the idle state", kGovernor},
    {"poll_idle", "what the polling idle state waits with, and when it looks at the clock",
     kPollIdle},
    {"tif_line", "placement of the idle task's flag word", kTifLine},
    {"csd_line", "placement of a waited call's entry", kCsdLine},
    {"rq_line", "placement of the run queue's fields", kRqLine},
    {"mm_count_line", "placement of the mm's reference count", kMmCountLine},
    {"ttwu_queue", "who activates a task that wakes up inside the waker's cache", kTtwuQueue},
    {"ibrs", "kernel IBRS, and in which idle states it is cleared", kIbrs},
    {"ibrs_offline", "what going offline does to IBRS", kIbrsOffline},
}};

}  // namespace

int FeatureAxis::find(std::string_view value) const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].name == value) return static_cast<int>(i);
  return -1;
}

std::span<const FeatureAxis> feature_axes() { return kAxisTable; }

int find_axis(std::string_view name) {
  for (std::size_t i = 0; i < kAxes; ++i)
    if (kAxisTable[i].name == name) return static_cast<int>(i);
  return -1;
}

void Features::set(std::string_view axis, std::string_view name) {
  const int index = find_axis(axis);
  CHECK(index >= 0, std::string(axis));
  const int found = kAxisTable[static_cast<std::size_t>(index)].find(name);
  CHECK(found >= 0, std::string(name));
  value[static_cast<std::size_t>(index)] = static_cast<std::uint8_t>(found);
}

std::string_view Features::get(std::string_view axis) const {
  const int index = find_axis(axis);
  CHECK(index >= 0, std::string(axis));
  const auto i = static_cast<std::size_t>(index);
  return kAxisTable[i].values[value[i]].name;
}

KernelOps make_ops(const Features& features) {
  KernelOps ops;
  for (std::size_t i = 0; i < kAxes; ++i) kAxisTable[i].values[features.value[i]].apply(ops);
  return ops;
}

std::string why_impossible(const Features& features, hw::Arch arch) {
  const std::string_view enter = features.get("idle_enter");
  if (arch == hw::Arch::kArm64 && enter != "wfi" && enter != "poll")
    return "idle_enter " + std::string(enter) + " does not exist on arm64";
  if (arch == hw::Arch::kArm64 &&
      (features.get("ibrs") != "off" || features.get("ibrs_offline") != "kept"))
    return "IBRS does not exist on arm64";
  if (arch == hw::Arch::kX86_64 && enter == "wfi") return "idle_enter wfi does not exist on x86_64";
  const std::string_view governor = features.get("governor");
  if (arch == hw::Arch::kArm64 && governor == "haltpoll_6_1")
    return "governor haltpoll_6_1 does not exist on arm64";
  if (arch == hw::Arch::kArm64 && governor == "haltpoll" && features.get("polling") == "none")
    return "governor haltpoll comes with polling=tif_polling on arm64";
  return {};
}

}  // namespace idlesim::kernel

// One call of ipistorm, step by step. The functions that execute the steps are in src/kernel; the
// table says which of them a feature value selects.
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "idlesim/workload/path_builder.h"

namespace idlesim::workload {

namespace {

using enum kernel::Path;

Time send_cost(const hw::MachineSpec& machine) {
  const bool barriers = machine.cpu.vendor != hw::Vendor::kAmd;
  return machine.interrupt.send + machine.cpu.barrier * (barriers ? 2 : 0);
}
Time delivery_cost(const hw::MachineSpec& machine) { return machine.interrupt.delivery_socket; }
Time remote_delivery_cost(const hw::MachineSpec& machine) {
  return machine.interrupt.delivery_remote;
}
Time interrupt_cost(const hw::MachineSpec& machine) {
  const hw::InterruptSpec& interrupt = machine.interrupt;
  return interrupt.entry + interrupt.ack + interrupt.eoi + interrupt.exit;
}
Time pause_cost(const hw::MachineSpec& machine) { return machine.cpu.pause; }
Time hlt_exit_cost(const hw::MachineSpec& machine) { return machine.hlt_exit; }
Time first_state_exit(const hw::MachineSpec& machine) {
  return machine.idle_states.empty() ? Time{} : machine.idle_states.front().timing.exit;
}

const std::vector<Step>& sender_steps() {
  static const std::vector<Step> kSteps = {
      {"sender", "", "", "ipistorm: the thread's loop up to the next call", {ipistorm_loop}},
      {"sender",
       "single",
       "",
       "smp_call_function_single(): the csd is filled and locked",
       {smp_call_function_single_head}},
      {"sender",
       "many",
       "",
       "smp_call_function_many_cond(): per target, a csd is locked and queued",
       {smp_call_function_many_cond_head, smp_call_function_many_cond_per_cpu}},
      {"sender",
       "single",
       "",
       "llist_add(): onto the target's call_single_queue; only the push that finds it empty "
       "signals",
       {llist_add}},
      {"sender",
       "wake_queue",
       "rqlist csq_always_ipi",
       "send_call_function_single_ipi(): whether the target polls is not asked",
       {}},
      {"sender",
       "wake_queue",
       "csq",
       "set_nr_if_polling(): a target with TIF_POLLING_NRFLAG gets TIF_NEED_RESCHED, and no "
       "interrupt",
       {send_call_function_single_ipi_polling}},
      {"sender",
       "wake_queue",
       "csq_notify",
       "a target with TIF_POLLING_NRFLAG gets TIF_NOTIFY_IPI, and no interrupt",
       {send_call_function_single_ipi_polling}},
      {"sender", "polling", "none", "no idle task of this architecture has TIF_POLLING_NRFLAG", {}},
      {"sender",
       "single",
       "",
       "else arch_send_call_function_single_ipi(): a real interrupt",
       {send_call_function_single_ipi_ipi},
       send_cost},
      {"sender",
       "many",
       "",
       "more than one newly filled queue: one interrupt each, nobody asks who polls",
       {smp_call_function_many_cond_ipi},
       send_cost},
      {"fabric", "", "", "the interrupt travels within a socket", {}, delivery_cost},
      {"fabric", "", "", "the interrupt travels to another socket", {}, remote_delivery_cost},
      {"sender",
       "wait",
       "",
       "csd_lock_wait(): each round until the csd is unlocked",
       {csd_lock_wait_loop},
       pause_cost},
  };
  return kSteps;
}

const std::vector<Step>& wake_steps() {
  static const std::vector<Step> kSteps = {
      {"target",
       "governor",
       "menu menu_6_10",
       "idle was entered in the state that menu_select() chose",
       {}},
      {"target",
       "governor",
       "teo ladder",
       "idle was entered in the state that the governor chose",
       {}},
      {"target",
       "governor",
       "haltpoll haltpoll_6_1",
       "idle was entered by poll_idle(), or by the default idle where haltpoll_select() says so",
       {}},
      {"target", "governor", "fixed", "idle was entered in the state that the scenario names", {}},
      {"target", "governor", "none", "idle was entered by default_idle_call()", {}},
      {"target",
       "idle_enter",
       "hlt",
       "HLT ends (interrupts only; the flag word cannot end it)",
       {},
       hlt_exit_cost},
      {"target",
       "idle_enter",
       "mwait_ecx0",
       "MWAIT of the shallowest state ends: store to the flag word, or interrupt, taken at once",
       {},
       first_state_exit},
      {"target",
       "idle_enter",
       "mwait_ecx1",
       "MWAIT of the shallowest state ends: store to the flag word, or an interrupt that stays "
       "pending until it is unmasked",
       {},
       first_state_exit},
      {"target",
       "idle_enter",
       "wfi",
       "WFI of the shallowest state ends: an interrupt is pending",
       {},
       first_state_exit},
      {"target",
       "idle_enter",
       "poll",
       "cpu_idle_poll(): each round until the flag word has changed",
       {cpu_idle_poll_loop},
       pause_cost},
      {"target",
       "governor",
       "menu menu_6_10 teo fixed haltpoll haltpoll_6_1",
       "state 0 is poll_idle(): each round, up to its time limit",
       {poll_idle_loop},
       pause_cost},
  };
  return kSteps;
}

const std::vector<Step>& interrupt_steps() {
  static const std::vector<Step> kSteps = {
      {"target",
       "",
       "",
       "gate, entry code, EOI; and the way back",
       {irq_entry, sysvec_call_function_single_body, irq_exit, irq_exit_stay_idle},
       interrupt_cost},
      {"target",
       "",
       "",
       "flush_smp_call_function_queue(): the queue is taken, the function called",
       {flush_queue_head, flush_queue_sync_entry, ipistorm_function}},
      {"target", "", "", "csd_unlock(): the sender's wait ends", {csd_unlock, flush_queue_tail}},
  };
  return kSteps;
}

const std::vector<Step>& flag_steps() {
  static const std::vector<Step> kSteps = {
      {"target",
       "governor",
       "menu menu_6_10 teo ladder fixed haltpoll haltpoll_6_1",
       "back through cpuidle to do_idle()",
       {ct_cpuidle_exit, cpuidle_enter_state_tail, menu_reflect, cpuidle_idle_call_tail}},
      {"target",
       "governor",
       "none",
       "back through default_idle_call() to do_idle()",
       {ct_cpuidle_exit, default_idle_call_tail, cpuidle_idle_call_tail}},
      {"target",
       "",
       "",
       "do_idle() leaves its loop: tick_nohz_idle_exit(), TIF_POLLING_NRFLAG off",
       {do_idle_loop_tail, do_idle_loop_tail_resched, tick_nohz_idle_exit, clear_polling}},
      {"target",
       "wake_queue",
       "csq_notify",
       "TIF_NOTIFY_IPI is cleared before the queue is looked at",
       {}},
      {"target",
       "",
       "",
       "flush_smp_call_function_queue(): the function is called, the csd unlocked",
       {flush_smp_call_function_queue_head, flush_queue_head, flush_queue_sync_entry,
        ipistorm_function, csd_unlock, flush_queue_tail, flush_smp_call_function_queue_tail}},
      {"target",
       "schedule_idle",
       "full",
       "schedule_idle(): a whole pick with newidle_balance (early exit counted here), nothing to "
       "run",
       {schedule_idle_head, update_rq_clock, pick_next_task_idle_full, newidle_balance_early_exit,
        schedule_idle_full_tail, schedule_idle_tail, do_idle_return}},
      {"target",
       "schedule_idle",
       "sm_idle",
       "schedule_idle(): the run queue is empty, no pick",
       {schedule_idle_head, update_rq_clock, schedule_idle_sm_idle, schedule_idle_tail,
        do_idle_return}},
      {"target",
       "schedule_idle",
       "conditional",
       "no schedule_idle(): it is called only if TIF_NEED_RESCHED is set",
       {do_idle_return}},
      {"target",
       "",
       "",
       "do_idle() again: TIF_POLLING_NRFLAG on, the next idle period begins",
       {do_idle_head, tick_nohz_idle_enter, do_idle_loop_head}},
  };
  return kSteps;
}

}  // namespace

std::vector<PathStep> ipistorm_path(const Setup& setup, bool single, bool wait) {
  const kernel::Features& features = setup.config.features;
  std::vector<std::string_view> options = {single ? "single" : "many"};
  if (wait) options.push_back("wait");
  PathBuilder path(setup, std::move(options));
  path.title("The sender");
  path.add(sender_steps());
  path.title("The target wakes");
  path.add(wake_steps());
  path.title("The target, when an interrupt was sent");
  path.add(interrupt_steps());
  if (features.get("polling") != "none" && has_word("csq csq_notify", features.get("wake_queue"))) {
    path.title("The target, when the flag word was set instead");
    path.add(flag_steps());
  }
  return path.take();
}

}  // namespace idlesim::workload

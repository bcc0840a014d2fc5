// One direction of perf bench sched pipe, step by step: write(), wake-up, return from read().
#include <vector>

#include "idlesim/workload/path_builder.h"

namespace idlesim::workload {

namespace {

using enum kernel::Path;

Time interrupt_cost(const hw::MachineSpec& machine) {
  const hw::InterruptSpec& interrupt = machine.interrupt;
  return interrupt.entry + interrupt.ack + interrupt.eoi + interrupt.exit;
}
Time send_cost(const hw::MachineSpec& machine) {
  return machine.interrupt.send + machine.interrupt.delivery_socket;
}
Time first_state_exit(const hw::MachineSpec& machine) {
  return machine.idle_states.empty() ? Time{} : machine.idle_states.front().timing.exit;
}

std::vector<Step> writer_steps() {
  return {
      {"writer", "", "", "the program calls write()", {sched_pipe_loop, sys_write_entry}},
      {"writer",
       "",
       "",
       "pipe_write(): mutex, page, slot, head; the pipe was empty: rd_wait's lock",
       {pipe_write_to_wakeup}},
      {"writer",
       "pinned",
       "",
       "try_to_wake_up(): pi_lock, the state; the task may run on one CPU only",
       {try_to_wake_up_head, select_task_rq_pinned}},
      {"writer",
       "unpinned",
       "",
       "try_to_wake_up(): pi_lock, the state; select_task_rq_fair() looks at run queues",
       {try_to_wake_up_head, select_task_rq_fair}},
      {"writer",
       "same_cpu",
       "",
       "ttwu_queue(): the waker's own run queue; it goes on running",
       {ttwu_queue_local, ttwu_do_activate_others}},
      {"writer",
       "two_cpus",
       "",
       "ttwu_queue_wakelist(): ttwu_pending, and onto the target's call_single_queue",
       {ttwu_queue_wakelist, llist_add}},
  };
}

std::vector<Step> signal_steps() {
  return {
      {"writer",
       "wake_queue",
       "csq csq_notify",
       "if the target polls: its flag word, no interrupt",
       {send_call_function_single_ipi_polling}},
      {"writer", "", "", "otherwise: an interrupt", {send_call_function_single_ipi_ipi}, send_cost},
      {"target",
       "idle_enter",
       "mwait_ecx0 mwait_ecx1 wfi hlt",
       "it leaves its idle state",
       {},
       first_state_exit},
      {"target",
       "",
       "",
       "after an interrupt: entry, queue, ttwu_do_activate(), exit",
       {irq_entry, flush_queue_head, flush_queue_ttwu_entry, sched_ttwu_pending_head,
        ttwu_do_activate, resched_curr, sched_ttwu_pending_tail, flush_queue_tail, irq_exit},
       interrupt_cost},
      {"target",
       "",
       "",
       "do_idle(): tick_nohz_idle_exit(), POLLING off, the queue",
       {ct_cpuidle_exit, do_idle_loop_tail_resched, tick_nohz_idle_exit, clear_polling,
        flush_smp_call_function_queue_empty}},
      {"target",
       "",
       "",
       "schedule_idle(): pick, switch; the idle task's reference to the mm is dropped",
       {schedule_idle_head, pick_next_task_fair, psi_task_switch_from_idle,
        switch_mm_irqs_off_same_lazy, context_switch_from_idle, switch_to_task_prepare,
        switch_to_task, finish_task_switch_from_idle, schedule_tail}},
  };
}

std::vector<Step> same_cpu_steps() {
  return {
      {"writer",
       "",
       "",
       "back from write(), it calls read() on the other pipe, which is empty, and blocks",
       {pipe_write_wakeup_unwind, sys_write_exit, sched_pipe_loop, sys_read_entry,
        pipe_read_to_schedule, schedule_head, dequeue_task_others}},
      {"reader",
       "",
       "",
       "the other task is picked and switched to",
       {pick_next_task_fair_task, switch_mm_irqs_off_other, context_switch_task,
        switch_to_task_prepare, switch_task, finish_task_switch_task, schedule_tail_task}},
  };
}

std::vector<Step> reader_steps() {
  return {
      {"reader",
       "",
       "",
       "pipe_read(): off rd_wait, mutex, the message, tail",
       {pipe_read_after_wake}},
      {"reader", "", "", "read() returns", {sys_read_exit, exit_to_user_after_switch}},
  };
}

std::vector<Step> blocking_steps() {
  return {
      {"writer",
       "",
       "",
       "write() returns; read() of the other pipe finds it empty",
       {pipe_write_wakeup_unwind, sys_write_exit, sched_pipe_loop, sys_read_entry,
        pipe_read_to_schedule}},
      {"writer",
       "",
       "",
       "schedule(): nothing to run, to the idle task",
       {schedule_head, dequeue_task, pick_next_task_fair_none, newidle_balance_early_exit,
        pick_idle_put_prev, psi_task_switch_to_idle, enter_lazy_tlb, context_switch_to_idle,
        switch_to_idle_prepare, switch_to_idle, finish_task_switch_to_idle}},
      {"writer",
       "",
       "",
       "do_idle(): POLLING on, the tick, the idle state",
       {schedule_idle_tail, do_idle_return, do_idle_head, tick_nohz_idle_enter, do_idle_loop_head}},
  };
}

}  // namespace

std::vector<PathStep> sched_pipe_path(const Setup& setup, bool pinned, bool same_cpu) {
  PathBuilder path(setup, {pinned ? "pinned" : "unpinned", same_cpu ? "same_cpu" : "two_cpus"});
  path.title("The writer wakes the reader");
  path.add(writer_steps());
  if (same_cpu) {
    path.add(same_cpu_steps());
  } else {
    path.title("The signal, and the reader's CPU");
    path.add(signal_steps());
  }
  path.title("The reader");
  path.add(reader_steps());
  if (!same_cpu) {
    path.title("Meanwhile the writer blocks");
    path.add(blocking_steps());
  }
  return path.take();
}

}  // namespace idlesim::workload

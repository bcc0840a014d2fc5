// Wake-ups and task switches.
#ifndef IDLESIM_KERNEL_SCHED_H_
#define IDLESIM_KERNEL_SCHED_H_

#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

Co<> spin_lock(Cpu& cpu, Word& lock);
// Linux: kernel/locking/qspinlock.h, queued_spin_unlock().
inline Cpu::Store spin_unlock(Cpu& cpu, Word& lock,
                              SourceLocation where = SourceLocation::current()) {
  return smp_store_release(cpu, lock, 0, where);
}

// Makes `task` runnable if it sleeps in one of the states of `mask`; false if it does not.
Co<bool> try_to_wake_up(Cpu& cpu, Task& task, std::uint64_t mask = TASK_NORMAL,
                        unsigned wake_flags = 0);
// Where a woken task is to run. Interrupts are off, task.pi_lock is held.
Co<CpuId> select_task_rq(Cpu& cpu, Task& task, unsigned wake_flags);
// rq->curr, nr_running and ttwu_pending of `other` say that it is idle.
Co<bool> available_idle_cpu(Cpu& cpu, CpuId other);
// Going idle: may say in the LLC's line that this core is idle altogether.
Co<> update_idle_core(Cpu& cpu);
// Interrupts are off: activates the tasks of a drained queue.
Co<> sched_ttwu_pending(Cpu& cpu, Task* const* tasks, std::size_t count);

// State of the running task, with a full barrier: it will test a condition and then sleep.
Co<> set_current_state(Cpu& cpu, std::uint64_t state);
// These may sleep, and a task that is not pinned may go on elsewhere: Task::running_on.
Co<> schedule(Cpu& cpu);
Co<> cond_resched(Cpu& cpu);
// Before the running task returns to its program.
Co<> exit_to_user_mode_loop(Cpu& cpu);
// The program of the running task executes for `time`. It can be preempted.
Co<> user_mode(Cpu& cpu, Time time);
Co<> schedule_idle(Cpu& cpu);
// By the tick: a task that has used its time slice makes room.
Co<> sched_tick(Cpu& cpu);
// The running task ends and is never scheduled again.
Co<> do_exit(Cpu& cpu);
// hrtimer sleep of the running task until `expires`.
Co<> schedule_hrtimeout(Cpu& cpu, Time expires);

// Reads the run queues of other CPUs for work to pull, if anybody is overloaded. Returns the number
// of CPUs read. The run queue's lock is held, and held again on return.
Co<int> sched_balance_newidle(Cpu& cpu);

// --- values of the axes `wake_queue`, `polling` and `schedule_idle` ---
Co<bool> set_nr_and_not_polling(Cpu& cpu, PerCpu& rq);
Co<bool> set_nr_without_polling(Cpu& cpu, PerCpu& rq);
Co<bool> ttwu_queue_cond_csq(Cpu& cpu, CpuId target, bool on_cpu);
Co<bool> ttwu_queue_cond_on_cpu(Cpu& cpu, CpuId target, bool on_cpu);
Co<bool> ttwu_queue_cond_rqlist(Cpu& cpu, CpuId target, bool on_cpu);
Co<> ttwu_queue_csq(Cpu& cpu, Task& task, CpuId target);
Co<> ttwu_queue_rqlist(Cpu& cpu, Task& task, CpuId target);
Co<> scheduler_ipi_fold(Cpu& cpu);
Co<> scheduler_ipi_rqlist(Cpu& cpu);
Co<> drain_rqlist(Cpu& cpu);
Co<Task*> pick_next_task_idle_full(Cpu& cpu);
Co<Task*> pick_next_task_sm_idle(Cpu& cpu);
Co<> schedule_idle_always(Cpu& cpu);
Co<> schedule_idle_if_needed(Cpu& cpu);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_SCHED_H_

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

// Makes `task` runnable if it sleeps in TASK_INTERRUPTIBLE; false if it does not.
// Not modelled yet beyond pinned tasks: selection of another CPU.
Co<bool> try_to_wake_up(Cpu& cpu, Task& task);
// Interrupts are off: activates the tasks of a drained queue.
Co<> sched_ttwu_pending(Cpu& cpu, Task* const* tasks, std::size_t count);

Co<> schedule(Cpu& cpu);
Co<> schedule_idle(Cpu& cpu);
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

// Which of several runnable tasks a CPU runs: one simple rule in place of CFS and EEVDF.
//
// The runnable task with the least virtual run time (all weights are equal) runs; among equals the
// one that has waited longest. A task that becomes runnable is placed at most one slice before the
// least virtual time on its CPU, so that having slept is worth something but not everything. It
// preempts the running task if it is behind by more than the wake-up granularity. At a tick, a task
// that has used its slice makes room for one that is behind it.
#ifndef IDLESIM_KERNEL_FAIR_H_
#define IDLESIM_KERNEL_FAIR_H_

#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

// sysctl_sched_base_slice: 0.75 ms * (1 + log2(8)) on 8 and more CPUs; the minimal granularity of
// CFS is the same.
inline constexpr Time sysctl_sched_base_slice = Time::ms(3);
// sysctl_sched_wakeup_granularity of CFS, not scaled.
inline constexpr Time sysctl_sched_wakeup_granularity = Time::ms(1);

// All with the lock of `rq` held.
void update_curr(PerCpu& rq, Time now);
void enqueue_task_fair(PerCpu& rq, Task& task, Time now);
// Takes the task to run next; null: none.
Task* pick_task_fair(PerCpu& rq, Time now);
bool wakeup_preempt_fair(PerCpu& rq, const Task& woken, Time now);
bool slice_is_over(PerCpu& rq, Time now);
// The task leaves `from` for `to`, where virtual time is another.
void migrate_task_fair(PerCpu& from, PerCpu& to, Task& task);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_FAIR_H_

// Waking tasks up, from the waker's and from the target's side.
#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/kernel/fair.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/smp.h"

namespace idlesim::kernel {

namespace {

bool shares_cache(Cpu& cpu, CpuId other) {
  const hw::Topology& topology = cpu.machine().topology();
  return topology.cluster(cpu.id) == topology.cluster(other);
}

// Linux: kernel/sched/core.c, resched_curr(). The run queue's lock is held.
Co<> resched_curr(Cpu& cpu, PerCpu& rq) {
  PerCpu& target = rq;
  Word& flags = target.curr->flags;
  co_await read_once(cpu, target.rq_curr);
  if ((co_await read_once(cpu, flags) & TIF_NEED_RESCHED) != 0) {
    co_await exec(cpu, Path::resched_curr_already);
    co_return;
  }
  co_await exec(cpu, Path::resched_curr);
  if (target.id == cpu.id) {
    co_await set_bits(cpu, flags, TIF_NEED_RESCHED);
    co_return;
  }
  if (co_await ops_of(cpu).set_nr_and_not_polling(cpu, target))
    co_await smp_send_reschedule(cpu, target.id);
  else
    target.kernel->tracer().emit(trace::IpiElided{cpu.now(), cpu.id, target.id});
}

// Linux: kernel/sched/core.c, update_avg() in ttwu_do_activate().
void update_avg_idle(PerCpu& rq, Time now) {
  if (rq.idle_stamp == Time::never()) return;
  const Time delta = now - rq.idle_stamp;
  rq.avg_idle += (delta - rq.avg_idle) / 8;
  rq.avg_idle = std::min(rq.avg_idle, Time::ms(1));  // 2 * max_idle_balance_cost
  rq.idle_stamp = Time::never();
}

// Linux: kernel/sched/core.c, wakeup_preempt(). The run queue's lock is held.
// Not modelled: classes other than fair and idle.
Co<> wakeup_preempt(Cpu& cpu, PerCpu& rq, Task& task) {
  PerCpu& target = rq;
  if (target.curr == &target.idle || wakeup_preempt_fair(target, task, cpu.now()))
    co_await resched_curr(cpu, target);
}

// Linux: kernel/sched/core.c, ttwu_do_activate(). The run queue's lock is held.
Co<> ttwu_do_activate(Cpu& cpu, PerCpu& rq, Task& task) {
  PerCpu& target = rq;
  Task& woken = task;
  const std::uint64_t nr_running = co_await read_once(cpu, target.nr_running);
  co_await exec(cpu, nr_running == 0 ? Path::ttwu_do_activate : Path::ttwu_do_activate_others);
  co_await write_once(cpu, target.nr_running, nr_running + 1);
  co_await write_once(cpu, target.cfs, nr_running + 1);
  if (nr_running + 1 >= 2 && co_await read_once(cpu, target.kernel->rd_overloaded) == 0)
    co_await write_once(cpu, target.kernel->rd_overloaded, 1);
  enqueue_task_fair(target, woken, cpu.now());
  co_await write_once(cpu, woken.on_rq, 1);
  co_await wakeup_preempt(cpu, target, woken);
  co_await write_once(cpu, woken.state, TASK_RUNNING);
  update_avg_idle(target, cpu.now());
}

// Linux: kernel/sched/core.c, ttwu_queue_wakelist(). False: the waker must activate it.
Co<bool> ttwu_queue_wakelist(Cpu& cpu, Task& task, CpuId target, bool on_cpu) {
  Task& woken = task;
  const KernelOps& ops = ops_of(cpu);
  if (!co_await ops.ttwu_queue_cond(cpu, target, on_cpu)) co_return false;
  co_await exec(cpu, Path::ttwu_queue_wakelist);
  co_await ops.ttwu_queue_remote(cpu, woken, target);
  co_return true;
}

// Linux: kernel/sched/core.c, ttwu_queue().
Co<> ttwu_queue(Cpu& cpu, Task& task, CpuId target) {
  PerCpu& rq = kernel_of(cpu).per_cpu(target);
  Task& woken = task;
  if (co_await ttwu_queue_wakelist(cpu, woken, target, false)) co_return;
  co_await exec(cpu, Path::ttwu_queue_local);
  co_await spin_lock(cpu, rq.rq_lock);
  co_await ttwu_do_activate(cpu, rq, woken);
  woken.wake_entry.queued = woken.wake_entry.signalled = cpu.now();
  co_await spin_unlock(cpu, rq.rq_lock);
}

// A task that is still on its run queue has only to be told that it runs.
// Linux: kernel/sched/core.c, ttwu_runnable().
Co<bool> ttwu_runnable(Cpu& cpu, Task& task) {
  Task& woken = task;
  PerCpu& rq = kernel_of(cpu).per_cpu(woken.cpu);
  co_await spin_lock(cpu, rq.rq_lock);
  const bool queued = co_await read_once(cpu, woken.on_rq) != 0;
  if (queued) {
    if (co_await read_once(cpu, woken.on_cpu) == 0) co_await wakeup_preempt(cpu, rq, woken);
    co_await write_once(cpu, woken.state, TASK_RUNNING);
  }
  co_await spin_unlock(cpu, rq.rq_lock);
  co_return queued;
}

// The task's cpu and wake_cpu are on lines that are the waker's since it has set TASK_WAKING.
// Linux: kernel/sched/core.c, set_task_cpu().
void set_task_cpu(Cpu& cpu, Task& task, CpuId target) {
  Kernel& kernel = kernel_of(cpu);
  migrate_task_fair(kernel.per_cpu(task.cpu), kernel.per_cpu(target), task);
  task.cpu = target;
}

// The part of a wake-up that holds p->pi_lock.
// Linux: kernel/sched/core.c, try_to_wake_up().
Co<bool> ttwu_locked(Cpu& cpu, Task& task, std::uint64_t mask, unsigned wake_flags, Time issued) {
  Task& woken = task;
  if ((co_await read_once(cpu, woken.state) & mask) == 0) co_return false;
  if (co_await read_once(cpu, woken.on_rq) != 0 && co_await ttwu_runnable(cpu, woken))
    co_return true;
  co_await write_once(cpu, woken.state, TASK_WAKING);
  woken.wake_entry.issued = issued;

  if (co_await read_once(cpu, woken.on_cpu) != 0) {
    // Still inside schedule() on its CPU: queue it there, or wait until it has left.
    if (co_await ttwu_queue_wakelist(cpu, woken, woken.cpu, true)) co_return true;
    co_await spin_while_set(cpu, woken.on_cpu);
  }
  const CpuId target = co_await select_task_rq(cpu, woken, wake_flags);
  if (target != woken.cpu) set_task_cpu(cpu, woken, target);
  co_await ttwu_queue(cpu, woken, target);
  co_return true;
}

// A task that wakes itself (its timer has fired) has only not to sleep.
Co<bool> ttwu_current(Cpu& cpu, Task& task, std::uint64_t mask) {
  Task& woken = task;
  if ((co_await read_once(cpu, woken.state) & mask) == 0) co_return false;
  co_await write_once(cpu, woken.state, TASK_RUNNING);
  co_return true;
}

}  // namespace

// Linux: kernel/sched/core.c, set_nr_and_not_polling().
Co<bool> set_nr_and_not_polling(Cpu& cpu, PerCpu& rq) {
  Word& flags = rq.curr->flags;
  co_return (co_await fetch_or(cpu, flags, TIF_NEED_RESCHED) & TIF_POLLING_NRFLAG) == 0;
}

// Linux: kernel/sched/core.c, set_nr_and_not_polling() without TIF_POLLING_NRFLAG.
Co<bool> set_nr_without_polling(Cpu& cpu, PerCpu& rq) {
  Word& flags = rq.curr->flags;
  co_await set_bits(cpu, flags, TIF_NEED_RESCHED);
  co_return true;
}

// Linux: kernel/sched/core.c, sched_tick(). Interrupts are off.
Co<> sched_tick(Cpu& cpu) {
  PerCpu& rq = this_cpu(cpu);
  co_await spin_lock(cpu, rq.rq_lock);
  if (rq.curr != &rq.idle && slice_is_over(rq, cpu.now())) co_await resched_curr(cpu, rq);
  co_await spin_unlock(cpu, rq.rq_lock);
}

// Linux: kernel/sched/core.c, ttwu_queue_cond(), since v6.0.
Co<bool> ttwu_queue_cond_csq(Cpu& cpu, CpuId target, bool) {
  PerCpu& rq = kernel_of(cpu).per_cpu(target);
  if (!shares_cache(cpu, target)) co_return true;
  if (target == cpu.id) co_return false;
  co_return co_await read_once(cpu, rq.nr_running) == 0;
}

// Linux v5.8 to v5.19: kernel/sched/core.c, ttwu_queue_cond(); inside the cache only who is still
// on its CPU, and alone there.
Co<bool> ttwu_queue_cond_on_cpu(Cpu& cpu, CpuId target, bool on_cpu) {
  PerCpu& rq = kernel_of(cpu).per_cpu(target);
  if (!shares_cache(cpu, target)) co_return true;
  co_return on_cpu&& co_await read_once(cpu, rq.nr_running) == 0;
}

// Linux v5.7: kernel/sched/core.c, ttwu_queue(); who is still on its CPU is waited for.
Co<bool> ttwu_queue_cond_rqlist(Cpu& cpu, CpuId target, bool on_cpu) {
  co_return !on_cpu && !shares_cache(cpu, target);
}

// Linux: kernel/sched/core.c, try_to_wake_up().
// Not modelled: statistics, nr_iowait.
Co<bool> try_to_wake_up(Cpu& cpu, Task& task, std::uint64_t mask, unsigned wake_flags) {
  Task& woken = task;
  const bool irqs = cpu.irqs_enabled();
  const Time issued = cpu.now();
  bool success = false;
  if (&woken == this_cpu(cpu).curr) {
    success = co_await ttwu_current(cpu, woken, mask);
  } else {
    cpu.local_irq_disable();
    co_await exec(cpu, Path::try_to_wake_up_head);
    co_await spin_lock(cpu, woken.pi_lock);
    co_await smp_mb__after_atomic(cpu);  // smp_mb__after_spinlock()
    success = co_await ttwu_locked(cpu, woken, mask, wake_flags, issued);
    co_await spin_unlock(cpu, woken.pi_lock);
  }
  if (success) kernel_of(cpu).tracer().emit(trace::Wakeup{cpu.now(), cpu.id, woken.cpu, woken.pid});
  co_await exec(cpu, Path::ttwu_tail);
  if (irqs) co_await cpu.local_irq_enable();
  co_return success;
}

// Linux: kernel/sched/core.c, sched_ttwu_pending().
Co<> sched_ttwu_pending(Cpu& cpu, Task* const* tasks, std::size_t count) {
  PerCpu& rq = this_cpu(cpu);
  co_await exec(cpu, Path::sched_ttwu_pending_head);
  co_await spin_lock(cpu, rq.rq_lock);
  for (std::size_t i = 0; i < count; ++i) {
    Task& task = *tasks[i];
    while (co_await read_once(cpu, task.on_cpu) != 0) co_await cpu.exec_time(cpu.spec().pause);
    co_await ttwu_do_activate(cpu, rq, task);
  }
  // After the tasks are queued, so that nobody who probes sees an idle CPU in between.
  co_await write_once(cpu, rq.ttwu_pending, 0);
  co_await spin_unlock(cpu, rq.rq_lock);
  co_await exec(cpu, Path::sched_ttwu_pending_tail);
}

// Linux: kernel/sched/core.c, __ttwu_queue_wakelist().
Co<> ttwu_queue_csq(Cpu& cpu, Task& task, CpuId target) {
  Task& woken = task;
  PerCpu& rq = kernel_of(cpu).per_cpu(target);
  woken.wake_entry.type = CsdType::kTtwu;
  woken.wake_entry.task = &woken;
  woken.wake_entry.from = cpu.id;
  co_await write_once(cpu, rq.ttwu_pending, 1);
  co_await smp_call_single_queue(cpu, target, woken.wake_entry);
}

// Linux v5.7: kernel/sched/core.c, ttwu_queue_remote().
Co<> ttwu_queue_rqlist(Cpu& cpu, Task& task, CpuId target) {
  Task& woken = task;
  PerCpu& rq = kernel_of(cpu).per_cpu(target);
  woken.wake_entry.type = CsdType::kTtwu;
  woken.wake_entry.task = &woken;
  co_await exec(cpu, Path::llist_add);
  const bool was_empty = co_await llist_add(cpu, woken.wake_entry, rq.wake_list);
  woken.wake_entry.queued = woken.wake_entry.signalled = cpu.now();
  if (!was_empty) co_return;
  const bool polls = co_await ops_of(cpu).set_nr_if_polling(cpu, target);
  woken.wake_entry.signalled = cpu.now();
  if (polls)
    rq.kernel->tracer().emit(trace::IpiElided{cpu.now(), cpu.id, target});
  else
    co_await smp_send_reschedule(cpu, target);
}

// Linux: kernel/sched/core.c, scheduler_ipi(), since v5.8: only folds TIF_NEED_RESCHED.
Co<> scheduler_ipi_fold(Cpu& cpu) {
  Word& flags = this_cpu(cpu).curr->flags;
  co_await read_once(cpu, flags);
}

// Linux v5.7: kernel/sched/core.c, scheduler_ipi().
Co<> scheduler_ipi_rqlist(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  co_await scheduler_ipi_fold(cpu);
  if (co_await read_once(cpu, self.wake_list) == 0) co_return;
  co_await irq_enter(cpu);
  co_await drain_rqlist(cpu);
  co_await irq_exit(cpu);
}

// Linux v5.7: kernel/sched/core.c, sched_ttwu_pending().
Co<> drain_rqlist(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  const std::uint64_t list = co_await xchg(cpu, self.wake_list, 0);
  if (list == 0) co_return;
  const bool irqs = cpu.irqs_enabled();
  cpu.local_irq_disable();
  co_await exec(cpu, Path::sched_ttwu_pending_head);
  co_await spin_lock(cpu, self.rq_lock);
  for (std::uint64_t at = list; at != 0;) {
    CallSingleData& entry = entry_at(at);
    at = co_await read_once(cpu, entry.llist);
    co_await ttwu_do_activate(cpu, self, *entry.task);
  }
  co_await spin_unlock(cpu, self.rq_lock);
  co_await exec(cpu, Path::sched_ttwu_pending_tail);
  if (irqs) co_await cpu.local_irq_enable();
}

}  // namespace idlesim::kernel

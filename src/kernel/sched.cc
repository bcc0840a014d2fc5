#include "idlesim/kernel/sched.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

// Linux: kernel/locking/qspinlock.c, queued_spin_lock().
// Not modelled: the MCS queue; waiters race for the lock when it is released.
Co<> spin_lock(Cpu& cpu, Word& lock) {
  Word& word = lock;
  while (co_await cmpxchg(cpu, word, 0, 1) != 0) {
    hw::SpinLoop loop;
    loop.mask = 1;
    loop.while_set = true;
    loop.period = cpu.spec().pause + Time::ns(1);
    co_await cpu.spin(word, loop);
  }
}

namespace {

// Linux: kernel/locking/qspinlock.h, queued_spin_unlock().
Cpu::Store spin_unlock(Cpu& cpu, Word& lock, SourceLocation where = SourceLocation::current()) {
  return smp_store_release(cpu, lock, 0, where);
}

bool shares_cache(Cpu& cpu, CpuId other) {
  const hw::Topology& topology = cpu.machine().topology();
  return topology.cluster(cpu.id) == topology.cluster(other);
}

// Linux: kernel/sched/core.c, resched_curr(). The run queue's lock is held.
Co<> resched_curr(Cpu& cpu, PerCpu& rq) {
  PerCpu& target = rq;
  Word& flags = target.curr->flags;
  if ((co_await read_once(cpu, flags) & TIF_NEED_RESCHED) != 0) {
    co_await exec(cpu, Path::resched_curr_already);
    co_return;
  }
  co_await exec(cpu, Path::resched_curr);
  if (target.id == cpu.id) {
    co_await set_bits(cpu, flags, TIF_NEED_RESCHED);
    co_return;
  }
  const std::uint64_t old = co_await fetch_or(cpu, flags, TIF_NEED_RESCHED);
  if ((old & TIF_POLLING_NRFLAG) != 0)
    target.kernel->tracer().emit(trace::IpiElided{cpu.now(), cpu.id, target.id});
  else
    co_await smp_send_reschedule(cpu, target.id);
}

// Linux: kernel/sched/core.c, update_avg() in ttwu_do_activate().
void update_avg_idle(PerCpu& rq, Time now) {
  if (rq.idle_stamp == Time::never()) return;
  const Time delta = now - rq.idle_stamp;
  rq.avg_idle += (delta - rq.avg_idle) / 8;
  rq.avg_idle = std::min(rq.avg_idle, Time::ms(1));  // 2 * max_idle_balance_cost
  rq.idle_stamp = Time::never();
}

// Linux: kernel/sched/core.c, ttwu_do_activate(). The run queue's lock is held.
// Not modelled: priorities; a woken task does not preempt a running one.
Co<> ttwu_do_activate(Cpu& cpu, PerCpu& rq, Task& task) {
  PerCpu& target = rq;
  Task& woken = task;
  co_await exec(cpu, Path::ttwu_do_activate);
  const std::uint64_t nr_running = co_await read_once(cpu, target.nr_running);
  co_await write_once(cpu, target.nr_running, nr_running + 1);
  co_await write_once(cpu, target.cfs, nr_running + 1);
  if (nr_running + 1 >= 2 && co_await read_once(cpu, target.kernel->rd_overloaded) == 0)
    co_await write_once(cpu, target.kernel->rd_overloaded, 1);
  woken.on_rq = true;
  target.runnable.push_back(&woken);
  if (target.curr == &target.idle) co_await resched_curr(cpu, target);
  co_await write_once(cpu, woken.state, TASK_RUNNING);
  update_avg_idle(target, cpu.now());
}

// Linux: kernel/sched/core.c, ttwu_queue_cond() and ttwu_queue().
Co<> ttwu_queue(Cpu& cpu, Task& task, CpuId target) {
  PerCpu& rq = kernel_of(cpu).per_cpu(target);
  Task& woken = task;
  bool wakelist = !shares_cache(cpu, target);
  if (!wakelist && target != cpu.id) wakelist = co_await read_once(cpu, rq.nr_running) == 0;
  if (wakelist) {
    co_await exec(cpu, Path::ttwu_queue_wakelist);
    co_await ops_of(cpu).ttwu_queue_remote(cpu, woken, target);
    co_return;
  }
  co_await spin_lock(cpu, rq.rq_lock);
  co_await ttwu_do_activate(cpu, rq, woken);
  co_await spin_unlock(cpu, rq.rq_lock);
}

// A task that is still on its run queue has only to be told that it runs.
// Linux: kernel/sched/core.c, ttwu_runnable().
Co<bool> ttwu_runnable(Cpu& cpu, Task& task) {
  Task& woken = task;
  PerCpu& rq = kernel_of(cpu).per_cpu(woken.cpu);
  co_await spin_lock(cpu, rq.rq_lock);
  const bool queued = woken.on_rq;
  if (queued) co_await write_once(cpu, woken.state, TASK_RUNNING);
  co_await spin_unlock(cpu, rq.rq_lock);
  co_return queued;
}

// The part of a wake-up that holds p->pi_lock.
Co<bool> ttwu_locked(Cpu& cpu, Task& task) {
  Task& woken = task;
  if ((co_await read_once(cpu, woken.state) & TASK_INTERRUPTIBLE) == 0) co_return false;
  if (woken.on_rq && co_await ttwu_runnable(cpu, woken)) co_return true;
  co_await write_once(cpu, woken.state, TASK_WAKING);

  const CpuId target = woken.cpu;
  if (co_await read_once(cpu, woken.on_cpu) != 0) {
    // Still inside schedule() on its CPU: queue it there, or wait until it has left.
    if (target != cpu.id && !shares_cache(cpu, target)) {
      co_await exec(cpu, Path::ttwu_queue_wakelist);
      co_await ops_of(cpu).ttwu_queue_remote(cpu, woken, target);
      co_return true;
    }
    hw::SpinLoop loop;
    loop.mask = 1;
    loop.while_set = true;
    loop.period = cpu.spec().pause + Time::ns(1);
    co_await cpu.spin(woken.on_cpu, loop);
  }
  co_await exec(cpu, Path::select_task_rq_pinned);
  co_await ttwu_queue(cpu, woken, target);
  co_return true;
}

}  // namespace

// Linux: kernel/sched/core.c, try_to_wake_up().
// Not modelled: statistics, preemption of the waker, selection of another CPU.
Co<bool> try_to_wake_up(Cpu& cpu, Task& task) {
  Task& woken = task;
  const bool irqs = cpu.irqs_enabled();
  cpu.local_irq_disable();
  co_await exec(cpu, Path::try_to_wake_up_head);
  co_await spin_lock(cpu, woken.pi_lock);
  co_await smp_mb__after_atomic(cpu);  // smp_mb__after_spinlock()
  const bool success = co_await ttwu_locked(cpu, woken);
  co_await spin_unlock(cpu, woken.pi_lock);
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
  if (!co_await llist_add(cpu, woken.wake_entry, rq.wake_list)) co_return;
  if (co_await set_nr_if_polling_target(cpu, target))
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
Co<> scheduler_ipi_rqlist(Cpu& cpu) { return drain_rqlist(cpu); }

// Linux v5.7: kernel/sched/core.c, sched_ttwu_pending().
Co<> drain_rqlist(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  if (co_await read_once(cpu, self.wake_list) == 0) co_return;
  const bool irqs = cpu.irqs_enabled();
  cpu.local_irq_disable();
  co_await take_queue(cpu, self.wake_list);
  self.wakeups.clear();
  for (CallSingleData* entry : self.flushed) self.wakeups.push_back(entry->task);
  if (!self.wakeups.empty())
    co_await sched_ttwu_pending(cpu, self.wakeups.data(), self.wakeups.size());
  if (irqs) co_await cpu.local_irq_enable();
}

// --- __schedule
// -----------------------------------------------------------------------------------

namespace {

// Linux: kernel/sched/core.c, try_to_block_task(); kernel/sched/fair.c, dequeue_task_fair().
Co<> block_task(Cpu& cpu, PerCpu& rq, Task& task) {
  PerCpu& self = rq;
  Task& prev = task;
  co_await exec(cpu, Path::dequeue_task);
  prev.on_rq = false;
  const std::uint64_t nr_running = co_await read_once(cpu, self.nr_running);
  co_await write_once(cpu, self.nr_running, nr_running - 1);
  co_await write_once(cpu, self.cfs, nr_running - 1);
}

Task* take_runnable(PerCpu& rq) {
  if (rq.runnable.empty()) return nullptr;
  Task* task = rq.runnable.front();
  rq.runnable.pop_front();
  return task;
}

// Linux: kernel/sched/core.c, pick_next_task(): first come, first served.
// Not modelled: EEVDF, time slices.
Co<Task*> pick_next_task(Cpu& cpu, PerCpu& rq, Task& prev) {
  PerCpu& self = rq;
  if (prev.on_rq && &prev != &self.idle) self.runnable.push_back(&prev);
  if (self.runnable.empty()) {
    co_await exec(cpu, Path::pick_next_task_fair_none);
    self.cpus_walked = co_await sched_balance_newidle(cpu);
  }
  Task* next = take_runnable(self);
  if (next != nullptr) {
    co_await exec(cpu, Path::pick_next_task_fair);
    co_return next;
  }
  co_await exec(cpu, Path::psi_task_switch_to_idle);
  co_await exec(cpu, Path::pick_idle_put_prev);
  co_return &self.idle;
}

// Linux: kernel/sched/core.c, finish_task_switch(): in the context that was switched to.
Co<> finish_task_switch(Cpu& cpu) {
  PerCpu& rq = this_cpu(cpu);
  Task& prev = *rq.switched_from;
  co_await exec(cpu, rq.curr == &rq.idle ? Path::finish_task_switch_to_idle
                                         : Path::finish_task_switch_from_idle);
  co_await smp_store_release(cpu, prev.on_cpu, 0);
  co_await spin_unlock(cpu, rq.rq_lock);
  co_await cpu.local_irq_enable();
}

// A task's first time on a CPU.
Co<> task_first_run(Cpu& cpu, Task& task) {
  Task& self = task;
  co_await finish_task_switch(cpu);
  this_cpu(cpu).context = trace::Context::kOther;
  co_await self.entry(cpu, self);
  co_await do_exit(cpu);
}

void task_ended(void*) { CHECK(false, "a task returned from do_exit()"); }

void start_task(void* task) {
  Task& self = *static_cast<Task*>(task);
  PerCpu& pcpu = *static_cast<PerCpu*>(self.data_cpu->os);
  self.started = true;
  self.root.start(task_first_run(*pcpu.cpu, self), task_ended, task);
}

// Linux: kernel/sched/core.c, context_switch().
// Not modelled yet: address spaces.
Co<> context_switch(Cpu& cpu, PerCpu& rq, Task& prev, Task& next) {
  PerCpu& self = rq;
  Task& from = prev;
  Task& to = next;
  co_await write_once(cpu, self.rq_curr, static_cast<std::uint64_t>(to.pid));
  self.curr = &to;
  co_await write_once(cpu, to.on_cpu, 1);
  const bool to_idle = &to == &self.idle;
  if (to_idle) {
    co_await exec(cpu, Path::enter_lazy_tlb);
    co_await exec(cpu, Path::context_switch_to_idle);
    co_await exec(cpu, Path::switch_to_idle_prepare);
    co_await exec(cpu, Path::switch_to_idle);
  } else {
    co_await exec(cpu, Path::psi_task_switch_from_idle);
    co_await exec(cpu, Path::context_switch_from_idle);
    co_await exec(cpu, Path::switch_to_task_prepare);
    co_await exec(cpu, Path::switch_to_task);
  }
  self.kernel->tracer().emit(trace::Switch{cpu.now(), cpu.id, from.pid, to.pid});
  self.switched_from = &from;
  to.data_cpu = &cpu;
  if (to.started)
    co_await cpu.switch_to(&from.context, to.context);
  else
    co_await cpu.switch_to_new(&from.context, start_task, &to);
  co_await finish_task_switch(cpu);
}

// Linux: kernel/sched/core.c, __schedule().
Co<> schedule_common(Cpu& cpu, SchedMode mode) {
  PerCpu& rq = this_cpu(cpu);
  Task& prev = *rq.curr;
  const bool idle = mode == SchedMode::kIdle;
  cpu.local_irq_disable();
  rq.schedule_started = cpu.now();
  rq.cpus_walked = 0;
  co_await exec(cpu, idle ? Path::schedule_idle_head : Path::schedule_head);
  co_await spin_lock(cpu, rq.rq_lock);
  co_await smp_mb__after_atomic(cpu);
  if (!idle && co_await read_once(cpu, prev.state) != TASK_RUNNING)
    co_await block_task(cpu, rq, prev);

  Task* next = nullptr;
  if (idle && co_await read_once(cpu, rq.nr_running) == 0)
    next = co_await ops_of(cpu).pick_next_task_idle(cpu, mode);
  else
    next = co_await pick_next_task(cpu, rq, prev);

  co_await clear_bits(cpu, prev.flags, TIF_NEED_RESCHED);
  if (idle)
    rq.kernel->tracer().emit(trace::ScheduleIdle{rq.schedule_started, cpu.now(), cpu.id,
                                                 next == &prev,
                                                 static_cast<std::uint16_t>(rq.cpus_walked)});
  if (next != &prev) {
    co_await context_switch(cpu, rq, prev, *next);
    co_return;
  }
  co_await spin_unlock(cpu, rq.rq_lock);
  co_await cpu.local_irq_enable();
}

Co<bool> need_resched(Cpu& cpu) {
  Word& flags = this_cpu(cpu).curr->flags;
  co_return (co_await read_once(cpu, flags) & TIF_NEED_RESCHED) != 0;
}

}  // namespace

// Linux: kernel/sched/core.c, schedule().
Co<> schedule(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  do {
    co_await schedule_common(cpu, SchedMode::kNone);
    co_await exec(cpu, Path::schedule_tail);
    self.context = trace::Context::kOther;
  } while (co_await need_resched(cpu));
}

// Linux: kernel/sched/core.c, schedule_idle().
Co<> schedule_idle(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  do {
    self.context = trace::Context::kScheduleIdle;
    co_await schedule_common(cpu, SchedMode::kIdle);
    self.context = trace::Context::kScheduleIdle;
  } while (co_await need_resched(cpu));
  co_await exec(cpu, Path::schedule_idle_tail);
  co_await exec(cpu, Path::do_idle_return);
}

// Linux: kernel/exit.c, do_exit().
// Not modelled: everything but leaving the CPU.
Co<> do_exit(Cpu& cpu) {
  Task& self = *this_cpu(cpu).curr;
  co_await write_once(cpu, self.state, TASK_DEAD);
  co_await schedule_common(cpu, SchedMode::kNone);
  CHECK(false, "a dead task was scheduled");
}

// Linux: kernel/time/hrtimer.c, schedule_hrtimeout_range().
Co<> schedule_hrtimeout(Cpu& cpu, Time expires) {
  Task& self = *this_cpu(cpu).curr;
  HrTimer& timer = self.sleep_timer;
  timer.wake = &self;
  co_await exec(cpu, Path::nanosleep_to_schedule);
  co_await xchg(cpu, self.state, TASK_INTERRUPTIBLE);  // set_current_state()
  cpu.local_irq_disable();
  co_await hrtimer_start(cpu, timer, expires);
  co_await cpu.local_irq_enable();
  co_await schedule(cpu);
  co_await exec(cpu, Path::nanosleep_after_wake);
}

// --- schedule_idle with nothing to run
// ------------------------------------------------------------

// Linux v6.11: kernel/sched/core.c, __pick_next_task(): the fair class is asked and may pull work.
Co<Task*> pick_next_task_idle_full(Cpu& cpu, SchedMode) {
  PerCpu& self = this_cpu(cpu);
  co_await exec(cpu, Path::update_rq_clock);
  co_await exec(cpu, Path::pick_next_task_idle_full);
  self.cpus_walked = co_await sched_balance_newidle(cpu);
  Task* next = take_runnable(self);
  if (next != nullptr) co_return next;
  co_await exec(cpu, Path::schedule_idle_full_tail);
  co_return &self.idle;
}

// Linux: kernel/sched/core.c, __schedule() with SM_IDLE (3dcac251b066).
Co<Task*> pick_next_task_sm_idle(Cpu& cpu, SchedMode) {
  PerCpu& self = this_cpu(cpu);
  co_await exec(cpu, Path::update_rq_clock);
  co_await exec(cpu, Path::schedule_idle_sm_idle);
  co_return &self.idle;
}

// Linux: kernel/sched/idle.c, the end of do_idle().
Co<> schedule_idle_always(Cpu& cpu) { return schedule_idle(cpu); }

// Linux: RFC PATCH of 13 Jun 2024, the end of do_idle().
Co<> schedule_idle_if_needed(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  if ((co_await read_once(cpu, self.idle.flags) & TIF_NEED_RESCHED) == 0) co_return;
  co_await schedule_idle(cpu);
}

}  // namespace idlesim::kernel

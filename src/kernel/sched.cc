#include "idlesim/kernel/sched.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/kernel/fair.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/mm.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/kernel/spec_ctrl.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

namespace {

// Linux: kernel/locking/qspinlock.c, queued_spin_lock_slowpath().
// Not modelled: the MCS queue; waiters race for the lock when it is released.
Co<> queued_spin_lock_slowpath(Cpu& cpu, Word& lock, Co<std::uint64_t> first_attempt) {
  Word& word = lock;
  std::uint64_t old = co_await std::move(first_attempt);
  while (old != 0) {
    co_await spin_while_set(cpu, word);
    old = co_await cmpxchg(cpu, word, 0, 1);
  }
}

}  // namespace

// Linux: include/asm-generic/qspinlock.h, queued_spin_lock().
Co<> spin_lock(Cpu& cpu, Word& lock) {
  Co<std::uint64_t> attempt = sim::start(cmpxchg(cpu, lock, 0, 1));
  if (attempt.has_ended() && attempt.value() == 0) return Co<>::ended();
  return queued_spin_lock_slowpath(cpu, lock, std::move(attempt));
}

// --- __schedule ---

namespace {

// Linux: kernel/sched/core.c, try_to_block_task(); kernel/sched/fair.c, dequeue_task_fair().
Co<> block_task(Cpu& cpu, PerCpu& rq, Task& task) {
  PerCpu& self = rq;
  Task& prev = task;
  co_await exec(cpu, self.runnable.empty() ? Path::dequeue_task : Path::dequeue_task_others);
  co_await write_once(cpu, prev.on_rq, 0);
  const std::uint64_t nr_running = co_await read_once(cpu, self.nr_running);
  co_await write_once(cpu, self.nr_running, nr_running - 1);
  co_await write_once(cpu, self.cfs, nr_running - 1);
}

// Linux: kernel/sched/core.c, pick_next_task(), put_prev_task().
Co<Task*> pick_next_task(Cpu& cpu, PerCpu& rq, Task& prev, bool blocked) {
  PerCpu& self = rq;
  Task& from = prev;
  update_curr(self, cpu.now());
  if (!blocked && &from != &self.idle) self.runnable.push_back(&from);
  if (self.runnable.empty()) {
    co_await exec(cpu, Path::pick_next_task_fair_none);
    self.cpus_walked = co_await sched_balance_newidle(cpu);
  }
  Task* next = pick_task_fair(self, cpu.now());
  if (next != nullptr) {
    co_await exec(cpu,
                  &from == &self.idle ? Path::pick_next_task_fair : Path::pick_next_task_fair_task);
    co_return next;
  }
  co_await exec(cpu, Path::psi_task_switch_to_idle);
  co_await exec(cpu, Path::pick_idle_put_prev);
  co_await update_idle_core(cpu);
  co_return &self.idle;
}

// Linux: kernel/sched/core.c, finish_task_switch(): in the context that was switched to.
Co<> finish_task_switch(Cpu& cpu) {
  PerCpu& rq = this_cpu(cpu);
  Task& prev = *rq.switched_from;
  Mm* mm = rq.prev_mm;
  rq.prev_mm = nullptr;
  co_await exec(cpu, rq.curr == &rq.idle ? Path::finish_task_switch_to_idle
                     : &prev == &rq.idle ? Path::finish_task_switch_from_idle
                                         : Path::finish_task_switch_task);
  rq.came_from_task = &prev != &rq.idle;
  co_await smp_store_release(cpu, prev.on_cpu, 0);
  co_await spin_unlock(cpu, rq.rq_lock);
  co_await cpu.local_irq_enable();
  if (mm != nullptr) co_await mmdrop_lazy_tlb(cpu, *mm);
}

// A task's first time on a CPU.
Co<> task_first_run(Cpu& cpu, Task& task) {
  Task& self = task;
  co_await finish_task_switch(cpu);
  this_cpu(cpu).context = trace::Context::kOther;
  co_await self.entry(cpu, self);
  co_await do_exit(*self.running_on);
}

void task_ended(void*) { CHECK(false, "a task returned from do_exit()"); }

void start_task(void* task) {
  Task& self = *static_cast<Task*>(task);
  self.started = true;
  self.root.start(task_first_run(*self.running_on, self), task_ended, task);
}

// The address space of the next task, before its registers.
// Linux: kernel/sched/core.c, context_switch().
// Not modelled: membarrier_switch_mm(), per-mm concurrency ids beyond their instructions.
Co<> switch_mm(Cpu& cpu, PerCpu& rq, Task& prev, Task& next) {
  PerCpu& self = rq;
  Task& from = prev;
  Task& to = next;
  if (to.mm == nullptr) {
    co_await enter_lazy_tlb(cpu, *from.active_mm);
    to.active_mm = from.active_mm;
    if (from.mm != nullptr)
      co_await mmgrab_lazy_tlb(cpu, *from.active_mm);
    else
      from.active_mm = nullptr;
    co_return;
  }
  co_await switch_mm_irqs_off(cpu, *from.active_mm, *to.mm);
  if (from.mm == nullptr) {
    self.prev_mm = from.active_mm;  // dropped in finish_task_switch()
    from.active_mm = nullptr;
  }
}

// Linux: kernel/sched/core.c, context_switch().
Co<> context_switch(Cpu& cpu, PerCpu& rq, Task& prev, Task& next, bool blocked) {
  PerCpu& self = rq;
  Task& from = prev;
  Task& to = next;
  co_await write_once(cpu, self.rq_curr, static_cast<std::uint64_t>(to.pid));
  self.curr = &to;
  const bool to_idle = &to == &self.idle;
  const bool from_idle = &from == &self.idle;
  if (from_idle) co_await exec(cpu, Path::psi_task_switch_from_idle);
  co_await write_once(cpu, to.on_cpu, 1);
  co_await switch_mm(cpu, self, from, to);
  if (to_idle) {
    co_await exec(cpu, Path::context_switch_to_idle);
    co_await exec(cpu, Path::switch_to_idle_prepare);
    co_await exec(cpu, Path::switch_to_idle);
  } else {
    co_await exec(cpu, from_idle ? Path::context_switch_from_idle
                       : blocked ? Path::context_switch_task
                                 : Path::context_switch_preempted);
    co_await exec(cpu, Path::switch_to_task_prepare);
    co_await exec(cpu, from_idle ? Path::switch_to_task : Path::switch_task);
  }
  self.kernel->tracer().emit(trace::Switch{cpu.now(), cpu.id, from.pid, to.pid});
  self.switched_from = &from;
  to.running_on = &cpu;
  if (to.started)
    co_await cpu.switch_to(&from.context, to.context);
  else
    co_await cpu.switch_to_new(&from.context, start_task, &to);
  // `prev` runs again, perhaps elsewhere.
  co_await finish_task_switch(*from.running_on);
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
  const std::uint64_t prev_state = co_await read_once(cpu, prev.state);
  const bool blocked = !idle && prev_state != TASK_RUNNING;
  if (blocked) co_await block_task(cpu, rq, prev);

  Task* next = nullptr;
  if (idle && co_await read_once(cpu, rq.nr_running) == 0)
    next = co_await ops_of(cpu).pick_next_task_idle(cpu);
  else
    next = co_await pick_next_task(cpu, rq, prev, blocked);

  co_await clear_bits(cpu, prev.flags, TIF_NEED_RESCHED);
  if (idle)
    rq.kernel->tracer().emit(trace::ScheduleIdle{rq.schedule_started, cpu.now(), cpu.id,
                                                 next == &prev,
                                                 static_cast<std::uint16_t>(rq.cpus_walked)});
  if (next != &prev) {
    co_await context_switch(cpu, rq, prev, *next, blocked);
    co_return;
  }
  rq.came_from_task = false;
  co_await spin_unlock(cpu, rq.rq_lock);
  co_await cpu.local_irq_enable();
}

}  // namespace

// Linux: include/linux/sched.h, set_current_state(): smp_store_mb(), which is an XCHG on x86.
Co<> set_current_state(Cpu& cpu, std::uint64_t state) {
  Word& word = this_cpu(cpu).curr->state;
  if (cpu.spec().arch == hw::Arch::kX86_64) {
    co_await xchg(cpu, word, state);
    co_return;
  }
  co_await write_once(cpu, word, state);
  co_await smp_mb(cpu);
}

// Linux: kernel/sched/core.c, schedule().
Co<> schedule(Cpu& cpu) {
  Task& self = *this_cpu(cpu).curr;
  do {
    co_await schedule_common(*self.running_on, SchedMode::kNone);
    PerCpu& rq = this_cpu(*self.running_on);
    co_await exec(*rq.cpu, rq.came_from_task ? Path::schedule_tail_task : Path::schedule_tail);
    rq.context = trace::Context::kOther;
  } while (co_await need_resched(*self.running_on));
}

// Linux: kernel/sched/core.c, __cond_resched().
// Not modelled: full preemption.
Co<> cond_resched(Cpu& cpu) {
  Cpu& self = cpu;
  if (co_await need_resched(self)) co_await schedule(self);
}

// Linux: kernel/entry/common.c, exit_to_user_mode_loop().
// Not modelled: signals, task work.
Co<> exit_to_user_mode_loop(Cpu& cpu) {
  Task& self = *this_cpu(cpu).curr;
  while (co_await need_resched(*self.running_on)) co_await schedule(*self.running_on);
}

// Linux: no counterpart; the program itself. An interrupt's return looks whether to go on.
Co<> user_mode(Cpu& cpu, Time time) {
  Task& self = *this_cpu(cpu).curr;
  for (Time left = time; left > Time{};) {
    Cpu& here = *self.running_on;
    const std::uint64_t irqs = this_cpu(here).irqs;
    left = co_await here.exec_until_interrupt(left);
    if (this_cpu(here).irqs != irqs) co_await exit_to_user_mode_loop(here);
  }
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

// A waker that came too late must not undo it: it holds pi_lock until its own store is seen.
// Linux: include/linux/sched.h, set_special_state().
Co<> set_special_state(Cpu& cpu, std::uint64_t state) {
  Task& self = *this_cpu(cpu).curr;
  cpu.local_irq_disable();
  co_await spin_lock(cpu, self.pi_lock);
  co_await write_once(cpu, self.state, state);
  co_await spin_unlock(cpu, self.pi_lock);
  co_await cpu.local_irq_enable();
}

// Linux: kernel/exit.c, do_exit(), do_task_dead().
// Not modelled: everything but leaving the CPU.
Co<> do_exit(Cpu& cpu) {
  Cpu& self = cpu;
  if (this_cpu(self).user_mode) co_await syscall_enter(self);
  co_await set_special_state(self, TASK_DEAD);
  co_await schedule_common(self, SchedMode::kNone);
  CHECK(false, "a dead task was scheduled");
}

// Linux: kernel/time/hrtimer.c, schedule_hrtimeout_range().
Co<> schedule_hrtimeout(Cpu& cpu, Time expires) {
  Task& self = *this_cpu(cpu).curr;
  HrTimer& timer = self.sleep_timer;
  timer.wake = &self;
  co_await exec(cpu, Path::nanosleep_to_schedule);
  co_await set_current_state(cpu, TASK_INTERRUPTIBLE);
  cpu.local_irq_disable();
  co_await hrtimer_start(cpu, timer, expires);
  co_await cpu.local_irq_enable();
  if (timer.queued) co_await schedule(cpu);
  Cpu& here = *self.running_on;
  if (timer.queued) {  // woken by somebody else
    here.local_irq_disable();
    co_await hrtimer_cancel(here, timer);
    co_await here.local_irq_enable();
  }
  co_await write_once(here, self.state, TASK_RUNNING);
  co_await exec(here, Path::nanosleep_after_wake);
}

// --- schedule_idle with nothing to run ---

// Linux v6.11: kernel/sched/core.c, __pick_next_task(): the fair class is asked and may pull work.
Co<Task*> pick_next_task_idle_full(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  co_await exec(cpu, Path::update_rq_clock);
  co_await exec(cpu, Path::pick_next_task_idle_full);
  self.cpus_walked = co_await sched_balance_newidle(cpu);
  Task* next = pick_task_fair(self, cpu.now());
  if (next != nullptr) co_return next;
  co_await update_idle_core(cpu);
  co_await exec(cpu, Path::schedule_idle_full_tail);
  co_return &self.idle;
}

// Linux: kernel/sched/core.c, __schedule() with SM_IDLE (3dcac251b066).
Co<Task*> pick_next_task_sm_idle(Cpu& cpu) {
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

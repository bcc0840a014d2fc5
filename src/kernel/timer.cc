#include "idlesim/kernel/timer.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/kernel.h"
#include "idlesim/kernel/sched.h"

namespace idlesim::kernel {

// --- hrtimers ---

namespace {

void enqueue(HrTimerBase& base, HrTimer& timer, Time expires) {
  CHECK(!timer.queued, "an hrtimer is queued once");
  timer.expires = expires;
  timer.queued = true;
  timer.base = &base;
  const auto later = [](const HrTimer* a, const HrTimer* b) { return a->expires < b->expires; };
  base.queue.insert(std::upper_bound(base.queue.begin(), base.queue.end(), &timer, later), &timer);
}

void dequeue(HrTimer& timer) {
  if (!timer.queued) return;
  timer.queued = false;
  auto& queue = timer.base->queue;
  queue.erase(std::find(queue.begin(), queue.end(), &timer));
}

Time first_expiry(const HrTimerBase& base) {
  return base.queue.empty() ? Time::never() : base.queue.front()->expires;
}

// Linux: kernel/time/hrtimer.c, hrtimer_reprogram(). A write to the timer's register if the first
// deadline has changed.
Co<> reprogram(Cpu& cpu) {
  HrTimerBase& base = this_cpu(cpu).hrtimers;
  const Time first = first_expiry(base);
  if (first == base.programmed) return Co<>::ended();
  base.programmed = first;
  return sim::start(cpu.program_timer(first));
}

}  // namespace

// Linux: kernel/time/hrtimer.c, hrtimer_start_range_ns().
Co<> hrtimer_start(Cpu& cpu, HrTimer& timer, Time expires) {
  HrTimerBase& base = this_cpu(cpu).hrtimers;
  dequeue(timer);
  enqueue(base, timer, expires);
  return reprogram(cpu);
}

// Linux: kernel/time/hrtimer.c, hrtimer_cancel().
// Not modelled: another CPU's lock, if the timer was started there.
Co<> hrtimer_cancel(Cpu& cpu, HrTimer& timer) {
  HrTimerBase& base = this_cpu(cpu).hrtimers;
  dequeue(timer);
  if (timer.base == &base) co_await reprogram(cpu);
}

// --- the tick ---

namespace {

bool is_idle(const PerCpu& self) { return self.curr == &self.idle; }

Time next_tick_after(const Kernel& kernel, Time now) {
  const Time since = now - kernel.tick_phase();
  return kernel.tick_phase() + kernel.tick_period() * (since / kernel.tick_period() + 1);
}

// Linux: kernel/sched/fair.c, nohz_balance_exit_idle(), from the tick of a busy CPU.
Co<> nohz_balance_exit_idle(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  if (!self.tick.in_nohz_mask) co_return;
  Kernel& kernel = *self.kernel;
  self.tick.in_nohz_mask = false;
  co_await atomic_add(cpu, kernel.nohz_cpus_mask, ~std::uint64_t{0});
  co_await atomic_add(cpu, kernel.nohz_nr_cpus, ~std::uint64_t{0});
  const int llc = cpu.machine().topology().cluster(cpu.id);
  co_await atomic_add(cpu, kernel.llc_shared[static_cast<std::size_t>(llc)].nr_busy_cpus, 1);
}

// Linux: kernel/sched/fair.c, nohz_balance_enter_idle(), when the tick stops.
Co<> nohz_balance_enter_idle(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  Kernel& kernel = *self.kernel;
  if (!self.tick.in_nohz_mask) {
    self.tick.in_nohz_mask = true;
    co_await atomic_add(cpu, kernel.nohz_cpus_mask, 1);
    co_await atomic_add(cpu, kernel.nohz_nr_cpus, 1);
    co_await smp_mb__after_atomic(cpu);
    const int llc = cpu.machine().topology().cluster(cpu.id);
    co_await atomic_add(cpu, kernel.llc_shared[static_cast<std::size_t>(llc)].nr_busy_cpus,
                        ~std::uint64_t{0});
  }
  co_await write_once(cpu, kernel.nohz_has_blocked, 1);
}

// Linux: kernel/time/tick-sched.c, tick_nohz_handler(). In interrupt context.
// Not modelled: RCU and process accounting beyond their instructions.
Co<> tick_handler(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  Kernel& kernel = *self.kernel;
  const auto id = static_cast<std::uint64_t>(cpu.id);
  const std::uint64_t tick_cpu = co_await read_once(cpu, kernel.tick_do_timer_cpu);
  if (tick_cpu == kNoTimerCpu) co_await write_once(cpu, kernel.tick_do_timer_cpu, id);
  if (tick_cpu == kNoTimerCpu || tick_cpu == id) co_await tick_do_update_jiffies64(cpu);
  if (self.tick.inidle) self.tick.got_tick = true;
  co_await sched_tick(cpu);
  if (!is_idle(self)) co_await nohz_balance_exit_idle(cpu);
  if (self.tick.stopped) co_return;
  enqueue(self.hrtimers, self.tick.timer, next_tick_after(kernel, cpu.now()));
}

}  // namespace

// Linux: kernel/time/tick-sched.c, tick_do_update_jiffies64().
Co<> tick_do_update_jiffies64(Cpu& cpu) {
  Kernel& kernel = kernel_of(cpu);
  const Time since = cpu.now() - kernel.tick_phase();
  const auto due = static_cast<std::uint64_t>(std::max(since, Time{}) / kernel.tick_period());
  if (co_await read_once(cpu, kernel.jiffies) >= due) co_return;
  co_await spin_lock(cpu, kernel.jiffies_lock);
  if (co_await read_once(cpu, kernel.jiffies) < due) co_await write_once(cpu, kernel.jiffies, due);
  co_await spin_unlock(cpu, kernel.jiffies_lock);
}

// Linux: kernel/time/hrtimer.c, hrtimer_interrupt(), with interrupt entry and exit.
Co<> hrtimer_interrupt(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  HrTimerBase& base = self.hrtimers;
  base.programmed = Time::never();
  self.tick.idle_active = false;
  while (!base.queue.empty() && base.queue.front()->expires <= cpu.now()) {
    HrTimer& timer = *base.queue.front();
    dequeue(timer);
    if (timer.is_tick) {
      co_await exec(cpu,
                    is_idle(self) ? Path::timer_interrupt_tick_idle : Path::timer_interrupt_tick);
      co_await tick_handler(cpu);
    } else {
      co_await exec(cpu, Path::timer_interrupt_hrtimer_wakeup);
      co_await try_to_wake_up(cpu, *timer.wake);
    }
  }
  co_await reprogram(cpu);
  if (!is_idle(self)) co_return;
  if (!co_await need_resched(cpu)) tick_nohz_start_idle(cpu);
}

// Linux: kernel/time/tick-sched.c, tick_nohz_start_idle().
void tick_nohz_start_idle(Cpu& cpu) {
  TickSched& tick = this_cpu(cpu).tick;
  if (!tick.inidle) return;
  tick.idle_entrytime = cpu.now();
  tick.idle_active = true;
}

// Linux: kernel/time/tick-sched.c, tick_nohz_idle_enter().
Co<> tick_nohz_idle_enter(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  cpu.local_irq_disable();
  co_await exec(cpu, Path::tick_nohz_idle_enter);
  self.tick.inidle = true;
  tick_nohz_start_idle(cpu);
  co_await cpu.local_irq_enable();
}

// Linux: kernel/time/tick-sched.c, tick_nohz_idle_exit(), tick_nohz_idle_update_tick().
Co<> tick_nohz_idle_exit(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  cpu.local_irq_disable();
  co_await exec(
      cpu, self.tick.idle_active ? Path::tick_nohz_idle_exit : Path::tick_nohz_idle_exit_after_irq);
  self.tick.inidle = self.tick.idle_active = false;
  co_await tick_nohz_idle_restart_tick(cpu);
  co_await cpu.local_irq_enable();
}

// Linux: kernel/time/tick-sched.c, tick_nohz_restart_sched_tick().
Co<> tick_nohz_restart_sched_tick(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  co_await exec(cpu, Path::tick_nohz_restart);
  co_await tick_do_update_jiffies64(cpu);
  self.tick.stopped = false;
  co_await hrtimer_start(cpu, self.tick.timer, next_tick_after(*self.kernel, cpu.now()));
}

// Linux: kernel/time/tick-sched.c, tick_nohz_idle_restart_tick().
Co<> tick_nohz_idle_restart_tick(Cpu& cpu) {
  return this_cpu(cpu).tick.stopped ? tick_nohz_restart_sched_tick(cpu) : Co<>::ended();
}

// Linux: kernel/time/tick-sched.c, tick_nohz_idle_stop_tick(), tick_nohz_stop_tick().
// Not modelled: the timer wheel and its migration hierarchy beyond their instructions.
Co<> tick_nohz_idle_stop_tick(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  Kernel& kernel = *self.kernel;
  const auto id = static_cast<std::uint64_t>(cpu.id);
  if (!self.tick.next_event_known) {
    if (co_await need_resched(cpu)) co_return;  // can_stop_idle_tick()
    co_await read_once(cpu, kernel.jiffies);    // tick_nohz_next_event()
  }
  self.tick.next_event_known = false;
  const bool stopped = self.tick.stopped;
  co_await exec(cpu,
                stopped ? Path::tick_nohz_idle_stop_tick_again : Path::tick_nohz_idle_stop_tick);
  if (co_await read_once(cpu, kernel.tick_do_timer_cpu) == id)
    co_await write_once(cpu, kernel.tick_do_timer_cpu, kNoTimerCpu);
  if (stopped) co_return;
  self.tick.stopped = true;
  co_await hrtimer_cancel(cpu, self.tick.timer);
  co_await nohz_balance_enter_idle(cpu);
}

// Linux: kernel/time/tick-sched.c, tick_nohz_idle_retain_tick().
Co<> tick_nohz_idle_retain_tick(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  self.tick.next_event_known = false;
  co_await exec(cpu, Path::tick_nohz_idle_retain_tick);
}

bool tick_nohz_idle_got_tick(Cpu& cpu) {
  TickSched& tick = this_cpu(cpu).tick;
  const bool got = tick.got_tick;
  tick.got_tick = false;
  return got;
}

// Linux: kernel/time/tick-sched.c, tick_nohz_get_sleep_length().
Co<SleepLength> tick_nohz_get_sleep_length(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  SleepLength length{Time::never(), Time::never()};
  for (const HrTimer* timer : self.hrtimers.queue) {
    const Time delta = std::max(timer->expires - self.tick.idle_entrytime, Time{});
    length.delta_next = std::min(length.delta_next, delta);
    if (!timer->is_tick) length.next_timer = std::min(length.next_timer, delta);
  }
  if (co_await need_resched(cpu)) co_return SleepLength{length.delta_next, length.delta_next};
  co_await read_once(cpu, self.kernel->jiffies);
  self.tick.next_event_known = true;
  co_return length;
}

bool never_stop_tick(const TickSched&, bool) { return false; }
bool always_stop_tick(const TickSched&, bool) { return true; }
bool stop_tick_after_tick(const TickSched& tick, bool got_tick) { return got_tick || tick.stopped; }

void tick_setup(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  self.tick = {};
  self.tick.timer.is_tick = true;
  const Time first = self.kernel->tick_phase() + self.kernel->tick_period();
  enqueue(self.hrtimers, self.tick.timer,
          first > cpu.now() ? first : next_tick_after(*self.kernel, cpu.now()));
  self.hrtimers.programmed = self.tick.timer.expires;
  cpu.machine().set_timer(cpu.id, self.tick.timer.expires);
}

// Linux: kernel/time/tick-sched.c, tick_sched_timer_dying(); kernel/time/tick-common.c,
// tick_cpu_dying().
Co<> tick_shutdown(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  co_await hrtimer_cancel(cpu, self.tick.timer);
  CHECK(self.hrtimers.queue.empty(), "nobody sleeps on a CPU that goes offline");
  if (co_await read_once(cpu, self.kernel->tick_do_timer_cpu) == static_cast<std::uint64_t>(cpu.id))
    co_await write_once(cpu, self.kernel->tick_do_timer_cpu, kNoTimerCpu);
}

// Linux: kernel/time/tick-sched.c, tick_nohz_full_update_tick(). The tick that remains once a
// second is offloaded to other CPUs (kernel/sched/core.c, sched_tick_remote()).
Co<> tick_nohz_full_stop_tick(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  cpu.local_irq_disable();
  co_await tick_shutdown(cpu);
  self.tick.stopped = true;
  co_await cpu.local_irq_enable();
}

}  // namespace idlesim::kernel

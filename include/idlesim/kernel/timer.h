// High-resolution timers and the tick, as far as idle CPUs need them.
#ifndef IDLESIM_KERNEL_TIMER_H_
#define IDLESIM_KERNEL_TIMER_H_

#include <cstdint>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/sim/co.h"

namespace idlesim::kernel {

struct Task;

// struct hrtimer. Lives in the object that sleeps on it.
struct HrTimer {
  Time expires = Time::never();
  bool queued = false;
  bool is_tick = false;
  Task* wake = nullptr;  // hrtimer_wakeup
};

// Timers of one CPU, earliest first.
struct HrTimerBase {
  std::vector<HrTimer*> queue;
  Time programmed = Time::never();
};

// struct tick_sched
struct TickSched {
  HrTimer timer;
  bool stopped = false;
  bool got_tick = false;
  bool idle_active = false;   // idle accounting runs: not yet ended by an interrupt
  bool in_nohz_mask = false;  // this CPU's bit in nohz.idle_cpus_mask
};

// Arms `timer` on this CPU; reprograms the hardware if it is now the first.
sim::Co<> hrtimer_start(hw::Cpu& cpu, HrTimer& timer, Time expires);
sim::Co<> hrtimer_cancel(hw::Cpu& cpu, HrTimer& timer);

// Body of the timer interrupt. True if the tick was among the timers that expired.
sim::Co<> hrtimer_interrupt(hw::Cpu& cpu);

sim::Co<> tick_nohz_idle_enter(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_exit(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_stop_tick(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_retain_tick(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_restart_tick(hw::Cpu& cpu);
// Reads and clears the mark that the last idle round was ended by the tick.
bool tick_nohz_idle_got_tick(hw::Cpu& cpu);
// Time until the next timer of this CPU if the tick were stopped, and until the tick.
struct SleepLength {
  Time next_timer;
  Time next_tick;
};
sim::Co<SleepLength> tick_nohz_get_sleep_length(hw::Cpu& cpu);

// --- values of the axis `tick` ---
bool never_stop_tick(const TickSched& tick);
bool always_stop_tick(const TickSched& tick);
bool stop_tick_after_tick(const TickSched& tick);

// First tick of a CPU at boot.
void tick_setup(hw::Cpu& cpu);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_TIMER_H_

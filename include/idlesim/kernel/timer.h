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
  Task* wake = nullptr;                // hrtimer_wakeup
  struct HrTimerBase* base = nullptr;  // of the CPU it was started on
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
  bool inidle = false;            // between tick_nohz_idle_enter() and tick_nohz_idle_exit()
  bool next_event_known = false;  // the governor has asked for it
  bool idle_active = false;       // idle accounting runs: not yet ended by an interrupt
  bool in_nohz_mask = false;      // this CPU's bit in nohz.idle_cpus_mask
  Time idle_entrytime;
};

// tick_do_timer_cpu when the CPU that kept the time has stopped its tick.
inline constexpr std::uint64_t kNoTimerCpu = ~std::uint64_t{0};

// Arms `timer` on this CPU; reprograms the hardware if it is now the first.
sim::Co<> hrtimer_start(hw::Cpu& cpu, HrTimer& timer, Time expires);
sim::Co<> hrtimer_cancel(hw::Cpu& cpu, HrTimer& timer);

// Body of the timer interrupt. True if the tick was among the timers that expired.
sim::Co<> hrtimer_interrupt(hw::Cpu& cpu);

// Brings jiffies up to date, if a tick is due.
sim::Co<> tick_do_update_jiffies64(hw::Cpu& cpu);
// Idle accounting goes on.
void tick_nohz_start_idle(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_enter(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_exit(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_stop_tick(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_retain_tick(hw::Cpu& cpu);
sim::Co<> tick_nohz_idle_restart_tick(hw::Cpu& cpu);
// Reads and clears the mark that the last idle round was ended by the tick.
bool tick_nohz_idle_got_tick(hw::Cpu& cpu);
// From the start of idling to the next timer of this CPU if the tick were stopped, and to the next
// event, the tick included. Time::never() if there is none.
struct SleepLength {
  Time next_timer;
  Time delta_next;
};
sim::Co<SleepLength> tick_nohz_get_sleep_length(hw::Cpu& cpu);

// --- values of the axis `tick` ---
bool never_stop_tick(const TickSched& tick, bool got_tick);
bool always_stop_tick(const TickSched& tick, bool got_tick);
bool stop_tick_after_tick(const TickSched& tick, bool got_tick);

// First tick of a CPU, at boot or when it comes online.
void tick_setup(hw::Cpu& cpu);
// The CPU goes offline: it has no tick any more and keeps no time. Interrupts are off.
sim::Co<> tick_shutdown(hw::Cpu& cpu);
// The running task has its CPU (nohz_full=) for itself: no tick until it sleeps.
sim::Co<> tick_nohz_full_stop_tick(hw::Cpu& cpu);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_TIMER_H_

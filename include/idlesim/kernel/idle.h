// The idle loop.
#ifndef IDLESIM_KERNEL_IDLE_H_
#define IDLESIM_KERNEL_IDLE_H_

#include "idlesim/hw/machine_spec.h"
#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

// The idle task: do_idle() for ever.
Co<> cpu_startup_entry(Cpu& cpu);
Co<> do_idle(Cpu& cpu);

// --- values of the axes `idle_enter` and `polling` ---
Co<> cpuidle_idle_call(Cpu& cpu, bool got_tick);
Co<> cpu_idle_poll(Cpu& cpu, bool got_tick);
Co<> default_idle_hlt(Cpu& cpu);
Co<> mwait_idle(Cpu& cpu);
Co<> mwait_idle_break(Cpu& cpu);
Co<> cpu_do_idle_wfi(Cpu& cpu);
Co<> mwait_idle_with_hints(Cpu& cpu, const hw::IdleStateSpec& state, hw::HaltKind kind);
Co<> enter_state_mwait(Cpu& cpu, const hw::IdleStateSpec& state);
Co<> enter_state_mwait_irq(Cpu& cpu, const hw::IdleStateSpec& state);
Co<> enter_state_hlt(Cpu& cpu, const hw::IdleStateSpec& state);
Co<> enter_state_io(Cpu& cpu, const hw::IdleStateSpec& state);
Co<> enter_state_wfi(Cpu& cpu, const hw::IdleStateSpec& state);
Co<> haltpoll_enter_idle(Cpu& cpu);
Co<int> poll_idle(Cpu& cpu, int index);
// --- values of the axis `poll_idle`: whether the limit passed before a flag was set ---
Co<bool> poll_relax_200(Cpu& cpu, Time time_start, std::int64_t limit_ns);
Co<bool> poll_cond_load_200(Cpu& cpu, Time time_start, std::int64_t limit_ns);
Co<bool> poll_cond_load_1(Cpu& cpu, Time time_start, std::int64_t limit_ns);
Co<bool> poll_cond_load_timeout(Cpu& cpu, Time time_start, std::int64_t limit_ns);
Co<bool> poll_wfet(Cpu& cpu, Time time_start, std::int64_t limit_ns);

Co<> current_set_polling(Cpu& cpu);
Co<> current_clr_polling(Cpu& cpu);
Co<bool> current_set_polling_and_test(Cpu& cpu);
Co<bool> current_clr_polling_and_test(Cpu& cpu);
// Also folds TIF_NEED_RESCHED into the preempt count.
Co<> current_clr_polling_and_fold(Cpu& cpu);
Co<> current_clr_notify_ipi(Cpu& cpu);
// Without TIF_POLLING_NRFLAG.
Co<> no_polling(Cpu& cpu);

Co<bool> need_resched(Cpu& cpu);
// need_resched(), or need_resched_or_ipi() with TIF_NOTIFY_IPI.
Co<bool> idle_exit_pending(Cpu& cpu);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_IDLE_H_

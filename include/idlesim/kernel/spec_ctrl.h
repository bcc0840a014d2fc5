// SPEC_CTRL: kernel IBRS on the way into and out of the kernel, and what idle states do to it.
//
// Kernel IBRS is what spectre_v2=auto (mode "IBRS") and retbleed=auto choose on a part that needs
// it and has no enhanced IBRS: Skylake and its relatives. Enhanced IBRS is written once at boot,
// retpolines and retbleed=stuff write nothing: for them the axis `ibrs` is `off`.
#ifndef IDLESIM_KERNEL_SPEC_CTRL_H_
#define IDLESIM_KERNEL_SPEC_CTRL_H_

#include "idlesim/hw/machine_spec.h"
#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

// From user mode into the kernel and back. Interrupts are off.
Co<> enter_from_user_mode(Cpu& cpu);
Co<> exit_to_user_mode(Cpu& cpu);
// The same around a system call of the running task; the instructions themselves and their code are
// part of the call's path. A task begins in the kernel: it enters user mode with syscall_exit().
Co<> syscall_enter(Cpu& cpu);
Co<> syscall_exit(Cpu& cpu);

Co<> intel_idle_ibrs(Cpu& cpu, const hw::IdleStateSpec& state);

// --- values of the axis `ibrs` ---
bool keep_ibrs_in_idle(const hw::IdleStateSpec& state);
bool clear_ibrs_in_long_idle(const hw::IdleStateSpec& state);
bool clear_ibrs_in_all_idle(const hw::IdleStateSpec& state);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_SPEC_CTRL_H_

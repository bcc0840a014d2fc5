#include "idlesim/kernel/spec_ctrl.h"

#include "idlesim/base/check.h"
#include "idlesim/kernel/idle.h"

namespace idlesim::kernel {

// --- entry and exit ---

// Linux: arch/x86/entry/calling.h, IBRS_ENTER.
// Not modelled: paranoid entries (NMI, machine check), which read the register first.
Co<> enter_from_user_mode(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  self.user_mode = false;
  const std::uint64_t base = ops_of(cpu).spec_ctrl_base;
  if (base != 0) co_await cpu.write_spec_ctrl(base);
}

// Linux: arch/x86/entry/calling.h, IBRS_EXIT.
Co<> exit_to_user_mode(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  CHECK(!self.user_mode, "user mode is entered from the kernel");
  if (ops_of(cpu).spec_ctrl_base != 0) co_await cpu.write_spec_ctrl(0);
  self.user_mode = true;
}

// Linux: arch/x86/entry/entry_64.S, entry_SYSCALL_64: interrupts are off until the stack is set up.
Co<> syscall_enter(Cpu& cpu) {
  Cpu& self = cpu;
  self.local_irq_disable();
  co_await enter_from_user_mode(self);
  co_await self.local_irq_enable();
}

// Linux: arch/x86/entry/entry_64.S, the way back to SYSRET.
Co<> syscall_exit(Cpu& cpu) {
  Cpu& self = cpu;
  self.local_irq_disable();
  co_await exit_to_user_mode(self);
  co_await self.local_irq_enable();
}

// --- idle ---

// Linux: drivers/idle/intel_idle.c, intel_idle_ibrs(). Nothing between the two writes takes an
// interrupt, so one that ends the idle state is handled after the second.
Co<> intel_idle_ibrs(Cpu& cpu, const hw::IdleStateSpec& state) {
  const hw::IdleStateSpec& entered = state;
  const bool smt_active = cpu.machine().topology().spec().threads_per_core > 1;
  const std::uint64_t spec_ctrl = cpu.spec_ctrl();
  if (smt_active) co_await cpu.write_spec_ctrl(0);
  co_await mwait_idle_with_hints(cpu, entered, hw::HaltKind::kMwaitBreak);
  if (smt_active) co_await cpu.write_spec_ctrl(spec_ctrl);
}

bool keep_ibrs_in_idle(const hw::IdleStateSpec&) { return false; }
// Linux: drivers/idle/intel_idle.c, CPUIDLE_FLAG_IBRS (bf5835bcdb96).
bool clear_ibrs_in_long_idle(const hw::IdleStateSpec& state) { return state.ibrs; }
// Linux: drivers/idle/intel_idle.c, the module parameter ibrs_off.
bool clear_ibrs_in_all_idle(const hw::IdleStateSpec&) { return true; }

}  // namespace idlesim::kernel

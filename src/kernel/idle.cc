#include "idlesim/kernel/idle.h"

#include "idlesim/base/check.h"
#include "idlesim/kernel/hotplug.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/kernel/spec_ctrl.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

// Linux: kernel/sched/idle.c, cpu_startup_entry().
// Not modelled: CPU hotplug states beyond dead and alive.
Co<> cpu_startup_entry(Cpu& cpu) {
  for (Cpu& self = cpu;;) co_await do_idle(self);
}

// Linux: kernel/sched/idle.c, do_idle().
// Not modelled: nohz_run_idle_balance beyond its test, klp_update_patch_state().
Co<> do_idle(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  const KernelOps& ops = ops_of(cpu);
  bool got_tick = false;
  self.context = trace::Context::kIdle;

  co_await exec(cpu, Path::do_idle_head);
  co_await ops.current_set_polling(cpu);
  co_await tick_nohz_idle_enter(cpu);

  while (!co_await idle_exit_pending(cpu)) {
    cpu.local_irq_disable();
    if (!self.online) {
      co_await arch_cpu_idle_dead(cpu);
      co_return;
    }
    co_await ops.idle_call(cpu, got_tick);
    got_tick = tick_nohz_idle_got_tick(cpu);
    co_await exec(cpu, Path::do_idle_loop_tail);
  }

  co_await exec(cpu, Path::do_idle_loop_tail_resched);
  co_await tick_nohz_idle_exit(cpu);
  co_await ops.current_clr_polling(cpu);
  co_await exec(cpu, Path::clear_polling);
  co_await smp_mb__after_atomic(cpu);
  co_await ops.current_clr_notify_ipi(cpu);
  co_await ops.drain_queue(cpu);
  co_await ops.idle_schedule(cpu);
  self.context = trace::Context::kIdle;
}

// Linux: include/linux/context_tracking.h, ct_cpuidle_enter(), ct_cpuidle_exit().
Cpu::Exec ct_cpuidle_enter(Cpu& cpu, SourceLocation where = SourceLocation::current()) {
  this_cpu(cpu).rcu_idle = true;
  return exec(cpu, Path::ct_cpuidle_enter, where);
}
Cpu::Exec ct_cpuidle_exit(Cpu& cpu, SourceLocation where = SourceLocation::current()) {
  this_cpu(cpu).rcu_idle = false;
  return exec(cpu, Path::ct_cpuidle_exit, where);
}

// --- one idle period ---

// Linux: kernel/sched/idle.c, cpu_idle_poll().
Co<> cpu_idle_poll(Cpu& cpu, bool) {
  Word& flags = this_cpu(cpu).idle.flags;
  co_await exec(cpu, Path::do_idle_loop_head_poll);
  co_await tick_nohz_idle_restart_tick(cpu);
  co_await exec(cpu, Path::cpu_idle_poll_enter);
  co_await ct_cpuidle_enter(cpu);
  co_await cpu.local_irq_enable();

  kernel_of(cpu).tracer().emit(trace::IdleEnter{cpu.now(), cpu.id, 0});
  co_await cpu.spin(flags, relax_loop(cpu, Path::cpu_idle_poll_loop, ops_of(cpu).idle_exit_flags));
  kernel_of(cpu).tracer().emit(trace::IdleExit{cpu.now(), cpu.id, 0});

  cpu.local_irq_disable();
  co_await exec(cpu, Path::cpu_idle_poll_exit);
  co_await ct_cpuidle_exit(cpu);
  co_await cpu.local_irq_enable();
}

// Linux: kernel/sched/idle.c, default_idle_call().
// Not modelled: the broadcast timer.
Co<> default_idle_call(Cpu& cpu) {
  Kernel& kernel = kernel_of(cpu);
  co_await exec(cpu, Path::default_idle_call_head);
  if (co_await ops_of(cpu).current_clr_polling_and_test(cpu)) {
    co_await cpu.local_irq_enable();
    co_return;
  }
  co_await ct_cpuidle_enter(cpu);
  kernel.tracer().emit(trace::IdleEnter{cpu.now(), cpu.id, 1});
  co_await ops_of(cpu).arch_cpu_idle(cpu);
  kernel.tracer().emit(trace::IdleExit{cpu.now(), cpu.id, 1});
  co_await ct_cpuidle_exit(cpu);
  co_await exec(cpu, Path::default_idle_call_tail);
  co_await cpu.local_irq_enable();
}

namespace {

// What the table says a state is entered with; for MWAIT, what the kernel puts in its place.
Co<> enter_state(Cpu& cpu, const hw::IdleStateSpec& state) {
  switch (state.enter) {
    case hw::EnterMethod::kHlt:
      return enter_state_hlt(cpu, state);
    case hw::EnterMethod::kIo:
      return enter_state_io(cpu, state);
    case hw::EnterMethod::kArchIdle:
      return haltpoll_enter_idle(cpu);
    case hw::EnterMethod::kMwait:
    case hw::EnterMethod::kWfi:
      break;
  }
  return ops_of(cpu).enter_state(cpu, state);
}

}  // namespace

// Linux: drivers/cpuidle/cpuidle.c, cpuidle_enter_state(); kernel/sched/idle.c, call_cpuidle().
// The entered state, or -1 (-EBUSY) if there was a reason to stay awake.
// Not modelled: the broadcast timer, leave_mm(), coupled states, usage counters beyond residency.
Co<int> call_cpuidle(Cpu& cpu, int index) {
  PerCpu& self = this_cpu(cpu);
  CpuidleDevice& dev = self.cpuidle;
  co_await exec(cpu, Path::call_cpuidle);
  if (co_await ops_of(cpu).current_clr_polling_and_test(cpu)) {
    dev.last_residency = {};
    co_await cpu.local_irq_enable();
    co_return -1;
  }
  co_await exec(cpu, Path::cpuidle_enter_state_head);
  const Time time_start = cpu.now();
  co_await ct_cpuidle_enter(cpu);
  self.kernel->tracer().emit(trace::IdleEnter{cpu.now(), cpu.id, static_cast<std::int16_t>(index)});
  if (is_polling(dev, index))
    co_await poll_idle(cpu, index);
  else
    co_await enter_state(cpu, *dev.states[static_cast<std::size_t>(index)]);
  self.kernel->tracer().emit(trace::IdleExit{cpu.now(), cpu.id, static_cast<std::int16_t>(index)});
  co_await ct_cpuidle_exit(cpu);
  dev.last_residency = cpu.now() - time_start;
  co_await exec(cpu, Path::cpuidle_enter_state_tail);
  co_await cpu.local_irq_enable();
  co_return index;
}

// Linux: kernel/sched/idle.c, cpuidle_idle_call().
// Not modelled: suspend-to-idle, forced latency limits.
Co<> cpuidle_idle_call(Cpu& cpu, bool got_tick) {
  PerCpu& self = this_cpu(cpu);
  const KernelOps& ops = ops_of(cpu);
  co_await exec(cpu, Path::do_idle_loop_head);
  if (co_await idle_exit_pending(cpu)) {
    co_await cpu.local_irq_enable();
    co_return;
  }

  if (ops.governor_select == nullptr) {
    co_await exec(cpu, Path::cpuidle_idle_call_head);
    if (ops.stop_tick_without_governor(self.tick, got_tick))
      co_await tick_nohz_idle_stop_tick(cpu);
    else
      co_await tick_nohz_idle_retain_tick(cpu);
    co_await default_idle_call(cpu);
  } else {
    co_await exec(cpu, Path::cpuidle_idle_call_head_cpuidle);
    const GovernorChoice choice = co_await ops.governor_select(cpu);
    co_await exec(cpu, Path::cpuidle_tick_decision);
    if (choice.stop_tick || self.tick.stopped)
      co_await tick_nohz_idle_stop_tick(cpu);
    else
      co_await tick_nohz_idle_retain_tick(cpu);
    const int entered = co_await call_cpuidle(cpu, choice.index);
    if (entered >= 0) ops.governor_reflect(self, entered);
    co_await exec(cpu, Path::menu_reflect);
  }

  co_await ops.current_set_polling(cpu);
  co_await exec(cpu, Path::cpuidle_idle_call_tail);
}

// --- arch/x86 ---

// Linux: arch/x86/kernel/process.c, default_idle().
Co<> default_idle_hlt(Cpu& cpu) {
  const hw::MachineSpec& spec = cpu.machine().spec();
  co_await exec(cpu, Path::arch_cpu_idle_hlt);
  co_await cpu.halt(hw::HaltKind::kHlt, {Time{}, spec.hlt_exit});
  cpu.local_irq_disable();
  co_await exec(cpu, Path::arch_cpu_idle_hlt_tail);
}

namespace {

const hw::IdleStateSpec& shallowest_state(Cpu& cpu) {
  const hw::MachineSpec& spec = cpu.machine().spec();
  CHECK(!spec.idle_states.empty(), "the machine has an idle state");
  return spec.idle_states.front();
}

// MONITOR, the test that closes the window before it, MWAIT.
Co<> monitor_and_mwait(Cpu& cpu, hw::HaltKind kind, const hw::HaltTiming& timing, Path path) {
  Word& flags = this_cpu(cpu).idle.flags;
  const hw::HaltTiming cost = timing;
  co_await read_once(cpu, flags);
  co_await cpu.exec_time(cpu.machine().spec().monitor);
  cpu.monitor(flags);
  if (co_await idle_exit_pending(cpu)) {
    cpu.disarm_monitor();
    co_return;
  }
  co_await exec(cpu, path);
  co_await cpu.halt(kind, cost);
}

}  // namespace

// Linux: arch/x86/kernel/process.c, mwait_idle().
// Not modelled: VERW, CLFLUSH errata.
Co<> mwait_idle(Cpu& cpu) {
  const KernelOps& ops = ops_of(cpu);
  if (co_await idle_exit_pending(cpu)) co_return;
  co_await exec(cpu, Path::arch_cpu_idle_mwait_head);
  if (!co_await ops.current_set_polling_and_test(cpu))
    co_await monitor_and_mwait(cpu, hw::HaltKind::kMwait, shallowest_state(cpu).timing,
                               Path::arch_cpu_idle_mwait);
  cpu.local_irq_disable();
  co_await ops.current_clr_polling(cpu);
  co_await exec(cpu, Path::mwait_idle_tail);
}

// Linux: arch/x86/include/asm/mwait.h, mwait_idle_with_hints() as the idle routine.
Co<> mwait_idle_break(Cpu& cpu) {
  const KernelOps& ops = ops_of(cpu);
  if (co_await idle_exit_pending(cpu)) co_return;
  co_await exec(cpu, Path::arch_cpu_idle_mwait_head);
  if (!co_await ops.current_set_polling_and_test(cpu))
    co_await monitor_and_mwait(cpu, hw::HaltKind::kMwaitBreak, shallowest_state(cpu).timing,
                               Path::arch_cpu_idle_mwait);
  co_await current_clr_polling_and_fold(cpu);
  co_await exec(cpu, Path::mwait_idle_tail);
}

// Linux: arch/x86/include/asm/mwait.h, mwait_idle_with_hints().
// Not modelled: VERW, CLFLUSH errata.
Co<> mwait_idle_with_hints(Cpu& cpu, const hw::IdleStateSpec& state, hw::HaltKind kind) {
  const KernelOps& ops = ops_of(cpu);
  const hw::HaltTiming timing = state.timing;
  co_await exec(cpu, Path::acpi_idle_mwait_extra);
  if (co_await idle_exit_pending(cpu)) co_return;
  co_await exec(cpu, Path::intel_idle_head);
  if (!co_await ops.current_set_polling_and_test(cpu))
    co_await monitor_and_mwait(cpu, kind, timing, Path::intel_idle_mwait);
  cpu.local_irq_disable();
  co_await current_clr_polling_and_fold(cpu);
  co_await exec(cpu, Path::intel_idle_tail);
}

// Linux: drivers/idle/intel_idle.c, intel_idle() and, for states with CPUIDLE_FLAG_IRQ_ENABLE,
// intel_idle_irq(), or instead of both intel_idle_ibrs(); drivers/acpi/processor_idle.c,
// acpi_idle_enter().
Co<> enter_state_mwait(Cpu& cpu, const hw::IdleStateSpec& state) {
  if (ops_of(cpu).idle_clears_ibrs(state)) return intel_idle_ibrs(cpu, state);
  return mwait_idle_with_hints(cpu, state,
                               state.irq_enable ? hw::HaltKind::kMwait : hw::HaltKind::kMwaitBreak);
}

// Linux: drivers/idle/intel_idle.c, intel_idle_irq().
Co<> enter_state_mwait_irq(Cpu& cpu, const hw::IdleStateSpec& state) {
  return mwait_idle_with_hints(cpu, state, hw::HaltKind::kMwait);
}

// Linux: drivers/acpi/processor_idle.c, acpi_safe_halt().
Co<> enter_state_hlt(Cpu& cpu, const hw::IdleStateSpec& state) {
  const hw::HaltTiming timing = state.timing;
  if (!co_await need_resched(cpu)) {
    co_await exec(cpu, Path::acpi_idle_hlt);
    co_await cpu.halt(hw::HaltKind::kHlt, timing);
    cpu.local_irq_disable();
  }
  co_await exec(cpu, Path::acpi_idle_hlt_tail);
}

// Linux: drivers/acpi/processor_idle.c, io_idle(): reading a port puts the CPU to sleep.
Co<> enter_state_io(Cpu& cpu, const hw::IdleStateSpec& state) {
  const hw::HaltTiming timing = state.timing;
  co_await exec(cpu, Path::acpi_idle_hlt);
  // Like WFI: any interrupt ends it and stays pending; the flag word does not.
  co_await cpu.halt(hw::HaltKind::kWfi, timing);
  co_await exec(cpu, Path::acpi_idle_hlt_tail);
}

// --- arch/arm64 ---

// Linux: arch/arm64/kernel/idle.c, cpu_do_idle().
// Not modelled: pseudo-NMI.
Co<> cpu_do_idle_wfi(Cpu& cpu) { return enter_state_wfi(cpu, shallowest_state(cpu)); }

// Linux: arch/arm64/kernel/idle.c, cpu_do_idle() as a cpuidle state.
Co<> enter_state_wfi(Cpu& cpu, const hw::IdleStateSpec& state) {
  const hw::HaltTiming timing = state.timing;
  co_await cpu.barrier();
  co_await exec(cpu, Path::arch_cpu_idle_wfi);
  co_await cpu.halt(hw::HaltKind::kWfi, timing);
  co_await exec(cpu, Path::arch_cpu_idle_wfi_tail);
}

}  // namespace idlesim::kernel

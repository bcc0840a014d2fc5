// Interrupt entry and exit around the handlers.
#include "idlesim/base/check.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/kernel/spec_ctrl.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

namespace {

bool is_idle(const PerCpu& self) { return self.curr == &self.idle; }

}  // namespace

// Linux: kernel/softirq.c, irq_enter_rcu(); kernel/time/tick-sched.c, tick_irq_enter().
Co<> irq_enter(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  if (!is_idle(self)) {
    co_await exec(cpu, Path::irq_entry_from_kernel);
    co_return;
  }
  co_await exec(cpu, self.rcu_idle ? Path::irq_entry : Path::irq_entry_rcu_watching);
  if (self.tick.stopped) {
    co_await exec(cpu, Path::irq_entry_tick_stopped);
    co_await tick_do_update_jiffies64(cpu);
  }
  self.tick.idle_active = false;
}

// Linux: kernel/softirq.c, irq_exit(); kernel/time/tick-sched.c, tick_nohz_irq_exit().
// Not modelled: softirqs, re-evaluation of a stopped tick.
Co<> irq_exit(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  if (!is_idle(self)) {
    co_await exec(cpu, Path::irq_exit_from_kernel);
    co_return;
  }
  co_await exec(cpu, self.rcu_idle ? Path::irq_exit : Path::irq_exit_rcu_watching);
  if ((co_await read_once(cpu, self.idle.flags) & TIF_NEED_RESCHED) != 0) co_return;
  co_await exec(cpu, Path::irq_exit_stay_idle);
  tick_nohz_start_idle(cpu);
}

namespace {

Co<> handle_call_function(Cpu& cpu) {
  const hw::InterruptSpec& spec = cpu.machine().spec().interrupt;
  co_await irq_enter(cpu);
  co_await cpu.exec_time(spec.eoi);
  co_await exec(cpu, Path::sysvec_call_function_single_body);
  co_await flush_smp_call_function_queue_irq(cpu);
  co_await irq_exit(cpu);
}

// x86: EOI first, then the handler (kernel-paths 2.5). The RESCHEDULE vector has the short entry.
Co<> x86_vector(Cpu& cpu, hw::Vector vector) {
  const hw::InterruptSpec& spec = cpu.machine().spec().interrupt;
  switch (vector) {
    case hw::Vector::kReschedule:
      co_await cpu.exec_time(spec.eoi);
      co_await exec(cpu, Path::reschedule_ipi);
      co_await ops_of(cpu).scheduler_ipi(cpu);
      break;
    case hw::Vector::kCallFunction:
    case hw::Vector::kCallFunctionSingle:
      co_await handle_call_function(cpu);
      break;
    case hw::Vector::kLocalTimer:
      co_await cpu.exec_time(spec.eoi);
      co_await hrtimer_interrupt(cpu);
      break;
  }
}

// arm64: acknowledge, handler, end of interrupt; with EOImode 1 the priority drops before the
// handler, which is followed by the deactivation (kernel-paths 8.4). Linux uses it if it was booted
// at EL2.
Co<> gic_interrupt(Cpu& cpu, hw::Vector vector) {
  const hw::InterruptSpec& spec = cpu.machine().spec().interrupt;
  if (vector != hw::Vector::kLocalTimer) co_await irq_enter(cpu);
  co_await exec(cpu, Path::gic_ack);
  co_await cpu.exec_time(spec.split_eoi ? spec.ack + spec.eoi : spec.ack);
  co_await exec(cpu, Path::generic_irq_layer);
  co_await exec(cpu, Path::ipi_handler);
  switch (vector) {
    case hw::Vector::kReschedule:
      co_await ops_of(cpu).scheduler_ipi(cpu);
      break;
    case hw::Vector::kCallFunction:
    case hw::Vector::kCallFunctionSingle:
      co_await flush_smp_call_function_queue_irq(cpu);
      break;
    case hw::Vector::kLocalTimer:
      co_await hrtimer_interrupt(cpu);
      break;
  }
  co_await cpu.exec_time(spec.split_eoi ? spec.deactivate : spec.eoi);
  co_await exec(cpu, Path::generic_irq_layer_tail);
  if (vector != hw::Vector::kLocalTimer) co_await irq_exit(cpu);
}

}  // namespace

// Linux: arch/x86/include/asm/idtentry.h, DEFINE_IDTENTRY_SYSVEC();
// arch/arm64/kernel/entry-common.c, el1_interrupt().
Co<> interrupt_entry(Cpu& cpu, hw::Vector vector) {
  PerCpu& self = this_cpu(cpu);
  const hw::InterruptSpec& spec = cpu.machine().spec().interrupt;
  ++self.irqs;
  ++self.hardirq;
  self.kernel->tracer().emit(trace::InterruptTaken{
      cpu.now(), cpu.interrupt_arrived(), cpu.id, static_cast<std::uint8_t>(vector), self.context});
  co_await cpu.exec_time(spec.entry);
  const bool from_user = self.user_mode;
  if (from_user) co_await enter_from_user_mode(cpu);
  if (cpu.spec().arch == hw::Arch::kX86_64)
    co_await x86_vector(cpu, vector);
  else
    co_await gic_interrupt(cpu, vector);
  --self.hardirq;
  if (from_user) co_await exit_to_user_mode(cpu);
  co_await cpu.exec_time(spec.exit);
}

}  // namespace idlesim::kernel

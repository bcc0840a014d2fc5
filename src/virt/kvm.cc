#include "idlesim/virt/kvm.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/sched.h"

namespace idlesim::virt {

using kernel::read_once;
using kernel::write_once;

namespace {

hw::PathCost straight_line(const hw::CpuSpec& cpu, std::int64_t instructions) {
  return {cpu.clock.milli_to_time(instructions * 1'000'000 / cpu.kernel_ipc_milli),
          static_cast<std::uint32_t>(instructions)};
}

Kvm::Costs costs_of(const hw::CpuSpec& cpu, const KvmCode& code) {
  const auto cost = [&cpu](std::int64_t count) { return straight_line(cpu, count); };
  return {cost(code.run_loop),   cost(code.load),  cost(code.put), cost(code.halt),
          cost(code.halt_poll),  cost(code.block), cost(code.ipi), cost(code.ipi_search),
          cost(code.inject),     cost(code.kick),  cost(code.wfe), cost(code.timer),
          cost(code.timer_write)};
}

}  // namespace

Kvm::Kvm(kernel::Kernel& host, const KvmSpec& spec)
    : spec_(spec),
      host_(host),
      machine_spec_(guest_machine_spec(host.machine().spec(), spec)),
      machine_(machine_spec_, host.machine(), spec.placement, *this),
      costs_(costs_of(machine_spec_.cpu, spec.code)) {
  hw::Machine& physical = host.machine();
  for (CpuId id = 0; id < machine_.nr_cpus(); ++id) {
    const CpuId place = machine_.placement(id);
    const auto line = [&](const char* name) -> hw::Line& {
      return physical.new_line(physical.line_name(name), physical.topology().node(place));
    };
    Vcpu& vcpu = vcpus_.emplace_back();
    vcpu.kvm = this;
    vcpu.id = id;
    vcpu.guest = &machine_.cpu(id);
    hw::Line& kvm_vcpu = line("VCPU");  // mode and requests are neighbours
    vcpu.mode = Word(kvm_vcpu, OUTSIDE_GUEST_MODE);
    vcpu.requests = Word(spec.posted_interrupts ? line("PID") : kvm_vcpu, 0);
    vcpu.wait = Word(line("RCUWAIT"), 0);
    vcpu.ap_list_lock = Word(line("VGIC"), 0);
    vcpu.thread = &host.new_task("CPU " + std::to_string(id) + "/KVM", place, vcpu_run, &vcpu);
    vcpu.bg_timer.wake = vcpu.thread;
    host.first_task(*vcpu.thread);
    host.foreground.set(place);
  }
  add_host_noise(*this);
}

bool Kvm::traps(const Cpu& guest, hw::Exit reason) const {
  const Vcpu& vcpu = vcpus_[static_cast<std::size_t>(guest.id)];
  switch (reason) {
    case hw::Exit::kHlt:
      return vcpu.wfi_traps;
    case hw::Exit::kWfe:
      return vcpu.wfe_traps;
    case hw::Exit::kIpi:
      return true;
    case hw::Exit::kTimerWrite:
      return spec_.timer_traps;
    case hw::Exit::kInterrupt:
    case hw::Exit::kTimer:
      break;
  }
  return false;
}

void Kvm::timer_expired(Cpu& guest) { vcpu(guest.id).timer_due = true; }

// --- the vCPU's thread ---

// Linux: arch/arm64/kvm/arm.c, kvm_arch_vcpu_load(), kvm_vcpu_should_clear_twe(),
// kvm_vcpu_should_clear_twi(). What WFI and WFE do is decided here and holds until the thread is
// scheduled out. Without vLPIs the single_task policy traps WFI in any case.
Co<> vcpu_load(Cpu& cpu, Vcpu& vcpu) {
  Kvm& kvm = *vcpu.kvm;
  co_await cpu.exec(kvm.costs().load);
  const bool single = co_await read_once(cpu, kernel::this_cpu(cpu).nr_running) == 1;
  ++(single ? kvm.counts.loads_single : kvm.counts.loads_not_single);
  vcpu.wfi_traps = kvm.spec().wfi_trap != TrapPolicy::kNoTrap;
  vcpu.wfe_traps = kvm.spec().wfe_trap == TrapPolicy::kTrap ||
                   (kvm.spec().wfe_trap == TrapPolicy::kSingleTask && !single);
}

namespace {

// Linux: kernel/entry/kvm.c, xfer_to_guest_mode_handle_work().
Co<> handle_work(Cpu& cpu, Vcpu& vcpu) {
  Kvm& kvm = *vcpu.kvm;
  if (!co_await kernel::need_resched(cpu)) co_return;
  co_await cpu.exec(kvm.costs().put);
  co_await kernel::schedule(cpu);
  co_await vcpu_load(cpu, vcpu);
}

// Linux: arch/x86/kvm/x86.c, vcpu_enter_guest(); arch/arm64/kvm/arm.c,
// kvm_arch_vcpu_ioctl_run(). Whoever has an interrupt for the guest either sees IN_GUEST_MODE and
// makes it exit, or has set `requests` before it is looked at here.
Co<hw::ExitInfo> vcpu_enter_guest(Cpu& cpu, Vcpu& vcpu) {
  Kvm& kvm = *vcpu.kvm;
  hw::ExitInfo exit;
  for (;;) {
    co_await handle_work(cpu, vcpu);
    cpu.local_irq_disable();
    co_await cpu.exec(kvm.costs().run_loop);
    co_await inject_pending(cpu, vcpu);
    co_await write_once(cpu, vcpu.mode, IN_GUEST_MODE);
    co_await kernel::smp_mb(cpu);
    const bool queued = co_await read_once(cpu, vcpu.requests) != 0;
    const bool resched = co_await kernel::need_resched(cpu);
    if (!queued && !resched && !vcpu.timer_due) break;
    co_await write_once(cpu, vcpu.mode, OUTSIDE_GUEST_MODE);
    co_await cpu.local_irq_enable();
  }
  co_await cpu.exec_time(kvm.spec().entry);
  if (vcpu.loaded)
    kvm.machine().tracer().emit(trace::VmExit{vcpu.exited, cpu.now(), vcpu.id,
                                              static_cast<std::uint8_t>(vcpu.exit_reason)});
  vcpu.loaded = true;
  exit = co_await cpu.run_guest(*vcpu.guest, kvm.spec().exit);
  vcpu.exited = cpu.now() - kvm.spec().exit;
  vcpu.exit_reason = exit.reason;
  ++kvm.counts.exits[static_cast<std::size_t>(exit.reason)];
  co_await write_once(cpu, vcpu.mode, OUTSIDE_GUEST_MODE);
  co_return exit;
}

Co<> handle_exit(Cpu& cpu, Vcpu& vcpu, hw::ExitInfo exit) {
  Kvm& kvm = *vcpu.kvm;
  const hw::ExitInfo info = exit;
  switch (info.reason) {
    case hw::Exit::kInterrupt:
      break;
    case hw::Exit::kTimer:
      co_await cpu.exec(kvm.costs().timer);
      break;
    case hw::Exit::kHlt:
      co_await kvm_vcpu_halt(cpu, vcpu);
      break;
    case hw::Exit::kWfe:
      co_await cpu.exec(kvm.costs().wfe);
      break;
    case hw::Exit::kIpi:
      co_await send_guest_ipi(cpu, vcpu, info.argument);
      break;
    case hw::Exit::kTimerWrite:
      co_await cpu.exec(kvm.costs().timer_write);
      break;
  }
}

// Exits that are dealt with before interrupts are enabled again.
bool in_fastpath(const KvmSpec& spec, hw::Exit reason) {
  return reason == hw::Exit::kTimerWrite ||
         (reason == hw::Exit::kIpi && spec.ipi == IpiRoad::kFastpath);
}

}  // namespace

// Linux: virt/kvm/kvm_main.c, KVM_RUN; arch/x86/kvm/x86.c, vcpu_run().
// Not modelled: exits to user space.
Co<> vcpu_run(Cpu& cpu, Task& task) {
  Vcpu& vcpu = *static_cast<Vcpu*>(task.data);
  Cpu& self = cpu;  // the thread is pinned
  co_await vcpu_load(self, vcpu);
  for (;;) {
    const hw::ExitInfo exit = co_await vcpu_enter_guest(self, vcpu);
    const bool fast = in_fastpath(vcpu.kvm->spec(), exit.reason);
    if (fast) co_await handle_exit(self, vcpu, exit);
    co_await self.local_irq_enable();
    if (!fast) co_await handle_exit(self, vcpu, exit);
  }
}

}  // namespace idlesim::virt

// Interrupts for a guest: who is told, and how they reach it.
#include <bit>

#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/virt/kvm.h"

namespace idlesim::virt {

using kernel::read_once;

namespace {

// Linux: arch/x86/kvm/vmx/vmx.c, vmx_deliver_posted_interrupt(). The notification finds the target
// in its guest, and the hardware hands the interrupt over without an exit; or it comes too late,
// and the next entry does.
void posted_interrupt(void* object, std::uint64_t) {
  Vcpu& vcpu = *static_cast<Vcpu*>(object);
  const Cpu* host = vcpu.guest->host();
  if (host == nullptr) return;
  const std::uint64_t bits = vcpu.requests.peek();
  vcpu.requests.poke(0);
  vcpu.requests.line().take(host->id, host->core());
  for (std::uint64_t left = bits; left != 0; left &= left - 1)
    vcpu.guest->deliver(static_cast<hw::Vector>(std::countr_zero(left)));
}

}  // namespace

// Linux: virt/kvm/kvm_main.c, kvm_vcpu_kick(), kvm_vcpu_wake_up(), kvm_arch_vcpu_should_kick().
Co<> kvm_vcpu_kick(Cpu& cpu, Vcpu& vcpu) {
  Kvm& kvm = *vcpu.kvm;
  co_await cpu.exec(kvm.costs().kick);
  co_await kernel::smp_mb(cpu);
  if (co_await read_once(cpu, vcpu.wait) != 0) {
    const bool woken = co_await kernel::try_to_wake_up(cpu, *vcpu.thread);
    if (woken) co_return;
  }
  const CpuId target = vcpu.thread->cpu;
  if (kvm.spec().posted_interrupts) {
    if (co_await read_once(cpu, vcpu.mode) != IN_GUEST_MODE || target == cpu.id) co_return;
    const hw::MachineSpec& spec = kvm.host().machine().spec();
    co_await cpu.exec_time(spec.interrupt.send);
    kvm.host().machine().engine().post(
        cpu.now() + kvm.host().machine().delivery_latency(cpu.id, target), posted_interrupt, &vcpu,
        0);
    co_return;
  }
  const std::uint64_t mode =
      co_await kernel::cmpxchg(cpu, vcpu.mode, IN_GUEST_MODE, EXITING_GUEST_MODE);
  if (mode != IN_GUEST_MODE || target == cpu.id) co_return;
  ++kvm.counts.kicks;
  co_await kernel::smp_send_reschedule(cpu, target);
}

// Linux: arch/arm64/kvm/vgic/vgic-mmio-v3.c, vgic_v3_dispatch_sgi(); vgic.c,
// vgic_queue_irq_unlock(); arch/x86/kvm/lapic.c, kvm_apic_send_ipi().
// Not modelled: more than one target in one write.
Co<> send_guest_ipi(Cpu& cpu, Vcpu& from, std::uint64_t argument) {
  Kvm& kvm = *from.kvm;
  const std::uint64_t what = argument;
  Vcpu& target = kvm.vcpu(hw::ipi_target(what));
  co_await cpu.exec(kvm.costs().ipi);
  if (kvm.spec().linear_target_search)
    for (CpuId i = 0; i < target.id; ++i) co_await cpu.exec(kvm.costs().ipi_search);
  const bool vgic = kvm.spec().arch == hw::Arch::kArm64;
  if (vgic) co_await kernel::spin_lock(cpu, target.ap_list_lock);
  co_await kernel::set_bits(cpu, target.requests, hw::bit(hw::ipi_vector(what)));
  if (vgic) co_await kernel::spin_unlock(cpu, target.ap_list_lock);
  co_await kvm_vcpu_kick(cpu, target);
}

// Linux: arch/arm64/kvm/vgic/vgic.c, kvm_vgic_flush_hwstate(); arch/x86/kvm/x86.c,
// kvm_check_and_inject_events().
Co<> inject_pending(Cpu& cpu, Vcpu& vcpu) {
  Kvm& kvm = *vcpu.kvm;
  std::uint64_t bits = 0;
  if (co_await read_once(cpu, vcpu.requests) != 0)
    bits = co_await kernel::xchg(cpu, vcpu.requests, 0);
  if (vcpu.timer_due) bits |= hw::bit(hw::Vector::kLocalTimer);
  vcpu.timer_due = false;
  for (; bits != 0; bits &= bits - 1) {
    co_await cpu.exec(kvm.costs().inject);
    vcpu.guest->deliver(static_cast<hw::Vector>(std::countr_zero(bits)));
  }
}

// Every IPI exits on the platforms there are.
void Kvm::post_ipi(Cpu&, CpuId to, hw::Vector vector) {
  Vcpu& target = vcpu(to);
  target.requests.poke(target.requests.peek() | hw::bit(vector));
  posted_interrupt(&target, 0);
}

}  // namespace idlesim::virt

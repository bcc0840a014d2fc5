// A halted vCPU: the host polls for a while, then lets the thread sleep.
#include <algorithm>

#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/virt/kvm.h"

namespace idlesim::virt {

using kernel::read_once;
using kernel::write_once;

namespace {

// Linux: virt/kvm/kvm_main.c, kvm_vcpu_check_block(): is there a reason to go on?
Co<bool> kvm_vcpu_check_block(Cpu& cpu, Vcpu& vcpu) {
  Word& requests = vcpu.requests;
  const bool pending = co_await read_once(cpu, requests) != 0;
  co_return pending || vcpu.timer_due;
}

// One stretch of the polling loop, until something may have changed: an interrupt for the guest, an
// interrupt of the host, or the time is over; or the guest's timer expires, which is looked at in
// every round.
// Not modelled: a task that is put on this run queue without an interrupt is not seen.
Co<> poll_once(Cpu& cpu, Vcpu& vcpu, Time stop) {
  Word& requests = vcpu.requests;
  const hw::PathCost& round = vcpu.kvm->costs().halt_poll;
  hw::SpinLoop loop;
  loop.mask = ~std::uint64_t{0};
  loop.pause = cpu.spec().pause;
  loop.period = round.time + loop.pause;
  loop.instructions = round.instructions;
  loop.check_every = 1;
  loop.deadline = std::min(stop, vcpu.kvm->machine().timer_deadline(vcpu.id));
  loop.until_interrupt = true;
  co_await cpu.spin(requests, loop);
}

// Linux: virt/kvm/kvm_main.c, kvm_vcpu_halt(), its first half. True: there is work for the guest.
Co<bool> halt_poll(Cpu& cpu, Vcpu& vcpu, Time start) {
  kernel::PerCpu& rq = kernel::this_cpu(cpu);
  const Time stop = start + vcpu.halt_poll;
  for (;;) {
    if (co_await kvm_vcpu_check_block(cpu, vcpu)) co_return true;
    const bool alone = co_await read_once(cpu, rq.nr_running) == 1;
    const bool resched = co_await kernel::need_resched(cpu);
    if (!alone || resched || cpu.now() >= stop) co_return false;
    co_await poll_once(cpu, vcpu, stop);
  }
}

// The guest's own timer does not run while its CPU does not: an hrtimer of the host stands for it.
// Linux: arch/arm64/kvm/arch_timer.c, kvm_timer_blocking(); arch/x86/kvm/lapic.c,
// kvm_lapic_switch_to_sw_timer().
Co<> start_bg_timer(Cpu& cpu, Vcpu& vcpu) {
  const Time deadline = vcpu.kvm->machine().timer_deadline(vcpu.id);
  if (deadline == Time::never()) co_return;
  cpu.local_irq_disable();
  co_await kernel::hrtimer_start(cpu, vcpu.bg_timer, deadline);
  co_await cpu.local_irq_enable();
}

Co<> cancel_bg_timer(Cpu& cpu, Vcpu& vcpu) {
  kernel::HrTimer& timer = vcpu.bg_timer;
  if (!timer.queued) co_return;
  cpu.local_irq_disable();
  co_await kernel::hrtimer_cancel(cpu, timer);
  co_await cpu.local_irq_enable();
}

// Linux: virt/kvm/kvm_main.c, kvm_vcpu_block().
Co<> kvm_vcpu_block(Cpu& cpu, Vcpu& vcpu) {
  Kvm& kvm = *vcpu.kvm;
  co_await cpu.exec(kvm.costs().block);
  co_await start_bg_timer(cpu, vcpu);
  co_await write_once(cpu, vcpu.wait, 1);
  bool slept = false;
  for (;;) {
    co_await kernel::set_current_state(cpu, kernel::TASK_INTERRUPTIBLE);
    if (co_await kvm_vcpu_check_block(cpu, vcpu)) break;
    slept = true;
    co_await cpu.exec(kvm.costs().put);
    co_await kernel::schedule(cpu);
    co_await vcpu_load(cpu, vcpu);
  }
  co_await write_once(cpu, vcpu.thread->state, kernel::TASK_RUNNING);
  co_await write_once(cpu, vcpu.wait, 0);
  co_await cancel_bg_timer(cpu, vcpu);
  kvm.counts.blocks += slept ? 1 : 0;
}

// Linux: virt/kvm/kvm_main.c, grow_halt_poll_ns(), shrink_halt_poll_ns().
void adjust_halt_poll(Vcpu& vcpu, Time halted) {
  const KvmSpec& spec = vcpu.kvm->spec();
  const auto shrink = [&] {
    const Time value = spec.halt_poll_shrink == 0 ? Time{} : vcpu.halt_poll / spec.halt_poll_shrink;
    vcpu.halt_poll = value < spec.halt_poll_grow_start ? Time{} : value;
  };
  const auto grow = [&] {
    if (spec.halt_poll_grow == 0) return;
    vcpu.halt_poll = std::max(vcpu.halt_poll * spec.halt_poll_grow, spec.halt_poll_grow_start);
  };
  if (spec.halt_poll_max == Time{})
    vcpu.halt_poll = {};
  else if (halted <= vcpu.halt_poll)
    return;
  else if (vcpu.halt_poll > Time{} && halted > spec.halt_poll_max)
    shrink();
  else if (vcpu.halt_poll < spec.halt_poll_max && halted < spec.halt_poll_max)
    grow();
}

}  // namespace

// Linux: virt/kvm/kvm_main.c, kvm_vcpu_halt().
// Not modelled: wake-ups without a reason.
Co<> kvm_vcpu_halt(Cpu& cpu, Vcpu& vcpu) {
  Kvm& kvm = *vcpu.kvm;
  const Time start = cpu.now();
  co_await cpu.exec(kvm.costs().halt);
  const bool may_poll = kvm.host_polls();
  vcpu.halt_poll = std::min(vcpu.halt_poll, kvm.spec().halt_poll_max);
  bool awake = false;
  if (may_poll && vcpu.halt_poll > Time{}) awake = co_await halt_poll(cpu, vcpu, start);
  kvm.counts.halt_polls += awake ? 1 : 0;
  if (!awake) co_await kvm_vcpu_block(cpu, vcpu);
  if (may_poll) adjust_halt_poll(vcpu, cpu.now() - start);
}

}  // namespace idlesim::virt

#include "idlesim/kernel/smp.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/kernel/sched.h"

namespace idlesim::kernel {

namespace {

std::uint64_t address_of(const CallSingleData& csd) {
  return reinterpret_cast<std::uintptr_t>(&csd);
}

// Linux: kernel/smp.c, csd_lock_wait(). arm64 waits in WFE.
// Not modelled: CSD_LOCK_WAIT_DEBUG.
Co<> csd_lock_wait(Cpu& cpu, CallSingleData& csd) {
  return smp_cond_load_until_clear(cpu, csd.flags, CSD_FLAG_LOCK,
                                   kernel_of(cpu).cost(Path::csd_lock_wait_loop));
}

// Linux: kernel/smp.c, csd_lock().
Co<> csd_lock(Cpu& cpu, CallSingleData& csd) {
  Word& flags = csd.flags;
  co_await csd_lock_wait(cpu, csd);
  co_await write_once(cpu, flags, CSD_FLAG_LOCK);
}

// Linux: kernel/smp.c, csd_unlock().
Co<> csd_unlock(Cpu& cpu, CallSingleData& csd) {
  Word& flags = csd.flags;
  co_await exec(cpu, Path::csd_unlock);
  co_await smp_store_release(cpu, flags, 0);
}

Co<> csd_do_func(Cpu& cpu, CallSingleData& csd) {
  Kernel& kernel = kernel_of(cpu);
  csd.started = cpu.now();
  kernel.tracer().emit(
      trace::CallStarted{cpu.now(), csd.signalled, cpu.id, csd.from, csd.ipi, csd.elided});
  if (csd.func != nullptr)
    co_await csd.func(cpu, csd.info);
  else
    co_await exec(cpu, Path::ipistorm_function);
}

void stamp(CallSingleData& csd, Cpu& cpu, CsdType type, SmpCallFunc func, void* info, Time issued) {
  csd.type = type;
  csd.func = func;
  csd.info = info;
  csd.from = cpu.id;
  csd.issued = issued;
  csd.started = Time::never();
  csd.ipi = csd.elided = false;
}

void call_done(Cpu& cpu, const CallSingleData& csd, CpuId target) {
  // A target that looks at its queue anyway may run the function before it is signalled, even
  // before the caller, interrupted after the push, has noted when it was queued.
  const Time signalled = std::min(csd.signalled, csd.started);
  const Time queued = std::min(csd.queued, signalled);
  kernel_of(cpu).tracer().emit(trace::CallDone{csd.issued, queued, signalled, csd.started,
                                               cpu.now(), cpu.id, target, csd.ipi, csd.elided});
}

}  // namespace

// Linux: include/linux/llist.h, llist_add().
Co<bool> llist_add(Cpu& cpu, CallSingleData& entry, Word& head) {
  CallSingleData& added = entry;
  std::uint64_t first = co_await read_once(cpu, head);
  for (;;) {
    co_await write_once(cpu, added.llist, first);
    const std::uint64_t old = co_await cmpxchg(cpu, head, first, address_of(added));
    if (old == first) co_return first == 0;
    first = old;
  }
}

// --- signalling ---

namespace {

// Sets `flag` in the flag word of a polling idle task, unless one of `signals` is set already: then
// somebody else has told it. False if it does not poll.
Co<bool> signal_if_polling(Cpu& cpu, CpuId target, std::uint64_t signals, std::uint64_t flag) {
  PerCpu& remote = kernel_of(cpu).per_cpu(target);
  Word& flags = remote.idle.flags;
  co_await read_once(cpu, remote.rq_curr);  // rq->idle is on the line of rq->curr
  std::uint64_t val = co_await read_once(cpu, flags);
  for (;;) {
    if ((val & TIF_POLLING_NRFLAG) == 0) co_return false;
    if ((val & signals) != 0) co_return true;
    const std::uint64_t old = co_await cmpxchg(cpu, flags, val, val | flag);
    if (old == val) co_return true;
    val = old;
  }
}

}  // namespace

// Linux: kernel/sched/core.c, set_nr_if_polling() and call_function_single_prep_ipi().
Co<bool> set_nr_if_polling(Cpu& cpu, CpuId target) {
  return signal_if_polling(cpu, target, TIF_NEED_RESCHED, TIF_NEED_RESCHED);
}

// Linux: RFC PATCH of 13 Jun 2024, 20240613181613.4329-1-kprateek.nayak@amd.com.
Co<bool> notify_ipi_if_polling(Cpu& cpu, CpuId target) {
  return signal_if_polling(cpu, target, TIF_NEED_RESCHED | TIF_NOTIFY_IPI, TIF_NOTIFY_IPI);
}

// Linux: kernel/smp.c, send_call_function_single_ipi() with b2a02fc43a1f reverted, or before v5.8;
// kernel/sched/core.c, set_nr_if_polling() without TIF_POLLING_NRFLAG.
Co<bool> never_elide(Cpu&, CpuId) { return Co<bool>::ended(false); }

namespace {

// Linux: arch/x86/include/asm/barrier.h, weak_wrmsr_fence(). Earlier stores must be visible before
// the interrupt. Intel: MFENCE;LFENCE before the WRMSR; arm64: DSB ISHST; AMD needs none (Linux
// 04c3024560d3).
Co<> intel_or_arm_fence(Cpu& cpu) {
  const hw::CpuSpec& spec = cpu.spec();
  co_await cpu.barrier();
  if (spec.arch == hw::Arch::kX86_64) co_await cpu.exec_time(spec.barrier);
}
Co<> ipi_fence(Cpu& cpu) {
  return cpu.spec().vendor == hw::Vendor::kAmd ? Co<>::ended() : intel_or_arm_fence(cpu);
}

// Linux: drivers/irqchip/irq-gic-v3.c, gic_ipi_send_mask(): an ISB after the last SGI1R write.
Co<> ipi_sent(Cpu& cpu) {
  const hw::CpuSpec& spec = cpu.spec();
  if (spec.arch == hw::Arch::kArm64) co_await cpu.exec_time(spec.barrier);
}

}  // namespace

// Linux: arch/x86/kernel/apic/x2apic_phys.c, x2apic_send_IPI(); drivers/irqchip/irq-gic-v3.c,
// gic_ipi_send_mask().
Co<> arch_send_ipi(Cpu& cpu, CpuId target, hw::Vector vector) {
  co_await ipi_fence(cpu);
  co_await cpu.send_ipi(target, vector);
  co_await ipi_sent(cpu);
}

// Linux: kernel/smp.c, send_call_function_single_ipi().
Co<> send_call_function_single_ipi(Cpu& cpu, CpuId target, CallSingleData* csd) {
  Kernel& kernel = kernel_of(cpu);
  if (co_await kernel.ops.call_function_single_prep_ipi(cpu, target)) {
    kernel.tracer().emit(trace::IpiElided{cpu.now(), cpu.id, target});
    csd->elided = true;
    csd->signalled = cpu.now();
    co_await exec(cpu, Path::send_call_function_single_ipi_polling);
    co_return;
  }
  co_await exec(cpu, Path::send_call_function_single_ipi_ipi);
  csd->ipi = true;
  csd->signalled = cpu.now();
  co_await arch_send_ipi(cpu, target, hw::Vector::kCallFunctionSingle);
}

// Linux: arch/x86/kernel/smp.c, native_smp_send_reschedule(); arch/arm64/kernel/smp.c,
// arch_smp_send_reschedule().
Co<> smp_send_reschedule(Cpu& cpu, CpuId target) {
  return arch_send_ipi(cpu, target, hw::Vector::kReschedule);
}

// Linux: kernel/smp.c, __smp_call_single_queue().
// Only the push that finds the queue empty signals; later ones ride along.
Co<> smp_call_single_queue(Cpu& cpu, CpuId target, CallSingleData& csd) {
  PerCpu& remote = kernel_of(cpu).per_cpu(target);
  CallSingleData& entry = csd;
  co_await exec(cpu, Path::llist_add);
  const bool was_empty = co_await llist_add(cpu, entry, remote.call_single_queue);
  entry.queued = entry.signalled = cpu.now();
  if (was_empty) co_await send_call_function_single_ipi(cpu, target, &entry);
}

// --- calls ---

namespace {

// A call to this CPU itself: unlock, then the function with interrupts off.
Co<> exec_single_here(Cpu& cpu, CallSingleData& csd) {
  CallSingleData& entry = csd;
  entry.queued = entry.signalled = cpu.now();
  co_await csd_unlock(cpu, entry);
  cpu.local_irq_disable();
  co_await csd_do_func(cpu, entry);
  co_await cpu.local_irq_enable();
}

// Linux: kernel/smp.c, generic_exec_single().
Co<> generic_exec_single(Cpu& cpu, CpuId target, CallSingleData& csd) {
  return target == cpu.id ? exec_single_here(cpu, csd) : smp_call_single_queue(cpu, target, csd);
}

}  // namespace

// Linux: kernel/smp.c, smp_call_function_single().
Co<> smp_call_function_single(Cpu& cpu, CpuId target, SmpCallFunc func, void* info, bool wait) {
  PerCpu& self = this_cpu(cpu);
  if (!self.kernel->per_cpu(target).online) co_return;  // -ENXIO
  const Time issued = cpu.now();
  CallSingleData& csd = wait ? self.csd_stack : self.csd_data;

  co_await exec(cpu, Path::smp_call_function_single_head);
  co_await write_once(cpu, self.stack_local, 1);
  if (wait)
    co_await write_once(cpu, csd.flags, CSD_FLAG_LOCK);
  else
    co_await csd_lock(cpu, csd);
  stamp(csd, cpu, wait ? CsdType::kSync : CsdType::kAsync, func, info, issued);

  co_await generic_exec_single(cpu, target, csd);
  if (wait) co_await csd_lock_wait(cpu, csd);

  co_await exec(cpu, Path::smp_call_function_single_tail);
  co_await write_once(cpu, self.stack_local, 0);
  call_done(cpu, csd, target);
}

namespace {

CallSingleData& cfd_entry(Cpu& cpu, CpuId target) {
  PerCpu& self = this_cpu(cpu);
  hw::Machine& machine = cpu.machine();
  auto& entries = self.cfd_data;
  if (entries.empty()) entries.resize(static_cast<std::size_t>(machine.nr_cpus()));
  auto& entry = entries[static_cast<std::size_t>(target)];
  if (entry == nullptr) {
    entry = std::make_unique<CallSingleData>();
    hw::Line& line = machine.new_line(machine.line_name("CSD"), machine.topology().node(cpu.id));
    entry->llist = Word(line, 0);
    entry->flags = Word(line, 0);
  }
  return *entry;
}

// Linux: arch/x86/kernel/apic/x2apic_phys.c, __x2apic_send_IPI_mask(): one write per CPU;
// drivers/irqchip/irq-gic-v3.c, gic_ipi_send_mask(): one for all targets among the CPUs that one
// write can name.
// Not modelled: such lists where the write exits to a hypervisor: it sees one target in each.
Co<> arch_send_call_function_ipi_mask(Cpu& cpu, const std::vector<CallSingleData*>& csds,
                                      const std::vector<CpuId>& targets) {
  const int group = cpu.platform == nullptr ? cpu.machine().spec().interrupt.sgi_targets : 1;
  co_await exec(cpu, Path::smp_call_function_many_cond_ipi);
  co_await ipi_fence(cpu);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    csds[i]->ipi = true;
    csds[i]->signalled = cpu.now();
    if (i > 0 && targets[i] / group == targets[i - 1] / group)
      cpu.machine().send_ipi(cpu.id, targets[i], hw::Vector::kCallFunction);
    else
      co_await cpu.send_ipi(targets[i], hw::Vector::kCallFunction);
  }
  co_await ipi_sent(cpu);
}

}  // namespace

// Linux: kernel/smp.c, smp_call_function_many_cond().
// Not modelled: cond_func, running locally, ICR shorthands, x2APIC cluster mode.
Co<> smp_call_function_many(Cpu& cpu, const CpuMask& mask, SmpCallFunc func, void* info,
                            bool wait) {
  const Time issued = cpu.now();
  CpuMask targets = mask;
  for (CpuId target : mask)  // cpu_online_mask
    if (!kernel_of(cpu).per_cpu(target).online) targets.clear(target);
  co_await exec(cpu, Path::smp_call_function_many_cond_head);
  std::vector<CallSingleData*> newly_queued;
  std::vector<CpuId> cpumask_ipi;
  for (CpuId target : targets) {
    if (target == cpu.id) continue;
    CallSingleData& csd = cfd_entry(cpu, target);
    co_await csd_lock(cpu, csd);
    stamp(csd, cpu, wait ? CsdType::kSync : CsdType::kAsync, func, info, issued);
    co_await exec(cpu, Path::smp_call_function_many_cond_per_cpu);
    PerCpu& remote = kernel_of(cpu).per_cpu(target);
    const bool was_empty = co_await llist_add(cpu, csd, remote.call_single_queue);
    csd.queued = csd.signalled = cpu.now();
    if (!was_empty) continue;
    newly_queued.push_back(&csd);
    cpumask_ipi.push_back(target);
  }
  // Exactly one newly non-empty queue: it may be polling. More than one: nobody asks.
  if (cpumask_ipi.size() == 1)
    co_await send_call_function_single_ipi(cpu, cpumask_ipi[0], newly_queued[0]);
  else if (cpumask_ipi.size() > 1)
    co_await arch_send_call_function_ipi_mask(cpu, newly_queued, cpumask_ipi);
  co_await exec(cpu, Path::smp_call_function_many_cond_tail);
  for (CpuId target : targets) {
    if (target == cpu.id) continue;
    CallSingleData& csd = cfd_entry(cpu, target);
    if (wait) co_await csd_lock_wait(cpu, csd);
    call_done(cpu, csd, target);
  }
}

// --- the receiving side ---

// Linux: lib/llist.c, llist_reverse_order(): oldest first. Stores to every entry, so each line
// comes here to be written.
Co<> take_queue(Cpu& cpu, Word& head) {
  Word& queue = head;
  std::vector<CallSingleData*>& entries = this_cpu(cpu).flushed;
  entries.clear();
  std::uint64_t first = co_await xchg(cpu, queue, 0);
  std::uint64_t newer = 0;
  while (first != 0) {
    CallSingleData& entry = entry_at(first);
    const std::uint64_t next = co_await cpu.load_for_write(entry.llist);
    co_await write_once(cpu, entry.llist, newer);
    entries.push_back(&entry);
    newer = first;
    first = next;
  }
  std::reverse(entries.begin(), entries.end());
}

// Linux: kernel/smp.c, __flush_smp_call_function_queue().
// Not modelled: IRQ_WORK entries.
Co<> flush_smp_call_function_queue_irq(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  CHECK(!cpu.irqs_enabled(), "the queue is flushed with interrupts off");
  co_await exec(cpu, Path::flush_queue_head);
  co_await take_queue(cpu, self.call_single_queue);
  std::vector<CallSingleData*>& entries = self.flushed;

  // Waiting callers first. An entry is its caller's again, to be queued with another type, as soon
  // as it is unlocked: it leaves the list before.
  std::size_t left = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CallSingleData& csd = *entries[i];
    if (csd.type != CsdType::kSync) {
      entries[left++] = &csd;
      continue;
    }
    co_await exec(cpu, Path::flush_queue_sync_entry);
    co_await csd_do_func(cpu, csd);
    co_await csd_unlock(cpu, csd);
  }
  entries.resize(left);
  std::vector<Task*>& wakeups = self.wakeups;
  wakeups.clear();
  for (CallSingleData* csd : entries) {
    if (csd->type == CsdType::kTtwu) {
      co_await exec(cpu, Path::flush_queue_ttwu_entry);
      wakeups.push_back(csd->task);
      continue;
    }
    co_await exec(cpu, Path::flush_queue_async_entry);
    CallSingleData copy = *csd;
    co_await csd_unlock(cpu, *csd);
    co_await csd_do_func(cpu, copy);
  }
  if (!wakeups.empty()) co_await sched_ttwu_pending(cpu, wakeups.data(), wakeups.size());
  co_await exec(cpu, Path::flush_queue_tail);
}

// Linux: kernel/smp.c, flush_smp_call_function_queue(), from idle.
// Not modelled: softirqs raised by the functions.
Co<> flush_smp_call_function_queue(Cpu& cpu) {
  Word& head = this_cpu(cpu).call_single_queue;
  if (co_await read_once(cpu, head) == 0) {
    co_await exec(cpu, Path::flush_smp_call_function_queue_empty);
    co_return;
  }
  co_await exec(cpu, Path::flush_smp_call_function_queue_head);
  cpu.local_irq_disable();
  co_await flush_smp_call_function_queue_irq(cpu);
  co_await exec(cpu, Path::flush_smp_call_function_queue_tail);
  co_await cpu.local_irq_enable();
}

}  // namespace idlesim::kernel

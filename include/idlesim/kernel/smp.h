// Cross-CPU function calls.
#ifndef IDLESIM_KERNEL_SMP_H_
#define IDLESIM_KERNEL_SMP_H_

#include "idlesim/base/cpumask.h"
#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

// Runs func(info) on `target` with interrupts off. wait: returns when it has run; otherwise when it
// is queued. Does nothing if `target` is offline. From task context with interrupts on. `func` may
// be null: an empty function.
Co<> smp_call_function_single(Cpu& cpu, CpuId target, SmpCallFunc func, void* info, bool wait);
// The same on all CPUs of `mask` but this one.
Co<> smp_call_function_many(Cpu& cpu, const CpuMask& mask, SmpCallFunc func, void* info, bool wait);

// Pushes `entry`; true if the list was empty.
Co<bool> llist_add(Cpu& cpu, CallSingleData& entry, Word& head);
// Empties the list with one XCHG and leaves its entries, oldest first, in PerCpu::flushed.
Co<> take_queue(Cpu& cpu, Word& head);
Co<> smp_call_single_queue(Cpu& cpu, CpuId target, CallSingleData& csd);
Co<> send_call_function_single_ipi(Cpu& cpu, CpuId target, CallSingleData* csd);
Co<> smp_send_reschedule(Cpu& cpu, CpuId target);
// Interrupts are off. Runs what is queued on this CPU: synchronous calls, then the others, then
// wake-ups.
Co<> flush_smp_call_function_queue_irq(Cpu& cpu);

// --- values of the axes `wake_queue` and `polling` ---
Co<bool> set_nr_if_polling(Cpu& cpu, CpuId target);
Co<bool> notify_ipi_if_polling(Cpu& cpu, CpuId target);
Co<bool> never_elide(Cpu& cpu, CpuId target);
Co<> flush_smp_call_function_queue(Cpu& cpu);

// Around the body of an interrupt; nests on arm64, where the entry code calls it always.
Co<> irq_enter(Cpu& cpu);
Co<> irq_exit(Cpu& cpu);
// The interrupt entry point of every CPU.
Co<> interrupt_entry(Cpu& cpu, hw::Vector vector);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_SMP_H_

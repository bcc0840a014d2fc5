// Address spaces at a context switch.
#ifndef IDLESIM_KERNEL_MM_H_
#define IDLESIM_KERNEL_MM_H_

#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

// References of CPUs that keep `mm` loaded without running a task of it.
Co<> mmgrab_lazy_tlb(Cpu& cpu, Mm& mm);
Co<> mmdrop_lazy_tlb(Cpu& cpu, Mm& mm);
// Interrupts are off: `prev` stays loaded while a kernel thread runs.
Co<> enter_lazy_tlb(Cpu& cpu, Mm& prev);
// Interrupts are off: from the mm that is loaded to that of the next task, which may be the same.
Co<> switch_mm_irqs_off(Cpu& cpu, Mm& prev, Mm& next);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_MM_H_

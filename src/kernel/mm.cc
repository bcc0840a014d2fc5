#include "idlesim/kernel/mm.h"

namespace idlesim::kernel {

// Linux: include/linux/sched/mm.h, mmgrab_lazy_tlb().
Co<> mmgrab_lazy_tlb(Cpu& cpu, Mm& mm) {
  Word& count = mm.mm_count;
  co_await atomic_add(cpu, count, 1);
}

// Linux: include/linux/sched/mm.h, mmdrop_lazy_tlb(): also the barrier that membarrier needs.
// Not modelled: freeing the mm.
Co<> mmdrop_lazy_tlb(Cpu& cpu, Mm& mm) {
  Word& count = mm.mm_count;
  co_await cpu.atomic(hw::AtomicOp::kAdd, count, ~std::uint64_t{0});
}

// Linux: arch/x86/mm/tlb.c, enter_lazy_tlb().
// Not modelled: cpu_tlbstate_shared.is_lazy.
Co<> enter_lazy_tlb(Cpu& cpu, Mm&) { co_await exec(cpu, Path::enter_lazy_tlb); }

// Linux: arch/x86/mm/tlb.c, switch_mm_irqs_off(); arch/arm64/include/asm/mmu_context.h,
// switch_mm(), check_and_switch_context().
// Not modelled: mm_cpumask(), tlb_gen, ASIDs.
Co<> switch_mm_irqs_off(Cpu& cpu, Mm& prev, Mm& next) {
  const bool same = &prev == &next;
  co_await exec(cpu, same ? Path::switch_mm_irqs_off_same_lazy : Path::switch_mm_irqs_off_other);
}

}  // namespace idlesim::kernel

// A KVM platform as plain data: the guest, how its host is set, and what exits cost. Read from
// sim-configs/platforms/*.json by read_kvm_spec().
#ifndef IDLESIM_VIRT_KVM_SPEC_H_
#define IDLESIM_VIRT_KVM_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/hw/machine_spec.h"
#include "idlesim/kernel/features.h"

namespace idlesim::config {
class Reader;
}

namespace idlesim::virt {

// kvm-arm.wfi_trap_policy and kvm-arm.wfe_trap_policy (Linux 6.10).
enum class TrapPolicy : std::uint8_t { kSingleTask, kTrap, kNoTrap };

// Who ends up telling the target of a guest's IPI.
enum class IpiRoad : std::uint8_t {
  kExit,      // the sender exits; the target is made to exit and gets it on entry
  kFastpath,  // x86: the same, handled in the inner loop with interrupts off
};

// Straight-line host code by what it does, in instructions: no path lengths of KVM are public, so
// all of these are assumptions with a range.
struct KvmCode {
  std::int64_t run_loop = 0;     // from an exit to the next entry, for an exit that does nothing
  std::int64_t load = 0;         // vcpu_load(): the thread comes onto a CPU
  std::int64_t put = 0;          // vcpu_put()
  std::int64_t halt = 0;         // kvm_vcpu_halt() without polling or sleeping
  std::int64_t halt_poll = 0;    // one round of its polling loop
  std::int64_t block = 0;        // kvm_vcpu_block() beyond schedule()
  std::int64_t ipi = 0;          // decoding the send and finding the target
  std::int64_t ipi_search = 0;   // for each vCPU before the target (arm64 before Linux 6.6)
  std::int64_t inject = 0;       // handing a pending interrupt to the guest on entry
  std::int64_t kick = 0;         // kvm_vcpu_kick()
  std::int64_t wfe = 0;          // kvm_vcpu_on_spin()
  std::int64_t timer = 0;        // the guest's timer has expired
  std::int64_t timer_write = 0;  // the guest has set its timer
};

struct KvmSpec {
  std::string name;
  std::string description;
  hw::Arch arch = hw::Arch::kX86_64;
  std::vector<CpuId> placement;  // vCPU i's thread is pinned to this CPU
  std::string host_kernel;       // a kernel file
  kernel::Features host_features;

  TrapPolicy wfi_trap = TrapPolicy::kSingleTask;
  TrapPolicy wfe_trap = TrapPolicy::kSingleTask;
  IpiRoad ipi = IpiRoad::kExit;
  bool posted_interrupts = false;  // APICv: a running target takes an interrupt without an exit
  bool timer_traps = false;        // x86: writing the TSC deadline exits
  bool linear_target_search = false;

  // Halt polling of the host (kernel-paths 7.1).
  Time halt_poll_max;  // 0: off
  Time halt_poll_grow_start;
  std::int64_t halt_poll_grow = 2;
  std::int64_t halt_poll_shrink = 2;  // 0: to nothing

  Time exit;   // hardware and world switch, guest to host
  Time entry;  // and back
  KvmCode code;

  // What else runs on the CPUs of the vCPUs: tasks that wake as a Poisson process and run for an
  // exponential time, drawn from the seed, the same for all variants.
  std::int64_t noise_per_second = 0;
  Time noise_duration;
};

// Reads a platform file of type "kvm". Errors go to the document of `in`.
KvmSpec read_kvm_spec(config::Reader in);

// The machine as the guest sees it: one socket, a core for each vCPU that share a cache, and the
// first idle state of the physical machine.
hw::MachineSpec guest_machine_spec(const hw::MachineSpec& physical, const KvmSpec& spec);

}  // namespace idlesim::virt

#endif  // IDLESIM_VIRT_KVM_SPEC_H_

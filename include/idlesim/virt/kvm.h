// KVM: a guest's CPUs are threads of a host kernel that runs on the same machine. The threads are
// scheduled, sleep and are woken by the host's own code; only what KVM itself adds is here.
#ifndef IDLESIM_VIRT_KVM_H_
#define IDLESIM_VIRT_KVM_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "idlesim/hw/machine.h"
#include "idlesim/hw/platform.h"
#include "idlesim/kernel/kernel.h"
#include "idlesim/virt/kvm_spec.h"

namespace idlesim::virt {

using kernel::Cpu;
using kernel::Task;
using kernel::Word;
using sim::Co;

class Kvm;

// vcpu->mode (virt/kvm: OUTSIDE_GUEST_MODE, IN_GUEST_MODE, EXITING_GUEST_MODE).
inline constexpr std::uint64_t OUTSIDE_GUEST_MODE = 0;
inline constexpr std::uint64_t IN_GUEST_MODE = 1;
inline constexpr std::uint64_t EXITING_GUEST_MODE = 2;

// struct kvm_vcpu.
struct Vcpu {
  Kvm* kvm = nullptr;
  CpuId id = kNoCpu;
  Cpu* guest = nullptr;
  Task* thread = nullptr;
  Word mode;
  // Interrupts waiting for the guest, a bit for each vector: the vGIC's pending list, or the posted
  // interrupt descriptor.
  Word requests;
  Word wait;          // rcuwait: 1 while the thread sleeps or is about to
  Word ap_list_lock;  // vgic_cpu.ap_list_lock
  bool timer_due = false;
  kernel::HrTimer bg_timer;  // stands for the guest's timer while the thread sleeps
  bool wfi_traps = true;
  bool wfe_traps = false;
  Time halt_poll;  // vcpu->halt_poll_ns
  bool loaded = false;
  Time exited;
  hw::Exit exit_reason = hw::Exit::kInterrupt;
};

struct KvmCounts {
  std::array<std::int64_t, hw::kExits> exits{};
  std::int64_t halt_polls = 0;    // halts that polling ended
  std::int64_t blocks = 0;        // halts in which the thread slept
  std::int64_t kicks = 0;         // host interrupts that made a vCPU exit
  std::int64_t loads_single = 0;  // vcpu_load() with no other runnable task
  std::int64_t loads_not_single = 0;
};

class Kvm final : public hw::Platform {
 public:
  // A guest on `host`, whose threads are made runnable at its boot. Both must outlive it.
  Kvm(kernel::Kernel& host, const KvmSpec& spec);

  // The guest: a kernel goes on it.
  hw::Machine& machine() { return machine_; }
  kernel::Kernel& host() { return host_; }
  const KvmSpec& spec() const { return spec_; }
  Vcpu& vcpu(CpuId id) { return vcpus_[static_cast<std::size_t>(id)]; }
  // MSR_KVM_POLL_CONTROL of all its CPUs: the guest polls itself, the host need not.
  void set_poll_control(bool host_polls) { host_polls_ = host_polls; }
  bool host_polls() const { return host_polls_; }

  bool traps(const Cpu& guest, hw::Exit reason) const override;
  void post_ipi(Cpu& from, CpuId to, hw::Vector vector) override;
  void timer_expired(Cpu& guest) override;

  // KvmCode as costs on this machine.
  struct Costs {
    hw::PathCost run_loop, load, put, halt, halt_poll, block, ipi, ipi_search, inject, kick, wfe,
        timer, timer_write;
  };
  const Costs& costs() const { return costs_; }
  KvmCounts counts;

 private:
  const KvmSpec& spec_;
  kernel::Kernel& host_;
  const hw::MachineSpec machine_spec_;
  hw::Machine machine_;
  Costs costs_;
  std::deque<Vcpu> vcpus_;
  bool host_polls_ = true;
};

// --- the vCPU's thread (src/virt/kvm.cc) ---
Co<> vcpu_run(Cpu& cpu, Task& task);
Co<> vcpu_load(Cpu& cpu, Vcpu& vcpu);

// --- halting (src/virt/kvm_halt.cc) ---
Co<> kvm_vcpu_halt(Cpu& cpu, Vcpu& vcpu);

// --- interrupts (src/virt/kvm_irq.cc) ---
// Something waits for the guest: wakes its thread, or makes it exit.
Co<> kvm_vcpu_kick(Cpu& cpu, Vcpu& vcpu);
Co<> send_guest_ipi(Cpu& cpu, Vcpu& from, std::uint64_t argument);
// Interrupts are off, the guest is about to be entered.
Co<> inject_pending(Cpu& cpu, Vcpu& vcpu);

// --- src/virt/host_noise.cc ---
// Tasks that disturb the CPUs of the guest.
void add_host_noise(Kvm& kvm);

}  // namespace idlesim::virt

#endif  // IDLESIM_VIRT_KVM_H_

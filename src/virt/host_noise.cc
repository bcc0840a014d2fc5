// Other tasks of the host on the CPUs of the guest: housekeeping, kworkers, a device's thread.
#include <algorithm>
#include <memory>

#include "idlesim/kernel/sched.h"
#include "idlesim/sim/random.h"
#include "idlesim/virt/kvm.h"

namespace idlesim::virt {

namespace {

// A task that wakes as a Poisson process and runs for an exponential time.
Co<> noise_task(Cpu& cpu, Task& task) {
  const Kvm& kvm = *static_cast<const Kvm*>(task.data);
  Cpu& self = cpu;  // pinned
  const Time gap = Time::seconds(1) / kvm.spec().noise_per_second;
  sim::Random random = self.machine().stream("host-noise", static_cast<std::uint64_t>(self.id));
  for (;;) {
    co_await kernel::schedule_hrtimeout(self, self.now() + random.exponential(gap));
    co_await kernel::user_mode(self, random.exponential(kvm.spec().noise_duration));
  }
}

}  // namespace

void add_host_noise(Kvm& kvm) {
  if (kvm.spec().noise_per_second == 0) return;
  CpuMask places;
  for (const CpuId cpu : kvm.spec().placement) places.set(cpu);
  for (const CpuId cpu : places)
    kvm.host().first_task(
        kvm.host().new_task("noise/" + std::to_string(cpu), cpu, noise_task, &kvm));
}

}  // namespace idlesim::virt

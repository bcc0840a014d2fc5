// CPUs go offline and come back.
#ifndef IDLESIM_KERNEL_HOTPLUG_H_
#define IDLESIM_KERNEL_HOTPLUG_H_

#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

// From task context on another CPU: `target` leaves, or comes back. They return when it has left
// its last instruction for good, or executes its idle task again. Nothing may run on `target` but
// its idle task. How long they take is not modelled: their instructions were never counted.
Co<> cpu_down(Cpu& cpu, CpuId target);
Co<> cpu_up(Cpu& cpu, CpuId target);

// Makes a task that takes the CPUs of KernelConfig::offline_cpus down when the machine has booted.
void take_offline_at_boot(Kernel& kernel);

// The idle task of a CPU that is offline; ends when the CPU comes back.
Co<> arch_cpu_idle_dead(Cpu& cpu);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_HOTPLUG_H_

#include "idlesim/kernel/hotplug.h"

#include <algorithm>
#include <memory>

#include "idlesim/base/check.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

namespace {

// Linux: kernel/cpu.c, take_cpu_down(); arch/x86/kernel/smpboot.c, native_cpu_disable().
// Not modelled: the stopper threads, migration of tasks, interrupts and timers.
Co<> take_cpu_down(Cpu& cpu, void*) {
  PerCpu& self = this_cpu(cpu);
  CHECK(self.curr == &self.idle && self.runnable.empty(), "a CPU that goes offline is idle");
  self.online = false;
  co_await tick_shutdown(cpu);
}

// The words of a CPU that leaves for the first time.
Hotplug& hotplug_of(PerCpu& pcpu) {
  if (pcpu.hotplug != nullptr) return *pcpu.hotplug;
  hw::Machine& machine = pcpu.kernel->machine();
  const auto word = [&](const char* line, std::uint64_t value) {
    return Word(machine.new_line(machine.line_name(line), machine.topology().node(pcpu.id)), value);
  };
  pcpu.hotplug = std::make_unique<Hotplug>();
  pcpu.hotplug->alive = word("HOTPLUG", 1);
  pcpu.hotplug->mwait_cpu_dead = word("MWAITDEAD", 0);
  return *pcpu.hotplug;
}

Co<> wait_until_alive(Cpu& cpu, Hotplug& hotplug) {
  Word& alive = hotplug.alive;
  hw::SpinLoop loop;
  loop.mask = 1;
  loop.pause = cpu.spec().pause;
  loop.period = loop.pause + Time::ns(1);
  co_await cpu.spin(alive, loop);
}

// Linux: arch/x86/kernel/smpboot.c, mwait_play_dead(): no flag is involved, only a write to the
// CPU's own line, NMI, SMI and INIT end it.
// Not modelled: WBINVD and CLFLUSH, the marker of kexec.
Co<> mwait_play_dead(Cpu& cpu) {
  Hotplug& self = *this_cpu(cpu).hotplug;
  const hw::MachineSpec& spec = cpu.machine().spec();
  const hw::HaltTiming deepest = spec.idle_states.back().timing;
  while (!self.starting) {
    co_await smp_mb(cpu);
    co_await read_once(cpu, self.mwait_cpu_dead);
    co_await cpu.exec_time(spec.monitor);
    cpu.monitor(self.mwait_cpu_dead);
    co_await smp_mb(cpu);
    co_await cpu.halt(hw::HaltKind::kMwaitDead, deepest);
  }
}

// Linux: arch/x86/kernel/smpboot.c, hlt_play_dead().
Co<> hlt_play_dead(Cpu& cpu) {
  Hotplug& self = *this_cpu(cpu).hotplug;
  const hw::HaltTiming timing{Time{}, cpu.machine().spec().hlt_exit};
  while (!self.starting) co_await cpu.halt(hw::HaltKind::kHltDead, timing);
}

// Linux: arch/x86/kernel/smpboot.c, native_play_dead(), play_dead_common().
// Not modelled: idle_task_exit(), ACPI's own way on AMD.
Co<> native_play_dead(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  if (ops_of(cpu).play_dead_clears_ibrs && ops_of(cpu).spec_ctrl_base != 0)
    co_await cpu.write_spec_ctrl(0);
  co_await write_once(cpu, self.hotplug->alive, 0);  // cpuhp_ap_report_dead()
  if (cpu.spec().vendor == hw::Vendor::kIntel)
    co_await mwait_play_dead(cpu);
  else
    co_await hlt_play_dead(cpu);
}

// Linux: arch/x86/kernel/smpboot.c, start_secondary(); kernel/sched/core.c, init_idle().
// Not modelled: everything else that a CPU sets up.
Co<> start_secondary(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  self.hotplug->starting = false;
  const std::uint64_t base = ops_of(cpu).spec_ctrl_base;
  if (base != 0) co_await cpu.write_spec_ctrl(base);  // x86_spec_ctrl_setup_ap()
  co_await write_once(cpu, self.idle.flags, 0);
  self.online = true;
  tick_setup(cpu);
  co_await write_once(cpu, self.hotplug->alive, 1);
  co_await cpu.local_irq_enable();
}

}  // namespace

// Linux: kernel/cpu.c, _cpu_down(), takedown_cpu().
// Not modelled: the states of the hotplug machine and their callbacks.
Co<> cpu_down(Cpu& cpu, CpuId target) {
  PerCpu& dying = kernel_of(cpu).per_cpu(target);
  CHECK(target != cpu.id && dying.online, "another CPU that is online is taken down");
  CHECK(cpu.spec().arch == hw::Arch::kX86_64, "CPU hotplug is modelled on x86_64");
  Hotplug& hotplug = hotplug_of(dying);
  co_await smp_call_function_single(cpu, target, take_cpu_down, nullptr, true);
  co_await spin_while_set(cpu, hotplug.alive);
}

// Linux: kernel/cpu.c, _cpu_up(); arch/x86/kernel/smpboot.c, do_boot_cpu().
// Not modelled: the states of the hotplug machine and their callbacks, the pauses between INIT and
// the start-up interrupts.
Co<> cpu_up(Cpu& cpu, CpuId target) {
  PerCpu& starting = kernel_of(cpu).per_cpu(target);
  CHECK(!starting.online, "a CPU that is offline is brought up");
  starting.hotplug->starting = true;
  co_await cpu.exec_time(cpu.machine().spec().interrupt.send);
  starting.cpu->start_up();
  co_await wait_until_alive(cpu, *starting.hotplug);
}

namespace {

// Not Linux's: what an administrator writes to /sys/devices/system/cpu/cpuN/online.
Co<> administrator(Cpu& cpu, Task&) {
  Kernel& kernel = kernel_of(cpu);
  for (const CpuId target : kernel.config().offline_cpus) co_await cpu_down(cpu, target);
}

}  // namespace

void take_offline_at_boot(Kernel& kernel) {
  const std::vector<CpuId>& offline = kernel.config().offline_cpus;
  if (offline.empty()) return;
  CpuId cpu = 0;
  while (std::find(offline.begin(), offline.end(), cpu) != offline.end()) ++cpu;
  kernel.first_task(kernel.new_task("administrator", cpu, administrator, nullptr));
}

// Linux: arch/x86/kernel/process.c, arch_cpu_idle_dead(). There it never returns: INIT starts the
// CPU at another address, where start_secondary() makes a new beginning of the idle task.
Co<> arch_cpu_idle_dead(Cpu& cpu) {
  Cpu& self = cpu;
  co_await native_play_dead(self);
  co_await start_secondary(self);
}

}  // namespace idlesim::kernel

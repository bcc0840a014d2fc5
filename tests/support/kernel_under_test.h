// A kernel with chosen features on a small machine, small programs for its CPUs, and a record of
// what happened. Costs are constant (one number for all segments, unless a test says otherwise), so
// that expected times can be summed by hand.
#ifndef IDLESIM_TESTS_SUPPORT_KERNEL_UNDER_TEST_H_
#define IDLESIM_TESTS_SUPPORT_KERNEL_UNDER_TEST_H_

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "idlesim/hw/machine.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/kernel.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/kernel/timer.h"
#include "support/kernel_features.h"
#include "support/record.h"

namespace idlesim::testing {

using kernel::Co;
using kernel::Cpu;
using kernel::Path;
using kernel::Task;

// Two sockets of two cores, each socket one cluster: CPUs 0 and 1 share a cache, so do 2 and 3.
// Inside a cluster a request goes straight to the holder (1 + 2 + 4 ns); between sockets the legs
// are 100, 200 and 300 ns.
inline hw::MachineSpec kernel_machine(hw::Arch arch) {
  const bool x86 = arch == hw::Arch::kX86_64;
  hw::MachineSpec spec;
  spec.name = "test";
  spec.topology.sockets = 2;
  spec.topology.cores_per_cluster = 2;
  spec.coherence.sibling_transfer = Time::ns(6);
  spec.coherence.cluster = {Time::ns(1), Time::ns(2), Time::ns(4)};
  spec.coherence.socket = {Time::ns(10), Time::ns(20), Time::ns(30)};
  spec.coherence.remote = {Time::ns(100), Time::ns(200), Time::ns(300)};
  spec.coherence.memory = Time::ns(50);
  spec.cpu.arch = arch;
  spec.cpu.vendor = x86 ? hw::Vendor::kAmd : hw::Vendor::kArm;
  spec.cpu.clock = Frequency::mhz(1000);
  spec.cpu.tsc = Frequency::mhz(1000);
  spec.cpu.atomic = Time::ns(5);
  spec.cpu.barrier = Time::ns(7);
  spec.cpu.pause = Time::ns(10);
  spec.cpu.store_buffer_entries = 8;
  spec.interrupt.send = Time::ns(40);
  spec.interrupt.delivery_sibling = Time::ns(60);
  spec.interrupt.delivery_socket = Time::ns(70);
  spec.interrupt.delivery_remote = Time::ns(90);
  spec.interrupt.entry = Time::ns(31);
  spec.interrupt.exit = Time::ns(29);
  spec.interrupt.eoi = Time::ns(13);
  spec.interrupt.ack = x86 ? Time{} : Time::ns(17);
  spec.timer_program = Time::ns(19);
  spec.monitor = Time::ns(23);
  spec.hlt_exit = Time::ns(800);
  const auto state = [&](const char* name, int exit_us, int residency_us, int entry_ns,
                         int exit_ns) {
    hw::IdleStateSpec s;
    s.name = name;
    s.enter = x86 ? hw::EnterMethod::kMwait : hw::EnterMethod::kWfi;
    s.exit_latency = Time::us(exit_us);
    s.target_residency = Time::us(residency_us);
    s.timing = {Time::ns(entry_ns), Time::ns(exit_ns)};
    return s;
  };
  spec.idle_states = {state("C1", 1, 2, 110, 300), state("C6", 100, 300, 1000, 5000)};
  return spec;
}

// Every segment takes `instructions` (at 1 instruction in a nanosecond) and nothing else.
inline kernel::KernelSpec constant_costs(hw::Arch arch, std::int64_t instructions, int hz = 100) {
  kernel::KernelSpec spec;
  spec.name = "constant";
  spec.version = "0";
  spec.arch = arch;
  spec.hz = hz;
  for (kernel::Segment& segment : spec.segments) segment.instructions = instructions;
  return spec;
}

// A cross-CPU call as its function saw it.
struct Called {
  int runs = 0;
  CpuId cpu = kNoCpu;
  Time at;
  bool irqs_off = false;
  Time takes;                    // the function's duration
  std::function<void()> inside;  // looks at the machine when the function starts
};
inline Co<> called_function(Cpu& cpu, void* info) {
  Called& call = *static_cast<Called*>(info);
  ++call.runs;
  call.cpu = cpu.id;
  call.at = cpu.now();
  call.irqs_off = !cpu.irqs_enabled();
  if (call.inside) call.inside();
  if (call.takes != Time{}) co_await cpu.exec_time(call.takes);
}

// What a task does. Times are absolute.
struct Act {
  enum class Kind {
    kCall,       // smp_call_function_single
    kCallMany,   // smp_call_function_many
    kBusyUntil,  // runs with interrupts enabled
    kMaskUntil,  // runs with interrupts off
    kSleepUntil,
    kBlock,  // until somebody wakes it
    kWake,   // try_to_wake_up
    kUser,   // executes its program for `time`; can be preempted
    kRun,    // awaits `run`
    kNote,   // calls `note`
  };
  Kind kind = Kind::kNote;
  CpuId target = kNoCpu;
  CpuMask mask;
  bool wait = true;
  Called* called = nullptr;
  Time time;
  Task* task = nullptr;
  Task* const* task_ref = nullptr;
  std::function<void()> note;
  unsigned wake_flags = 0;
  Co<> (*run)(Cpu& cpu, void* object) = nullptr;
  void* object = nullptr;
};
using Acts = std::vector<Act>;

inline Act call(CpuId target, Called& called, bool wait = true) {
  Act act;
  act.kind = Act::Kind::kCall;
  act.target = target;
  act.called = &called;
  act.wait = wait;
  return act;
}
inline Act call_many(CpuMask mask, Called& called, bool wait = true) {
  Act act;
  act.kind = Act::Kind::kCallMany;
  act.mask = std::move(mask);
  act.called = &called;
  act.wait = wait;
  return act;
}
inline Act until(Act::Kind kind, Time time) {
  Act act;
  act.kind = kind;
  act.time = time;
  return act;
}
inline Act busy_until(Time time) { return until(Act::Kind::kBusyUntil, time); }
inline Act mask_until(Time time) { return until(Act::Kind::kMaskUntil, time); }
inline Act sleep_until(Time time) { return until(Act::Kind::kSleepUntil, time); }
inline Act block() { return until(Act::Kind::kBlock, {}); }
inline Act run(Co<> (*function)(Cpu& cpu, void* object), void* object) {
  Act act;
  act.kind = Act::Kind::kRun;
  act.run = function;
  act.object = object;
  return act;
}
inline Act user(Time time) { return until(Act::Kind::kUser, time); }
inline Act wake(Task& task, unsigned flags = 0) {
  Act act;
  act.wake_flags = flags;
  act.kind = Act::Kind::kWake;
  act.task = &task;
  return act;
}
// A task that is made later, and known when the act is performed.
inline Act wake_later(Task* const& task) {
  Act act;
  act.kind = Act::Kind::kWake;
  act.task_ref = &task;
  return act;
}
inline Act note(std::function<void()> look) {
  Act act;
  act.note = std::move(look);
  return act;
}

class KernelUnderTest {
 public:
  struct Options {
    hw::Arch arch = hw::Arch::kX86_64;
    kernel::KernelConfig config;
    std::int64_t instructions = 10;
    int hz = 100;  // the first tick comes 10 to 20 ms after boot
    std::uint64_t seed = 1;
    std::function<void(hw::MachineSpec&)> machine;
    std::function<void(kernel::KernelSpec&)> costs;
    std::function<void(kernel::KernelOps&)> ops;
  };
  explicit KernelUnderTest(const Options& options)
      : machine_spec(make_machine(options)),
        kernel_spec(make_costs(options)),
        machine(machine_spec, options.seed, 0),
        kernel(machine, kernel_spec, options.config) {
    if (options.ops) options.ops(kernel.ops);
    machine.tracer().add(&record);
  }

  // A task pinned to `cpu` that starts at boot. Several on one CPU run one after the other.
  Task& task(CpuId cpu, Acts acts) {
    return task(cpu, CpuMask::of(kernel.nr_cpus(), cpu), nullptr, std::move(acts));
  }
  // One that may run on the CPUs of `allowed`, in `mm` if it is a user's.
  Task& task(CpuId cpu, CpuMask allowed, kernel::Mm* mm, Acts acts) {
    Program& program = programs_.emplace_back();
    program.acts = std::move(acts);
    program.owner = this;
    Task& made = kernel.new_task("test", cpu, std::move(allowed), mm, run_program, &program);
    program.task = &made;
    kernel.first_task(made);
    return made;
  }

  void boot() {
    if (!booted_) kernel.boot();
    booted_ = true;
  }
  // Runs until all tasks have ended, and then, so that calls nobody waits for are served, for
  // `more`. False if they have not ended by `limit`.
  bool run(Time limit = Time::ms(9), Time more = Time::us(50)) {
    boot();
    while (ended_ < programs_.size() && step_before(limit)) {
    }
    if (ended_ < programs_.size()) return false;
    run_until(machine.now() + more);
    return true;
  }
  // Executes all events before `time`.
  void run_until(Time time) {
    boot();
    while (step_before(time)) {
    }
  }
  // One event; false if the next one is not before `time`.
  bool step_before(Time time) {
    return machine.engine().next_time() < time && machine.engine().step();
  }
  // Calls `look` every `period` from now on, until it returns false.
  void watch(Time period, std::function<bool()> look) {
    Watch& watch = watches_.emplace_back(Watch{this, period, std::move(look)});
    machine.engine().post(machine.now(), looked, &watch, 0);
  }

  void at(Time time, std::function<void()> act) {
    Watch& watch = watches_.emplace_back();
    watch = {this, {}, [act = std::move(act)] {
               act();
               return false;
             }};
    machine.engine().post(time, looked, &watch, 0);
  }

  kernel::PerCpu& cpu(CpuId id) { return kernel.per_cpu(id); }
  std::uint64_t flags(CpuId id) { return cpu(id).idle.flags.peek(); }
  bool polling(CpuId id) { return (flags(id) & kernel::TIF_POLLING_NRFLAG) != 0; }
  std::vector<trace::LineTransfer> transfers_of(std::string_view line, CpuId by = kNoCpu) const {
    std::vector<trace::LineTransfer> found;
    for (const trace::LineTransfer& e : record.transfers)
      if (machine.line_names()[e.line] == line && (by == kNoCpu || e.cpu == by)) found.push_back(e);
    return found;
  }

  const hw::MachineSpec machine_spec;
  const kernel::KernelSpec kernel_spec;
  hw::Machine machine;
  kernel::Kernel kernel;
  Record record;

 private:
  struct Watch {
    KernelUnderTest* owner = nullptr;
    Time period;
    std::function<bool()> look;
  };
  static void looked(void* watch, std::uint64_t) {
    Watch& self = *static_cast<Watch*>(watch);
    hw::Machine& machine = self.owner->machine;
    if (self.look()) machine.engine().post(machine.now() + self.period, looked, watch, 0);
  }
  struct Program {
    Acts acts;
    KernelUnderTest* owner = nullptr;
    Task* task = nullptr;
  };

  static hw::MachineSpec make_machine(const Options& options) {
    hw::MachineSpec spec = kernel_machine(options.arch);
    if (options.machine) options.machine(spec);
    return spec;
  }
  static kernel::KernelSpec make_costs(const Options& options) {
    kernel::KernelSpec spec = constant_costs(options.arch, options.instructions, options.hz);
    if (options.costs) options.costs(spec);
    return spec;
  }

  // Short pieces, so that an interrupt or a switch finds a place.
  static Co<> busy(Cpu& cpu, Time time) {
    Cpu& self = cpu;
    while (self.now() < time) co_await self.exec_time(std::min(time - self.now(), Time::us(1)));
  }

  static Co<> perform(Cpu& cpu, const Act& act) {
    const Act& a = act;
    switch (a.kind) {
      case Act::Kind::kCall:
        co_await kernel::smp_call_function_single(cpu, a.target, called_function, a.called, a.wait);
        break;
      case Act::Kind::kCallMany:
        co_await kernel::smp_call_function_many(cpu, a.mask, called_function, a.called, a.wait);
        break;
      case Act::Kind::kBusyUntil:
        co_await busy(cpu, a.time);
        break;
      case Act::Kind::kMaskUntil:
        cpu.local_irq_disable();
        co_await busy(cpu, a.time);
        co_await cpu.local_irq_enable();
        break;
      case Act::Kind::kSleepUntil:
        co_await kernel::schedule_hrtimeout(cpu, a.time);
        break;
      case Act::Kind::kBlock:
        co_await kernel::set_current_state(cpu, kernel::TASK_INTERRUPTIBLE);
        co_await kernel::schedule(cpu);
        break;
      case Act::Kind::kWake:
        co_await kernel::try_to_wake_up(cpu, a.task_ref != nullptr ? **a.task_ref : *a.task,
                                        kernel::TASK_NORMAL, a.wake_flags);
        break;
      case Act::Kind::kRun:
        co_await a.run(cpu, a.object);
        break;
      case Act::Kind::kUser:
        co_await kernel::user_mode(cpu, a.time);
        break;
      case Act::Kind::kNote:
        a.note();
        break;
    }
  }

  static Co<> run_program(Cpu&, Task& task) {
    Program& program = *static_cast<Program*>(task.data);
    for (const Act& act : program.acts) co_await perform(*task.running_on, act);
    ++program.owner->ended_;
  }

  std::deque<Program> programs_;
  std::deque<Watch> watches_;
  std::size_t ended_ = 0;
  bool booted_ = false;
};

}  // namespace idlesim::testing

#endif  // IDLESIM_TESTS_SUPPORT_KERNEL_UNDER_TEST_H_

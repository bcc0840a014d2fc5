// The races of interleaving_test.cc: CPU 0 sends, CPU 1 idles, in one order of what they do to each
// other.
#ifndef IDLESIM_TESTS_KERNEL_RACE_PROGRAM_H_
#define IDLESIM_TESTS_KERNEL_RACE_PROGRAM_H_

#include <string>
#include <vector>

#include "support/explorer.h"
#include "support/kernel_under_test.h"

namespace idlesim::testing {

using hw::Arch;
using kernel::KernelOps;

enum class Do { kCall, kCallNoWait, kManyNoWait, kWake };

struct Race {
  Arch arch = Arch::kX86_64;
  std::vector<Axis> axes;
  int idle_state = 1;  // governor fixed
  std::vector<Do> sender;
  bool leaving = false;
  bool gate_csd = true;
  void (*fault)(KernelOps& ops) = nullptr;
};

// There are no ticks in the races: a stopped one that is restarted would be the first.
inline Co<kernel::GovernorChoice> haltpoll_keeps_tick(Cpu& cpu) {
  Cpu& self = cpu;
  kernel::GovernorChoice choice = co_await kernel::haltpoll_select(self);
  choice.stop_tick = false;
  co_return choice;
}

class RaceProgram final : public Program {
 public:
  explicit RaceProgram(const Race& race)
      : race_(race),
        machine_spec_(make_machine(race.arch)),
        kernel_spec_(constant_costs(race.arch, 1)),
        machine_(machine_spec_, 1, 0),
        kernel_(machine_, kernel_spec_, make_config(race)) {
    if (kernel_.ops.governor_select == kernel::haltpoll_select)
      kernel_.ops.governor_select = haltpoll_keeps_tick;
    if (race.fault != nullptr) race.fault(kernel_.ops);
    called_.resize(race.sender.size());
    start_sender();
    sleeper_ = &kernel_.new_task("sleeper", 1, sleeper, this);
    sleeper_->state.poke(kernel::TASK_INTERRUPTIBLE);
    if (race.leaving) kernel_.per_cpu(1).idle.flags.poke(kernel_.ops.idle_exit_flags);
    machine_.cpu(1).boot(Time{}, start_idle, this);
  }

  hw::Machine& machine() override { return machine_; }
  std::string verdict() override {
    if (!sent_) return "the sender waits for ever";
    for (std::size_t i = 0; i < called_.size(); ++i) {
      if (race_.sender[i] == Do::kWake) continue;
      if (called_[i].runs != 1)
        return "call " + std::to_string(i) + " ran " + std::to_string(called_[i].runs) + " times";
    }
    if (wanted_runs_ != runs_) return "the woken task did not run";
    if (kernel_.per_cpu(1).call_single_queue.peek() != 0) return "the queue is not empty";
    return {};
  }

 private:
  static hw::MachineSpec make_machine(Arch arch) {
    hw::MachineSpec spec = kernel_machine(arch);
    spec.topology.cores_per_cluster = 1;
    spec.cpu.wfxt = arch == Arch::kArm64;
    return spec;
  }
  static kernel::KernelConfig make_config(const Race& race) {
    kernel::KernelConfig config;
    config.features = features_of(race.arch, {{"tif_line", "own"}});
    for (const Axis& axis : race.axes) config.features.set(axis.name, axis.value);
    config.idle_state = race.idle_state;
    return config;
  }

  void start_sender() {
    kernel::PerCpu& cpu = kernel_.per_cpu(0);
    Task& task = kernel_.new_task("sender", 0, nullptr, nullptr);
    task.on_cpu.poke(1);
    task.on_rq.poke(1);
    task.started = true;
    cpu.curr = &task;
    cpu.nr_running.poke(1);
    cpu.rq_curr.poke(static_cast<std::uint64_t>(task.pid));
    machine_.cpu(0).boot(Time{}, start_send, this);
  }
  static void start_send(void* program) {
    RaceProgram& self = *static_cast<RaceProgram*>(program);
    self.sender_.start(send(self.machine_.cpu(0), self), ended, &self);
  }
  static void start_idle(void* program) {
    RaceProgram& self = *static_cast<RaceProgram*>(program);
    Task& idle = self.kernel_.per_cpu(1).idle;
    idle.started = true;
    idle.root.start(kernel::cpu_startup_entry(self.machine_.cpu(1)), ended, &self);
  }
  static void ended(void*) {}

  static Co<> send(Cpu& cpu, RaceProgram& program) {
    RaceProgram& self = program;
    co_await cpu.local_irq_enable();
    for (std::size_t i = 0; i < self.race_.sender.size(); ++i) {
      Called* called = &self.called_[i];
      switch (self.race_.sender[i]) {
        case Do::kCall:
          co_await kernel::smp_call_function_single(cpu, 1, called_function, called, true);
          break;
        case Do::kCallNoWait:
          co_await kernel::smp_call_function_single(cpu, 1, called_function, called, false);
          break;
        case Do::kManyNoWait:
          co_await kernel::smp_call_function_many(cpu, CpuMask::of(2, 1), called_function, called,
                                                  false);
          break;
        case Do::kWake:
          ++self.wanted_runs_;
          co_await kernel::try_to_wake_up(cpu, *self.sleeper_);
          break;
      }
    }
    self.sent_ = true;
  }
  static Co<> sleeper(Cpu&, Task& task) {
    ++static_cast<RaceProgram*>(task.data)->runs_;
    co_return;
  }

  const Race race_;
  const hw::MachineSpec machine_spec_;
  const kernel::KernelSpec kernel_spec_;
  hw::Machine machine_;
  kernel::Kernel kernel_;
  sim::Root sender_;
  Task* sleeper_ = nullptr;
  std::deque<Called> called_;
  bool sent_ = false;
  int wanted_runs_ = 0;
  int runs_ = 0;
};

inline Exploration run_race(const Race& race, int spin_deadlines = 0, int stream_events = 0) {
  ExploreOptions options;
  options.lines = {"TIF", "CSQ"};
  if (race.gate_csd) options.lines.push_back("CSD");
  options.max_runs = 3'000'000;
  options.spin_deadlines = spin_deadlines;
  options.stream_events = stream_events;
  return explore([&] { return std::make_unique<RaceProgram>(race); }, options);
}

inline std::string to_string(const Race& race) {
  std::string text = race.arch == Arch::kX86_64 ? "x86_64" : "arm64";
  for (const Axis& axis : race.axes) text += std::string(" ") + axis.value;
  text += " state " + std::to_string(race.idle_state) + (race.leaving ? " leaving:" : ":");
  for (const Do act : race.sender)
    text += act == Do::kCall         ? " call"
            : act == Do::kCallNoWait ? " async"
            : act == Do::kManyNoWait ? " many"
                                     : " wake";
  return text;
}

inline void expect_no_loss(const Race& race, int spin_deadlines = 0, int stream_events = 0) {
  const Exploration result = run_race(race, spin_deadlines, stream_events);
  std::cout << to_string(race) << ": " << result.runs << " orders, " << result.pruned
            << " cut short, at most " << result.longest << " steps" << std::endl;
  EXPECT_TRUE(result.passed()) << to_string(race) << "\n" << result.failure;
  EXPECT_GE(result.runs, 3u);
}

}  // namespace idlesim::testing

#endif  // IDLESIM_TESTS_KERNEL_RACE_PROGRAM_H_

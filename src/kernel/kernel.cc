#include "idlesim/kernel/kernel.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/kernel/hotplug.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/smp.h"

namespace idlesim::kernel {

const PathInfo& path_info(Path path) {
  static constexpr PathInfo kInfo[] = {
#define IDLESIM_PATH(name, atomics, barriers, privileged) {#name, atomics, barriers, privileged},
      IDLESIM_PATHS(IDLESIM_PATH)
#undef IDLESIM_PATH
  };
  return kInfo[static_cast<std::size_t>(path)];
}

namespace {

void idle_task_ended(void*) { CHECK(false, "the idle task ended"); }

void start_idle_task(void* pcpu) {
  PerCpu& self = *static_cast<PerCpu*>(pcpu);
  self.idle.started = true;
  self.idle.root.start(cpu_startup_entry(*self.cpu), idle_task_ended, pcpu);
}

}  // namespace

hw::SpinLoop relax_loop(Cpu& cpu, Path round, std::uint64_t mask) {
  const hw::PathCost& cost = kernel_of(cpu).cost(round);
  hw::SpinLoop loop;
  loop.mask = mask;
  loop.pause = cpu.spec().pause;
  loop.period = cost.time + loop.pause;
  loop.instructions = cost.instructions;
  return loop;
}

Kernel::Kernel(hw::Machine& machine, const KernelSpec& spec, const KernelConfig& config)
    : ops(make_ops(config.features)),
      foreground(machine.nr_cpus()),
      machine_(machine),
      spec_(spec),
      config_(config),
      background_random_(machine.stream("background", 0)) {
  const std::string why = why_impossible(config.features, machine.spec().cpu.arch);
  CHECK(why.empty(), why);
  for (std::size_t i = 0; i < kPaths; ++i) {
    const auto path = static_cast<Path>(i);
    costs_[i] = path_cost(machine.spec().cpu, spec, path);
  }
  tick_period_ = Time::seconds(1) / spec.hz;
  tick_phase_ = machine.stream("tick-phase", 0).uniform(Time{}, tick_period_);

  const auto global = [&machine](const char* name) {
    return Word(machine.new_line(machine.line_name(name), 0), 0);
  };
  rd_overloaded = global("RD");
  hw::Line& nohz = machine.new_line(machine.line_name("NOHZ"), 0);
  nohz_nr_cpus = Word(nohz, 0);
  nohz_has_blocked = Word(nohz, 0);
  nohz_cpus_mask = global("NOHZMASK");
  hw::Line& tick = machine.new_line(machine.line_name("TICK"), 0);
  jiffies = Word(tick, 0);
  jiffies_lock = Word(tick, 0);
  tick_do_timer_cpu = Word(tick, kNoTimerCpu);
  const hw::Topology& topology = machine.topology();
  for (int llc = 0; llc < topology.nr_clusters(); ++llc) {
    const hw::NodeId node = topology.node_of_core(llc * topology.spec().cores_per_cluster);
    const auto cpus = static_cast<std::uint64_t>(topology.cpus_of_cluster(llc).weight());
    hw::Line& line = machine.new_line(machine.line_name("LLC"), node);
    // The machine has been at rest: all cores are idle, and a scan may look at the whole LLC.
    llc_shared.push_back(
        {Word(line, cpus), Word(line, topology.spec().threads_per_core > 1), Word(line, cpus)});
  }
  init_mm_lines(init_mm, 0);
  for (CpuId id = 0; id < nr_cpus(); ++id) {
    PerCpu& pcpu = per_cpu_.emplace_back();
    pcpu.kernel = this;
    pcpu.cpu = &machine.cpu(id);
    pcpu.id = id;
    pcpu.cpu->os = &pcpu;
    pcpu.cpu->interrupt_handler = interrupt_entry;
    if (config_.event_stream && machine.spec().cpu.arch == hw::Arch::kArm64)
      pcpu.cpu->set_event_stream(event_stream_bit(machine.spec().cpu.tsc, machine.spec().cpu.ecv));
    lay_out(pcpu);
    build_domains(pcpu);
  }
}

void Kernel::init_task(Task& task, hw::Line& line) {
  task.flags = Word(line, 0);
  task.state = Word(line, TASK_RUNNING);
  task.on_cpu = Word(line, 0);
  task.on_rq = Word(line, 0);
  task.wake_entry.llist = Word(line, 0);
  task.wake_entry.flags = Word(line, 0);
}

void Kernel::init_mm_lines(Mm& mm, hw::NodeId node) {
  hw::Line& line = machine_.new_line(machine_.line_name("MM"), node);
  hw::Line& own = ops.mm_count_alone ? machine_.new_line(machine_.line_name("MMR"), node) : line;
  mm.mm_count = Word(own, 1);
  mm.mm_users = Word(line, 1);
}

void Kernel::lay_out(PerCpu& pcpu) {
  const hw::NodeId node = machine_.topology().node(pcpu.id);
  const auto line = [&](const char* name) -> hw::Line& {
    return machine_.new_line(machine_.line_name(name), node);
  };
  hw::Line& tif = line("TIF");
  pcpu.idle.comm = "swapper/" + std::to_string(pcpu.id);
  pcpu.idle.cpu = pcpu.id;
  init_task(pcpu.idle, ops.tif_alone ? line("TASK") : tif);
  pcpu.idle.flags = Word(tif, 0);
  pcpu.idle.on_cpu.poke(1);
  pcpu.idle.on_rq.poke(1);
  pcpu.idle.cpus_mask = CpuMask::of(nr_cpus(), pcpu.id);
  pcpu.idle.active_mm = &init_mm;
  pcpu.curr = &pcpu.idle;

  pcpu.call_single_queue = Word(line("CSQ"), 0);
  hw::Line& csd_data = line("CSD");
  pcpu.csd_data.llist = Word(csd_data, 0);
  pcpu.csd_data.flags = Word(csd_data, 0);
  hw::Line& stack = line("CSD");
  pcpu.csd_stack.llist = Word(stack, 0);
  pcpu.csd_stack.flags = Word(stack, 0);
  pcpu.stack_local = Word(ops.csd_with_stack ? stack : line("STACK"), 0);
  pcpu.stack = Word(line("STACK"), 0);

  hw::Line& rq = line("RQ");
  pcpu.rq_lock = Word(rq, 0);
  pcpu.nr_running = Word(ops.rq_split ? line("RQ") : rq, 0);
  pcpu.wake_list = Word(rq, 0);
  pcpu.ttwu_pending = Word(line("RQ2"), 0);
  pcpu.rq_curr = Word(line("RQC"), 0);
  pcpu.cfs = Word(line("CFS"), 0);
  pcpu.avg_idle = Time::ms(1);

  if (ops.can_poll && machine_.spec().cpu.arch == hw::Arch::kX86_64)
    pcpu.cpuidle.states.push_back(nullptr);
  for (const hw::IdleStateSpec& state : machine_.spec().idle_states) {
    const auto& disabled = config_.disabled_states;
    if (std::find(disabled.begin(), disabled.end(), state.name) == disabled.end())
      pcpu.cpuidle.states.push_back(&state);
  }
  if (ops.governor_enable != nullptr) ops.governor_enable(pcpu);
}

// Linux: kernel/sched/topology.c: SMT, the shared cache, the nodes, the machine.
void Kernel::build_domains(PerCpu& pcpu) {
  const hw::Topology& topology = machine_.topology();
  const auto add = [&pcpu](const char* name, CpuMask span) {
    const int below = pcpu.domains.empty() ? 1 : pcpu.domains.back().span.weight();
    if (span.weight() > below) pcpu.domains.push_back({name, std::move(span), {}});
  };
  pcpu.smt_mask = topology.siblings(pcpu.id);
  pcpu.llc_mask = topology.cpus_of_cluster(topology.cluster(pcpu.id));
  add("SMT", pcpu.smt_mask);
  add("MC", pcpu.llc_mask);
  add("PKG", topology.cpus_of_node(topology.node(pcpu.id)));
  add("NODE", topology.cpus_of_socket(topology.socket(pcpu.id)));
  add("NUMA", CpuMask::all(nr_cpus()));
}

Mm& Kernel::new_mm(CpuId cpu) {
  Mm& mm = mms_.emplace_back();
  mm.id = static_cast<std::int32_t>(mms_.size());
  init_mm_lines(mm, machine_.topology().node(cpu));
  return mm;
}

Task& Kernel::new_task(std::string comm, CpuId cpu, Co<> (*entry)(Cpu&, Task&), void* data) {
  return new_task(std::move(comm), cpu, CpuMask::of(nr_cpus(), cpu), nullptr, entry, data);
}

Task& Kernel::new_task(std::string comm, CpuId cpu, CpuMask allowed, Mm* mm,
                       Co<> (*entry)(Cpu&, Task&), void* data) {
  CHECK(allowed.test(cpu), "a task begins where it may run");
  for (const CpuId each : allowed) foreground.set(each);
  Task& task = tasks_.emplace_back();
  task.pid = static_cast<std::int32_t>(tasks_.size());
  task.comm = std::move(comm);
  task.cpu = task.recent_used_cpu = cpu;
  task.cpus_mask = std::move(allowed);
  task.mm = task.active_mm = mm;
  task.entry = entry;
  task.data = data;
  const hw::NodeId node = machine_.topology().node(cpu);
  init_task(task, machine_.new_line(machine_.line_name("TASK"), node));
  task.pi_lock = Word(machine_.new_line(machine_.line_name("PI"), node), 0);
  task.stack = Word(machine_.new_line(machine_.line_name("STACK"), node), 0);
  return task;
}

void Kernel::boot() {
  take_offline_at_boot(*this);
  // A CPU with tasks begins in its idle task too, finds one runnable and switches to it.
  for (Task* task : first_) {
    PerCpu& pcpu = per_cpu(task->cpu);
    task->on_rq.poke(1);
    pcpu.runnable.push_back(task);
    pcpu.nr_running.poke(pcpu.nr_running.peek() + 1);
    pcpu.idle.flags.poke(TIF_NEED_RESCHED);
  }
  for (PerCpu& pcpu : per_cpu_) {
    pcpu.cpu->reset_spec_ctrl(ops.spec_ctrl_base);
    tick_setup(*pcpu.cpu);
    pcpu.cpu->boot(Time{}, start_idle_task, &pcpu);
  }
  start_background();
}

// --- background ---

// Each event is the start of one pair (argument kNoCpu) or the end of the pair on that CPU.
void Kernel::start_background() {
  const Background& background = config_.background;
  if (background.pairs_per_second == 0) return;
  const Time mean = Time::seconds(1) / background.pairs_per_second;
  machine_.engine().post(machine_.now() + background_random_.exponential(mean), background_event,
                         this, static_cast<std::uint64_t>(nr_cpus()));
}

void Kernel::background_event(void* kernel, std::uint64_t argument) {
  Kernel& self = *static_cast<Kernel*>(kernel);
  const auto write = [](Word& word, CpuId cpu, hw::CoreId core, std::uint64_t value) {
    word.poke(value);
    word.line().take(cpu, core);
  };
  if (argument < static_cast<std::uint64_t>(self.nr_cpus())) {
    const auto cpu = static_cast<CpuId>(argument);
    PerCpu& rq = self.per_cpu(cpu);
    write(rq.nr_running, cpu, rq.cpu->core(), rq.nr_running.peek() - 2);
    return;
  }
  CpuId cpu = kNoCpu;
  do {
    cpu = static_cast<CpuId>(
        self.background_random_.below(static_cast<std::uint64_t>(self.nr_cpus())));
  } while (self.foreground.test(cpu) && self.foreground.weight() < self.nr_cpus());
  const Time duration = self.background_random_.exponential(self.config_.background.mean_duration);
  if (!self.foreground.test(cpu)) {
    PerCpu& rq = self.per_cpu(cpu);
    write(rq.nr_running, cpu, rq.cpu->core(), rq.nr_running.peek() + 2);
    write(self.rd_overloaded, cpu, rq.cpu->core(), 1);
    self.machine_.engine().post(self.machine_.now() + duration, background_event, kernel,
                                static_cast<std::uint64_t>(cpu));
  }
  self.start_background();
}

}  // namespace idlesim::kernel

// perf bench sched pipe (tools/perf/bench/sched-pipe.c): two tasks and two pipes; one message goes
// to and fro. Parameter names are those of perf's options: `loop` (-l), `threaded` (-T); `cpus`
// pins the two tasks, which perf leaves to taskset.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "idlesim/base/check.h"
#include "idlesim/config/reader.h"
#include "idlesim/kernel/pipe.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/workload/workload.h"

namespace idlesim::workload {

namespace {

using kernel::Cpu;
using kernel::Path;
using kernel::Pipe;
using kernel::Task;
using sim::Co;

struct Parameters {
  std::int64_t loop = 1'000'000;
  bool threaded = false;
  std::vector<std::int64_t> cpus;  // of the two tasks; empty: left to the scheduler

  bool pinned() const { return !cpus.empty(); }
  bool same_cpu() const { return pinned() && cpus[0] == cpus[1]; }
};

// What its trace::Sample events mean. The stages are those of one wake-up, from the writer's call
// of write() to the reader's return from read(), and add up to wake_ns.
enum Metric : std::uint16_t {
  kOp,
  kUsecsPerOp,
  kWake,
  kInstructionsPerOp,
  kCyclesPerOp,
  kIdleShare,
  kPollShare,
  kWriteToWake,
  kWakeToSignal,
  kSignalToIdleExit,
  kExitToSwitch,
  kSwitchToReturn,
};
const std::vector<MetricInfo>& metric_infos() {
  static const std::vector<MetricInfo> kInfos = {
      {"op_ns"},
      {"usecs_per_op", "us", false, 1'000'000},
      {"wake_ns"},
      {"instructions_per_op", "instructions"},
      {"cycles_per_op", "cycles"},
      {"idle_share_percent", "%"},
      {"poll_share_percent", "%"},
      {"write: call of write() to the wake-up", "ns", false, 1000, true},
      {"wake: to the signal, flag word or interrupt", "ns", false, 1000, true},
      {"exit: signal to the end of the idle state", "ns", false, 1000, true},
      {"switch: to the stack switch to the reader", "ns", false, 1000, true},
      {"return: stack switch to the return from read()", "ns", false, 1000, true},
  };
  return kInfos;
}

class SchedPipe final : public Workload, public trace::Listener {
 public:
  explicit SchedPipe(const Parameters& parameters) : parameters_(parameters) {}

  void setup(kernel::Kernel& kernel) override {
    hw::Machine& machine = kernel.machine();
    kernel_ = &kernel;
    sim::Random random = machine.stream("workload-start", 0);
    start_ = Time::us(200) + random.uniform(Time{}, kernel.tick_period());
    cpus_.resize(static_cast<std::size_t>(kernel.nr_cpus()));
    kernel::Mm* mm = nullptr;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      const CpuId cpu = first_cpu(i, random);
      kernel::init_pipe(kernel, cpu, pipes_[i]);
      if (mm == nullptr || !parameters_.threaded) mm = &kernel.new_mm(cpu);
      const CpuMask allowed = parameters_.pinned() ? CpuMask::of(kernel.nr_cpus(), cpu)
                                                   : CpuMask::all(kernel.nr_cpus());
      worker.task =
          &kernel.new_task("sched-pipe/" + std::to_string(i), cpu, allowed, mm, work, this);
      kernel.first_task(*worker.task);
    }
    machine.tracer().add(this);
  }

  bool finished() const override { return ended_ == 2; }
  void check() const override {
    for (const Pipe& pipe : pipes_)
      if (pipe.head.peek() != pipe.tail.peek() ||
          pipe.head.peek() != static_cast<std::uint64_t>(parameters_.loop))
        throw SimulationError("sched_pipe: a message was lost");
  }
  Time run_time() const override { return end_ - start_; }
  std::uint64_t progress() const override { return loops_; }

  std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> all = {
        {"wakeups", wakeups_},
        {"sched_wake_idle_without_ipi", without_ipi_},
        {"migrations", migrations_},
        {"switches", switches_},
    };
    for (std::size_t state = 0; state < idle_.size(); ++state) {
      const std::string name = "idle_state_" + std::to_string(state);
      all.push_back({name + "_entries", idle_[state].entries});
      all.push_back({name + "_ns", idle_[state].time.count_ns()});
    }
    if (!parameters_.pinned()) return all;
    for (std::size_t i = 0; i < (parameters_.same_cpu() ? 1u : 2u); ++i) {
      const auto id = static_cast<CpuId>(parameters_.cpus[i]);
      const std::string name = "cpu" + std::to_string(id);
      const Used& cpu = cpus_[static_cast<std::size_t>(id)];
      all.push_back({name + "_instructions", static_cast<std::int64_t>(cpu.instructions)});
      all.push_back({name + "_cycles", cpu.cycles});
    }
    return all;
  }

  // --- what it listens to

  std::uint32_t wants() const override {
    return trace::kinds<trace::IpiElided, trace::IdleEnter, trace::IdleExit, trace::Switch,
                        trace::Wakeup>();
  }
  void on(const trace::IpiElided&) override { without_ipi_ += running_; }
  void on(const trace::Wakeup& event) override {
    if (running_ == 0 || worker_of(event.task) == nullptr) return;
    ++wakeups_;
  }
  void on(const trace::Switch& event) override {
    Used& cpu = used(event.cpu);
    Worker* worker = worker_of(event.next);
    if (worker == nullptr && worker_of(event.prev) == nullptr) return;
    switches_ += running_;
    if (worker == nullptr) return;
    worker->switched = event.time;
    worker->left_idle = cpu.left_idle;
    if (worker->cpu != kNoCpu && worker->cpu != event.cpu) migrations_ += running_;
    worker->cpu = event.cpu;
    cpu.used = true;
  }
  void on(const trace::IdleEnter& event) override {
    used(event.cpu).state = event.state;
    used(event.cpu).entered = event.time;
  }
  void on(const trace::IdleExit& event) override {
    Used& cpu = used(event.cpu);
    cpu.left_idle = event.time;
    count_idle(cpu, event.time);
    cpu.state = -1;
  }

 private:
  struct Worker {
    Task* task = nullptr;
    CpuId cpu = kNoCpu;  // where it was seen last
    Time switched;       // to it
    Time left_idle;      // its CPU, before that
  };
  // A CPU, from the start on.
  struct Used {
    bool used = false;  // a worker has run there
    int state = -1;     // idle state it is in
    Time entered;
    Time left_idle;
    // At the start; at the end, what was executed since.
    std::uint64_t instructions = 0;
    std::int64_t cycles = 0;
    Time halted;
  };
  struct IdleState {
    std::int64_t entries = 0;
    Time time;
  };

  CpuId first_cpu(std::size_t worker, sim::Random& random) const {
    if (parameters_.pinned()) return static_cast<CpuId>(parameters_.cpus[worker]);
    // Where fork() has put it: any CPU of the idle machine.
    return static_cast<CpuId>(random.below(static_cast<std::uint64_t>(kernel_->nr_cpus())));
  }
  Used& used(CpuId cpu) { return cpus_[static_cast<std::size_t>(cpu)]; }
  Worker* worker_of(std::int32_t pid) {
    for (Worker& worker : workers_)
      if (worker.task->pid == pid) return &worker;
    return nullptr;
  }

  // Idle time between start and end, of the CPUs in use.
  void count_idle(const Used& cpu, Time until) {
    if (running_ == 0 || cpu.state < 0 || !cpu.used) return;
    const auto state = static_cast<std::size_t>(cpu.state);
    if (idle_.size() <= state) idle_.resize(state + 1);
    ++idle_[state].entries;
    idle_[state].time += until - std::max(cpu.entered, start_);
  }
  void begin() {
    running_ = 1;
    hw::Machine& machine = kernel_->machine();
    for (CpuId id = 0; id < kernel_->nr_cpus(); ++id) {
      used(id).instructions = machine.cpu(id).instructions();
      used(id).halted = machine.cpu(id).halted_time();
    }
  }
  // The last one has ended: counts become what was counted.
  void end(Time now) {
    end_ = now;
    std::int64_t instructions = 0, cycles = 0, in_use = 0;
    for (CpuId id = 0; id < kernel_->nr_cpus(); ++id) {
      Used& cpu = used(id);
      const hw::Cpu& hw_cpu = kernel_->machine().cpu(id);
      if (!cpu.used) continue;
      count_idle(cpu, now);
      const Time active = now - start_ - (hw_cpu.halted_time() - cpu.halted);
      cpu.instructions = hw_cpu.instructions() - cpu.instructions;
      cpu.cycles = hw_cpu.spec().clock.to_cycles(active).count;
      instructions += static_cast<std::int64_t>(cpu.instructions);
      cycles += cpu.cycles;
      ++in_use;
    }
    running_ = 0;
    Time idle;
    for (const IdleState& state : idle_) idle += state.time;
    const Time polled = idle_.empty() ? Time{} : idle_[0].time;
    const std::int64_t whole = ((end_ - start_) * in_use).count_ns();
    const auto percent = [&](Time part) { return part.count_ns() * 100'000 / whole; };
    sample(kUsecsPerOp, (end_ - start_).count_ps() / parameters_.loop);
    sample(kInstructionsPerOp, instructions * 1000 / parameters_.loop);
    sample(kCyclesPerOp, cycles * 1000 / parameters_.loop);
    sample(kIdleShare, percent(idle));
    sample(kPollShare, percent(polled));
  }
  void sample(Metric metric, std::int64_t value) {
    kernel_->tracer().emit(trace::Sample{metric, value});
  }

  // The reader is back from read(), in which it was woken if the wake-up was issued after `called`.
  void woken(const Worker& worker, Time written, Time called, Time returned) {
    const kernel::CallSingleData& wake = worker.task->wake_entry;
    if (wake.issued < called || worker.switched < wake.issued) return;
    // Its CPU may be there before the waker has noted that it has signalled, and may have been out
    // of idle, or never in it.
    const Time switched = worker.switched;
    const Time signalled = std::clamp(wake.signalled, wake.issued, switched);
    const Time left_idle = std::clamp(worker.left_idle, signalled, switched);
    sample(kWake, (returned - written).count_ps());
    sample(kWriteToWake, (wake.issued - written).count_ps());
    sample(kWakeToSignal, (signalled - wake.issued).count_ps());
    sample(kSignalToIdleExit, (left_idle - signalled).count_ps());
    sample(kExitToSwitch, (switched - left_idle).count_ps());
    sample(kSwitchToReturn, (returned - switched).count_ps());
  }

  static Co<> read(SchedPipe& pipe, Worker& worker, std::size_t which) {
    SchedPipe& self = pipe;
    Worker& reader = worker;
    Task& task = *reader.task;
    const Time called = task.running_on->now();
    co_await kernel::exec(*task.running_on, Path::sched_pipe_loop);
    co_await kernel::sys_read(*task.running_on, self.pipes_[which]);
    self.woken(reader, self.written_[which], called, task.running_on->now());
  }
  static Co<> write(SchedPipe& pipe, Worker& worker, std::size_t which) {
    SchedPipe& self = pipe;
    Task& task = *worker.task;
    co_await kernel::exec(*task.running_on, Path::sched_pipe_loop);
    self.written_[which] = task.running_on->now();
    co_await kernel::sys_write(*task.running_on, self.pipes_[which]);
  }

  // sched-pipe.c, worker_thread().
  static Co<> work(Cpu& cpu, Task& task) {
    SchedPipe& self = *static_cast<SchedPipe*>(task.data);
    const bool first = self.workers_[0].task == &task;
    Worker& worker = self.workers_[first ? 0 : 1];
    // The first has been forked before, and waits for its message by then.
    co_await kernel::schedule_hrtimeout(cpu, first ? self.start_ - kForked : self.start_);
    if (!first) self.begin();
    for (std::int64_t i = 0; i < self.parameters_.loop; ++i) {
      const Time began = task.running_on->now();
      if (first) {
        co_await read(self, worker, 0);
        co_await write(self, worker, 1);
      } else {
        co_await write(self, worker, 0);
        co_await read(self, worker, 1);
        self.sample(kOp, (task.running_on->now() - began).count_ps());
        ++self.loops_;
      }
    }
    ++self.ended_;
    if (!self.finished()) co_return;
    self.end(task.running_on->now());
    task.running_on->machine().engine().stop();
  }

  static constexpr Time kForked = Time::us(100);

  const Parameters& parameters_;
  kernel::Kernel* kernel_ = nullptr;
  std::array<Pipe, 2> pipes_;
  std::array<Worker, 2> workers_;
  std::array<Time, 2> written_;  // when write() was called last
  std::vector<Used> cpus_;
  std::vector<IdleState> idle_;
  Time start_;
  Time end_;
  int ended_ = 0;
  std::uint64_t loops_ = 0;
  int running_ = 0;  // 1 while it counts
  std::int64_t wakeups_ = 0;
  std::int64_t without_ipi_ = 0;
  std::int64_t migrations_ = 0;
  std::int64_t switches_ = 0;
};

class SchedPipeSpec final : public WorkloadSpec {
 public:
  explicit SchedPipeSpec(Parameters parameters) : parameters_(std::move(parameters)) {}

  void check_machine(config::Reader in, const hw::Topology& topology) const override {
    for (const std::int64_t cpu : parameters_.cpus)
      if (cpu >= topology.nr_cpus())
        in.fail("cpus", "CPU " + std::to_string(cpu) + " is outside the machine, which has " +
                            std::to_string(topology.nr_cpus()) + " CPUs");
  }
  std::unique_ptr<Workload> create() const override {
    return std::make_unique<SchedPipe>(parameters_);
  }
  std::vector<MetricInfo> metrics() const override { return metric_infos(); }
  std::vector<PathStep> explain(const Setup& setup) const override {
    return sched_pipe_path(setup, parameters_.pinned(), parameters_.same_cpu());
  }
  std::string describe() const override {
    std::string text = "perf bench sched pipe -l " + std::to_string(parameters_.loop);
    if (parameters_.threaded) text += " -T";
    if (parameters_.pinned())
      text += ", pinned to CPUs " + std::to_string(parameters_.cpus[0]) + " and " +
              std::to_string(parameters_.cpus[1]);
    return text;
  }

 private:
  Parameters parameters_;
};

}  // namespace

std::unique_ptr<WorkloadSpec> read_sched_pipe(config::Reader in) {
  constexpr std::int64_t kMostCpus = 8191;
  Parameters p;
  p.loop = in.integer_or("loop", 1, std::int64_t{1} << 40, p.loop);
  p.threaded = in.boolean_or("threaded", p.threaded);
  if (in.has("cpus")) {
    p.cpus = in.integers("cpus", 0, kMostCpus);
    if (p.cpus.size() != 2 && !p.cpus.empty()) {
      in.fail("cpus", "two CPUs, of the first and the second task, or none");
      p.cpus.clear();
    }
  }
  return std::make_unique<SchedPipeSpec>(std::move(p));
}

}  // namespace idlesim::workload

// A program that calls getppid() again and again, with some work of its own in between.
#include <string>
#include <vector>

#include "idlesim/base/check.h"
#include "idlesim/config/reader.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/spec_ctrl.h"
#include "idlesim/workload/sibling.h"
#include "idlesim/workload/workload.h"

namespace idlesim::workload {

namespace {

using kernel::Cpu;
using kernel::Path;
using kernel::Task;
using sim::Co;

struct Parameters {
  CpuId cpu = 0;
  std::int64_t calls = 100'000;
  std::int64_t user_cycles_milli = 0;        // between two calls
  std::int64_t indirect_branches_milli = 0;  // in them
  Time warmup;
  SiblingParameters sibling;
};

const std::vector<MetricInfo> kMetrics = {{"system_call_ns"}};
enum Metric : std::uint16_t { kCall, kCount };

class SyscallLoop final : public Workload {
 public:
  explicit SyscallLoop(const Parameters& parameters)
      : parameters_(parameters), sibling_(parameters.sibling, parameters.cpu, kCount) {}

  void setup(kernel::Kernel& kernel) override {
    start_ = Time::us(200) +
             kernel.machine().stream("workload-start", 0).uniform(Time{}, kernel.tick_period());
    kernel.first_task(kernel.new_task("syscall_loop", parameters_.cpu, program, this));
    sibling_.setup(kernel, start_, Time::seconds(1'000'000));
  }
  bool finished() const override { return finished_; }
  void check() const override {
    if (calls_ != parameters_.calls) throw SimulationError("syscall_loop: a call was lost");
  }
  Time run_time() const override { return end_ - begun_; }
  std::uint64_t progress() const override { return static_cast<std::uint64_t>(calls_); }
  std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> all{{"system_calls", calls_}};
    for (CounterValue& value : sibling_.counters()) all.push_back(std::move(value));
    return all;
  }

 private:
  static Co<> program(Cpu& cpu, Task& task) {
    SyscallLoop& self = *static_cast<SyscallLoop*>(task.data);
    const Parameters& parameters = self.parameters_;
    trace::Tracer& tracer = cpu.machine().tracer();
    const Time user = cpu.spec().clock.milli_to_time(parameters.user_cycles_milli);
    co_await kernel::schedule_hrtimeout(cpu, self.start_ + parameters.warmup);
    co_await kernel::syscall_exit(cpu);
    self.begun_ = cpu.now();
    self.sibling_.start_measuring(0);
    std::int64_t branches = 0;
    while (self.calls_ < parameters.calls) {
      branches += parameters.indirect_branches_milli;
      co_await cpu.exec({user, 0, static_cast<std::uint32_t>(branches / 1000)});
      branches %= 1000;
      const Time called = cpu.now();
      co_await kernel::syscall_enter(cpu);
      co_await kernel::exec(cpu, Path::getppid);
      co_await kernel::syscall_exit(cpu);
      ++self.calls_;
      tracer.emit(trace::Sample{self.sibling_.metric(kCall), (cpu.now() - called).count_ps()});
    }
    self.end_ = cpu.now();
    self.sibling_.stop_measuring();
    self.finished_ = true;
    cpu.machine().engine().stop();
  }

  const Parameters& parameters_;
  Sibling sibling_;
  Time start_;
  Time begun_;
  Time end_;
  std::int64_t calls_ = 0;
  bool finished_ = false;
};

class SyscallLoopSpec final : public WorkloadSpec {
 public:
  explicit SyscallLoopSpec(const Parameters& parameters)
      : parameters_(parameters), metrics_(parameters_.sibling, kMetrics) {}

  void check_machine(config::Reader in, const hw::Topology& topology) const override {
    config::Reader reader = in;
    check_sibling(reader, parameters_.sibling, topology, parameters_.cpu);
  }
  std::unique_ptr<Workload> create() const override {
    return std::make_unique<SyscallLoop>(parameters_);
  }
  std::vector<MetricInfo> metrics() const override { return metrics_.all(); }
  std::string describe() const override {
    return "syscall_loop cpu=" + std::to_string(parameters_.cpu) +
           " calls=" + std::to_string(parameters_.calls) + " " +
           workload::describe(parameters_.sibling);
  }
  std::vector<PathStep> explain(const Setup& setup) const override {
    const kernel::KernelOps ops = kernel::make_ops(setup.config.features);
    const Time wrmsr = ops.spec_ctrl_base != 0 ? setup.machine.spec_ctrl_write : Time{};
    const hw::PathCost call = kernel::path_cost(setup.machine.cpu, setup.kernel, Path::getppid);
    std::vector<PathStep> steps;
    steps.push_back({"", "a program on CPU " + std::to_string(parameters_.cpu), 0, {}});
    steps.push_back({"program", "user code between two calls", 0,
                     setup.machine.cpu.clock.milli_to_time(parameters_.user_cycles_milli)});
    steps.push_back({"program", "SPEC_CTRL on entry", 0, wrmsr});
    steps.push_back({"program", "getppid()", call.instructions, call.time});
    steps.push_back({"program", "SPEC_CTRL on exit", 0, wrmsr});
    return steps;
  }

 private:
  const Parameters parameters_;
  const PhaseMetrics metrics_;
};

}  // namespace

std::unique_ptr<WorkloadSpec> read_syscall_loop(config::Reader in) {
  constexpr std::int64_t kMostCpus = 8191;
  Parameters p;
  p.cpu = static_cast<CpuId>(in.integer_or("cpu", 0, kMostCpus, p.cpu));
  p.calls = in.integer_or("calls", 1, std::int64_t{1} << 40, p.calls);
  p.user_cycles_milli = in.integer_or("user_cycles", 1, 1'000'000'000, 100) * 1000;
  p.indirect_branches_milli = in.integer_or("indirect_branches", 0, 1'000'000, 0) * 1000;
  p.warmup = in.time_or("warmup_ms", Time::ms(20));
  p.sibling = read_sibling(in);
  if (p.sibling.wakes_per_second.size() > 1)
    in.fail("sibling_wakes_per_second", "syscall_loop has one phase");
  return std::make_unique<SyscallLoopSpec>(p);
}

}  // namespace idlesim::workload

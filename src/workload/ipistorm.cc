// ipistorm (github.com/antonblanchard/ipistorm): senders call an empty function on other CPUs, one
// call after the other. Parameter names are the module's; `numipi` and `cpulist` are of the
// modified version of 2024, whose source is not public: calls per sender, and the senders.
#include <algorithm>
#include <string>
#include <vector>

#include "idlesim/base/check.h"
#include "idlesim/config/reader.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/smp.h"
#include "idlesim/workload/workload.h"

namespace idlesim::workload {

namespace {

using kernel::Cpu;
using kernel::Path;
using kernel::Task;
using sim::Co;

// Between two calls (kernel-paths 2.8): the published module sleeps or reschedules, the modified
// one is assumed to do neither.
enum class Pause { kNone, kUsleepRange, kCondResched };

struct Parameters {
  std::int64_t timeout_seconds = 30;
  std::int64_t numipi = 0;
  bool single = false;
  bool wait = true;
  std::int64_t offset = 1;
  std::int64_t mask = 0;
  std::int64_t delay_us = 0;
  std::vector<std::int64_t> cpulist;
  Pause pause = Pause::kNone;

  CpuId target(CpuId cpu, int nr_cpus) const {
    const std::int64_t n = nr_cpus;
    if (mask != 0) return static_cast<CpuId>(((cpu & ~mask) + ((cpu + offset) & mask)) % n);
    return static_cast<CpuId>((cpu + offset) % n);
  }
};

class Ipistorm final : public Workload {
 public:
  explicit Ipistorm(const Parameters& parameters) : parameters_(parameters) {}

  void setup(kernel::Kernel& kernel) override {
    const int nr_cpus = kernel.nr_cpus();
    std::vector<std::int64_t> senders = parameters_.cpulist;
    if (senders.empty())
      for (CpuId cpu = 0; cpu < nr_cpus; ++cpu) senders.push_back(cpu);
    senders_ = static_cast<int>(senders.size());
    // The threads start together, at a time that differs between runs.
    start_ = Time::us(200) +
             kernel.machine().stream("workload-start", 0).uniform(Time{}, kernel.tick_period());
    for (const std::int64_t cpu : senders) {
      Task& task =
          kernel.new_task("ipistorm/" + std::to_string(cpu), static_cast<CpuId>(cpu), sender, this);
      kernel.first_task(task);
      kernel.foreground.set(parameters_.target(static_cast<CpuId>(cpu), nr_cpus));
    }
  }

  bool finished() const override { return ended_ == senders_; }
  void check() const override {
    if (!parameters_.wait) return;
    if (finished() && !timed_out_ &&
        calls_ != static_cast<std::uint64_t>(senders_ * parameters_.numipi))
      throw SimulationError("ipistorm: a call was lost");
  }
  Time run_time() const override { return end_ - start_; }
  std::uint64_t progress() const override { return calls_; }

 private:
  // ipistorm.c: the thread of one sender.
  static Co<> sender(Cpu& cpu, Task& task) {
    Ipistorm& self = *static_cast<Ipistorm*>(task.data);
    co_await kernel::schedule_hrtimeout(cpu, self.start_);
    const Parameters& parameters = self.parameters_;
    const int nr_cpus = kernel::kernel_of(cpu).nr_cpus();
    const Time deadline = self.start_ + Time::seconds(parameters.timeout_seconds);
    const CpuMask all = CpuMask::all(nr_cpus);
    const CpuId target = parameters.target(cpu.id, nr_cpus);
    for (std::int64_t i = 0; parameters.numipi == 0 || i < parameters.numipi; ++i) {
      if (cpu.now() >= deadline) {
        self.timed_out_ = true;
        break;
      }
      co_await kernel::exec(cpu, Path::ipistorm_loop);
      if (parameters.single)
        co_await kernel::smp_call_function_single(cpu, target, nullptr, nullptr, parameters.wait);
      else
        co_await kernel::smp_call_function_many(cpu, all, nullptr, nullptr, parameters.wait);
      ++self.calls_;
      if (parameters.pause != Pause::kNone) co_await pause(cpu, parameters);
    }
    ++self.ended_;
    self.end_ = std::max(self.end_, cpu.now());
    if (self.finished()) cpu.machine().engine().stop();
  }

  static Co<> pause(Cpu& cpu, const Parameters& parameters) {
    const Parameters& p = parameters;
    switch (p.pause) {
      case Pause::kNone:
        break;
      case Pause::kUsleepRange:
        co_await kernel::schedule_hrtimeout(cpu, cpu.now() + Time::us(p.delay_us));
        break;
      case Pause::kCondResched:
        if ((co_await kernel::read_once(cpu, kernel::this_cpu(cpu).curr->flags) &
             kernel::TIF_NEED_RESCHED) != 0)
          co_await kernel::schedule(cpu);
        break;
    }
  }

  const Parameters& parameters_;
  Time start_;
  Time end_;
  int senders_ = 0;
  int ended_ = 0;
  std::uint64_t calls_ = 0;
  bool timed_out_ = false;
};

class IpistormSpec final : public WorkloadSpec {
 public:
  explicit IpistormSpec(Parameters parameters) : parameters_(std::move(parameters)) {}

  void check_machine(config::Reader in, const hw::Topology& topology) const override {
    config::Reader reader = in;
    const int nr_cpus = topology.nr_cpus();
    for (const std::int64_t cpu : parameters_.cpulist)
      if (cpu >= nr_cpus)
        reader.fail("cpulist", "CPU " + std::to_string(cpu) +
                                   " is outside the machine, which has " + std::to_string(nr_cpus) +
                                   " CPUs");
  }
  std::unique_ptr<Workload> create() const override {
    return std::make_unique<Ipistorm>(parameters_);
  }
  std::vector<PathStep> explain(const Setup& setup) const override {
    return ipistorm_path(setup, parameters_.single, parameters_.wait);
  }
  std::string describe() const override {
    std::string text = "insmod ipistorm.ko numipi=" + std::to_string(parameters_.numipi) +
                       " single=" + (parameters_.single ? "1" : "0") +
                       " offset=" + std::to_string(parameters_.offset);
    if (parameters_.mask != 0) text += " mask=" + std::to_string(parameters_.mask);
    if (parameters_.delay_us != 0) text += " delay=" + std::to_string(parameters_.delay_us);
    text += " cpulist=";
    for (std::size_t i = 0; i < parameters_.cpulist.size(); ++i)
      text += (i == 0 ? "" : ",") + std::to_string(parameters_.cpulist[i]);
    return text + " wait=" + (parameters_.wait ? "1" : "0");
  }

 private:
  Parameters parameters_;
};

}  // namespace

std::unique_ptr<WorkloadSpec> read_ipistorm(config::Reader in) {
  static constexpr std::string_view kPauses[] = {"none", "usleep_range", "cond_resched"};
  constexpr std::int64_t kMostCpus = 8191;
  Parameters p;
  p.timeout_seconds = in.integer_or("timeout", 1, 86400, p.timeout_seconds);
  p.numipi = in.integer_or("numipi", 1, std::int64_t{1} << 40, 0);
  p.single = in.integer_or("single", 0, 1, 0) != 0;
  p.wait = in.integer_or("wait", 0, 1, 1) != 0;
  p.offset = in.integer_or("offset", 0, kMostCpus, p.offset);
  p.mask = in.integer_or("mask", 0, kMostCpus, 0);
  p.delay_us = in.integer_or("delay", 0, 1'000'000, 0);
  if (in.has("cpulist")) p.cpulist = in.integers("cpulist", 0, kMostCpus);
  if (in.has("pause")) {
    const std::string pause = in.enumeration("pause", kPauses);
    p.pause = pause == "none"           ? Pause::kNone
              : pause == "usleep_range" ? Pause::kUsleepRange
                                        : Pause::kCondResched;
  }
  return std::make_unique<IpistormSpec>(std::move(p));
}

}  // namespace idlesim::workload

// The other threads of a core on which a measured thread runs: what they do, and what was seen of
// it. For workloads that are about sharing a core.
#ifndef IDLESIM_WORKLOAD_SIBLING_H_
#define IDLESIM_WORKLOAD_SIBLING_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "idlesim/kernel/kernel.h"
#include "idlesim/trace/trace.h"
#include "idlesim/workload/workload.h"

namespace idlesim::workload {

// The first thread of a core other than `cpu`'s; kNoCpu if `cpu` has its core to itself.
CpuId sibling_of(const hw::Topology& topology, CpuId cpu);

// A task on the sibling sleeps, works, sleeps. With several rates the run has a phase for each, and
// metrics and counters for each.
struct SiblingParameters {
  std::vector<std::int64_t> wakes_per_second{0};  // 0: it sleeps all the time
  Time work;                                      // in user mode, each time
};

// Reads sibling_wakes_per_second and sibling_work_ns from a workload's parameters.
SiblingParameters read_sibling(config::Reader& in);
// Records an error if the machine has no CPU `cpu`, or no sibling for it that could be woken.
void check_sibling(config::Reader& in, const SiblingParameters& parameters,
                   const hw::Topology& topology, CpuId cpu);
std::string describe(const SiblingParameters& parameters);

// The names of metrics of all phases: `own` and the sibling's for the first phase, then for the
// second. Pointers are into `names`.
class PhaseMetrics {
 public:
  PhaseMetrics(const SiblingParameters& parameters, const std::vector<MetricInfo>& own);
  PhaseMetrics(const PhaseMetrics&) = delete;
  PhaseMetrics& operator=(const PhaseMetrics&) = delete;
  const std::vector<MetricInfo>& all() const { return all_; }

 private:
  std::vector<std::string> names_;
  std::vector<MetricInfo> all_;
};

// Makes the tasks and listens to the run. Measures from start_measuring() on.
class Sibling final : public trace::Listener {
 public:
  // `cpu` is the measured thread's; it has `own_metrics` in each phase.
  Sibling(const SiblingParameters& parameters, CpuId cpu, std::uint16_t own_metrics)
      : parameters_(parameters),
        cpu_(cpu),
        own_metrics_(own_metrics),
        phases_(parameters.wakes_per_second.size()) {}

  // Before boot. Phase i begins at start + i * length. If the kernel takes the sibling offline, its
  // task is on another core.
  void setup(kernel::Kernel& kernel, Time start, Time length);
  int phases() const { return static_cast<int>(phases_.size()); }
  void start_measuring(int phase);
  void stop_measuring();
  // The index of a metric of the measured thread in the phase that is measured.
  std::uint16_t metric(std::uint16_t own) const;
  // For each phase: SPEC_CTRL writes of all CPUs, wakes, and nanoseconds in each idle state for
  // each thread and for the core.
  std::vector<CounterValue> counters() const;

  std::uint32_t wants() const override {
    return trace::kinds<trace::IdleEnter, trace::IdleExit, trace::InterruptTaken, trace::MsrWrite,
                        trace::CoreIdle>();
  }
  void on(const trace::IdleEnter& event) override;
  void on(const trace::IdleExit& event) override;
  void on(const trace::InterruptTaken& event) override;
  void on(const trace::MsrWrite& event) override;
  void on(const trace::CoreIdle& event) override;

 private:
  enum Who : std::size_t { kThread, kSibling, kCore, kWho };
  // Which state somebody is in (-1: none) since when.
  struct State {
    int state = -1;
    Time since;
  };
  struct Phase {
    std::array<std::map<int, Time>, kWho> spent;  // by state
    std::int64_t spec_ctrl_writes = 0;
    std::int64_t wakes = 0;
  };

  static sim::Co<> woken(kernel::Cpu& cpu, kernel::Task& task);
  Time next_wake(Time now, Time random) const;
  void change(Who who, int state);
  void add_residencies(const Phase& phase, const std::string& suffix,
                       std::vector<CounterValue>& all) const;
  void sample(std::uint16_t metric, Time value);

  const SiblingParameters& parameters_;
  const CpuId cpu_;
  const std::uint16_t own_metrics_;
  CpuId sibling_ = kNoCpu;
  CpuId woken_cpu_ = kNoCpu;
  kernel::Kernel* kernel_ = nullptr;
  Time start_;
  Time length_;
  std::array<State, kWho> states_;
  std::vector<Phase> phases_;
  int phase_ = -1;  // that is measured
};

}  // namespace idlesim::workload

#endif  // IDLESIM_WORKLOAD_SIBLING_H_

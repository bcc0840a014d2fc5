// A workload: what runs on the machine, and what it measures. One object per run.
#ifndef IDLESIM_WORKLOAD_WORKLOAD_H_
#define IDLESIM_WORKLOAD_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/kernel/kernel.h"
#include "idlesim/workload/modelled_path.h"

namespace idlesim::config {
class Reader;
}

namespace idlesim::workload {

// A metric that a workload fills with trace::Sample events.
struct MetricInfo {
  const char* id;  // op_ns
  const char* unit = "ns";
  bool higher_is_better = false;
  std::int64_t scale = 1000;  // a sample counts 1/scale units: times are picoseconds
  bool stage = false;         // not a metric but a stage of the report, in order
};

struct CounterValue {
  std::string name;
  std::int64_t value;
};

class Workload {
 public:
  virtual ~Workload() = default;

  // Creates tasks; called once before Kernel::boot().
  virtual void setup(kernel::Kernel& kernel) = 0;
  // True once everything is done; the run then ends.
  virtual bool finished() const = 0;
  // Throws SimulationError if something was lost.
  virtual void check() const = 0;
  // How long the workload itself took.
  virtual Time run_time() const = 0;
  // Calls, loops, packets: what it has completed so far. A run without progress is stuck.
  virtual std::uint64_t progress() const = 0;
  // Counts of its own for the report, in a fixed order; asked for once finished.
  virtual std::vector<CounterValue> counters() const { return {}; }
};

// Parameters of a workload, read once from the scenario and shared by all runs.
class WorkloadSpec {
 public:
  virtual ~WorkloadSpec() = default;
  // Records an error for what does not fit the machine.
  virtual void check_machine(config::Reader in, const hw::Topology& topology) const = 0;
  virtual std::unique_ptr<Workload> create() const = 0;
  // What its trace::Sample events mean.
  virtual std::vector<MetricInfo> metrics() const { return {}; }
  // One line for people.
  virtual std::string describe() const = 0;
  // What happens, step by step, with these settings. A step without `who` is a heading.
  virtual std::vector<PathStep> explain(const Setup& setup) const = 0;
};

std::unique_ptr<WorkloadSpec> read_ipistorm(config::Reader in);
std::unique_ptr<WorkloadSpec> read_sched_pipe(config::Reader in);
std::unique_ptr<WorkloadSpec> read_dpdk(config::Reader in);
std::unique_ptr<WorkloadSpec> read_syscall_loop(config::Reader in);

}  // namespace idlesim::workload

#endif  // IDLESIM_WORKLOAD_WORKLOAD_H_

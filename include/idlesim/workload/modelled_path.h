// The way a workload takes through the model, in words: what `idlesim explain` prints.
#ifndef IDLESIM_WORKLOAD_MODELLED_PATH_H_
#define IDLESIM_WORKLOAD_MODELLED_PATH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/kernel/kernel.h"

namespace idlesim::workload {

// One step, in the order in which it happens. The cost is that of its straight-line code on this
// machine and of its privileged instructions; cache-line transfers and waiting come on top.
struct PathStep {
  std::string who;  // "sender", "target", "fabric"; empty: a heading
  std::string text;
  std::int64_t instructions = 0;
  Time time;
};

// What the model does depends on these three.
struct Setup {
  const hw::MachineSpec& machine;
  const kernel::KernelSpec& kernel;
  const kernel::KernelConfig& config;
};

// One call of ipistorm; `single` and `wait` as the module's parameters.
std::vector<PathStep> ipistorm_path(const Setup& setup, bool single, bool wait);
// One direction of sched_pipe.
std::vector<PathStep> sched_pipe_path(const Setup& setup, bool pinned, bool same_cpu);

}  // namespace idlesim::workload

#endif  // IDLESIM_WORKLOAD_MODELLED_PATH_H_

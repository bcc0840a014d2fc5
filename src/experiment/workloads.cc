#include "idlesim/experiment/workloads.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace idlesim::experiment {

namespace {

constexpr WorkloadEntry kWorkloads[] = {
    {"ipistorm", "calls an empty function on other CPUs, one call after the other",
     workload::read_ipistorm},
    {"sched_pipe", "perf bench sched pipe: two tasks hand a message to and fro",
     workload::read_sched_pipe, "cpus"},
    {"dpdk", "a poll-mode thread receives packets; its SMT sibling idles, is woken, or is offline",
     workload::read_dpdk},
    {"syscall_loop", "a program calls getppid() again and again", workload::read_syscall_loop},
};

}  // namespace

std::span<const WorkloadEntry> workloads() { return kWorkloads; }

bool is_placement(std::string_view path) {
  constexpr std::string_view kParameters = "workload.parameters.";
  if (!path.starts_with(kParameters)) return false;
  path.remove_prefix(kParameters.size());
  return std::any_of(std::begin(kWorkloads), std::end(kWorkloads), [&](const WorkloadEntry& entry) {
    return !path.empty() && entry.placement == path;
  });
}

const WorkloadEntry& read_workload_name(config::Reader in) {
  std::vector<std::string_view> names;
  for (const WorkloadEntry& entry : kWorkloads) names.push_back(entry.name);
  const std::string name = in.enumeration("name", names);
  for (const WorkloadEntry& entry : kWorkloads)
    if (entry.name == name) return entry;
  return kWorkloads[0];
}

}  // namespace idlesim::experiment

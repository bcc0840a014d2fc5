#include "idlesim/experiment/workloads.h"

#include <string>
#include <vector>

namespace idlesim::experiment {

namespace {

constexpr WorkloadEntry kWorkloads[] = {
    {"ipistorm", "calls an empty function on other CPUs, one call after the other",
     workload::read_ipistorm},
};

}  // namespace

std::span<const WorkloadEntry> workloads() { return kWorkloads; }

const WorkloadEntry& read_workload_name(config::Reader in) {
  std::vector<std::string_view> names;
  for (const WorkloadEntry& entry : kWorkloads) names.push_back(entry.name);
  const std::string name = in.enumeration("name", names);
  for (const WorkloadEntry& entry : kWorkloads)
    if (entry.name == name) return entry;
  return kWorkloads[0];
}

}  // namespace idlesim::experiment

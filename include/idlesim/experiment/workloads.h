// The workloads a scenario can name.
#ifndef IDLESIM_EXPERIMENT_WORKLOADS_H_
#define IDLESIM_EXPERIMENT_WORKLOADS_H_

#include <memory>
#include <span>
#include <string_view>

#include "idlesim/config/reader.h"
#include "idlesim/workload/workload.h"

namespace idlesim::experiment {

struct WorkloadEntry {
  const char* name;
  const char* description;
  std::unique_ptr<workload::WorkloadSpec> (*read)(config::Reader parameters);
  // The parameter, if any, that says where the work is done, not what: variants may differ in it.
  std::string_view placement = {};
};

// The one list: write the file, declare its reader in workload.h, list it here.
std::span<const WorkloadEntry> workloads();
// Whether `path` ("workload.parameters.cpus") is the placement of a workload.
bool is_placement(std::string_view path);
// The entry that the key "name" names; the first one, and an error, if there is none.
const WorkloadEntry& read_workload_name(config::Reader in);

}  // namespace idlesim::experiment

#endif  // IDLESIM_EXPERIMENT_WORKLOADS_H_

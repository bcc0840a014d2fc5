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
};

// The one list: write the file, declare its reader in workload.h, list it here.
std::span<const WorkloadEntry> workloads();
// The entry that the key "name" names; the first one, and an error, if there is none.
const WorkloadEntry& read_workload_name(config::Reader in);

}  // namespace idlesim::experiment

#endif  // IDLESIM_EXPERIMENT_WORKLOADS_H_

// A scenario: machine + kernel + platform + workload + variants + runs, read and checked.
#ifndef IDLESIM_EXPERIMENT_SCENARIO_H_
#define IDLESIM_EXPERIMENT_SCENARIO_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "idlesim/config/parameter.h"
#include "idlesim/hw/machine_spec.h"
#include "idlesim/kernel/kernel.h"
#include "idlesim/report/report.h"
#include "idlesim/virt/kvm_spec.h"
#include "idlesim/workload/workload.h"

namespace idlesim::experiment {

// A hypervisor between the machine and the kernel, and the kernel it belongs to.
struct Virtualization {
  virt::KvmSpec kvm;
  std::string document;               // the platform file with the scenario's settings, as JSON
  std::vector<std::string> pointers;  // of its parameters, in that document
  kernel::KernelSpec host_kernel;
  kernel::KernelConfig host_config;
};

// One side of a comparison: everything that is needed to run it, plus its origins.
struct Variant {
  std::string name;
  hw::MachineSpec machine;
  kernel::KernelSpec kernel;
  kernel::KernelConfig config;
  std::string platform;
  std::shared_ptr<const Virtualization> virtualization;  // null on bare metal
  std::shared_ptr<const workload::WorkloadSpec> workload;
  std::string workload_name;
  std::string machine_file;                   // as the scenario names it
  std::vector<report::Change> changes;        // against the first variant
  std::vector<config::Parameter> parameters;  // every number with an origin that was read
};

struct Scenario {
  std::string name;
  std::string description;
  int runs = 10;
  std::uint64_t seed = 1;
  std::vector<Variant> variants;
  std::string resolved_json;
  std::string digest;
};

// Values of the command line, applied to every variant after the file and the variant's own `set`.
struct Override {
  std::string
      path;  // "kernel.schedule_idle", "machine.core.kernel_ipc", "workload.parameters.numipi"
  std::string value;               // JSON, or bare text for a string
  std::string shown_as = "--set";  // what errors call it
};

// Where the shipped files are. `root` contains machines/, kernels/, scenarios/.
struct ConfigPaths {
  std::string root;

  // A name, or a path: with a "/", or ending in .json.
  std::string machine(const std::string& name) const;
  std::string kernel(const std::string& name) const;
  std::string platform(const std::string& name) const;
  std::string scenario(const std::string& name) const;
};

// The sim-configs directory: $IDLESIM_CONFIGS, or the one beside the program, or the source tree's.
ConfigPaths find_config_paths();

// Reads a scenario and all files it names. Throws UserError with every error of all files.
Scenario load_scenario(const ConfigPaths& paths, const std::string& name_or_path,
                       const std::vector<Override>& overrides);

// Reads one machine, platform or kernel file by name or path. Throws UserError with every error.
hw::MachineSpec load_machine(const ConfigPaths& paths, const std::string& name_or_path);
virt::KvmSpec load_platform(const ConfigPaths& paths, const std::string& name_or_path);
kernel::KernelSpec load_kernel(const ConfigPaths& paths, const std::string& name_or_path);

}  // namespace idlesim::experiment

#endif  // IDLESIM_EXPERIMENT_SCENARIO_H_

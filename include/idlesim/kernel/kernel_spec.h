// A kernel cost file (sim-configs/kernels/*.json): instruction counts of path segments, the
// configuration they hold for, and the version's features.
#ifndef IDLESIM_KERNEL_KERNEL_SPEC_H_
#define IDLESIM_KERNEL_KERNEL_SPEC_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine_spec.h"
#include "idlesim/kernel/features.h"
#include "idlesim/kernel/paths.h"

namespace idlesim::config {
class Reader;
}

namespace idlesim::kernel {

// Executed instructions of one pass through a segment; the others are among `instructions`.
struct Segment {
  std::int64_t instructions = 0;
  std::int64_t atomics = 0;
  std::int64_t barriers = 0;
  std::int64_t privileged = 0;
};

struct KernelSpec {
  std::string name;
  std::string version;
  hw::Arch arch = hw::Arch::kX86_64;
  int hz = 250;
  Features features;  // of that version, before a scenario changes them
  std::array<Segment, kPaths> segments{};
};

// Reads a kernel file. Segments it has and the model does not use are accepted; segments the model
// uses and the file lacks count as zero (an architecture does not have them). Errors go to the
// document of `in`.
KernelSpec read_kernel_spec(config::Reader in);
// A segment on this CPU: its instructions at the kernel's IPC, and what of its atomics, barriers
// and privileged instructions the model does not execute itself.
hw::PathCost path_cost(const hw::CpuSpec& cpu, const KernelSpec& kernel, Path path);
// The values that "mitigations", "preempt" or "apic" can have.
std::span<const std::string_view> config_words(std::string_view key);
// Applies {"axis": "value"} pairs to `features`.
void read_features(config::Reader in, Features& features);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_KERNEL_SPEC_H_

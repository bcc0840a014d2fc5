#include "idlesim/kernel/kernel_spec.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "idlesim/base/check.h"
#include "idlesim/config/reader.h"

namespace idlesim::kernel {

namespace {

constexpr std::string_view kArchs[] = {"x86_64", "arm64"};
constexpr std::string_view kOrigins[] = {"measured", "derived", "documented", "assumed", "fitted"};
constexpr std::string_view kMitigations[] = {"off", "amd", "intel_pti", "default"};
constexpr std::string_view kPreempt[] = {"voluntary", "full"};
constexpr std::string_view kApic[] = {"x2apic", "xapic"};
constexpr std::int64_t kMostInstructions = 1'000'000;

Segment read_counts(config::Reader& in) {
  const auto count = [&in](std::string_view key) {
    return in.has(key) ? in.integer(key, -kMostInstructions, kMostInstructions) : 0;
  };
  Segment segment{count("instructions"), count("atomics"), count("barriers"), count("privileged")};
  in.enumeration("origin", kOrigins);
  if (in.has("source")) in.string("source");
  if (in.has("range")) in.integers("range", 0, kMostInstructions);
  return segment;
}

void add(Segment& to, const Segment& delta, std::int64_t times, std::int64_t parts) {
  to.instructions += delta.instructions * times / parts;
  to.atomics += delta.atomics * times / parts;
  to.barriers += delta.barriers * times / parts;
  to.privileged += delta.privileged * times / parts;
}

struct Config {
  std::string mitigations;
  std::string preempt;
  std::string apic;
  std::int64_t cgroup_depth = 0;
};

Config read_config(config::Reader in) {
  Config config;
  config.mitigations = in.enumeration("mitigations", kMitigations);
  config.preempt = in.enumeration("preempt", kPreempt);
  config.apic = in.has("apic") ? in.enumeration("apic", kApic) : "x2apic";
  config.cgroup_depth = in.integer("cgroup_depth", 0, 16);
  return config;
}

// Base counts plus what the configuration adds to them.
Segment read_segment(config::Reader in, const Config& config) {
  Segment segment = read_counts(in);
  const auto delta = [&](std::string_view axis, const std::string& chosen) {
    auto values = in.optional_object(axis);
    if (!values) return;
    for (auto& [name, value] : values->members()) {
      const Segment counts = read_counts(value);
      if (name == chosen) add(segment, counts, 1, 1);
    }
  };
  delta("mitigations", config.mitigations);
  delta("preempt", config.preempt);
  delta("apic", config.apic);
  // Traced two cpu cgroups deep.
  if (auto cgroup2 = in.optional_object("cgroup2"))
    add(segment, read_counts(*cgroup2), config.cgroup_depth, 2);
  return segment;
}

}  // namespace

hw::PathCost path_cost(const hw::CpuSpec& cpu, const KernelSpec& kernel, Path path) {
  const Segment& segment = kernel.segments[static_cast<std::size_t>(path)];
  const PathInfo& info = path_info(path);
  const auto left = [](std::int64_t all, std::int64_t executed) {
    return std::max<std::int64_t>(all - executed, 0);
  };
  Time time = cpu.clock.milli_to_time(segment.instructions * 1'000'000 / cpu.kernel_ipc_milli);
  time += cpu.atomic * left(segment.atomics, info.atomics);
  time += cpu.barrier * left(segment.barriers, info.barriers);
  time += cpu.privileged * left(segment.privileged, info.privileged);
  return {time, static_cast<std::uint32_t>(segment.instructions)};
}

std::span<const std::string_view> config_words(std::string_view key) {
  if (key == "mitigations") return kMitigations;
  if (key == "preempt") return kPreempt;
  CHECK(key == "apic", std::string(key));
  return kApic;
}

void read_features(config::Reader in, Features& features) {
  for (const FeatureAxis& axis : feature_axes()) {
    if (!in.has(axis.name)) continue;
    std::vector<std::string_view> names;
    for (const FeatureValue& value : axis.values) names.push_back(value.name);
    features.set(axis.name, in.enumeration(axis.name, names));
  }
}

KernelSpec read_kernel_spec(config::Reader in) {
  KernelSpec spec;
  in.integer("schema_version", 1, 1);
  spec.name = in.string("name");
  spec.version = in.string("version");
  spec.arch = in.enumeration("arch", kArchs) == "arm64" ? hw::Arch::kArm64 : hw::Arch::kX86_64;
  in.string("description");
  in.string("source");
  spec.hz = static_cast<int>(in.integer("hz", 100, 1000));
  spec.features.set("polling", "tif_polling");
  spec.features.set("governor", spec.arch == hw::Arch::kArm64 ? "none" : "menu");
  read_features(in.object("features"), spec.features);
  const Config config = read_config(in.object("config"));
  config::Reader segments = in.object("segments");
  for (auto& [name, value] : segments.members()) {
    const Segment segment = read_segment(value, config);
    for (std::size_t i = 0; i < kPaths; ++i)
      if (name == path_info(static_cast<Path>(i)).name) spec.segments[i] = segment;
  }
  return spec;
}

}  // namespace idlesim::kernel

// Kernels as values of the feature axes: one by its differences from a default, or all that exist.
#ifndef IDLESIM_TESTS_SUPPORT_KERNEL_FEATURES_H_
#define IDLESIM_TESTS_SUPPORT_KERNEL_FEATURES_H_

#include <algorithm>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "idlesim/hw/machine_spec.h"
#include "idlesim/kernel/features.h"

namespace idlesim::testing {

struct Axis {
  const char* name;
  const char* value;
};

inline kernel::Features features_of(hw::Arch arch, std::initializer_list<Axis> axes) {
  kernel::Features features;
  const bool x86 = arch == hw::Arch::kX86_64;
  features.set("wake_queue", "csq");
  features.set("schedule_idle", "full");
  features.set("polling", x86 ? "tif_polling" : "none");
  features.set("idle_enter", x86 ? "mwait_ecx1" : "wfi");
  features.set("tick", "governor");
  features.set("governor", "none");
  for (const Axis& axis : axes) features.set(axis.name, axis.value);
  return features;
}

inline std::string to_string(const kernel::Features& features) {
  std::string text;
  for (const kernel::FeatureAxis& axis : kernel::feature_axes())
    text += std::string(axis.name) + "=" + std::string(features.get(axis.name)) + " ";
  return text;
}

// All combinations that exist on `arch`, with `fixed` values held. `poll_idle` matters only where
// the polling state is entered: its values take turns instead of multiplying the rest.
inline std::vector<kernel::Features> all_features(hw::Arch arch,
                                                  std::initializer_list<Axis> fixed) {
  std::vector<kernel::Features> all{kernel::Features{}};
  for (const kernel::FeatureAxis& axis : kernel::feature_axes()) {
    const auto held = std::find_if(fixed.begin(), fixed.end(),
                                   [&](const Axis& a) { return axis.name == a.name; });
    if (axis.name == std::string_view("poll_idle") && held == fixed.end()) {
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i].set(axis.name, axis.values[i % axis.values.size()].name);
      continue;
    }
    std::vector<kernel::Features> next;
    for (const kernel::Features& features : all)
      for (const kernel::FeatureValue& value : axis.values) {
        if (held != fixed.end() && value.name != held->value) continue;
        kernel::Features more = features;
        more.set(axis.name, value.name);
        next.push_back(more);
      }
    all = std::move(next);
  }
  std::erase_if(all, [&](const kernel::Features& f) { return !why_impossible(f, arch).empty(); });
  return all;
}

// The kernels of one architecture with one way of signalling and one schedule_idle(): what the
// suites over all combinations are split into.
struct KernelGroup {
  hw::Arch arch;
  std::string wake_queue;
  std::string schedule_idle;

  // The values of mm_count_line and ttwu_queue are dealt over the combinations of the others. IBRS
  // neither queues nor signals anything: tests/kernel/ibrs_test.cc.
  std::vector<kernel::Features> features() const {
    std::vector<kernel::Features> all =
        all_features(arch, {{"wake_queue", wake_queue.c_str()},
                            {"schedule_idle", schedule_idle.c_str()},
                            {"mm_count_line", "own"},
                            {"ttwu_queue", "llc_idle"},
                            {"ibrs", "off"},
                            {"ibrs_offline", "kept"}});
    std::uint32_t card = 0;
    for (kernel::Features& one : all) {
      card = card * 1664525 + 1013904223;
      if ((card >> 30 & 1) != 0) one.set("mm_count_line", "shared");
      if ((card >> 31 & 1) != 0) one.set("ttwu_queue", "llc_on_cpu");
    }
    return all;
  }
};
inline void PrintTo(const KernelGroup& group, std::ostream* out) {
  *out << (group.arch == hw::Arch::kX86_64 ? "x86_64 " : "arm64 ") << group.wake_queue << " "
       << group.schedule_idle;
}
inline std::vector<KernelGroup> kernel_groups() {
  const auto values = [](std::string_view axis) {
    return kernel::feature_axes()[static_cast<std::size_t>(kernel::find_axis(axis))].values;
  };
  std::vector<KernelGroup> all;
  for (const hw::Arch arch : {hw::Arch::kX86_64, hw::Arch::kArm64})
    for (const kernel::FeatureValue& queue : values("wake_queue"))
      for (const kernel::FeatureValue& schedule : values("schedule_idle"))
        all.push_back({arch, std::string(queue.name), std::string(schedule.name)});
  return all;
}

}  // namespace idlesim::testing

#endif  // IDLESIM_TESTS_SUPPORT_KERNEL_FEATURES_H_

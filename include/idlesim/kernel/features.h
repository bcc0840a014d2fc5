// What a kernel is made of: one value per axis. Every combination is a kernel. A value fills
// entries of KernelOps; no other code asks which value is set.
#ifndef IDLESIM_KERNEL_FEATURES_H_
#define IDLESIM_KERNEL_FEATURES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "idlesim/hw/machine_spec.h"

namespace idlesim::kernel {

struct KernelOps;

struct FeatureValue {
  std::string_view name;
  std::string_view description;
  void (*apply)(KernelOps& ops);
};

struct FeatureAxis {
  std::string_view name;
  std::string_view description;
  std::span<const FeatureValue> values;

  // Index of the value called `name`, or -1.
  int find(std::string_view value) const;
};

// The one list of axes and values a user can name (src/kernel/features.cc).
inline constexpr std::size_t kAxes = 14;
std::span<const FeatureAxis> feature_axes();
// Index of the axis called `name`, or -1.
int find_axis(std::string_view name);

// A value (its index) for each axis, in the order of feature_axes().
struct Features {
  std::array<std::uint8_t, kAxes> value{};

  // Both names must exist.
  void set(std::string_view axis, std::string_view name);
  std::string_view get(std::string_view axis) const;
  bool operator==(const Features&) const = default;
};

// The table of functions of a kernel with these features.
KernelOps make_ops(const Features& features);
// Why these features do not exist together on this architecture; empty if they do.
std::string why_impossible(const Features& features, hw::Arch arch);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_FEATURES_H_

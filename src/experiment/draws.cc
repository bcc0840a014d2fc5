#include "idlesim/experiment/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "idlesim/config/document.h"
#include "idlesim/sim/random.h"

namespace idlesim::experiment {

namespace {

constexpr const char* kPairs = "/kernel/background/pairs_per_second";
constexpr const char* kDuration = "/kernel/background/mean_duration_us";

// One value from each of `count` equal strata of [0, 1), in an order drawn from the stream.
std::vector<double> stratified(sim::Random& random, int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  std::vector<double> values;
  for (const int stratum : order) {
    const double inside = static_cast<double>(random.below(1 << 20)) / (1 << 20);
    values.push_back((stratum + inside) / count);
  }
  return values;
}

double within(double low, double high, double u) {
  if (low > 0 && high > 8 * low) return low * std::pow(high / low, u);
  // From zero over several decades: the lowest stratum of the logarithm stands for zero.
  if (low == 0 && high > 100) return u < 0.1 ? 0 : std::pow(high, (u - 0.1) / 0.9);
  return low + (high - low) * u;
}

// Three decimals are finer than any parameter is known.
std::string text_of(const DrawnParameter& parameter, int index) {
  const double value = parameter.values[static_cast<std::size_t>(index)];
  const bool count = parameter.pointer.starts_with("/instructions/") ||
                     parameter.pointer.ends_with("_per_second") ||
                     parameter.pointer.ends_with("/ecv");
  return count ? fmt::format("{:.0f}", value) : fmt::format("{:.3f}", value);
}

bool is_of_platform(const Variant& variant, const config::Parameter& parameter) {
  if (variant.virtualization == nullptr) return false;
  const auto& pointers = variant.virtualization->pointers;
  return std::find(pointers.begin(), pointers.end(), parameter.pointer) != pointers.end();
}

// The variant's platform with the values of draw `index`.
std::shared_ptr<const Virtualization> drawn_platform(const Variant& variant,
                                                     const std::vector<DrawnParameter>& parameters,
                                                     int index) {
  if (variant.virtualization == nullptr) return nullptr;
  auto drawn = std::make_shared<Virtualization>(*variant.virtualization);
  config::Document doc = config::parse_text(drawn->document, drawn->kvm.name);
  for (const DrawnParameter& parameter : parameters)
    if (parameter.of_platform) doc.override_value(parameter.pointer, text_of(parameter, index));
  drawn->kvm = virt::read_kvm_spec(doc.root());
  doc.finish();
  return drawn;
}

}  // namespace

Draws::Draws(const ConfigPaths& paths, const Scenario& scenario, int count, std::uint64_t seed)
    : paths_(paths), scenario_(scenario), count_(count) {
  std::uint64_t entity = 0;
  for (const config::Parameter& parameter : scenario.variants.front().parameters) {
    if (!parameter.range || parameter.overridden) continue;
    const double low = parameter.range->low.as_double();
    const double high = parameter.range->high.as_double();
    if (high <= low) continue;
    sim::Random random(seed, 0, "draws", entity++);
    if (parameter.pointer.ends_with("_entries")) continue;      // a count; draws are fractions
    if (parameter.pointer.starts_with("/workload/")) continue;  // not of the machine
    DrawnParameter drawn{parameter.pointer,
                         is_of_platform(scenario.variants.front(), parameter),
                         std::string(config::to_string(parameter.origin)),
                         {}};
    for (const double u : stratified(random, count)) drawn.values.push_back(within(low, high, u));
    parameters_.push_back(std::move(drawn));
  }
}

Draw Draws::make(int index) const {
  const Variant& first = scenario_.variants.front();
  config::Document doc = config::load_with_extends(paths_.machine(first.machine_file));
  kernel::Background background = first.config.background;
  for (const DrawnParameter& parameter : parameters_) {
    const double value = parameter.values[static_cast<std::size_t>(index)];
    if (parameter.pointer == kPairs)
      background.pairs_per_second = static_cast<std::int64_t>(value);
    else if (parameter.pointer == kDuration)
      background.mean_duration = Time::ns(static_cast<std::int64_t>(value * 1000));
    else if (!parameter.of_platform)
      doc.override_value(parameter.pointer, text_of(parameter, index));
  }
  hw::MachineSpec machine = hw::read_machine_spec(doc.root());
  doc.finish();
  Draw draw;
  for (const Variant& variant : scenario_.variants) {
    Variant copy = variant;
    copy.machine = machine;
    copy.config.background = background;
    copy.virtualization = drawn_platform(variant, parameters_, index);
    draw.variants.push_back(std::move(copy));
  }
  return draw;
}

}  // namespace idlesim::experiment

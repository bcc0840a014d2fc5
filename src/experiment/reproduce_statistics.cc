#include "reproduce_statistics.h"

#include <algorithm>
#include <cmath>

#include "idlesim/base/check.h"
#include "idlesim/report/statistics.h"

namespace idlesim::experiment {

const Variant& variant_named(const std::vector<Variant>& variants, const std::string& name) {
  for (const Variant& variant : variants)
    if (variant.name == name) return variant;
  throw UserError("the scenario has no variant \"" + name + "\"");
}

double mean_of(const std::vector<double>& values) { return report::mean(values); }

double relative_deviation(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1)) / mean;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const auto high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (position - static_cast<double>(low));
}

report::Simulated summarize(const std::vector<double>& values) {
  return {mean_of(values), quantile(values, 0.025), quantile(values, 0.975),
          report::IntervalOf::kParameters};
}

}  // namespace idlesim::experiment

// Medians over runs, and how far they can be trusted: the distribution-free interval of a median,
// and seeded bootstrap intervals of a change.
#ifndef IDLESIM_REPORT_RESAMPLING_H_
#define IDLESIM_REPORT_RESAMPLING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "idlesim/report/statistics.h"

namespace idlesim::report {

// Numbers that are a function of (seed, name, how many were drawn): what is drawn for one metric
// does not depend on which others there are. SplitMix64: G. L. Steele et al., "Fast splittable
// pseudorandom number generators", OOPSLA 2014.
class Draws {
 public:
  Draws(std::uint64_t seed, std::string_view name);
  std::uint64_t next();
  // Uniform in [0, n) to within n / 2^64. n > 0.
  std::size_t below(std::size_t n);

 private:
  std::uint64_t state_;
};

// The middle value, or the mean of the two middle ones. 0 for none.
double median(std::span<const double> values);

// The narrowest interval between two values of equal rank from either end that covers the median
// with at least 95 %, whatever the distribution; nothing for fewer than 6 values.
std::optional<Interval> median_interval_95(std::span<const double> values);

// The value below which the share q of the ascending values lies, interpolated between neighbours.
double interpolated_quantile(std::span<const double> ascending, double q);

// From one side to the other. Percentages are of the first side and exist if it is never 0 (paired)
// or its median is not (independent).
struct Shift {
  double difference = 0;
  std::optional<double> percent;
  bool operator==(const Shift&) const = default;
};
// Medians of the differences and of the percentages of the pairs (first[i], second[i]).
Shift paired_shift(std::span<const double> first, std::span<const double> second);
// Between the two medians.
Shift independent_shift(std::span<const double> first, std::span<const double> second);

// 95 % percentile bootstrap intervals of these. Nothing for fewer than two pairs or values a side.
struct ShiftInterval {
  Interval difference;
  std::optional<Interval> percent;
};
std::optional<ShiftInterval> paired_shift_interval_95(std::span<const double> first,
                                                      std::span<const double> second, int resamples,
                                                      Draws draws);
std::optional<ShiftInterval> independent_shift_interval_95(std::span<const double> first,
                                                           std::span<const double> second,
                                                           int resamples, Draws draws);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_RESAMPLING_H_

// Statistics of a handful of run means. Only + - * / and square roots on doubles, in a fixed order,
// so every compiler and host gives the same bits.
#ifndef IDLESIM_REPORT_STATISTICS_H_
#define IDLESIM_REPORT_STATISTICS_H_

#include <optional>
#include <span>

namespace idlesim::report {

struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

// True if the closed intervals have a point in common.
bool overlap(const Interval& a, const Interval& b);

// The 0.975 quantile of Student's t with `degrees` >= 1 degrees of freedom.
double student_t_975(int degrees);

// 0 for no values.
double mean(std::span<const double> values);

// Divisor n - 1; nothing for fewer than two values.
std::optional<double> stdev(std::span<const double> values);

// 95 % interval of the mean of independent values (Student's t); nothing for fewer than two.
std::optional<Interval> mean_interval_95(std::span<const double> values);

// Rounded half away from zero to six decimals, the resolution of a report (10^-6 ns is 1 fs).
double round_for_report(double value);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_STATISTICS_H_

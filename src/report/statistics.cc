#include "idlesim/report/statistics.h"

#include <array>
#include <cmath>

#include "idlesim/base/check.h"

namespace idlesim::report {

namespace {

// Quantiles 0.975 of Student's t for 1..30 degrees of freedom.
constexpr std::array<double, 30> kStudentT = {
    12.706204736175, 4.302652729749, 3.182446305284, 2.776445105198, 2.570581835636,
    2.446911851145,  2.364624251593, 2.306004135204, 2.262157162798, 2.228138851986,
    2.200985160092,  2.178812829667, 2.160368656463, 2.144786687918, 2.131449545560,
    2.119905299221,  2.109815577833, 2.100922040241, 2.093024054408, 2.085963447266,
    2.079613844728,  2.073873067904, 2.068657610419, 2.063898561628, 2.059538552753,
    2.055529438643,  2.051830516480, 2.048407141795, 2.045229642133, 2.042272456301};

}  // namespace

bool overlap(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

double student_t_975(int degrees) {
  CHECK(degrees >= 1);
  if (degrees <= static_cast<int>(kStudentT.size()))
    return kStudentT[static_cast<std::size_t>(degrees - 1)];
  // Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun 26.7.5); the error
  // is below 1e-7 from 31 degrees on.
  const double z = 1.959963984540054;
  const double z2 = z * z;
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + (g1 + (g2 + (g3 + g4 / degrees) / degrees) / degrees) / degrees;
}

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> stdev(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double centre = mean(values);
  double squares = 0;
  for (double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<Interval> mean_interval_95(std::span<const double> values) {
  const std::optional<double> deviation = stdev(values);
  if (!deviation) return std::nullopt;
  const double centre = mean(values);
  const double half = student_t_975(static_cast<int>(values.size()) - 1) * *deviation /
                      std::sqrt(static_cast<double>(values.size()));
  return Interval{centre - half, centre + half};
}

double round_for_report(double value) {
  // Beyond 2^53 millionths a double has no six decimals to round to.
  if (!(std::fabs(value) < 9.0e9)) return value;
  return std::round(value * 1e6) / 1e6;
}

}  // namespace idlesim::report

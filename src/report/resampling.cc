#include "idlesim/report/resampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "idlesim/base/check.h"

namespace idlesim::report {

namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Of values it may reorder.
double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double percent_of(double first, double second) { return (second - first) / std::fabs(first) * 100; }

Interval interval_95(std::vector<double>& resampled) {
  std::sort(resampled.begin(), resampled.end());
  return {interpolated_quantile(resampled, 0.025), interpolated_quantile(resampled, 0.975)};
}

// Each pair's difference and percentage; the latter empty if some first value is 0.
struct Pairs {
  std::vector<double> differences;
  std::vector<double> percents;
};

Pairs pairs_of(std::span<const double> first, std::span<const double> second) {
  CHECK(first.size() == second.size());
  Pairs pairs;
  for (std::size_t i = 0; i < first.size(); ++i) {
    pairs.differences.push_back(second[i] - first[i]);
    if (first[i] != 0) pairs.percents.push_back(percent_of(first[i], second[i]));
  }
  if (pairs.percents.size() != pairs.differences.size()) pairs.percents.clear();
  return pairs;
}

// The largest k for which the k-th smallest and the k-th largest of n values have the median
// between them with at least 95 %: they miss it if fewer than k of n fair coins show one of their
// sides.
std::size_t rank_of_median_interval(std::size_t n) {
  if (n > 1000) {  // the smallest term of the sum below would underflow
    const auto count = static_cast<double>(n);
    return static_cast<std::size_t>((count - 1.959963984540054 * std::sqrt(count)) / 2);
  }
  double term = 1;  // of the binomial distribution, by their ratios
  for (std::size_t i = 0; i < n; ++i) term /= 2;
  double missed = 0;
  std::size_t k = 0;
  while (k < n / 2 && missed + 2 * term <= 0.05) {
    missed += 2 * term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

void resample(std::span<const double> values, Draws& draws, std::vector<double>& into) {
  into.clear();
  for (std::size_t i = 0; i < values.size(); ++i)
    into.push_back(values[draws.below(values.size())]);
}

}  // namespace

Draws::Draws(std::uint64_t seed, std::string_view name) : state_(mix(seed + kGolden)) {
  for (const char c : name) state_ = mix(state_ + kGolden + static_cast<unsigned char>(c));
}

std::uint64_t Draws::next() { return mix(state_ += kGolden); }

std::size_t Draws::below(std::size_t n) {
  return static_cast<std::size_t>(static_cast<UInt128>(next()) * n >> 64);
}

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_of(copy);
}

std::optional<Interval> median_interval_95(std::span<const double> values) {
  const std::size_t n = values.size();
  const std::size_t k = rank_of_median_interval(n);
  if (k == 0) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return Interval{sorted[k - 1], sorted[n - k]};
}

double interpolated_quantile(std::span<const double> ascending, double q) {
  CHECK(!ascending.empty());
  const double place = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= ascending.size()) return ascending.back();
  const double share = place - static_cast<double>(below);
  return ascending[below] + (ascending[below + 1] - ascending[below]) * share;
}

Shift paired_shift(std::span<const double> first, std::span<const double> second) {
  Pairs pairs = pairs_of(first, second);
  Shift shift;
  shift.difference = median_of(pairs.differences);
  if (!pairs.percents.empty()) shift.percent = median_of(pairs.percents);
  return shift;
}

Shift independent_shift(std::span<const double> first, std::span<const double> second) {
  const double before = median(first);
  const double after = median(second);
  Shift shift{after - before, std::nullopt};
  if (!first.empty() && before != 0) shift.percent = percent_of(before, after);
  return shift;
}

std::optional<ShiftInterval> paired_shift_interval_95(std::span<const double> first,
                                                      std::span<const double> second, int resamples,
                                                      Draws draws) {
  const Pairs pairs = pairs_of(first, second);
  const std::size_t n = pairs.differences.size();
  if (n < 2) return std::nullopt;
  std::vector<double> differences;
  std::vector<double> percents;
  std::vector<double> one;
  std::vector<double> other;
  for (int i = 0; i < resamples; ++i) {
    one.clear();
    other.clear();
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t pick = draws.below(n);
      one.push_back(pairs.differences[pick]);
      if (!pairs.percents.empty()) other.push_back(pairs.percents[pick]);
    }
    differences.push_back(median_of(one));
    if (!pairs.percents.empty()) percents.push_back(median_of(other));
  }
  ShiftInterval result{interval_95(differences), std::nullopt};
  if (!percents.empty()) result.percent = interval_95(percents);
  return result;
}

std::optional<ShiftInterval> independent_shift_interval_95(std::span<const double> first,
                                                           std::span<const double> second,
                                                           int resamples, Draws draws) {
  if (first.size() < 2 || second.size() < 2) return std::nullopt;
  std::vector<double> differences;
  std::vector<double> percents;
  std::vector<double> values;
  for (int i = 0; i < resamples; ++i) {
    resample(first, draws, values);
    const double before = median_of(values);
    resample(second, draws, values);
    const double after = median_of(values);
    differences.push_back(after - before);
    if (before != 0) percents.push_back(percent_of(before, after));
  }
  const bool has_percent = percents.size() == differences.size();
  ShiftInterval result{interval_95(differences), std::nullopt};
  if (has_percent) result.percent = interval_95(percents);
  return result;
}

}  // namespace idlesim::report

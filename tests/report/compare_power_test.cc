// How often a comparison at the default settings is wrong: it must not cry wolf, and it must see a
// change of 5 %.
#include <gtest/gtest.h>

#include <cmath>

#include "idlesim/report/compare.h"
#include "report/compare_sample.h"

namespace idlesim::report {
namespace {

// Uniform in (0, 1).
double uniform(Draws& draws) {
  return (static_cast<double>(draws.next() >> 11) + 0.5) / 9007199254740992.0;
}

double normal(Draws& draws) {
  return std::sqrt(-2 * std::log(uniform(draws))) * std::cos(6.283185307179586 * uniform(draws));
}

// Means of runs as the scenarios have them: a narrow bell, two ways in which a run can go, a long
// tail, and a few values only.
double run_mean(int shape, Draws& draws) {
  switch (shape) {
    case 0:
      return 1000 + 10 * normal(draws);
    case 1:
      return (uniform(draws) < 0.6 ? 2400 : 3500) + 15 * normal(draws);
    case 2:
      return 500 + 40 * -std::log(uniform(draws));
    default:
      return 100 + std::floor(uniform(draws) * 3);
  }
}

Report random_report(Draws& draws, int runs, double factor, std::uint64_t seed) {
  std::vector<Metric> metrics;
  for (int shape = 0; shape < 4; ++shape) {
    std::vector<double> values;
    for (int run = 0; run < runs; ++run) values.push_back(run_mean(shape, draws) * factor);
    metrics.push_back(metric_of("m" + std::to_string(shape), values, 1));
  }
  return report_of({variant_of("v", metrics)}, seed);
}

// Of `comparisons` of reports of this size: how many fail.
int failures(int comparisons, int runs, double factor, Pairing pairing) {
  Draws draws(7, "power");
  CompareOptions options;
  options.pairing = pairing;
  int failed = 0;
  for (int i = 0; i < comparisons; ++i) {
    const Report base = random_report(draws, runs, 1, 1);
    const Report now = random_report(draws, runs, factor, 2);
    failed += summarize(compare_reports(base, "b", now, "n", options), FailOn::kChange).outcome ==
              Outcome::kFail;
  }
  return failed;
}

TEST(ComparePower, IdenticalConfigurationsAreFoundDifferentInLessThanOnePercent) {
  const int independent = failures(1000, 10, 1, Pairing::kIndependent);
  const int paired = failures(1000, 10, 1, Pairing::kPaired);
  RecordProperty("false_alarms_per_1000_independent", independent);
  RecordProperty("false_alarms_per_1000_paired", paired);
  EXPECT_LT(independent, 10);
  EXPECT_LT(paired, 10);
}

// The narrow bell alone is enough: 5 % are five of its deviations.
TEST(ComparePower, FivePercentAreSeen) {
  EXPECT_GT(failures(200, 10, 1.05, Pairing::kIndependent), 190);
}

// Even without thresholds Holm keeps the promise: the level is of the tests, not of the thresholds.
TEST(ComparePower, HolmAloneKeepsTheLevel) {
  Draws draws(11, "holm");
  CompareOptions options;
  options.pairing = Pairing::kIndependent;
  options.resamples = 100;
  options.gates.alpha = 0.05;
  for (Gate& gate : options.gates.gates) gate.threshold_percent = 0;
  int significant = 0;
  for (int i = 0; i < 1000; ++i) {
    const Comparison comparison = compare_reports(random_report(draws, 10, 1, 1), "b",
                                                  random_report(draws, 10, 1, 2), "n", options);
    bool any = false;
    for (const MetricComparison& one : comparison.variants[0].metrics)
      any = any || one.p_corrected.value_or(1) < 0.05;
    significant += any;
  }
  EXPECT_LT(significant, 50 + 3 * 7);  // 1000 * 0.05, three standard deviations
  EXPECT_GT(significant, 10);          // and it does test something
}

}  // namespace
}  // namespace idlesim::report

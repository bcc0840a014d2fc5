// Reports made of numbers, for the tests of comparisons.
#ifndef IDLESIM_TESTS_REPORT_COMPARE_SAMPLE_H_
#define IDLESIM_TESTS_REPORT_COMPARE_SAMPLE_H_

#include <string>
#include <vector>

#include "idlesim/report/report.h"

namespace idlesim::report {

// A metric whose runs have these values for every statistic; `n` samples a run. A negative value is
// a run without samples.
inline Metric metric_of(const std::string& id, const std::vector<double>& runs,
                        std::int64_t n = 100) {
  Metric metric;
  metric.id = id;
  metric.unit = "ns";
  for (const double value : runs) {
    const RunSummary run =
        value < 0 ? RunSummary{} : RunSummary{n, value, value, value, value, value, value};
    metric.per_run.push_back(run);
    metric.n += run.n;
    metric.mean = value;
  }
  return metric;
}

inline Variant variant_of(const std::string& name, std::vector<Metric> metrics) {
  Variant variant;
  variant.name = name;
  variant.kernel = "k";
  variant.machine = "m";
  variant.platform = "bare-metal";
  variant.runs = metrics.empty() ? 0 : static_cast<int>(metrics.front().per_run.size());
  variant.metrics = std::move(metrics);
  return variant;
}

inline Report report_of(std::vector<Variant> variants, std::uint64_t seed = 1) {
  Report report;
  report.manifest.version = "0.1.0";
  report.manifest.git_commit = "0123456789abcdef0123456789abcdef01234567";
  report.manifest.model_version = 1;
  report.manifest.seed = seed;
  report.scenario.name = "scenario";
  report.scenario.digest = "sha256:" + std::string(64, 'a');
  report.variants = std::move(variants);
  return report;
}

// 100, 101, ... and the same plus `shift` percent of 100.
inline std::vector<double> ramp(int runs, double shift = 0) {
  std::vector<double> values;
  for (int i = 0; i < runs; ++i) values.push_back(100 + i + shift);
  return values;
}

}  // namespace idlesim::report

#endif  // IDLESIM_TESTS_REPORT_COMPARE_SAMPLE_H_

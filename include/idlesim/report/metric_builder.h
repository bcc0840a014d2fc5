// From the samples of runs to a Metric of the report.
#ifndef IDLESIM_REPORT_METRIC_BUILDER_H_
#define IDLESIM_REPORT_METRIC_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/report/histogram.h"
#include "idlesim/report/report.h"

namespace idlesim::report {

// A sample is a whole number of 1/scale units.
struct MetricSpec {
  std::string id;
  std::string unit;
  Better better = Better::kLower;
  std::int64_t scale = 1;

  // Samples in picoseconds (Time::count_ps()), reported in ns; lower is better.
  static MetricSpec time(std::string id) { return {std::move(id), "ns", Better::kLower, 1000}; }
};

class MetricBuilder {
 public:
  explicit MetricBuilder(MetricSpec spec) : spec_(std::move(spec)) {}

  // Adds the samples of the next run, in run order, whatever thread finished first. A run without
  // samples is added too, so that per_run[i] is run i for every metric.
  void add_run(const Histogram& samples);

  const Histogram& pooled() const { return pooled_; }
  // Quantiles have the histogram's error, except if no run has more than one sample: then they are
  // samples, exactly.
  Metric build() const;

 private:
  double in_units(std::int64_t value) const;
  double mean_in_units(const Histogram& samples) const;
  double pooled_quantile(double q) const;
  HistogramBins bins() const;

  MetricSpec spec_;
  Histogram pooled_;
  std::vector<RunSummary> per_run_;
  std::vector<std::int64_t> single_samples_;  // of the runs with one sample
};

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_METRIC_BUILDER_H_

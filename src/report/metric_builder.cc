#include "idlesim/report/metric_builder.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace idlesim::report {

double MetricBuilder::in_units(std::int64_t value) const {
  return static_cast<double>(value) / static_cast<double>(spec_.scale);
}

// The mean to six decimals from the exact sum, rounded once.
double MetricBuilder::mean_in_units(const Histogram& samples) const {
  constexpr std::int64_t kParts = 1'000'000;
  const Int128 divisor = static_cast<Int128>(samples.count()) * spec_.scale;
  const Int128 parts = (samples.sum() * kParts + divisor / 2) / divisor;
  return static_cast<double>(parts) / static_cast<double>(kParts);
}

void MetricBuilder::add_run(const Histogram& samples) {
  RunSummary run;
  run.n = samples.count();
  if (!samples.empty()) {
    run.mean = mean_in_units(samples);
    run.p50 = in_units(samples.quantile(0.5));
    run.p90 = in_units(samples.quantile(0.9));
    run.p99 = in_units(samples.quantile(0.99));
    run.p99_9 = in_units(samples.quantile(0.999));
    run.max = in_units(samples.max());
  }
  per_run_.push_back(run);
  if (run.n == 1) single_samples_.push_back(samples.max());
  pooled_.merge(samples);
}

double MetricBuilder::pooled_quantile(double q) const {
  if (static_cast<std::int64_t>(single_samples_.size()) != pooled_.count())
    return in_units(pooled_.quantile(q));
  std::vector<std::int64_t> sorted = single_samples_;
  std::sort(sorted.begin(), sorted.end());
  return in_units(sorted[static_cast<std::size_t>(Histogram::rank(q, pooled_.count()) - 1)]);
}

HistogramBins MetricBuilder::bins() const {
  HistogramBins result;
  std::int64_t end = 0;  // first value behind the last bin
  for (const Histogram::Bin& bin : pooled_.bins()) {
    if (result.edges.empty()) {
      result.edges.push_back(in_units(bin.lower));
    } else if (bin.lower != end) {
      result.counts.push_back(0);
      result.edges.push_back(in_units(bin.lower));
    }
    end = bin.upper == std::numeric_limits<std::int64_t>::max() ? bin.upper : bin.upper + 1;
    result.counts.push_back(bin.count);
    result.edges.push_back(in_units(end));
  }
  return result;
}

Metric MetricBuilder::build() const {
  Metric metric;
  metric.id = spec_.id;
  metric.unit = spec_.unit;
  metric.better = spec_.better;
  metric.per_run = per_run_;
  metric.n = pooled_.count();
  if (pooled_.empty()) return metric;

  metric.mean = mean_in_units(pooled_);
  metric.min = in_units(pooled_.min());
  metric.max = in_units(pooled_.max());
  metric.p50 = pooled_quantile(0.5);
  metric.p90 = pooled_quantile(0.9);
  metric.p99 = pooled_quantile(0.99);
  metric.p99_9 = pooled_quantile(0.999);
  metric.p99_99 = pooled_quantile(0.9999);
  metric.histogram = bins();

  std::vector<double> means;
  for (const RunSummary& run : per_run_)
    if (run.n > 0) means.push_back(run.mean);
  if (const std::optional<double> deviation = stdev(means))
    metric.stdev = round_for_report(*deviation);
  if (const std::optional<Interval> interval = mean_interval_95(means))
    metric.ci95 = Interval{round_for_report(interval->low), round_for_report(interval->high)};
  return metric;
}

}  // namespace idlesim::report

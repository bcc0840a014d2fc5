#include "idlesim/report/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "google_benchmark.h"
#include "machine_text.h"

namespace idlesim::report {

namespace {

// The name of a metric in OpenMetrics: letters, digits and underscores.
std::string metric_name(std::string_view id) {
  std::string name = "idlesim_";
  for (const char c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '_';
  }
  return name;
}

// Ids in the order in which the variants first have them.
std::vector<const Metric*> metrics_of(const Report& report) {
  std::vector<const Metric*> metrics;
  for (const Variant& variant : report.variants)
    for (const Metric& metric : variant.metrics)
      if (std::none_of(metrics.begin(), metrics.end(),
                       [&](const Metric* known) { return known->id == metric.id; }))
        metrics.push_back(&metric);
  return metrics;
}

std::string labels_of(const Report& report, const Variant& variant) {
  return fmt::format("scenario=\"{}\",variant=\"{}\"", label_escaped(report.scenario.name),
                     label_escaped(variant.name));
}

std::string time_summary(const Report& report, const Metric& example) {
  std::string_view id = example.id;
  if (id.ends_with("_ns")) id.remove_suffix(3);
  const std::string name = metric_name(id) + "_seconds";
  std::string out = fmt::format(
      "# TYPE {0} summary\n# UNIT {0} seconds\n# HELP {0} {1} of a simulated scenario.\n", name,
      example.id);
  const auto seconds = [](double ns) { return number_text(ns / 1e9); };
  for (const Variant& variant : report.variants) {
    const Metric* metric = variant.metric(example.id);
    if (metric == nullptr || metric->n == 0) continue;
    const std::string labels = labels_of(report, variant);
    const std::pair<const char*, double> quantiles[] = {{"0.5", metric->p50},
                                                        {"0.9", metric->p90},
                                                        {"0.99", metric->p99},
                                                        {"0.999", metric->p99_9},
                                                        {"0.9999", metric->p99_99}};
    for (const auto& [q, value] : quantiles)
      out += fmt::format("{}{{{},quantile=\"{}\"}} {}\n", name, labels, q, seconds(value));
    out += fmt::format("{}_count{{{}}} {}\n", name, labels, metric->n);
    out += fmt::format("{}_sum{{{}}} {}\n", name, labels,
                       seconds(metric->mean * static_cast<double>(metric->n)));
  }
  return out;
}

std::string counters(const Report& report) {
  std::vector<std::string> names;
  for (const Variant& variant : report.variants)
    for (const Counter& counter : variant.counters)
      if (std::find(names.begin(), names.end(), counter.name) == names.end())
        names.push_back(counter.name);
  std::string out;
  for (const std::string& counter_name : names) {
    const std::string name = metric_name(counter_name);
    out += fmt::format("# TYPE {0} counter\n# HELP {0} {1}, all runs together.\n", name,
                       label_escaped(counter_name));
    for (const Variant& variant : report.variants)
      if (const Counter* counter = variant.counter(counter_name))
        out += fmt::format("{}_total{{{}}} {}\n", name, labels_of(report, variant), counter->value);
  }
  return out;
}

}  // namespace

std::string export_csv(const Report& report) {
  std::string out = "scenario,variant,metric,unit,better,run,n,mean,p50,p90,p99,p99_9,max\n";
  for (const Variant& variant : report.variants) {
    for (const Metric& metric : variant.metrics) {
      for (std::size_t i = 0; i < metric.per_run.size(); ++i) {
        const RunSummary& run = metric.per_run[i];
        CsvLine line;
        line.add(report.scenario.name).add(variant.name).add(metric.id).add(metric.unit);
        line.add(metric.better == Better::kLower ? "lower" : "higher");
        line.add(static_cast<std::int64_t>(i)).add(run.n);
        for (const double value : {run.mean, run.p50, run.p90, run.p99, run.p99_9, run.max})
          line.add(run.n > 0 ? std::optional(value) : std::nullopt);
        out += line.take();
      }
    }
  }
  return out;
}

std::string export_google_benchmark(const Report& report) {
  GoogleBenchmark out(report.manifest.version);
  for (const Variant& variant : report.variants) {
    for (const Metric& metric : variant.metrics) {
      std::vector<double> means;
      for (const RunSummary& run : metric.per_run)
        if (run.n > 0) means.push_back(run.mean);
      out.add(report.scenario.name + "/" + variant.name + "/" + metric.id, metric.unit, means);
    }
  }
  return out.take();
}

std::string export_openmetrics(const Report& report) {
  std::string out;
  for (const Metric* metric : metrics_of(report))
    if (metric->unit == "ns") out += time_summary(report, *metric);
  return out + counters(report) + "# EOF\n";
}

std::string export_hgrm(const Metric& metric) {
  std::string out = fmt::format("{:>12} {:>12} {:>12} {:>12}\n\n", "Value", "Percentile",
                                "TotalCount", "1/(1-Percentile)");
  const HistogramBins& bins = metric.histogram;
  const auto total = static_cast<double>(metric.n);
  double next = 0;  // percentile of the next line
  std::int64_t seen = 0;
  double squares = 0;
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    if (bins.counts[i] == 0) continue;
    seen += bins.counts[i];
    const double middle = (bins.edges[i] + bins.edges[i + 1]) / 2;
    squares +=
        (middle - metric.mean) * (middle - metric.mean) * static_cast<double>(bins.counts[i]);
    const double value = std::min(bins.edges[i + 1], metric.max);
    while (seen < metric.n && next <= 100 * static_cast<double>(seen) / total) {
      out += fmt::format("{:12.3f} {:12.6f} {:12d} {:12.2f}\n", value, next / 100, seen,
                         100 / (100 - next));
      double halves = 1;  // the smallest power of two above 100 / (100 - next)
      while (halves <= 100 / (100 - next)) halves *= 2;
      next += 100 / (5 * halves);
    }
  }
  out += fmt::format("{:12.3f} {:12.6f} {:12d} {:>12}\n", metric.max, 1.0, metric.n, "inf");
  out += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", metric.mean,
                     metric.n == 0 ? 0.0 : std::sqrt(squares / total));
  out += fmt::format("#[Max     = {:12.3f}, Total count    = {:12d}]\n", metric.max, metric.n);
  // The layout of histogram.h: 2048 values of their own, then 1024 a power of two up to 2^63.
  return out + fmt::format("#[Buckets = {:12d}, SubBuckets     = {:12d}]\n", 53, 2048);
}

}  // namespace idlesim::report

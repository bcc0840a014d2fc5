// Comparisons as google-benchmark JSON and OpenMetrics.
#include <fmt/format.h>

#include <functional>

#include "google_benchmark.h"
#include "idlesim/report/compare_formats.h"
#include "machine_text.h"

namespace idlesim::report {

namespace {

// A gauge of every metric that has a value for it.
std::string gauge(const Comparison& comparison, const char* name, const char* help,
                  const std::function<std::optional<double>(const MetricComparison&)>& value_of) {
  std::string out = fmt::format("# TYPE {0} gauge\n# HELP {0} {1}\n", name, help);
  for (const VariantComparison& variant : comparison.variants) {
    for (const MetricComparison& one : variant.metrics) {
      const std::optional<double> value = value_of(one);
      if (!value) continue;
      out +=
          fmt::format("{}{{scenario=\"{}\",variant=\"{}\",metric=\"{}\",statistic=\"{}\"}} {}\n",
                      name, label_escaped(comparison.now.scenario), label_escaped(variant.title()),
                      label_escaped(one.metric), to_string(one.statistic), number_text(*value));
    }
  }
  return out;
}

}  // namespace

std::string to_google_benchmark(const Comparison& comparison) {
  GoogleBenchmark out(comparison.now.version);
  for (const VariantComparison& variant : comparison.variants) {
    for (const MetricComparison& one : variant.metrics) {
      const std::string name = comparison.now.scenario + "/" + variant.title() + "/" + one.name();
      out.add(name + "/base", one.unit, one.base.values);
      out.add(name + "/new", one.unit, one.now.values);
    }
  }
  return out.take();
}

std::string to_openmetrics(const Comparison& comparison, const CompareSummary& summary) {
  std::string out;
  out += gauge(comparison, "idlesim_compare_change_ratio",
               "Change from the base, as a share of it.", [](const MetricComparison& one) {
                 return one.change && one.change->percent
                            ? std::optional(*one.change->percent / 100)
                            : std::nullopt;
               });
  out += gauge(comparison, "idlesim_compare_p_value", "Holm-corrected p of the rank test.",
               [](const MetricComparison& one) { return one.p_corrected; });
  out += gauge(comparison, "idlesim_compare_regression", "1 if the metric is a regression.",
               [](const MetricComparison& one) {
                 return one.verdict == Verdict::kNotJudged || one.verdict == Verdict::kNoVerdict
                            ? std::nullopt
                            : std::optional(one.verdict == Verdict::kRegression ? 1.0 : 0.0);
               });
  out += fmt::format(
      "# TYPE idlesim_compare_outcome gauge\n"
      "# HELP idlesim_compare_outcome 0 pass, 1 fail, 2 inconclusive.\n"
      "idlesim_compare_outcome{{scenario=\"{}\"}} {}\n",
      label_escaped(comparison.now.scenario), static_cast<int>(summary.outcome));
  return out + "# EOF\n";
}

}  // namespace idlesim::report

// The JSON verdict of a comparison.
#include "compare_words.h"
#include "idlesim/report/compare_formats.h"
#include "json_numbers.h"

namespace idlesim::report {

namespace {

using config::JsonWriter;
constexpr auto kOneLine = JsonWriter::Layout::kOneLine;

void number(JsonWriter& out, std::string_view name, const std::optional<double>& value) {
  out.key(name);
  write_number(out, value ? std::optional(round_significant(*value)) : std::nullopt);
}

void interval(JsonWriter& out, std::string_view name, const std::optional<Interval>& value) {
  out.key(name);
  if (value)
    write_interval(out, Interval{round_significant(value->low), round_significant(value->high)});
  else
    out.null();
}

void write_source(JsonWriter& out, std::string_view name, const Source& source) {
  out.key(name).begin_object();
  out.member("name", source.name);
  out.member("scenario", source.scenario);
  out.member("digest", source.digest);
  out.member("version", source.version);
  out.member("git_commit", source.git_commit);
  out.member("model_version", source.model_version);
  out.member("seed", source.seed);
  out.end_object();
}

void write_summary(JsonWriter& out, const CompareSummary& summary) {
  out.member("outcome", to_string(summary.outcome));
  out.member("reason", summary.reason);
  out.key("summary").begin_object();
  out.member("judged", summary.judged);
  out.member("regressions", summary.regressions);
  out.member("improvements", summary.improvements);
  out.member("below_threshold", summary.below_threshold);
  out.member("no_difference", summary.no_difference);
  out.member("no_verdict", summary.no_verdict);
  out.end_object();
}

void write_side(JsonWriter& out, std::string_view name, const Side& side) {
  out.key(name).begin_object();
  out.member("n", side.values.size());
  const bool any = !side.values.empty();
  number(out, "median", any ? std::optional(side.median) : std::nullopt);
  interval(out, "median_ci95", side.median_ci95);
  number(out, "mean", any ? std::optional(side.mean) : std::nullopt);
  interval(out, "mean_ci95", side.mean_ci95);
  number(out, "stdev", side.stdev);
  out.key("values").begin_array(kOneLine);
  for (const double value : side.values) write_number(out, value);
  out.end_array();
  out.end_object();
}

void write_metric(JsonWriter& out, const MetricComparison& one) {
  out.begin_object();
  out.member("metric", one.metric);
  out.member("statistic", to_string(one.statistic));
  out.member("unit", one.unit);
  out.member("better", one.better == Better::kLower ? "lower" : "higher");
  out.member("verdict", to_string(one.verdict));
  out.member("reason", one.reason);
  number(out, "threshold_percent", one.threshold_percent);
  const auto& change = one.change;
  const auto& ci95 = one.change_ci95;
  number(out, "change_percent", change ? change->percent : std::nullopt);
  interval(out, "change_percent_ci95", ci95 ? ci95->percent : std::nullopt);
  number(out, "difference", change ? std::optional(change->difference) : std::nullopt);
  interval(out, "difference_ci95", ci95 ? std::optional(ci95->difference) : std::nullopt);
  number(out, "p", one.p);
  number(out, "p_corrected", one.p_corrected);
  number(out, "effect", one.effect);
  write_side(out, "base", one.base);
  write_side(out, "new", one.now);
  out.end_object();
}

void write_variant(JsonWriter& out, const VariantComparison& variant) {
  out.begin_object();
  out.member("base", variant.base);
  out.member("new", variant.now);
  out.member("pairing", to_string(variant.pairing));
  out.member("base_runs", variant.base_runs);
  out.member("new_runs", variant.now_runs);
  out.key("metrics").begin_array();
  for (const MetricComparison& one : variant.metrics) write_metric(out, one);
  out.end_array();
  out.key("stages").begin_array();
  for (const StageComparison& stage : variant.stages) {
    out.begin_object(kOneLine);
    out.member("name", stage.name);
    number(out, "base_ns", stage.base_ns);
    number(out, "new_ns", stage.now_ns);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void write_strings(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.value(text);
  out.end_array();
}

}  // namespace

std::string to_json(const Comparison& comparison, const CompareSummary& summary) {
  JsonWriter out;
  out.begin_object();
  out.member("schema_version", kCompareSchemaVersion);
  write_summary(out, summary);
  number(out, "alpha", comparison.alpha);
  out.key("bootstrap").begin_object();
  out.member("resamples", comparison.resamples);
  out.member("seed", comparison.seed);
  out.end_object();
  write_source(out, "base", comparison.base);
  write_source(out, "new", comparison.now);
  write_strings(out, "warnings", comparison.warnings);
  write_strings(out, "missing_in_base", comparison.missing_in_base);
  write_strings(out, "missing_in_new", comparison.missing_in_new);
  out.key("variants").begin_array();
  for (const VariantComparison& variant : comparison.variants) write_variant(out, variant);
  out.end_array();
  out.end_object();
  return out.take();
}

}  // namespace idlesim::report

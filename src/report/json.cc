// Writes a Report as JSON.
#include "idlesim/report/json.h"

#include <nlohmann/json.hpp>

#include "idlesim/base/check.h"
#include "idlesim/config/json_writer.h"
#include "json_numbers.h"

namespace idlesim::report {

namespace {

using config::JsonWriter;
constexpr auto kOneLine = JsonWriter::Layout::kOneLine;

void number(JsonWriter& out, std::string_view name, double value) {
  out.key(name);
  write_number(out, value);
}

// A number that only exists if there are samples.
void statistic(JsonWriter& out, std::string_view name, std::int64_t n, double value) {
  out.key(name);
  if (n == 0)
    out.null();
  else
    write_number(out, value);
}

void write_strings(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.value(text);
  out.end_array();
}

void write_manifest(JsonWriter& out, const Manifest& manifest) {
  out.key("manifest").begin_object();
  out.member("tool", "idlesim");
  out.member("version", manifest.version);
  out.member("git_commit", manifest.git_commit);
  out.member("model_version", manifest.model_version);
  out.member("schema_version", kReportSchemaVersion);
  out.member("seed", manifest.seed);
  out.member("runs", manifest.runs);
  const VolatileManifest& rest = manifest.volatile_part;
  out.key("volatile").begin_object();
  out.member("compiler", rest.compiler);
  out.member("flags", rest.flags);
  write_strings(out, "command_line", rest.command_line);
  out.member("host", rest.host);
  out.member("start_time", rest.start_time);
  number(out, "duration_s", rest.duration_s);
  out.member("jobs", rest.jobs);
  out.end_object();
  out.end_object();
}

void write_scenario(JsonWriter& out, const Scenario& scenario) {
  out.key("scenario").begin_object();
  out.member("name", scenario.name);
  out.member("description", scenario.description);
  out.member("workload", scenario.workload);
  out.member("digest", scenario.digest);
  out.key("resolved");
  const auto document = nlohmann::ordered_json::parse(scenario.resolved, nullptr, false);
  CHECK(document.is_object(), "the resolved scenario is not a JSON object");
  write_document(out, document);
  out.end_object();
}

void write_histogram(JsonWriter& out, const HistogramBins& histogram) {
  out.key("histogram").begin_object();
  out.key("edges").begin_array(kOneLine);
  for (double edge : histogram.edges) write_number(out, edge);
  out.end_array();
  out.key("counts").begin_array(kOneLine);
  for (std::int64_t count : histogram.counts) out.value(count);
  out.end_array();
  out.end_object();
}

void write_run(JsonWriter& out, const RunSummary& run) {
  out.begin_object(kOneLine);
  out.member("n", run.n);
  statistic(out, "mean", run.n, run.mean);
  statistic(out, "p50", run.n, run.p50);
  statistic(out, "p90", run.n, run.p90);
  statistic(out, "p99", run.n, run.p99);
  statistic(out, "p99_9", run.n, run.p99_9);
  statistic(out, "max", run.n, run.max);
  out.end_object();
}

void write_metric(JsonWriter& out, const Metric& metric) {
  out.key(metric.id).begin_object();
  out.member("unit", metric.unit);
  out.member("better", metric.better == Better::kLower ? "lower" : "higher");
  out.member("n", metric.n);
  statistic(out, "mean", metric.n, metric.mean);
  statistic(out, "min", metric.n, metric.min);
  statistic(out, "max", metric.n, metric.max);
  statistic(out, "p50", metric.n, metric.p50);
  statistic(out, "p90", metric.n, metric.p90);
  statistic(out, "p99", metric.n, metric.p99);
  statistic(out, "p99_9", metric.n, metric.p99_9);
  statistic(out, "p99_99", metric.n, metric.p99_99);
  out.key("stdev");
  write_number(out, metric.stdev);
  out.key("ci95");
  write_interval(out, metric.ci95);
  write_histogram(out, metric.histogram);
  out.key("per_run").begin_array();
  for (const RunSummary& run : metric.per_run) write_run(out, run);
  out.end_array();
  out.end_object();
}

void write_changes(JsonWriter& out, const std::vector<Change>& changes) {
  out.key("changes").begin_array();
  for (const Change& change : changes) {
    out.begin_object(kOneLine);
    out.member("path", change.path).member("from", change.from).member("to", change.to);
    out.end_object();
  }
  out.end_array();
}

void write_regimes(JsonWriter& out, const std::vector<Regime>& regimes) {
  out.key("regimes").begin_array();
  for (const Regime& regime : regimes) {
    out.begin_object(kOneLine);
    out.member("name", regime.name);
    number(out, "share", regime.share);
    out.member("condition", regime.condition);
    out.end_object();
  }
  out.end_array();
}

void write_stages(JsonWriter& out, const std::vector<Stage>& stages) {
  out.key("stages").begin_array();
  for (const Stage& stage : stages) {
    out.begin_object(kOneLine);
    out.member("name", stage.name);
    number(out, "mean_ns", stage.mean_ns);
    number(out, "p99_ns", stage.p99_ns);
    number(out, "share", stage.share);
    out.end_object();
  }
  out.end_array();
}

void write_variant(JsonWriter& out, const Variant& variant) {
  out.begin_object();
  out.member("name", variant.name);
  out.member("kernel", variant.kernel);
  out.member("runs", variant.runs);
  out.member("machine", variant.machine);
  out.member("platform", variant.platform);
  write_changes(out, variant.changes);
  out.key("metrics").begin_object();
  for (const Metric& metric : variant.metrics) write_metric(out, metric);
  out.end_object();
  out.key("counters").begin_object();
  for (const Counter& counter : variant.counters) out.member(counter.name, counter.value);
  out.end_object();
  write_regimes(out, variant.regimes);
  write_stages(out, variant.stages);
  out.end_object();
}

}  // namespace

std::string to_json(const Report& report) {
  JsonWriter out;
  out.begin_object();
  out.member("schema_version", kReportSchemaVersion);
  write_manifest(out, report.manifest);
  out.member("incomplete", report.incomplete);
  write_strings(out, "warnings", report.warnings);
  write_scenario(out, report.scenario);
  out.key("variants").begin_array();
  for (const Variant& variant : report.variants) write_variant(out, variant);
  out.end_array();
  out.end_object();
  return out.take();
}

}  // namespace idlesim::report

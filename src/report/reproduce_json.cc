// Writes a ReproduceReport as JSON.
#include "idlesim/config/json_writer.h"
#include "idlesim/report/reproduce.h"
#include "json_numbers.h"

namespace idlesim::report {

namespace {

using config::JsonWriter;
constexpr auto kOneLine = JsonWriter::Layout::kOneLine;

void number(JsonWriter& out, std::string_view name, double value) {
  out.key(name);
  write_number(out, round_for_report(value));
}

void number(JsonWriter& out, std::string_view name, const std::optional<double>& value) {
  if (value)
    number(out, name, *value);
  else
    out.key(name).null();
}

void write_simulated(JsonWriter& out, const std::optional<Simulated>& simulated) {
  out.key("simulated");
  if (!simulated) {
    out.null();
    return;
  }
  out.begin_object(kOneLine);
  number(out, "mean", simulated->mean);
  number(out, "low", simulated->low);
  number(out, "high", simulated->high);
  out.member("interval", simulated->interval == IntervalOf::kRuns ? "runs" : "parameters");
  out.end_object();
}

void write_result(JsonWriter& out, const ReproduceResult& result) {
  const PublishedRow& row = result.published;
  out.begin_object();
  out.member("id", row.id);
  out.member("group", row.group);
  out.member("side", row.side);
  out.member("machine", row.machine);
  out.member("quantity", row.quantity);
  out.member("unit", row.unit);
  out.key("published").begin_object(kOneLine);
  number(out, "low", row.low);
  number(out, "high", row.high);
  out.end_object();
  write_simulated(out, result.simulated);
  number(out, "error_percent", result.error_percent);
  number(out, "tolerance_percent", row.tolerance_percent);
  out.key("pass");
  if (result.pass)
    out.value(*result.pass);
  else
    out.null();
  out.member("status", to_string(result.status));
  out.end_object();
}

void write_fitted(JsonWriter& out, const FittedParameter& parameter) {
  out.begin_object();
  out.member("file", parameter.file);
  out.member("pointer", parameter.pointer);
  out.key("value");
  write_number(out, parameter.value);
  out.key("range");
  write_interval(out, parameter.range);
  out.member("fitted_to", parameter.fitted_to);
  out.end_object();
}

}  // namespace

std::string to_json(const ReproduceReport& report) {
  JsonWriter out;
  out.begin_object();
  out.member("schema_version", kReproduceSchemaVersion);
  out.key("results").begin_array();
  for (const ReproduceResult& result : report.results) write_result(out, result);
  out.end_array();
  out.key("fitted_parameters").begin_array();
  for (const FittedParameter& parameter : report.fitted_parameters) write_fitted(out, parameter);
  out.end_array();
  if (!report.notes.empty()) {
    out.key("x-notes").begin_array();
    for (const ReproduceNote& note : report.notes) {
      out.begin_object();
      out.member("group", note.group).member("text", note.text);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
  return out.take();
}

}  // namespace idlesim::report

#include <algorithm>
#include <array>
#include <ostream>

#include "command.h"
#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"
#include "idlesim/report/export.h"
#include "idlesim/report/json.h"
#include "idlesim/report/text.h"
#include "output.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;

constexpr std::array<std::string_view, 6> kExportFormats = {
    "text", "json", "csv", "google-benchmark", "openmetrics", "hgrm"};

void add_options(po::options_description& options) {
  options.add_options()("format,f", po::value<std::string>()->value_name("FORMAT"),
                        "text, json, csv, google-benchmark, openmetrics or hgrm; default text");
  options.add_options()("variant", po::value<std::string>()->value_name("NAME"),
                        "this variant only");
  options.add_options()("metric", po::value<std::string>()->value_name("ID"), "this metric only");
  add_output_option(options);
  add_color_option(options);
}

// Leaves the one called `name`, or says which there are.
template <typename Items, typename NameOf>
void keep(Items& items, const std::string& name, const char* what, NameOf name_of) {
  std::vector<std::string_view> names;
  for (const auto& item : items) names.push_back(name_of(item));
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw UserError("--" + std::string(what) + ": the report has no " + what + " \"" +
                    config::printable(name) + "\"" + config::did_you_mean(name, names));
  std::erase_if(items, [&](const auto& item) { return name_of(item) != name; });
}

void select(const Invocation& invocation, report::Report& report) {
  if (invocation.has("variant"))
    keep(report.variants, invocation.text("variant"), "variant",
         [](const report::Variant& variant) -> std::string_view { return variant.name; });
  if (!invocation.has("metric")) return;
  const std::string id = invocation.text("metric");
  std::vector<report::Metric> all;
  for (report::Variant& variant : report.variants)
    all.insert(all.end(), variant.metrics.begin(), variant.metrics.end());
  keep(all, id, "metric",
       [](const report::Metric& metric) -> std::string_view { return metric.id; });
  for (report::Variant& variant : report.variants)
    std::erase_if(variant.metrics, [&](const report::Metric& metric) { return metric.id != id; });
}

std::string hgrm_of(const report::Report& report) {
  const report::Metric* found = nullptr;
  std::string variants;
  std::string metrics;
  int count = 0;
  for (const report::Variant& variant : report.variants) {
    variants += (variants.empty() ? "" : ", ") + variant.name;
    for (const report::Metric& metric : variant.metrics) {
      ++count;
      found = &metric;
      if (&variant == &report.variants.front())
        metrics += (metrics.empty() ? "" : ", ") + metric.id;
    }
  }
  if (count == 1) return report::export_hgrm(*found);
  if (count == 0) throw UserError("--format hgrm: the report has no metric");
  throw UserError("--format hgrm: a file holds one metric of one variant; choose with --variant (" +
                  variants + ") and --metric (" + metrics + ")");
}

int run(const Invocation& invocation) {
  const std::string format = invocation.word("format", kExportFormats);
  const Output output(invocation);
  const bool color = use_color(invocation, output.is_terminal());
  report::Report report = report::read_report(invocation.operands.front());
  select(invocation, report);
  if (format == "csv")
    output.write(report::export_csv(report));
  else if (format == "google-benchmark")
    output.write(report::export_google_benchmark(report));
  else if (format == "openmetrics")
    output.write(report::export_openmetrics(report));
  else if (format == "hgrm")
    output.write(hgrm_of(report));
  else
    output.write(format == "json" ? report::to_json(report) : report::to_text(report, color));
  return kSuccess;
}

constexpr OptionWords kWords[] = {{"format", kExportFormats}, {"color", kColorWords}};

}  // namespace

const Command kExportCommand = {
    "export",
    "Prints a report in another format",
    "REPORT.json",
    1,
    1,
    "  idlesim export report.json\n"
    "  idlesim run ipistorm-altra -f json | idlesim export - -f csv -o runs.csv\n"
    "  idlesim export report.json -f hgrm --variant baseline --metric call_round_trip_ns\n",
    "REPORT.json is what 'idlesim run -f json' wrote; - is standard input.\n"
    "csv: a line for each run. google-benchmark: runs as repetitions. openmetrics: times in\n"
    "seconds, and counters. hgrm: the percentile listing of HdrHistogram.\n",
    add_options,
    run,
    kWords};

}  // namespace idlesim::app

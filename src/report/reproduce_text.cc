// Writes a ReproduceReport as text.
#include <fmt/format.h>

#include <algorithm>

#include "format.h"
#include "idlesim/report/reproduce.h"
#include "table.h"

namespace idlesim::report {

namespace {

constexpr std::size_t kIndent = 2;

std::string published_text(const PublishedRow& row) {
  if (row.low == row.high) return format_short(row.low);
  return format_short(row.low) + ".." + format_short(row.high);
}

Cell error_cell(const ReproduceResult& result) {
  if (!result.simulated) return {"-", Style::kDim};
  if (!result.error_percent) return {"undefined"};
  // The sign says on which side of the published range the simulated mean lies.
  const bool below = result.simulated->mean < result.published.low;
  return {format_percent_signed(below ? -*result.error_percent : *result.error_percent)};
}

Cell verdict_cell(const ReproduceResult& result) {
  if (!result.pass) return {"-", Style::kDim};
  return *result.pass ? Cell{"pass", Style::kGood} : Cell{"FAIL", Style::kBad};
}

void add_row(Table& table, const ReproduceResult& result) {
  const PublishedRow& row = result.published;
  Cell mean{"-", Style::kDim};
  Cell interval{"-", Style::kDim};
  if (const std::optional<Simulated>& simulated = result.simulated) {
    const DisplayUnit unit = large_unit(simulated->mean);
    mean = {format_value(simulated->mean, unit) + unit.name};
    interval = {fmt::format("{}..{}{}{}", format_value(simulated->low, unit),
                            format_value(simulated->high, unit), unit.name,
                            simulated->interval == IntervalOf::kParameters ? " p" : "")};
  }
  table.add_row({{row.id},
                 {row.side},
                 {row.unit},
                 {published_text(row)},
                 std::move(mean),
                 std::move(interval),
                 error_cell(result),
                 {row.tolerance_percent ? format_short(*row.tolerance_percent) + " %" : "-"},
                 verdict_cell(result),
                 {std::string(to_string(result.status))}});
}

std::string group_block(const ReproduceReport& report, const std::string& group, bool color) {
  Table table;
  table.add_column("id", Table::Align::kLeft);
  table.add_column("side", Table::Align::kLeft, 2);
  table.add_column("unit", Table::Align::kLeft);
  table.add_column("published");
  table.add_column("model");
  table.add_column("95 % interval");
  table.add_column("error");
  table.add_column("goal", Table::Align::kRight, 1);
  table.add_column("result", Table::Align::kLeft);
  table.add_column("status", Table::Align::kLeft);
  std::string notes;
  const auto note = [&](const std::string& text) {
    notes += std::string(kIndent, ' ') + wrapped(text, kIndent + 2) + '\n';
  };
  for (const ReproduceResult& result : report.results) {
    if (result.published.group != group) continue;
    add_row(table, result);
    if (!result.published.note.empty()) note(result.published.id + ": " + result.published.note);
  }
  for (const ReproduceNote& extra : report.notes)
    if (extra.group == group) note(extra.text);
  return styled(group, Style::kBold, color) + '\n' + table.render(kIndent, color) + notes + '\n';
}

std::string fitted_block(const ReproduceReport& report, bool color) {
  if (report.fitted_parameters.empty()) return {};
  Table table;
  table.add_column("file", Table::Align::kLeft);
  table.add_column("parameter", Table::Align::kLeft);
  table.add_column("value");
  table.add_column("range");
  table.add_column("fitted to", Table::Align::kLeft);
  for (const FittedParameter& parameter : report.fitted_parameters) {
    table.add_row({{parameter.file.substr(parameter.file.rfind('/') + 1)},
                   {parameter.pointer},
                   {format_short(parameter.value)},
                   {format_short(parameter.range.low) + ".." + format_short(parameter.range.high)},
                   {parameter.fitted_to}});
  }
  return styled("fitted parameters", Style::kBold, color) + '\n' + table.render(kIndent, color) +
         '\n';
}

std::string summary_block(const ReproduceReport& report, bool color) {
  const ReproduceSummary summary = summarize(report);
  std::string out = styled("summary", Style::kBold, color) + '\n';
  out += fmt::format("  predicted rows     {}, of {}; {} not modelled\n", summary.predicted,
                     report.results.size(), summary.not_modelled);
  if (summary.median_error_percent)
    out += fmt::format("  median error       {:.1f} %\n", *summary.median_error_percent);
  if (summary.predicted > 0) {
    out += fmt::format("  within their goal  {} of {} judged\n", summary.passed, summary.judged);
    out += fmt::format("  in the interval    {} of {} predicted\n", summary.inside_interval,
                       summary.predicted);
  }
  out += fmt::format("  fitted             {} parameters, {} rows (not counted above)\n",
                     summary.fitted_parameters, summary.fitted_rows);
  return out;
}

}  // namespace

std::string to_text(const ReproduceReport& report, bool color) {
  std::vector<std::string> groups;
  for (const ReproduceResult& result : report.results)
    if (std::find(groups.begin(), groups.end(), result.published.group) == groups.end())
      groups.push_back(result.published.group);
  std::string out;
  for (const std::string& group : groups) out += group_block(report, group, color);
  out += fitted_block(report, color) + summary_block(report, color);
  out +=
      "\n  " +
      wrapped(
          "model: simulated mean. error: its distance to the published range, + above it, - below "
          "it. 95 % interval: over runs; with p also over the ranges of the parameters.",
          kIndent) +
      '\n';
  return out;
}

}  // namespace idlesim::report

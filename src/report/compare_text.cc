// Comparisons for people: text and Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare_words.h"
#include "format.h"
#include "idlesim/report/compare_formats.h"
#include "table.h"

namespace idlesim::report {

namespace {

constexpr std::size_t kIndent = 2;

// "2428.3 ns +- 3 %": the median, and the farther end of its interval in percent.
std::string side_text(const Side& side, const std::string& unit) {
  if (side.values.empty()) return "-";
  const DisplayUnit shown = display_unit(unit, side.median);
  std::string text = format_value(side.median, shown) + " " + shown.name;
  if (!side.median_ci95 || side.median == 0) return text;
  const double half =
      std::max(side.median_ci95->high - side.median, side.median - side.median_ci95->low);
  return text + fmt::format(" +- {:.0f} %", half / std::fabs(side.median) * 100);
}

std::string change_text(const MetricComparison& one) {
  if (!one.change) return "-";
  return one.change->percent ? format_percent_signed(*one.change->percent) : "-";
}

std::string interval_text(const MetricComparison& one) {
  if (!one.change_ci95 || !one.change_ci95->percent) return "-";
  return fmt::format("[{:+.1f}, {:+.1f}]", one.change_ci95->percent->low,
                     one.change_ci95->percent->high);
}

Style style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRegression:
      return Style::kBad;
    case Verdict::kImprovement:
      return Style::kGood;
    case Verdict::kBelowThreshold:
      return Style::kPlain;
    default:
      return Style::kDim;
  }
}

// A heading for each metric above the rows of its statistics.
std::string metrics_table(const VariantComparison& variant, bool color) {
  Table table;
  table.add_column("", Table::Align::kLeft);
  table.add_column("base");
  table.add_column("new");
  table.add_column("change");
  table.add_column("95 % interval", Table::Align::kRight, 2);
  table.add_column("p", Table::Align::kRight, 1);
  table.add_column("limit", Table::Align::kRight, 3);
  table.add_column("verdict", Table::Align::kLeft);
  for (const MetricComparison& one : variant.metrics) {
    const Style style = style_of(one.verdict);
    table.add_row({{std::string(to_string(one.statistic))},
                   {side_text(one.base, one.unit)},
                   {side_text(one.now, one.unit)},
                   {change_text(one), style},
                   {interval_text(one)},
                   {one.p_corrected ? format_p(*one.p_corrected) : ""},
                   {one.threshold_percent ? fmt::format("{:g} %", *one.threshold_percent) : ""},
                   {std::string(word_of(one)), style}});
  }
  const std::string rows = table.render(2 * kIndent, color);
  std::string out;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < rows.size(); ++line) {
    const std::size_t end = rows.find('\n', begin) + 1;
    if (line > 0 &&
        (line == 1 || variant.metrics[line - 1].metric != variant.metrics[line - 2].metric))
      out += std::string(kIndent, ' ') + variant.metrics[line - 1].metric + '\n';
    out += rows.substr(begin, end - begin);
    begin = end;
  }
  return out;
}

std::string variant_block(const VariantComparison& variant, bool color) {
  std::string notes;
  for (const MetricComparison& one : variant.metrics)
    if (one.verdict == Verdict::kNoVerdict)
      notes += "  " + wrapped(one.name() + ": no verdict: " + one.reason, 2 * kIndent) + '\n';
  const std::string table = variant.metrics.empty() ? "" : metrics_table(variant, color);
  return '\n' + styled(variant.title(), Style::kBold, color) + ", " + how_compared(variant) + '\n' +
         table + notes;
}

std::string signed_ns(double ns) {
  return std::fabs(ns) < 0.05 ? "0.0" : fmt::format("{:+.1f}", ns);
}

std::string stages_block(const VariantComparison& variant, bool color) {
  if (variant.stages.empty()) return {};
  Table table;
  table.add_column("stage, mean ns", Table::Align::kLeft);
  table.add_column("base");
  table.add_column("new");
  table.add_column("difference");
  double base = 0;
  double now = 0;
  const auto number = [](const std::optional<double>& value) {
    return Cell{value ? fmt::format("{:.1f}", *value) : "-"};
  };
  for (const StageComparison& stage : variant.stages) {
    base += stage.base_ns.value_or(0);
    now += stage.now_ns.value_or(0);
    table.add_row({{stage.name},
                   number(stage.base_ns),
                   number(stage.now_ns),
                   {signed_ns(stage.now_ns.value_or(0) - stage.base_ns.value_or(0))}});
  }
  table.add_row({{"sum"}, number(base), number(now), {signed_ns(now - base)}});
  return '\n' + table.render(kIndent, color);
}

std::string source_text(const Source& source) {
  return fmt::format("{} (idlesim {}, model {}, commit {}, seed {})", source.name, source.version,
                     source.model_version, source.git_commit.substr(0, 12), source.seed);
}

std::string missing_text(const Comparison& comparison) {
  std::string out;
  for (const std::string& name : comparison.missing_in_base)
    out += "variant " + name + ": not in the base, not compared\n";
  for (const std::string& name : comparison.missing_in_new)
    out += "variant " + name + ": not in the new report, not compared\n";
  return out;
}

std::string legend(const Comparison& comparison) {
  return "\n  " +
         wrapped(
             fmt::format(
                 "base, new: median over runs, +- its 95 % interval. change: {}, with a 95 % "
                 "bootstrap interval. p: rank test, corrected by Holm over the metrics with a "
                 "limit. REGRESSION, better: p < {:g} and the nearer end of the interval is "
                 "beyond the limit; changed: only p < {:g}; ~ no difference shown; ? no verdict.",
                 "of the median, or median over pairs of runs", comparison.alpha, comparison.alpha),
             kIndent) +
         '\n';
}

// --- Markdown ---

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '[')
      out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown_row(const MetricComparison& one) {
  const bool strong = one.verdict == Verdict::kRegression || one.verdict == Verdict::kImprovement;
  const std::string mark = strong ? "**" : "";
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {}{}{} |\n", escaped(one.name()),
                     side_text(one.base, one.unit), side_text(one.now, one.unit), change_text(one),
                     interval_text(one), one.p_corrected ? format_p(*one.p_corrected) : "",
                     one.threshold_percent ? fmt::format("{:g} %", *one.threshold_percent) : "",
                     mark, word_of(one), mark);
}

std::string markdown_table(const VariantComparison& variant, bool judged) {
  std::string rows;
  for (const MetricComparison& one : variant.metrics)
    if ((one.verdict != Verdict::kNotJudged) == judged) rows += markdown_row(one);
  if (rows.empty()) return {};
  return "| metric | base | new | change | 95 % interval | p | limit | verdict |\n"
         "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n" +
         rows;
}

}  // namespace

std::string to_text(const Comparison& comparison, const CompareSummary& summary, bool color) {
  std::string out = "base  " + wrapped(source_text(comparison.base), 6) + "\nnew   " +
                    wrapped(source_text(comparison.now), 6) + '\n';
  for (const VariantComparison& variant : comparison.variants)
    out += variant_block(variant, color) + stages_block(variant, color);
  const std::string missing = missing_text(comparison);
  if (!missing.empty()) out += '\n' + missing;
  if (!comparison.variants.empty()) out += legend(comparison);
  out += '\n';
  for (const std::string& warning : comparison.warnings)
    out += styled("warning:", Style::kBad, color) + ' ' + wrapped(warning, 9) + '\n';
  const Style style = summary.outcome == Outcome::kPass   ? Style::kGood
                      : summary.outcome == Outcome::kFail ? Style::kBad
                                                          : Style::kBold;
  return out + styled(headline(summary), style, color) + '\n';
}

std::string to_markdown(const Comparison& comparison, const CompareSummary& summary) {
  std::string out = "## idlesim: " + escaped(headline(summary)) + "\n\n";
  out += "base: " + escaped(source_text(comparison.base)) +
         "  \nnew: " + escaped(source_text(comparison.now)) + "\n";
  for (const VariantComparison& variant : comparison.variants) {
    out += "\n### " + escaped(variant.title()) + "\n\n" + escaped(how_compared(variant)) + "\n\n" +
           markdown_table(variant, true);
    for (const MetricComparison& one : variant.metrics)
      if (one.verdict == Verdict::kNoVerdict)
        out += "\n- " + escaped(one.name()) + ": " + escaped(one.reason) + "\n";
    const std::string rest = markdown_table(variant, false);
    if (!rest.empty())
      out += "\n<details><summary>not judged</summary>\n\n" + rest + "\n</details>\n";
  }
  const std::string missing = missing_text(comparison);
  if (!missing.empty()) out += '\n' + escaped(missing) + '\n';
  for (const std::string& warning : comparison.warnings)
    out += "\nwarning: " + escaped(warning) + "\n";
  return out;
}

}  // namespace idlesim::report

// Writes a Report as text.
#include "idlesim/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "format.h"
#include "table.h"

namespace idlesim::report {

namespace {

constexpr std::size_t kIndent = 2;

// How a variant's mean stands to the first one's.
Cell change_cell(const Metric* first, const Metric& metric) {
  if (first == nullptr || first->n == 0 || first->mean == 0) return {"-"};
  const double percent = (metric.mean - first->mean) / std::fabs(first->mean) * 100;
  const std::string change = format_percent_signed(percent);
  if (!first->ci95 || !metric.ci95) return {change + " ?"};
  if (overlap(*first->ci95, *metric.ci95)) return {change + " ~", Style::kDim};
  const bool good = (percent < 0) == (metric.better == Better::kLower);
  return {change + (good ? " better" : " worse"), good ? Style::kGood : Style::kBad};
}

std::string title(std::string_view text, bool color) {
  return '\n' + styled(text, Style::kBold, color);
}

std::string metric_block(const Report& report, const Metric& example, bool color) {
  const Metric* first = report.variants.front().metric(example.id);
  double typical = 0;
  for (const Variant& variant : report.variants)
    if (const Metric* metric = variant.metric(example.id))
      typical = std::max(typical, std::fabs(metric->mean));
  const DisplayUnit unit = display_unit(example.unit, typical);

  Table table;
  table.add_column("variant", Table::Align::kLeft);
  table.add_column("mean");
  table.add_column("95 % interval", Table::Align::kRight, 1);
  table.add_column("change");
  table.add_column("p50");
  table.add_column("p90", Table::Align::kRight, 3);
  table.add_column("p99");
  table.add_column("p99.9", Table::Align::kRight, 2);
  table.add_column("max");
  table.add_column("samples", Table::Align::kRight, 4);
  for (const Variant& variant : report.variants) {
    const Metric* metric = variant.metric(example.id);
    if (metric == nullptr || metric->n == 0) {
      table.add_row({{variant.name}, {"no samples"}, {}, {}, {}, {}, {}, {}, {}, {"0"}});
      continue;
    }
    const auto value = [&](double number) { return Cell{format_value(number, unit)}; };
    const bool is_first = &variant == &report.variants.front();
    table.add_row({{variant.name},
                   value(metric->mean),
                   {metric->ci95 ? format_interval(*metric->ci95, unit) : "-"},
                   is_first ? Cell{} : change_cell(first, *metric),
                   value(metric->p50),
                   value(metric->p90),
                   value(metric->p99),
                   value(metric->p99_9),
                   value(metric->max),
                   {fmt::format("{}", metric->n)}});
  }
  const char* better = example.better == Better::kLower ? "lower" : "higher";
  return title(example.id, color) + fmt::format(" [{}], {} is better\n", unit.name, better) +
         table.render(kIndent, color);
}

// One column per variant; further tables when they do not fit. `cell_of(row, variant)`.
template <typename Rows, typename NameOf, typename CellOf>
std::string variant_tables(const Report& report, const Rows& rows, std::string_view header,
                           NameOf name_of, CellOf cell_of, bool color) {
  std::size_t name_width = display_width(header);
  for (const auto& row : rows) name_width = std::max(name_width, display_width(name_of(row)));
  const auto width_of = [&](const Variant& variant) {
    std::size_t width = display_width(variant.name);
    for (const auto& row : rows) width = std::max(width, display_width(cell_of(row, variant)));
    return width + 2;
  };
  std::string out;
  for (std::size_t begin = 0; begin < report.variants.size();) {
    std::size_t end = begin;
    std::size_t width = kIndent + name_width;
    do {
      width += width_of(report.variants[end++]);
    } while (end < report.variants.size() && width + width_of(report.variants[end]) <= kTextWidth);

    Table table;
    table.add_column(std::string(header), Table::Align::kLeft);
    for (std::size_t i = begin; i < end; ++i) table.add_column(report.variants[i].name);
    for (const auto& row : rows) {
      std::vector<Cell> cells = {{std::string(name_of(row))}};
      for (std::size_t i = begin; i < end; ++i) cells.push_back({cell_of(row, report.variants[i])});
      table.add_row(std::move(cells));
    }
    out += table.render(kIndent, color);
    begin = end;
  }
  return out;
}

// The names in the order in which the variants first have them.
template <typename Items, typename NameOf>
std::vector<std::string> names_of(const Report& report, Items items, NameOf name) {
  std::vector<std::string> names;
  for (const Variant& variant : report.variants)
    for (const auto& item : variant.*items)
      if (std::find(names.begin(), names.end(), item.*name) == names.end())
        names.push_back(item.*name);
  return names;
}

std::string counters_block(const Report& report, bool color) {
  const std::vector<std::string> names = names_of(report, &Variant::counters, &Counter::name);
  if (names.empty()) return {};
  const auto cell_of = [](const std::string& name, const Variant& variant) -> std::string {
    const Counter* counter = variant.counter(name);
    if (counter == nullptr || variant.runs == 0) return "-";
    return format_number(static_cast<double>(counter->value) / variant.runs);
  };
  return title("counters", color) + ", mean per run\n" +
         variant_tables(report, names, "counter", std::identity{}, cell_of, color);
}

std::string stages_block(const Report& report, bool color) {
  const std::vector<std::string> names = names_of(report, &Variant::stages, &Stage::name);
  if (names.empty()) return {};
  const auto cell_of = [](const std::string& name, const Variant& variant) -> std::string {
    const Stage* stage = variant.stage(name);
    if (stage == nullptr) return "-";
    return fmt::format("{:>7.1f} {:>7.1f} {:>7}", stage->mean_ns, stage->p99_ns,
                       format_share(stage->share));
  };
  return title("stages", color) + ", where the time went: mean ns, p99 ns, share of the whole\n" +
         variant_tables(report, names, "stage", std::identity{}, cell_of, color);
}

std::string regimes_block(const Report& report, bool color) {
  Table table;
  table.add_column("variant", Table::Align::kLeft);
  table.add_column("regime", Table::Align::kLeft);
  table.add_column("runs");
  table.add_column("condition", Table::Align::kLeft);
  bool any = false;
  for (const Variant& variant : report.variants) {
    bool first = true;
    for (const Regime& regime : variant.regimes) {
      table.add_row({{first ? variant.name : ""},
                     {regime.name},
                     {format_share(regime.share)},
                     {regime.condition}});
      first = false;
      any = true;
    }
  }
  if (!any) return {};
  return title("regimes", color) + ", ways in which runs go and the share of the runs\n" +
         table.render(kIndent, color);
}

// "machine  epyc-milan-2s": one value if all variants agree, else left to the variants.
std::string common(const Report& report, std::string Variant::*member) {
  for (const Variant& variant : report.variants)
    if (variant.*member != report.variants.front().*member) return "differs, see variants";
  return report.variants.empty() ? "" : report.variants.front().*member;
}

std::string runs_text(const Report& report) {
  const std::string asked = fmt::format("{} per variant", report.manifest.runs);
  if (!report.incomplete) return asked;
  std::string finished;
  for (const Variant& variant : report.variants)
    finished += fmt::format("{}{} {}", finished.empty() ? "" : ", ", variant.name, variant.runs);
  return asked + "; INCOMPLETE, finished: " + finished;
}

std::string settings_block(const Report& report, bool color) {
  constexpr std::size_t kLabel = 10;
  std::string out = styled(report.scenario.name, Style::kBold, color) + '\n';
  if (!report.scenario.description.empty())
    out += std::string(kIndent, ' ') + wrapped(report.scenario.description, kIndent) + '\n';
  const auto line = [&](std::string_view label, std::string_view text) {
    out += fmt::format("  {:<{}}{}\n", label, kLabel, wrapped(text, kIndent + kLabel));
  };
  line("machine", common(report, &Variant::machine));
  line("platform", common(report, &Variant::platform));
  line("kernel", common(report, &Variant::kernel));
  line("workload", report.scenario.workload);
  line("runs", runs_text(report));
  line("seed", fmt::format("{}", report.manifest.seed));
  line("idlesim", fmt::format("{} (model {}, commit {})", report.manifest.version,
                              report.manifest.model_version, report.manifest.git_commit));
  return out;
}

std::string variants_block(const Report& report, bool color) {
  if (report.variants.size() < 2) return {};
  std::size_t width = 0;
  for (const Variant& variant : report.variants)
    width = std::max(width, display_width(variant.name));
  std::string out = title("variants", color) + '\n';
  for (const Variant& variant : report.variants) {
    std::string what;
    if (&variant == &report.variants.front()) what = "the others are compared with this one";
    for (const Change& change : variant.changes)
      what += fmt::format("{}{}={} (was {})", what.empty() ? "" : ", ", change.path, change.to,
                          change.from);
    if (what.empty()) what = "same settings as the first";
    const std::size_t padding = width - display_width(variant.name) + 2;
    out += std::string(kIndent, ' ') + variant.name + std::string(padding, ' ') +
           wrapped(what, kIndent + width + 2) + '\n';
  }
  return out;
}

// Explains the signs the tables use.
std::string legend(const Report& report) {
  bool has_interval = false;
  bool lacks_interval = false;
  for (const Variant& variant : report.variants)
    for (const Metric& metric : variant.metrics)
      if (metric.n > 0) (metric.ci95 ? has_interval : lacks_interval) = true;
  std::string out = "\n";
  if (has_interval) {
    out += "  " +
           wrapped(
               "95 % interval: of the mean over runs (Student's t). Quantiles: of all "
               "samples together.",
               kIndent) +
           '\n';
  }
  if (has_interval && report.variants.size() > 1) {
    out += "  " +
           wrapped(
               "change: of the mean against the first variant; ~ the two 95 % intervals "
               "overlap; better, worse: they do not.",
               kIndent) +
           '\n';
  }
  if (lacks_interval)
    out += "  -, ?: no interval, because fewer than two runs have samples (use -n).\n";
  return out;
}

}  // namespace

std::string to_text(const Report& report, bool color) {
  std::string out = settings_block(report, color) + variants_block(report, color);
  std::vector<const Metric*> metrics;  // of the first variant that has each
  for (const Variant& variant : report.variants)
    for (const Metric& metric : variant.metrics)
      if (std::none_of(metrics.begin(), metrics.end(),
                       [&](const Metric* known) { return known->id == metric.id; }))
        metrics.push_back(&metric);
  for (const Metric* metric : metrics) out += metric_block(report, *metric, color);
  if (!metrics.empty()) out += legend(report);
  out += regimes_block(report, color) + stages_block(report, color) + counters_block(report, color);
  if (!report.warnings.empty()) out += '\n';
  for (const std::string& warning : report.warnings)
    out += styled("warning:", Style::kBad, color) + ' ' + wrapped(warning, 9) + '\n';
  return out;
}

}  // namespace idlesim::report

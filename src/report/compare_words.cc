#include "compare_words.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "format.h"
#include "idlesim/report/compare_formats.h"

namespace idlesim::report {

namespace {

std::string counted(int n, const char* singular) {
  return fmt::format("{} {}{}", n, singular, n == 1 ? "" : "s");
}

}  // namespace

std::string_view word_of(const MetricComparison& one) {
  if (one.verdict == Verdict::kNoDifference && !one.reason.empty()) return "~ identical";
  constexpr std::string_view kWords[] = {"REGRESSION", "better", "changed", "~", "?", ""};
  return kWords[static_cast<std::size_t>(one.verdict)];
}

std::string format_p(double p) { return p < 0.0005 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string how_compared(const VariantComparison& variant) {
  const std::string runs = variant.base_runs == variant.now_runs
                               ? counted(variant.now_runs, "run")
                               : fmt::format("{} and {} runs", variant.base_runs, variant.now_runs);
  if (variant.pairing == Pairing::kPaired)
    return runs + ", paired by their random draws (Wilcoxon signed-rank)";
  return runs + ", independent (Mann-Whitney)";
}

std::string headline(const CompareSummary& summary) {
  std::string out;
  if (summary.outcome == Outcome::kFail)
    out = "FAIL: ";
  else if (summary.outcome == Outcome::kInconclusive)
    return "INCONCLUSIVE: " + summary.reason;
  else
    out = "ok: ";
  out += counted(summary.regressions, "regression");
  if (summary.improvements > 0) out += ", " + counted(summary.improvements, "improvement");
  out += fmt::format(" in {}", counted(summary.judged, "judged metric"));
  if (summary.no_verdict > 0) out += fmt::format(", {} without a verdict", summary.no_verdict);
  return out;
}

std::string explanation(const MetricComparison& one) {
  if (!one.reason.empty()) return one.reason;
  std::string out = one.change && one.change->percent ? format_percent_signed(*one.change->percent)
                                                      : std::string("no percentage");
  if (one.change_ci95 && one.change_ci95->percent)
    out += fmt::format(" [{:+.1f}, {:+.1f}]", one.change_ci95->percent->low,
                       one.change_ci95->percent->high);
  if (one.p_corrected) out += ", p " + format_p(*one.p_corrected);
  if (one.threshold_percent) out += fmt::format(", limit {:g} %", *one.threshold_percent);
  return out;
}

double round_significant(double value) {
  if (!std::isfinite(value)) return value;
  const std::string text = fmt::format("{:.6g}", value);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

}  // namespace idlesim::report

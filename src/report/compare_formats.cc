// Comparisons for other tools: JUnit XML, KTAP, LKP's table, CSV.
#include "idlesim/report/compare_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare_words.h"
#include "machine_text.h"

namespace idlesim::report {

namespace {

std::vector<const MetricComparison*> judged_of(const VariantComparison& variant) {
  std::vector<const MetricComparison*> judged;
  for (const MetricComparison& one : variant.metrics)
    if (one.verdict != Verdict::kNotJudged) judged.push_back(&one);
  return judged;
}

int count(const std::vector<const MetricComparison*>& judged, Verdict verdict) {
  return static_cast<int>(
      std::count_if(judged.begin(), judged.end(),
                    [&](const MetricComparison* one) { return one->verdict == verdict; }));
}

// --- LKP ---

// "2428.30 +-  5%": the deviation only above 1 %, as LKP does.
std::string lkp_side(const Side& side) {
  if (side.values.empty()) return fmt::format("{:>16}", "-");
  std::string deviation;
  if (side.stdev && side.mean != 0) {
    const double percent = *side.stdev / std::fabs(side.mean) * 100;
    if (percent >= 1) deviation = fmt::format("± {:>2.0f}%", percent);
  }
  // Two bytes for one character.
  const int width = deviation.empty() ? 5 : 6;
  return fmt::format("{:>11} {:<{}}", fmt::format("{:.4g}", side.mean), deviation, width - 1);
}

std::string lkp_change(const MetricComparison& one) {
  if (one.base.values.empty() || one.base.mean == 0) return "-";
  return fmt::format("{:+.1f}%", (one.now.mean - one.base.mean) / std::fabs(one.base.mean) * 100);
}

}  // namespace

std::string to_junit(const Comparison& comparison) {
  std::string suites;
  int tests = 0;
  int failures = 0;
  int skipped = 0;
  for (const VariantComparison& variant : comparison.variants) {
    const auto judged = judged_of(variant);
    const int failed = count(judged, Verdict::kRegression);
    const int without = count(judged, Verdict::kNoVerdict);
    tests += static_cast<int>(judged.size());
    failures += failed;
    skipped += without;
    const std::string suite = comparison.now.scenario + "." + variant.title();
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
        "time=\"0\">\n",
        xml_escaped(suite), judged.size(), failed, without);
    for (const MetricComparison* one : judged) {
      suites += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\"",
                            xml_escaped(suite), xml_escaped(one->name()));
      const std::string why = xml_escaped(explanation(*one));
      if (one->verdict == Verdict::kRegression)
        suites += fmt::format(
            ">\n      <failure type=\"regression\" message=\"{0}\">{0}</failure>\n    "
            "</testcase>\n",
            why);
      else if (one->verdict == Verdict::kNoVerdict)
        suites += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", why);
      else
        suites += fmt::format(">\n      <system-out>{}: {}</system-out>\n    </testcase>\n",
                              to_string(one->verdict), why);
    }
    suites += "  </testsuite>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"idlesim compare\" "
      "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"0\">\n{}</testsuites>\n",
      tests, failures, skipped, suites);
}

std::string to_ktap(const Comparison& comparison) {
  std::string out = fmt::format("KTAP version 1\n1..{}\n", comparison.variants.size());
  int suite = 0;
  for (const VariantComparison& variant : comparison.variants) {
    const auto judged = judged_of(variant);
    out += fmt::format("  KTAP version 1\n  1..{}\n", judged.size());
    int line = 0;
    for (const MetricComparison* one : judged) {
      out += fmt::format("  # {}: {}\n", to_string(one->verdict), one_line(explanation(*one)));
      out += fmt::format(
          "  {}ok {} {}{}\n", one->verdict == Verdict::kRegression ? "not " : "", ++line,
          ktap_name(one->name()),
          one->verdict == Verdict::kNoVerdict ? " # SKIP " + one_line(one->reason) : "");
    }
    const bool failed = count(judged, Verdict::kRegression) > 0;
    out += fmt::format("{}ok {} {}\n", failed ? "not " : "", ++suite, ktap_name(variant.title()));
  }
  return out;
}

std::string to_lkp(const Comparison& comparison) {
  const std::string rule(97, '=');
  std::string out;
  for (const VariantComparison& variant : comparison.variants) {
    out += fmt::format("{}\nscenario/variant:\n  {}/{}\n\n{:>16} {:>27}\n", rule,
                       comparison.now.scenario, variant.title(), "base", "new");
    out += "---------------- ---------------------------\n";
    out += "         %stddev     %change         %stddev\n";
    out += "             \\          |                \\\n";
    for (const MetricComparison& one : variant.metrics)
      out += fmt::format("{} {:>10} {}  {}\n", lkp_side(one.base), lkp_change(one),
                         lkp_side(one.now), one.name());
    out += '\n';
  }
  return out;
}

std::string to_csv(const Comparison& comparison) {
  std::string out =
      "scenario,base_variant,new_variant,metric,statistic,unit,better,pairing,base_n,base_median,"
      "base_mean,base_stdev,new_n,new_median,new_mean,new_stdev,change_percent,change_percent_low,"
      "change_percent_high,effect,p,p_corrected,threshold_percent,verdict,reason\n";
  for (const VariantComparison& variant : comparison.variants) {
    for (const MetricComparison& one : variant.metrics) {
      CsvLine line;
      line.add(comparison.now.scenario).add(variant.base).add(variant.now).add(one.metric);
      line.add(to_string(one.statistic)).add(one.unit);
      line.add(one.better == Better::kLower ? "lower" : "higher").add(to_string(variant.pairing));
      for (const Side* side : {&one.base, &one.now}) {
        line.add(static_cast<std::int64_t>(side->values.size()));
        const bool any = !side->values.empty();
        line.add(any ? std::optional(side->median) : std::nullopt);
        line.add(any ? std::optional(side->mean) : std::nullopt).add(side->stdev);
      }
      line.add(one.change ? one.change->percent : std::nullopt);
      line.add_interval(one.change_ci95 ? one.change_ci95->percent : std::nullopt);
      line.add(one.effect).add(one.p).add(one.p_corrected).add(one.threshold_percent);
      line.add(to_string(one.verdict)).add(one.reason);
      out += line.take();
    }
  }
  return out;
}

}  // namespace idlesim::report

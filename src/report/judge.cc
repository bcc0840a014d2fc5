#include "judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "idlesim/report/rank_tests.h"

namespace idlesim::report {

namespace {

using Tests = std::vector<MetricComparison*>;

double smallest_p(Pairing pairing, std::size_t base, std::size_t now) {
  return pairing == Pairing::kPaired
             ? smallest_signed_rank_p(static_cast<int>(base))
             : smallest_mann_whitney_p(static_cast<int>(base), static_cast<int>(now));
}

double smallest_p(Pairing pairing, const MetricComparison& test) {
  return smallest_p(pairing, test.base.values.size(), test.now.values.size());
}

// Runs of each side with which `tests` tests can fall below alpha.
std::size_t needed_runs(Pairing pairing, std::size_t tests, double alpha) {
  std::size_t n = 2;
  while (smallest_p(pairing, n, n) * static_cast<double>(tests) >= alpha) ++n;
  return n;
}

RankTest rank_test(Pairing pairing, const MetricComparison& test) {
  if (pairing == Pairing::kIndependent) return mann_whitney(test.base.values, test.now.values);
  std::vector<double> differences;
  for (std::size_t i = 0; i < test.base.values.size(); ++i)
    differences.push_back(round_for_report(test.now.values[i] - test.base.values[i]));
  return signed_rank(differences);
}

std::string too_few(Pairing pairing, const MetricComparison& test, std::size_t tests,
                    double alpha) {
  const std::size_t needed = needed_runs(pairing, tests, alpha);
  const std::string have =
      pairing == Pairing::kPaired
          ? fmt::format("{} pairs of runs", test.base.values.size())
          : fmt::format("{} and {} runs", test.base.values.size(), test.now.values.size());
  return fmt::format("{} with samples: {} judged {} at alpha {:g} need{} {}", have, tests,
                     tests == 1 ? "metric" : "metrics", alpha, tests == 1 ? "s" : "", needed);
}

// Takes tests out until each of the rest could fall below alpha: a test that could not is none, and
// would make the others weaker (R. E. Tarone, "A modified Bonferroni method for discrete data",
// 1990). It is decided by the numbers of runs alone, not by what they measured. Those with the
// fewest runs go first, the later ones of them before the earlier, and what a gate names last.
void drop_hopeless(Pairing pairing, double alpha, Tests& tests) {
  const std::size_t wanted = tests.size();
  const auto before = [&](const MetricComparison* a, const MetricComparison* b) {
    const double p_a = smallest_p(pairing, *a);
    const double p_b = smallest_p(pairing, *b);
    if (p_a != p_b) return p_a < p_b;
    return a->required && !b->required;
  };
  while (!tests.empty()) {
    // The last of the greatest: the one that goes first.
    auto worst = tests.begin();
    for (auto it = tests.begin(); it != tests.end(); ++it)
      if (!before(*it, *worst)) worst = it;
    if (smallest_p(pairing, **worst) * static_cast<double>(tests.size()) < alpha) return;
    (*worst)->verdict = Verdict::kNoVerdict;
    (*worst)->reason = too_few(pairing, **worst, wanted, alpha);
    tests.erase(worst);
  }
}

bool is_identical(Pairing pairing, const MetricComparison& test) {
  return pairing == Pairing::kPaired && test.base.values == test.now.values;
}

void decide(MetricComparison& test, double alpha) {
  if (test.p_corrected.value_or(1) >= alpha) {
    test.verdict = Verdict::kNoDifference;
    return;
  }
  if (!test.change_ci95 || !test.change_ci95->percent) {
    test.verdict = Verdict::kNoVerdict;
    test.reason = "a base of 0 has no percentage";
    return;
  }
  const Interval& percent = *test.change_ci95->percent;
  const double threshold = test.threshold_percent.value_or(0);
  const bool up = percent.low > threshold;
  const bool down = percent.high < -threshold;
  const bool up_is_worse = test.better == Better::kLower;
  if (!up && !down)
    test.verdict = Verdict::kBelowThreshold;
  else
    test.verdict = up == up_is_worse ? Verdict::kRegression : Verdict::kImprovement;
}

}  // namespace

void judge(VariantComparison& variant, double alpha, const std::string& refused) {
  Tests tests;
  for (MetricComparison& one : variant.metrics) {
    if (one.change) one.effect = rank_test(variant.pairing, one).effect;
    if (!one.threshold_percent || one.verdict == Verdict::kNoVerdict) continue;
    if (!refused.empty()) {
      one.verdict = Verdict::kNoVerdict;
      one.reason = refused;
    } else if (is_identical(variant.pairing, one)) {
      one.verdict = Verdict::kNoDifference;
      one.p = one.p_corrected = 1;
      one.reason = "the same in every run";
    } else {
      tests.push_back(&one);
    }
  }
  drop_hopeless(variant.pairing, alpha, tests);
  std::vector<double> p;
  for (MetricComparison* test : tests) p.push_back(rank_test(variant.pairing, *test).p);
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    tests[i]->p = p[i];
    tests[i]->p_corrected = corrected[i];
    decide(*tests[i], alpha);
  }
}

CompareSummary summarize(const Comparison& comparison, FailOn fail_on, bool missing_base_is_fine) {
  CompareSummary summary;
  std::string first_reason;  // of no verdict
  std::string unjudged;      // the first gate that got no verdict and should have
  for (const VariantComparison& variant : comparison.variants) {
    for (const MetricComparison& one : variant.metrics) {
      if (one.verdict == Verdict::kNotJudged) continue;
      summary.regressions += one.verdict == Verdict::kRegression;
      summary.improvements += one.verdict == Verdict::kImprovement;
      summary.below_threshold += one.verdict == Verdict::kBelowThreshold;
      summary.no_difference += one.verdict == Verdict::kNoDifference;
      summary.no_verdict += one.verdict == Verdict::kNoVerdict;
      if (one.verdict == Verdict::kNoVerdict && first_reason.empty())
        first_reason = ": " + one.name() + ": " + one.reason;
      const bool excused = one.missing_in_base && missing_base_is_fine;
      if (one.verdict == Verdict::kNoVerdict && one.required && !excused && unjudged.empty())
        unjudged = variant.title() + ": " + one.name() + ": " + one.reason;
    }
  }
  summary.judged =
      summary.regressions + summary.improvements + summary.below_threshold + summary.no_difference;
  const int failures =
      summary.regressions + (fail_on == FailOn::kChange ? summary.improvements : 0);
  if (!comparison.refused.empty())
    summary.reason = comparison.refused;
  else if (!comparison.missing_in_new.empty())
    summary.reason = "the new report lacks variant " + comparison.missing_in_new.front();
  else if (!comparison.missing_in_base.empty() && !missing_base_is_fine)
    summary.reason = "the base lacks variant " + comparison.missing_in_base.front();
  else if (!unjudged.empty())
    summary.reason = unjudged;
  else if (summary.judged == 0 && comparison.missing_in_base.empty())
    summary.reason = "nothing could be judged" + first_reason;
  if (fail_on == FailOn::kNever)
    summary.outcome = Outcome::kPass;
  else if (failures > 0)
    summary.outcome = Outcome::kFail;
  else if (!summary.reason.empty())
    summary.outcome = Outcome::kInconclusive;
  return summary;
}

}  // namespace idlesim::report

#include "idlesim/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/compare_sample.h"

namespace idlesim::report {
namespace {

using testing::HasSubstr;

Comparison compare(const Report& base, const Report& now, const CompareOptions& options = {}) {
  return compare_reports(base, "base.json", now, "new.json", options);
}

// One metric on both sides.
Comparison compare(const Metric& base, const Metric& now, const CompareOptions& options = {},
                   std::uint64_t new_seed = 1) {
  return compare(report_of({variant_of("v", {base})}),
                 report_of({variant_of("v", {now})}, new_seed), options);
}

const MetricComparison& first(const Comparison& comparison) {
  return comparison.variants.at(0).metrics.at(0);
}

CompareOptions with_gates(std::vector<Gate> gates, double alpha = 0.01) {
  CompareOptions options;
  options.gates = {alpha, std::move(gates)};
  return options;
}

TEST(Compare, APairedChangeBeyondTheThresholdIsARegression) {
  const Comparison comparison =
      compare(metric_of("call_ns", ramp(10)), metric_of("call_ns", ramp(10, 5)));
  EXPECT_EQ(comparison.variants[0].pairing, Pairing::kPaired);
  const MetricComparison& one = first(comparison);
  EXPECT_EQ(one.name(), "call_ns.mean");
  EXPECT_EQ(one.verdict, Verdict::kRegression);
  EXPECT_EQ(one.p, 2.0 / 1024);  // all ten differences have one sign
  EXPECT_EQ(one.p_corrected, 2.0 / 1024);
  EXPECT_EQ(one.effect, 1);
  EXPECT_EQ(one.change->difference, 5);
  // 5/104 and 5/105 are the middle ones.
  EXPECT_DOUBLE_EQ(*one.change->percent, (500.0 / 104 + 500.0 / 105) / 2);
  EXPECT_EQ(one.change_ci95->difference, (Interval{5, 5}));
  EXPECT_EQ(one.base.median, 104.5);
  EXPECT_EQ(summarize(comparison).outcome, Outcome::kFail);
  EXPECT_EQ(summarize(comparison).regressions, 1);
}

TEST(Compare, TheDirectionIsTheMetrics) {
  Metric base = metric_of("ops", ramp(10));
  Metric now = metric_of("ops", ramp(10, 5));
  base.better = now.better = Better::kHigher;
  EXPECT_EQ(first(compare(base, now)).verdict, Verdict::kImprovement);
  EXPECT_EQ(summarize(compare(base, now)).outcome, Outcome::kPass);
  EXPECT_EQ(summarize(compare(base, now), FailOn::kChange).outcome, Outcome::kFail);
  EXPECT_EQ(first(compare(now, base)).verdict, Verdict::kRegression);
  EXPECT_EQ(summarize(compare(now, base), FailOn::kNever).outcome, Outcome::kPass);
}

TEST(Compare, ARealChangeWithinTheThresholdIsNone) {
  // One percent, in every run.
  const Comparison comparison =
      compare(metric_of("call_ns", ramp(10)), metric_of("call_ns", ramp(10, 1)));
  EXPECT_EQ(first(comparison).verdict, Verdict::kBelowThreshold);
  EXPECT_EQ(summarize(comparison).outcome, Outcome::kPass);
  // With a lower threshold it is one.
  const CompareOptions strict = with_gates({parse_gate("call_ns=0.5%", "")});
  EXPECT_EQ(
      first(compare(metric_of("call_ns", ramp(10)), metric_of("call_ns", ramp(10, 1)), strict))
          .verdict,
      Verdict::kRegression);
}

// The median is beyond the threshold, the nearer end of its interval is not.
TEST(Compare, TheNearerEndHasToBeBeyondTheThreshold) {
  std::vector<double> now = ramp(10);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] += 0.5 + 0.6 * static_cast<double>(i);
  const Comparison comparison = compare(metric_of("call_ns", ramp(10)), metric_of("call_ns", now));
  const MetricComparison& one = first(comparison);
  EXPECT_GT(*one.change->percent, 2);
  EXPECT_LT(one.change_ci95->percent->low, 2);
  EXPECT_GT(one.change_ci95->percent->low, 0);
  EXPECT_LT(one.p_corrected, 0.01);
  EXPECT_EQ(one.verdict, Verdict::kBelowThreshold);
}

TEST(Compare, OtherSeedsAreIndependentSamples) {
  const Comparison comparison =
      compare(metric_of("call_ns", ramp(5)), metric_of("call_ns", ramp(5, 50)), {}, 2);
  EXPECT_EQ(comparison.variants[0].pairing, Pairing::kIndependent);
  EXPECT_DOUBLE_EQ(*first(comparison).p, 2.0 / 252);
  EXPECT_EQ(first(comparison).verdict, Verdict::kRegression);
  CompareOptions paired;
  paired.pairing = Pairing::kPaired;
  EXPECT_EQ(
      compare(metric_of("a", ramp(5)), metric_of("a", ramp(5, 50)), paired, 2).variants[0].pairing,
      Pairing::kPaired);
}

TEST(Compare, InterruptedReportsAreNotPaired) {
  Report now = report_of({variant_of("v", {metric_of("a", ramp(9))})});
  now.incomplete = true;
  const Comparison comparison =
      compare(report_of({variant_of("v", {metric_of("a", ramp(10))})}), now);
  EXPECT_EQ(comparison.variants[0].pairing, Pairing::kIndependent);
  EXPECT_THAT(comparison.warnings,
              testing::ElementsAre("the new report was interrupted: only its finished runs are "
                                   "compared"));
}

TEST(Compare, TooFewRunsGiveNoVerdictAndSayHowManyAreNeeded) {
  const Comparison one = compare(metric_of("call_ns", {100}), metric_of("call_ns", {200}));
  EXPECT_EQ(first(one).verdict, Verdict::kNoVerdict);
  EXPECT_EQ(first(one).reason,
            "1 pairs of runs with samples: 1 judged metric at alpha 0.01 needs 8");
  EXPECT_EQ(summarize(one).outcome, Outcome::kInconclusive);
  EXPECT_EQ(summarize(one).reason,
            "nothing could be judged: call_ns.mean: 1 pairs of runs with samples: 1 judged metric "
            "at alpha 0.01 needs 8");
  const Comparison independent =
      compare(metric_of("call_ns", {1, 2, 3}), metric_of("call_ns", {7, 8, 9, 10}), {}, 2);
  EXPECT_EQ(first(independent).reason,
            "3 and 4 runs with samples: 1 judged metric at alpha 0.01 needs 5");
}

TEST(Compare, TheSameNumbersAreNoDifferenceHoweverFewRuns) {
  const Comparison comparison = compare(metric_of("call_ns", {100}), metric_of("call_ns", {100}));
  EXPECT_EQ(first(comparison).verdict, Verdict::kNoDifference);
  EXPECT_EQ(first(comparison).reason, "the same in every run");
  EXPECT_EQ(summarize(comparison).outcome, Outcome::kPass);
}

// Ten pairs can show p = 2/1024, which five tests can share alpha with, but not six.
TEST(Compare, AsManyMetricsAreJudgedAsTheRunsAllow) {
  std::vector<Metric> base;
  std::vector<Metric> now;
  for (int i = 0; i < 7; ++i) {
    base.push_back(metric_of("m" + std::to_string(i), ramp(10)));
    now.push_back(metric_of("m" + std::to_string(i), ramp(10, 5)));
  }
  const auto verdicts = [&](const CompareOptions& options) {
    const Comparison comparison =
        compare(report_of({variant_of("v", base)}), report_of({variant_of("v", now)}), options);
    std::string text;
    for (const MetricComparison& one : comparison.variants[0].metrics)
      if (one.threshold_percent)
        text += one.verdict == Verdict::kRegression  ? 'R'
                : one.verdict == Verdict::kNoVerdict ? '?'
                                                     : 'x';
    return text;
  };
  EXPECT_EQ(verdicts({}), "RRRRR??");
  // What a gate names stays in, what a pattern matches goes first.
  EXPECT_EQ(verdicts(with_gates({parse_gate("m6=1%", ""), parse_gate("*=2%", "")})), "RRRR??R");
  EXPECT_EQ(verdicts(with_gates({parse_gate("*=2%", "")}, 0.05)), "RRRRRRR");
}

TEST(Compare, HolmIsOverTheJudgedMetricsOfAVariant) {
  const std::vector<Metric> base = {metric_of("a", ramp(10)), metric_of("b", ramp(10))};
  const std::vector<Metric> now = {metric_of("a", ramp(10, 5)), metric_of("b", ramp(10, 5))};
  const Comparison both =
      compare(report_of({variant_of("v", base)}), report_of({variant_of("v", now)}));
  for (const MetricComparison& one : both.variants[0].metrics)
    if (one.threshold_percent) {
      EXPECT_DOUBLE_EQ(*one.p_corrected, 4.0 / 1024);
    }
  const Comparison alone =
      compare(report_of({variant_of("v", base)}), report_of({variant_of("v", now)}),
              with_gates({parse_gate("a=1%", "")}));
  EXPECT_DOUBLE_EQ(*first(alone).p_corrected, 2.0 / 1024);
}

TEST(Compare, RunsWithoutSamplesAreLeftOut) {
  const Comparison comparison = compare(metric_of("a", {1, -1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                                        metric_of("a", {2, 2, -1, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
  EXPECT_EQ(first(comparison).base.values.size(), 10u);
  EXPECT_EQ(first(comparison).base.values[1], 4);
  EXPECT_EQ(first(comparison).now.values[1], 5);
}

TEST(Compare, WhatCannotBeComparedSaysWhy) {
  const Metric full = metric_of("a", ramp(10));
  EXPECT_EQ(first(compare(full, metric_of("a", std::vector<double>(10, -1)))).reason,
            "no samples in the new report");
  EXPECT_EQ(first(compare(full, metric_of("b", ramp(10)))).reason, "no samples in the new report");
  Metric other = full;
  other.unit = "us";
  EXPECT_EQ(first(compare(full, other)).reason, "the units differ: ns and us");
  other = full;
  other.better = Better::kHigher;
  EXPECT_EQ(first(compare(full, other)).reason,
            "the sides disagree about which direction is better");
  EXPECT_EQ(first(compare(metric_of("a", std::vector<double>(10, 0)), full)).reason,
            "a base of 0 has no percentage");
}

TEST(Compare, AGateThatNamesAMetricNeedsIt) {
  const Metric full = metric_of("a", ramp(10));
  const auto outcome = [&](const char* gate) {
    return summarize(compare(full, full, with_gates({parse_gate(gate, "")})));
  };
  EXPECT_EQ(outcome("a=1%").outcome, Outcome::kPass);
  EXPECT_EQ(outcome("z.p99=1%").outcome, Outcome::kInconclusive);
  EXPECT_EQ(outcome("z.p99=1%").reason, "v: z.p99: there is no such metric on either side");
  EXPECT_EQ(outcome("z*=1%").reason, "nothing could be judged");
  const Metric empty = metric_of("a", std::vector<double>(10, -1));
  const Comparison gone = compare(full, empty, with_gates({parse_gate("a=1%", "")}));
  EXPECT_EQ(summarize(gone).outcome, Outcome::kInconclusive);
  const Comparison fresh = compare(empty, full, with_gates({parse_gate("a=1%", "")}));
  EXPECT_EQ(summarize(fresh).outcome, Outcome::kInconclusive);
}

TEST(Compare, OtherModelVersionsAreNotCompared) {
  Report now = report_of({variant_of("v", {metric_of("a", ramp(10, 50))})});
  now.manifest.model_version = 2;
  const Comparison comparison =
      compare(report_of({variant_of("v", {metric_of("a", ramp(10))})}), now);
  EXPECT_EQ(first(comparison).verdict, Verdict::kNoVerdict);
  EXPECT_EQ(summarize(comparison).outcome, Outcome::kInconclusive);
  EXPECT_EQ(summarize(comparison).reason, "the model versions differ: 1 and 2");
}

TEST(Compare, VariantsAreMatchedByName) {
  const Metric metric = metric_of("a", ramp(10));
  const Report base = report_of({variant_of("x", {metric}), variant_of("y", {metric})});
  const Report now = report_of({variant_of("y", {metric}), variant_of("z", {metric})});
  const Comparison comparison = compare(base, now);
  ASSERT_EQ(comparison.variants.size(), 1u);
  EXPECT_EQ(comparison.variants[0].title(), "y");
  EXPECT_EQ(comparison.missing_in_base, std::vector<std::string>{"z"});
  EXPECT_EQ(comparison.missing_in_new, std::vector<std::string>{"x"});
  EXPECT_EQ(summarize(comparison).reason, "the new report lacks variant x");
  const Comparison added = compare(report_of({variant_of("y", {metric})}), now);
  EXPECT_EQ(summarize(added).reason, "the base lacks variant z");
  EXPECT_EQ(summarize(added, FailOn::kRegression, true).outcome, Outcome::kPass);
  // Alone on both sides, the name does not matter.
  const Comparison single =
      compare(report_of({variant_of("y", {metric})}), report_of({variant_of("z", {metric})}));
  EXPECT_EQ(single.variants.at(0).title(), "y -> z");
}

TEST(Compare, VariantsOfOneReportAgainstTheFirst) {
  const Report report = report_of({variant_of("x", {metric_of("a", ramp(10))}),
                                   variant_of("y", {metric_of("a", ramp(10, 9))}),
                                   variant_of("z", {metric_of("a", ramp(10, -9))})});
  const Comparison comparison = compare_variants(report, "r.json", {});
  ASSERT_EQ(comparison.variants.size(), 2u);
  EXPECT_EQ(comparison.variants[0].title(), "x -> y");
  EXPECT_EQ(comparison.variants[0].pairing, Pairing::kPaired);
  EXPECT_EQ(comparison.variants[0].metrics[0].verdict, Verdict::kRegression);
  EXPECT_EQ(comparison.variants[1].metrics[0].verdict, Verdict::kImprovement);
}

TEST(Compare, GatesCanBeForVariants) {
  const Report report = report_of({variant_of("x", {metric_of("a", ramp(10))}),
                                   variant_of("y", {metric_of("a", ramp(10, 9))}),
                                   variant_of("z", {metric_of("a", ramp(10, 9))})});
  const Comparison comparison =
      compare_variants(report, "r.json", with_gates({{"a.mean", "z", 2.0, false}}));
  EXPECT_EQ(comparison.variants[0].metrics[0].verdict, Verdict::kNotJudged);
  EXPECT_EQ(comparison.variants[1].metrics[0].verdict, Verdict::kRegression);
}

// A run of one sample has one statistic.
TEST(Compare, SingleSamplesAreShownAndJudgedOnce) {
  const Metric single = metric_of("a", ramp(10), 1);
  const Comparison comparison = compare(single, single, with_gates({parse_gate("*.*=2%", "")}));
  EXPECT_EQ(comparison.variants[0].metrics.size(), 1u);
  EXPECT_EQ(compare(metric_of("a", ramp(10)), single, with_gates({parse_gate("*.*=2%", "")}))
                .variants[0]
                .metrics.size(),
            6u);
}

TEST(Compare, StagesOfBothSides) {
  Variant base = variant_of("v", {metric_of("a", ramp(10))});
  Variant now = base;
  base.stages = {{"queue", 10, 12, 0.5}, {"gone", 5, 6, 0.5}};
  now.stages = {{"queue", 15, 16, 0.5}, {"new", 1, 2, 0.5}};
  const auto stages = compare(report_of({base}), report_of({now})).variants.at(0).stages;
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].now_ns, 15);
  EXPECT_EQ(stages[1].now_ns, std::nullopt);
  EXPECT_EQ(stages[2].base_ns, std::nullopt);
}

TEST(Compare, TheIntervalDependsOnTheSeedOnly) {
  std::vector<double> noisy = {100, 103, 99, 108, 101, 97, 120, 102, 100, 95};
  const auto interval = [&](std::uint64_t seed) {
    CompareOptions options;
    options.seed = seed;
    options.resamples = 137;
    return first(compare(metric_of("a", ramp(10)), metric_of("a", noisy), options))
        .change_ci95->difference;
  };
  EXPECT_EQ(interval(1), interval(1));
  bool differs = false;
  for (std::uint64_t seed = 2; seed < 12; ++seed) differs |= interval(seed) != interval(1);
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace idlesim::report

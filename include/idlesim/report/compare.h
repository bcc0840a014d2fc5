// Two sides of a comparison, metric by metric, and whether the second is worse: one model behind
// every format of `idlesim compare`. sim-configs/schemas/compare-v1.schema.json is its JSON form.
//
// A run is summed up to one number for each metric and statistic; these numbers are the
// observations. Runs of one scenario and seed saw the same random draws and are compared as pairs
// (Wilcoxon signed-rank), others as two samples (Mann-Whitney).
//
// A judged metric is a regression if its p, corrected by Holm over the judged metrics of the
// variant, is below alpha, and if the nearer end of the 95 % interval of its change is beyond its
// threshold in the direction that is worse.
#ifndef IDLESIM_REPORT_COMPARE_H_
#define IDLESIM_REPORT_COMPARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/report/gates.h"
#include "idlesim/report/report.h"
#include "idlesim/report/resampling.h"

namespace idlesim::report {

inline constexpr int kCompareSchemaVersion = 1;

enum class Pairing { kPaired, kIndependent };
// "paired", "independent".
std::string_view to_string(Pairing pairing);

enum class Verdict {
  kRegression,
  kImprovement,
  kBelowThreshold,  // a real change, but maybe not beyond the threshold
  kNoDifference,
  kNoVerdict,  // `reason` says why
  kNotJudged,  // for information only
};
// "regression", "improvement", "below_threshold", "no_difference", "no_verdict", "not_judged".
std::string_view to_string(Verdict verdict);

// The runs of one side that have samples (paired: that have them on both sides), in run order.
struct Side {
  std::vector<double> values;
  double median = 0;
  std::optional<Interval> median_ci95;
  double mean = 0;
  std::optional<Interval> mean_ci95;
  std::optional<double> stdev;
};

struct MetricComparison {
  std::string metric;
  Statistic statistic = Statistic::kMean;
  std::string unit;
  Better better = Better::kLower;
  std::optional<double> threshold_percent;  // nothing: not judged
  bool required = false;                    // a gate names it: no verdict makes it inconclusive
  bool missing_in_base = false;
  Side base;
  Side now;
  // Present if both sides have values.
  std::optional<Shift> change;
  std::optional<ShiftInterval> change_ci95;
  std::optional<double> effect;       // rank-biserial, -1..1
  std::optional<double> p;            // present if it is one of the tests of the variant
  std::optional<double> p_corrected;  // by Holm
  Verdict verdict = Verdict::kNotJudged;
  std::string reason;  // of no verdict; else a remark, or empty

  // "call_round_trip_ns.p99"
  std::string name() const;
};

struct StageComparison {
  std::string name;
  std::optional<double> base_ns;  // means; nothing: the side does not have the stage
  std::optional<double> now_ns;
};

struct VariantComparison {
  std::string base;
  std::string now;
  Pairing pairing = Pairing::kIndependent;
  int base_runs = 0;
  int now_runs = 0;
  std::vector<MetricComparison> metrics;
  std::vector<StageComparison> stages;

  // "baseline", or "baseline -> sm-idle".
  std::string title() const;
};

// Where a side comes from.
struct Source {
  std::string name;  // file, or "NAME of SCENARIO"
  std::string scenario;
  std::string digest;
  std::string version;
  std::string git_commit;
  int model_version = 0;
  std::uint64_t seed = 0;
};

struct Comparison {
  Source base;
  Source now;
  double alpha = 0.01;
  int resamples = 0;
  std::uint64_t seed = 1;                    // of the bootstrap
  std::string refused;                       // why nothing is judged; empty: everything can be
  std::vector<std::string> missing_in_base;  // variants
  std::vector<std::string> missing_in_new;
  std::vector<std::string> warnings;
  std::vector<VariantComparison> variants;
};

struct CompareOptions {
  Gates gates = default_gates();
  std::optional<Pairing> pairing;  // nothing: paired if scenario and seed are the same
  std::uint64_t seed = 1;
  int resamples = 2000;
};

// Variants of the same name; if either side has only one and the names differ, these two.
Comparison compare_reports(const Report& base, const std::string& base_name, const Report& now,
                           const std::string& now_name, const CompareOptions& options);

// The variants of one report with its first.
Comparison compare_variants(const Report& report, const std::string& name,
                            const CompareOptions& options);

enum class FailOn { kRegression, kChange, kNever };
enum class Outcome { kPass, kFail, kInconclusive };
// "pass", "fail", "inconclusive".
std::string_view to_string(Outcome outcome);

struct CompareSummary {
  int judged = 0;  // with a verdict
  int regressions = 0;
  int improvements = 0;
  int below_threshold = 0;
  int no_difference = 0;
  int no_verdict = 0;
  Outcome outcome = Outcome::kPass;
  std::string reason;  // of kInconclusive
};

// A regression (or change) anywhere fails, and with kNever nothing does. Without one it is
// inconclusive if nothing could be judged, if a gate that names one metric got no verdict, or if a
// variant is missing; what the base lacks does not count if `missing_base_is_fine`.
CompareSummary summarize(const Comparison& comparison, FailOn fail_on = FailOn::kRegression,
                         bool missing_base_is_fine = false);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_COMPARE_H_

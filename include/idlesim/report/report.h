// The report of `idlesim run` as plain data: one model behind the text, JSON and later writers.
// sim-configs/schemas/report-v1.schema.json describes its JSON form. Units are those of the
// metric (`unit`); times of metrics are nanoseconds with up to six decimals.
#ifndef IDLESIM_REPORT_REPORT_H_
#define IDLESIM_REPORT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/report/statistics.h"

namespace idlesim::report {

inline constexpr int kReportSchemaVersion = 1;

// Which direction of a change is an improvement.
enum class Better { kLower, kHigher };

// What one run measured. With n = 0 the other numbers mean nothing (null in JSON).
struct RunSummary {
  std::int64_t n = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double p99_9 = 0;
  double max = 0;
  bool operator==(const RunSummary&) const = default;
};

// counts[i] samples lie in [edges[i], edges[i + 1]); one edge more than counts, ascending. Bins
// without samples are joined.
struct HistogramBins {
  std::vector<double> edges;
  std::vector<std::int64_t> counts;
  bool operator==(const HistogramBins&) const = default;
};

// n, mean, extremes and quantiles are of the samples of all runs together; stdev and ci95 are of
// the run means, which are the independent observations: absent when fewer than two runs have
// samples. With n = 0 the numbers mean nothing.
struct Metric {
  std::string id;    // call_round_trip_ns
  std::string unit;  // ns
  Better better = Better::kLower;
  std::int64_t n = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double p99_9 = 0;
  double p99_99 = 0;
  std::optional<double> stdev;
  std::optional<Interval> ci95;
  HistogramBins histogram;
  std::vector<RunSummary> per_run;  // in run order: run i of every variant saw the same draws
  bool operator==(const Metric&) const = default;
};

// Events of all finished runs together.
struct Counter {
  std::string name;
  std::int64_t value = 0;
  bool operator==(const Counter&) const = default;
};

// A way in which runs go, with the share of the runs that went so (0..1).
struct Regime {
  std::string name;
  double share = 0;
  std::string condition;
  bool operator==(const Regime&) const = default;
};

// A part of the way from cause to effect, with its share of the whole (0..1).
struct Stage {
  std::string name;
  double mean_ns = 0;
  double p99_ns = 0;
  double share = 0;
  bool operator==(const Stage&) const = default;
};

// A setting in which a variant differs from the first one; values as one writes them after --set.
struct Change {
  std::string path;
  std::string from;
  std::string to;
  bool operator==(const Change&) const = default;
};

struct Variant {
  std::string name;
  std::string kernel;
  int runs = 0;  // finished ones
  std::string machine;
  std::string platform;
  std::vector<Change> changes;
  std::vector<Metric> metrics;
  std::vector<Counter> counters;
  std::vector<Regime> regimes;
  std::vector<Stage> stages;

  const Metric* metric(std::string_view id) const;
  const Counter* counter(std::string_view counter_name) const;
  const Stage* stage(std::string_view stage_name) const;
  bool operator==(const Variant&) const = default;
};

// What may differ between two executions that must give the same results.
struct VolatileManifest {
  std::string compiler;
  std::string flags;
  std::vector<std::string> command_line;
  std::string host;
  std::string start_time;  // UTC, 2025-11-30T13:21:00Z
  double duration_s = 0;
  int jobs = 1;
  bool operator==(const VolatileManifest&) const = default;
};

struct Manifest {
  std::string version;     // of idlesim
  std::string git_commit;  // "unknown" outside a checkout; ends in "-dirty" with local changes
  int model_version = 0;
  std::uint64_t seed = 1;
  int runs = 0;  // asked for, per variant
  VolatileManifest volatile_part;
  bool operator==(const Manifest&) const = default;
};

struct Scenario {
  std::string name;
  std::string description;
  std::string workload;         // for people: "ipistorm numipi=100000 single=1"
  std::string digest;           // of `resolved`: "sha256:" and 64 hexadecimal digits
  std::string resolved = "{}";  // the complete configuration, a JSON object
  bool operator==(const Scenario&) const = default;
};

struct Report {
  Manifest manifest;
  // True if the runs were interrupted; each variant's `runs` says how many were finished.
  bool incomplete = false;
  std::vector<std::string> warnings;
  Scenario scenario;
  std::vector<Variant> variants;  // the others are compared with the first
  bool operator==(const Report&) const = default;
};

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_REPORT_H_

// Which metrics a comparison judges, and what change of each it tolerates.
// sim-configs/schemas/gates-v1.schema.json describes the file.
#ifndef IDLESIM_REPORT_GATES_H_
#define IDLESIM_REPORT_GATES_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/report/report.h"

namespace idlesim::report {

// What a run is summed up to: the numbers of RunSummary.
enum class Statistic { kMean, kP50, kP90, kP99, kP99_9, kMax };
inline constexpr std::array<Statistic, 6> kStatistics = {Statistic::kMean,  Statistic::kP50,
                                                         Statistic::kP90,   Statistic::kP99,
                                                         Statistic::kP99_9, Statistic::kMax};
// As in a report: "mean", "p50", "p90", "p99", "p99_9", "max".
std::string_view to_string(Statistic statistic);
double value_of(const RunSummary& run, Statistic statistic);

// 2 %; 5 % beyond p99, where a run has few samples.
double default_threshold_percent(Statistic statistic);

// Metrics whose "ID.STATISTIC" matches `pattern` are judged, where the variant's name matches
// `variant`. In both, * stands for any characters and ? for one.
struct Gate {
  std::string pattern;  // ends in a statistic, or in a wildcard
  std::string variant = "*";
  std::optional<double> threshold_percent;  // nothing: default_threshold_percent()
  bool off = false;                         // matches, but is not judged
  bool operator==(const Gate&) const = default;

  // Whether it names one metric rather than all that match: then the metric has to be there.
  bool is_literal() const;
};

struct Gates {
  double alpha = 0.01;
  std::vector<Gate> gates;  // the first that matches counts
  bool operator==(const Gates&) const = default;

  // Null if nothing matches; the result may be `off`.
  const Gate* find(std::string_view metric, Statistic statistic, std::string_view variant) const;
};

// The mean of every metric.
Gates default_gates();

// Throws UserError with every error of the file.
Gates read_gates(const std::string& path);

// "METRIC.STATISTIC=5%", "METRIC=5%" (the mean), "*.p99=off". Throws UserError; `shown_as` stands
// before the message.
Gate parse_gate(std::string_view text, const std::string& shown_as);

// Whether `text` as a whole matches a pattern with * and ?.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_GATES_H_

// What `idlesim reproduce` prints: published numbers beside simulated ones.
// sim-configs/schemas/reproduce-v1.schema.json describes the JSON form.
#ifndef IDLESIM_REPORT_REPRODUCE_H_
#define IDLESIM_REPORT_REPRODUCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/report/published.h"
#include "idlesim/report/statistics.h"

namespace idlesim::report {

inline constexpr int kReproduceSchemaVersion = 1;

// What the 95 % interval covers: the spread of runs, or of runs and of parameters in their ranges.
enum class IntervalOf { kRuns, kParameters };

struct Simulated {
  double mean = 0;
  double low = 0;
  double high = 0;
  IntervalOf interval = IntervalOf::kRuns;
};

enum class Status { kBaseline, kPredicted, kFitted, kShown, kNotModelled };

// "baseline", "predicted", "fitted", "shown", "not_modelled".
std::string_view to_string(Status status);

struct ReproduceResult {
  PublishedRow published;
  std::optional<Simulated> simulated;
  std::optional<double> error_percent;  // see error_percent(); absent also without a simulation
  std::optional<bool> pass;             // absent: not judged
  Status status = Status::kNotModelled;
};

// A model parameter that was fitted to a row.
struct FittedParameter {
  std::string file;
  std::string pointer;
  double value = 0;
  Interval range;
  std::string fitted_to;  // row id
};

// Something to say about a group: the width of a region, a source of spread.
struct ReproduceNote {
  std::string group;
  std::string text;
};

struct ReproduceReport {
  std::vector<ReproduceResult> results;
  std::vector<FittedParameter> fitted_parameters;
  std::vector<ReproduceNote> notes;
};

// Distance of `mean` to low..high in percent of the nearer end, 0 inside. Nothing if it is outside
// and that end is 0.
std::optional<double> error_percent(double mean, double low, double high);

// Puts a row and its simulation together. Without a simulation the row is not_modelled. A row
// passes if its error is within its tolerance (an undefined error is not); rows to show, baselines
// and rows without a tolerance are not judged: a caller that judges them otherwise sets `pass`.
// `fitted`: the row was used in a fit, which must not be for a row to predict.
ReproduceResult judge(const PublishedRow& row, const std::optional<Simulated>& simulated,
                      bool fitted = false);

// Counts over all results; baselines and fitted rows count neither as predicted nor in the error.
struct ReproduceSummary {
  int predicted = 0;
  int judged = 0;  // predicted rows with a pass of true or false
  int passed = 0;
  int inside_interval = 0;  // predicted rows whose published range meets the simulated interval
  std::optional<double> median_error_percent;
  int fitted_rows = 0;
  int not_modelled = 0;
  int fitted_parameters = 0;
};
ReproduceSummary summarize(const ReproduceReport& report);

std::string to_json(const ReproduceReport& report);
// One table a group and the summary, 100 columns. `color` as for a Report.
std::string to_text(const ReproduceReport& report, bool color = false);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_REPRODUCE_H_

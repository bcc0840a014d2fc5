#include "idlesim/report/reproduce.h"

#include <algorithm>
#include <cmath>

#include "idlesim/base/check.h"

namespace idlesim::report {

namespace {

Status status_of(Role role, bool fitted) {
  switch (role) {
    case Role::kBaseline:
      return Status::kBaseline;
    case Role::kPredict:
      return Status::kPredicted;
    case Role::kFitOrPredict:
      return fitted ? Status::kFitted : Status::kPredicted;
    case Role::kShow:
      return Status::kShown;
  }
  CHECK(false, "a role of no name");
  return Status::kShown;
}

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::kBaseline:
      return "baseline";
    case Status::kPredicted:
      return "predicted";
    case Status::kFitted:
      return "fitted";
    case Status::kShown:
      return "shown";
    case Status::kNotModelled:
      return "not_modelled";
  }
  CHECK(false, "a status of no name");
  return "";
}

std::optional<double> error_percent(double mean, double low, double high) {
  if (mean >= low && mean <= high) return 0.0;
  const double nearer = mean < low ? low : high;
  if (nearer == 0) return std::nullopt;
  return std::fabs(mean - nearer) / std::fabs(nearer) * 100;
}

ReproduceResult judge(const PublishedRow& row, const std::optional<Simulated>& simulated,
                      bool fitted) {
  CHECK(!fitted || row.role == Role::kFitOrPredict, row.id + " must not be used in a fit");
  ReproduceResult result;
  result.published = row;
  if (!simulated) return result;
  result.simulated = simulated;
  result.status = status_of(row.role, fitted);
  result.error_percent = error_percent(simulated->mean, row.low, row.high);
  const bool judged = row.role == Role::kPredict || row.role == Role::kFitOrPredict;
  if (judged && row.tolerance_percent)
    result.pass = result.error_percent && *result.error_percent <= *row.tolerance_percent;
  return result;
}

ReproduceSummary summarize(const ReproduceReport& report) {
  ReproduceSummary summary;
  std::vector<double> errors;
  for (const ReproduceResult& result : report.results) {
    if (result.status == Status::kFitted) ++summary.fitted_rows;
    if (result.status == Status::kNotModelled) ++summary.not_modelled;
    if (result.status != Status::kPredicted) continue;
    ++summary.predicted;
    if (result.pass) ++summary.judged;
    if (result.pass == true) ++summary.passed;
    if (result.error_percent) errors.push_back(*result.error_percent);
    const Interval published{result.published.low, result.published.high};
    if (overlap(published, {result.simulated->low, result.simulated->high}))
      ++summary.inside_interval;
  }
  summary.median_error_percent = median(std::move(errors));
  summary.fitted_parameters = static_cast<int>(report.fitted_parameters.size());
  return summary;
}

}  // namespace idlesim::report

// A reproduce report with every status and verdict in it; the numbers are invented.
#ifndef IDLESIM_TESTS_REPORT_SAMPLE_REPRODUCE_H_
#define IDLESIM_TESTS_REPORT_SAMPLE_REPRODUCE_H_

#include "idlesim/report/reproduce.h"

namespace idlesim::report {

inline PublishedRow sample_row(const std::string& id, Role role, double low, double high,
                               std::optional<double> tolerance) {
  return {id,   id.substr(0, 2), "after", "a machine", "time per op", "us", low,
          high, tolerance,       role,    "",          "a mail"};
}

inline ReproduceReport sample_reproduce() {
  ReproduceReport report;
  const auto add = [&](const PublishedRow& row, const std::optional<Simulated>& simulated,
                       bool fitted = false) {
    report.results.push_back(judge(row, simulated, fitted));
  };
  using enum IntervalOf;
  add(sample_row("X1.base", Role::kBaseline, 1, 1, std::nullopt), Simulated{1, 0.99, 1.01, kRuns});
  add(sample_row("X1.pass", Role::kPredict, 10, 10, 5), Simulated{10.25, 9.9, 10.6, kRuns});
  add(sample_row("X1.fail", Role::kPredict, 10, 12, 5), Simulated{9, 8.5, 9.5, kParameters});
  add(sample_row("X1.free", Role::kPredict, 0.4, 0.41, std::nullopt),
      Simulated{0.405, 0.3, 0.5, kRuns});
  add(sample_row("X2.fit", Role::kFitOrPredict, 45'821'250'284, 45'821'250'284, 15),
      Simulated{44e9, 43.5e9, 44.5e9, kRuns}, true);
  add(sample_row("X2.could_fit", Role::kFitOrPredict, 1'983'822, 1'983'822, 1),
      Simulated{1'983'822, 1'983'000, 1'984'000, kRuns});
  add(sample_row("X2.zero", Role::kPredict, 0, 0, 0), Simulated{3, 2, 4, kRuns});
  add(sample_row("X2.show", Role::kShow, 5, 6, std::nullopt), Simulated{7.5, 7, 8, kRuns});
  add(sample_row("X3.later", Role::kPredict, 5, 6, 2), std::nullopt);
  report.results[0].published.note = "what the others are divided by";
  report.fitted_parameters = {
      {"sim-configs/machines/x.json", "/core/kernel_ipc", 1.25, {0.6, 2}, "X2.fit"}};
  report.notes = {{"X1", "the region is 0.12 wide; 0.1 of it come from the phase"}};
  return report;
}

}  // namespace idlesim::report

#endif  // IDLESIM_TESTS_REPORT_SAMPLE_REPRODUCE_H_

// Runs a scenario: every variant, every run, on as many threads as asked for.
#ifndef IDLESIM_EXPERIMENT_RUN_H_
#define IDLESIM_EXPERIMENT_RUN_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "idlesim/experiment/measure.h"
#include "idlesim/experiment/scenario.h"
#include "idlesim/report/report.h"

namespace idlesim::experiment {

inline constexpr int kModelVersion = 1;

struct RunOptions {
  int jobs = 1;
  // Checked between and inside runs; once true, what is finished is reported.
  const std::atomic<bool>* interrupted = nullptr;
  // Called from the worker threads after each run, one call at a time: runs done, runs in all.
  std::function<void(int done, int all)> progress;
};

struct RunOutcome {
  bool finished = false;  // false: interrupted
  Measurement measurement;
  std::vector<std::string> line_names;
  std::vector<std::string> task_names;  // by pid; [0] is not used
  Time simulated;
  std::uint64_t events = 0;
};

// One run of one variant. Throws SimulationError, with each CPU's story, if an invariant breaks or
// nothing progresses any more. `listener`: hears what it wants to, and changes no result.
RunOutcome run_once(const Variant& variant, std::uint64_t seed, std::uint64_t run,
                    const std::atomic<bool>* interrupted = nullptr,
                    trace::Listener* listener = nullptr);

// Everything. The result depends on the scenario only, not on jobs. The manifest's volatile part is
// left to the caller.
report::Report run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace idlesim::experiment

#endif  // IDLESIM_EXPERIMENT_RUN_H_

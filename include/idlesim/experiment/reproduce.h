// `idlesim reproduce`: the published results beside the simulator's own.
#ifndef IDLESIM_EXPERIMENT_REPRODUCE_H_
#define IDLESIM_EXPERIMENT_REPRODUCE_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "idlesim/experiment/scenario.h"
#include "idlesim/report/reproduce.h"

namespace idlesim::experiment {

struct ReproduceOptions {
  std::vector<std::string> groups;  // "P1"; empty: all
  int runs = 200;                   // draws for what is judged as a distribution
  int jobs = 1;
  std::uint64_t seed = 1;
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(int done, int all)> progress;
};

// Thrown when `interrupted` became true: nothing half-done is printed.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// All rows of sim-configs/published; rows of groups that do not exist yet are not_modelled, rows of
// groups that were not asked for are left out.
report::ReproduceReport reproduce(const ConfigPaths& paths, const ReproduceOptions& options);

// --- the groups, one file each ---

// What a group's function knows of a row: its simulation.
struct GroupResult {
  std::vector<std::pair<std::string, report::Simulated>> simulated;  // by row id
  std::vector<std::pair<std::string, bool>> pass;  // judged by more than tolerance
  std::vector<std::string> notes;
  std::vector<report::FittedParameter> fitted;  // the rows they were fitted to count as fitted
};
GroupResult reproduce_p1(const ConfigPaths& paths, const ReproduceOptions& options);
GroupResult reproduce_p2(const ConfigPaths& paths, const ReproduceOptions& options);
GroupResult reproduce_p3(const ConfigPaths& paths, const ReproduceOptions& options);

// Runs tasks 0..count-1 on `options.jobs` threads; throws the first task's error in order, or
// Interrupted.
void parallel(const ReproduceOptions& options, int count, const std::function<void(int)>& task);

}  // namespace idlesim::experiment

#endif  // IDLESIM_EXPERIMENT_REPRODUCE_H_

// Draws of the uncertain parameters of a machine and a platform: every parameter with a range but
// counts (entries of a buffer) is varied at once, the same draw for all variants of a comparison.
#ifndef IDLESIM_EXPERIMENT_DRAWS_H_
#define IDLESIM_EXPERIMENT_DRAWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/experiment/scenario.h"

namespace idlesim::experiment {

// A parameter that is varied, and the value it has in each draw.
struct DrawnParameter {
  std::string pointer;  // in its file
  bool of_platform = false;
  std::string origin;
  std::vector<double> values;
};

struct Draw {
  std::vector<Variant> variants;  // those of the scenario, with the draw's machine, platform and background
};

class Draws {
 public:
  // `count` draws for `scenario`. Draw i is stratified (Latin hypercube) over the parameters'
  // ranges; a range that spans more than a factor of 8 is drawn in its logarithm.
  Draws(const ConfigPaths& paths, const Scenario& scenario, int count, std::uint64_t seed);

  int count() const { return count_; }
  const std::vector<DrawnParameter>& parameters() const { return parameters_; }
  // Safe to call from several threads.
  Draw make(int index) const;

 private:
  const ConfigPaths& paths_;
  const Scenario& scenario_;
  int count_;
  std::vector<DrawnParameter> parameters_;  // of the machine file, then of the background
};

}  // namespace idlesim::experiment

#endif  // IDLESIM_EXPERIMENT_DRAWS_H_

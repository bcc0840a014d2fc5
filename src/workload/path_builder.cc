#include "idlesim/workload/path_builder.h"

#include <algorithm>
#include <utility>

namespace idlesim::workload {

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(first.size() + 1, words.size()));
  }
  return false;
}

PathBuilder::PathBuilder(const Setup& setup, std::vector<std::string_view> options)
    : setup_(setup), options_(std::move(options)) {}

void PathBuilder::add(const std::vector<Step>& steps) {
  for (const Step& step : steps)
    if (applies(step)) path_.push_back(make(step));
}

bool PathBuilder::applies(const Step& step) const {
  if (step.axis.empty()) return true;
  if (kernel::find_axis(step.axis) < 0)
    return std::find(options_.begin(), options_.end(), step.axis) != options_.end();
  return has_word(step.values, setup_.config.features.get(step.axis));
}

PathStep PathBuilder::make(const Step& step) const {
  PathStep made{step.who, step.text, 0, {}};
  for (const kernel::Path path : step.segments) {
    const hw::PathCost cost = kernel::path_cost(setup_.machine.cpu, setup_.kernel, path);
    made.instructions += cost.instructions;
    made.time += cost.time;
  }
  if (step.hardware != nullptr) made.time += step.hardware(setup_.machine);
  return made;
}

}  // namespace idlesim::workload

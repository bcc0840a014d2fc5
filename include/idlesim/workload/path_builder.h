// Puts a PathStep list together from a table: which steps exist with these features, and what they
// cost on this machine.
#ifndef IDLESIM_WORKLOAD_PATH_BUILDER_H_
#define IDLESIM_WORKLOAD_PATH_BUILDER_H_

#include <string_view>
#include <vector>

#include "idlesim/workload/modelled_path.h"

namespace idlesim::workload {

struct Step {
  const char* who;
  // The step exists only with one of these values (separated by spaces) of this axis, or if the
  // workload has the option of this name; empty: always.
  std::string_view axis;
  std::string_view values;
  const char* text;
  std::vector<kernel::Path> segments;
  Time (*hardware)(const hw::MachineSpec& machine) = nullptr;
};

// Whether `word` is one of the words of `words`, which are separated by spaces.
bool has_word(std::string_view words, std::string_view word);

class PathBuilder {
 public:
  PathBuilder(const Setup& setup, std::vector<std::string_view> options);

  void add(const std::vector<Step>& steps);
  void title(const char* text) { path_.push_back({"", text, 0, {}}); }
  std::vector<PathStep> take() { return std::move(path_); }

 private:
  bool applies(const Step& step) const;
  PathStep make(const Step& step) const;

  const Setup& setup_;
  const std::vector<std::string_view> options_;
  std::vector<PathStep> path_;
};

}  // namespace idlesim::workload

#endif  // IDLESIM_WORKLOAD_PATH_BUILDER_H_

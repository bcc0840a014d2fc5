// The published results that `reproduce` prints beside the simulator's own: sim-configs/published.
// Facts about other people's measurements; nothing of the model reads them.
#ifndef IDLESIM_REPORT_PUBLISHED_H_
#define IDLESIM_REPORT_PUBLISHED_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idlesim::report {

// kPredict: never used in a fit. kFitOrPredict: may be used in one, then it is reported as fitted.
// kShow: printed, not judged. kBaseline: neither predicted nor fitted, not counted.
enum class Role { kBaseline, kPredict, kFitOrPredict, kShow };

// "baseline", "predict", "fit_or_predict", "show".
std::string_view to_string(Role role);

// One published number (or range low..high).
struct PublishedRow {
  std::string id;     // P1.6.altra
  std::string group;  // P1
  std::string side;   // which side of the comparison
  std::string machine;
  std::string quantity;
  std::string unit;
  double low = 0;
  double high = 0;
  std::optional<double> tolerance_percent;  // the goal for the error
  Role role = Role::kShow;
  std::string note;
  std::string source;
};

// The rows of one file, in its order. Throws UserError with every error of the file.
std::vector<PublishedRow> read_published(const std::string& path);

// The rows of all *.json files of a directory, by file name. Throws UserError with the errors of
// all of them, also if two rows have one id.
std::vector<PublishedRow> read_published_directory(const std::string& directory);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_PUBLISHED_H_

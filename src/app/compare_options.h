// What `compare` and `run --gate` have in common.
#ifndef IDLESIM_SRC_APP_COMPARE_OPTIONS_H_
#define IDLESIM_SRC_APP_COMPARE_OPTIONS_H_

#include <array>
#include <string>
#include <string_view>

#include "command.h"
#include "idlesim/report/compare.h"
#include "output.h"

namespace idlesim::app {

inline constexpr std::array<std::string_view, 9> kCompareFormats = {
    "text", "markdown", "json", "junit", "ktap", "lkp", "csv", "google-benchmark", "openmetrics"};
inline constexpr std::array<std::string_view, 3> kFailOn = {"regression", "change", "never"};
inline constexpr std::array<std::string_view, 3> kMissing = {"fail", "warn", "pass"};
inline constexpr std::array<std::string_view, 3> kPairings = {"auto", "paired", "independent"};

// How a comparison is made, judged and printed.
struct CompareRequest {
  report::CompareOptions options;
  report::FailOn fail_on = report::FailOn::kRegression;
  std::string missing_baseline;  // "fail", "warn", "pass"
  std::string format;
  bool color = false;
};

// --gate, --threshold, --alpha, --fail-on, --bisect.
void add_gate_options(boost::program_options::options_description& options);

// "text, markdown, ...", for the help.
std::string compare_formats();

// From the options a command has of these, and --missing-baseline, --pairing, --resamples,
// --bootstrap-seed, --format; UserError for anything wrong in them, the gates file included.
CompareRequest compare_request(const Invocation& invocation);

// Writes the comparison in the format asked for; returns the exit code of its outcome.
int finish_comparison(const Invocation& invocation, const CompareRequest& request,
                      const report::Comparison& comparison, const Output& output);

// There is no file `path` to compare with. Returns the exit code that --missing-baseline wants.
int without_baseline(const Invocation& invocation, const CompareRequest& request,
                     const std::string& path);

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_COMPARE_OPTIONS_H_

// The forms of a Comparison. None contains a time, a path of the machine or a number of jobs. Every
// text ends with a newline.
#ifndef IDLESIM_REPORT_COMPARE_FORMATS_H_
#define IDLESIM_REPORT_COMPARE_FORMATS_H_

#include <span>
#include <string>
#include <string_view>

#include "idlesim/report/compare.h"

namespace idlesim::report {

// One line without a newline: "FAIL: 1 regression in 4 judged metrics".
std::string headline(const CompareSummary& summary);

// For people, in the manner of benchstat. With `color`, terminal codes underline what words and
// signs already say.
std::string to_text(const Comparison& comparison, const CompareSummary& summary, bool color);

// For a pull request: tables of what is judged, the rest folded away.
std::string to_markdown(const Comparison& comparison, const CompareSummary& summary);

// sim-configs/schemas/compare-v1.schema.json.
std::string to_json(const Comparison& comparison, const CompareSummary& summary);

// JUnit XML: a suite for each variant, a case for each judged metric; a regression is a failure, no
// verdict is skipped.
std::string to_junit(const Comparison& comparison);

// The table of the kernel's LKP reports: mean and standard deviation of each side, change of the
// mean.
std::string to_lkp(const Comparison& comparison);

// One line for each metric (RFC 4180, with a header).
std::string to_csv(const Comparison& comparison);

// The runs of both sides as repetitions, names ending in /base and /new; times only.
std::string to_google_benchmark(const Comparison& comparison);

// Gauges with labels, for a textfile collector.
std::string to_openmetrics(const Comparison& comparison, const CompareSummary& summary);

// KTAP: a subtest for each variant, a line for each judged metric.
std::string to_ktap(const Comparison& comparison);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_COMPARE_FORMATS_H_

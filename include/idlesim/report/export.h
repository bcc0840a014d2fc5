// A report for other tools. Every text ends with a newline and contains no time and no host.
#ifndef IDLESIM_REPORT_EXPORT_H_
#define IDLESIM_REPORT_EXPORT_H_

#include <string>

#include "idlesim/report/report.h"

namespace idlesim::report {

// One line for each run of each metric (RFC 4180, with a header).
std::string export_csv(const Report& report);

// The runs as repetitions of SCENARIO/VARIANT/METRIC, their means as times; other units than ns are
// left out.
std::string export_google_benchmark(const Report& report);

// A summary of every metric that is a time, in seconds, and the counters.
std::string export_openmetrics(const Report& report);

// The percentile listing of HdrHistogram, which its plotters read: 5 lines for each halving of the
// distance to 100 %, values in the metric's unit. A value is the upper end of its bin.
std::string export_hgrm(const Metric& metric);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_EXPORT_H_

// The report for people: 100 columns, every variant beside the first one.
#ifndef IDLESIM_REPORT_TEXT_H_
#define IDLESIM_REPORT_TEXT_H_

#include <string>

#include "idlesim/report/report.h"

namespace idlesim::report {

// With `color`, terminal colour codes underline what signs and words already say. Contains no time,
// host, path or number of jobs. Ends with a newline.
std::string to_text(const Report& report, bool color = false);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_TEXT_H_

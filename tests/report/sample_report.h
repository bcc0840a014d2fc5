// A small report with everything in it: two runs of two variants, one value of each kind.
#ifndef IDLESIM_TESTS_REPORT_SAMPLE_REPORT_H_
#define IDLESIM_TESTS_REPORT_SAMPLE_REPORT_H_

#include "idlesim/report/report.h"

namespace idlesim::report {

Report sample_report();

}  // namespace idlesim::report

#endif  // IDLESIM_TESTS_REPORT_SAMPLE_REPORT_H_

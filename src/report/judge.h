// From measured changes to verdicts.
#ifndef IDLESIM_SRC_REPORT_JUDGE_H_
#define IDLESIM_SRC_REPORT_JUDGE_H_

#include <string>

#include "idlesim/report/compare.h"

namespace idlesim::report {

// Fills p, p_corrected, effect, verdict and reason of the metrics. With `refused`, why nothing can
// be judged, that is the reason of all of them.
void judge(VariantComparison& variant, double alpha, const std::string& refused);

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_JUDGE_H_

// Words and numbers that the forms of a comparison share.
#ifndef IDLESIM_SRC_REPORT_COMPARE_WORDS_H_
#define IDLESIM_SRC_REPORT_COMPARE_WORDS_H_

#include <string>
#include <string_view>

#include "idlesim/report/compare.h"

namespace idlesim::report {

// "REGRESSION", "better", "changed", "~", "~ identical", "?", "".
std::string_view word_of(const MetricComparison& one);

// Three decimals, "<0.001" below.
std::string format_p(double p);

// "paired: 10 and 10 runs, Wilcoxon signed-rank".
std::string how_compared(const VariantComparison& variant);

// "+7.1 % [+6.5, +7.9], p 0.002, limit 2 %": why a metric has its verdict.
std::string explanation(const MetricComparison& one);

// Rounded to six significant digits, so that the last bits of a library do not show.
double round_significant(double value);

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_COMPARE_WORDS_H_

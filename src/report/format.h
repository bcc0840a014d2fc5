// Numbers for people.
#ifndef IDLESIM_SRC_REPORT_FORMAT_H_
#define IDLESIM_SRC_REPORT_FORMAT_H_

#include <string>

#include "idlesim/report/statistics.h"

namespace idlesim::report {

// How the numbers of one table are shown: divided, with the same number of decimals.
struct DisplayUnit {
  std::string name;
  double divisor = 1;
  int decimals = 0;
};

// For nanoseconds the largest of ns, us, ms, s that leaves `typical` at 10 or more; other units
// stay what they are. Decimals for about four digits of `typical`.
DisplayUnit display_unit(const std::string& unit, double typical);

// For other numbers of the size of `typical`: " M" or " G" from a million on.
DisplayUnit large_unit(double typical);

std::string format_value(double value, const DisplayUnit& unit);
std::string format_interval(const Interval& interval, const DisplayUnit& unit);
// A number alone, with about four significant digits; a whole number with all its digits.
std::string format_number(double value);
// Four significant digits without trailing zeros, M and G from a million on: "0.46", "14.5 G".
std::string format_short(double value);
// Of a share 0..1: "12.3 %".
std::string format_share(double share);
// "+12.3 %", "-0.4 %", "0.0 %".
std::string format_percent_signed(double percent);

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_FORMAT_H_

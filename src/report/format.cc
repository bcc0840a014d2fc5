#include "format.h"

#include <fmt/format.h>

#include <cmath>

namespace idlesim::report {

namespace {

int decimals_for(double typical) {
  const double size = std::fabs(typical);
  return size < 10 ? 3 : size < 100 ? 2 : size < 10000 ? 1 : 0;
}

}  // namespace

DisplayUnit display_unit(const std::string& unit, double typical) {
  DisplayUnit shown{unit, 1, 0};
  if (unit == "ns") {
    const double size = std::fabs(typical);
    if (size >= 1e10)
      shown = {"s", 1e9, 0};
    else if (size >= 1e7)
      shown = {"ms", 1e6, 0};
    else if (size >= 1e4)
      shown = {"us", 1e3, 0};
  }
  shown.decimals = decimals_for(typical / shown.divisor);
  return shown;
}

DisplayUnit large_unit(double typical) {
  const double size = std::fabs(typical);
  DisplayUnit unit;
  if (size >= 1e9)
    unit = {" G", 1e9, 0};
  else if (size >= 1e6)
    unit = {" M", 1e6, 0};
  unit.decimals = decimals_for(typical / unit.divisor);
  return unit;
}

std::string format_value(double value, const DisplayUnit& unit) {
  return fmt::format("{:.{}f}", value / unit.divisor, unit.decimals);
}

std::string format_interval(const Interval& interval, const DisplayUnit& unit) {
  return "[" + format_value(interval.low, unit) + ", " + format_value(interval.high, unit) + "]";
}

std::string format_number(double value) {
  const double size = std::fabs(value);
  if (size == std::floor(size) && size < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, decimals_for(value));
}

std::string format_short(double value) {
  const double size = std::fabs(value);
  if (size == std::floor(size) && size < 1e6) return fmt::format("{:.0f}", value);
  const DisplayUnit unit = large_unit(value);
  return fmt::format("{:.4g}{}", value / unit.divisor, unit.name);
}

std::string format_share(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string format_percent_signed(double percent) {
  if (std::fabs(percent) < 0.05) return "0.0 %";
  return fmt::format("{:+.1f} %", percent);
}

}  // namespace idlesim::report

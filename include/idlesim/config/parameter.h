// A number of a machine, kernel or platform file together with where it comes from.
#ifndef IDLESIM_CONFIG_PARAMETER_H_
#define IDLESIM_CONFIG_PARAMETER_H_

#include <optional>
#include <string>
#include <string_view>

#include "idlesim/config/decimal.h"

namespace idlesim::config {

enum class Origin { kMeasured, kDerived, kDocumented, kAssumed, kFitted };

// "measured", "derived", "documented", "assumed", "fitted".
std::string_view to_string(Origin origin);

struct Range {
  Decimal low;
  Decimal high;
};

// In a file: {"value": 95, "source": "...", "origin": "measured", "range": [90, 110]}.
//  - `source` is a text that is not empty;
//  - `range` is required for `assumed` and `fitted`, and holds the value;
//  - `fitted_to` says what a `fitted` value was fitted to, and is required there and only there;
//  - `note` is optional.
struct Parameter {
  Decimal value;
  Origin origin = Origin::kAssumed;
  std::string source;
  std::optional<Range> range;
  std::string fitted_to;
  std::string note;

  std::string file;     // the file the parameter stands in
  int line = 0;         // of the parameter in that file
  std::string pointer;  // JSON pointer of the parameter (not of its "value")
  std::string unit;     // suffix of its key or of the nearest key around it: "ns", "mhz"; or empty
  bool overridden = false;  // `value` is not the file's; it may then lie outside the range
};

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_PARAMETER_H_

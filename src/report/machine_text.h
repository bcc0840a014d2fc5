// Quoting and numbers of the text formats that programs read.
#ifndef IDLESIM_SRC_REPORT_MACHINE_TEXT_H_
#define IDLESIM_SRC_REPORT_MACHINE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "idlesim/report/statistics.h"

namespace idlesim::report {

// In text and in double-quoted attributes; line ends as character references, characters that XML
// does not have as spaces.
std::string xml_escaped(std::string_view text);

// Control characters as spaces.
std::string one_line(std::string_view text);

// A test's name in KTAP: no #, which would begin a directive.
std::string ktap_name(std::string_view text);

// A label's value in OpenMetrics, without the quotes.
std::string label_escaped(std::string_view text);

// At most 12 significant digits, independent of the locale.
std::string number_text(double value);

// One line of a CSV file (RFC 4180, but ended by a single newline).
class CsvLine {
 public:
  CsvLine& add(std::string_view text);
  CsvLine& add(const char* text) { return add(std::string_view(text)); }
  CsvLine& add(std::int64_t number);
  CsvLine& add(const std::optional<double>& number);  // an empty field if absent
  CsvLine& add_interval(const std::optional<Interval>& interval);  // two fields
  std::string take();

 private:
  void separate();
  std::string line_;
  bool first_ = true;
};

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_MACHINE_TEXT_H_

// Comma-separated files of public measurements, read with the line each field came from.
#ifndef IDLESIM_HW_CSV_H_
#define IDLESIM_HW_CSV_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/base/types.h"

namespace idlesim::hw {

// Throws the UserError "file:line: text".
[[noreturn]] void input_error(const std::string& path, int line, const std::string& text);

// Lines of a text file without their line ends (LF or CR LF). UserError if it cannot be read.
std::vector<std::string> read_lines(const std::string& path);

struct CsvRow {
  int line = 0;  // 1 is the first line of the file
  std::vector<std::string> fields;
};

// Fields may be quoted ("a, b", with "" for a quote) but not span lines. Empty lines are skipped.
std::vector<CsvRow> read_csv(const std::string& path);

// The rows below a header that must read exactly `header`; every row must have as many fields.
std::vector<CsvRow> read_csv(const std::string& path, const std::vector<std::string>& header);

// "12.3456" -> 12346: a decimal below 10^9 without sign or exponent, in thousandths, rounded half
// up. So a
// value in ns becomes ps, one in us becomes ns, exactly and without floating point.
std::int64_t parse_thousandths(std::string_view text, const std::string& path, int line);

// A whole number without sign.
int parse_count(std::string_view text, const std::string& path, int line);

// A decimal number of nanoseconds.
inline Time parse_ns(std::string_view text, const std::string& path, int line) {
  return Time::ps(parse_thousandths(text, path, line));
}

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_CSV_H_

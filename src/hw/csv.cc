#include "idlesim/hw/csv.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>

#include "idlesim/base/check.h"

namespace idlesim::hw {

namespace {

constexpr std::size_t kMaxIntegerDigits = 9;  // a million sums of it in ps still fit 63 bits

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return "\"" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "") + "\"";
}

// Reads one field that starts at `at` and moves `at` to the comma or the end behind it.
std::string next_field(const std::string& text, std::size_t& at, const std::string& path,
                       int line) {
  if (at >= text.size() || text[at] != '"') {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::string field = text.substr(at, end - at);
    at = end;
    return field;
  }
  std::string field;
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') {
      field += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '"') {
      field += text[++at];
    } else {
      ++at;
      if (at < text.size() && text[at] != ',')
        input_error(path, line, "a comma must follow the closing quote");
      return field;
    }
  }
  input_error(path, line, "a quoted field does not end on its line");
}

}  // namespace

void input_error(const std::string& path, int line, const std::string& text) {
  throw UserError(path + ":" + std::to_string(line) + ": " + text);
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(path + ": cannot be opened");
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw UserError(path + ": cannot be read");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    lines.push_back(content.substr(at, end - at));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

std::vector<CsvRow> read_csv(const std::string& path) {
  const std::vector<std::string> lines = read_lines(path);
  std::vector<CsvRow> rows;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    CsvRow row;
    row.line = static_cast<int>(i) + 1;
    for (std::size_t at = 0;; ++at) {
      row.fields.push_back(next_field(lines[i], at, path, row.line));
      if (at >= lines[i].size()) break;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CsvRow> read_csv(const std::string& path, const std::vector<std::string>& header) {
  std::vector<CsvRow> rows = read_csv(path);
  if (rows.empty() || rows.front().fields != header) {
    std::string expected;
    for (const std::string& name : header) expected += (expected.empty() ? "" : ",") + name;
    input_error(path, rows.empty() ? 1 : rows.front().line, "the header must be " + expected);
  }
  rows.erase(rows.begin());
  for (const CsvRow& row : rows)
    if (row.fields.size() != header.size())
      input_error(path, row.line,
                  std::to_string(row.fields.size()) + " fields where the header has " +
                      std::to_string(header.size()));
  return rows;
}

std::int64_t parse_thousandths(std::string_view text, const std::string& path, int line) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  const auto digits = [](std::string_view part) {
    return part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const bool dangling_point = point != std::string_view::npos && fraction.empty();
  if (whole.empty() || whole.size() > kMaxIntegerDigits || dangling_point || !digits(whole) ||
      !digits(fraction))
    input_error(path, line, shown(text) + " is not a decimal number");
  std::int64_t value = 0;
  for (char digit : whole) value = value * 10 + (digit - '0');
  for (std::size_t place = 0; place < 3; ++place)
    value = value * 10 + (place < fraction.size() ? fraction[place] - '0' : 0);
  if (fraction.size() > 3 && fraction[3] >= '5') ++value;
  return value;
}

int parse_count(std::string_view text, const std::string& path, int line) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0)
    input_error(path, line, shown(text) + " is not a whole number");
  return value;
}

}  // namespace idlesim::hw

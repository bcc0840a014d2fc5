#include "machine_text.h"

#include <fmt/format.h>

#include <utility>

namespace idlesim::report {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n')
      out += "&#x0A;";
    else if (is_control(c))
      out += ' ';
    else
      out += c;
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) out += is_control(c) ? ' ' : c;
  return out;
}

std::string ktap_name(std::string_view text) {
  std::string out;
  for (const char c : one_line(text)) out += c == '#' ? '_' : c;
  return out;
}

std::string label_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '"')
      out += "\\\"";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string number_text(double value) { return fmt::format("{:.12g}", value); }

void CsvLine::separate() {
  if (!first_) line_ += ',';
  first_ = false;
}

CsvLine& CsvLine::add(std::string_view text) {
  separate();
  if (text.find_first_of(",\"\r\n") == text.npos) {
    line_ += text;
    return *this;
  }
  line_ += '"';
  for (const char c : text) {
    if (c == '"') line_ += '"';
    line_ += c;
  }
  line_ += '"';
  return *this;
}

CsvLine& CsvLine::add(std::int64_t number) {
  separate();
  line_ += std::to_string(number);
  return *this;
}

CsvLine& CsvLine::add(const std::optional<double>& number) {
  separate();
  if (number) line_ += number_text(*number);
  return *this;
}

CsvLine& CsvLine::add_interval(const std::optional<Interval>& interval) {
  if (!interval) return add("").add("");
  return add(std::optional(interval->low)).add(std::optional(interval->high));
}

std::string CsvLine::take() {
  line_ += '\n';
  first_ = true;
  return std::exchange(line_, {});
}

}  // namespace idlesim::report

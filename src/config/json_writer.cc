#include "idlesim/config/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "idlesim/base/check.h"
#include "utf8.h"

namespace idlesim::config {

JsonWriter& JsonWriter::begin_object(Layout layout) { return begin(true, layout); }
JsonWriter& JsonWriter::end_object() { return end(true); }
JsonWriter& JsonWriter::begin_array(Layout layout) { return begin(false, layout); }
JsonWriter& JsonWriter::end_array() { return end(false); }

JsonWriter& JsonWriter::key(std::string_view name) {
  CHECK(!levels_.empty() && levels_.back().is_object && !after_key_, "a key outside an object");
  separate();
  append_quoted(name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_quoted(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return scalar(std::string_view(buffer.data(), result.ptr));
}

JsonWriter& JsonWriter::value(const Decimal& number) { return scalar(number.text()); }

std::string JsonWriter::take() {
  CHECK(levels_.empty() && !out_.empty() && !after_key_, "the JSON document is not complete");
  out_ += '\n';
  return std::exchange(out_, {});
}

JsonWriter& JsonWriter::scalar(std::string_view text) {
  before_value();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::begin(bool is_object, Layout layout) {
  before_value();
  const bool one_line = layout == Layout::kOneLine || (!levels_.empty() && levels_.back().one_line);
  levels_.push_back({.is_object = is_object, .one_line = one_line});
  out_ += is_object ? '{' : '[';
  return *this;
}

JsonWriter& JsonWriter::end(bool is_object) {
  CHECK(!levels_.empty() && levels_.back().is_object == is_object && !after_key_,
        "the container that is closed is not the one that is open");
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.one_line) {
    out_ += '\n';
    out_.append(2 * levels_.size(), ' ');
  }
  out_ += is_object ? '}' : ']';
  return *this;
}

void JsonWriter::before_value() {
  if (levels_.empty()) {
    CHECK(out_.empty(), "a JSON document holds one value");
  } else if (levels_.back().is_object) {
    CHECK(after_key_, "a value in an object without its key");
    after_key_ = false;
  } else {
    separate();
  }
}

void JsonWriter::separate() {
  Level& level = levels_.back();
  if (!level.empty) out_ += level.one_line ? ", " : ",";
  level.empty = false;
  if (level.one_line) return;
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

void JsonWriter::append_quoted(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (byte == '"' || byte == '\\') {
      out_ += '\\';
      out_ += text.front();
    } else if (byte == '\n') {
      out_ += "\\n";
    } else if (byte == '\t') {
      out_ += "\\t";
    } else if (byte < 0x20) {
      out_ += "\\u00";
      out_ += "0123456789abcdef"[byte >> 4];
      out_ += "0123456789abcdef"[byte & 15];
    } else if (length == 0) {
      out_ += "\xEF\xBF\xBD";  // U+FFFD
    } else {
      out_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out_ += '"';
}

}  // namespace idlesim::config

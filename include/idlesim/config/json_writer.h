// Writes JSON as a stream, the same bytes on every host: 2 spaces of indentation, members in the
// order of the calls, numbers independent of the locale.
#ifndef IDLESIM_CONFIG_JSON_WRITER_H_
#define IDLESIM_CONFIG_JSON_WRITER_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/config/decimal.h"

namespace idlesim::config {

class JsonWriter {
 public:
  // kOneLine puts a container and everything in it on one line (histograms, pairs).
  enum class Layout { kLines, kOneLine };

  JsonWriter& begin_object(Layout layout = Layout::kLines);
  JsonWriter& end_object();
  JsonWriter& begin_array(Layout layout = Layout::kLines);
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  // Invalid UTF-8 is replaced by U+FFFD.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  // Shortest digits that read back as the same double. NaN and infinities have no JSON form: null.
  JsonWriter& value(double number);
  JsonWriter& value(const Decimal& number);
  template <std::integral Integer>
  JsonWriter& value(Integer number) {
    if constexpr (std::same_as<Integer, bool>)
      return scalar(number ? "true" : "false");
    else
      return scalar(std::to_string(number));
  }
  JsonWriter& null() { return scalar("null"); }

  template <typename Value>
  JsonWriter& member(std::string_view name, const Value& v) {
    return key(name).value(v);
  }

  // The finished document with a final newline. CHECKs that everything opened was closed.
  std::string take();

 private:
  struct Level {
    bool is_object = false;
    bool one_line = false;
    bool empty = true;
  };
  JsonWriter& scalar(std::string_view text);
  JsonWriter& begin(bool is_object, Layout layout);
  JsonWriter& end(bool is_object);
  void before_value();
  void separate();
  void append_quoted(std::string_view text);

  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_JSON_WRITER_H_

#include "json_numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "idlesim/config/decimal.h"

namespace idlesim::report {

using config::JsonWriter;

void write_number(JsonWriter& out, double number) {
  std::array<char, 400> buffer{};
  if (std::isfinite(number)) {
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                      std::chars_format::fixed);
    const std::string_view text(buffer.data(),
                                static_cast<std::size_t>(result.ptr - buffer.data()));
    if (const std::optional<config::Decimal> decimal = config::Decimal::parse(text)) {
      out.value(*decimal);
      return;
    }
  }
  out.value(number);
}

void write_number(JsonWriter& out, const std::optional<double>& number) {
  if (number)
    write_number(out, *number);
  else
    out.null();
}

void write_interval(JsonWriter& out, const std::optional<Interval>& interval) {
  if (!interval) {
    out.null();
    return;
  }
  out.begin_array(JsonWriter::Layout::kOneLine);
  write_number(out, interval->low);
  write_number(out, interval->high);
  out.end_array();
}

void write_document(JsonWriter& out, const nlohmann::ordered_json& document) {
  if (document.is_object()) {
    out.begin_object();
    for (const auto& item : document.items()) {
      out.key(item.key());
      write_document(out, item.value());
    }
    out.end_object();
  } else if (document.is_array()) {
    out.begin_array();
    for (const auto& element : document) write_document(out, element);
    out.end_array();
  } else if (document.is_string()) {
    out.value(document.get_ref<const std::string&>());
  } else if (document.is_boolean()) {
    out.value(document.get<bool>());
  } else if (document.is_number_unsigned()) {
    out.value(document.get<std::uint64_t>());
  } else if (document.is_number_integer()) {
    out.value(document.get<std::int64_t>());
  } else if (document.is_number()) {
    write_number(out, document.get<double>());
  } else {
    out.null();
  }
}

}  // namespace idlesim::report

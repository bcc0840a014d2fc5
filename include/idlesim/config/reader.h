// A cursor on one value of a Document. Cheap to copy; valid as long as the Document.
//
// Getters never throw for a wrong file: they record an error with its position and return a
// harmless default (0 or the nearest allowed number, "", false, the first allowed word, an object
// that is absent). On an absent object every getter returns its default silently, so that one
// mistake is reported once. Each getter that takes a key marks it as read.
#ifndef IDLESIM_CONFIG_READER_H_
#define IDLESIM_CONFIG_READER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/config/parameter.h"

namespace idlesim::config {

struct Node;
struct State;
enum class Kind : int;

class Reader {
 public:
  static constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  using Words = std::span<const std::string_view>;

  Reader(State* state, Node* node) : state_(state), node_(node) {}

  // --- members of an object ---

  // Whether the key is there; does not mark it as read.
  bool has(std::string_view key) const;
  // Whether the key's value is an object; does not mark it as read.
  bool has_object(std::string_view key) const;

  Reader object(std::string_view key);
  std::optional<Reader> optional_object(std::string_view key);
  // The elements; optional_array gives none if the key is missing.
  std::vector<Reader> array(std::string_view key);
  std::vector<Reader> optional_array(std::string_view key);
  std::vector<std::string> strings(std::string_view key);
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t min, std::int64_t max);
  // Every member of a map-like object in source order, without ignored keys.
  std::vector<std::pair<std::string, Reader>> members();

  std::string string(std::string_view key);
  std::string string_or(std::string_view key, std::string_view fallback);
  bool boolean(std::string_view key);
  bool boolean_or(std::string_view key, bool fallback);
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::int64_t integer_or(std::string_view key, std::int64_t min, std::int64_t max,
                          std::int64_t fallback);
  // One of `allowed`; the error names the nearest.
  std::string enumeration(std::string_view key, Words allowed);
  std::string enumeration_or(std::string_view key, Words allowed, std::string_view fallback);
  Decimal decimal(std::string_view key);
  Decimal decimal_or(std::string_view key, Decimal fallback);

  // A time that is not negative. Unit from the suffix of the key (_ps, _ns, _us, _ms, _s) or of the
  // nearest key around it that has one; rounded to a picosecond, halves up. At most 10^6 s.
  Time time(std::string_view key);
  Time time_or(std::string_view key, Time fallback);
  // A clock rate above 0, at most 1 THz; unit from the suffix _hz, _khz, _mhz, _ghz, rounded to a
  // kHz.
  Frequency frequency(std::string_view key);

  // Numbers with an origin (parameter.h). All are listed in Document::parameters(). The bounds and
  // units hold for the ends of the range as well, so that each of them can be tried.
  Parameter parameter(std::string_view key);
  Time parameter_time(std::string_view key);
  Frequency parameter_frequency(std::string_view key);
  std::int64_t parameter_integer(std::string_view key, std::int64_t min = 0,
                                 std::int64_t max = kMax);
  // Thousandths: 1.25 cycles are 1250. Bounds are in thousandths too.
  std::int64_t parameter_milli(std::string_view key, std::int64_t min_milli = 0,
                               std::int64_t max_milli = kMax);

  // Marks a key as read without looking at it.
  void ignore(std::string_view key);

  // --- the value itself (elements of arrays, members()) ---

  std::string as_string();
  // Any value, as one writes it after --set: a string bare, everything else as JSON.
  std::string as_text();
  bool as_boolean();
  std::int64_t as_integer(std::int64_t min, std::int64_t max);
  std::string as_enumeration(Words allowed);
  Decimal as_decimal();
  Time as_time();
  Frequency as_frequency();
  Parameter as_parameter();
  Time as_parameter_time();
  Frequency as_parameter_frequency();
  std::int64_t as_parameter_integer(std::int64_t min = 0, std::int64_t max = kMax);
  std::int64_t as_parameter_milli(std::int64_t min_milli = 0, std::int64_t max_milli = kMax);
  std::vector<Reader> as_array();

  // --- errors and places ---

  // Records an error at the key's value (at the object if the key is missing), or at this value.
  void fail(std::string_view key, const std::string& message);
  void fail(const std::string& message);
  // JSON pointer; "" for the root.
  std::string pointer() const;
  // "FILE:LINE" of this value.
  std::string where() const;
  // False on what stands in for a missing or mistyped value.
  bool exists() const { return node_ != nullptr; }

 private:
  struct Limits;
  // The value of a key, marked as read. Without `expected` a missing key is no error; else the
  // error says what was expected.
  Reader child(std::string_view key, std::string_view expected);
  // Whether the value has this type; if not, says so, once and for all that is inside.
  bool is(Kind kind, std::string_view expected);
  void read_range(Parameter& parameter);
  Limits time_limits();
  Limits frequency_limits();
  std::int64_t scaled(const Limits& limits);
  std::int64_t parameter_scaled(const Limits& limits);
  std::optional<std::int64_t> scale(const Decimal& number, const Limits& limits);

  State* state_;
  Node* node_;  // nullptr: absent
};

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_READER_H_

// The getters of Reader whose numbers have a unit or an origin.
#include <algorithm>
#include <array>
#include <utility>

#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/reader.h"
#include "node.h"

namespace idlesim::config {
namespace {

using Units = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> kOrigins = {"measured", "derived", "documented",
                                                      "assumed", "fitted"};
constexpr std::array<std::string_view, 5> kTimeUnits = {"ps", "ns", "us", "ms", "s"};
constexpr std::array<std::string_view, 4> kFrequencyUnits = {"hz", "khz", "mhz", "ghz"};
// Units that a report shows beside a parameter.
constexpr std::array<std::string_view, 19> kUnits = {
    "ps",  "ns",  "us",        "ms",           "s",       "hz",    "khz",
    "mhz", "ghz", "cycles",    "instructions", "percent", "bytes", "kib",
    "mib", "ipc", "per_mille", "lines",        "entries"};

constexpr std::string_view kParameter = "a parameter {\"value\", \"source\", \"origin\"}";

constexpr std::int64_t kMaxTimePs = 1'000'000'000'000'000'000;
constexpr std::int64_t kMaxKhz = 1'000'000'000;

// Position of a unit in its list, which is in steps of a thousand from the smallest.
int thousands(std::string_view unit, Units units) {
  return static_cast<int>(std::find(units.begin(), units.end(), unit) - units.begin());
}

std::string bounds_text(std::int64_t min, std::int64_t max, int digits) {
  const std::string low = Decimal(min, digits).text();
  return max == Reader::kMax ? "at least " + low
                             : "from " + low + " to " + Decimal(max, digits).text();
}

}  // namespace

std::string_view to_string(Origin origin) { return kOrigins[static_cast<std::size_t>(origin)]; }

// How a decimal becomes an integer, and which integers are allowed.
struct Reader::Limits {
  int digits = 0;      // the integer is the number times 10^digits
  bool whole = false;  // no fraction of the integer is allowed
  std::int64_t min = 0;
  std::int64_t max = kMax;
  std::string bounds;  // for the message: "must be ..."

  std::int64_t fallback() const { return std::clamp<std::int64_t>(0, min, max); }
};

std::optional<std::int64_t> Reader::scale(const Decimal& number, const Limits& limits) {
  if (limits.whole && number.scale() > limits.digits) {
    fail("expected an integer, found " + number.text());
    return std::nullopt;
  }
  const auto value = number.to_scaled(limits.digits);
  if (value && *value >= limits.min && *value <= limits.max) return value;
  fail("must be " + limits.bounds + ", found " + number.text());
  return std::nullopt;
}

std::int64_t Reader::scaled(const Limits& limits) {
  if (!is(Kind::kNumber, "a number")) return limits.fallback();
  return scale(node_->number, limits).value_or(limits.fallback());
}

std::int64_t Reader::parameter_scaled(const Limits& limits) {
  const Parameter parameter = as_parameter();
  const Node* value_node = node_ == nullptr ? nullptr : node_->find("value");
  if (value_node == nullptr || value_node->kind != Kind::kNumber) return limits.fallback();
  const auto value = Reader(state_, node_->find("value")).scale(parameter.value, limits);
  if (parameter.range) {
    Reader range(state_, node_->find("range"));
    range.scale(parameter.range->low, limits);
    range.scale(parameter.range->high, limits);
  }
  return value.value_or(limits.fallback());
}

Reader::Limits Reader::time_limits() {
  Limits limits{.max = kMaxTimePs, .bounds = "a time from 0 to 1000000 s"};
  if (node_ == nullptr) return limits;
  const std::string unit = unit_of(*node_, kTimeUnits);
  if (unit.empty())
    fail("neither the key nor one around it says the unit of time (_ps, _ns, _us, _ms, _s)");
  else
    limits.digits = 3 * thousands(unit, kTimeUnits);
  return limits;
}

Reader::Limits Reader::frequency_limits() {
  Limits limits{.min = 1, .max = kMaxKhz, .bounds = "a frequency from 1 kHz to 1 THz"};
  if (node_ == nullptr) return limits;
  const std::string unit = unit_of(*node_, kFrequencyUnits);
  if (unit.empty())
    fail("neither the key nor one around it says the unit of frequency (_hz, _khz, _mhz, _ghz)");
  else
    limits.digits = 3 * (thousands(unit, kFrequencyUnits) - 1);
  return limits;
}

Time Reader::as_time() { return Time::ps(scaled(time_limits())); }
Time Reader::as_parameter_time() { return Time::ps(parameter_scaled(time_limits())); }
Frequency Reader::as_frequency() { return Frequency::khz(scaled(frequency_limits())); }
Frequency Reader::as_parameter_frequency() {
  return Frequency::khz(parameter_scaled(frequency_limits()));
}

std::int64_t Reader::as_parameter_integer(std::int64_t min, std::int64_t max) {
  return parameter_scaled(
      {.digits = 0, .whole = true, .min = min, .max = max, .bounds = bounds_text(min, max, 0)});
}

std::int64_t Reader::as_parameter_milli(std::int64_t min_milli, std::int64_t max_milli) {
  return parameter_scaled({.digits = 3,
                           .min = min_milli,
                           .max = max_milli,
                           .bounds = bounds_text(min_milli, max_milli, 3)});
}

Parameter Reader::as_parameter() {
  Parameter out;
  if (!is(Kind::kObject, kParameter)) return out;
  out.value = decimal("value");
  out.source = string("source");
  if (out.source.empty() && has("source")) fail("source", "must say where the value is from");
  const std::string origin = enumeration("origin", kOrigins);
  out.origin = static_cast<Origin>(thousands(origin, kOrigins));
  out.note = string_or("note", "");
  out.file = state_->files[static_cast<std::size_t>(node_->at.file)];
  out.line = node_->at.line;
  out.pointer = node_->pointer();
  out.unit = unit_of(*node_, kUnits);
  const Node* value = node_->find("value");
  out.overridden = node_->overridden || (value != nullptr && value->overridden);
  read_range(out);

  const bool fitted = out.origin == Origin::kFitted;
  if (fitted)
    out.fitted_to = string("fitted_to");
  else if (has("fitted_to"))
    child("fitted_to", "").fail("only a value of origin \"fitted\" has it");
  if (!std::exchange(node_->listed, true)) state_->parameters.push_back(out);
  return out;
}

void Reader::read_range(Parameter& parameter) {
  const bool required = parameter.origin == Origin::kAssumed || parameter.origin == Origin::kFitted;
  if (!required && !has("range")) return;
  Reader range = child(
      "range", "[low, high], because the value is " + std::string(to_string(parameter.origin)));
  if (!range.is(Kind::kArray, "[low, high]")) return;
  std::vector<Reader> ends = range.as_array();
  if (ends.size() != 2) {
    range.fail("expected [low, high], found " + std::to_string(ends.size()) + " elements");
    return;
  }
  if (!ends[0].is(Kind::kNumber, "a number") || !ends[1].is(Kind::kNumber, "a number")) return;
  parameter.range = Range{ends[0].as_decimal(), ends[1].as_decimal()};
  const auto& [low, high] = *parameter.range;
  const Node* value = node_->find("value");
  if (high < low) {
    range.fail("the low end " + low.text() + " is above the high end " + high.text());
  } else if (value != nullptr && value->kind == Kind::kNumber && !value->overridden &&
             (parameter.value < low || parameter.value > high)) {
    fail("value", "the value " + parameter.value.text() + " is outside its range [" + low.text() +
                      ", " + high.text() + "]");
  }
}

// --- by key ---

Time Reader::time(std::string_view key) {
  Reader found = child(key, "a number");
  return found.exists() ? found.as_time() : Time();
}
Time Reader::time_or(std::string_view key, Time fallback) {
  Reader found = child(key, "");
  return found.exists() ? found.as_time() : fallback;
}
Frequency Reader::frequency(std::string_view key) { return child(key, "a number").as_frequency(); }

Parameter Reader::parameter(std::string_view key) { return child(key, kParameter).as_parameter(); }
Time Reader::parameter_time(std::string_view key) {
  return child(key, kParameter).as_parameter_time();
}
Frequency Reader::parameter_frequency(std::string_view key) {
  return child(key, kParameter).as_parameter_frequency();
}
std::int64_t Reader::parameter_integer(std::string_view key, std::int64_t min, std::int64_t max) {
  return child(key, kParameter).as_parameter_integer(min, max);
}
std::int64_t Reader::parameter_milli(std::string_view key, std::int64_t min_milli,
                                     std::int64_t max_milli) {
  return child(key, kParameter).as_parameter_milli(min_milli, max_milli);
}

}  // namespace idlesim::config

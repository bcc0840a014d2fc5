#include "idlesim/report/gates.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/config/document.h"
#include "idlesim/config/nearest.h"

namespace idlesim::report {

namespace {

constexpr std::array<std::string_view, 6> kNames = {"mean", "p50", "p90", "p99", "p99_9", "max"};

bool has_wildcard(std::string_view text) { return text.find_first_of("*?") != text.npos; }

// The pattern with its statistic: "x" means x.mean, and p99.9 is how people write p99_9.
std::string completed(std::string pattern) {
  constexpr std::string_view kDotted = ".p99.9";
  if (pattern.ends_with(kDotted)) pattern.replace(pattern.size() - 2, 1, "_");
  const std::size_t dot = pattern.rfind('.');
  if (dot == std::string::npos) return pattern + ".mean";
  return pattern;
}

// What is wrong with a completed pattern; empty if nothing.
std::string fault_of(std::string_view pattern) {
  const std::size_t dot = pattern.rfind('.');
  const std::string_view statistic = pattern.substr(dot + 1);
  if (dot == 0) return "the name of a metric is missing";
  if (has_wildcard(statistic)) {
    const bool any = std::any_of(kNames.begin(), kNames.end(),
                                 [&](std::string_view name) { return matches(statistic, name); });
    return any ? "" : "no statistic matches \"" + std::string(statistic) + "\"";
  }
  if (std::find(kNames.begin(), kNames.end(), statistic) != kNames.end()) return {};
  return "there is no statistic \"" + config::printable(statistic) + "\"" +
         config::did_you_mean(statistic, kNames) + " (mean, p50, p90, p99, p99_9, max)";
}

constexpr double kMostPercent = 1000;

}  // namespace

std::string_view to_string(Statistic statistic) {
  return kNames[static_cast<std::size_t>(statistic)];
}

double value_of(const RunSummary& run, Statistic statistic) {
  switch (statistic) {
    case Statistic::kMean:
      return run.mean;
    case Statistic::kP50:
      return run.p50;
    case Statistic::kP90:
      return run.p90;
    case Statistic::kP99:
      return run.p99;
    case Statistic::kP99_9:
      return run.p99_9;
    case Statistic::kMax:
      return run.max;
  }
  return 0;
}

double default_threshold_percent(Statistic statistic) {
  return statistic == Statistic::kP99_9 || statistic == Statistic::kMax ? 5 : 2;
}

bool Gate::is_literal() const { return !off && !has_wildcard(pattern); }

const Gate* Gates::find(std::string_view metric, Statistic statistic,
                        std::string_view variant) const {
  const std::string name = std::string(metric) + "." + std::string(to_string(statistic));
  const auto found = std::find_if(gates.begin(), gates.end(), [&](const Gate& gate) {
    return matches(gate.pattern, name) && matches(gate.variant, variant);
  });
  return found == gates.end() ? nullptr : &*found;
}

Gates default_gates() {
  Gates gates;
  gates.gates.push_back({"*.mean", "*", std::nullopt, false});
  return gates;
}

Gates read_gates(const std::string& path) {
  config::Document document = config::parse_file(path);
  config::Reader in = document.root();
  Gates gates;
  in.integer("schema_version", 1, 1);
  const config::Decimal alpha = in.decimal_or("alpha", config::Decimal(1, 2));
  gates.alpha = alpha.as_double();
  if (gates.alpha <= 0 || gates.alpha > 0.5)
    in.fail("alpha", "expected a number above 0, at most 0.5");
  for (config::Reader entry : in.array("gates")) {
    Gate gate;
    gate.pattern = completed(entry.string("metric"));
    const std::string fault = fault_of(gate.pattern);
    if (!fault.empty()) entry.fail("metric", fault);
    gate.variant = entry.string_or("variant", "*");
    if (entry.has("threshold_percent")) {
      gate.threshold_percent = entry.decimal("threshold_percent").as_double();
      if (*gate.threshold_percent < 0 || *gate.threshold_percent > kMostPercent)
        entry.fail("threshold_percent", "expected a number from 0 to 1000");
    }
    gates.gates.push_back(std::move(gate));
  }
  document.finish();
  return gates;
}

Gate parse_gate(std::string_view text, const std::string& shown_as) {
  const auto fail = [&](const std::string& why) {
    throw UserError(shown_as + " " + config::printable(text) + ": " + why);
  };
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0) fail("expected METRIC.STATISTIC=PERCENT%");
  Gate gate;
  gate.pattern = completed(std::string(text.substr(0, equals)));
  const std::string fault = fault_of(gate.pattern);
  if (!fault.empty()) fail(fault);
  std::string_view value = text.substr(equals + 1);
  if (value == "off") {
    gate.off = true;
    return gate;
  }
  if (!value.ends_with('%')) fail("expected a percentage such as 5%, or off");
  value.remove_suffix(1);
  const std::optional<config::Decimal> percent = config::Decimal::parse(value);
  if (!percent || percent->as_double() < 0 || percent->as_double() > kMostPercent)
    fail("expected a percentage from 0% to 1000%");
  gate.threshold_percent = percent->as_double();
  return gate;
}

// The usual two-pointer walk: on a mismatch the last * takes one character more.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = pattern.npos;
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace idlesim::report

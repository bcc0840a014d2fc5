// Reads the JSON form of a report back.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "idlesim/base/check.h"
#include "idlesim/report/json.h"

namespace idlesim::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 100;

// A value of the document and where it stands. Throws UserError naming both.
class Node {
 public:
  Node(const Json& json, const std::string& file, std::string pointer)
      : json_(json), file_(file), pointer_(std::move(pointer)) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw UserError(file_ + ": " + (pointer_.empty() ? "/" : pointer_) + ": " + why);
  }

  Node operator[](const std::string& key) const {
    if (!json_.is_object()) fail("expected an object");
    const auto found = json_.find(key);
    if (found == json_.end()) fail("the key \"" + key + "\" is missing");
    return {*found, file_, pointer_ + "/" + key};
  }

  bool is_null() const { return json_.is_null(); }
  std::string text() const {
    if (!json_.is_string()) fail("expected a string");
    return json_.get<std::string>();
  }
  bool flag() const {
    if (!json_.is_boolean()) fail("expected true or false");
    return json_.get<bool>();
  }
  std::int64_t integer() const {
    if (!json_.is_number_integer() ||
        (json_.is_number_unsigned() && json_.get<std::uint64_t>() > std::uint64_t{INT64_MAX}))
      fail("expected an integer");
    return json_.get<std::int64_t>();
  }
  int small_integer() const {
    const std::int64_t value = integer();
    if (value < 0 || value > std::numeric_limits<int>::max()) fail("the integer is out of range");
    return static_cast<int>(value);
  }
  std::uint64_t natural() const {
    if (!json_.is_number_unsigned()) fail("expected an integer that is not negative");
    return json_.get<std::uint64_t>();
  }
  double number() const {
    if (!json_.is_number()) fail("expected a number");
    return json_.get<double>();
  }
  std::optional<double> number_or_null() const {
    return is_null() ? std::nullopt : std::optional(number());
  }
  // A statistic that is null because there are no samples.
  double statistic() const { return number_or_null().value_or(0); }
  std::string object_text() const {
    if (!json_.is_object()) fail("expected an object");
    return json_.dump();
  }

  template <typename Visit>
  void each_element(Visit visit) const {
    if (!json_.is_array()) fail("expected an array");
    for (std::size_t i = 0; i < json_.size(); ++i)
      visit(Node(json_[i], file_, pointer_ + "/" + std::to_string(i)));
  }
  template <typename Visit>
  void each_member(Visit visit) const {
    if (!json_.is_object()) fail("expected an object");
    for (const auto& item : json_.items())
      visit(item.key(), Node(item.value(), file_, pointer_ + "/" + item.key()));
  }

 private:
  const Json& json_;
  const std::string& file_;
  std::string pointer_;
};

std::vector<std::string> read_strings(const Node& in) {
  std::vector<std::string> texts;
  in.each_element([&](const Node& element) { texts.push_back(element.text()); });
  return texts;
}

Manifest read_manifest(const Node& in) {
  Manifest manifest;
  manifest.version = in["version"].text();
  manifest.git_commit = in["git_commit"].text();
  manifest.model_version = in["model_version"].small_integer();
  manifest.seed = in["seed"].natural();
  manifest.runs = in["runs"].small_integer();
  const Node rest = in["volatile"];
  manifest.volatile_part = {
      rest["compiler"].text(),     rest["flags"].text(),      read_strings(rest["command_line"]),
      rest["host"].text(),         rest["start_time"].text(), rest["duration_s"].number(),
      rest["jobs"].small_integer()};
  return manifest;
}

Scenario read_scenario(const Node& in) {
  return {in["name"].text(), in["description"].text(), in["workload"].text(), in["digest"].text(),
          in["resolved"].object_text()};
}

RunSummary read_run(const Node& in) {
  return {in["n"].integer(),     in["mean"].statistic(), in["p50"].statistic(),
          in["p90"].statistic(), in["p99"].statistic(),  in["p99_9"].statistic(),
          in["max"].statistic()};
}

std::optional<Interval> read_interval(const Node& in) {
  if (in.is_null()) return std::nullopt;
  std::vector<double> ends;
  in.each_element([&](const Node& end) { ends.push_back(end.number()); });
  if (ends.size() != 2) in.fail("expected [low, high]");
  return Interval{ends[0], ends[1]};
}

HistogramBins read_histogram(const Node& in) {
  HistogramBins bins;
  in["edges"].each_element([&](const Node& edge) { bins.edges.push_back(edge.number()); });
  in["counts"].each_element([&](const Node& count) { bins.counts.push_back(count.integer()); });
  if (bins.edges.size() != (bins.counts.empty() ? 0 : bins.counts.size() + 1))
    in.fail("a histogram has one edge more than counts");
  return bins;
}

Metric read_metric(const std::string& id, const Node& in) {
  Metric metric;
  metric.id = id;
  metric.unit = in["unit"].text();
  const std::string better = in["better"].text();
  if (better != "lower" && better != "higher") in["better"].fail("expected lower or higher");
  metric.better = better == "lower" ? Better::kLower : Better::kHigher;
  metric.n = in["n"].integer();
  metric.mean = in["mean"].statistic();
  metric.min = in["min"].statistic();
  metric.max = in["max"].statistic();
  metric.p50 = in["p50"].statistic();
  metric.p90 = in["p90"].statistic();
  metric.p99 = in["p99"].statistic();
  metric.p99_9 = in["p99_9"].statistic();
  metric.p99_99 = in["p99_99"].statistic();
  metric.stdev = in["stdev"].number_or_null();
  metric.ci95 = read_interval(in["ci95"]);
  metric.histogram = read_histogram(in["histogram"]);
  in["per_run"].each_element([&](const Node& run) { metric.per_run.push_back(read_run(run)); });
  return metric;
}

Variant read_variant(const Node& in) {
  Variant variant;
  variant.name = in["name"].text();
  variant.kernel = in["kernel"].text();
  variant.runs = in["runs"].small_integer();
  variant.machine = in["machine"].text();
  variant.platform = in["platform"].text();
  in["changes"].each_element([&](const Node& change) {
    variant.changes.push_back({change["path"].text(), change["from"].text(), change["to"].text()});
  });
  in["metrics"].each_member([&](const std::string& id, const Node& metric) {
    variant.metrics.push_back(read_metric(id, metric));
  });
  in["counters"].each_member([&](const std::string& name, const Node& value) {
    variant.counters.push_back({name, value.integer()});
  });
  in["regimes"].each_element([&](const Node& regime) {
    variant.regimes.push_back(
        {regime["name"].text(), regime["share"].number(), regime["condition"].text()});
  });
  in["stages"].each_element([&](const Node& stage) {
    variant.stages.push_back({stage["name"].text(), stage["mean_ns"].number(),
                              stage["p99_ns"].number(), stage["share"].number()});
  });
  return variant;
}

// "LINE:COLUMN" of a byte of the text.
std::string position(std::string_view text, std::size_t byte) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n';
  }
  return fmt::format("{}:{}", line, column);
}

Json parse_document(std::string_view text, const std::string& name) {
  const auto too_deep = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) throw UserError(name + ": nested too deeply");
    return true;
  };
  try {
    return Json::parse(text, too_deep);
  } catch (const Json::parse_error& error) {
    throw UserError(name + ":" + position(text, error.byte) + ": no valid JSON");
  } catch (const Json::exception&) {  // a number beyond the range of a double
    throw UserError(name + ": no valid JSON: a number is out of range");
  }
}

}  // namespace

Report parse_report(std::string_view text, const std::string& name) {
  const Json document = parse_document(text, name);
  const Node in(document, name, "");
  const std::int64_t version = in["schema_version"].integer();
  if (version != kReportSchemaVersion) {
    in["schema_version"].fail(fmt::format(
        "the report has schema version {}, this idlesim reads version {}{}", version,
        kReportSchemaVersion, version > kReportSchemaVersion ? "; use a newer idlesim" : ""));
  }
  Report report;
  report.manifest = read_manifest(in["manifest"]);
  report.incomplete = in["incomplete"].flag();
  report.warnings = read_strings(in["warnings"]);
  report.scenario = read_scenario(in["scenario"]);
  in["variants"].each_element(
      [&](const Node& variant) { report.variants.push_back(read_variant(variant)); });
  return report;
}

Report read_report(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return parse_report(text.str(), "standard input");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(path + ": cannot be read");
  text << file.rdbuf();
  return parse_report(text.str(), path);
}

}  // namespace idlesim::report

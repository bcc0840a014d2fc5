// What idlesim writes and ships matches its JSON Schemas, and the schemas notice what does not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "idlesim/report/compare_formats.h"
#include "idlesim/report/json.h"
#include "idlesim/report/schemas.h"
#include "report/sample_report.h"
#include "report/sample_reproduce.h"

namespace idlesim::report {
namespace {

using nlohmann::json;

const std::filesystem::path kConfigs = IDLESIM_SOURCE_DIR "/sim-configs";

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first few deviations of `document` from the schema; empty if it matches.
std::string deviations(const std::string& schema_name, const json& document) {
  const EmbeddedSchema* embedded = find_schema(schema_name);
  if (embedded == nullptr) return "no such schema";
  const json schema_json = json::parse(embedded->text);
  valijson::Schema schema;
  const valijson::adapters::NlohmannJsonAdapter schema_adapter(schema_json);
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(schema_adapter, schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target(document);
  if (validator.validate(schema, target, &results)) return "";
  std::string text;
  valijson::ValidationResults::Error error;
  for (int i = 0; i < 8 && results.popError(error); ++i) {
    for (const std::string& part : error.context) text += part;
    text += ": " + error.description + "\n";
  }
  return text.empty() ? "does not match" : text;
}

json sample() { return json::parse(to_json(sample_report())); }

std::string after(const std::function<void(json&)>& change) {
  json document = sample();
  change(document);
  return deviations("report", document);
}

TEST(Schemas, AreEmbeddedByteForByte) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / "schemas")) {
    ++files;
    const std::string name = entry.path().filename().string();
    const EmbeddedSchema* schema = find_schema(name.substr(0, name.find('.')));
    ASSERT_NE(schema, nullptr) << name;
    EXPECT_EQ(schema->text, file_text(entry.path())) << name;
  }
  EXPECT_EQ(files, embedded_schemas().size());
}

TEST(Schemas, AreFoundWithAndWithoutVersion) {
  ASSERT_NE(find_schema("report"), nullptr);
  EXPECT_EQ(find_schema("report")->name, "report-v1");
  EXPECT_EQ(find_schema("report-v1"), find_schema("report"));
  EXPECT_EQ(find_schema("repor"), nullptr);
  EXPECT_EQ(find_schema(""), nullptr);
}

// Every object is closed, and every property has a description.
void check_style(const json& schema, const std::string& where) {
  if (!schema.is_object()) return;
  if (schema.contains("properties") && schema.contains("type")) {
    EXPECT_TRUE(schema.contains("additionalProperties")) << where;
    for (const auto& item : schema["properties"].items())
      EXPECT_TRUE(item.value().contains("description") || item.value().contains("$ref"))
          << where << '/' << item.key();
  }
  for (const auto& item : schema.items()) {
    if (item.value().is_array()) {
      for (const json& element : item.value()) check_style(element, where + '/' + item.key());
    } else {
      check_style(item.value(), where + '/' + item.key());
    }
  }
}

TEST(Schemas, AreClosedAndDescribed) {
  for (const EmbeddedSchema& schema : embedded_schemas()) {
    const json document = json::parse(schema.text);
    EXPECT_EQ(document["$schema"], "http://json-schema.org/draft-07/schema#") << schema.name;
    EXPECT_NE(document["$id"].get<std::string>().find(schema.name), std::string::npos);
    check_style(document, std::string(schema.name));
  }
}

TEST(Schemas, ReportsMatch) {
  EXPECT_EQ(deviations("report", sample()), "");
  Report report;
  report.manifest.version = report.manifest.git_commit = report.scenario.name = "x";
  report.scenario.digest = "sha256:" + std::string(64, '0');
  EXPECT_EQ(deviations("report", json::parse(to_json(report))), "");
}

TEST(Schemas, WrongReportsDoNotMatch) {
  const auto metric = [](json& doc) -> json& {
    return doc["variants"][0]["metrics"]["run_time_ns"];
  };
  EXPECT_NE(after([](json& doc) { doc["schema_version"] = 2; }), "");
  EXPECT_NE(after([](json& doc) { doc.erase("incomplete"); }), "");
  EXPECT_NE(after([](json& doc) { doc["host"] = "h"; }), "");
  EXPECT_NE(after([](json& doc) { doc["manifest"]["host"] = "h"; }), "");
  EXPECT_NE(after([](json& doc) { doc["scenario"]["digest"] = "sha256:0"; }), "");
  EXPECT_NE(after([](json& doc) { doc["variants"][0]["regimes"][0]["share"] = 1.5; }), "");
  EXPECT_NE(after([](json& doc) { doc["variants"][0]["counters"]["ipis_sent"] = 1.5; }), "");
  EXPECT_NE(after([&](json& doc) { metric(doc).erase("p99"); }), "");
  EXPECT_NE(after([&](json& doc) { metric(doc)["better"] = "bigger"; }), "");
  EXPECT_NE(after([&](json& doc) { metric(doc)["ci95"] = json::array({1}); }), "");
  EXPECT_NE(after([&](json& doc) { metric(doc)["mean"] = "1"; }), "");
  EXPECT_NE(after([&](json& doc) { metric(doc)["per_run"][0]["p95"] = 1; }), "");
  EXPECT_EQ(after([](json& doc) { doc["x-mine"] = json::array({1, 2}); }), "");
}

TEST(Schemas, ReproduceMatches) {
  json document = json::parse(to_json(sample_reproduce()));
  EXPECT_EQ(deviations("reproduce", document), "");
  document["results"][0]["status"] = "guessed";
  EXPECT_NE(deviations("reproduce", document), "");
  document["results"][0]["status"] = "baseline";
  document["results"][1]["simulated"].erase("interval");
  EXPECT_NE(deviations("reproduce", document), "");
}

TEST(Schemas, ComparisonsMatch) {
  const Comparison comparison = compare_variants(sample_report(), "r.json", {});
  json document = json::parse(to_json(comparison, summarize(comparison)));
  EXPECT_EQ(deviations("compare", document), "");
  EXPECT_EQ(document["variants"][0]["metrics"][0]["new"]["n"], 3);
  const json before = document;
  document["outcome"] = "passed";
  EXPECT_NE(deviations("compare", document), "");
  document = before;
  document["variants"][0]["metrics"][0].erase("p");
  EXPECT_NE(deviations("compare", document), "");
}

TEST(Schemas, GatesMatch) {
  json gates = json::parse(R"({"schema_version": 1, "alpha": 0.01, "gates": [
    {"metric": "call_round_trip_ns.p99", "threshold_percent": 5, "variant": "sm*"},
    {"metric": "*.mean"}]})");
  EXPECT_EQ(deviations("gates", gates), "");
  gates["gates"][0]["threshold"] = 5;
  EXPECT_NE(deviations("gates", gates), "");
  gates["gates"][0].erase("threshold");
  gates["alpha"] = 0;
  EXPECT_NE(deviations("gates", gates), "");
}

void expect_directory_matches(const std::string& directory, const std::string& schema) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs / directory)) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    EXPECT_EQ(deviations(schema, json::parse(file_text(entry.path()))), "") << entry.path();
  }
  EXPECT_GT(files, 0u);
}

TEST(Schemas, PublishedFilesMatch) { expect_directory_matches("published", "published"); }
TEST(Schemas, MachineFilesMatch) { expect_directory_matches("machines", "machine"); }
TEST(Schemas, KernelFilesMatch) { expect_directory_matches("kernels", "kernel"); }

TEST(Schemas, ANumberNeedsItsOrigin) {
  json machine = json::parse(file_text(kConfigs / "machines/epyc-milan-2s-64c.json"));
  json& ipc = machine["core"]["kernel_ipc"];
  ASSERT_EQ(ipc["origin"], "assumed");
  const auto wrong = [&](const std::function<void(json&)>& change) {
    const json before = ipc;
    change(ipc);
    const std::string result = deviations("machine", machine);
    ipc = before;
    return result;
  };
  EXPECT_EQ(wrong([](json&) {}), "");
  EXPECT_NE(wrong([](json& p) { p.erase("source"); }), "");
  EXPECT_NE(wrong([](json& p) { p.erase("range"); }), "");  // assumed needs one
  EXPECT_NE(wrong([](json& p) { p["origin"] = "fitted"; }), "");
  EXPECT_EQ(wrong([](json& p) { p["origin"] = "fitted", p["fitted_to"] = "P9.1"; }), "");
  EXPECT_NE(wrong([](json& p) { p["fitted_to"] = "P9.1"; }), "");
  EXPECT_EQ(wrong([](json& p) { p["origin"] = "measured", p.erase("range"); }), "");
  EXPECT_NE(wrong([](json& p) { p["unit"] = "ns"; }), "");
  machine["core"]["kernel_icp"] = ipc;
  EXPECT_NE(deviations("machine", machine), "");
}

TEST(Schemas, AScenarioMatches) {
  json scenario = json::parse(R"({
    "$schema": "../schemas/scenario-v1.schema.json", "schema_version": 1, "name": "x",
    "description": "d", "machine": "epyc-milan-2s-64c",
    "kernel": {"base": "linux-6.12-x86_64", "schedule_idle": "full"}, "platform": "bare-metal",
    "workload": {"name": "ipistorm", "parameters": {"numipi": 1000, "cpulist": [8]}},
    "variants": [{"name": "baseline"}, {"name": "sm", "set": {"kernel.schedule_idle": "sm_idle"}}],
    "runs": 10, "seed": 1})");
  EXPECT_EQ(deviations("scenario", scenario), "");
  scenario["runs"] = 0;
  EXPECT_NE(deviations("scenario", scenario), "");
  scenario["runs"] = 1;
  scenario.erase("workload");
  EXPECT_NE(deviations("scenario", scenario), "");
}

}  // namespace
}  // namespace idlesim::report

#include "idlesim/report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "idlesim/base/check.h"
#include "report/sample_report.h"

namespace idlesim::report {
namespace {

using Json = nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

std::string golden() {
  std::ifstream file(IDLESIM_SOURCE_DIR "/tests/report/golden/sample.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The message of the UserError that reading `text` throws; empty if none.
std::string error_of(const std::string& text) {
  try {
    parse_report(text, "r.json");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// The same for the sample after a change.
std::string error_after(const std::function<void(Json&)>& change) {
  Json document = Json::parse(to_json(sample_report()));
  change(document);
  return error_of(document.dump());
}

TEST(ReportJson, Golden) { EXPECT_EQ(to_json(sample_report()), golden()); }

TEST(ReportJson, ReadsBackTheSameReport) {
  const Report report = sample_report();
  EXPECT_EQ(parse_report(to_json(report), "r.json"), report);
}

TEST(ReportJson, RoundTripOfOddValues) {
  Report report = sample_report();
  report.incomplete = true;
  report.manifest.seed = 18'446'744'073'709'551'615u;
  report.scenario.description = "quotes \" and \\ and \n and \u00b5s";
  report.variants[0].metrics[0].mean = 0.000001;
  report.variants[0].metrics[0].max = 9'007'199'254'740.991;
  report.variants[0].counters[0].value = 9'223'372'036'854'775'807;
  report.variants[0].metrics[1].ci95.reset();
  EXPECT_EQ(parse_report(to_json(report), "r.json"), report);
}

TEST(ReportJson, NumbersArePlainDecimals) {
  Report report = sample_report();
  report.variants[0].metrics[0].max = 1'000'000;
  report.variants[0].metrics[0].min = 1234.567;
  const std::string text = to_json(report);
  EXPECT_THAT(text, AllOf(HasSubstr("\"max\": 1000000,"), HasSubstr("\"min\": 1234.567,")));
}

TEST(ReportJson, OnlyTheVolatilePartHoldsVolatileFacts) {
  Report other = sample_report();
  other.manifest.volatile_part = {"clang", "-O0", {"other"}, "elsewhere", "2030-01-01T00:00:00Z",
                                  9,       8};
  Json a = Json::parse(to_json(sample_report()));
  Json b = Json::parse(to_json(other));
  EXPECT_NE(a, b);
  a["manifest"].erase("volatile");
  b["manifest"].erase("volatile");
  EXPECT_EQ(a.dump(), b.dump());
}

TEST(ReportJson, UnknownKeysOfLaterVersionsArePassedOver) {
  EXPECT_EQ(error_after([](Json& json) {
              json["variants"][0]["residency"] = Json::object();
              json["new"] = 1;
            }),
            "");
}

TEST(ReportJson, ANewerSchemaIsRefused) {
  const std::string error = error_after([](Json& json) { json["schema_version"] = 2; });
  EXPECT_THAT(error, AllOf(HasSubstr("r.json: /schema_version"), HasSubstr("version 2"),
                           HasSubstr("newer idlesim")));
}

TEST(ReportJson, ErrorsNameFileAndPlace) {
  EXPECT_EQ(error_after([](Json& json) { json["variants"][1].erase("kernel"); }),
            "r.json: /variants/1: the key \"kernel\" is missing");
  EXPECT_EQ(error_after(
                [](Json& json) { json["variants"][0]["metrics"]["run_time_ns"]["mean"] = "fast"; }),
            "r.json: /variants/0/metrics/run_time_ns/mean: expected a number");
  EXPECT_EQ(error_after([](Json& json) {
              json["variants"][0]["metrics"]["run_time_ns"]["better"] = "bigger";
            }),
            "r.json: /variants/0/metrics/run_time_ns/better: expected lower or higher");
  EXPECT_EQ(
      error_after([](Json& json) { json["variants"][0]["metrics"]["run_time_ns"]["ci95"] = {1}; }),
      "r.json: /variants/0/metrics/run_time_ns/ci95: expected [low, high]");
  EXPECT_EQ(error_after([](Json& json) {
              json["variants"][0]["metrics"]["run_time_ns"]["histogram"]["edges"].push_back(1);
            }),
            "r.json: /variants/0/metrics/run_time_ns/histogram: a histogram has one edge more than "
            "counts");
  EXPECT_EQ(error_after([](Json& json) { json["variants"][0]["counters"]["ipis_sent"] = 1.5; }),
            "r.json: /variants/0/counters/ipis_sent: expected an integer");
  EXPECT_EQ(error_after([](Json& json) { json["manifest"]["seed"] = -1; }),
            "r.json: /manifest/seed: expected an integer that is not negative");
  EXPECT_EQ(error_after([](Json& json) { json["manifest"]["runs"] = 1e10; }),
            "r.json: /manifest/runs: expected an integer");
  EXPECT_EQ(error_after([](Json& json) { json["variants"] = 3; }),
            "r.json: /variants: expected an array");
  EXPECT_EQ(error_of("[]"), "r.json: /: expected an object");
}

TEST(ReportJson, GarbageIsAUserError) {
  EXPECT_EQ(error_of(""), "r.json:1:1: no valid JSON");
  EXPECT_EQ(error_of("{\n  \"a\": x}"), "r.json:2:8: no valid JSON");
  EXPECT_THAT(error_of("{\"schema_version\": 1e999}"), HasSubstr("r.json"));
  EXPECT_EQ(error_of(std::string(1'000'000, '[')), "r.json: nested too deeply");
  EXPECT_NE(error_of("{\"schema_version\": \"\xff\"}"), "");
  const std::string whole = to_json(sample_report());
  for (std::size_t length = 0; length + 2 < whole.size(); length += 97)
    EXPECT_NE(error_of(whole.substr(0, length)), "") << length;
}

TEST(ReportJson, ReadsFiles) {
  EXPECT_EQ(read_report(IDLESIM_SOURCE_DIR "/tests/report/golden/sample.json"), sample_report());
  EXPECT_THROW(read_report("/nonexistent/report.json"), UserError);
  EXPECT_THROW(read_report("/"), UserError);
}

TEST(ReportJson, AResolvedScenarioThatIsNoObjectIsOurBug) {
  Report report = sample_report();
  report.scenario.resolved = "[1]";
  EXPECT_THROW(to_json(report), SimulationError);
}

}  // namespace
}  // namespace idlesim::report

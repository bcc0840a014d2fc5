#include "idlesim/report/reproduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "idlesim/base/check.h"
#include "report/sample_reproduce.h"

namespace idlesim::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string golden(const std::string& name) {
  std::ifstream file(std::string(IDLESIM_SOURCE_DIR "/tests/report/golden/") + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Simulated simulated(double mean) { return {mean, mean, mean, IntervalOf::kRuns}; }

TEST(Reproduce, ErrorIsTheDistanceToTheRange) {
  EXPECT_EQ(error_percent(10, 10, 12), 0);
  EXPECT_EQ(error_percent(11, 10, 12), 0);
  EXPECT_EQ(error_percent(12, 10, 12), 0);
  EXPECT_EQ(error_percent(15, 10, 12), 25);  // 3 of 12
  EXPECT_EQ(error_percent(8, 10, 12), 20);   // 2 of 10
  EXPECT_EQ(error_percent(-8, -12, -10), 20);
  EXPECT_EQ(error_percent(0, 0, 0), 0);
  EXPECT_FALSE(error_percent(1, 0, 0).has_value());
}

TEST(Reproduce, PassesUpToAndIncludingTheTolerance) {
  const PublishedRow row = sample_row("P1.1", Role::kPredict, 10, 10, 5);
  EXPECT_EQ(judge(row, simulated(10.5)).pass, true);
  EXPECT_EQ(judge(row, simulated(9.5)).pass, true);
  EXPECT_EQ(judge(row, simulated(10.51)).pass, false);
  EXPECT_EQ(judge(row, simulated(9.49)).pass, false);
}

TEST(Reproduce, AnUndefinedErrorDoesNotPass) {
  const PublishedRow row = sample_row("P1.1", Role::kPredict, 0, 0, 0);
  EXPECT_EQ(judge(row, simulated(0)).pass, true);
  EXPECT_EQ(judge(row, simulated(1)).pass, false);
}

TEST(Reproduce, StatusAndVerdictOfEachRole) {
  const auto judged = [](Role role, std::optional<double> tolerance, bool fitted = false) {
    return judge(sample_row("P1.1", role, 10, 10, tolerance), simulated(10), fitted);
  };
  EXPECT_EQ(judged(Role::kBaseline, 5).status, Status::kBaseline);
  EXPECT_FALSE(judged(Role::kBaseline, 5).pass.has_value());
  EXPECT_EQ(judged(Role::kShow, 5).status, Status::kShown);
  EXPECT_FALSE(judged(Role::kShow, 5).pass.has_value());
  EXPECT_EQ(judged(Role::kPredict, 5).status, Status::kPredicted);
  EXPECT_EQ(judged(Role::kPredict, 5).pass, true);
  EXPECT_FALSE(judged(Role::kPredict, std::nullopt).pass.has_value());
  EXPECT_EQ(judged(Role::kFitOrPredict, 5).status, Status::kPredicted);
  EXPECT_EQ(judged(Role::kFitOrPredict, 5, true).status, Status::kFitted);
  EXPECT_EQ(judged(Role::kFitOrPredict, 5, true).pass, true);
}

TEST(Reproduce, ARowToPredictMustNotBeFitted) {
  EXPECT_THROW(judge(sample_row("P1.1", Role::kPredict, 1, 1, 5), simulated(1), true),
               SimulationError);
}

TEST(Reproduce, WithoutASimulationARowIsNotModelled) {
  const ReproduceResult result = judge(sample_row("P1.1", Role::kBaseline, 1, 1, 5), std::nullopt);
  EXPECT_EQ(result.status, Status::kNotModelled);
  EXPECT_FALSE(result.error_percent.has_value());
  EXPECT_FALSE(result.pass.has_value());
}

TEST(Reproduce, SummaryByHand) {
  const ReproduceSummary summary = summarize(sample_reproduce());
  EXPECT_EQ(summary.predicted, 5);  // pass, fail, free, could_fit, zero
  EXPECT_EQ(summary.judged, 4);
  EXPECT_EQ(summary.passed, 2);
  EXPECT_EQ(summary.inside_interval, 3);          // pass, free, could_fit
  EXPECT_EQ(summary.median_error_percent, 1.25);  // of 2.5, 10, 0, 0; zero has none
  EXPECT_EQ(summary.fitted_rows, 1);
  EXPECT_EQ(summary.not_modelled, 1);
  EXPECT_EQ(summary.fitted_parameters, 1);
  EXPECT_FALSE(summarize({}).median_error_percent.has_value());
}

TEST(Reproduce, GoldenJson) { EXPECT_EQ(to_json(sample_reproduce()), golden("reproduce.json")); }

TEST(Reproduce, JsonHasExactlyTheKeysOfTheFormat) {
  ReproduceReport report = sample_reproduce();
  report.notes.clear();
  const auto json = nlohmann::ordered_json::parse(to_json(report));
  const auto keys = [](const nlohmann::ordered_json& object) {
    std::string names;
    for (const auto& item : object.items()) names += item.key() + ' ';
    return names;
  };
  EXPECT_EQ(keys(json), "schema_version results fitted_parameters ");
  EXPECT_EQ(keys(json["results"][1]),
            "id group side machine quantity unit published simulated error_percent "
            "tolerance_percent pass status ");
  EXPECT_EQ(keys(json["results"][1]["published"]), "low high ");
  EXPECT_EQ(keys(json["results"][1]["simulated"]), "mean low high interval ");
  EXPECT_EQ(keys(json["fitted_parameters"][0]), "file pointer value range fitted_to ");
  EXPECT_TRUE(json["results"][8]["simulated"].is_null());
  EXPECT_TRUE(json["results"][8]["pass"].is_null());
  EXPECT_EQ(json["results"][8]["status"], "not_modelled");
  EXPECT_EQ(json["results"][1]["error_percent"], 2.5);
}

TEST(Reproduce, GoldenText) {
  const std::string text = to_text(sample_reproduce());
  EXPECT_EQ(text, golden("reproduce.txt"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Reproduce, ColourOnlyIfAsked) {
  EXPECT_THAT(to_text(sample_reproduce()), Not(HasSubstr("\033")));
  EXPECT_THAT(to_text(sample_reproduce(), true), HasSubstr("\033[31mFAIL\033[0m"));
}

TEST(Reproduce, TheRealTableFits) {
  ReproduceReport report;
  for (const PublishedRow& row :
       read_published_directory(IDLESIM_SOURCE_DIR "/sim-configs/published")) {
    const double middle = (row.low + row.high) / 2;
    report.results.push_back(judge(
        row, Simulated{middle * 1.01234, middle * 0.98, middle * 1.05, IntervalOf::kParameters}));
  }
  std::istringstream lines(to_text(report));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace idlesim::report

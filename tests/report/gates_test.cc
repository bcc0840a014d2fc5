#include "idlesim/report/gates.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "idlesim/base/check.h"

namespace idlesim::report {
namespace {

TEST(Gates, Patterns) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*c", "abbc"));
  EXPECT_TRUE(matches("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(matches("*.p9?", "call_ns.p99"));
  EXPECT_FALSE(matches("*.p9?", "call_ns.p9"));
  EXPECT_FALSE(matches("a", "ab"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("a*c", "abcd"));
}

std::string error_of(const std::string& text) {
  try {
    parse_gate(text, "--threshold");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Gates, OfTheCommandLine) {
  EXPECT_EQ(parse_gate("call_ns.p99=5%", ""), (Gate{"call_ns.p99", "*", 5.0, false}));
  EXPECT_EQ(parse_gate("call_ns=0.5%", ""), (Gate{"call_ns.mean", "*", 0.5, false}));
  EXPECT_EQ(parse_gate("*.p99.9=10%", ""), (Gate{"*.p99_9", "*", 10.0, false}));
  EXPECT_EQ(parse_gate("*.*=off", ""), (Gate{"*.*", "*", std::nullopt, true}));
  EXPECT_EQ(error_of("x"), "--threshold x: expected METRIC.STATISTIC=PERCENT%");
  EXPECT_EQ(error_of("=5%"), "--threshold =5%: expected METRIC.STATISTIC=PERCENT%");
  EXPECT_EQ(error_of("x=5"), "--threshold x=5: expected a percentage such as 5%, or off");
  EXPECT_EQ(error_of("x=-1%"), "--threshold x=-1%: expected a percentage from 0% to 1000%");
  EXPECT_EQ(error_of("x=a%"), "--threshold x=a%: expected a percentage from 0% to 1000%");
  EXPECT_EQ(error_of(".p99=1%"), "--threshold .p99=1%: the name of a metric is missing");
  EXPECT_EQ(error_of("x.men=1%"),
            "--threshold x.men=1%: there is no statistic \"men\"; did you mean \"mean\"? (mean, "
            "p50, p90, p99, p99_9, max)");
  EXPECT_EQ(error_of("x.q*=1%"), "--threshold x.q*=1%: no statistic matches \"q*\"");
}

TEST(Gates, TheFirstThatMatchesCounts) {
  Gates gates;
  gates.gates = {parse_gate("call_ns.p99=7%", ""),
                 parse_gate("*.p99=off", ""),
                 {"*.*", "notify*", 3.0, false}};
  EXPECT_EQ(gates.find("call_ns", Statistic::kP99, "a")->threshold_percent, 7);
  EXPECT_TRUE(gates.find("wake_ns", Statistic::kP99, "notify-2")->off);
  EXPECT_EQ(gates.find("wake_ns", Statistic::kMax, "notify-2")->threshold_percent, 3);
  EXPECT_EQ(gates.find("wake_ns", Statistic::kMax, "a"), nullptr);
  EXPECT_NE(default_gates().find("x", Statistic::kMean, "v"), nullptr);
  EXPECT_EQ(default_gates().find("x", Statistic::kP50, "v"), nullptr);
}

TEST(Gates, OnlyANameWithoutWildcardsHasToBeThere) {
  EXPECT_TRUE(parse_gate("x.p99=1%", "").is_literal());
  EXPECT_FALSE(parse_gate("x.p*=1%", "").is_literal());
  EXPECT_FALSE(parse_gate("x.p99=off", "").is_literal());
}

class GatesFile : public testing::Test {
 protected:
  GatesFile() {
    std::string name = (std::filesystem::temp_directory_path() / "idlesim-gates-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~GatesFile() override { std::filesystem::remove_all(directory_); }
  Gates read(const std::string& text) {
    std::ofstream(directory_ / "g.json") << text;
    return read_gates((directory_ / "g.json").string());
  }
  std::string error(const std::string& text) {
    try {
      read(text);
    } catch (const UserError& wrong) {
      std::string what = wrong.what();
      for (std::size_t at = 0; (at = what.find(directory_.string() + "/")) != std::string::npos;)
        what.erase(at, directory_.string().size() + 1);
      return what;
    }
    return "";
  }
  std::filesystem::path directory_;
};

TEST_F(GatesFile, IsRead) {
  const Gates gates = read(R"({
    "$schema": "x", "schema_version": 1, "alpha": 0.05, "x-note": "mine",
    "gates": [{"metric": "call_ns.p99", "threshold_percent": 7.5, "variant": "sm*"},
              {"metric": "*"}]})");
  EXPECT_EQ(gates.alpha, 0.05);
  EXPECT_EQ(gates.gates, (std::vector<Gate>{{"call_ns.p99", "sm*", 7.5, false},
                                            {"*.mean", "*", std::nullopt, false}}));
}

TEST_F(GatesFile, ErrorsAreListedTogether) {
  EXPECT_EQ(error(R"({"schema_version": 2, "alpha": 0,
"gates": [{"metric": "a.p98", "threshold_percent": -1, "treshold": 1}]})"),
            "g.json:1:20: /schema_version: must be from 1 to 1, found 2\n"
            "g.json:1:32: /alpha: expected a number above 0, at most 0.5\n"
            "g.json:2:22: /gates/0/metric: there is no statistic \"p98\"; did you mean \"p90\"? "
            "(mean, p50, p90, p99, p99_9, max)\n"
            "g.json:2:52: /gates/0/threshold_percent: expected a number from 0 to 1000\n"
            "g.json:2:56: /gates/0/treshold: unknown key");
}

TEST(Gates, DefaultThresholds) {
  EXPECT_EQ(default_threshold_percent(Statistic::kMean), 2);
  EXPECT_EQ(default_threshold_percent(Statistic::kP99), 2);
  EXPECT_EQ(default_threshold_percent(Statistic::kP99_9), 5);
  EXPECT_EQ(default_threshold_percent(Statistic::kMax), 5);
}

}  // namespace
}  // namespace idlesim::report

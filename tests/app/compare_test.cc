// `compare` and `run --gate`.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/app_test_util.h"
#include "idlesim/report/compare_formats.h"
#include "idlesim/report/json.h"
#include "report/compare_sample.h"

namespace idlesim::app {
namespace {

using nlohmann::json;
using report::metric_of;
using report::ramp;
using report::Report;
using report::report_of;
using report::variant_of;
using testing::HasSubstr;

class Compare : public AppTest {
 protected:
  std::string report(const std::string& name, const Report& report) {
    return write(name, report::to_json(report));
  }
  // Ten runs, `shift` percent slower than those of report(0), in the metric call_ns.
  std::string shifted(const std::string& name, double shift) {
    return report(name, report_of({variant_of("v", {metric_of("call_ns", ramp(10, shift))})}));
  }
  Result compare(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    Result result = call(arguments);
    result.err = without_directory(result.err);
    return result;
  }
};

TEST_F(Compare, TheExitCodeIsTheVerdict) {
  const std::string base = shifted("base.json", 0);
  EXPECT_EQ(compare({base, shifted("same.json", 0)}).code, 0);
  EXPECT_EQ(compare({base, shifted("worse.json", 5)}).code, 1);
  EXPECT_EQ(compare({base, shifted("better.json", -5)}).code, 0);
  EXPECT_EQ(compare({base, path("better.json"), "--fail-on", "change"}).code, 1);
  EXPECT_EQ(compare({base, path("worse.json"), "--fail-on", "never"}).code, 0);
  EXPECT_EQ(compare({base, path("worse.json"), "--threshold", "call_ns=10%"}).code, 0);
  EXPECT_EQ(compare({base, path("better.json"), "--threshold", "nothing.p99=1%"}).code, 4);
  EXPECT_EQ(compare({base}).code, 4);  // one variant: nothing to compare
}

TEST_F(Compare, BisectHasItsOwnExitCodes) {
  const std::string base = shifted("base.json", 0);
  EXPECT_EQ(compare({"--bisect", base, shifted("same.json", 0)}).code, 0);
  EXPECT_EQ(compare({"--bisect", base, shifted("worse.json", 5)}).code, 1);
  EXPECT_EQ(compare({"--bisect", path("none.json"), base}).code, 125);
  EXPECT_EQ(compare({"--bisect", base, path("none.json")}).code, 255);
  EXPECT_EQ(compare({"--bisect", "--nosuch", base, base}).code, 255);
}

TEST_F(Compare, ReportsOfNewerSchemasAreRefused) {
  json document = json::parse(read_text(shifted("base.json", 0)));
  document["schema_version"] = 2;
  const Result result = compare({path("base.json"), write("new.json", document.dump())});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "error: new.json: /schema_version: the report has schema version 2, this idlesim reads "
            "version 1; use a newer idlesim\n");
}

TEST_F(Compare, OtherModelVersionsAreInconclusive) {
  json document = json::parse(read_text(shifted("base.json", 0)));
  document["manifest"]["model_version"] = 7;
  const Result result =
      compare({path("base.json"), write("new.json", document.dump()), "-f", "json"});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.err, "INCONCLUSIVE: the model versions differ: 1 and 7\n");
  EXPECT_EQ(json::parse(result.out)["outcome"], "inconclusive");
}

TEST_F(Compare, AMissingBaseline) {
  const std::string now = shifted("new.json", 0);
  Result result = compare({path("none.json"), now});
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.err, "INCONCLUSIVE: there is no base none.json\n");
  result = compare({path("none.json"), now, "--missing-baseline", "warn"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "warning: there is no base none.json\n");
  result = compare({path("none.json"), now, "--missing-baseline=pass"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(compare({now, path("none.json")}).err, "error: none.json: cannot be read\n");
}

TEST_F(Compare, Errors) {
  const std::string base = shifted("base.json", 0);
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {base, base});
    const Result result = compare(more);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_EQ(error({"--threshold", "x=5"}),
            "error: --threshold x=5: expected a percentage such as 5%, or off\n");
  EXPECT_EQ(error({"--alpha", "1"}),
            "error: --alpha: expected a number above 0, at most 0.5, found \"1\"\n");
  EXPECT_EQ(error({"-f", "junti"}),
            "error: --format: unknown value \"junti\"; did you mean \"junit\"? (allowed: text, "
            "markdown, json, junit, ktap, lkp, csv, google-benchmark, openmetrics)\n");
  EXPECT_EQ(error({"--gate", path("g.json")}), "error: g.json:1:1: /: cannot be opened\n");
  EXPECT_EQ(error({"--gate", write("g.json", "{}")}),
            "error: g.json:1:1: /gates: missing key; expected an array\n"
            "error: g.json:1:1: /schema_version: missing key; expected an integer\n");
  EXPECT_EQ(compare({"-", "-"}).err, "error: only one of the reports can be standard input\n");
  EXPECT_EQ(compare({}).err,
            "error: an argument is missing; usage: idlesim compare BASE.json [NEW.json]\n");
}

TEST_F(Compare, GatesComeFromAFile) {
  const std::string base = report(
      "base.json",
      report_of({variant_of("v", {metric_of("a_ns", ramp(10)), metric_of("b_ns", ramp(10))})}));
  const std::string now = report(
      "new.json",
      report_of({variant_of("v", {metric_of("a_ns", ramp(10, 5)), metric_of("b_ns", ramp(10))})}));
  EXPECT_EQ(compare({base, now}).code, 1);
  const auto with = [&](const std::string& gates) {
    return compare({base, now, "-f", "json", "--gate",
                    write("g.json", R"({"schema_version": 1, "gates": [)" + gates + "]}")});
  };
  EXPECT_EQ(with(R"({"metric": "b_ns.p99"})").code, 0);
  EXPECT_EQ(with(R"({"metric": "a_ns.p99"})").code, 1);
  EXPECT_EQ(with(R"({"metric": "a_ns", "threshold_percent": 9})").code, 0);
  EXPECT_EQ(with(R"({"metric": "a_ns", "variant": "w"})").code, 4);
  const json judged = json::parse(with(R"({"metric": "*.max", "threshold_percent": 1})").out);
  EXPECT_EQ(judged["summary"]["judged"], 2);
}

// A report of the simulator itself, against itself and against a slower machine.
TEST_F(Compare, ReportsOfRun) {
  const std::string scenario = write("s.json", kSmall);
  const auto run = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", scenario, "-n", "10",
                                          "-f",  "json",   "-o", path(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(call(arguments).code, 0);
    return path(name);
  };
  const std::string base = run("base.json", {});
  const Result same = compare({base, run("same.json", {})});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("ok: 0 regressions"));
  const Result slower = compare({base, run("slow.json", {"--set", "machine.core.kernel_ipc=0.8"})});
  EXPECT_EQ(slower.code, 1) << slower.out;
  EXPECT_THAT(slower.out, HasSubstr("REGRESSION"));
  const Result other_seed = compare({base, run("seed.json", {"--seed", "5"})});
  EXPECT_EQ(other_seed.code, 0) << other_seed.out;
  EXPECT_THAT(other_seed.out, HasSubstr("Mann-Whitney"));
  const Result variants = compare({base});
  EXPECT_THAT(variants.out, HasSubstr("a -> b, 10 runs, paired"));
}

TEST_F(Compare, RunJudgesItsVariants) {
  const std::string gates =
      write("g.json", R"({"schema_version": 1, "gates": [{"metric": "call_round_trip_ns.p50"}]})");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", path("s.json"), "--gate", gates});
    return call(more);
  };
  write("s.json", kSmall);
  const Result judged = run({"-n", "10", "-f", "json", "--save-report", path("r.json")});
  EXPECT_TRUE(judged.code == 0 || judged.code == 1) << judged.err;
  const json verdict = json::parse(judged.out);
  EXPECT_EQ(verdict["summary"]["judged"], 1);
  EXPECT_EQ(verdict["base"]["name"], "small");
  EXPECT_EQ(verdict["variants"][0]["base"], "a");
  // The same as comparing the saved report with itself; only the name of the source differs.
  json saved = json::parse(compare({path("r.json"), "--gate", gates, "-f", "json"}).out);
  EXPECT_EQ(saved["variants"], verdict["variants"]);
  EXPECT_EQ(run({"-n", "2"}).code, 4);
  EXPECT_EQ(run({"--bisect", "-n", "2"}).code, 125);
}

TEST_F(Compare, WhatRunNeedsToJudge) {
  write("s.json", kSmall);
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", path("s.json")});
    const Result result = call(more);
    EXPECT_EQ(result.code, 2);
    return without_directory(result.err);
  };
  EXPECT_EQ(error({"--fail-on", "change"}), "error: --fail-on: needs --gate or --threshold\n");
  EXPECT_EQ(error({"--save-report", "x"}), "error: --save-report: needs --gate or --threshold\n");
  EXPECT_EQ(error({"--threshold", "a=1%", "--save-report", path("no/x")}),
            "error: --save-report: cannot write no/x: there is no directory no\n");
  EXPECT_EQ(error({"-f", "junit"}),
            "error: --format: unknown value \"junit\" (allowed: text, json)\n");
  const std::string one = replaced(kSmall, "{ \"name\": \"a\" },", "");
  write("s.json", one);
  EXPECT_EQ(error({"--threshold", "a=1%"}),
            "error: the scenario has one variant: there is nothing to judge ('idlesim compare' "
            "judges two reports)\n");
}

// A text as people see it. With UPDATE_GOLDEN=1 in the environment the file is written instead.
TEST_F(Compare, GoldenText) {
  const auto report_with = [](double shift) {
    report::Variant variant = variant_of(
        "v", {metric_of("call_round_trip_ns", ramp(12, shift)), metric_of("wake_ns", ramp(12)),
              metric_of("run_time_ns", {1e6, 1.1e6, 1.2e6}, 1)});
    variant.stages = {{"queue", 40, 50, 0.4}, {"wake", 60 + shift, 70, 0.6}};
    return report_of({variant, variant_of(shift > 0 ? "new-only" : "old-only", {})});
  };
  const report::Comparison comparison =
      report::compare_reports(report_with(0), "base.json", report_with(7), "new.json", {});
  const std::string text = report::to_text(comparison, report::summarize(comparison), false);
  const std::string golden = IDLESIM_SOURCE_DIR "/tests/golden/compare.txt";
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update != nullptr && *update == '1')
    std::ofstream(golden) << text;
  EXPECT_EQ(text, read_text(golden));
}

TEST_F(Compare, ColorFollowsTheRules) {
  const std::string base = shifted("base.json", 0);
  const std::string now = shifted("new.json", 5);
  EXPECT_EQ(compare({base, now}).out.find('\033'), std::string::npos);
  const Result colored = compare({base, now, "--color=always"});
  EXPECT_NE(colored.out.find('\033'), std::string::npos);
  // Words say the same.
  EXPECT_THAT(compare({base, now}).out, HasSubstr("REGRESSION"));
  EXPECT_EQ(compare({base, now, "--color=always", "-f", "csv"}).out.find('\033'),
            std::string::npos);
}

}  // namespace
}  // namespace idlesim::app

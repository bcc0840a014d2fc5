#include "idlesim/report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "report/sample_report.h"

namespace idlesim::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string file_text(const std::string& name) {
  std::ifstream file(std::string(IDLESIM_SOURCE_DIR "/tests/report/golden/") + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos) return line;
  return "";
}

void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(Text, Golden) {
  EXPECT_EQ(to_text(sample_report()), file_text("sample.txt"));
  expect_fits(to_text(sample_report()));
}

TEST(Text, ColourAddsCodesAndNothingElse) {
  const std::string plain = to_text(sample_report());
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  std::string coloured = to_text(sample_report(), true);
  EXPECT_THAT(coloured, HasSubstr("\033[32m"));
  for (std::size_t at; (at = coloured.find('\033')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) - at + 1);
  // Trailing spaces inside codes cannot be stripped before the codes are gone.
  EXPECT_EQ(coloured, plain);
}

TEST(Text, AChangeForTheWorseSaysSo) {
  Report report = sample_report();
  std::swap(report.variants[0], report.variants[1]);
  const std::string text = to_text(report);
  // 52.1667 ms against 24 ms: +117.4 %.
  EXPECT_THAT(text, HasSubstr("+117.4 % worse"));
}

TEST(Text, HigherIsBetterTurnsTheVerdict) {
  Report report = sample_report();
  report.variants[1].metrics = {report.variants[1].metrics[0]};
  report.variants[1].metrics[0].better = Better::kHigher;
  EXPECT_THAT(to_text(report), HasSubstr("-54.0 % worse"));
}

TEST(Text, OverlappingIntervalsAreMarked) {
  Report report = sample_report();
  report.variants[1] = report.variants[0];
  report.variants[1].name = "same";
  EXPECT_THAT(to_text(report), HasSubstr("0.0 % ~"));
  EXPECT_THAT(to_text(report), HasSubstr("~ the two 95 % intervals overlap"));
}

TEST(Text, WithoutIntervalsThereIsNoVerdict) {
  Report report = sample_report();
  for (Variant& variant : report.variants)
    for (Metric& metric : variant.metrics) {
      metric.ci95.reset();
      metric.stdev.reset();
    }
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("-54.0 % ?"));
  EXPECT_THAT(text, Not(HasSubstr("% better")));
  EXPECT_THAT(text, HasSubstr("fewer than two runs"));
}

TEST(Text, AnInterruptedReportSaysWhatIsFinished) {
  Report report = sample_report();
  report.incomplete = true;
  report.variants[1].runs = 1;
  EXPECT_THAT(to_text(report), HasSubstr("INCOMPLETE, finished: baseline 3, notify 1"));
}

TEST(Text, VolatileFactsStayOut) {
  Report report = sample_report();
  const std::string before = to_text(report);
  report.manifest.volatile_part = {"clang", "-O0", {"x"}, "elsewhere", "2030-01-01T00:00:00Z",
                                   9,       8};
  EXPECT_EQ(to_text(report), before);
}

TEST(Text, ManyVariantsAndLongNamesFit) {
  Report report = sample_report();
  for (int i = 0; i < 9; ++i) {
    report.variants.push_back(report.variants[1]);
    report.variants.back().name = "a_variant_with_a_long_name_" + std::to_string(i);
  }
  report.scenario.description =
      std::string(40, 'w') + ' ' + std::string(40, 'x') + ' ' + std::string(40, 'y');
  const std::string text = to_text(report);
  expect_fits(text);
  for (int i = 0; i < 9; ++i)
    EXPECT_THAT(text, HasSubstr("a_variant_with_a_long_name_" + std::to_string(i)));
}

TEST(Text, TimesHaveSensibleUnits) {
  Report report = sample_report();
  report.variants.resize(1);
  const auto shown = [&](double ns) {
    Metric& metric = report.variants[0].metrics[0];
    metric.mean = ns;
    const std::string text = to_text(report);
    const std::string header = line_with(text, "run_time_ns");
    return header.substr(header.find('['), header.find(']') - header.find('[') + 1);
  };
  EXPECT_EQ(shown(0.5), "[ns]");
  EXPECT_EQ(shown(9999), "[ns]");
  EXPECT_EQ(shown(10000), "[us]");
  EXPECT_EQ(shown(1e7), "[ms]");
  EXPECT_EQ(shown(1e10), "[s]");
}

TEST(Text, NoVariantsIsNoProblem) {
  Report report = sample_report();
  report.variants.clear();
  EXPECT_THAT(to_text(report), HasSubstr("ipistorm-example"));
}

}  // namespace
}  // namespace idlesim::report

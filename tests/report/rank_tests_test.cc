#include "idlesim/report/rank_tests.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "idlesim/report/resampling.h"

namespace idlesim::report {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

// What SciPy says; tests/report/scipy_fixtures.py writes it.
const json& scipy() {
  static const json kFixtures =
      json::parse(std::ifstream(IDLESIM_SOURCE_DIR "/tests/report/golden/scipy.json"));
  return kFixtures;
}

TEST(RankTests, MannWhitneyAsSciPy) {
  ASSERT_GE(scipy()["mann_whitney"].size(), 12u);
  for (const json& one : scipy()["mann_whitney"]) {
    const RankTest result = mann_whitney(one["first"].get<Values>(), one["second"].get<Values>());
    EXPECT_NEAR(result.p, one["p"].get<double>(), 1e-9) << one["first"].size();
    EXPECT_NEAR(result.effect, one["effect"].get<double>(), 1e-12);
  }
}

TEST(RankTests, SignedRankAsSciPy) {
  ASSERT_GE(scipy()["signed_rank"].size(), 12u);
  for (const json& one : scipy()["signed_rank"]) {
    const RankTest result = signed_rank(one["differences"].get<Values>());
    EXPECT_NEAR(result.p, one["p"].get<double>(), 1e-9) << one["differences"].size();
    EXPECT_NEAR(result.effect, one["effect"].get<double>(), 1e-12);
  }
}

TEST(RankTests, HolmAsReference) {
  for (const json& one : scipy()["holm"]) {
    const Values corrected = holm(one["p"].get<Values>());
    const Values expected = one["corrected"].get<Values>();
    ASSERT_EQ(corrected.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(corrected[i], expected[i], 1e-15);
  }
}

// 0.01 * 4; then max(previous, 0.02 * 3), 0.03 * 2, 0.04 * 1.
TEST(RankTests, HolmByHand) {
  const Values corrected = holm(Values{0.04, 0.01, 0.03, 0.02});
  const Values expected = {0.06, 0.04, 0.06, 0.06};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_DOUBLE_EQ(corrected[i], expected[i]);
  EXPECT_TRUE(holm(Values{}).empty());
}

// Ranks 1, 2, 3; only the sums 6 and 0 of the 8 sign choices are as far out as 6.
TEST(RankTests, SignedRankByHand) {
  EXPECT_DOUBLE_EQ(signed_rank(Values{1, 2, 3}).p, 2.0 / 8);
  EXPECT_DOUBLE_EQ(signed_rank(Values{-1, 2, 3}).p, 4.0 / 8);
  EXPECT_DOUBLE_EQ(signed_rank(Values{-1, 2, 3}).effect, (5.0 - 1.0) / 6);
  EXPECT_EQ(signed_rank(Values{0, 0}), RankTest());
  EXPECT_EQ(signed_rank(Values{}), RankTest());
}

// Of the 6 ways to choose two of four ranks, one has the sum 7, one 3.
TEST(RankTests, MannWhitneyByHand) {
  EXPECT_DOUBLE_EQ(mann_whitney(Values{1, 2}, Values{3, 4}).p, 2.0 / 6);
  EXPECT_DOUBLE_EQ(mann_whitney(Values{1, 2}, Values{3, 4}).effect, 1);
  EXPECT_DOUBLE_EQ(mann_whitney(Values{3, 4}, Values{1, 2}).effect, -1);
  EXPECT_DOUBLE_EQ(mann_whitney(Values{5, 5}, Values{5, 5}).p, 1);
  EXPECT_EQ(mann_whitney(Values{}, Values{1}), RankTest());
  // Beyond the exact test, equal values everywhere have no variance.
  EXPECT_EQ(mann_whitney(Values(30, 1.0), Values(30, 1.0)).p, 1);
}

TEST(RankTests, SmallestP) {
  EXPECT_DOUBLE_EQ(smallest_signed_rank_p(10), 2.0 / 1024);
  EXPECT_DOUBLE_EQ(smallest_signed_rank_p(0), 1);
  EXPECT_DOUBLE_EQ(smallest_mann_whitney_p(5, 5), 2.0 / 252);
  EXPECT_DOUBLE_EQ(smallest_mann_whitney_p(3, 0), 1);
  // They are what the tests give for sides that are apart.
  EXPECT_DOUBLE_EQ(signed_rank(Values{1, 2, 3, 4, 5, 6}).p, smallest_signed_rank_p(6));
  EXPECT_DOUBLE_EQ(mann_whitney(Values{1, 2, 3}, Values{4, 5, 6, 7, 8}).p,
                   smallest_mann_whitney_p(3, 5));
}

TEST(Resampling, MedianByHand) {
  EXPECT_EQ(median(Values{3, 1, 2}), 2);
  EXPECT_EQ(median(Values{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(Values{}), 0);
}

TEST(Resampling, MedianIntervalAsTheBinomialDistributionSays) {
  for (const json& one : scipy()["median_interval"]) {
    Values values;
    for (int i = 1; i <= one["n"]; ++i) values.push_back(i);
    const std::optional<Interval> interval = median_interval_95(values);
    const double k = one["k"];
    if (k == 0) {
      EXPECT_FALSE(interval.has_value()) << one;
    } else {
      ASSERT_TRUE(interval.has_value()) << one;
      EXPECT_EQ(*interval, (Interval{k, one["n"].get<double>() + 1 - k})) << one;
    }
  }
  // Beyond 1000 values, within one rank of it.
  Values many(2001);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i + 1);
  EXPECT_NEAR(median_interval_95(many)->low, 957, 1);  // 2 P(Bin(2001, 1/2) < 957) < 0.05
}

TEST(Resampling, BootstrapIntervalAsSciPy) {
  for (const json& one : scipy()["bootstrap"]) {
    const Values first = one["first"];
    const Values second = one["second"];
    const Draws draws(1, "test");
    const std::optional<ShiftInterval> result =
        one["paired"] ? paired_shift_interval_95(first, second, 50000, draws)
                      : independent_shift_interval_95(first, second, 50000, draws);
    ASSERT_TRUE(result.has_value());
    const double low = one["low"];
    const double high = one["high"];
    // The quantiles of a small sample's medians are lumpy: neighbours are a few percent apart.
    const double tolerance = 0.04 * (high - low);
    EXPECT_NEAR(result->difference.low, low, tolerance);
    EXPECT_NEAR(result->difference.high, high, tolerance);
  }
}

TEST(Resampling, ShiftsByHand) {
  const Values first = {100, 200, 400};
  const Values second = {110, 210, 380};  // +10 (10 %), +10 (5 %), -20 (-5 %)
  EXPECT_EQ(paired_shift(first, second), (Shift{10, 5.0}));
  EXPECT_EQ(independent_shift(first, second), (Shift{10, 5.0}));
  EXPECT_EQ(paired_shift(Values{0, 1}, Values{1, 1}).percent, std::nullopt);
  EXPECT_EQ(independent_shift(Values{0, 0, 1}, Values{1, 1, 1}), (Shift{1, std::nullopt}));
  EXPECT_FALSE(paired_shift_interval_95(Values{1}, Values{2}, 100, Draws(1, "x")).has_value());
  EXPECT_FALSE(
      independent_shift_interval_95(Values{1}, Values{2, 3}, 100, Draws(1, "x")).has_value());
}

TEST(Resampling, DrawsDependOnSeedAndName) {
  Draws a(1, "x");
  EXPECT_EQ(a.next(), Draws(1, "x").next());
  EXPECT_NE(Draws(1, "x").next(), Draws(2, "x").next());
  EXPECT_NE(Draws(1, "x").next(), Draws(1, "y").next());
  // The same on every host; computed by the definition in Python.
  EXPECT_EQ(Draws(1, "x").next(), 1012812930636786556u);
  std::vector<int> counts(3);
  for (int i = 0; i < 30000; ++i) ++counts[a.below(3)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);  // five standard deviations
}

}  // namespace
}  // namespace idlesim::report

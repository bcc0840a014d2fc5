#include "idlesim/report/statistics.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

namespace idlesim::report {
namespace {

TEST(Statistics, StudentTAgreesWithBoost) {
  for (int degrees = 1; degrees <= 2000; ++degrees) {
    const double exact = boost::math::quantile(boost::math::students_t(degrees), 0.975);
    EXPECT_NEAR(student_t_975(degrees), exact, 1e-7) << degrees;
  }
}

TEST(Statistics, MeanAndDeviationByHand) {
  const std::vector<double> values = {2, 4, 9};
  EXPECT_EQ(mean(values), 5);
  EXPECT_DOUBLE_EQ(stdev(values).value(), std::sqrt((9.0 + 1.0 + 16.0) / 2));
  EXPECT_EQ(mean({}), 0);
}

TEST(Statistics, IntervalByHand) {
  // Mean 10, deviation sqrt(2), t(1) = 12.7062: half width 12.7062 * sqrt(2) / sqrt(2).
  const std::vector<double> two = {9, 11};
  const Interval interval = mean_interval_95(two).value();
  EXPECT_NEAR(interval.low, 10 - 12.706204736175, 1e-9);
  EXPECT_NEAR(interval.high, 10 + 12.706204736175, 1e-9);
}

TEST(Statistics, OneValueHasNoInterval) {
  const std::vector<double> one = {3};
  EXPECT_FALSE(stdev(one).has_value());
  EXPECT_FALSE(mean_interval_95(one).has_value());
  EXPECT_FALSE(mean_interval_95({}).has_value());
}

TEST(Statistics, OverlapIncludesTheEnds) {
  EXPECT_TRUE(overlap({1, 2}, {2, 3}));
  EXPECT_TRUE(overlap({1, 5}, {2, 3}));
  EXPECT_TRUE(overlap({2, 3}, {1, 5}));
  EXPECT_FALSE(overlap({1, 2}, {2.1, 3}));
  EXPECT_FALSE(overlap({2.1, 3}, {1, 2}));
}

TEST(Statistics, RoundsToSixDecimals) {
  EXPECT_EQ(round_for_report(1.0000004), 1.0);
  EXPECT_EQ(round_for_report(1.0000005), 1.000001);
  EXPECT_EQ(round_for_report(-2.0000006), -2.000001);
  EXPECT_EQ(round_for_report(1.5e300), 1.5e300);
}

}  // namespace
}  // namespace idlesim::report

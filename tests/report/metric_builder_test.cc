#include "idlesim/report/metric_builder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace idlesim::report {
namespace {

Histogram of(std::initializer_list<std::int64_t> values) {
  Histogram histogram;
  for (std::int64_t value : values) histogram.record(value);
  return histogram;
}

TEST(MetricBuilder, PicosecondsBecomeNanosecondsExactly) {
  MetricBuilder builder(MetricSpec::time("call_ns"));
  builder.add_run(of({1'234'567}));
  const Metric metric = builder.build();
  EXPECT_EQ(metric.id, "call_ns");
  EXPECT_EQ(metric.unit, "ns");
  EXPECT_EQ(metric.n, 1);
  EXPECT_EQ(metric.mean, 1234.567);
  EXPECT_EQ(metric.min, 1234.567);
  EXPECT_EQ(metric.max, 1234.567);
  EXPECT_EQ(metric.p50, 1234.567);
  EXPECT_EQ(metric.p99_99, 1234.567);
}

TEST(MetricBuilder, PoolsSamplesButTakesTheIntervalFromRunMeans) {
  MetricBuilder builder({"polls", "count", Better::kHigher, 1});
  builder.add_run(of({1, 2, 3}));  // mean 2
  builder.add_run(of({10}));       // mean 10
  const Metric metric = builder.build();
  EXPECT_EQ(metric.better, Better::kHigher);
  EXPECT_EQ(metric.n, 4);
  EXPECT_EQ(metric.mean, 4);  // 16 / 4, not (2 + 10) / 2
  EXPECT_EQ(metric.p50, 2);
  EXPECT_EQ(metric.p90, 10);
  EXPECT_EQ(metric.stdev, 5.656854);  // sqrt(32), to six decimals
  // 6 +- 12.706204736175 * sqrt(32) / sqrt(2) = 6 +- 50.824819
  EXPECT_EQ(metric.ci95, (Interval{-44.824819, 56.824819}));
  ASSERT_EQ(metric.per_run.size(), 2u);
  EXPECT_EQ(metric.per_run[0], (RunSummary{3, 2, 2, 3, 3, 3, 3}));
  EXPECT_EQ(metric.per_run[1], (RunSummary{1, 10, 10, 10, 10, 10, 10}));
}

TEST(MetricBuilder, TheMeanIsRoundedOnceFromTheExactSum) {
  MetricBuilder builder(MetricSpec::time("t_ns"));
  builder.add_run(of({1, 1, 2}));  // 4/3 ps = 0.001333... ns
  EXPECT_EQ(builder.build().mean, 0.001333);
  MetricBuilder half({"n", "count", Better::kLower, 1});
  half.add_run(of({2, 3, 3}));  // 8/3 = 2.6666666...
  EXPECT_EQ(half.build().mean, 2.666667);
}

TEST(MetricBuilder, ARunWithoutSamplesKeepsItsPlace) {
  MetricBuilder builder(MetricSpec::time("t_ns"));
  builder.add_run(of({1000}));
  builder.add_run({});
  builder.add_run(of({3000}));
  const Metric metric = builder.build();
  ASSERT_EQ(metric.per_run.size(), 3u);
  EXPECT_EQ(metric.per_run[1].n, 0);
  EXPECT_EQ(metric.mean, 2);
  EXPECT_EQ(metric.stdev, 1.414214);  // of 1 and 3: the empty run is no run of mean 0
}

TEST(MetricBuilder, NoSamplesAtAll) {
  MetricBuilder builder(MetricSpec::time("t_ns"));
  builder.add_run({});
  const Metric metric = builder.build();
  EXPECT_EQ(metric.n, 0);
  EXPECT_FALSE(metric.stdev.has_value());
  EXPECT_TRUE(metric.histogram.edges.empty());
}

TEST(MetricBuilder, OneRunHasNoInterval) {
  MetricBuilder builder(MetricSpec::time("t_ns"));
  builder.add_run(of({1, 2, 3}));
  EXPECT_FALSE(builder.build().stdev.has_value());
  EXPECT_FALSE(builder.build().ci95.has_value());
}

TEST(MetricBuilder, OneSampleARunGivesExactQuantiles) {
  MetricBuilder builder(MetricSpec::time("run_time_ns"));
  for (std::int64_t ps : {53'000'000'001, 51'000'000'001, 52'000'000'001})
    builder.add_run(of({ps}));
  EXPECT_EQ(builder.build().p50, 52'000'000.001);
  // A fourth run with two samples: back to the middles of bins.
  builder.add_run(of({52'000'000'001, 52'000'000'003}));
  EXPECT_NE(builder.build().p50, 52'000'000.001);
  EXPECT_NEAR(builder.build().p50, 52'000'000.001, 52'000'000.0 / 2048);
}

TEST(MetricBuilder, HistogramJoinsEmptyBins) {
  MetricBuilder builder({"n", "count", Better::kLower, 1});
  builder.add_run(of({3, 4, 4, 7, 2048}));
  const HistogramBins bins = builder.build().histogram;
  EXPECT_EQ(bins.edges, (std::vector<double>{3, 4, 5, 7, 8, 2048, 2050}));
  EXPECT_EQ(bins.counts, (std::vector<std::int64_t>{1, 2, 0, 1, 0, 1}));
}

TEST(MetricBuilder, HistogramEdgesAreInTheUnit) {
  MetricBuilder builder(MetricSpec::time("t_ns"));
  builder.add_run(of({1500}));
  EXPECT_EQ(builder.build().histogram.edges, (std::vector<double>{1.5, 1.501}));
}

}  // namespace
}  // namespace idlesim::report

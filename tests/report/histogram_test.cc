#include "idlesim/report/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace idlesim::report {
namespace {

using Samples = std::vector<std::int64_t>;

// Samples over many orders of magnitude, half of them near 2^k where bins change their width.
Samples random_samples(std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  Samples samples;
  for (int i = 0; i < count; ++i) {
    const int bits = static_cast<int>(random() % 50);
    const std::int64_t power = std::int64_t{1} << bits;
    if (random() % 2 == 0)
      samples.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(power)));
    else
      samples.push_back(std::max<std::int64_t>(0, power - 2 + static_cast<int>(random() % 5)));
  }
  return samples;
}

Histogram of(const Samples& samples) {
  Histogram histogram;
  for (std::int64_t value : samples) histogram.record(value);
  return histogram;
}

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_TRUE(histogram.empty());
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_TRUE(histogram.bins().empty());
}

TEST(Histogram, ValuesBelow2048HaveABinEach) {
  Histogram histogram;
  for (std::int64_t value = 0; value < 2048; ++value) histogram.record(value, value + 1);
  const std::vector<Histogram::Bin> bins = histogram.bins();
  ASSERT_EQ(bins.size(), 2048u);
  for (std::int64_t value = 0; value < 2048; ++value)
    EXPECT_EQ(bins[static_cast<std::size_t>(value)], (Histogram::Bin{value, value, value + 1}));
}

TEST(Histogram, BinsAboveDoubleTheirWidthAtEveryPowerOfTwo) {
  const Samples samples = {2047, 2048, 2049, 2050, 4095, 4096, 4099, 4100};
  const std::vector<Histogram::Bin> expected = {{2047, 2047, 1}, {2048, 2049, 2}, {2050, 2051, 1},
                                                {4094, 4095, 1}, {4096, 4099, 2}, {4100, 4103, 1}};
  EXPECT_EQ(of(samples).bins(), expected);
}

TEST(Histogram, HoldsTheLargestValue) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  Histogram histogram;
  histogram.record(kMax, 3);
  EXPECT_EQ(histogram.max(), kMax);
  EXPECT_EQ(histogram.bins().size(), 1u);
  EXPECT_EQ(histogram.bins()[0].upper, kMax);
  EXPECT_TRUE(histogram.sum() == static_cast<Int128>(kMax) * 3);
}

TEST(Histogram, RefusesNegativeValues) {
  Histogram histogram;
  EXPECT_THROW(histogram.record(-1), SimulationError);
  EXPECT_THROW(histogram.record(1, 0), SimulationError);
}

TEST(Histogram, BinsTouchWithoutOverlapAndAreNarrow) {
  Histogram histogram;
  for (std::int64_t value = 0; value < 300'000; ++value) histogram.record(value);
  std::int64_t next = 0;
  for (const Histogram::Bin& bin : histogram.bins()) {
    ASSERT_EQ(bin.lower, next);
    const std::int64_t width = bin.upper - bin.lower + 1;
    ASSERT_LE((width - 1) * 1024, bin.lower);
    if (bin.upper < 300'000) {
      ASSERT_EQ(bin.count, width);
    }
    next = bin.upper + 1;
  }
}

TEST(Histogram, RankIsTheSmallestThatCoversTheShare) {
  EXPECT_EQ(Histogram::rank(0, 100), 1);
  EXPECT_EQ(Histogram::rank(0.07, 100), 7);  // 0.07 * 100 is 7.000000000000001 in doubles
  EXPECT_EQ(Histogram::rank(0.5, 3), 2);
  EXPECT_EQ(Histogram::rank(0.5, 4), 2);
  EXPECT_EQ(Histogram::rank(0.999, 1000), 999);
  EXPECT_EQ(Histogram::rank(0.9999, 1000), 1000);
  EXPECT_EQ(Histogram::rank(1, 100), 100);
}

TEST(Histogram, MomentsOfASmallSet) {
  const Histogram histogram = of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(histogram.count(), 8);
  EXPECT_EQ(histogram.mean(), 5);
  // Squares of the distances: 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; 32 / 7.
  EXPECT_DOUBLE_EQ(histogram.stdev(), std::sqrt(32.0 / 7.0));
}

TEST(HistogramProperty, QuantilesAreWithinTheErrorAndExtremesExact) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Samples samples = random_samples(seed, 1 + static_cast<int>(seed * 37 % 400));
    const Histogram histogram = of(samples);
    std::sort(samples.begin(), samples.end());
    const auto n = static_cast<std::int64_t>(samples.size());
    EXPECT_EQ(histogram.min(), samples.front());
    EXPECT_EQ(histogram.max(), samples.back());
    EXPECT_EQ(histogram.quantile(0), samples.front());
    EXPECT_EQ(histogram.quantile(1), samples.back());
    for (double q : {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999}) {
      const std::int64_t exact = samples[static_cast<std::size_t>(Histogram::rank(q, n) - 1)];
      EXPECT_LE(std::abs(static_cast<double>(histogram.quantile(q) - exact)),
                static_cast<double>(exact) * Histogram::kMaxRelativeError)
          << "seed " << seed << " q " << q;
    }
    Int128 sum = 0;
    for (std::int64_t value : samples) sum += value;
    EXPECT_TRUE(histogram.sum() == sum);
  }
}

TEST(HistogramProperty, TheErrorBoundIsTight) {
  // The middle of the bin 1024 * 2^s ... misses its first value by almost half of 1/1024.
  Histogram histogram;
  const std::int64_t first = std::int64_t{1} << 40;
  histogram.record(0);
  histogram.record(first, 5);
  histogram.record(first * 2);
  const auto error = static_cast<double>(histogram.quantile(0.5) - first);
  EXPECT_GT(error, static_cast<double>(first) * Histogram::kMaxRelativeError * 0.999);
}

TEST(HistogramProperty, MergeIsLosslessAssociativeAndCommutative) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Samples a = random_samples(seed * 3, 200);
    const Samples b = random_samples(seed * 3 + 1, 50);
    const Samples c = random_samples(seed * 3 + 2, static_cast<int>(seed % 3));
    Samples all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());

    Histogram left = of(a);
    left.merge(of(b));
    left.merge(of(c));
    Histogram bc = of(b);
    bc.merge(of(c));
    Histogram right = of(a);
    right.merge(bc);
    Histogram backwards = of(c);
    backwards.merge(of(b));
    backwards.merge(of(a));
    EXPECT_EQ(left, of(all));
    EXPECT_EQ(right, of(all));
    EXPECT_EQ(backwards, of(all));
  }
}

TEST(Histogram, EqualityNoticesASingleSample) {
  Histogram a = of({1, 5000, 9000});
  Histogram b = of({1, 5000, 9000});
  EXPECT_EQ(a, b);
  b.record(5000);
  EXPECT_FALSE(a == b);
  // The same bins, but another sum.
  EXPECT_FALSE(of({1, 5000, 9000}) == of({1, 5001, 9000}));
}

}  // namespace
}  // namespace idlesim::report

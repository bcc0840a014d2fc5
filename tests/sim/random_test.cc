#include "idlesim/sim/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace idlesim::sim {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, IsAFunctionOfItsNames) {
  Random a(1, 2, "noise", 3), b(1, 2, "noise", 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

TEST(Random, EveryNameMakesAnotherStream) {
  std::set<std::uint64_t> first;
  int streams = 0;
  for (std::uint64_t seed : {0, 1, 2})
    for (std::uint64_t run : {0, 1, 2})
      for (const char* name : {"", "a", "b", "ab"})
        for (std::uint64_t entity : {0, 1, 2}) {
          Random random(seed, run, name, entity);
          for (int i = 0; i < 8; ++i) first.insert(random.next());
          ++streams;
        }
  EXPECT_EQ(first.size(), static_cast<std::size_t>(streams * 8));
}

// Seen once and kept: a change of the numbers changes every report.
TEST(Random, ItsNumbersDoNotChange) {
  Random random(1, 2, "noise", 3);
  EXPECT_EQ(random.next(), 0xd3cb8865b112208b);
  EXPECT_EQ(random.next(), 0x255111da612366b);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(1, 0, "test", 0);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70'000; ++i) ++seen[random.below(7)];
  // 10,000 expected each; the standard deviation is 93.
  for (int count : seen) EXPECT_NEAR(count, 10'000, 500);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0u);
}

// Of 3 * 2^62 values every third would come twice as often without the rejection.
TEST(Random, BelowHasNoBiasForLargeRanges) {
  Random random(1, 0, "test", 1);
  const std::uint64_t n = std::uint64_t{3} << 62;
  std::array<int, 3> seen{};
  for (int i = 0; i < 30'000; ++i) ++seen[random.below(n) % 3];
  for (int count : seen) EXPECT_NEAR(count, 10'000, 500);
}

TEST(Random, UniformIntIncludesBothEnds) {
  Random random(1, 0, "test", 2);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.uniform_int(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(random.uniform_int(5, 5), 5);
  random.uniform_int(std::numeric_limits<std::int64_t>::min(),
                     std::numeric_limits<std::int64_t>::max());
}

TEST(Random, UniformTimeIncludesOnlyTheLowEnd) {
  Random random(1, 0, "test", 3);
  std::set<Time> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.uniform(Time::ps(3), Time::ps(6)));
  EXPECT_EQ(seen, (std::set<Time>{Time::ps(3), Time::ps(4), Time::ps(5)}));
}

TEST(Random, TriangularHasItsMean) {
  Random random(1, 0, "test", 4);
  std::int64_t sum = 0, low = 1000, high = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t x = random.triangular(100, 200, 600);
    sum += x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  // (100 + 200 + 600) / 3; the standard deviation of the mean is 0.34.
  EXPECT_NEAR(static_cast<double>(sum) / 100'000, 300, 2);
  EXPECT_GE(low, 100);
  EXPECT_LT(low, 110);
  EXPECT_LE(high, 600);
  EXPECT_GT(high, 580);
  EXPECT_EQ(random.triangular(7, 7, 7), 7);
  const std::int64_t edge = random.triangular(7, 7, 9);
  EXPECT_TRUE(edge >= 7 && edge <= 9);
}

TEST(Random, ExponentialHasItsMoments) {
  Random random(1, 0, "test", 5);
  const Time mean = Time::us(1);
  double sum = 0, squares = 0;
  int beyond = 0;
  const int n = 200'000;
  for (int i = 0; i < n; ++i) {
    const double x = random.exponential(mean).as_ns() / 1000;
    sum += x;
    squares += x * x;
    beyond += x > 3;
  }
  EXPECT_NEAR(sum / n, 1, 0.01);
  EXPECT_NEAR(squares / n, 2, 0.06);
  EXPECT_NEAR(static_cast<double>(beyond) / n, std::exp(-3.0), 0.002);
  EXPECT_EQ(random.exponential(Time()), Time());
}

TEST(MinusLn, AgreesWithTheMathsLibrary) {
  const auto check = [](std::uint64_t x) {
    const double u = (static_cast<double>(x) + 0.5) / 0x1p64;
    const double exact =
        x >> 63 ? -std::log1p(-(static_cast<double>(~x) + 0.5) / 0x1p64) : -std::log(u);
    const double ours = static_cast<double>(minus_ln_q57(x)) / 0x1p57;
    if (exact > 0x1p-24)
      EXPECT_NEAR(ours / exact, 1, 1e-9) << x;
    else
      EXPECT_NEAR(ours, exact, 0x1p-52) << x;
  };
  for (int bit = 0; bit < 64; ++bit)
    for (std::uint64_t offset : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1}}) {
      check((std::uint64_t{1} << bit) + offset);
      check(~(std::uint64_t{1} << bit) + offset);
    }
  check(0);
  Random random(1, 0, "test", 6);
  for (int i = 0; i < 10'000; ++i) check(random.next() >> random.below(40));
}

}  // namespace
}  // namespace idlesim::sim

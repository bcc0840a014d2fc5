#include "idlesim/config/decimal.h"

#include <gtest/gtest.h>

#include <limits>

namespace idlesim::config {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> scaled(std::string_view text, int digits) {
  const auto number = Decimal::parse(text);
  EXPECT_TRUE(number) << text;
  return number->to_scaled(digits);
}

TEST(Decimal, ScalesExactlyAndRoundsHalvesAwayFromZero) {
  EXPECT_EQ(scaled("1.333", 3), 1333);
  EXPECT_EQ(scaled("0.1", 3), 100);
  EXPECT_EQ(scaled("1.3335", 3), 1334);
  EXPECT_EQ(scaled("1.33349999", 3), 1333);
  EXPECT_EQ(scaled("-1.5", 0), -2);
  EXPECT_EQ(scaled("-1.4", 0), -1);
  EXPECT_EQ(scaled("2.5", 0), 3);
  EXPECT_EQ(scaled("1e-18", 18), 1);
  EXPECT_EQ(scaled("9e-400", 0), 0);
  EXPECT_EQ(scaled("9e-20", 0), 0);
  EXPECT_EQ(scaled("9223372036854775807e-19", 0), 1);
  EXPECT_EQ(scaled("9223372036854775807e-20", 0), 0);
  EXPECT_EQ(scaled("123456789", -3), 123457);
}

TEST(Decimal, OverflowIsNoNumber) {
  EXPECT_EQ(scaled("9223372036854775807", 0), kMax);
  EXPECT_EQ(scaled("922337203685477580.7", 1), kMax);
  EXPECT_EQ(scaled("9223372036854775807", 1), std::nullopt);
  EXPECT_EQ(scaled("-1e19", 0), std::nullopt);
  EXPECT_EQ(scaled("1e300", 0), std::nullopt);
  EXPECT_EQ(scaled("0e300", 3), 0);
}

TEST(Decimal, ParsesWhatJsonAllowsAndFits) {
  for (const char* text : {"",
                           "-",
                           "+1",
                           "01",
                           "-01",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "1e+-1",
                           "1e401",
                           "1e-401",
                           "1e99999999999",
                           "1 ",
                           " 1",
                           "0x1",
                           "NaN",
                           "1.5.2",
                           "9223372036854775808",
                           "12345678901234567891"})
    EXPECT_FALSE(Decimal::parse(text)) << text;
  for (const char* text : {"0", "-0", "1E5", "1e+5", "0.0", "1.0e-3", "9223372036854775807",
                           "100000000000000000000000"})
    EXPECT_TRUE(Decimal::parse(text)) << text;
}

TEST(Decimal, EqualNumbersHaveOneForm) {
  const auto text = [](const char* number) { return Decimal::parse(number)->text(); };
  EXPECT_EQ(text("1.50"), "1.5");
  EXPECT_EQ(text("15e-1"), "1.5");
  EXPECT_EQ(text("-0.0"), "0");
  EXPECT_EQ(text("-0.05"), "-0.05");
  EXPECT_EQ(text("12e3"), "12000");
  EXPECT_EQ(text("1e18"), "1000000000000000000");
  EXPECT_EQ(text("-1e30"), "-1e30");
  EXPECT_EQ(text("25e-19"), "25e-19");
  EXPECT_EQ(text("1e-18"), "0.000000000000000001");
  EXPECT_EQ(Decimal::parse("1.50"), Decimal(15, 1));
}

TEST(Decimal, ComparesAcrossScales) {
  const auto number = [](const char* text) { return *Decimal::parse(text); };
  EXPECT_LT(number("1.2"), number("1.21"));
  EXPECT_LT(number("-1.21"), number("-1.2"));
  EXPECT_LT(number("1e-300"), number("1e300"));
  EXPECT_LT(number("-1e300"), number("-1e-300"));
  EXPECT_LT(number("-1"), number("0"));
  EXPECT_LT(number("0"), number("1e-300"));
  EXPECT_LT(number("9223372036854775807"), number("1e19"));
  EXPECT_EQ(number("1.0") <=> number("1"), std::strong_ordering::equal);
}

TEST(Decimal, OnlyIntegersAreIntegers) {
  EXPECT_EQ(Decimal::parse("1e3")->to_integer(), 1000);
  EXPECT_EQ(Decimal::parse("1.0")->to_integer(), 1);
  EXPECT_EQ(Decimal::parse("1.5")->to_integer(), std::nullopt);
  EXPECT_EQ(Decimal::parse("1e19")->to_integer(), std::nullopt);
  EXPECT_EQ(Decimal::parse("2.45")->as_double(), 2.45);
}

}  // namespace
}  // namespace idlesim::config

#include "idlesim/config/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "idlesim/base/check.h"
#include "idlesim/config/nearest.h"

namespace idlesim::config {
namespace {

TEST(JsonWriter, LaysOutWithTwoSpaces) {
  JsonWriter out;
  out.begin_object()
      .member("n", 3)
      .member("yes", true)
      .key("list")
      .begin_array()
      .value(1)
      .begin_object()
      .end_object()
      .end_array();
  out.key("edges").begin_array(JsonWriter::Layout::kOneLine).value(1).value(2);
  out.begin_object().member("a", 1).member("b", "x").end_object().end_array();
  out.key("none").null().key("empty").begin_array().end_array().end_object();
  EXPECT_EQ(out.take(), R"({
  "n": 3,
  "yes": true,
  "list": [
    1,
    {}
  ],
  "edges": [1, 2, {"a": 1, "b": "x"}],
  "none": null,
  "empty": []
}
)");
}

std::string one(const auto& value) {
  JsonWriter out;
  std::string text = out.value(value).take();
  text.pop_back();
  return text;
}

TEST(JsonWriter, Numbers) {
  EXPECT_EQ(one(0.1), "0.1");
  EXPECT_EQ(one(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(one(5.0), "5");
  EXPECT_EQ(one(1e300), "1e+300");
  EXPECT_EQ(one(std::nan("")), "null");
  EXPECT_EQ(one(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(one(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(one(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(one(Decimal(1333, 3)), "1.333");
}

TEST(JsonWriter, Strings) {
  EXPECT_EQ(one("a\"b\\c\n\t\x01\x7f/"), "\"a\\\"b\\\\c\\n\\t\\u0001\x7f/\"");
  EXPECT_EQ(one("\xC3\xA9\xF0\x9F\x98\x80"), "\"\xC3\xA9\xF0\x9F\x98\x80\"");
  // Overlong, surrogate, above U+10FFFF, truncated, lone continuation: each byte is replaced.
  EXPECT_EQ(one("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(one("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(one("\xF4\x90"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(one("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(one(std::string_view("\x80\0", 2)), "\"\xEF\xBF\xBD\\u0000\"");
}

TEST(JsonWriter, MisuseIsOurBug) {
  EXPECT_THROW(JsonWriter().key("a"), SimulationError);
  EXPECT_THROW(JsonWriter().begin_object().value(1), SimulationError);
  EXPECT_THROW(JsonWriter().begin_object().end_array(), SimulationError);
  EXPECT_THROW(JsonWriter().begin_object().key("a").end_object(), SimulationError);
  EXPECT_THROW(JsonWriter().begin_array().take(), SimulationError);
  EXPECT_THROW(JsonWriter().take(), SimulationError);
  EXPECT_THROW(JsonWriter().value(1).value(2), SimulationError);
}

TEST(Nearest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ipc", "icp"), 1);
  EXPECT_EQ(edit_distance("latncy", "latency"), 1);
}

TEST(Nearest, OnlyWhatIsNear) {
  const std::vector<std::string> words = {"run", "list", "explain", "validate"};
  EXPECT_EQ(nearest("rnu", words), "run");
  EXPECT_EQ(nearest("explian", words), "explain");
  EXPECT_EQ(nearest("validtae", words), "validate");
  EXPECT_EQ(nearest("ran", words), "run");
  EXPECT_EQ(nearest("abc", words), "");
  EXPECT_EQ(nearest("reproduce", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("x", std::vector<std::string>{"y"}), "");
  EXPECT_EQ(nearest("xz", std::vector<std::string>{"xy"}), "xy");
  EXPECT_EQ(nearest(std::string(100, 'x'), std::vector<std::string>{std::string(100, 'x')}), "");
}

}  // namespace
}  // namespace idlesim::config

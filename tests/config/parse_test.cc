// What is refused as a file, with the place of the error.
#include <gtest/gtest.h>

#include "config/config_test_util.h"

namespace idlesim::config {
namespace {

std::string parse_error(std::string_view text) {
  return error_of([&] { parse_text(text, "f.json"); });
}

TEST(Parse, SyntaxErrorsHaveLineColumnAndPointer) {
  const std::string error = parse_error("{\n  \"core\": {\n    \"ipc\": tru }\n}");
  EXPECT_TRUE(error.starts_with("f.json:3:15: /core: not valid JSON: ")) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_EQ(error.find("json.exception"), std::string::npos) << error;
}

TEST(Parse, TruncatedFileIsAnErrorAtItsEnd) {
  const std::string error = parse_error("{\"a\": [1,\n  2");
  EXPECT_TRUE(error.starts_with("f.json:2:4: /a: not valid JSON: ")) << error;
  EXPECT_TRUE(parse_error("").starts_with("f.json:1:1: /: not valid JSON: "));
  EXPECT_NE(parse_error("{"), "");
  EXPECT_NE(parse_error("\"abc"), "");
}

TEST(Parse, EveryPrefixOfADocumentIsRefused) {
  const std::string text = R"({"a": [1.5, true, null, {"b": "\u00e9\n"}], "c": -2e3})";
  ASSERT_EQ(parse_error(text), "");
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(parse_error(text.substr(0, length)), "") << text.substr(0, length);
}

TEST(Parse, ThingsThatAreNotStrictJson) {
  for (const char* text :
       {"{\"a\": 1,}", "[1,]", "{'a': 1}", "{a: 1}", "// c\n{}", "{} {}", "[01]", "[+1]", "[.5]",
        "[1.]", "[NaN]", "[Infinity]", "[-]", "[\"\t\"]", "[\"\\x\"]", "[\"\\ud800\"]", "nan"})
    EXPECT_NE(parse_error(text), "") << text;
}

TEST(Parse, InvalidUtf8IsRefusedAndItsMessageIsPrintable) {
  const std::string error = parse_error("{\n\"a\": \"x\xC3(\"}");
  EXPECT_TRUE(error.starts_with("f.json:2:")) << error;
  EXPECT_EQ(error.find('\xC3'), std::string::npos);
}

TEST(Parse, NumbersThatCannotBeKeptExactlyAreErrors) {
  const std::string error =
      errors("{\"a\": 12345678901234567891,\n \"b\": 1e401, \"c\": 0.1}", [](Reader in) {
        in.decimal("a");
        in.decimal("b");
        EXPECT_EQ(in.decimal("c"), Decimal(1, 1));
      });
  EXPECT_NE(error.find("f.json:"), std::string::npos);
  EXPECT_NE(parse_error("[1e400]"), "");
  EXPECT_EQ(errors("{\"a\": 12345678901234567891}", [](Reader in) { in.decimal("a"); }),
            "f.json:1:7: /a: the number 12345678901234567891 has more digits or a larger exponent "
            "than can be kept exactly");
}

TEST(Parse, DuplicateKeysAreErrorsBesideTheOthersAndTheFirstCounts) {
  EXPECT_EQ(errors("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": {\"d\": [2]}},\n \"a\": 2}",
                   [](Reader in) { EXPECT_EQ(in.integer("a", 0, 9), 1); }),
            "f.json:2:2: /b: unknown key\n"
            "f.json:2:16: /b/c: duplicate key; it stands in line 2 already\n"
            "f.json:3:2: /a: duplicate key; it stands in line 1 already");
}

TEST(Parse, ColumnsCountCharacters) {
  EXPECT_EQ(errors("{\"\xC3\xA9\": \"\xE2\x82\xAC\", \"n\": \"x\"}",
                   [](Reader in) {
                     in.string("\xC3\xA9");
                     in.boolean("n");
                   }),
            "f.json:1:17: /n: expected true or false, found \"x\"");
}

TEST(Parse, EscapesInStringsDoNotShiftPositions) {
  EXPECT_EQ(errors(R"({"a\"b": "\\\"{,\u00e9", "n": "x"})",
                   [](Reader in) {
                     EXPECT_EQ(in.string("a\"b"), "\\\"{,\xC3\xA9");
                     in.boolean("n");
                   }),
            "f.json:1:31: /n: expected true or false, found \"x\"");
}

TEST(Parse, AByteOrderMarkDoesNotShiftPositions) {
  EXPECT_EQ(errors("\xEF\xBB\xBF{\"n\": 1}", [](Reader in) { in.string("n"); }),
            "f.json:1:7: /n: expected a string, found a number");
}

TEST(Parse, NestingIsLimitedTo64Levels) {
  EXPECT_EQ(parse_error(std::string(64, '[') + std::string(64, ']')), "");
  const std::string error = parse_error(std::string(65, '[') + std::string(65, ']'));
  EXPECT_NE(error.find("f.json:1:65: "), std::string::npos) << error;
  EXPECT_NE(error.find("more than 64 levels of nesting"), std::string::npos);
  EXPECT_NE(parse_error(std::string(4'000'000, '[')), "");
}

TEST(Parse, NumberOfValuesIsLimited) {
  std::string text = "[0";
  for (int i = 0; i < 99'998; ++i) text += ",0";
  EXPECT_EQ(parse_error(text + "]"), "");
  EXPECT_EQ(parse_error(text + ",0]"), "f.json:1:200000: /: more than 100000 values in one file");
}

TEST(Parse, FilesThatCannotBeRead) {
  const TestFiles files("unreadable");
  EXPECT_EQ(files.without_directory(error_of([&] { parse_file(files.directory() + "/none"); })),
            "none:1:1: /: cannot be opened");
  EXPECT_NE(error_of([&] { parse_file(files.directory()); }).find("is a directory"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { parse_file("/dev/zero"); }),
            "/dev/zero:1:1: /: too large: more than 8 MiB");
}

TEST(Parse, TenMegabytesOfGarbageAreRefused) {
  std::string garbage;
  std::uint32_t random = 1;
  while (garbage.size() < 10'000'000) {
    random = random * 1664525 + 1013904223;
    garbage += static_cast<char>(random >> 24);
  }
  const TestFiles files("garbage");
  EXPECT_EQ(files.without_directory(error_of([&] { parse_file(files.write("g", garbage)); })),
            "g:1:1: /: too large: more than 8 MiB");
  const std::string error = parse_error(garbage.substr(0, 8'000'000));
  EXPECT_TRUE(error.starts_with("f.json:1:1: /: not valid JSON: ")) << error.substr(0, 200);
  EXPECT_LT(error.size(), 400u);
  EXPECT_LT(parse_error("\"" + std::string(8'000'000, 'x')).size(), 400u);
  EXPECT_LT(parse_error("[1." + std::string(8'000'000, '0') + "1]").size(), 400u);
}

TEST(Parse, ManyErrorsAreCountedNotPrinted) {
  std::string text = "{\"k0\": 0";
  for (int i = 1; i < 250; ++i) text += ",\n\"k" + std::to_string(i) + "\": 0";
  const std::string error = errors(text + "}", [](Reader in) { in.has("other"); });
  EXPECT_TRUE(error.starts_with("f.json:1:2: /k0: unknown key\nf.json:2:1: /k1: unknown key\n"));
  EXPECT_TRUE(error.ends_with("f.json:200:1: /k199: unknown key\n... and 50 more errors"));
}

}  // namespace
}  // namespace idlesim::config

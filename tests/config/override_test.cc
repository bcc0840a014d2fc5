// Document::override_value and the resolved document.
#include <gtest/gtest.h>

#include <array>

#include "config/config_test_util.h"
#include "idlesim/config/digest.h"

namespace idlesim::config {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kText = R"({
  "x-note": "not part of the result", "$schema": "s",
  "name": "m", "smt": true, "a.b": 1, "states": [{"exit_ns": 1}, {"exit_ns": 20}],
  "core": {"ipc": {"value": 1.20, "source": "s", "origin": "assumed", "range": [1, 2.0e0]}}
})";

void read(Reader in) {
  in.string("name");
  in.boolean("smt");
  in.integer("a.b", 0, 9);
  for (Reader state : in.array("states")) state.time("exit_ns");
  in.object("core").parameter_milli("ipc");
}

TEST(Override, ReplacesPlainValuesAndParameters) {
  Document doc = parse_text(kText, "m.json");
  doc.override_value("core.ipc", "1.5");
  doc.override_value("/states/1/exit_ns", "2.5");
  doc.override_value("/a.b", "7");
  doc.override_value("name", "bare text");
  doc.override_value("smt", "false");
  Reader in = doc.root();
  EXPECT_EQ(in.object("core").parameter_milli("ipc"), 1500);
  EXPECT_EQ(in.array("states")[1].time("exit_ns"), Time::ps(2500));
  EXPECT_EQ(in.integer("a.b", 0, 9), 7);
  EXPECT_EQ(in.string("name"), "bare text");
  EXPECT_FALSE(in.boolean("smt"));
  read(in);
  doc.finish();
  ASSERT_EQ(doc.parameters().size(), 1u);
  EXPECT_TRUE(doc.parameters()[0].overridden);
  EXPECT_EQ(doc.parameters()[0].value.text(), "1.5");
  EXPECT_EQ(doc.parameters()[0].file, "m.json");
}

TEST(Override, AStringMayBeQuoted) {
  Document doc = parse_text(kText, "m.json");
  doc.override_value("name", "\"a\\tb\"");
  EXPECT_EQ(doc.root().string("name"), "a\tb");
  doc.override_value("name", "12");
  EXPECT_EQ(doc.root().string("name"), "12");
}

TEST(Override, AValueOutsideItsRangeIsTheUsersWish) {
  Document doc = parse_text(kText, "m.json");
  doc.override_value("/core/ipc/value", "7");
  EXPECT_EQ(doc.root().object("core").parameter_milli("ipc"), 7000);
  read(doc.root());
  doc.finish();
}

TEST(Override, ErrorsNameTheOptionAndAreReportedWithTheOthers) {
  Document doc = parse_text(kText, "m.json");
  doc.override_value("core.icp", "1.5");
  doc.override_value("/states/2/exit_ns", "1");
  doc.override_value("states.x", "1");
  doc.override_value("core.ipc", "abc");
  doc.override_value("core.ipc", "1 2");
  doc.override_value("smt", "1");
  doc.override_value("name.first", "1", Document::Missing::kError, "--set name.first=1");
  doc.override_value("", "1");
  doc.override_value("states.0.exit_ns", "-3");
  const std::string text = error_of([&] {
    doc.root().string("nam");
    read(doc.root());
    doc.finish();
  });
  EXPECT_EQ(text,
            "m.json:1:1: /nam: missing key; expected a string\n"
            "--set: /: no such value\n"
            "--set: /core/icp: no such value; did you mean \"ipc\"?\n"
            "--set: /core/ipc/value: expected a number, found \"1 2\"\n"
            "--set: /core/ipc/value: expected a number, found \"abc\"\n"
            "--set: /smt: expected a boolean, found 1\n"
            "--set: /states/0/exit_ns: must be a time from 0 to 1000000 s, found -3\n"
            "--set: /states/2: no such value; the array has 2 elements\n"
            "--set: /states/x: no such value; the array has 2 elements\n"
            "--set name.first=1: /name/first: no such value");
}

TEST(Override, CanMakeAnOptionalKey) {
  Document doc = parse_text(R"({"kernel": {}})", "m.json");
  doc.override_value("kernel.schedule_idle", "sm_idle", Document::Missing::kCreate);
  doc.override_value("kernel.polings", "none", Document::Missing::kCreate);
  doc.override_value("kernal.x", "1", Document::Missing::kCreate);
  Reader kernel = doc.root().object("kernel");
  EXPECT_EQ(kernel.enumeration_or("schedule_idle", std::array{"full"sv, "sm_idle"sv}, "full"),
            "sm_idle");
  kernel.string_or("polling", "");
  EXPECT_EQ(error_of([&] { doc.finish(); }),
            "--set: /kernal: no such value; did you mean \"kernel\"?\n"
            "--set: /kernel/polings: unknown key; did you mean \"polling\"?");
}

TEST(Resolved, IsCanonicalTextAndReadsBack) {
  Document doc = parse_text(kText, "m.json");
  const std::string expected = R"({
  "name": "m",
  "smt": true,
  "a.b": 1,
  "states": [
    {
      "exit_ns": 1
    },
    {
      "exit_ns": 20
    }
  ],
  "core": {
    "ipc": {
      "value": 1.2,
      "source": "s",
      "origin": "assumed",
      "range": [1, 2]
    }
  }
}
)";
  EXPECT_EQ(doc.resolved_json(), expected);
  EXPECT_EQ(parse_text(expected, "r.json").resolved_json(), expected);
  EXPECT_EQ(doc.digest(), sha256_hex(expected));
  doc.override_value("core.ipc", "1.3");
  EXPECT_NE(doc.digest(), sha256_hex(expected));
  doc.override_value("core.ipc", "12e-1");
  EXPECT_EQ(doc.digest(), sha256_hex(expected));
}

// FIPS 180-2, appendix B.1.
TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace idlesim::config

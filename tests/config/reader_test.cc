// Golden error texts, and values read exactly.
#include "idlesim/config/reader.h"

#include <gtest/gtest.h>

#include <array>

#include "config/config_test_util.h"

namespace idlesim::config {
namespace {

using namespace std::string_view_literals;
constexpr std::array kWakeQueues = {"rqlist"sv, "csq_always_ipi"sv, "csq"sv, "csq_notify"sv};

TEST(Reader, ReadsEveryType) {
  Document doc = parse_text(R"({
    "name": "milan", "smt": true, "sockets": 2, "legs": [1, 2, 3], "tags": ["a", "b"],
    "core": {"wake_queue": "csq"}, "map": {"x": 1, "x-note": 2, "y": 2}, "freq_mhz": 2450,
    "x-comment": {"anything": [1]}, "$schema": "machine.schema.json"})",
                            "f.json");
  Reader in = doc.root();
  EXPECT_EQ(in.string("name"), "milan");
  EXPECT_EQ(in.string_or("vendor", "amd"), "amd");
  EXPECT_TRUE(in.boolean("smt"));
  EXPECT_TRUE(in.boolean_or("hlt", true));
  EXPECT_EQ(in.integer("sockets", 1, 8), 2);
  EXPECT_EQ(in.integer_or("nodes", 1, 8, 4), 4);
  EXPECT_EQ(in.integers("legs", 0, 9), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(in.strings("tags"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(in.object("core").enumeration("wake_queue", kWakeQueues), "csq");
  EXPECT_EQ(in.object("core").enumeration_or("none", kWakeQueues, "rqlist"), "rqlist");
  EXPECT_FALSE(in.optional_object("virt").has_value());
  EXPECT_TRUE(in.optional_array("list").empty());
  EXPECT_EQ(in.frequency("freq_mhz"), Frequency::mhz(2450));
  std::string keys;
  for (auto& [key, value] : in.object("map").members())
    keys += key + std::to_string(value.as_integer(0, 9)) + " ";
  EXPECT_EQ(keys, "x1 y2 ");
  EXPECT_FALSE(in.has("missing"));
  EXPECT_TRUE(in.has("name"));
  doc.finish();
}

TEST(Reader, AllErrorsAtOnceInTheOrderOfTheFile) {
  const char* text = R"({
  "name": 7,
  "exit_latncy_ns": 1,
  "sockets": 9,
  "wake_queue": "csq_notfy",
  "polling": "maybe",
  "core": [],
  "depth": 1.5,
  "states": [ {"enter": "hlt"}, {"entr": "hlt"} ]
})";
  const auto read = [](Reader in) {
    EXPECT_EQ(in.string("name"), "");
    EXPECT_EQ(in.time("exit_latency_ns"), Time());
    EXPECT_EQ(in.integer("sockets", 1, 8), 1);
    EXPECT_EQ(in.enumeration("wake_queue", kWakeQueues), "rqlist");
    in.enumeration("polling", std::array{"none"sv, "tif_polling"sv});
    Reader core = in.object("core");
    EXPECT_FALSE(core.exists());
    EXPECT_EQ(core.object("l1").integer("size", 4, 8), 4);  // silent: reported once, above
    EXPECT_TRUE(core.members().empty());
    core.fail("nothing");
    EXPECT_EQ(in.integer("depth", -3, -1), -1);
    for (Reader state : in.array("states")) state.string("enter");
    in.fail("sockets", "sockets do not fit");
    in.fail("nodes", "nodes are missing");
  };
  EXPECT_EQ(errors(text, read),
            "f.json:1:1: /exit_latency_ns: missing key; expected a number\n"
            "f.json:1:1: /nodes: nodes are missing\n"
            "f.json:2:11: /name: expected a string, found a number\n"
            "f.json:3:3: /exit_latncy_ns: unknown key; did you mean \"exit_latency_ns\"?\n"
            "f.json:4:14: /sockets: must be from 1 to 8, found 9\n"
            "f.json:4:14: /sockets: sockets do not fit\n"
            "f.json:5:17: /wake_queue: unknown value \"csq_notfy\"; did you mean \"csq_notify\"? "
            "(allowed: \"rqlist\", \"csq_always_ipi\", \"csq\", \"csq_notify\")\n"
            "f.json:6:14: /polling: unknown value \"maybe\"; allowed: \"none\", \"tif_polling\"\n"
            "f.json:7:11: /core: expected an object, found an array\n"
            "f.json:8:12: /depth: expected an integer, found 1.5\n"
            "f.json:9:33: /states/1/enter: missing key; expected a string\n"
            "f.json:9:34: /states/1/entr: unknown key; did you mean \"enter\"?");
}

TEST(Reader, UnreadKeysAtEveryDepthButNotInsideWhatWasNotRead) {
  const char* text =
      R"({"a": {"b": {"c": 1, "d": 2}}, "e": {"f": {"g": 1}}, "h": [{"i": 1}, {"j": 2}]})";
  EXPECT_EQ(errors(text,
                   [](Reader in) {
                     in.object("a").object("b").integer("c", 0, 1);
                     for (Reader element : in.array("h")) element.has("i");
                   }),
            "f.json:1:22: /a/b/d: unknown key\n"
            "f.json:1:32: /e: unknown key\n"
            "f.json:1:61: /h/0/i: this key has no effect here\n"
            "f.json:1:71: /h/1/j: unknown key");
  // Not even the root was asked for anything: all of it is unknown.
  EXPECT_EQ(errors(R"({"a": {"b": 1}})", [](Reader) {}), "f.json:1:2: /a: unknown key");
  EXPECT_EQ(errors(R"({"a": {"b": 1}})", [](Reader in) { in.ignore("a"); }), "");
  // Of the wrong type as a whole: nothing is said about its inside.
  EXPECT_EQ(errors(R"({"a": {"b": 1}})", [](Reader in) { in.string("a"); }),
            "f.json:1:7: /a: expected a string, found an object");
}

TEST(Reader, PointersEscapeAndMessagesStayOnOneLine) {
  EXPECT_EQ(errors("{\"a/b~c\": {\"x\\ny\": 1}}", [](Reader in) { in.object("a/b~c"); }),
            "f.json:1:12: /a~1b~0c/x\\x0ay: unknown key");
}

TEST(Reader, RootOfTheWrongType) {
  EXPECT_EQ(errors("[1]",
                   [](Reader in) {
                     in.string("name");
                     in.string("other");
                   }),
            "f.json:1:1: /: expected an object, found an array");
}

TEST(Reader, TimesAreExact) {
  Document doc = parse_text(
      R"({"a_ns": 1.333, "b_us": 2.5e-3, "c_ms": 1e1, "d_s": 0.000000000001, "e_ps": 7,
          "round_ps": 0.5, "down_ps": 0.4999999, "latency_ns": {"l1_hit": 1.6, "x_us": 3},
          "list_ns": [0.1, 0.2]})",
      "f.json");
  Reader in = doc.root();
  EXPECT_EQ(in.time("a_ns"), Time::ps(1333));
  EXPECT_EQ(in.time("b_us"), Time::ps(2500));
  EXPECT_EQ(in.time("c_ms"), Time::ms(10));
  EXPECT_EQ(in.time("d_s"), Time::ps(1));
  EXPECT_EQ(in.time("e_ps"), Time::ps(7));
  EXPECT_EQ(in.time("round_ps"), Time::ps(1));
  EXPECT_EQ(in.time("down_ps"), Time::ps(0));
  EXPECT_EQ(in.time_or("none_ns", Time::ns(5)), Time::ns(5));
  Reader latency = in.object("latency_ns");
  EXPECT_EQ(latency.time("l1_hit"), Time::ps(1600));
  EXPECT_EQ(latency.time("x_us"), Time::us(3));
  EXPECT_EQ(in.array("list_ns")[1].as_time(), Time::ps(200));
  doc.finish();
}

TEST(Reader, TimesAndFrequenciesHaveBoundsAndUnits) {
  EXPECT_EQ(errors(R"({"a_ns": -1, "b_s": 1000001, "c_s": 1e300, "d": 1, "e_ghz": 0,
"f_mhz": 1e7, "g": 1, "h_s": 1000000})",
                   [](Reader in) {
                     EXPECT_EQ(in.time("a_ns"), Time());
                     in.time("b_s");
                     in.time("c_s");
                     in.time("d");
                     EXPECT_EQ(in.frequency("e_ghz"), Frequency::khz(1));
                     in.frequency("f_mhz");
                     in.frequency("g");
                     EXPECT_EQ(in.time("h_s"), Time::seconds(1'000'000));
                   }),
            "f.json:1:10: /a_ns: must be a time from 0 to 1000000 s, found -1\n"
            "f.json:1:21: /b_s: must be a time from 0 to 1000000 s, found 1000001\n"
            "f.json:1:37: /c_s: must be a time from 0 to 1000000 s, found 1e300\n"
            "f.json:1:49: /d: neither the key nor one around it says the unit of time (_ps, _ns, "
            "_us, _ms, _s)\n"
            "f.json:1:61: /e_ghz: must be a frequency from 1 kHz to 1 THz, found 0\n"
            "f.json:2:10: /f_mhz: must be a frequency from 1 kHz to 1 THz, found 10000000\n"
            "f.json:2:20: /g: neither the key nor one around it says the unit of frequency (_hz, "
            "_khz, _mhz, _ghz)");
}

TEST(Reader, FrequenciesAreExact) {
  Document doc =
      parse_text(R"({"a_ghz": 2.45, "b_mhz": 121.875, "c_hz": 19200000, "d_khz": 32})", "f.json");
  Reader in = doc.root();
  EXPECT_EQ(in.frequency("a_ghz").count_khz(), 2'450'000);
  EXPECT_EQ(in.frequency("b_mhz").count_khz(), 121'875);
  EXPECT_EQ(in.frequency("c_hz").count_khz(), 19'200);
  EXPECT_EQ(in.frequency("d_khz").count_khz(), 32);
  doc.finish();
}

TEST(Reader, IntegersMayBeWrittenAsDecimalsButMustBeWhole) {
  EXPECT_EQ(
      errors(R"({"a": 1e3, "b": 2.0, "c": 2.5, "d": -1, "e": 9223372036854775807, "f": 1e30})",
             [](Reader in) {
               EXPECT_EQ(in.integer("a", 0, Reader::kMax), 1000);
               EXPECT_EQ(in.integer("b", 0, Reader::kMax), 2);
               in.integer("c", 0, Reader::kMax);
               in.integer("d", 0, Reader::kMax);
               EXPECT_EQ(in.integer("e", 0, Reader::kMax), Reader::kMax);
               in.integer("f", 0, Reader::kMax);
             }),
      "f.json:1:27: /c: expected an integer, found 2.5\n"
      "f.json:1:37: /d: must be at least 0, found -1\n"
      "f.json:1:72: /f: must be at least 0, found 1e30");
}

TEST(Reader, SaysWhereAValueStands) {
  Document doc = parse_text("{\n\"a\": [{}, {\"b\": 1}]}", "f.json");
  Reader second = doc.root().array("a")[1];
  EXPECT_EQ(second.pointer(), "/a/1");
  EXPECT_EQ(second.where(), "f.json:2");
  EXPECT_EQ(doc.root().pointer(), "");
}

TEST(Reader, ReadersSurviveTheMoveOfTheDocument) {
  Document doc = parse_text(R"({"a": {"b": 3}})", "f.json");
  Reader a = doc.root().object("a");
  Document moved = std::move(doc);
  EXPECT_EQ(a.integer("b", 0, 9), 3);
  moved.finish();
}

TEST(Findings, CollectOverSeveralFiles) {
  Findings all;
  for (const char* name : {"b.json", "a.json"}) {
    Document doc = parse_text(R"({"bad": 1})", name);
    doc.root();
    doc.finish(all);
  }
  try {
    parse_text("{\"a\": 1, \"a\": ]", "c.json");
  } catch (const UserError& error) {
    all.add(error);
  }
  const std::string text = error_of([&] { all.throw_if_any(); });
  EXPECT_TRUE(
      text.starts_with("b.json:1:2: /bad: unknown key\na.json:1:2: /bad: unknown key\n"
                       "c.json:1:10: /a: duplicate key; it stands in line 1 already\n"
                       "c.json:1:15: /: not valid JSON: "))
      << text;
}

}  // namespace
}  // namespace idlesim::config

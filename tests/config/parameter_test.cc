#include "idlesim/config/parameter.h"

#include <gtest/gtest.h>

#include "config/config_test_util.h"

namespace idlesim::config {
namespace {

TEST(Parameter, IsReadWithItsOrigin) {
  Document doc = parse_text(R"({
  "latency_ns": {
    "ipi_send": {"value": 80.25, "source": "table 3", "origin": "fitted", "range": [70, 90.5],
                 "fitted_to": "P2", "note": "n"}},
  "kernel_ipc": {"value": 1.2, "source": "s", "origin": "documented", "range": [1, 2]},
  "freq_ghz": {"value": 2.45, "source": "data sheet", "origin": "documented"},
  "relax": {"value": 200, "source": "poll_state.c", "origin": "documented"}
})",
                            "m.json");
  Reader in = doc.root();
  EXPECT_EQ(in.object("latency_ns").parameter_time("ipi_send"), Time::ps(80'250));
  EXPECT_EQ(in.parameter_milli("kernel_ipc", 1), 1200);
  EXPECT_EQ(in.parameter_frequency("freq_ghz"), Frequency::mhz(2450));
  EXPECT_EQ(in.parameter_integer("relax"), 200);
  EXPECT_EQ(in.parameter_integer("relax"), 200);  // listed once
  doc.finish();

  ASSERT_EQ(doc.parameters().size(), 4u);
  const Parameter& send = doc.parameters()[0];
  EXPECT_EQ(send.value.text(), "80.25");
  EXPECT_EQ(send.origin, Origin::kFitted);
  EXPECT_EQ(send.source, "table 3");
  EXPECT_EQ(send.range->low.text() + ".." + send.range->high.text(), "70..90.5");
  EXPECT_EQ(send.fitted_to, "P2");
  EXPECT_EQ(send.note, "n");
  EXPECT_EQ(send.pointer, "/latency_ns/ipi_send");
  EXPECT_EQ(send.unit, "ns");
  EXPECT_EQ(send.file, "m.json");
  EXPECT_EQ(send.line, 3);
  EXPECT_FALSE(send.overridden);
  EXPECT_EQ(doc.parameters()[1].unit, "ipc");
  EXPECT_EQ(doc.parameters()[3].unit, "");
}

// The errors of one parameter object read as a time in ns.
std::string problems(const std::string& parameter) {
  return errors("{\"a_ns\":\n" + parameter + "}", [](Reader in) { in.parameter_time("a_ns"); });
}

TEST(Parameter, Rules) {
  EXPECT_EQ(problems(R"({"value": 1, "source": "s", "origin": "measured"})"), "");
  EXPECT_EQ(problems(R"({"value": 1, "source": "s", "origin": "assumed", "range": [1, 1]})"), "");
  EXPECT_EQ(problems(R"({"value": 1, "source": "s", "origin": "assumed"})"),
            "f.json:2:1: /a_ns/range: missing key; expected [low, high], because the value is "
            "assumed");
  EXPECT_EQ(problems(R"({"value": 1, "source": "s", "origin": "fitted"})"),
            "f.json:2:1: /a_ns/fitted_to: missing key; expected a string\n"
            "f.json:2:1: /a_ns/range: missing key; expected [low, high], because the value is "
            "fitted");
  EXPECT_EQ(problems(R"({"value": 3.1, "source": "s", "origin": "derived", "range": [1, 3]})"),
            "f.json:2:11: /a_ns/value: the value 3.1 is outside its range [1, 3]");
  EXPECT_EQ(problems(R"({"value": 0.9, "source": "s", "origin": "derived", "range": [1, 3]})"),
            "f.json:2:11: /a_ns/value: the value 0.9 is outside its range [1, 3]");
  EXPECT_EQ(problems(R"({"value": 2, "source": "s", "origin": "derived", "range": [3, 1]})"),
            "f.json:2:59: /a_ns/range: the low end 3 is above the high end 1");
  EXPECT_EQ(problems(R"({"value": 2, "source": "s", "origin": "derived", "range": [3]})"),
            "f.json:2:59: /a_ns/range: expected [low, high], found 1 elements");
  EXPECT_EQ(problems(R"({"value": 2, "source": "s", "origin": "derived", "range": [-1, 3]})"),
            "f.json:2:59: /a_ns/range: must be a time from 0 to 1000000 s, found -1");
  EXPECT_EQ(problems(R"({"value": 2, "source": "s", "origin": "measured", "fitted_to": "P1"})"),
            "f.json:2:64: /a_ns/fitted_to: only a value of origin \"fitted\" has it");
  EXPECT_EQ(problems(R"({"value": "2", "source": "", "origin": "measured", "sourc": 1})"),
            "f.json:2:11: /a_ns/value: expected a number, found \"2\"\n"
            "f.json:2:26: /a_ns/source: must say where the value is from\n"
            "f.json:2:52: /a_ns/sourc: unknown key; did you mean \"source\"?");
  EXPECT_EQ(problems(R"({"value": 2, "source": "s", "origin": "mesured"})"),
            "f.json:2:39: /a_ns/origin: unknown value \"mesured\"; did you mean \"measured\"? "
            "(allowed: \"measured\", \"derived\", \"documented\", \"assumed\", \"fitted\")");
  EXPECT_EQ(problems("2"),
            "f.json:2:1: /a_ns: expected a parameter {\"value\", \"source\", \"origin\"}, found a "
            "number");
  EXPECT_EQ(problems("{}"),
            "f.json:2:1: /a_ns/origin: missing key; expected one of \"measured\", \"derived\", "
            "\"documented\", \"assumed\", \"fitted\"\n"
            "f.json:2:1: /a_ns/source: missing key; expected a string\n"
            "f.json:2:1: /a_ns/value: missing key; expected a number");
}

TEST(Parameter, BoundsAndWholeNumbers) {
  const std::string tail = R"(, "source": "s", "origin": "measured"})";
  EXPECT_EQ(errors("{\"n\": {\"value\": 1.5" + tail + ", \"ipc\": {\"value\": 0.0004" + tail + "}",
                   [](Reader in) {
                     EXPECT_EQ(in.parameter_integer("n", 1, 4), 1);
                     EXPECT_EQ(in.parameter_milli("ipc", 1, 8000), 1);
                   }),
            "f.json:1:17: /n/value: expected an integer, found 1.5\n"
            "f.json:1:77: /ipc/value: must be from 0.001 to 8, found 0.0004");
}

}  // namespace
}  // namespace idlesim::config

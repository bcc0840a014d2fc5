// `trace`.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "app/app_test_util.h"

namespace idlesim::app {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Trace : public AppTest {
 protected:
  Result trace(std::vector<std::string> more) {
    more.insert(more.begin(), {"trace", write("s.json", kSmall)});
    return call(more);
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Every line as the kernel's formats have it, in the order of time.
TEST_F(Trace, PerfScriptLines) {
  const Result result = trace({});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  const std::regex line(R"( *([^ ]+) +(\d+) \[(\d{3})\] +(\d+)\.(\d{9}): +(\w+:\w+): (.*))");
  const std::map<std::string, std::regex> payloads = {
      {"sched:sched_switch",
       std::regex(R"(prev_comm=\S+ prev_pid=\d+ prev_prio=120 prev_state=[RS] ==> next_comm=\S+ )"
                  R"(next_pid=\d+ next_prio=120)")},
      {"sched:sched_waking", std::regex(R"(comm=\S+ pid=\d+ prio=120 target_cpu=\d{3})")},
      {"sched:sched_wakeup", std::regex(R"(comm=\S+ pid=\d+ prio=120 target_cpu=\d{3})")},
      {"sched:sched_wake_idle_without_ipi", std::regex(R"(cpu=\d+)")},
      {"power:cpu_idle", std::regex(R"(state=\d+ cpu_id=\d+)")},
      {"ipi:ipi_send_cpu", std::regex(R"(cpu=\d+ callsite=\S+ callback=\S+)")},
      {"irq_vectors:call_function_single_entry", std::regex("vector=251")},
      {"irq_vectors:reschedule_entry", std::regex("vector=253")},
      {"irq_vectors:local_timer_entry", std::regex("vector=236")},
      {"csd:csd_queue_cpu", std::regex(R"(cpu=\d+ callsite=\S+ func=\S+ csd=0x[0-9a-f]{16})")},
      {"csd:csd_function_entry", std::regex(R"(func=\S+, csd=0x[0-9a-f]{16})")}};
  std::string before;
  std::map<std::string, int> counts;
  for (const std::string& text : lines_of(result.out)) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(text, match, line)) << text;
    const std::string time = match[4].str() + match[5].str();
    EXPECT_LE(before, time);
    before = time;
    const auto payload = payloads.find(match[6]);
    ASSERT_NE(payload, payloads.end()) << text;
    EXPECT_TRUE(std::regex_match(match[7].str(), payload->second)) << text;
    ++counts[match[6]];
  }
  // 50 calls; a call is queued, and its function runs, once.
  EXPECT_EQ(counts["csd:csd_queue_cpu"], 50);
  EXPECT_EQ(counts["csd:csd_function_entry"], 50);
}

TEST_F(Trace, TheTracedRunIsTheReportedOne) {
  const Result report = call({"run", write("s.json", kSmall), "-n", "1", "-f", "json"});
  const json variant = json::parse(report.out)["variants"][0];
  const std::string text = trace({}).out;
  const auto count = [&](const char* what) {
    std::int64_t found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("ipi:ipi_send_cpu:"), variant["counters"]["ipis_sent"]);
  EXPECT_EQ(count("sched_wake_idle_without_ipi:"), variant["counters"]["ipis_elided"]);
  EXPECT_NE(trace({"--run", "1"}).out, text);
  EXPECT_NE(trace({"--variant", "b"}).out, text);
  EXPECT_EQ(trace({"--variant", "a", "--run", "0"}).out, text);
}

TEST_F(Trace, WindowsAndFilters) {
  const std::size_t all = lines_of(trace({}).out).size();
  const std::size_t worst = lines_of(trace({"--around-worst", "1"}).out).size();
  EXPECT_GT(worst, 0u);
  EXPECT_LT(worst, all);
  const Result limited = trace({"--limit", "7"});
  EXPECT_LE(lines_of(limited.out).size(), 14u);  // a wake-up has two lines
  EXPECT_THAT(limited.err, HasSubstr(" events are left out (--limit, --from, --to, --cpus)\n"));
  EXPECT_EQ(trace({"--limit", "7", "-q"}).err, "");
  EXPECT_EQ(trace({"--from", "900s"}).out, "");
  // What happens on the CPU, or is meant for it, or comes from it: a call's function runs elsewhere.
  for (const std::string& line : lines_of(trace({"--cpus", "8"}).out))
    EXPECT_TRUE(line.find("[008]") != std::string::npos ||
                line.find("cpu=8") != std::string::npos ||
                line.find("target_cpu=008") != std::string::npos ||
                line.find("csd_function_entry") != std::string::npos)
        << line;
}

TEST_F(Trace, OtherFormats) {
  EXPECT_TRUE(trace({"-f", "ftrace"}).out.starts_with("# tracer: nop\n"));
  const json document = json::parse(trace({"-f", "json"}).out);
  EXPECT_EQ(document["otherData"]["title"], "small, a");
  EXPECT_GT(document["traceEvents"].size(), 200u);
}

TEST_F(Trace, Errors) {
  const auto error = [&](std::vector<std::string> more) {
    const Result result = trace(std::move(more));
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_EQ(error({"--from", "1.5"}),
            "error: --from: expected a time such as 1.5ms, found \"1.5\"\n");
  EXPECT_EQ(error({"--to", "-1ms"}),
            "error: --to: expected a time such as 1.5ms, found \"-1ms\"\n");
  EXPECT_EQ(error({"--cpus", "8-"}),
            "error: --cpus: expected a list such as 8,16-17 of CPUs below 256, found \"8-\"\n");
  EXPECT_EQ(error({"--cpus", "256"}),
            "error: --cpus: expected a list such as 8,16-17 of CPUs below 256, found \"256\"\n");
  EXPECT_EQ(error({"--around-worst", "1", "--to", "1ms"}),
            "error: --around-worst chooses the times itself: leave out --from and --to\n");
  EXPECT_EQ(error({"--variant", "c"}), "error: --variant: the scenario has no variant \"c\"\n");
}

}  // namespace
}  // namespace idlesim::app

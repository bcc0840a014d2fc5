#include "idlesim/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace idlesim::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TimelineNames names() {
  TimelineNames names;
  names.tasks = {"", "sched-pipe", "a-name-longer-than-fifteen"};
  names.vectors = {
      {0, 253, "reschedule"}, {2, 251, "call_function_single"}, {3, 236, "local_timer"}};
  names.nr_cpus = 4;
  names.title = "t";
  return names;
}

// CPU 0 runs task 1 and calls CPU 3, which idles; then it sends it an interrupt, which wakes task 2
// there; at last task 1 goes to sleep.
void emit(trace::Listener& listener) {
  listener.on(trace::Switch{Time::ns(100), 0, 0, 1});
  listener.on(trace::IdleEnter{Time::ns(150), 3, 1});
  listener.on(trace::IpiSent{Time::ns(300), 0, 3, 2});
  listener.on(trace::InterruptTaken{Time::ns(1300), Time::ns(1000), 3, 2, trace::Context::kIdle});
  listener.on(trace::CallStarted{Time::ns(1400), Time::ns(300), 3, 0, true, false});
  listener.on(trace::CallDone{Time::ns(200), Time::ns(250), Time::ns(300), Time::ns(1400),
                              Time::ns(1500), 0, 3, true, false});
  listener.on(trace::IdleExit{Time::ns(1600), 3, 1});
  listener.on(trace::Wakeup{Time::ns(1700), 0, 3, 2});
  listener.on(trace::Switch{Time::ns(1800), 3, 0, 2});
  listener.on(trace::Switch{Time::us(2), 0, 1, 0});
}

std::vector<TimelineEvent> recorded(TimelineRecorder::Options options = {}) {
  TimelineRecorder recorder(std::move(options), 4);
  emit(recorder);
  return recorder.events();
}

TEST(Timeline, PerfScript) {
  EXPECT_EQ(
      to_perf_script(recorded(), names()),
      "         swapper     0 [000] 0.000000100:                     sched:sched_switch: "
      "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=sched-pipe "
      "next_pid=1 next_prio=120\n"
      "         swapper     0 [003] 0.000000150:                         power:cpu_idle: state=1 "
      "cpu_id=3\n"
      "      sched-pipe     1 [000] 0.000000250:                      csd:csd_queue_cpu: cpu=3 "
      "callsite=smp_call_function_single+0x0 func=0x0 csd=0xffff888000000000\n"
      "      sched-pipe     1 [000] 0.000000300:                       ipi:ipi_send_cpu: cpu=3 "
      "callsite=0x0 callback=generic_smp_call_function_single_interrupt+0x0\n"
      "         swapper     0 [003] 0.000001300: irq_vectors:call_function_single_entry: "
      "vector=251\n"
      "         swapper     0 [003] 0.000001400:                 csd:csd_function_entry: func=0x0, "
      "csd=0xffff888000000000\n"
      "         swapper     0 [003] 0.000001600:                         power:cpu_idle: "
      "state=4294967295 cpu_id=3\n"
      "      sched-pipe     1 [000] 0.000001700:                     sched:sched_waking: "
      "comm=a-name-longer-t pid=2 prio=120 target_cpu=003\n"
      "      sched-pipe     1 [000] 0.000001700:                     sched:sched_wakeup: "
      "comm=a-name-longer-t pid=2 prio=120 target_cpu=003\n"
      "         swapper     0 [003] 0.000001800:                     sched:sched_switch: "
      "prev_comm=swapper/3 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a-name-longer-t "
      "next_pid=2 next_prio=120\n"
      "      sched-pipe     1 [000] 0.000002000:                     sched:sched_switch: "
      "prev_comm=sched-pipe prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper/0 "
      "next_pid=0 next_prio=120\n");
}

TEST(Timeline, Ftrace) {
  const std::string text = to_ftrace(recorded(), names());
  EXPECT_TRUE(
      text.starts_with("# tracer: nop\n#\n# entries-in-buffer/entries-written: 11/11   "
                       "#P:4\n"))
      << text;
  EXPECT_THAT(text, HasSubstr("\n          <idle>-0       [003] ..... 0.000000150: cpu_idle: "
                              "state=1 cpu_id=3\n"));
  EXPECT_THAT(text, HasSubstr("\n      sched-pipe-1       [000] ..... 0.000001700: sched_waking: "
                              "comm=a-name-longer-t pid=2 prio=120 target_cpu=003\n"));
}

// A task that is not woken before it runs again was not asleep.
TEST(Timeline, StateOfATaskThatIsSwitchedOut) {
  TimelineRecorder recorder({}, 1);
  recorder.on(trace::Switch{Time::ns(1), 0, 1, 2});  // comes back by itself
  recorder.on(trace::Switch{Time::ns(2), 0, 2, 1});  // is woken before
  recorder.on(trace::Wakeup{Time::ns(3), 0, 0, 2});
  recorder.on(trace::Switch{Time::ns(4), 0, 1, 2});  // never seen again
  std::string states;
  const std::string text = to_perf_script(recorder.events(), names());
  for (std::size_t at = 0; (at = text.find("prev_state=", at)) != std::string::npos; ++at)
    states += text[at + 11];
  EXPECT_EQ(states, "RSS");
}

TEST(Timeline, TraceJson) {
  const json document = json::parse(to_trace_json(recorded(), names()));
  const auto all = [&](const char* phase) {
    std::vector<json> found;
    for (const json& event : document["traceEvents"])
      if (event["ph"] == phase) found.push_back(event);
    return found;
  };
  EXPECT_EQ(all("M").size(), 2u + 2 * 2);  // two processes, two CPUs in each
  const std::vector<json> starts = all("s");
  const std::vector<json> ends = all("f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(starts[0]["tid"], 0);
  EXPECT_EQ(ends[0]["tid"], 3);
  EXPECT_EQ(ends[0]["bp"], "e");
  EXPECT_EQ(ends[0]["ts"], 1.3);
  std::vector<std::string> slices;
  for (const json& event : all("X"))
    slices.push_back(event["name"].get<std::string>() + " " + event["ts"].dump() + " " +
                     event["dur"].dump());
  EXPECT_THAT(slices, testing::UnorderedElementsAre("sched-pipe 0.1 1.9", "state 1 0.15 1.45",
                                                    "a-name-longer-t 1.8 0.2", "send 0.3 0",
                                                    "receive 1.3 0"));
}

// A flag is answered by the end of the polling.
TEST(Timeline, AnArrowForAFlag) {
  TimelineRecorder recorder({}, 4);
  recorder.on(trace::IdleEnter{Time::ns(1), 2, 0});
  recorder.on(trace::IpiElided{Time::ns(5), 0, 2});
  recorder.on(trace::IdleExit{Time::ns(9), 2, 0});
  const std::string text = to_trace_json(recorder.events(), names());
  EXPECT_THAT(text, HasSubstr("\"polling\""));
  const json document = json::parse(text);
  int arrows = 0;
  for (const json& event : document["traceEvents"])
    if (event["ph"] == "f") {
      ++arrows;
      EXPECT_EQ(event["ts"], 0.009);
    }
  EXPECT_EQ(arrows, 1);
}

TEST(Timeline, WindowsCpusAndLimit) {
  TimelineRecorder::Options options;
  options.windows = {{Time::ns(150), Time::ns(300)}, {Time::ns(1800), Time::ns(1800)}};
  EXPECT_EQ(recorded(options).size(), 4u);
  options = {};
  options.cpus.set(3);
  EXPECT_EQ(recorded(options).size(), 8u);  // all but the two switches of CPU 0
  options.cpus.set(1);
  options.cpus.clear(3);
  EXPECT_TRUE(recorded(options).empty());
  options = {};
  options.limit = 3;
  TimelineRecorder recorder(options, 4);
  emit(recorder);
  EXPECT_EQ(recorder.events().size(), 3u);
  EXPECT_EQ(recorder.left_out(), 7u);
}

// What runs is known also if the switch lies before the window.
TEST(Timeline, TheRunningTaskIsFollowedOutsideOfTheWindow) {
  TimelineRecorder::Options options;
  options.windows = {{Time::ns(300), Time::ns(300)}};
  ASSERT_EQ(recorded(options).size(), 1u);
  EXPECT_EQ(recorded(options)[0].task, 1);
}

TEST(Timeline, WorstCalls) {
  WorstFinder finder(2, Time::ns(10));
  const auto call = [&](std::int64_t from, std::int64_t to) {
    finder.on(trace::CallDone{Time::ns(from), Time::ns(from), Time::ns(from), Time::ns(to),
                              Time::ns(to), 0, 1, true, false});
  };
  call(100, 150);
  call(1000, 1080);
  call(2000, 2060);
  call(5, 10);
  const std::vector<Window> windows = finder.windows();
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].from, Time::ns(990));
  EXPECT_EQ(windows[0].to, Time::ns(1090));
  EXPECT_EQ(windows[1].from, Time::ns(1990));
  // Those that meet are one; none begins before the run.
  WorstFinder all(4, Time::ns(600));
  all.on(trace::CallDone{Time::ns(100), {}, {}, {}, Time::ns(150), 0, 1, true, false});
  all.on(trace::CallDone{Time::ns(1000), {}, {}, {}, Time::ns(1080), 0, 1, true, false});
  ASSERT_EQ(all.windows().size(), 1u);
  EXPECT_EQ(all.windows()[0].from, Time{});
  EXPECT_EQ(all.windows()[0].to, Time::ns(1680));
}

}  // namespace
}  // namespace idlesim::report

// A run as a list of events in time, and the forms in which other tools read it.
#ifndef IDLESIM_REPORT_TIMELINE_H_
#define IDLESIM_REPORT_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/base/cpumask.h"
#include "idlesim/trace/trace.h"

namespace idlesim::report {

// Both ends included.
struct Window {
  Time from;
  Time to = Time::never();
};

struct TimelineEvent {
  enum class Kind : std::uint8_t {
    kSwitch,       // task -> other
    kWakeup,       // of task `other`, for CPU `peer`
    kIdleEnter,    // state
    kIdleExit,     // state
    kIpiSent,      // vector, to `peer`
    kIpiElided,    // to `peer`, which polls
    kInterrupt,    // vector
    kCallQueued,   // for CPU `peer`
    kCallStarted,  // by CPU `peer`
  };
  Time time;
  CpuId cpu = 0;
  Kind kind = Kind::kSwitch;
  CpuId peer = kNoCpu;
  std::int32_t task = 0;   // that runs on `cpu` at the time; 0 is the idle task
  std::int32_t other = 0;  // see kind
  std::int32_t value = 0;  // state or vector
  bool operator==(const TimelineEvent&) const = default;
};

// Keeps the events of some windows and CPUs. Bounded: beyond `limit` events are counted only.
class TimelineRecorder final : public trace::Listener {
 public:
  struct Options {
    std::vector<Window> windows = {Window{}};
    CpuMask cpus;  // an event stays if it is on one of these or directed at one; none: all
    std::size_t limit = 1'000'000;
  };
  TimelineRecorder(Options options, int nr_cpus);

  std::uint32_t wants() const override;
  void on(const trace::Switch& event) override;
  void on(const trace::Wakeup& event) override;
  void on(const trace::IdleEnter& event) override;
  void on(const trace::IdleExit& event) override;
  void on(const trace::IpiSent& event) override;
  void on(const trace::IpiElided& event) override;
  void on(const trace::InterruptTaken& event) override;
  void on(const trace::CallStarted& event) override;
  void on(const trace::CallDone& event) override;

  // In the order of time; of equal times in that in which they were emitted.
  std::vector<TimelineEvent> events() const;
  std::size_t left_out() const { return left_out_; }

 private:
  using Kind = TimelineEvent::Kind;
  TimelineEvent at(Time time, CpuId cpu, Kind kind) const;
  void add(const TimelineEvent& event);

  const Options options_;
  std::vector<std::int32_t> running_;  // by CPU
  std::vector<TimelineEvent> events_;
  std::size_t left_out_ = 0;
};

// Finds the slowest calls and wake-ups of a run: where to look.
class WorstFinder final : public trace::Listener {
 public:
  // `count` of them, in a window each that begins and ends `margin` around the event.
  WorstFinder(std::size_t count, Time margin) : count_(count), margin_(margin) {}
  std::uint32_t wants() const override;
  void on(const trace::CallDone& event) override;
  // In the order of time, those that meet joined.
  std::vector<Window> windows() const;

 private:
  struct Span {
    Time from;
    Time to;
  };
  const std::size_t count_;
  const Time margin_;
  std::vector<Span> worst_;  // slowest first
};

// What the events do not know.
struct TimelineNames {
  std::vector<std::string> tasks;  // by id; [0] is not used
  struct Vector {
    std::int32_t value = 0;   // in the events
    std::int32_t number = 0;  // of the architecture: 253
    std::string name;         // "reschedule"
  };
  std::vector<Vector> vectors;
  bool is_x86 = true;
  int nr_cpus = 1;
  std::string title;
};

// As `perf script --ns` prints the tracepoints.
std::string to_perf_script(const std::vector<TimelineEvent>& events, const TimelineNames& names);
// As /sys/kernel/tracing/trace.
std::string to_ftrace(const std::vector<TimelineEvent>& events, const TimelineNames& names);
// Trace Event JSON, which Perfetto and chrome://tracing open: a track for each CPU, arrows from
// sender to target.
std::string to_trace_json(const std::vector<TimelineEvent>& events, const TimelineNames& names);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_TIMELINE_H_

// A timeline as Trace Event JSON. Process 1 has a thread for each CPU with what runs on it, process
// 2 one with its idle states; an arrow leads from a sender to the interrupt or the end of the
// polling.
#include <fmt/format.h>

#include <map>
#include <set>

#include "idlesim/report/timeline.h"
#include "json_numbers.h"
#include "tracepoints.h"

namespace idlesim::report {

namespace {

using config::JsonWriter;
using Kind = TimelineEvent::Kind;

constexpr int kRunning = 1;
constexpr int kIdle = 2;

// The format counts in microseconds.
double us(Time time) { return static_cast<double>(time.count_ns()) / 1000; }

class Writer {
 public:
  Writer(const std::vector<TimelineEvent>& events, const TimelineNames& names)
      : events_(events), names_(names) {}

  std::string write() {
    out_.begin_object();
    out_.member("displayTimeUnit", "ns");
    out_.key("otherData").begin_object().member("title", names_.title).end_object();
    out_.key("traceEvents").begin_array();
    write_names();
    for (const TimelineEvent& event : events_) one(event);
    finish();
    out_.end_array();
    out_.end_object();
    return out_.take();
  }

 private:
  struct Open {
    Time since;
    std::string name;
  };

  JsonWriter& begin(const char* phase, const std::string& name, int process, CpuId cpu, Time time) {
    out_.begin_object(JsonWriter::Layout::kOneLine);
    out_.member("ph", phase).member("name", name).member("pid", process).member("tid", cpu);
    out_.key("ts");
    write_number(out_, us(time));
    return out_;
  }

  void metadata(const char* what, int process, CpuId cpu, const std::string& name) {
    begin("M", what, process, cpu, Time{});
    out_.key("args").begin_object().member("name", name).end_object();
    out_.end_object();
  }

  void write_names() {
    metadata("process_name", kRunning, 0, "CPUs");
    metadata("process_name", kIdle, 0, "idle states");
    std::set<CpuId> cpus;
    for (const TimelineEvent& event : events_) {
      cpus.insert(event.cpu);
      if (event.peer != kNoCpu) cpus.insert(event.peer);
    }
    for (const CpuId cpu : cpus) {
      metadata("thread_name", kRunning, cpu, fmt::format("CPU {}", cpu));
      metadata("thread_name", kIdle, cpu, fmt::format("CPU {}", cpu));
    }
  }

  void slice(int process, CpuId cpu, const Open& open, Time end) {
    begin("X", open.name, process, cpu, open.since);
    out_.key("dur");
    write_number(out_, static_cast<double>(end.count_ns() - open.since.count_ns()) / 1000);
    out_.end_object();
  }

  void instant(const TimelineEvent& event, const std::string& name) {
    begin("i", name, kRunning, event.cpu, event.time).member("s", "t").end_object();
  }

  // An arrow's end needs a slice around it: one of no length, at the same time.
  void arrow(const char* phase, CpuId cpu, Time time, std::uint64_t id) {
    slice(kRunning, cpu, {time, *phase == 's' ? "send" : "receive"}, time);
    begin(phase, "ipi", kRunning, cpu, time).member("cat", "ipi").member("id", id);
    if (*phase == 'f') out_.member("bp", "e");
    out_.end_object();
  }

  void one(const TimelineEvent& event) {
    switch (event.kind) {
      case Kind::kSwitch:
        close(running_, kRunning, event.cpu, event.time);
        if (event.other != 0)
          running_[event.cpu] = {event.time, comm_of(event.other, event.cpu, names_)};
        return;
      case Kind::kIdleEnter:
        idle_[event.cpu] = {event.time,
                            event.value == 0 ? "polling" : fmt::format("state {}", event.value)};
        return;
      case Kind::kIdleExit:
        close(idle_, kIdle, event.cpu, event.time);
        receive(flagged_, event);
        return;
      case Kind::kWakeup:
        return instant(event, "wake " + comm_of(event.other, event.peer, names_));
      case Kind::kIpiSent:
        sent_[event.peer] = ++arrows_;
        return arrow("s", event.cpu, event.time, arrows_);
      case Kind::kIpiElided:
        flagged_[event.peer] = ++arrows_;
        return arrow("s", event.cpu, event.time, arrows_);
      case Kind::kInterrupt:
        instant(event, vector_of(event.value, names_).name);
        if (vector_of(event.value, names_).name != "local_timer") receive(sent_, event);
        return;
      case Kind::kCallQueued:
        return instant(event, fmt::format("call queued for CPU {}", event.peer));
      case Kind::kCallStarted:
        return instant(event, fmt::format("call of CPU {} starts", event.peer));
    }
  }

  void receive(std::map<CpuId, std::uint64_t>& under_way, const TimelineEvent& event) {
    const auto found = under_way.find(event.cpu);
    if (found == under_way.end()) return;
    arrow("f", event.cpu, event.time, found->second);
    under_way.erase(found);
  }

  // What began before the first event is not known, and not shown.
  void close(std::map<CpuId, Open>& open, int process, CpuId cpu, Time time) {
    const auto found = open.find(cpu);
    if (found == open.end()) return;
    slice(process, cpu, found->second, time);
    open.erase(found);
  }

  void finish() {
    const Time end = events_.empty() ? Time{} : events_.back().time;
    for (const auto& [cpu, open] : running_) slice(kRunning, cpu, open, end);
    for (const auto& [cpu, open] : idle_) slice(kIdle, cpu, open, end);
  }

  const std::vector<TimelineEvent>& events_;
  const TimelineNames& names_;
  JsonWriter out_;
  std::map<CpuId, Open> running_;
  std::map<CpuId, Open> idle_;
  std::map<CpuId, std::uint64_t> sent_;     // arrows under way, by target
  std::map<CpuId, std::uint64_t> flagged_;  // the same for a flag
  std::uint64_t arrows_ = 0;
};

}  // namespace

std::string to_trace_json(const std::vector<TimelineEvent>& events, const TimelineNames& names) {
  return Writer(events, names).write();
}

}  // namespace idlesim::report

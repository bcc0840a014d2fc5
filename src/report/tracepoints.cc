#include "tracepoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace idlesim::report {

namespace {

using Kind = TimelineEvent::Kind;

constexpr int kNormalPriority = 120;

// Whether the task that is switched out sleeps: it does if it is woken before it runs again. An
// answer for each event; of switches only.
std::vector<bool> sleeps(const std::vector<TimelineEvent>& events) {
  std::vector<bool> result(events.size());
  std::map<std::int32_t, bool> runs_next;  // without being woken
  for (std::size_t i = events.size(); i-- > 0;) {
    const TimelineEvent& event = events[i];
    if (event.kind == Kind::kWakeup) runs_next[event.other] = false;
    if (event.kind != Kind::kSwitch) continue;
    const auto found = runs_next.find(event.task);
    result[i] = event.task != 0 && (found == runs_next.end() || !found->second);
    runs_next[event.other] = true;
  }
  return result;
}

class Converter {
 public:
  Converter(const std::vector<TimelineEvent>& events, const TimelineNames& names)
      : events_(events), names_(names), sleeps_(sleeps(events)) {}

  std::vector<Tracepoint> convert() {
    for (std::size_t i = 0; i < events_.size(); ++i) one(events_[i], sleeps_[i]);
    return std::move(out_);
  }

 private:
  void add(const TimelineEvent& event, const char* system, std::string name, std::string payload) {
    out_.push_back(
        {event.time, event.cpu, event.task, system, std::move(name), std::move(payload)});
  }

  void one(const TimelineEvent& event, bool sleeps) {
    switch (event.kind) {
      case Kind::kSwitch:
        return add(event, "sched", "sched_switch",
                   fmt::format("prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> "
                               "next_comm={} next_pid={} next_prio={}",
                               comm(event.task, event.cpu), event.task, kNormalPriority,
                               sleeps ? 'S' : 'R', comm(event.other, event.cpu), event.other,
                               kNormalPriority));
      case Kind::kWakeup: {
        const std::string payload =
            fmt::format("comm={} pid={} prio={} target_cpu={:03}", comm(event.other, event.peer),
                        event.other, kNormalPriority, event.peer);
        add(event, "sched", "sched_waking", payload);
        return add(event, "sched", "sched_wakeup", payload);
      }
      case Kind::kIdleEnter:
        return add(event, "power", "cpu_idle",
                   fmt::format("state={} cpu_id={}", event.value, event.cpu));
      case Kind::kIdleExit:
        return add(event, "power", "cpu_idle",
                   fmt::format("state=4294967295 cpu_id={}", event.cpu));
      case Kind::kIpiElided:
        return add(event, "sched", "sched_wake_idle_without_ipi",
                   fmt::format("cpu={}", event.peer));
      case Kind::kIpiSent:
        return add(event, "ipi", "ipi_send_cpu",
                   fmt::format("cpu={} callsite=0x0 callback={}", event.peer,
                               vector_of(event.value, names_).name == "call_function_single"
                                   ? "generic_smp_call_function_single_interrupt+0x0"
                                   : "0x0"));
      case Kind::kInterrupt:
        return interrupt(event);
      case Kind::kCallQueued:
        return add(event, "csd", "csd_queue_cpu",
                   fmt::format("cpu={} callsite=smp_call_function_single+0x0 func=0x0 csd={}",
                               event.peer, csd(event.cpu)));
      case Kind::kCallStarted:
        return add(event, "csd", "csd_function_entry",
                   fmt::format("func=0x0, csd={}", csd(event.peer)));
    }
  }

  void interrupt(const TimelineEvent& event) {
    const auto [value, number, name] = vector_of(event.value, names_);
    if (names_.is_x86)
      return add(event, "irq_vectors", name + "_entry", fmt::format("vector={}", number));
    if (name == "local_timer")
      return add(event, "irq", "irq_handler_entry", fmt::format("irq={} name=arch_timer", number));
    add(event, "ipi", "ipi_entry",
        fmt::format("({})",
                    name == "reschedule" ? "Rescheduling interrupts" : "Function call interrupts"));
  }

  // One call a CPU is under way at a time; the address tells whose.
  static std::string csd(CpuId caller) {
    return fmt::format("0x{:016x}", 0xffff888000000000ull + static_cast<unsigned>(caller) * 64ull);
  }
  std::string comm(std::int32_t task, CpuId cpu) const { return comm_of(task, cpu, names_); }

  const std::vector<TimelineEvent>& events_;
  const TimelineNames& names_;
  const std::vector<bool> sleeps_;
  std::vector<Tracepoint> out_;
};

// "12.345678901": seconds with nanoseconds.
std::string seconds(Time time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return fmt::format("{}.{:09}", time.count_ns() / kSecond, time.count_ns() % kSecond);
}

}  // namespace

std::string comm_of(std::int32_t task, CpuId cpu, const TimelineNames& names) {
  if (task == 0) return fmt::format("swapper/{}", cpu);
  const auto index = static_cast<std::size_t>(task);
  const std::string name =
      index < names.tasks.size() ? names.tasks[index] : fmt::format("task-{}", task);
  return name.substr(0, 15);
}

TimelineNames::Vector vector_of(std::int32_t value, const TimelineNames& names) {
  for (const TimelineNames::Vector& vector : names.vectors)
    if (vector.value == value) return vector;
  return {value, value, fmt::format("vector_{}", value)};
}

std::vector<Tracepoint> tracepoints(const std::vector<TimelineEvent>& events,
                                    const TimelineNames& names) {
  return Converter(events, names).convert();
}

std::string to_perf_script(const std::vector<TimelineEvent>& events, const TimelineNames& names) {
  const std::vector<Tracepoint> points = tracepoints(events, names);
  std::size_t width = 0;
  for (const Tracepoint& point : points)
    width = std::max(width, point.system.size() + 1 + point.name.size());
  std::string out;
  for (const Tracepoint& point : points) {
    const std::string comm = point.task == 0 ? "swapper" : comm_of(point.task, point.cpu, names);
    out += fmt::format("{:>16} {:5} [{:03}] {:>5}: {:>{}}: {}\n", comm, point.task, point.cpu,
                       seconds(point.time), point.system + ":" + point.name, width, point.payload);
  }
  return out;
}

std::string to_ftrace(const std::vector<TimelineEvent>& events, const TimelineNames& names) {
  const std::vector<Tracepoint> points = tracepoints(events, names);
  std::string out = fmt::format(
      "# tracer: nop\n#\n# entries-in-buffer/entries-written: {0}/{0}   #P:{1}\n#\n"
      "#                                _-----=> irqs-off/BH-disabled\n"
      "#                               / _----=> need-resched\n"
      "#                              | / _---=> hardirq/softirq\n"
      "#                              || / _--=> preempt-depth\n"
      "#                              ||| / _-=> migrate-disable\n"
      "#                              |||| /     delay\n"
      "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
      "#              | |         |   |||||     |         |\n",
      points.size(), names.nr_cpus);
  for (const Tracepoint& point : points) {
    const std::string comm = point.task == 0 ? "<idle>" : comm_of(point.task, point.cpu, names);
    out += fmt::format("{:>16}-{:<7} [{:03}] ..... {:>5}: {}: {}\n", comm, point.task, point.cpu,
                       seconds(point.time), point.name, point.payload);
  }
  return out;
}

}  // namespace idlesim::report

#include "idlesim/report/timeline.h"

#include <algorithm>

#include "idlesim/base/check.h"

namespace idlesim::report {

TimelineRecorder::TimelineRecorder(Options options, int nr_cpus)
    : options_(std::move(options)), running_(static_cast<std::size_t>(nr_cpus), 0) {}

std::uint32_t TimelineRecorder::wants() const {
  return trace::kinds<trace::Switch, trace::Wakeup, trace::IdleEnter, trace::IdleExit,
                      trace::IpiSent, trace::IpiElided, trace::InterruptTaken, trace::CallStarted,
                      trace::CallDone>();
}

TimelineEvent TimelineRecorder::at(Time time, CpuId cpu, Kind kind) const {
  TimelineEvent event;
  event.time = time;
  event.cpu = cpu;
  event.kind = kind;
  event.task = running_.at(static_cast<std::size_t>(cpu));
  return event;
}

void TimelineRecorder::add(const TimelineEvent& event) {
  const bool in_window = std::any_of(
      options_.windows.begin(), options_.windows.end(),
      [&](const Window& window) { return window.from <= event.time && event.time <= window.to; });
  const CpuMask& cpus = options_.cpus;
  const bool wanted =
      cpus.empty() || cpus.test(event.cpu) || (event.peer != kNoCpu && cpus.test(event.peer));
  if (!in_window || !wanted) return;
  if (events_.size() < options_.limit)
    events_.push_back(event);
  else
    ++left_out_;
}

void TimelineRecorder::on(const trace::Switch& event) {
  TimelineEvent out = at(event.time, event.cpu, Kind::kSwitch);
  out.task = event.prev;
  out.other = event.next;
  running_.at(static_cast<std::size_t>(event.cpu)) = event.next;
  add(out);
}

void TimelineRecorder::on(const trace::Wakeup& event) {
  TimelineEvent out = at(event.time, event.from, Kind::kWakeup);
  out.other = event.task;
  out.peer = event.to;
  add(out);
}

void TimelineRecorder::on(const trace::IdleEnter& event) {
  TimelineEvent out = at(event.time, event.cpu, Kind::kIdleEnter);
  out.value = event.state;
  add(out);
}

void TimelineRecorder::on(const trace::IdleExit& event) {
  TimelineEvent out = at(event.time, event.cpu, Kind::kIdleExit);
  out.value = event.state;
  add(out);
}

void TimelineRecorder::on(const trace::IpiSent& event) {
  TimelineEvent out = at(event.time, event.from, Kind::kIpiSent);
  out.peer = event.to;
  out.value = event.vector;
  add(out);
}

void TimelineRecorder::on(const trace::IpiElided& event) {
  TimelineEvent out = at(event.time, event.from, Kind::kIpiElided);
  out.peer = event.to;
  add(out);
}

void TimelineRecorder::on(const trace::InterruptTaken& event) {
  TimelineEvent out = at(event.time, event.cpu, Kind::kInterrupt);
  out.value = event.vector;
  add(out);
}

void TimelineRecorder::on(const trace::CallStarted& event) {
  TimelineEvent out = at(event.time, event.cpu, Kind::kCallStarted);
  out.peer = event.from;
  add(out);
}

// Tells afterwards when the call was queued.
void TimelineRecorder::on(const trace::CallDone& event) {
  TimelineEvent out = at(event.queued, event.cpu, Kind::kCallQueued);
  out.peer = event.target;
  add(out);
}

std::vector<TimelineEvent> TimelineRecorder::events() const {
  std::vector<TimelineEvent> sorted = events_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TimelineEvent& a, const TimelineEvent& b) { return a.time < b.time; });
  return sorted;
}

std::uint32_t WorstFinder::wants() const { return trace::kinds<trace::CallDone>(); }

void WorstFinder::on(const trace::CallDone& event) {
  const Span span{event.issued, event.returned};
  const auto slower = [](const Span& a, const Span& b) { return a.to - a.from > b.to - b.from; };
  if (worst_.size() == count_ && (worst_.empty() || !slower(span, worst_.back()))) return;
  worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), span, slower), span);
  if (worst_.size() > count_) worst_.pop_back();
}

std::vector<Window> WorstFinder::windows() const {
  std::vector<Window> windows;
  for (const Span& span : worst_)
    windows.push_back({std::max(span.from - margin_, Time{}), span.to + margin_});
  std::sort(windows.begin(), windows.end(),
            [](const Window& a, const Window& b) { return a.from < b.from; });
  std::vector<Window> joined;
  for (const Window& window : windows) {
    if (!joined.empty() && window.from <= joined.back().to)
      joined.back().to = std::max(joined.back().to, window.to);
    else
      joined.push_back(window);
  }
  return joined;
}

}  // namespace idlesim::report

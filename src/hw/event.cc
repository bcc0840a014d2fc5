// The event register of arm64, and what sets it: the exclusive monitor, SEV, exception returns, the
// timer's event stream.
//
// The monitor of LDXR is dropped when a WFE ends: all that it could still do is set the event
// register, which whoever waits next clears first (SEVL; WFE).
#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

Cpu::Halt Cpu::wfe(const HaltTiming& timing, Time deadline, SourceLocation where) {
  where_ = where;
  return {*this, HaltKind::kWfe, timing, deadline};
}

void Cpu::event() {
  if (wait_ == Wait::kHalt && waits_for_event() && !waking_)
    wake_by_event(trace::WaitEnd::kEvent);
  else
    event_register_ = true;
}

// The load has its value at this moment. If a writer has taken the line already, it has cleared
// the monitor.
void Cpu::arm_exclusive(Line& line) {
  disarm_monitor();
  if (!line.can_read(watcher_core)) {
    event_register_ = true;
    return;
  }
  exclusive_ = true;
  monitored_ = &line;
  line.watch_monitor(*this);
}

// Begins to wait; false if there is no need to.
bool Cpu::enter_wfe() {
  if (event_register_ || wfe_deadline_ <= now()) {
    event_register_ = false;
    disarm_monitor();
    return false;
  }
  wait_ = Wait::kHalt;
  halt_started_ = now();
  if (machine_.gate == nullptr) arm(std::min(next_stream_event(), wfe_deadline_));
  return true;
}

void Cpu::wake_by_event(trace::WaitEnd reason) {
  if (!waking_) wfe_end_ = reason;
  wake_from_halt();
}

void Cpu::end_wfe() {
  event_register_ = false;
  machine_.tracer().emit(trace::EventWait{halt_started_, now(), id, wfe_end_});
}

// ERET is an event, and clears the exclusive monitor.
void Cpu::exception_return() {
  if (spec_.arch != Arch::kArm64) return;
  event_register_ = true;
  if (exclusive_) disarm_monitor();
}

Time Cpu::next_stream_event() const {
  if (event_stream_bit_ < 0) return Time::never();
  const std::int64_t half = std::int64_t{1} << event_stream_bit_;
  const std::int64_t count = counter_at(spec_.tsc, now());
  return time_of_counter(spec_.tsc, (count + half) / (2 * half) * (2 * half) + half);
}

}  // namespace idlesim::hw

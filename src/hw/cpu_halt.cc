// Instructions that wait: HLT, MWAIT with its address monitor, WFI, WFE.
#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/hw/core.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

void Cpu::monitor(Word& word) {
  disarm_monitor();
  monitor_triggered_ = !word.line().can_read(watcher_core);
  monitored_ = &word.line();
  monitored_->watch_monitor(*this);
}

void Cpu::disarm_monitor() {
  exclusive_ = false;
  if (monitored_ == nullptr) return;
  Line& line = *monitored_;
  monitored_ = nullptr;
  line.unwatch_monitor(*this);
}

Cpu::Halt Cpu::halt(HaltKind kind, const HaltTiming& timing, SourceLocation where) {
  where_ = where;
  return {*this, kind, timing};
}

// A WFE whose event has come already is over.
bool Cpu::Halt::await_ready() const {
  if (kind != HaltKind::kWfe || !cpu.event_register_) return false;
  cpu.event_register_ = false;
  return true;
}

void Cpu::Halt::await_suspend(std::coroutine_handle<> handle) const {
  if (kind == HaltKind::kWfe && cpu.traps(Exit::kWfe)) {
    cpu.trap({Exit::kWfe, 0}, handle);
    return;
  }
  // An instruction that would not wait does not exit either.
  if ((kind == HaltKind::kHlt || kind == HaltKind::kWfi) && cpu.pending_ == 0 &&
      cpu.traps(Exit::kHlt)) {
    if (kind == HaltKind::kHlt) cpu.irq_enabled_ = true;
    cpu.trap({Exit::kHlt, 0}, handle);
    return;
  }
  cpu.halt_kind_ = kind;
  cpu.halt_timing_ = timing;
  cpu.wfe_deadline_ = deadline;
  cpu.suspend(handle, Wait::kGate);
  if (cpu.machine_.gate != nullptr)
    cpu.op_ = {MemoryOp::Kind::kHalt, AtomicOp::kOr, nullptr, 0, 0, 0};
  else
    cpu.enter_halt();
}

void Cpu::enter_halt() {
  const bool mwait = is_mwait(halt_kind_);
  if (halt_kind_ == HaltKind::kHlt || halt_kind_ == HaltKind::kMwait) irq_enabled_ = true;
  wait_ = Wait::kFinish;
  const bool interrupted = pending_ != 0 && !is_dead(halt_kind_);
  if (interrupted && irq_enabled_) {
    disarm_monitor();
    next_ = Next::kInterrupt;
  } else if (waits_for_event()) {
    if (enter_wfe()) return;
    next_handle_ = handle_;
    next_ = Next::kSwitch;
  } else if (interrupted || (mwait && (monitored_ == nullptr || monitor_triggered_))) {
    disarm_monitor();
    next_handle_ = handle_;
    next_ = Next::kSwitch;
  } else {
    wait_ = Wait::kHalt;
    halt_started_ = now();
    smt_core_->set_depth(physical(), halt_timing_.depth);
    leave_to_siblings(kWholeCore);
  }
}

void Cpu::wake_from_halt() {
  if (waking_) return;
  waking_ = true;
  arm(smt_core_->wake(physical(), halt_timing_, halt_started_));
}

void Cpu::start_up() {
  CHECK(wait_ == Wait::kHalt && is_dead(halt_kind_), "only a CPU that is offline is started");
  pending_ = 0;
  wake_from_halt();
}

void Cpu::monitored_line_lost() {
  monitor_triggered_ = true;
  if (exclusive_) {
    disarm_monitor();
    event();
    return;
  }
  if (wait_ == Wait::kHalt && is_mwait(halt_kind_)) wake_from_halt();
}

}  // namespace idlesim::hw

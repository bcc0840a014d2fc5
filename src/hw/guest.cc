// A guest's CPU on a physical one. It stops at instruction boundaries only: a stretch of
// straight-line code or a relax loop is cut where it is, an access in flight is finished first.
#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

// --- the physical CPU ---

Cpu::RunGuest Cpu::run_guest(Cpu& guest, Time exit, SourceLocation where) {
  CHECK(!irq_enabled_, "a guest is entered with interrupts off");
  where_ = where;
  return {*this, guest, exit};
}

// An interrupt that is pending already ends the guest's time before it has begun.
bool Cpu::RunGuest::await_ready() const {
  if (cpu.pending_ == 0) return false;
  cpu.exit_ = {Exit::kInterrupt, 0};
  return true;
}

void Cpu::RunGuest::await_suspend(std::coroutine_handle<> handle) const {
  cpu.suspend(handle, Wait::kGuest);
  cpu.guest_ = &guest;
  cpu.exit_time_ = exit;
  cpu.next_ = Next::kEnterGuest;
}

void Cpu::guest_left(const ExitInfo& exit) {
  guest_ = nullptr;
  smt_core_->set_depth(*this, 0);
  run_beside_siblings();
  exit_ = exit;
  wait_ = Wait::kFinish;
  arm(now() + exit_time_);
}

// --- the guest's CPU ---

void Cpu::place(CpuId physical) {
  const Machine& machine = machine_.physical();
  watcher_cpu = physical;
  watcher_core = machine.topology().core(physical);
  smt_core_ = &machine_.physical().core(watcher_core);
  transaction_.cpu = store_transaction_.cpu = watcher_cpu;
  transaction_.core = store_transaction_.core = watcher_core;
  transaction_.cluster = store_transaction_.cluster = machine.topology().cluster(physical);
  transaction_.socket = store_transaction_.socket = machine.topology().socket(physical);
}

void Cpu::enter(Cpu& host) {
  CHECK(wait_ == Wait::kPaused, "a guest's CPU executes in one place");
  host_ = &host;
  place(host.id);
  halted_time_ += now() - halt_started_;
  exception_return();
  pace_ = host.pace_;
  if (paused_.wait == Wait::kOff) {
    next_ = Next::kStart;
  } else {
    interrupted_.push_back(paused_);
    if (irq_enabled_ && pending_ != 0)
      start_handler();
    else
      return_to_interrupted();
  }
  trampoline();
}

void Cpu::leave(Wait wait, Time to_next_load) {
  paused_ = {handle_, wait,  to_next_load,       stretch_,
             op_,     spin_, interrupt_arrived_, leaves_on_interrupt_};
  leaves_on_interrupt_ = false;
  wait_ = Wait::kPaused;
  halt_started_ = now();
  stop_ = false;
  disarm_monitor();  // an exit clears the address monitor
  Cpu& host = *host_;
  host_ = nullptr;
  host.guest_left(exit_);
}

// The host wants the CPU back.
void Cpu::stop(Exit reason) {
  if (stop_ || wait_ == Wait::kPaused) return;
  exit_ = {reason, 0};
  switch (wait_) {
    case Wait::kExec:
      settle_stretch();
      engine_.cancel(slot_);
      leave(Wait::kExec, {});
      return;
    case Wait::kSpin:
      if (spin_.watching) {
        spin_skip(spin_next_round() - 1);
        spin_stop_watching();
      }
      machine_.physical().give_up_spin_turn(turn);
      engine_.cancel(slot_);
      leave(Wait::kSpin, spin_round_time(spin_.round + 1) - now());
      return;
    case Wait::kHalt:  // the instruction may end without an event of its own
      if (!waking_) {
        halted_time_ += now() - halt_started_;
        engine_.cancel(slot_);  // the next event of a WFE
        leave(Wait::kRunning, {});
        return;
      }
      break;
    default:
      break;
  }
  stop_ = true;
}

void Cpu::trap(const ExitInfo& exit, std::coroutine_handle<> handle) {
  suspend(handle, Wait::kFinish);
  exit_ = exit;
  next_ = Next::kLeave;
}

bool Cpu::traps(Exit reason) const { return platform != nullptr && platform->traps(*this, reason); }

// --- instructions that may exit ---

Cpu::SendIpi Cpu::send_ipi(CpuId to, Vector vector, SourceLocation where) {
  where_ = where;
  return {*this, to, vector, traps(Exit::kIpi)};
}

bool Cpu::SendIpi::await_ready() const {
  return !trapped && cpu.engine_.try_advance(
                         cpu.now() + cpu.duration_of(cpu.machine_.spec().interrupt.send, 0));
}

void Cpu::SendIpi::await_suspend(std::coroutine_handle<> handle) const {
  if (trapped) {
    cpu.machine_.tracer().emit(
        trace::IpiSent{cpu.now(), cpu.id, to, static_cast<std::uint8_t>(vector)});
    cpu.trap({Exit::kIpi, ipi_argument(to, vector)}, handle);
    return;
  }
  cpu.suspend(handle, Wait::kExec);
  cpu.begin_stretch(cpu.machine_.spec().interrupt.send, 0, false);
}

void Cpu::SendIpi::await_resume() const {
  if (!trapped) cpu.machine_.send_ipi(cpu.id, to, vector);
}

Cpu::ProgramTimer Cpu::program_timer(Time deadline, SourceLocation where) {
  where_ = where;
  return {*this, deadline, traps(Exit::kTimerWrite)};
}

bool Cpu::ProgramTimer::await_ready() const {
  return !trapped &&
         cpu.engine_.try_advance(cpu.now() + cpu.duration_of(cpu.machine_.spec().timer_program, 0));
}

void Cpu::ProgramTimer::await_suspend(std::coroutine_handle<> handle) const {
  if (trapped) {
    cpu.trap({Exit::kTimerWrite, 0}, handle);
    return;
  }
  cpu.suspend(handle, Wait::kExec);
  cpu.begin_stretch(cpu.machine_.spec().timer_program, 0, false);
}

void Cpu::ProgramTimer::await_resume() const {
  const Time time = deadline == Time::never() ? deadline : std::max(deadline, cpu.now());
  cpu.machine_.set_timer(cpu.id, time);
}

}  // namespace idlesim::hw

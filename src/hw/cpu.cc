#include "idlesim/hw/cpu.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "idlesim/base/check.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

Cpu::Cpu(Machine& machine, CpuId cpu_id, CpuId cpu_turn)
    : id(cpu_id),
      turn(cpu_turn),
      machine_(machine),
      spec_(machine.spec().cpu),
      mispredict_(spec_.mispredict),
      gate_(&machine.gate),
      engine_(machine.engine()),
      slot_(engine_.add_slot(fire, this)),
      store_slot_(engine_.add_slot(drained, this)) {
  atomic_ = spec_.atomic;
  const Atomics atomics = machine.spec().coherence.atomics;
  atomics_are_barriers_ = spec_.arch == Arch::kX86_64;
  // The result of a store exclusive is always waited for.
  if (!atomics_are_barriers_ && atomics != Atomics::kLlSc)
    posted_kind_ = MemoryOp::Kind::kPostedAtomic;
  posts_far_ = !atomics_are_barriers_ && atomics == Atomics::kFar;
  place(machine.placement(cpu_id));
  if (!machine.is_guest()) smt_core_->add(*this);
  transaction_.slot = slot_;
  store_transaction_.slot = store_slot_;
}

// --- running and being interrupted ---

void Cpu::boot(Time time, void (*start)(void*), void* object) {
  CHECK(wait_ == Wait::kOff, "a CPU boots once");
  start_ = start;
  start_object_ = object;
  if (machine_.is_guest()) {
    wait_ = Wait::kPaused;
    paused_.wait = Wait::kOff;
  } else {
    arm(time);
  }
}

void Cpu::resume(std::coroutine_handle<> handle) {
  wait_ = Wait::kRunning;
  handle.resume();
  if (next_ != Next::kNothing) trampoline();
}

// What a context asked for when it suspended is done here, after it has left the host's stack.
void Cpu::trampoline() {
  while (next_ != Next::kNothing) {
    const Next next = next_;
    next_ = Next::kNothing;
    switch (next) {
      case Next::kNothing:
        break;
      case Next::kInterrupt:
        begin_interrupt(Wait::kRunning, {});
        break;
      case Next::kInterruptDone:
        end_interrupt();
        break;
      case Next::kSwitch:
        wait_ = Wait::kRunning;
        next_handle_.resume();
        break;
      case Next::kStart:
        wait_ = Wait::kRunning;
        start_(start_object_);
        break;
      case Next::kEnterGuest:
        guest_->enter(*this);
        break;
      case Next::kLeave:
        leave(Wait::kRunning, {});
        break;
    }
  }
}

// An instruction has ended: the boundary at which a pending interrupt is taken.
void Cpu::continue_or_interrupt() {
  if (stop_) [[unlikely]] {
    leave(Wait::kRunning, {});
  } else if (irq_enabled_ && pending_ != 0) {
    begin_interrupt(Wait::kRunning, {});
    trampoline();
  } else {
    resume(handle_);
  }
}

// A memory operation that had to wait has been tried again. A load that leaves its relax loop
// running is an instruction boundary, too.
void Cpu::after_op(bool complete) {
  if (complete) {
    continue_or_interrupt();
  } else if (wait_ == Wait::kSpin && stop_) {
    stop_ = false;
    stop(exit_.reason);
  } else if (wait_ == Wait::kSpin && irq_enabled_ && pending_ != 0) {
    if (spin_.watching) spin_stop_watching();
    begin_interrupt(Wait::kSpin, spin_round_time(spin_.round + 1) - now());
    trampoline();
  }
}

void Cpu::fire(void* cpu) {
  Cpu& self = *static_cast<Cpu*>(cpu);
  switch (self.wait_) {
    case Wait::kExec:
    case Wait::kFinish:
      self.continue_or_interrupt();
      break;
    case Wait::kMemory:
      self.op_.word->line().complete(self.transaction_);
      self.after_op(self.try_op());
      break;
    case Wait::kSpin:
      if (self.spin_.watching) {  // the clock check that ends the loop
        self.spin_skip(self.spin_exit_round() - 1);
        self.spin_stop_watching();
      }
      if (self.machine_.physical().take_spin_turn(self)) self.spin_turn();
      break;
    case Wait::kHalt:
      if (!self.waking_) {
        self.wake_by_event(self.now() >= self.wfe_deadline_ ? trace::WaitEnd::kDeadline
                                                            : trace::WaitEnd::kEventStream);
        break;
      }
      self.waking_ = false;
      self.halted_time_ += self.now() - self.halt_started_;
      self.disarm_monitor();
      if (self.waits_for_event()) self.end_wfe();
      self.run_beside_siblings();
      self.continue_or_interrupt();
      break;
    case Wait::kOff:
      self.run_beside_siblings();
      self.next_ = Next::kStart;
      self.trampoline();
      break;
    case Wait::kRunning:
    case Wait::kDrain:
    case Wait::kGate:
    case Wait::kGuest:
    case Wait::kPaused:
      CHECK(false, "a CPU that waits for no event was fired");
      break;
  }
}

void Cpu::deliver(Vector vector) {
  if (machine_.gate != nullptr)
    machine_.gate->arrived(*this, vector);
  else
    deliver_now(vector, false);
}

void Cpu::deliver_now(Vector vector, bool masked_now) {
  if ((pending_ & bit(vector)) == 0) arrived_[static_cast<int>(vector)] = now();
  pending_ |= bit(vector);
  switch (wait_) {
    case Wait::kExec:
      if (!irq_enabled_) return;
      begin_interrupt(Wait::kExec, {});
      trampoline();
      return;
    case Wait::kSpin: {
      if (!irq_enabled_) return;
      if (spin_.watching) {
        spin_skip(spin_next_round() - 1);
        spin_stop_watching();
      }
      machine_.physical().give_up_spin_turn(turn);
      begin_interrupt(Wait::kSpin, spin_round_time(spin_.round + 1) - now());
      trampoline();
      return;
    }
    case Wait::kHalt:
      if (waits_for_event()) {
        if (irq_enabled_) wake_by_event(trace::WaitEnd::kInterrupt);
      } else if (!is_dead(halt_kind_)) {
        wake_from_halt();
      }
      return;
    case Wait::kGate:
      if (!irq_enabled_ || masked_now) return;
      begin_interrupt(Wait::kGate, {});
      trampoline();
      return;
    case Wait::kGuest:
      guest_->stop(Exit::kInterrupt);
      return;
    default:
      return;  // at the end of the instruction, when interrupts are enabled, or on entry
  }
}

void Cpu::begin_interrupt(Wait wait, Time to_next_load) {
  CHECK(irq_enabled_ && pending_ != 0, "an interrupt is taken only if enabled and pending");
  if (wait != Wait::kRunning) engine_.cancel(slot_);
  if (wait == Wait::kExec) settle_stretch();
  if (wait == Wait::kSpin) run_beside_siblings();
  interrupted_.push_back({handle_, wait, to_next_load, stretch_, op_, spin_, interrupt_arrived_,
                          leaves_on_interrupt_});
  leaves_on_interrupt_ = false;
  start_handler();
}

void Cpu::start_handler() {
  const auto vector = static_cast<Vector>(std::countr_zero(pending_));
  pending_ &= ~bit(vector);
  irq_enabled_ = false;
  interrupt_arrived_ = arrived_[static_cast<int>(vector)];
  wait_ = Wait::kRunning;
  if (handlers_.size() < interrupted_.size()) handlers_.push_back(std::make_unique<sim::Root>());
  handlers_[interrupted_.size() - 1]->start(interrupt_handler(*this, vector), interrupt_done, this);
}

void Cpu::interrupt_done(void* cpu) { static_cast<Cpu*>(cpu)->next_ = Next::kInterruptDone; }

// IRET has restored the interrupt flag of the interrupted code.
void Cpu::end_interrupt() {
  irq_enabled_ = true;
  exception_return();
  if (pending_ != 0) {
    start_handler();
    return;
  }
  return_to_interrupted();
}

void Cpu::return_to_interrupted() {
  const Interrupted back = interrupted_.back();
  interrupted_.pop_back();
  handle_ = back.handle;
  op_ = back.op;
  spin_ = back.spin;
  interrupt_arrived_ = back.arrived;
  switch (back.wait) {
    case Wait::kExec:
      if (back.leaves) {
        exec_left_ = back.stretch.left;
        wait_ = Wait::kRunning;
        handle_.resume();
        break;
      }
      wait_ = Wait::kExec;
      stretch_ = back.stretch;
      resume_stretch();
      break;
    case Wait::kSpin:
      if (spin_.loop.until_interrupt) {
        spin_.timed_out = true;
        wait_ = Wait::kRunning;
        handle_.resume();
        break;
      }
      wait_ = Wait::kSpin;
      // The loop goes on where it was; its next load comes as much later as the handler took.
      spin_apply_pace();
      spin_.base += now() + back.remaining - spin_round_time(spin_.round + 1);
      relax_beside_siblings();
      arm(now() + back.remaining);
      break;
    case Wait::kGate:
      wait_ = Wait::kGate;
      break;
    default:
      wait_ = Wait::kRunning;
      handle_.resume();
      break;
  }
}

Cpu::SwitchTo Cpu::switch_to(std::coroutine_handle<>* saved, std::coroutine_handle<> next,
                             SourceLocation where) {
  where_ = where;
  return {*this, saved, next, nullptr, nullptr};
}

Cpu::SwitchTo Cpu::switch_to_new(std::coroutine_handle<>* saved, void (*start)(void*), void* object,
                                 SourceLocation where) {
  where_ = where;
  return {*this, saved, nullptr, start, object};
}

void Cpu::SwitchTo::await_suspend(std::coroutine_handle<> handle) const {
  CHECK(cpu.interrupted_.empty(), "tasks are not switched inside an interrupt");
  *saved = handle;
  if (start != nullptr) {
    cpu.start_ = start;
    cpu.start_object_ = object;
    cpu.next_ = Next::kStart;
  } else {
    cpu.next_handle_ = next;
    cpu.next_ = Next::kSwitch;
  }
}

}  // namespace idlesim::hw

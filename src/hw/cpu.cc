#include "idlesim/hw/cpu.h"

#include <algorithm>
#include <bit>

#include "idlesim/base/check.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

Cpu::Cpu(Machine& machine, CpuId cpu_id)
    : id(cpu_id),
      machine_(machine),
      spec_(machine.spec().cpu),
      gate_(&machine.gate),
      engine_(machine.engine()),
      slot_(engine_.add_slot(fire, this)),
      store_slot_(engine_.add_slot(drained, this)) {
  watcher_core = machine.topology().core(cpu_id);
  atomic_ = spec_.atomic;
  if (spec_.arch != Arch::kX86_64) {
    posted_kind_ = MemoryOp::Kind::kPostedAtomic;
    posts_far_ = machine.spec().coherence.atomics == Atomics::kFar;
  }
  watcher_cpu = cpu_id;
  transaction_.cpu = store_transaction_.cpu = cpu_id;
  transaction_.core = store_transaction_.core = watcher_core;
  transaction_.slot = slot_;
  store_transaction_.slot = store_slot_;
}

// --- running and being interrupted
// ----------------------------------------------------------------

void Cpu::boot(Time time, void (*start)(void*), void* object) {
  CHECK(wait_ == Wait::kOff, "a CPU boots once");
  start_ = start;
  start_object_ = object;
  arm(time);
}

void Cpu::resume(std::coroutine_handle<> handle) {
  wait_ = Wait::kRunning;
  handle.resume();
  trampoline();
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
    }
  }
}

// An instruction has ended: the boundary at which a pending interrupt is taken.
void Cpu::continue_or_interrupt() {
  if (irq_enabled_ && pending_ != 0) {
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
      if (self.machine_.take_spin_turn(self)) self.spin_turn();
      break;
    case Wait::kHalt:
      self.waking_ = false;
      self.disarm_monitor();
      self.continue_or_interrupt();
      break;
    case Wait::kOff:
      self.next_ = Next::kStart;
      self.trampoline();
      break;
    case Wait::kRunning:
    case Wait::kDrain:
    case Wait::kGate:
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
      begin_interrupt(Wait::kExec, engine_.time_of(slot_) - now());
      trampoline();
      return;
    case Wait::kSpin: {
      if (!irq_enabled_) return;
      if (spin_.watching) {
        spin_skip(spin_next_round() - 1);
        spin_stop_watching();
      }
      machine_.give_up_spin_turn(id);
      begin_interrupt(Wait::kSpin, spin_round_time(spin_.round + 1) - now());
      trampoline();
      return;
    }
    case Wait::kHalt:
      wake_from_halt();
      return;
    case Wait::kGate:
      if (!irq_enabled_ || masked_now) return;
      begin_interrupt(Wait::kGate, {});
      trampoline();
      return;
    default:
      return;  // at the end of the instruction, or when interrupts are enabled
  }
}

void Cpu::begin_interrupt(Wait wait, Time remaining) {
  CHECK(irq_enabled_ && pending_ != 0, "an interrupt is taken only if enabled and pending");
  if (wait != Wait::kRunning) engine_.cancel(slot_);
  interrupted_.push_back({handle_, wait, remaining, op_, spin_, interrupt_arrived_});
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
  if (pending_ != 0) {
    start_handler();
    return;
  }
  const Interrupted back = interrupted_.back();
  interrupted_.pop_back();
  handle_ = back.handle;
  op_ = back.op;
  spin_ = back.spin;
  interrupt_arrived_ = back.arrived;
  switch (back.wait) {
    case Wait::kExec:
      wait_ = Wait::kExec;
      arm(now() + back.remaining);
      break;
    case Wait::kSpin:
      wait_ = Wait::kSpin;
      // The loop goes on where it was; its next load comes as much later as the handler took.
      spin_.base += now() + back.remaining - spin_round_time(spin_.round + 1);
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

// --- memory
// ---------------------------------------------------------------------------------------

// The newest buffered store to the word, if any: its value, or the need to wait for an atomic whose
// result is not known before it executes.
bool Cpu::forwarded(Word& word, std::uint64_t& value, bool& must_drain) const {
  for (std::size_t i = store_buffer_.size(); i-- > store_head_;) {
    const Buffered& entry = store_buffer_[i];
    if (entry.word != &word) continue;
    must_drain = entry.atomic;
    value = entry.operand;
    return true;
  }
  return false;
}

// The line is in the core's cache, but the other thread wrote it last.
Time Cpu::sibling_penalty(Line& line) {
  const CpuId writer = line.last_writer();
  if (writer == id || writer == kNoCpu || machine_.topology().core(writer) != watcher_core)
    return {};
  line.handed_over();
  return machine_.spec().coherence.sibling_transfer;
}

bool Cpu::start_op() {
  const bool buffered = store_head_ < store_buffer_.size();
  switch (op_.kind) {
    case MemoryOp::Kind::kNothing:
    case MemoryOp::Kind::kHalt:
      return true;
    case MemoryOp::Kind::kLoad:
    case MemoryOp::Kind::kLoadForWrite:
    case MemoryOp::Kind::kSpinLoad:
      if (held_at_gate()) return false;
      if (buffered) {
        bool must_drain = false;
        if (forwarded(*op_.word, op_.result, must_drain)) {
          if (must_drain) return wait_for_drain();
          return op_.kind != MemoryOp::Kind::kSpinLoad || spin_loaded({});
        }
      }
      return try_op();
    case MemoryOp::Kind::kAtomic:
    case MemoryOp::Kind::kBarrier:
      if (buffered) return wait_for_drain();
      return !held_at_gate() && try_op();
    case MemoryOp::Kind::kPostedAtomic:
    case MemoryOp::Kind::kStore: {
      const bool posted = op_.kind == MemoryOp::Kind::kPostedAtomic;
      const bool far = posted && machine_.spec().coherence.atomics == Atomics::kFar;
      const bool gated = machine_.gate != nullptr && machine_.gate->gated(op_.word->line());
      if (!buffered && !far && !gated && op_.word->line().can_write(watcher_core)) return try_op();
      if (static_cast<int>(store_buffer_.size() - store_head_) >= spec_.store_buffer_entries)
        return wait_for_drain();
      buffer({op_.word, posted, op_.op, op_.operand});
      return true;
    }
  }
  return true;
}

bool Cpu::held_at_gate() {
  if (machine_.gate == nullptr || gate_open_ || op_.word == nullptr ||
      !machine_.gate->gated(op_.word->line()))
    return false;
  wait_ = Wait::kGate;
  return true;
}

bool Cpu::wait_for_drain() {
  wait_ = Wait::kDrain;
  return false;
}

bool Cpu::try_op() {
  if (op_.kind == MemoryOp::Kind::kBarrier) return finish_op(spec_.barrier);
  Word& word = *op_.word;
  Line& line = word.line();
  if (op_.kind == MemoryOp::Kind::kLoad || op_.kind == MemoryOp::Kind::kSpinLoad) {
    // A load that has waited for its line takes the value that is there when the line arrives,
    // even if another writer is already about to take the line away again.
    if (wait_ != Wait::kMemory && !line.can_read(watcher_core) &&
        !request_line(Request::kGetS, {}))
      return false;
    const Time penalty = sibling_penalty(line);
    op_.result = word.peek();
    if (op_.kind == MemoryOp::Kind::kSpinLoad) return spin_loaded(penalty);
    return finish_op(penalty);
  }
  if (op_.kind == MemoryOp::Kind::kLoadForWrite) {
    if (wait_ != Wait::kMemory && !line.can_write(watcher_core) &&
        !request_line(Request::kGetM, {}))
      return false;
    op_.result = word.peek();
    return finish_op(sibling_penalty(line));
  }
  const bool locked = op_.kind != MemoryOp::Kind::kStore;
  if (wait_ != Wait::kMemory && !line.can_write(watcher_core) &&
      !request_line(Request::kGetM, locked ? spec_.atomic : Time{}))
    return false;
  const Time penalty = sibling_penalty(line);
  op_.result = apply(op_.op, word, op_.operand, op_.expected);
  line.written(id);
  return finish_op(penalty + (locked ? spec_.atomic : Time{}));
}

bool Cpu::request_line(Request request, Time hold) {
  transaction_.request = request;
  transaction_.hold = hold;
  Line& line = op_.word->line();
  if (line.request(transaction_)) {
    // Most often nothing else happens before the line is here: no event is needed.
    if (engine_.try_advance(transaction_.done_at)) {
      line.complete(transaction_);
      return true;
    }
    arm(transaction_.done_at);
  }
  wait_ = Wait::kMemory;
  return false;
}

void Cpu::buffer(const Buffered& entry) {
  if (store_head_ >= 64) {
    store_buffer_.erase(store_buffer_.begin(),
                        store_buffer_.begin() + static_cast<std::ptrdiff_t>(store_head_));
    store_head_ = 0;
  }
  store_buffer_.push_back(entry);
  if (!draining_) drain();
}

// Starts the oldest buffered store; those that hit take effect at once.
void Cpu::drain() {
  draining_ = true;
  for (; store_head_ < store_buffer_.size(); ++store_head_) {
    const Buffered& entry = store_buffer_[store_head_];
    Line& line = entry.word->line();
    drain_held_ = machine_.gate != nullptr && !drain_open_ && machine_.gate->gated(line);
    if (drain_held_) return;
    drain_open_ = false;
    const bool far = entry.atomic && machine_.spec().coherence.atomics != Atomics::kNear;
    if (!line.can_write(watcher_core) ||
        (far && machine_.spec().coherence.atomics == Atomics::kFar)) {
      store_transaction_.request = far ? Request::kFarAtomic : Request::kGetM;
      store_transaction_.hold = {};
      if (line.request(store_transaction_))
        engine_.schedule(store_slot_, store_transaction_.done_at);
      return;
    }
    apply(entry.op, *entry.word, entry.operand, 0);
    line.written(id);
  }
  store_buffer_.clear();
  store_head_ = 0;
  draining_ = false;
}

void Cpu::drained(void* cpu) {
  Cpu& self = *static_cast<Cpu*>(cpu);
  const Buffered& entry = self.store_buffer_[self.store_head_];
  Line& line = entry.word->line();
  line.complete(self.store_transaction_);
  apply(entry.op, *entry.word, entry.operand, 0);
  if (self.store_transaction_.request == Request::kGetM) line.written(self.id);
  ++self.store_head_;
  self.drain();
  if (self.wait_ == Wait::kDrain) self.after_op(self.start_op());
}

// --- waiting instructions
// -------------------------------------------------------------------------

void Cpu::monitor(Word& word) {
  disarm_monitor();
  monitor_triggered_ = !word.line().can_read(watcher_core);
  monitored_ = &word.line();
  monitored_->watch_monitor(*this);
}

void Cpu::disarm_monitor() {
  if (monitored_ == nullptr) return;
  Line& line = *monitored_;
  monitored_ = nullptr;
  line.unwatch_monitor(*this);
}

Cpu::Halt Cpu::halt(HaltKind kind, const HaltTiming& timing, SourceLocation where) {
  where_ = where;
  return {*this, kind, timing};
}

void Cpu::Halt::await_suspend(std::coroutine_handle<> handle) const {
  cpu.halt_kind_ = kind;
  cpu.halt_timing_ = timing;
  cpu.suspend(handle, Wait::kGate);
  if (cpu.machine_.gate != nullptr)
    cpu.op_ = {MemoryOp::Kind::kHalt, AtomicOp::kOr, nullptr, 0, 0, 0};
  else
    cpu.enter_halt();
}

void Cpu::enter_halt() {
  const bool mwait = halt_kind_ == HaltKind::kMwait || halt_kind_ == HaltKind::kMwaitBreak;
  if (halt_kind_ == HaltKind::kHlt || halt_kind_ == HaltKind::kMwait) irq_enabled_ = true;
  wait_ = Wait::kFinish;
  if (pending_ != 0 && irq_enabled_) {
    disarm_monitor();
    next_ = Next::kInterrupt;
  } else if (pending_ != 0 || (mwait && (monitored_ == nullptr || monitor_triggered_))) {
    disarm_monitor();
    next_handle_ = handle_;
    next_ = Next::kSwitch;
  } else {
    wait_ = Wait::kHalt;
    halt_started_ = now();
  }
}

void Cpu::wake_from_halt() {
  if (waking_) return;
  waking_ = true;
  arm(std::max(now(), halt_started_ + halt_timing_.entry) + halt_timing_.exit);
}

void Cpu::monitored_line_lost() {
  monitor_triggered_ = true;
  if (wait_ == Wait::kHalt &&
      (halt_kind_ == HaltKind::kMwait || halt_kind_ == HaltKind::kMwaitBreak))
    wake_from_halt();
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

// --- with a StepGate
// ----------------------------------------------------------------------------------

Cpu::Gated Cpu::gated() const {
  if (wait_ != Wait::kGate) return {};
  if (op_.kind == MemoryOp::Kind::kHalt) return {true, monitored_, false, true};
  const bool reads = op_.kind == MemoryOp::Kind::kLoad || op_.kind == MemoryOp::Kind::kSpinLoad;
  return {true, &op_.word->line(), !reads, false};
}

void Cpu::pass_gate() {
  CHECK(wait_ == Wait::kGate, "the CPU stands at no gate");
  if (op_.kind == MemoryOp::Kind::kHalt) {
    enter_halt();
    trampoline();
    return;
  }
  wait_ = Wait::kRunning;
  gate_open_ = true;
  const bool complete = start_op();
  gate_open_ = false;
  after_op(complete);
}

const Line* Cpu::gated_drain() const {
  return drain_held_ ? &store_buffer_[store_head_].word->line() : nullptr;
}

void Cpu::pass_drain() {
  CHECK(drain_held_, "no store waits at the gate");
  drain_open_ = true;
  drain();
  if (wait_ == Wait::kDrain) after_op(start_op());
}

const Line* Cpu::gated_deadline() const {
  return wait_ == Wait::kSpin && spin_.watching && spin_.deadline_gated ? &spin_.word->line()
                                                                        : nullptr;
}

void Cpu::pass_deadline() {
  CHECK(gated_deadline() != nullptr, "no deadline waits at the gate");
  spin_stop_watching();
  spin_.timed_out = true;
  continue_or_interrupt();
}

// --- story
// ----------------------------------------------------------------------------------------

std::string Cpu::story() const {
  if (wait_ == Wait::kOff) return {};
  const std::string file = where_.file;
  std::string text = file.substr(file.rfind('/') + 1) + ":" + std::to_string(where_.line) + " " +
                     where_.function + "(), ";
  const auto line_of = [this](const Word* word) {
    return machine_.line_names()[word->line().name()];
  };
  switch (wait_) {
    case Wait::kOff:
    case Wait::kRunning:
      text += "running";
      break;
    case Wait::kExec:
    case Wait::kFinish:
      text += "executing";
      break;
    case Wait::kMemory:
      text += "waiting for line " + line_of(op_.word);
      break;
    case Wait::kDrain:
      text += "waiting for its store buffer";
      break;
    case Wait::kSpin:
      text += "spinning on " + line_of(spin_.word);
      break;
    case Wait::kGate:
      text += op_.word != nullptr ? "about to access line " + line_of(op_.word)
                                  : std::string("about to halt");
      break;
    case Wait::kHalt:
      text += monitored_ != nullptr
                  ? "asleep, monitoring " + machine_.line_names()[monitored_->name()]
                  : std::string("asleep");
      break;
  }
  text += irq_enabled_ ? ", interrupts on" : ", interrupts off";
  for (int vector = 0; vector < kVectors; ++vector)
    if (pending_ >> vector & 1)
      text += std::string(", pending ") + to_string(static_cast<Vector>(vector));
  return text;
}

}  // namespace idlesim::hw

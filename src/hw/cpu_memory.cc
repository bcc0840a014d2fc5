// Memory accesses of a CPU: the store buffer, and waiting for lines.
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

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
  if (!line.sibling_wrote(watcher_core, watcher_cpu)) return {};
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
    case MemoryOp::Kind::kLoadExclusive:
    case MemoryOp::Kind::kSpinLoad:
      if (held_at_gate()) return false;
      if (buffered) {
        bool must_drain = false;
        if (forwarded(*op_.word, op_.result, must_drain)) {
          if (must_drain || op_.kind == MemoryOp::Kind::kLoadExclusive) return wait_for_drain();
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
  if (op_.kind == MemoryOp::Kind::kLoad || op_.kind == MemoryOp::Kind::kSpinLoad ||
      op_.kind == MemoryOp::Kind::kLoadExclusive) {
    // A load that has waited for its line takes the value that is there when the line arrives,
    // even if another writer is already about to take the line away again.
    if (wait_ != Wait::kMemory && !line.can_read(watcher_core) && !request_line(Request::kGetS, {}))
      return false;
    const Time penalty = sibling_penalty(line);
    op_.result = word.peek();
    if (op_.kind == MemoryOp::Kind::kSpinLoad) return spin_loaded(penalty);
    if (op_.kind == MemoryOp::Kind::kLoadExclusive) arm_exclusive(line);
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
  line.written(watcher_cpu, watcher_core);
  return finish_op(penalty + (locked ? spec_.atomic : Time{}));
}

bool Cpu::request_line(Request request, Time hold) {
  transaction_.request = request;
  transaction_.hold = hold;
  if (op_.word->line().request(transaction_, true)) return true;
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
    const Atomics atomics = machine_.spec().coherence.atomics;
    const bool far =
        entry.atomic && (atomics == Atomics::kFarUnlessUnique || atomics == Atomics::kFar);
    if (!line.can_write(watcher_core) || (far && atomics == Atomics::kFar)) {
      store_transaction_.request = far ? Request::kFarAtomic : Request::kGetM;
      store_transaction_.hold = {};
      line.request(store_transaction_, false);
      return;
    }
    apply(entry.op, *entry.word, entry.operand, 0);
    line.written(watcher_cpu, watcher_core);
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
  if (self.store_transaction_.request == Request::kGetM)
    line.written(self.watcher_cpu, self.watcher_core);
  ++self.store_head_;
  self.drain();
  if (self.wait_ == Wait::kDrain) self.after_op(self.start_op());
}

}  // namespace idlesim::hw

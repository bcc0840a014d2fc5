// What the members of Cpu return to be awaited. Included by cpu.h; apart, because the class is
// easier to read without.
#ifndef IDLESIM_HW_CPU_AWAITERS_H_
#define IDLESIM_HW_CPU_AWAITERS_H_

#include <coroutine>
#include <cstdint>

#include "idlesim/hw/cpu.h"

namespace idlesim::hw {

struct Cpu::Exec {
  Cpu& cpu;
  Time time;
  std::uint32_t indirect_branches = 0;
  bool await_ready() const {
    return cpu.engine_.try_advance(cpu.now() + cpu.duration_of(time, indirect_branches));
  }
  void await_suspend(std::coroutine_handle<> handle) const {
    cpu.suspend(handle, Wait::kExec);
    cpu.begin_stretch(time, indirect_branches, false);
  }
  void await_resume() const {}
};

struct Cpu::ExecUntilInterrupt {
  Cpu& cpu;
  Time time;
  bool await_ready() const {
    cpu.exec_left_ = {};
    return cpu.engine_.try_advance(cpu.now() + cpu.duration_of(time, 0));
  }
  void await_suspend(std::coroutine_handle<> handle) const {
    cpu.leaves_on_interrupt_ = true;
    cpu.suspend(handle, Wait::kExec);
    cpu.begin_stretch(time, 0, false);
  }
  Time await_resume() const {
    cpu.leaves_on_interrupt_ = false;
    return cpu.exec_left_;
  }
};

struct Cpu::LoggedExec : Cpu::Exec {
  void await_suspend(std::coroutine_handle<> handle) const {
    cpu.suspend(handle, Wait::kExec);
    cpu.begin_stretch(time, indirect_branches, true);
  }
};

struct Cpu::WriteSpecCtrl {
  Cpu& cpu;
  std::uint64_t value;
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> handle) const { cpu.handle_ = handle; }
  void await_resume() const { cpu.spec_ctrl_written(value); }
};

// Accesses that hit and disturb nobody are executed right here; start_op() does the others. The
// awaiters are small because a coroutine keeps them in its frame.
struct Cpu::MemoryAwaiter {
  Cpu& cpu;
  Word* word;

  bool hits_for_write() const {
    return word->line().hits_for_write(cpu.watcher_core, cpu.watcher_cpu);
  }
  void written() const { word->line().written_unwatched(cpu.watcher_cpu, cpu.watcher_core); }
  bool slow(const MemoryOp& op) const {
    cpu.op_ = op;
    return cpu.start_op();
  }
  // Nothing is in the way of asking for the line.
  bool miss(const MemoryOp& op) const {
    cpu.op_ = op;
    return cpu.try_op();
  }
  void await_suspend(std::coroutine_handle<> handle) const { cpu.handle_ = handle; }
};

struct Cpu::Load : Cpu::MemoryAwaiter {
  bool await_ready() const {
    const MemoryOp op{MemoryOp::Kind::kLoad, AtomicOp::kOr, word, 0, 0, 0};
    if (!cpu.plain()) return slow(op);
    if (!word->line().hits(cpu.watcher_core, cpu.watcher_cpu)) return miss(op);
    cpu.op_.result = word->peek();
    return true;
  }
  std::uint64_t await_resume() const { return cpu.op_.result; }
};

struct Cpu::LoadForWrite : Cpu::MemoryAwaiter {
  bool await_ready() const {
    const MemoryOp op{MemoryOp::Kind::kLoadForWrite, AtomicOp::kOr, word, 0, 0, 0};
    if (!cpu.plain()) return slow(op);
    if (!word->line().hits_own(cpu.watcher_core, cpu.watcher_cpu)) return miss(op);
    cpu.op_.result = word->peek();
    return true;
  }
  std::uint64_t await_resume() const { return cpu.op_.result; }
};

struct Cpu::LoadExclusive : Cpu::MemoryAwaiter {
  bool await_ready() const {
    return slow({MemoryOp::Kind::kLoadExclusive, AtomicOp::kOr, word, 0, 0, 0});
  }
  std::uint64_t await_resume() const { return cpu.op_.result; }
};

struct Cpu::Store : Cpu::MemoryAwaiter {
  std::uint64_t value;
  bool await_ready() const {
    if (!cpu.plain() || !hits_for_write())
      return slow({MemoryOp::Kind::kStore, AtomicOp::kXchg, word, value, 0, 0});
    word->poke(value);
    written();
    return true;
  }
  void await_resume() const {}
};

struct Cpu::Atomic : Cpu::MemoryAwaiter {
  std::uint64_t operand;
  std::uint64_t expected;
  AtomicOp op;
  bool await_ready() const {
    const MemoryOp access{MemoryOp::Kind::kAtomic, op, word, operand, expected, 0};
    if (!cpu.plain()) return slow(access);
    if (!hits_for_write()) return miss(access);
    cpu.op_.result = apply(op, *word, operand, expected);
    written();
    return cpu.finish_op(cpu.atomic_);
  }
  std::uint64_t await_resume() const { return cpu.op_.result; }
};

struct Cpu::PostedAtomic : Cpu::MemoryAwaiter {
  std::uint64_t operand;
  AtomicOp op;
  bool await_ready() const {
    if (!cpu.plain() || cpu.posts_far_ || !hits_for_write())
      return slow({cpu.posted_kind_, op, word, operand, 0, 0});
    apply(op, *word, operand, 0);
    written();
    return cpu.finish_op(cpu.atomic_);
  }
  void await_resume() const {}
};

// A barrier instruction, a locked read-modify-write in its place, or nothing.
struct Cpu::Barrier {
  Cpu& cpu;
  MemoryOp::Kind kind;
  Word* word = nullptr;
  bool await_ready() const {
    if (kind == MemoryOp::Kind::kNothing) return true;
    if (word != nullptr) return PostedAtomic{{cpu, word}, 0, AtomicOp::kAdd}.await_ready();
    cpu.op_ = {kind, AtomicOp::kOr, nullptr, 0, 0, 0};
    return cpu.start_op();
  }
  void await_suspend(std::coroutine_handle<> handle) const { cpu.handle_ = handle; }
  void await_resume() const {}
};

struct Cpu::IrqEnable {
  Cpu& cpu;
  bool await_ready() const {
    cpu.irq_enabled_ = true;
    return cpu.pending_ == 0;
  }
  void await_suspend(std::coroutine_handle<> handle) const {
    cpu.suspend(handle, Wait::kFinish);
    cpu.next_ = Next::kInterrupt;
  }
  void await_resume() const {}
};

struct Cpu::Spin {
  Cpu& cpu;
  bool await_ready() const { return cpu.spin_begin(); }
  void await_suspend(std::coroutine_handle<> handle) const { cpu.handle_ = handle; }
  bool await_resume() const { return !cpu.spin_.timed_out; }
};

struct Cpu::Halt {
  Cpu& cpu;
  HaltKind kind;
  HaltTiming timing;
  Time deadline = Time::never();  // of WFET
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> handle) const;
  void await_resume() const {}
};

struct Cpu::SendIpi {
  Cpu& cpu;
  CpuId to;
  Vector vector;
  bool trapped;
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> handle) const;
  void await_resume() const;
};

struct Cpu::ProgramTimer {
  Cpu& cpu;
  Time deadline;
  bool trapped;
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> handle) const;
  void await_resume() const;
};

struct Cpu::RunGuest {
  Cpu& cpu;
  Cpu& guest;
  Time exit;
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> handle) const;
  ExitInfo await_resume() const { return cpu.exit_; }
};

struct Cpu::SwitchTo {
  Cpu& cpu;
  std::coroutine_handle<>* saved;
  std::coroutine_handle<> next;
  void (*start)(void*);
  void* object;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) const;
  void await_resume() const {}
};

inline Cpu::Exec Cpu::exec(const PathCost& cost, SourceLocation where) {
  where_ = where;
  instructions_ += cost.instructions;
  return {*this, cost.time, cost.indirect_branches};
}

inline Cpu::Exec Cpu::exec_time(Time time, SourceLocation where) {
  where_ = where;
  return {*this, time};
}

inline Cpu::ExecUntilInterrupt Cpu::exec_until_interrupt(Time time, SourceLocation where) {
  where_ = where;
  return {*this, time};
}

inline Cpu::IrqEnable Cpu::local_irq_enable(SourceLocation where) {
  where_ = where;
  return {*this};
}

inline Cpu::Load Cpu::load(Word& word, SourceLocation where) {
  where_ = where;
  return {{*this, &word}};
}

inline Cpu::LoadForWrite Cpu::load_for_write(Word& word, SourceLocation where) {
  where_ = where;
  return {{*this, &word}};
}

inline Cpu::LoadExclusive Cpu::load_exclusive(Word& word, SourceLocation where) {
  where_ = where;
  return {{*this, &word}};
}

inline Cpu::Store Cpu::store(Word& word, std::uint64_t value, SourceLocation where) {
  where_ = where;
  return {{*this, &word}, value};
}

inline Cpu::Atomic Cpu::atomic(AtomicOp op, Word& word, std::uint64_t operand,
                               std::uint64_t expected, SourceLocation where) {
  where_ = where;
  return {{*this, &word}, operand, expected, op};
}

inline Cpu::PostedAtomic Cpu::posted_atomic(AtomicOp op, Word& word, std::uint64_t operand,
                                            SourceLocation where) {
  where_ = where;
  return {{*this, &word}, operand, op};
}

inline Cpu::Barrier Cpu::barrier(SourceLocation where) {
  where_ = where;
  return {*this, MemoryOp::Kind::kBarrier};
}

inline Cpu::Barrier Cpu::locked_barrier(Word& word, SourceLocation where) {
  where_ = where;
  return {*this, MemoryOp::Kind::kAtomic, &word};
}

inline Cpu::Barrier Cpu::barrier_after_atomic(SourceLocation where) {
  if (!atomics_are_barriers_) return barrier(where);
  return {*this, MemoryOp::Kind::kNothing};
}

inline std::uint64_t Cpu::apply(AtomicOp op, Word& word, std::uint64_t operand,
                                std::uint64_t expected) {
  const std::uint64_t old = word.peek();
  switch (op) {
    case AtomicOp::kAnd:
      word.poke(old & operand);
      break;
    case AtomicOp::kOr:
      word.poke(old | operand);
      break;
    case AtomicOp::kAdd:
      word.poke(old + operand);
      break;
    case AtomicOp::kXchg:
      word.poke(operand);
      break;
    case AtomicOp::kCmpxchg:
      if (old == expected) word.poke(operand);
      break;
  }
  return old;
}

// The operation has taken effect; the instruction lasts `tail` more. True: it is over.
inline bool Cpu::finish_op(Time tail) {
  if (tail == Time{} || engine_.try_advance(now() + tail)) return true;
  wait_ = Wait::kFinish;
  arm(now() + tail);
  return false;
}

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_CPU_AWAITERS_H_

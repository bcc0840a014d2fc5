// A hardware thread as software sees it: straight-line execution, memory accesses, the interrupt
// flag, the address monitor, and the instructions that wait.
//
// All code of a CPU is coroutines that await the members below. An await is the only place where
// simulated time passes; at its end a pending interrupt is taken if interrupts are enabled, so code
// that runs with interrupts enabled never has one pending.
//
// Stores that miss go to a store buffer that drains in order; loads look into it first. Locked
// read-modify-writes on x86 and barriers everywhere wait until it is empty. On arm64 an atomic
// whose result nobody uses is posted to the buffer like a store: it orders nothing by itself. Not
// modelled: reordering of stores among themselves (arm64 allows it), speculation.
#ifndef IDLESIM_HW_CPU_H_
#define IDLESIM_HW_CPU_H_

#include <coroutine>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "idlesim/base/source_location.h"
#include "idlesim/base/types.h"
#include "idlesim/hw/coherence.h"
#include "idlesim/hw/core.h"
#include "idlesim/hw/interrupt.h"
#include "idlesim/hw/platform.h"
#include "idlesim/sim/co.h"
#include "idlesim/sim/engine.h"

namespace idlesim::hw {

class Machine;
class StepGate;
struct CpuSpec;

// Straight-line code: how long it takes on this machine with the core to itself and its branches
// predicted, and what it executes.
struct PathCost {
  Time time;
  std::uint32_t instructions = 0;
  std::uint32_t indirect_branches = 0;
};

enum class AtomicOp : std::uint8_t { kAnd, kOr, kAdd, kXchg, kCmpxchg };

// What the waiting instructions have in common and how they differ (kernel-paths 1.5, "who wakes
// what").
enum class HaltKind : std::uint8_t {
  kHlt,         // STI;HLT: interrupts enabled, taken on wake
  kMwait,       // STI;MWAIT with ECX[0]=0: the monitored line or an enabled interrupt
  kMwaitBreak,  // MWAIT with ECX[0]=1 and IF=0: also a masked interrupt, which stays pending
  kWfi,         // any pending interrupt, masked or not
  kWfe,         // WFE, WFET: see Cpu::wfe()
  kMwaitDead,   // MWAIT with ECX[0]=0 and IF=0: the monitored line, or INIT
  kHltDead,     // HLT with IF=0: INIT only
};
constexpr bool is_mwait(HaltKind kind) {
  return kind == HaltKind::kMwait || kind == HaltKind::kMwaitBreak || kind == HaltKind::kMwaitDead;
}
constexpr bool is_dead(HaltKind kind) {
  return kind == HaltKind::kMwaitDead || kind == HaltKind::kHltDead;
}

struct HaltTiming {
  Time entry;     // from the instruction until asleep; a wake-up in between waits for it
  Time exit;      // from the wake-up event to the next instruction
  int depth = 1;  // of the state in the machine's table, 1 the shallowest
};

// One round of a relax loop: `while ((load & mask) == 0 or != 0) relax;` with a clock check every
// `check_every` rounds (0: never), as in poll_idle().
struct SpinLoop {
  std::uint64_t mask = 0;
  bool while_set = false;  // true: spin while a bit of the mask is set; false: while none is
  Time period;             // one round: load, test, PAUSE
  Time pause;              // of that, waiting in PAUSE
  std::uint32_t instructions = 0;  // of one round
  std::uint32_t check_every = 0;
  Time check_time;  // what a clock check adds to its round
  std::uint32_t check_instructions = 0;
  Time deadline = Time::never();  // leave at the first check later than this
  bool until_interrupt = false;   // leave after an interrupt that was taken inside, as if timed out
};

class Cpu final : public Watcher {
 public:
  // `turn`: its place among all CPUs of the physical machine, guests' included.
  Cpu(Machine& machine, CpuId id, CpuId turn);
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  const CpuId id;
  const CpuId turn;
  CoreId core() const { return watcher_core; }
  Machine& machine() const { return machine_; }
  const CpuSpec& spec() const { return spec_; }
  Time now() const { return engine_.now(); }

  // The operating system's per-CPU data and its interrupt entry point.
  void* os = nullptr;
  sim::Co<> (*interrupt_handler)(Cpu& cpu, Vector vector) = nullptr;

  // --- awaitables ---

  struct Exec;
  // Straight-line code. Interrupts, if enabled, are taken inside.
  Exec exec(const PathCost& cost, SourceLocation where = SourceLocation::current());
  Exec exec_time(Time time, SourceLocation where = SourceLocation::current());
  struct ExecUntilInterrupt;
  // Straight-line code that is left when an interrupt has been handled: what remains of `time`. For
  // code that runs at the mercy of who handles interrupts: a program, a guest.
  ExecUntilInterrupt exec_until_interrupt(Time time,
                                          SourceLocation where = SourceLocation::current());
  struct LoggedExec;
  // The same; every change of its pace, interruptions included, is appended to the CPU's log, which
  // is empty when it begins.
  LoggedExec exec_logged(const PathCost& cost, SourceLocation where = SourceLocation::current());
  const std::vector<PacePoint>& pace_log() const { return pace_log_; }

  struct Load;
  struct LoadForWrite;
  struct Store;
  struct Atomic;
  struct PostedAtomic;
  struct Barrier;
  Load load(Word& word, SourceLocation where = SourceLocation::current());
  // Returns at once unless the buffer is full; the value becomes visible when the line is here.
  Store store(Word& word, std::uint64_t value, SourceLocation where = SourceLocation::current());
  // Value-returning read-modify-write: the old value. A full barrier on x86.
  Atomic atomic(AtomicOp op, Word& word, std::uint64_t operand, std::uint64_t expected = 0,
                SourceLocation where = SourceLocation::current());
  // Read-modify-write without a result (set_bit, clear_bit): a full barrier on x86 only.
  PostedAtomic posted_atomic(AtomicOp op, Word& word, std::uint64_t operand,
                             SourceLocation where = SourceLocation::current());
  // smp_mb(): waits for the store buffer and costs a barrier. On x86 after a locked instruction
  // Linux has none (smp_mb__after_atomic is empty there): see Kernel.
  Barrier barrier(SourceLocation where = SourceLocation::current());

  // smp_mb() as x86 has it: a locked add of nothing to a word of the stack.
  Barrier locked_barrier(Word& word, SourceLocation where = SourceLocation::current());
  // smp_mb__after_atomic(): empty on x86, where the atomic was a full barrier already.
  Barrier barrier_after_atomic(SourceLocation where = SourceLocation::current());
  // A load that asks for the line to write it, because a store to it follows at once.
  LoadForWrite load_for_write(Word& word, SourceLocation where = SourceLocation::current());

  struct IrqEnable;
  // STI, local_irq_enable(): takes what is pending before anything else.
  IrqEnable local_irq_enable(SourceLocation where = SourceLocation::current());
  void local_irq_disable() { irq_enabled_ = false; }
  bool irqs_enabled() const { return irq_enabled_; }
  std::uint32_t pending() const { return pending_; }

  struct Spin;
  // True: the condition ended the loop. False: the deadline did.
  Spin spin(Word& word, const SpinLoop& loop, SourceLocation where = SourceLocation::current());

  // MONITOR: arms the address monitor on the word's line (await the load it implies first).
  void monitor(Word& word);
  void disarm_monitor();

  struct Halt;
  Halt halt(HaltKind kind, const HaltTiming& timing,
            SourceLocation where = SourceLocation::current());

  // --- arm64: the event register (src/hw/event.cc)

  struct LoadExclusive;
  // LDXR: also arms the exclusive monitor on the word's line. That another core takes the line away
  // or the home executes an atomic on it sets the event register, once. (A load: the line comes
  // shared.)
  LoadExclusive load_exclusive(Word& word, SourceLocation where = SourceLocation::current());
  // SEVL: sets this CPU's event register.
  void sevl() { event_register_ = true; }
  // SEV, as it reaches this CPU; Machine::send_event() is the instruction.
  void event();
  // WFE: returns at once if the event register is set, which clears it; otherwise waits for an
  // event, an interrupt that is enabled, or the event stream. One that is masked does not end it
  // (Arm, A32 instructions, WFE: "an IRQ interrupt, unless masked"; assumed for A64). WFET: also
  // ends when the counter reaches `deadline`, if that has not passed when it begins to wait.
  Halt wfe(const HaltTiming& timing, Time deadline = Time::never(),
           SourceLocation where = SourceLocation::current());
  // CNTKCTL_EL1: an event whenever this bit of the counter goes from 0 to 1; -1: none.
  void set_event_stream(int bit) { event_stream_bit_ = bit; }

  struct WriteSpecCtrl;
  // WRMSR to SPEC_CTRL, with interrupts off; in force when it is over.
  WriteSpecCtrl write_spec_ctrl(std::uint64_t value,
                                SourceLocation where = SourceLocation::current());
  std::uint64_t spec_ctrl() const { return spec_ctrl_; }

  struct SwitchTo;
  // Leaves the running context and continues `next` (a suspended context of this CPU), storing the
  // handle with which the left one can be continued in `*saved`.
  SwitchTo switch_to(std::coroutine_handle<>* saved, std::coroutine_handle<> next,
                     SourceLocation where = SourceLocation::current());
  // The same, starting a new context: `start(object)` is called once this one has been left.
  SwitchTo switch_to_new(std::coroutine_handle<>* saved, void (*start)(void*), void* object,
                         SourceLocation where = SourceLocation::current());

  struct SendIpi;
  // ICR write, SGI1R write.
  SendIpi send_ipi(CpuId to, Vector vector, SourceLocation where = SourceLocation::current());
  struct ProgramTimer;
  // Sets the deadline of this CPU's timer; Time::never(): none.
  ProgramTimer program_timer(Time deadline, SourceLocation where = SourceLocation::current());

  // --- virtualisation (src/hw/guest.cc)

  // Of a guest's CPU; nullptr on bare metal.
  Platform* platform = nullptr;
  struct RunGuest;
  // Lets `guest` execute on this CPU until it exits or an interrupt arrives here; returns why it
  // stopped, `exit` after it did. Interrupts are off.
  RunGuest run_guest(Cpu& guest, Time exit, SourceLocation where = SourceLocation::current());
  // A guest's CPU, while it executes: leaves at the next instruction boundary.
  void stop(Exit reason);
  // The physical CPU that a guest's CPU executes on; nullptr while it stands still.
  Cpu* host() const { return host_; }

  // --- from outside ---

  // Runs `start(object)`, which starts the CPU's first context, at `time`.
  void boot(Time time, void (*start)(void*), void* object);
  // An interrupt has arrived at this CPU's controller.
  void deliver(Vector vector);
  // INIT and the start-up interrupt: ends the halt of a CPU that is offline (kMwaitDead, kHltDead).
  void start_up();
  // SPEC_CTRL as the boot code left it; no instruction of the model.
  void reset_spec_ctrl(std::uint64_t value);

  // --- with a StepGate only

  // Stands before a step: an access to `line`, or a halt (then the monitored line, if any).
  struct Gated {
    bool here = false;
    const Line* line = nullptr;
    bool writes = false;
    bool halts = false;
  };
  Gated gated() const;
  void pass_gate();
  // The line that the oldest buffered store waits to be written to, or nullptr.
  const Line* gated_drain() const;
  void pass_drain();
  // The line of the relax loop, or of the exclusive monitor of a WFE, whose deadline waits to pass,
  // or nullptr.
  const Line* gated_deadline() const;
  void pass_deadline();
  // Whether the CPU waits in WFE, so that the event stream may end it.
  bool gated_event() const { return wait_ == Wait::kHalt && waits_for_event() && !waking_; }
  void pass_event() { wake_by_event(trace::WaitEnd::kEventStream); }
  // `masked_now`: the CPU stands at a gate and takes the interrupt after the step, not before it.
  void deliver_now(Vector vector, bool masked_now);

  void spin_line_lost() override;
  void monitored_line_lost() override;

  // What the CPU is executing and what it waits for, for people: "idle.cc:42 poll_idle, spinning on
  // TIF".
  std::string story() const;
  // Executed so far, the rounds of a relax loop that is being skipped included.
  std::uint64_t instructions() const;
  // How long it has been in HLT, MWAIT or WFI so far, entry and exit included; a guest's CPU also
  // while it did not execute. Core cycles do not count there (kernel-paths 8.7).
  Time halted_time() const {
    const bool stands = halted() || wait_ == Wait::kPaused;
    return halted_time_ + (stands ? now() - halt_started_ : Time{});
  }
  // When the interrupt now being handled became pending.
  Time interrupt_arrived() const { return interrupt_arrived_; }
  // True while a context of this CPU is suspended in HLT, MWAIT, WFI or WFE.
  bool halted() const { return wait_ == Wait::kHalt; }
  Core& smt_core() const { return *smt_core_; }

  // Of the awaitables above.
  struct MemoryAwaiter;

 private:
  enum class Wait : std::uint8_t {
    kRunning,  // its code is on the host's stack right now
    kOff,      // no context yet
    kExec,     // straight-line code, interruptible if irq_enabled_
    kFinish,   // the tail of an instruction: not interruptible
    kMemory,   // a request to a line
    kDrain,    // for the store buffer
    kSpin,
    kHalt,
    kGate,    // at the StepGate
    kGuest,   // a guest executes on it
    kPaused,  // a guest's CPU that does not execute
  };
  enum class Next : std::uint8_t {
    kNothing,
    kInterrupt,
    kInterruptDone,
    kSwitch,
    kStart,
    kEnterGuest,
    kLeave,
  };
  struct MemoryOp {
    enum class Kind : std::uint8_t {
      kNothing,
      kLoad,
      kLoadForWrite,
      kLoadExclusive,
      kAtomic,
      kBarrier,
      kPostedAtomic,
      kStore,
      kSpinLoad,
      kHalt,
    };
    Kind kind = Kind::kLoad;
    AtomicOp op = AtomicOp::kOr;
    Word* word = nullptr;
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
    std::uint64_t result = 0;
  };
  struct Buffered {
    Word* word;
    bool atomic;
    AtomicOp op;
    std::uint64_t operand;
  };
  struct Spinning {
    Word* word = nullptr;
    SpinLoop loop;
    Time base;                // of the last load
    std::uint64_t round = 0;  // its number within a block of check_every rounds
    bool watching = false;    // told if the line is lost; otherwise the next event is a load
    bool timed_out = false;
    bool deadline_gated = false;
    Time code;   // of a round, besides PAUSE, and of a clock check, with the core to itself:
    Time check;  // what loop.period and loop.check_time come from at the present pace
  };

  // What an interrupt or an exit has stopped: a stretch, or a loop with the time to its next load.
  struct Interrupted {
    std::coroutine_handle<> handle;
    Wait wait;
    Time remaining;
    Stretch stretch;
    MemoryOp op;
    Spinning spin;
    Time arrived;
    bool leaves = false;  // ExecUntilInterrupt
  };

  static void fire(void* cpu);
  static void drained(void* cpu);
  void resume(std::coroutine_handle<> handle);
  void trampoline();
  void continue_or_interrupt();
  void after_op(bool complete);
  void suspend(std::coroutine_handle<> handle, Wait wait) {
    handle_ = handle;
    wait_ = wait;
  }
  void arm(Time time) { engine_.schedule(slot_, time); }
  void enter_halt();
  void wake_from_halt();
  bool waits_for_event() const { return halt_kind_ == HaltKind::kWfe; }
  bool enter_wfe();
  void wake_by_event(trace::WaitEnd reason);
  void end_wfe();
  void exception_return();
  void arm_exclusive(Line& line);
  Time next_stream_event() const;
  void begin_interrupt(Wait wait, Time to_next_load);
  void start_handler();
  void end_interrupt();
  void return_to_interrupted();
  static void interrupt_done(void* cpu);

  void place(CpuId physical);
  void enter(Cpu& host);
  void leave(Wait wait, Time to_next_load);
  void guest_left(const ExitInfo& exit);
  void trap(const ExitInfo& exit, std::coroutine_handle<> handle);
  bool traps(Exit reason) const;

  // Each returns true if the operation is complete now; otherwise wait_ says what it waits for.
  bool start_op();
  // Nothing stands between an access and its line: no buffered stores, no gate.
  bool plain() const { return !draining_ && *gate_ == nullptr; }
  bool held_at_gate();
  bool wait_for_drain();
  bool try_op();
  bool request_line(Request request, Time hold);
  bool finish_op(Time tail);
  static std::uint64_t apply(AtomicOp op, Word& word, std::uint64_t operand,
                             std::uint64_t expected);
  Time sibling_penalty(Line& line);
  bool forwarded(Word& word, std::uint64_t& value, bool& must_drain) const;
  void buffer(const Buffered& entry);
  void drain();

  // Sharing a core (smt.cc).
  friend class Core;
  Cpu& physical() { return host_ != nullptr ? *host_ : *this; }
  Time duration_of(Time work, std::uint32_t indirect_branches) const {
    if (pace_ == Pace{}) return work;
    return duration(work, {work, work, {}, indirect_branches}, pace_, mispredict_);
  }
  void begin_stretch(Time work, std::uint32_t indirect_branches, bool logged);
  void settle_stretch();
  void resume_stretch();
  void set_pace(const Pace& pace);
  void leave_to_siblings(Share share) {
    if (smt_core_->shared()) smt_core_->set_beside(physical(), share);
  }
  void run_beside_siblings() { leave_to_siblings(smt_core_->beside_running()); }
  void relax_beside_siblings() {
    if (smt_core_->shared())
      leave_to_siblings(share_beside_loop(spec_, spin_.code, spin_.loop.pause));
  }
  void spec_ctrl_written(std::uint64_t value);
  void spin_apply_pace();
  void spin_pace_changed();

  friend class Machine;  // gives relax loops their turn
  bool spin_begin();
  bool spin_loaded(Time penalty);
  Time spin_round_time(std::uint64_t round) const;
  std::uint64_t spin_round_at(Time time) const;
  std::uint64_t spin_exit_round() const;
  std::uint64_t spin_next_round() const;
  static std::uint64_t spin_instructions(const Spinning& spin, std::uint64_t to);
  void spin_skip(std::uint64_t to);
  void spin_plan();
  void spin_stop_watching();
  void spin_turn();

  Machine& machine_;
  const CpuSpec& spec_;
  Core* smt_core_ = nullptr;  // of the physical CPU
  Pace pace_;
  Stretch stretch_;
  Time mispredict_;  // spec_.mispredict
  std::uint64_t spec_ctrl_ = 0;
  std::vector<PacePoint> pace_log_;
  StepGate* const* gate_;
  sim::Engine& engine_;
  sim::SlotId slot_;
  sim::SlotId store_slot_;
  Wait wait_ = Wait::kOff;
  Next next_ = Next::kNothing;
  bool irq_enabled_ = false;
  bool monitor_triggered_ = false;
  bool waking_ = false;
  bool leaves_on_interrupt_ = false;
  bool draining_ = false;  // exactly while stores are buffered
  bool posts_far_ = false;
  Time atomic_;  // spec_.atomic
  MemoryOp::Kind posted_kind_ = MemoryOp::Kind::kAtomic;
  bool atomics_are_barriers_ = true;
  bool gate_open_ = false;
  bool drain_open_ = false;
  bool drain_held_ = false;
  HaltKind halt_kind_ = HaltKind::kHlt;
  Time exec_left_;
  HaltTiming halt_timing_;
  Time halt_started_;
  Time halted_time_;
  Time wfe_deadline_ = Time::never();
  trace::WaitEnd wfe_end_ = trace::WaitEnd::kEvent;
  int event_stream_bit_ = -1;
  bool event_register_ = false;
  bool exclusive_ = false;  // monitored_ was armed by LDXR
  std::uint32_t pending_ = 0;
  Time arrived_[kVectors];
  Time interrupt_arrived_;
  std::coroutine_handle<> handle_;
  std::coroutine_handle<> next_handle_;
  void (*start_)(void*) = nullptr;
  void* start_object_ = nullptr;
  MemoryOp op_;
  Spinning spin_;
  Transaction transaction_;
  Transaction store_transaction_;
  std::vector<Buffered> store_buffer_;  // [store_head_, size) are waiting
  std::size_t store_head_ = 0;
  Line* monitored_ = nullptr;
  std::vector<Interrupted> interrupted_;
  std::vector<std::unique_ptr<sim::Root>> handlers_;  // one per nesting level
  Cpu* guest_ = nullptr;                              // of a physical CPU
  Cpu* host_ = nullptr;                               // of a guest's
  Interrupted paused_{};
  ExitInfo exit_;
  Time exit_time_;
  bool stop_ = false;
  SourceLocation where_;
  std::uint64_t instructions_ = 0;
};

}  // namespace idlesim::hw

#include "idlesim/hw/cpu_awaiters.h"

#endif  // IDLESIM_HW_CPU_H_

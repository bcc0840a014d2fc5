// The kernel on a machine: per-CPU data, tasks, the table of functions that kernels differ in, and
// the cost of straight-line code.
#ifndef IDLESIM_KERNEL_KERNEL_H_
#define IDLESIM_KERNEL_KERNEL_H_

#include <array>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "idlesim/base/cpumask.h"
#include "idlesim/base/types.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"
#include "idlesim/kernel/cpuidle.h"
#include "idlesim/kernel/features.h"
#include "idlesim/kernel/kernel_spec.h"
#include "idlesim/kernel/paths.h"
#include "idlesim/kernel/timer.h"
#include "idlesim/sim/co.h"
#include "idlesim/trace/trace.h"

namespace idlesim::kernel {

using hw::Cpu;
using hw::Word;
using sim::Co;

class Kernel;
struct PerCpu;

// thread_info.flags (x86 bit numbers; NOTIFY_IPI as in the 2024 series).
inline constexpr std::uint64_t TIF_NEED_RESCHED = 1u << 3;
inline constexpr std::uint64_t TIF_NOTIFY_IPI = 1u << 6;
inline constexpr std::uint64_t TIF_POLLING_NRFLAG = 1u << 21;

// task_struct.__state
inline constexpr std::uint64_t TASK_RUNNING = 0;
inline constexpr std::uint64_t TASK_INTERRUPTIBLE = 1;
inline constexpr std::uint64_t TASK_DEAD = 0x80;
inline constexpr std::uint64_t TASK_WAKING = 0x200;

// --- cross-CPU calls ---

inline constexpr std::uint64_t CSD_FLAG_LOCK = 1;
enum class CsdType : std::uint8_t { kAsync, kSync, kTtwu };

struct Task;
using SmpCallFunc = Co<> (*)(Cpu& cpu, void* info);

// call_single_data. `llist` and `flags` are on one line; the rest travels with it.
struct CallSingleData {
  Word llist;  // next entry of the queue it is on
  Word flags;
  CsdType type = CsdType::kAsync;
  SmpCallFunc func = nullptr;
  void* info = nullptr;
  Task* task = nullptr;  // kTtwu

  // For trace events only.
  CpuId from = kNoCpu;
  Time issued, queued, signalled, started;
  bool ipi = false, elided = false;
};

// A llist's words hold addresses of its entries.
inline CallSingleData& entry_at(std::uint64_t address) {
  return *reinterpret_cast<CallSingleData*>(static_cast<std::uintptr_t>(address));
}

// --- tasks ---

struct Task {
  std::int32_t pid = 0;  // 0: an idle task
  std::string comm;
  CpuId cpu = kNoCpu;  // where it runs or last ran
  Word flags;          // thread_info.flags
  Word state;
  Word on_cpu;
  Word pi_lock;
  bool on_rq = false;
  bool started = false;
  CallSingleData wake_entry;
  std::coroutine_handle<> context;  // to continue it while it is switched out
  sim::Root root;
  Co<> (*entry)(Cpu& cpu, Task& task) = nullptr;
  void* data = nullptr;      // the workload's
  Cpu* first_cpu = nullptr;  // that switches to it for the first time
  HrTimer sleep_timer;
};

// --- run queues and per-CPU data ---

struct SchedDomain {
  const char* name = "";
  CpuMask span;
  Time max_newidle_lb_cost;
};

struct PerCpu {
  Kernel* kernel = nullptr;
  Cpu* cpu = nullptr;
  CpuId id = kNoCpu;

  Task idle;
  Task* curr = nullptr;
  trace::Context context = trace::Context::kOther;
  bool rcu_idle = false;  // between ct_cpuidle_enter() and ct_cpuidle_exit()

  // smp.c
  Word call_single_queue;    // head of the llist: address of the first CallSingleData, 0 if empty
  CallSingleData csd_data;   // wait=0
  CallSingleData csd_stack;  // wait=1: on the caller's stack
  std::vector<std::unique_ptr<CallSingleData>> cfd_data;  // many: one per target, made on first use
  Word stack_local;                                       // a local of that caller
  Word stack;                                             // of the idle task
  std::vector<CallSingleData*> flushed;                   // scratch of the queue's flush
  std::vector<Task*> wakeups;

  // struct rq
  Word rq_lock;
  Word nr_running;
  Word ttwu_pending;
  Word rq_curr;                // RQC: curr == idle?
  Word cfs;                    // CFS: load, read by balancers
  Word wake_list;              // before v5.8 (rqlist)
  std::deque<Task*> runnable;  // waiting to run; `curr` is not in it
  std::vector<SchedDomain> domains;
  Time avg_idle;
  Time idle_stamp = Time::never();
  Task* switched_from = nullptr;
  Time schedule_started;
  int cpus_walked = 0;

  TickSched tick;
  HrTimerBase hrtimers;
  CpuidleDevice cpuidle;
};

// --- what kernels differ in ---

enum class SchedMode : std::uint8_t { kNone, kIdle };

// Filled by the feature values in src/kernel/features.cc.
struct KernelOps {
  // Flags that end an idle loop: need_resched() or need_resched_or_ipi().
  std::uint64_t idle_exit_flags = TIF_NEED_RESCHED;
  // True if the target will look at its queue by itself, so that no interrupt is needed.
  Co<bool> (*call_function_single_prep_ipi)(Cpu& cpu, CpuId target) = nullptr;
  // Sets NEED_RESCHED of a polling idle task; false if it does not poll.
  Co<bool> (*set_nr_if_polling)(Cpu& cpu, CpuId target) = nullptr;
  // Sets NEED_RESCHED of what runs on `rq`; false if it polls, so that no interrupt is needed.
  Co<bool> (*set_nr_and_not_polling)(Cpu& cpu, PerCpu& rq) = nullptr;
  // Whether a task is to be activated by its CPU instead of the waker. on_cpu: it is still inside
  // schedule() there.
  Co<bool> (*ttwu_queue_cond)(Cpu& cpu, CpuId target, bool on_cpu) = nullptr;
  // Queues a wake-up of `task` on `target` and signals it.
  Co<> (*ttwu_queue_remote)(Cpu& cpu, Task& task, CpuId target) = nullptr;
  // Body of the RESCHEDULE interrupt beyond folding NEED_RESCHED.
  Co<> (*scheduler_ipi)(Cpu& cpu) = nullptr;
  // do_idle() after the polling flag is cleared: TIF_NOTIFY_IPI, then what was queued by those who
  // saw it set.
  Co<> (*current_clr_notify_ipi)(Cpu& cpu) = nullptr;
  Co<> (*drain_queue)(Cpu& cpu) = nullptr;
  // do_idle()'s end: schedule_idle(), always or if asked for.
  Co<> (*idle_schedule)(Cpu& cpu) = nullptr;
  // __schedule() of the idle task with an empty run queue: decides that idle goes on.
  Co<Task*> (*pick_next_task_idle)(Cpu& cpu) = nullptr;
  // TIF_POLLING_NRFLAG of the idle task, without a barrier (__current_set_polling() and
  // __current_clr_polling()); the two tests return whether to stay awake.
  Co<> (*current_set_polling)(Cpu& cpu) = nullptr;
  Co<> (*current_clr_polling)(Cpu& cpu) = nullptr;
  Co<bool> (*current_set_polling_and_test)(Cpu& cpu) = nullptr;
  Co<bool> (*current_clr_polling_and_test)(Cpu& cpu) = nullptr;
  // What do_idle() does while nothing is to run: cpuidle_idle_call() or cpu_idle_poll(). Interrupts
  // are off before and on after. got_tick: a tick ended the round before.
  Co<> (*idle_call)(Cpu& cpu, bool got_tick) = nullptr;
  // arch_cpu_idle() without a cpuidle driver.
  Co<> (*arch_cpu_idle)(Cpu& cpu) = nullptr;
  // Enters a table state that waits with MWAIT (or what idle_enter puts in its place).
  Co<> (*enter_state)(Cpu& cpu, const hw::IdleStateSpec& state) = nullptr;
  // Whether TIF_POLLING_NRFLAG exists, so that state 0 of a cpuidle table is polling.
  bool can_poll = false;
  // Placement of words.
  bool tif_alone = false;
  bool csd_with_stack = false;
  bool rq_split = false;
  // Whether to stop the tick without a governor's advice.
  bool (*stop_tick_without_governor)(const TickSched& tick, bool got_tick) = nullptr;
  // The cpuidle governor; null: no driver. Not all have something to enable.
  void (*governor_enable)(PerCpu& cpu) = nullptr;
  Co<GovernorChoice> (*governor_select)(Cpu& cpu) = nullptr;
  void (*governor_reflect)(PerCpu& cpu, int index) = nullptr;
  // menu: a state that was refused counts as an interval without end.
  bool menu_records_refusals = false;
  // haltpoll: a limit that shrinks below guest_halt_poll_grow_start stays, instead of becoming 0.
  bool haltpoll_keeps_small_limit = false;
  // haltpoll: what its second state waits with.
  Co<> (*haltpoll_arch_idle)(Cpu& cpu) = nullptr;
  // poll_idle() until a flag is set; true if that took longer than `limit_ns`.
  Co<bool> (*poll_wait)(Cpu& cpu, Time time_start, std::int64_t limit_ns) = nullptr;
};

// --- the kernel ---

// What else runs on the machine: pairs of pinned tasks that share a CPU for a while, so that
// rd->overloaded is set. A Poisson process drawn from the seed, the same for every variant.
struct Background {
  std::int64_t pairs_per_second = 0;
  Time mean_duration;
};

struct KernelConfig {
  Features features;
  int idle_state = 1;  // governor kFixed
  HaltpollParameters haltpoll;
  std::vector<std::string> disabled_states;
  Background background;
};

class Kernel {
 public:
  // Lays out the kernel's data on the machine's cache lines. `spec` and `machine` must outlive it.
  Kernel(hw::Machine& machine, const KernelSpec& spec, const KernelConfig& config);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  hw::Machine& machine() { return machine_; }
  const KernelSpec& spec() const { return spec_; }
  const KernelConfig& config() const { return config_; }
  PerCpu& per_cpu(CpuId cpu) { return per_cpu_[static_cast<std::size_t>(cpu)]; }
  int nr_cpus() const { return machine_.nr_cpus(); }
  const hw::PathCost& cost(Path path) const { return costs_[static_cast<std::size_t>(path)]; }
  trace::Tracer& tracer() { return machine_.tracer(); }
  // Where the hypervisor offers KVM_FEATURE_POLL_CONTROL, every CPU writes
  // MSR_KVM_POLL_CONTROL=0 when it comes up: no host-side polling for this vCPU. Linux:
  // arch/x86/kernel/kvm.c, arch_haltpoll_enable(); empty on arm64.
  bool disables_host_halt_poll() const {
    return ops.governor_select == haltpoll_select && machine_.spec().cpu.arch == hw::Arch::kX86_64;
  }

  // A task that will execute `entry`, pinned to `cpu`. Owned by the kernel.
  Task& new_task(std::string comm, CpuId cpu, Co<> (*entry)(Cpu&, Task&), void* data);
  // Starts all CPUs in their idle tasks at time 0, with the ticks' phase drawn from the run. Tasks
  // named before by first_task() are runnable then.
  void boot();
  void first_task(Task& task) { first_.push_back(&task); }

  KernelOps ops;

  // Global lines.
  Word rd_overloaded;
  Word nohz_cpus_mask;
  Word nohz_nr_cpus;
  Word nohz_has_blocked;
  Word jiffies;
  Word jiffies_lock;
  Word tick_do_timer_cpu;  // kNoTimerCpu: whoever ticks next
  // Per LLC: sched_domain_shared.nr_busy_cpus.
  std::vector<Word> llc_nr_busy;

  // CPUs the background process leaves alone: those the workload uses.
  CpuMask foreground;

  Time tick_period() const { return tick_period_; }
  Time tick_phase() const { return tick_phase_; }

 private:
  void lay_out(PerCpu& pcpu);
  void build_domains(PerCpu& pcpu);
  void init_task(Task& task, hw::Line& line);
  void start_background();
  static void background_event(void* kernel, std::uint64_t end);

  hw::Machine& machine_;
  const KernelSpec& spec_;
  KernelConfig config_;
  std::array<hw::PathCost, kPaths> costs_;
  std::deque<PerCpu> per_cpu_;
  std::deque<Task> tasks_;
  std::vector<Task*> first_;
  Time tick_period_;
  Time tick_phase_;
  sim::Random background_random_;
};

inline PerCpu& this_cpu(Cpu& cpu) { return *static_cast<PerCpu*>(cpu.os); }
inline Kernel& kernel_of(Cpu& cpu) { return *this_cpu(cpu).kernel; }
inline const KernelOps& ops_of(Cpu& cpu) { return this_cpu(cpu).kernel->ops; }

// Charges a segment of straight-line code.
inline Cpu::Exec exec(Cpu& cpu, Path path, SourceLocation where = SourceLocation::current()) {
  return cpu.exec(this_cpu(cpu).kernel->cost(path), where);
}

// One round of a relax loop that goes on while no bit of `mask` is set: the segment `round`, and a
// PAUSE.
hw::SpinLoop relax_loop(Cpu& cpu, Path round, std::uint64_t mask);
// Spins until bit 0 of `word` is clear: a lock, a task's on_cpu. A round is a PAUSE, and 1 ns for
// the test and the jump.
inline Cpu::Spin spin_while_set(Cpu& cpu, Word& word,
                                SourceLocation where = SourceLocation::current()) {
  hw::SpinLoop loop;
  loop.mask = 1;
  loop.while_set = true;
  loop.period = cpu.spec().pause + Time::ns(1);
  return cpu.spin(word, loop, where);
}

// --- Linux's words for memory accesses ---

inline Cpu::Load read_once(Cpu& cpu, Word& word, SourceLocation where = SourceLocation::current()) {
  return cpu.load(word, where);
}
inline Cpu::Store write_once(Cpu& cpu, Word& word, std::uint64_t value,
                             SourceLocation where = SourceLocation::current()) {
  return cpu.store(word, value, where);
}
// x86: a plain store. arm64: STLR; the model's stores leave the buffer in order anyway.
inline Cpu::Store smp_store_release(Cpu& cpu, Word& word, std::uint64_t value,
                                    SourceLocation where = SourceLocation::current()) {
  return cpu.store(word, value, where);
}
inline Cpu::PostedAtomic set_bits(Cpu& cpu, Word& word, std::uint64_t bits,
                                  SourceLocation where = SourceLocation::current()) {
  return cpu.posted_atomic(hw::AtomicOp::kOr, word, bits, where);
}
inline Cpu::PostedAtomic clear_bits(Cpu& cpu, Word& word, std::uint64_t bits,
                                    SourceLocation where = SourceLocation::current()) {
  return cpu.posted_atomic(hw::AtomicOp::kAnd, word, ~bits, where);
}
inline Cpu::PostedAtomic atomic_add(Cpu& cpu, Word& word, std::uint64_t value,
                                    SourceLocation where = SourceLocation::current()) {
  return cpu.posted_atomic(hw::AtomicOp::kAdd, word, value, where);
}
inline Cpu::Atomic fetch_or(Cpu& cpu, Word& word, std::uint64_t bits,
                            SourceLocation where = SourceLocation::current()) {
  return cpu.atomic(hw::AtomicOp::kOr, word, bits, 0, where);
}
inline Cpu::Atomic xchg(Cpu& cpu, Word& word, std::uint64_t value,
                        SourceLocation where = SourceLocation::current()) {
  return cpu.atomic(hw::AtomicOp::kXchg, word, value, 0, where);
}
// Returns the old value: equal to `expected` on success.
inline Cpu::Atomic cmpxchg(Cpu& cpu, Word& word, std::uint64_t expected, std::uint64_t value,
                           SourceLocation where = SourceLocation::current()) {
  return cpu.atomic(hw::AtomicOp::kCmpxchg, word, value, expected, where);
}
// x86: a locked add to the stack. arm64: DMB ISH.
inline Cpu::Barrier smp_mb(Cpu& cpu, SourceLocation where = SourceLocation::current()) {
  if (cpu.spec().arch != hw::Arch::kX86_64) return cpu.barrier(where);
  return cpu.locked_barrier(this_cpu(cpu).stack, where);
}
inline Cpu::Barrier smp_mb__after_atomic(Cpu& cpu,
                                         SourceLocation where = SourceLocation::current()) {
  return cpu.barrier_after_atomic(where);
}

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_KERNEL_H_

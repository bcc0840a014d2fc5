// The kernel on a machine: per-CPU data, tasks, the table of functions that kernels differ in, and
// the cost of straight-line code.
#ifndef IDLESIM_KERNEL_KERNEL_H_
#define IDLESIM_KERNEL_KERNEL_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "idlesim/base/cpumask.h"
#include "idlesim/base/types.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"
#include "idlesim/kernel/cmpwait.h"
#include "idlesim/kernel/cpuidle.h"
#include "idlesim/kernel/features.h"
#include "idlesim/kernel/kernel_spec.h"
#include "idlesim/kernel/paths.h"
#include "idlesim/kernel/task.h"
#include "idlesim/kernel/timer.h"
#include "idlesim/sim/co.h"
#include "idlesim/trace/trace.h"

namespace idlesim::kernel {

class Kernel;
struct PerCpu;

// --- run queues and per-CPU data ---

struct SchedDomain {
  const char* name = "";
  CpuMask span;
  Time max_newidle_lb_cost;
};

// struct sched_domain_shared: one line per LLC.
struct SchedDomainShared {
  Word nr_busy_cpus;
  Word has_idle_cores;
  Word nr_idle_scan;  // how many CPUs a wake-up may look at
};

// For going offline and coming back.
struct Hotplug {
  Word alive;           // 1: executes; for whoever waits until it does or no longer does
  Word mwait_cpu_dead;  // what the CPU monitors while it is offline
  bool starting = false;
};

struct PerCpu {
  Kernel* kernel = nullptr;
  Cpu* cpu = nullptr;
  CpuId id = kNoCpu;

  Task idle;
  Task* curr = nullptr;
  trace::Context context = trace::Context::kOther;
  bool rcu_idle = false;  // between ct_cpuidle_enter() and ct_cpuidle_exit()
  bool user_mode = false;

  // cpu.c, smpboot.c
  bool online = true;                // as this CPU sees it: a call tells it that it is to leave
  std::unique_ptr<Hotplug> hotplug;  // made when it first leaves

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
  Time min_vruntime;
  Mm* prev_mm = nullptr;  // to be dropped after a switch from a kernel thread to a user task
  std::vector<SchedDomain> domains;
  CpuMask smt_mask, llc_mask;  // CPUs of its core, and of its last-level cache; itself included
  int hardirq = 0;             // interrupts being handled
  std::uint64_t irqs = 0;      // taken so far
  Time avg_idle;
  Time idle_stamp = Time::never();
  Task* switched_from = nullptr;
  bool came_from_task = false;  // the last switch was not from the idle task
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
  bool mm_count_alone = false;
  // Whether to stop the tick without a governor's advice.
  bool (*stop_tick_without_governor)(const TickSched& tick, bool got_tick) = nullptr;
  // The cpuidle governor; null: no driver. Not all have something to enable.
  void (*governor_enable)(PerCpu& cpu) = nullptr;
  Co<GovernorChoice> (*governor_select)(Cpu& cpu) = nullptr;
  void (*governor_reflect)(PerCpu& cpu, int index) = nullptr;
  // SPEC_CTRL in the kernel: with a value, entries from and exits to user mode write it.
  std::uint64_t spec_ctrl_base = 0;
  // Whether intel_idle() clears it while in this state.
  bool (*idle_clears_ibrs)(const hw::IdleStateSpec& state) = nullptr;
  // A CPU that goes offline clears it.
  bool play_dead_clears_ibrs = false;
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
  bool event_stream = true;  // arm64: clocksource.arm_arch_timer.evtstrm
  std::vector<std::string> disabled_states;
  std::vector<CpuId> offline_cpus;  // taken offline as soon as the machine is up
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

  // An address space. Owned by the kernel.
  Mm& new_mm(CpuId cpu);
  // A kernel thread that will execute `entry`, pinned to `cpu`. Owned by the kernel.
  Task& new_task(std::string comm, CpuId cpu, Co<> (*entry)(Cpu&, Task&), void* data);
  // A task that begins on `cpu` and may run on the CPUs of `allowed`; in `mm`, or a kernel thread
  // if that is null.
  Task& new_task(std::string comm, CpuId cpu, CpuMask allowed, Mm* mm, Co<> (*entry)(Cpu&, Task&),
                 void* data);
  // Starts all CPUs in their idle tasks at time 0, with the ticks' phase drawn from the run. Tasks
  // named before by first_task() are runnable then.
  void boot();
  void first_task(Task& task) { first_.push_back(&task); }
  // By pid: the first is task 1.
  const std::deque<Task>& tasks() const { return tasks_; }

  KernelOps ops;

  // Global lines.
  Word rd_overloaded;
  Word nohz_cpus_mask;
  Word nohz_nr_cpus;
  Word nohz_has_blocked;
  Word jiffies;
  Word jiffies_lock;
  Word tick_do_timer_cpu;                     // kNoTimerCpu: whoever ticks next
  std::vector<SchedDomainShared> llc_shared;  // by LLC
  Mm init_mm;

  // CPUs the background process leaves alone: those the workload uses.
  CpuMask foreground;

  Time tick_period() const { return tick_period_; }
  Time tick_phase() const { return tick_phase_; }

 private:
  void lay_out(PerCpu& pcpu);
  void build_domains(PerCpu& pcpu);
  void init_task(Task& task, hw::Line& line);
  void init_mm_lines(Mm& mm, hw::NodeId node);
  void start_background();
  static void background_event(void* kernel, std::uint64_t end);

  hw::Machine& machine_;
  const KernelSpec& spec_;
  KernelConfig config_;
  std::array<hw::PathCost, kPaths> costs_;
  std::deque<PerCpu> per_cpu_;
  std::deque<Task> tasks_;
  std::deque<Mm> mms_;
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
// Waits until bit 0 of `word` is clear: a lock, a task's on_cpu. A look at it takes 1 ns.
inline Co<> spin_while_set(Cpu& cpu, Word& word, SourceLocation where = SourceLocation::current()) {
  return smp_cond_load_until_clear(cpu, word, 1, {Time::ns(1), 0}, where);
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

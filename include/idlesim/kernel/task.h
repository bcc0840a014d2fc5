// Tasks, the address spaces they run in, and the entries with which they are queued elsewhere.
#ifndef IDLESIM_KERNEL_TASK_H_
#define IDLESIM_KERNEL_TASK_H_

#include <coroutine>
#include <cstdint>
#include <string>

#include "idlesim/base/cpumask.h"
#include "idlesim/base/types.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/kernel/timer.h"
#include "idlesim/sim/co.h"

namespace idlesim::kernel {

using hw::Cpu;
using hw::Word;
using sim::Co;

// thread_info.flags (x86 bit numbers; NOTIFY_IPI as in the 2024 series).
inline constexpr std::uint64_t TIF_NEED_RESCHED = 1u << 3;
inline constexpr std::uint64_t TIF_NOTIFY_IPI = 1u << 6;
inline constexpr std::uint64_t TIF_POLLING_NRFLAG = 1u << 21;

// task_struct.__state
inline constexpr std::uint64_t TASK_RUNNING = 0;
inline constexpr std::uint64_t TASK_INTERRUPTIBLE = 1;
inline constexpr std::uint64_t TASK_UNINTERRUPTIBLE = 2;
inline constexpr std::uint64_t TASK_NORMAL = TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE;
inline constexpr std::uint64_t TASK_DEAD = 0x80;
inline constexpr std::uint64_t TASK_WAKING = 0x200;

// Arguments of try_to_wake_up(): the waker is about to block; the waker's CPU is wanted.
inline constexpr unsigned WF_SYNC = 1u << 4;
inline constexpr unsigned WF_CURRENT_CPU = 1u << 6;

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

// --- address spaces ---

// mm_struct.
struct Mm {
  std::int32_t id = 0;  // 0: init_mm
  Word mm_count;        // MMR: idle CPUs that still have it loaded hold a reference
  Word mm_users;        // with the page-table counters: what fork, exit and faults write
};

// --- tasks ---

struct Task {
  std::int32_t pid = 0;  // 0: an idle task
  std::string comm;
  CpuId cpu = kNoCpu;       // where it runs or last ran
  CpuMask cpus_mask;        // where it may run
  Mm* mm = nullptr;         // null: a kernel thread
  Mm* active_mm = nullptr;  // what is loaded while it runs; null while a kernel thread does not

  Word flags;  // thread_info.flags
  Word state;
  Word on_cpu;
  Word on_rq;  // queued or running; with __state and on_cpu on the line TASK
  Word pi_lock;
  Word stack;  // its kernel stack, where it puts entries of wait queues

  // For select_task_rq_fair(), on the task's own lines.
  CpuId recent_used_cpu = kNoCpu;
  const Task* last_wakee = nullptr;
  int wakee_flips = 0;
  Time wakee_flip_decay;
  // The fair rule (fair.cc). Owned by whoever holds its run queue's lock.
  Time vruntime;
  Time exec_start;  // of the part of its run that is not counted yet
  Time slice_used;  // since it was picked

  bool started = false;
  CallSingleData wake_entry;        // also says when its last wake-up was issued and signalled
  std::coroutine_handle<> context;  // to continue it while it is switched out
  sim::Root root;
  Co<> (*entry)(Cpu& cpu, Task& task) = nullptr;
  void* data = nullptr;  // the workload's
  // Where it runs, from one context switch to the next. Code that has slept goes on here: a `Cpu&`
  // from before is stale, unless the task is pinned.
  Cpu* running_on = nullptr;
  HrTimer sleep_timer;
};

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_TASK_H_

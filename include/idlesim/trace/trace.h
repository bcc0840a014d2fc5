// What the model tells the outside: one struct per event, and listeners. The model never prints.
// An event nobody listens to costs one test.
#ifndef IDLESIM_TRACE_TRACE_H_
#define IDLESIM_TRACE_TRACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "idlesim/base/types.h"

namespace idlesim::trace {

// Index into the names of cache lines that the machine keeps ("CSQ", "TIF", ...).
using LineName = std::uint16_t;

enum class Access : std::uint8_t { kRead, kWrite, kFarAtomic };

// Who owned the line before, seen from the requester.
enum class From : std::uint8_t { kSibling, kCluster, kSocket, kRemote, kMemory };

// A cache line moved to `cpu`, or `cpu` got the right to write it.
struct LineTransfer {
  static constexpr int kKind = 0;
  Time issued;     // when the instruction asked for it
  Time completed;  // when it had it
  Time queued;     // of that, time spent waiting for earlier requests to the line
  CpuId cpu;
  LineName line;
  Access access;
  From from;
};

// A hardware inter-processor interrupt left `from`.
struct IpiSent {
  static constexpr int kKind = 1;
  Time time;
  CpuId from;
  CpuId to;
  std::uint8_t vector;
};

// A sender found the target polling and wrote its flag word instead of sending an interrupt.
struct IpiElided {
  static constexpr int kKind = 2;
  Time time;
  CpuId from;
  CpuId to;
};

// What the CPU was doing when an interrupt was taken.
enum class Context : std::uint8_t { kOther, kIdle, kScheduleIdle };

// The first instruction of an interrupt handler.
struct InterruptTaken {
  static constexpr int kKind = 3;
  Time time;
  Time arrived;  // when it became pending
  CpuId cpu;
  std::uint8_t vector;
  Context context;
};

// The CPU enters idle state `state` (index in the idle-state table; 0 is polling).
struct IdleEnter {
  static constexpr int kKind = 4;
  Time time;
  CpuId cpu;
  std::int16_t state;
};

struct IdleExit {
  static constexpr int kKind = 5;
  Time time;
  CpuId cpu;
  std::int16_t state;
};

// A cross-CPU function call, from the caller's first instruction to its return.
struct CallDone {
  static constexpr int kKind = 6;
  Time issued;
  Time queued;     // the entry was on the target's queue
  Time signalled;  // the interrupt was sent or the flag was set; equal to queued if neither
  Time started;    // first instruction of the function on the target; never() if not known yet
  Time returned;
  CpuId cpu;
  CpuId target;
  bool ipi;     // a hardware interrupt was sent for this call
  bool elided;  // the flag word was used instead
};

// One pass of schedule_idle() ended.
struct ScheduleIdle {
  static constexpr int kKind = 7;
  Time started;
  Time time;
  CpuId cpu;
  bool nothing_to_run;
  std::uint16_t cpus_walked;  // run queues read by newidle_balance
};

// The CPU switched tasks.
struct Switch {
  static constexpr int kKind = 8;
  Time time;
  CpuId cpu;
  std::int32_t prev;  // task ids; 0 is the idle task
  std::int32_t next;
};

// A sleeping task was made runnable by `from`; `to` is the CPU chosen for it.
struct Wakeup {
  static constexpr int kKind = 9;
  Time time;
  CpuId from;
  CpuId to;
  std::int32_t task;
};

// A function queued by smp_call_function() starts on `cpu`. Followed by CallDone for wait=1 calls.
struct CallStarted {
  static constexpr int kKind = 10;
  Time time;
  Time signalled;
  CpuId cpu;
  CpuId from;
  bool ipi;
  bool elided;
};

// A value of the workload's own metric `metric` (index into WorkloadSpec::metrics()).
struct Sample {
  static constexpr int kKind = 11;
  std::uint16_t metric;
  std::int64_t value;      // in 1/scale of the metric's unit; times in picoseconds
  std::int64_t count = 1;  // as many samples of this value
};

// poll_idle() ended.
struct PollDone {
  static constexpr int kKind = 12;
  Time started;
  Time time;
  CpuId cpu;
  Time limit;      // until when it wanted to poll
  bool timed_out;  // nothing came until then
};

// A guest's CPU stood still from `exited` to `entered`.
struct VmExit {
  static constexpr int kKind = 13;
  Time exited;
  Time entered;
  CpuId cpu;
  std::uint8_t reason;  // hw::Exit
};

// What ended a WFE that waited.
enum class WaitEnd : std::uint8_t { kEvent, kEventStream, kDeadline, kInterrupt };

struct EventWait {
  static constexpr int kKind = 14;
  Time started;
  Time time;
  CpuId cpu;
  WaitEnd end;
};

// The CPU has written a model-specific register.
struct MsrWrite {
  static constexpr int kKind = 15;
  Time time;
  CpuId cpu;
  std::uint64_t value;  // of SPEC_CTRL, the only one there is
};

// The core of `cpu` is in another idle state: the shallowest that its threads ask for (index in the
// machine's table, 1 the shallowest), 0 if one of them is awake.
struct CoreIdle {
  static constexpr int kKind = 16;
  Time time;
  CpuId cpu;  // its first thread
  std::int16_t state;
};

inline constexpr int kKinds = 17;

// Overrides what it wants to hear and says so in wants().
class Listener {
 public:
  virtual ~Listener() = default;
  // Bit k set: events with kKind == k.
  virtual std::uint32_t wants() const = 0;
  virtual void on(const LineTransfer&) {}
  virtual void on(const IpiSent&) {}
  virtual void on(const IpiElided&) {}
  virtual void on(const InterruptTaken&) {}
  virtual void on(const IdleEnter&) {}
  virtual void on(const IdleExit&) {}
  virtual void on(const CallDone&) {}
  virtual void on(const ScheduleIdle&) {}
  virtual void on(const Switch&) {}
  virtual void on(const Wakeup&) {}
  virtual void on(const CallStarted&) {}
  virtual void on(const Sample&) {}
  virtual void on(const PollDone&) {}
  virtual void on(const VmExit&) {}
  virtual void on(const EventWait&) {}
  virtual void on(const MsrWrite&) {}
  virtual void on(const CoreIdle&) {}
};

template <class... Events>
constexpr std::uint32_t kinds() {
  return ((std::uint32_t{1} << Events::kKind) | ... | 0u);
}

// Fans events out to listeners in the order they were added. Does not own them.
class Tracer {
 public:
  void add(Listener* listener) {
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      if (listener->wants() >> kind & 1) listeners_[kind].push_back(listener);
  }
  template <class Event>
  bool wanted() const {
    return !listeners_[Event::kKind].empty();
  }
  template <class Event>
  void emit(const Event& event) {
    for (Listener* listener : listeners_[Event::kKind]) listener->on(event);
  }

 private:
  std::array<std::vector<Listener*>, kKinds> listeners_;
};

}  // namespace idlesim::trace

#endif  // IDLESIM_TRACE_TRACE_H_

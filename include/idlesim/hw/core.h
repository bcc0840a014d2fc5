// A core and the hardware threads that share it (simultaneous multithreading).
//
// What a thread executes goes on at a rate that depends on what its siblings do at that moment, and
// is timed again whenever that changes. The share of the core that is left beside an active sibling
// comes from the machine file; beside one that sleeps (MWAIT, HLT, any depth, offline) a thread has
// the core to itself. With more than one active sibling the shares multiply.
//
// What depends on the rate is what a thread executes: Cpu::exec(), Cpu::exec_time(), and the code
// of relax loops. Latencies do not: PAUSE, cache misses, locked instructions, barriers, WRMSR, the
// ways into and out of idle states. A thread that waits for memory counts as running.
#ifndef IDLESIM_HW_CORE_H_
#define IDLESIM_HW_CORE_H_

#include <cstdint>
#include <vector>

#include "idlesim/base/types.h"

namespace idlesim::hw {

class Cpu;
class Machine;
struct CpuSpec;
struct HaltTiming;

// IA32_SPEC_CTRL (Intel SDM; Intel's STIBP documentation, 758387).
inline constexpr std::uint64_t SPEC_CTRL_IBRS = 1u << 0;
inline constexpr std::uint64_t SPEC_CTRL_STIBP = 1u << 1;

// A share of a core in millionths, rounded down: 1000000 is the whole core.
using Share = std::int64_t;
inline constexpr Share kWholeCore = 1'000'000;

// How fast a thread's code goes on now.
struct Pace {
  Share share = kWholeCore;
  // Some thread of the core has IBRS or STIBP set: every indirect branch is mispredicted.
  bool restricted = false;
  bool operator==(const Pace&) const = default;
};

// Straight-line code on its way. Progress is counted in the time the code takes with the core to
// itself and its branches predicted ("work").
struct Stretch {
  Time whole;                           // its work when it began
  Time left;                            // of that, at `since`
  Time since;                           // when its pace was last looked at
  std::uint32_t indirect_branches = 0;  // spread evenly over it
  bool logged = false;
};

// A moment at which the pace of a logged stretch changed, and its work done until then. The pace is
// constant between two of them.
struct PacePoint {
  Time time;
  Time done;
  bool operator==(const PacePoint&) const = default;
};

// How long `work` of such a stretch takes at this pace, rounded up to a picosecond:
//   work * (whole + branches * mispredict if restricted) / whole / share.
Time duration(Time work, const Stretch& stretch, const Pace& pace, Time mispredict);
// The work done in `elapsed`, rounded down: a stretch that is timed again never ends early, and
// each change of pace delays it by less than 1 ps of its work and 1 ps of time.
Time work_done(Time elapsed, const Stretch& stretch, const Pace& pace, Time mispredict);

// The share left beside a relax loop that executes for `code` and waits in PAUSE for `pause` in
// each round. Beside the code it is that of a running sibling, and that code is itself slowed down
// by what runs beside it; beside PAUSE it is smt_share_pause. (The mean over a round: a round is
// much shorter than what is timed.)
Share share_beside_loop(const CpuSpec& spec, Time code, Time pause);

class Core {
 public:
  explicit Core(Machine& machine);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void add(Cpu& thread);
  bool shared() const { return threads_.size() > 1; }

  // --- told by its threads ---

  // What `thread` does from now on leaves this share to its siblings: beside_running(),
  // share_beside_loop(), or the whole core while it is halted, or on its way there or back.
  void set_beside(Cpu& thread, Share beside);
  Share beside_running() const { return beside_running_; }
  void spec_ctrl_changed();
  // `thread` has begun to wait in an idle state of this depth.
  void set_depth(Cpu& thread, int depth);

  // The idle state the core is in: the shallowest that its threads ask for, 0 if one is awake. Only
  // then is anything powered down; a thread that asks for more sleeps as if it had asked for this.
  int state() const { return state_; }
  // A thread that asked for `asked` at `since` is woken now: when it executes its next instruction.
  Time wake(Cpu& thread, const HaltTiming& asked, Time since);

 private:
  struct Thread {
    Cpu* cpu = nullptr;
    Share beside = kWholeCore;
    int depth = 0;
  };
  Thread& find(const Cpu& thread);
  void set_paces();

  Machine& machine_;
  const Share beside_running_;
  std::vector<Thread> threads_;
  bool restricted_ = false;
  int state_ = 0;
  Time state_since_;
  Time awake_at_;  // the end of the last wake-up from a state of the core
};

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_CORE_H_

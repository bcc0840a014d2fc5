// Every number of a machine, as plain data. Read from sim-configs/machines/*.json by
// read_machine(); immutable afterwards. Durations in cycles are converted at the core clock.
#ifndef IDLESIM_HW_MACHINE_SPEC_H_
#define IDLESIM_HW_MACHINE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/hw/coherence.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/topology.h"

namespace idlesim::config {
class Reader;
}

namespace idlesim::hw {

enum class Arch : std::uint8_t { kX86_64, kArm64 };
enum class Vendor : std::uint8_t { kAmd, kIntel, kArm };

// The counter of the generic timer (the TSC) at `time`, and when it reaches `count`: the first
// picosecond of that count.
constexpr std::int64_t counter_at(Frequency frequency, Time time) {
  return frequency.to_cycles(time).count;
}
constexpr Time time_of_counter(Frequency frequency, std::int64_t count) {
  const Time time = frequency.to_time(Cycles{count});
  return counter_at(frequency, time) < count ? time + Time::ps(1) : time;
}

struct CpuSpec {
  Arch arch = Arch::kX86_64;
  Vendor vendor = Vendor::kAmd;
  Frequency clock;
  Frequency tsc;                         // TSC, or the arm64 generic timer
  std::int64_t kernel_ipc_milli = 1000;  // straight-line kernel code, instructions per 1000 cycles
  Time atomic;                           // a locked read-modify-write on a line the core has
  Time barrier;                          // MFENCE, smp_mb(), DMB
  Time pause;                            // PAUSE; YIELD
  bool ecv = false;                      // FEAT_ECV: the event stream can be slower
  bool wfxt = false;                     // FEAT_WFxT: WFET and WFIT
  HaltTiming wfe;                        // arm64
  Time privileged;                       // mean of CLI, STI, PUSHF, POPF, RDTSC, MRS and the like
  Time mispredict;
  int store_buffer_entries = 1;
  int smt_share_running_permille = 1000;
  int smt_share_pause_permille = 1000;
};

struct InterruptSpec {
  Time send;  // ICR write, SGI1R write: on the sender
  Time delivery_sibling;
  Time delivery_socket;
  Time delivery_remote;
  Time entry;  // gate or exception entry
  Time exit;   // IRET, ERET
  Time eoi;
  Time ack;  // arm64: IAR read
  // arm64. The end of an interrupt is split in two (EOImode 1: EOIR, then the handler, then DIR).
  bool split_eoi = false;
  Time deactivate;      // DIR write
  int sgi_targets = 1;  // CPUs, in a row, that one write of SGI1R reaches
};

// The last is no instruction: what the kernel idles with if no driver tells it.
enum class EnterMethod : std::uint8_t { kMwait, kHlt, kIo, kWfi, kArchIdle };

// A row of the idle-state table: what the governor believes, and what it really takes.
struct IdleStateSpec {
  std::string name;
  EnterMethod enter = EnterMethod::kHlt;
  bool irq_enable = false;   // CPUIDLE_FLAG_IRQ_ENABLE: ECX[0]=0
  bool tlb_flushed = false;  // CPUIDLE_FLAG_TLB_FLUSHED
  bool ibrs = false;         // CPUIDLE_FLAG_IBRS
  Time exit_latency;         // the table's, for the governor
  Time target_residency;     // the table's
  HaltTiming timing;         // measured or assumed cost
};

struct MachineSpec {
  std::string name;
  std::string description;
  TopologySpec topology;
  CpuSpec cpu;
  CoherenceSpec coherence;
  InterruptSpec interrupt;
  Time timer_program;
  Time spec_ctrl_write;
  Time monitor;
  Time hlt_exit;                           // x86 HLT without an idle-state table
  std::vector<IdleStateSpec> idle_states;  // without POLL, shallowest first
};

// Reads a machine file. Errors go to the document of `in`.
MachineSpec read_machine_spec(config::Reader in);

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_MACHINE_SPEC_H_

// cpuidle: the device's state, and governors.
#ifndef IDLESIM_KERNEL_CPUIDLE_H_
#define IDLESIM_KERNEL_CPUIDLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine_spec.h"
#include "idlesim/sim/co.h"

namespace idlesim::kernel {

struct PerCpu;

struct GovernorChoice {
  int index = 0;
  bool stop_tick = false;
};

// Statistics of the menu governor (drivers/cpuidle/governors/menu.c, struct menu_device). Times in
// nanoseconds or microseconds as Linux keeps them.
struct MenuDevice {
  bool needs_update = false;
  bool tick_wakeup = false;
  std::int64_t next_timer_ns = 0;
  unsigned bucket = 0;
  std::array<std::uint32_t, 6> correction_factor{8192, 8192, 8192, 8192, 8192, 8192};  // unity
  std::array<std::uint32_t, 8> intervals{};
  int interval_ptr = 0;
};

// Statistics of the teo governor (drivers/cpuidle/governors/teo.c, struct teo_cpu).
struct TeoBin {
  std::uint32_t intercepts = 0;
  std::uint32_t hits = 0;
};
struct TeoDevice {
  bool needs_update = false;
  Time selected;                  // when it last chose
  std::int64_t time_span_ns = 0;  // from then to the reflection; the sleep length if a timer did it
  std::int64_t sleep_length_ns = 0;
  std::vector<TeoBin> bins;  // one per state
  std::uint32_t total = 0;
  std::uint32_t tick_intercepts = 0;  // intercepts shorter than a tick
};

// The ladder governor's counters of one state (drivers/cpuidle/governors/ladder.c).
struct LadderState {
  int promotion_count = 0;
  int demotion_count = 0;
};

// struct cpuidle_device and the driver's table (state 0 is POLL where the kernel can poll).
struct CpuidleDevice {
  std::vector<const hw::IdleStateSpec*> states;  // null: the polling state
  std::int64_t poll_limit_ns = 0;
  bool poll_time_limit = false;
  Time last_residency;
  int last_state_idx = 0;
  MenuDevice menu;
  TeoDevice teo;
  std::vector<LadderState> ladder;
};

// Module parameters of the haltpoll governor and of its driver, with Linux's defaults.
struct HaltpollParameters {
  std::int64_t guest_halt_poll_ns = 200'000;
  std::int64_t guest_halt_poll_grow = 2;
  std::int64_t guest_halt_poll_grow_start = 50'000;
  std::int64_t guest_halt_poll_shrink = 2;  // 0: to nothing at once
  bool guest_halt_poll_allow_shrink = true;
  bool force = false;  // cpuidle_haltpoll.force: loads without a hypervisor's hint
};

inline bool is_polling(const CpuidleDevice& dev, int index) {
  return dev.states[static_cast<std::size_t>(index)] == nullptr;
}

inline constexpr std::int64_t KTIME_MAX = std::int64_t{1} << 62;  // ns; leaves room for sums

// Of a state as the table has it; 0 for polling.
std::int64_t residency_ns(const CpuidleDevice& dev, int index);
std::int64_t exit_latency_ns(const CpuidleDevice& dev, int index);

// Linux: drivers/cpuidle/cpuidle.c, cpuidle_poll_time().
std::int64_t cpuidle_poll_time(hw::Cpu& cpu);

// --- governors: enable() sees the table of a CPU's states and may replace it ---
sim::Co<GovernorChoice> menu_select(hw::Cpu& cpu);
void menu_reflect(PerCpu& pcpu, int index);
void teo_enable_device(PerCpu& pcpu);
sim::Co<GovernorChoice> teo_select(hw::Cpu& cpu);
void teo_reflect(PerCpu& pcpu, int index);
void ladder_enable_device(PerCpu& pcpu);
sim::Co<GovernorChoice> ladder_select(hw::Cpu& cpu);
void ladder_reflect(PerCpu& pcpu, int index);
// The haltpoll driver's own states: POLL, and the architecture's default idle.
void haltpoll_enable_device(PerCpu& pcpu);
sim::Co<GovernorChoice> haltpoll_select(hw::Cpu& cpu);
void haltpoll_reflect(PerCpu& pcpu, int index);
void fixed_enable(PerCpu& pcpu);
sim::Co<GovernorChoice> fixed_select(hw::Cpu& cpu);
void fixed_reflect(PerCpu& pcpu, int index);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_CPUIDLE_H_

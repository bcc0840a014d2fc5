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

// struct cpuidle_device and the driver's table (state 0 is POLL where the kernel can poll).
struct CpuidleDevice {
  std::vector<const hw::IdleStateSpec*> states;  // null: the polling state
  std::int64_t poll_limit_ns = 0;
  bool poll_time_limit = false;
  Time last_residency;
  int last_state_idx = 0;
  MenuDevice menu;
};

inline bool is_polling(const CpuidleDevice& dev, int index) {
  return dev.states[static_cast<std::size_t>(index)] == nullptr;
}

// Linux: drivers/cpuidle/cpuidle.c, cpuidle_poll_time().
std::int64_t cpuidle_poll_time(hw::Cpu& cpu);

// --- governors ---
sim::Co<GovernorChoice> menu_select(hw::Cpu& cpu);
void menu_reflect(PerCpu& pcpu, int index);
sim::Co<GovernorChoice> fixed_select(hw::Cpu& cpu);
void fixed_reflect(PerCpu& pcpu, int index);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_CPUIDLE_H_

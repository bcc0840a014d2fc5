// What governors share, and the fixed choice.
#include "idlesim/kernel/cpuidle.h"

#include <algorithm>

#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

std::int64_t residency_ns(const CpuidleDevice& dev, int index) {
  return is_polling(dev, index)
             ? 0
             : dev.states[static_cast<std::size_t>(index)]->target_residency.count_ns();
}

std::int64_t exit_latency_ns(const CpuidleDevice& dev, int index) {
  return is_polling(dev, index)
             ? 0
             : dev.states[static_cast<std::size_t>(index)]->exit_latency.count_ns();
}

// Linux: drivers/cpuidle/cpuidle.c, cpuidle_poll_time().
std::int64_t cpuidle_poll_time(Cpu& cpu) {
  CpuidleDevice& dev = this_cpu(cpu).cpuidle;
  constexpr std::int64_t CPUIDLE_POLL_MIN = 10'000;
  const std::int64_t CPUIDLE_POLL_MAX = kernel_of(cpu).tick_period().count_ns() / 16;
  if (dev.poll_limit_ns != 0) return dev.poll_limit_ns;
  std::int64_t limit = CPUIDLE_POLL_MAX;
  for (int i = 1; i < static_cast<int>(dev.states.size()); ++i) {
    if (residency_ns(dev, i) < CPUIDLE_POLL_MIN) continue;
    limit = std::min(limit, residency_ns(dev, i));
    break;
  }
  dev.poll_limit_ns = limit;
  return limit;
}

// Linux: no counterpart; state 0 is POLL on arm64, too, where idle tasks have the polling flag.
void fixed_enable(PerCpu& pcpu) {
  auto& states = pcpu.cpuidle.states;
  if (pcpu.kernel->ops.can_poll && (states.empty() || states.front() != nullptr))
    states.insert(states.begin(), nullptr);
}

// Linux: no counterpart; the state that the scenario names, if the table is that deep. Deep states
// stop the tick.
Co<GovernorChoice> fixed_select(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  const CpuidleDevice& dev = self.cpuidle;
  const int index =
      std::min(self.kernel->config().idle_state, static_cast<int>(dev.states.size()) - 1);
  const bool stop = !is_polling(dev, index) && residency_ns(dev, index) > 1'000'000;
  co_return GovernorChoice{index, stop};
}

void fixed_reflect(PerCpu&, int) {}

}  // namespace idlesim::kernel

// The ladder governor: one state up after four long idle periods, one down after a short one.
#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

namespace {

// Linux: drivers/cpuidle/governors/ladder.c.
constexpr int PROMOTION_COUNT = 4;
constexpr int DEMOTION_COUNT = 1;

// The ladder's lowest step: POLL is none.
int first_state(const CpuidleDevice& dev) { return is_polling(dev, 0) ? 1 : 0; }

// Linux: drivers/cpuidle/governors/ladder.c, ladder_do_selection().
int ladder_do_selection(CpuidleDevice& dev, int old_idx, int new_idx) {
  dev.ladder[static_cast<std::size_t>(old_idx)] = {};
  dev.last_state_idx = new_idx;
  return new_idx;
}

// Linux: drivers/cpuidle/governors/ladder.c, ladder_select_state().
// Not modelled: latency requests, disabled states inside the table.
int ladder_select_state(CpuidleDevice& dev) {
  const int last_idx = dev.last_state_idx;
  const int first_idx = first_state(dev);
  LadderState& last_state = dev.ladder[static_cast<std::size_t>(last_idx)];
  const std::int64_t last_residency =
      dev.last_residency.count_ns() - exit_latency_ns(dev, last_idx);
  const std::int64_t threshold = exit_latency_ns(dev, last_idx);

  if (last_idx < static_cast<int>(dev.states.size()) - 1 && last_residency > threshold) {
    ++last_state.promotion_count;
    last_state.demotion_count = 0;
    if (last_state.promotion_count >= PROMOTION_COUNT)
      return ladder_do_selection(dev, last_idx, last_idx + 1);
  }
  if (last_idx > first_idx && last_residency < threshold) {
    ++last_state.demotion_count;
    last_state.promotion_count = 0;
    if (last_state.demotion_count >= DEMOTION_COUNT)
      return ladder_do_selection(dev, last_idx, last_idx - 1);
  }
  return last_idx;
}

}  // namespace

// Linux: drivers/cpuidle/governors/ladder.c, ladder_enable_device().
void ladder_enable_device(PerCpu& pcpu) {
  CpuidleDevice& dev = pcpu.cpuidle;
  dev.ladder.assign(dev.states.size(), {});
  dev.last_state_idx = first_state(dev);
}

// Linux: drivers/cpuidle/governors/ladder.c, ladder_select_state(). The tick is always stopped.
Co<GovernorChoice> ladder_select(Cpu& cpu) {
  CpuidleDevice& dev = this_cpu(cpu).cpuidle;
  co_await exec(cpu, Path::ladder_select);
  // A single state is not chosen: cpuidle_idle_call() enters it.
  if (dev.states.size() == 1) co_return GovernorChoice{0, !is_polling(dev, 0)};
  co_return GovernorChoice{ladder_select_state(dev), true};
}

// Linux: drivers/cpuidle/governors/ladder.c, ladder_reflect().
void ladder_reflect(PerCpu& pcpu, int index) {
  if (index > 0) pcpu.cpuidle.last_state_idx = index;
}

}  // namespace idlesim::kernel

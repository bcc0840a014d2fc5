// The haltpoll driver and its governor: poll for a while before halting, as long as it pays. Rules:
// kernel-paths 1.10.
#include <algorithm>

#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

namespace {

// Linux: drivers/cpuidle/cpuidle-haltpoll.c, haltpoll_driver: state 1, "haltpoll idle".
const hw::IdleStateSpec& haltpoll_idle() {
  static const hw::IdleStateSpec kState = [] {
    hw::IdleStateSpec state;
    state.name = "haltpoll idle";
    state.enter = hw::EnterMethod::kArchIdle;
    state.exit_latency = Time::us(1);
    state.target_residency = Time::us(1);
    return state;
  }();
  return kState;
}

// Linux: drivers/cpuidle/governors/haltpoll.c, adjust_poll_limit().
void adjust_poll_limit(CpuidleDevice& dev, const HaltpollParameters& parameters, bool keeps_small,
                       std::int64_t block_ns) {
  const std::int64_t most = parameters.guest_halt_poll_ns;
  if (block_ns > dev.poll_limit_ns && block_ns <= most) {
    const std::int64_t grown = std::max(dev.poll_limit_ns * parameters.guest_halt_poll_grow,
                                        parameters.guest_halt_poll_grow_start);
    dev.poll_limit_ns = std::min(grown, most);
  } else if (block_ns > most && parameters.guest_halt_poll_allow_shrink) {
    const std::int64_t shrink = parameters.guest_halt_poll_shrink;
    std::int64_t limit = shrink == 0 ? 0 : dev.poll_limit_ns / shrink;
    if (!keeps_small && limit < parameters.guest_halt_poll_grow_start) limit = 0;
    dev.poll_limit_ns = limit;
  }
}

}  // namespace

// Linux: drivers/cpuidle/cpuidle-haltpoll.c, haltpoll_cpu_online();
// drivers/cpuidle/governors/haltpoll.c, haltpoll_enable_device().
void haltpoll_enable_device(PerCpu& pcpu) {
  CpuidleDevice& dev = pcpu.cpuidle;
  dev.states = {nullptr, &haltpoll_idle()};
  dev.poll_limit_ns = 0;
}

// Linux: drivers/cpuidle/governors/haltpoll.c, haltpoll_select().
// Not modelled: latency requests.
Co<GovernorChoice> haltpoll_select(Cpu& cpu) {
  const CpuidleDevice& dev = this_cpu(cpu).cpuidle;
  co_await exec(cpu, Path::haltpoll_select);
  if (dev.poll_limit_ns == 0) co_return GovernorChoice{1, true};
  // Nothing came while it polled.
  if (dev.last_state_idx == 0 && dev.poll_time_limit) co_return GovernorChoice{1, true};
  co_return GovernorChoice{0, false};
}

// Linux: drivers/cpuidle/governors/haltpoll.c, haltpoll_reflect().
void haltpoll_reflect(PerCpu& pcpu, int index) {
  CpuidleDevice& dev = pcpu.cpuidle;
  dev.last_state_idx = index;
  if (index != 0)
    adjust_poll_limit(dev, pcpu.kernel->config().haltpoll,
                      pcpu.kernel->ops.haltpoll_keeps_small_limit, dev.last_residency.count_ns());
}

// Linux: drivers/cpuidle/cpuidle-haltpoll.c, default_enter_idle().
Co<> haltpoll_enter_idle(Cpu& cpu) {
  const KernelOps& ops = ops_of(cpu);
  co_await exec(cpu, Path::haltpoll_enter_idle);
  if (!co_await ops.current_clr_polling_and_test(cpu)) co_await ops.haltpoll_arch_idle(cpu);
}

}  // namespace idlesim::kernel

// The timer events oriented governor. Rules: kernel-paths 1.12.
//
// Each state has a bin: idle durations from its target residency to that of the next deeper state.
// A wake-up in the bin of the sleep length is a hit of that bin, an earlier one an intercept of the
// bin of its duration.
#include <algorithm>

#include "idlesim/kernel/kernel.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

namespace {

// Linux: drivers/cpuidle/governors/teo.c.
constexpr std::uint32_t PULSE = 1024;
constexpr int DECAY_SHIFT = 3;
constexpr std::int64_t RESIDENCY_THRESHOLD_NS = 15000;

void decay(std::uint32_t& metric) { metric -= metric >> DECAY_SHIFT; }

TeoBin& bin_of(CpuidleDevice& dev, int index) {
  return dev.teo.bins[static_cast<std::size_t>(index)];
}

// The deepest state that pays within `duration_ns`, looking at the first `count`.
int deepest_within(const CpuidleDevice& dev, int count, std::int64_t duration_ns) {
  int found = 0;
  for (int i = 0; i < count; ++i)
    if (residency_ns(dev, i) <= duration_ns) found = i;
  return found;
}

// Linux: drivers/cpuidle/governors/teo.c, teo_update(): what the last idle period teaches, at the
// next selection.
void teo_update(CpuidleDevice& dev, std::int64_t tick_ns) {
  TeoDevice& data = dev.teo;
  std::int64_t measured = KTIME_MAX;  // as long as the timer said, or stopped by a safety net
  if (data.time_span_ns < data.sleep_length_ns) {
    measured = dev.last_residency.count_ns();
    const std::int64_t latency = exit_latency_ns(dev, dev.last_state_idx);
    measured = measured >= latency ? measured - latency / 2 : measured / 2;
  }
  data.total = 0;
  for (TeoBin& bin : data.bins) {
    decay(bin.hits);
    decay(bin.intercepts);
    data.total += bin.hits + bin.intercepts;
  }
  decay(data.tick_intercepts);
  const int count = static_cast<int>(dev.states.size());
  const int idx_timer = deepest_within(dev, count, data.sleep_length_ns);
  const int idx_duration = deepest_within(dev, idx_timer + 1, measured);
  if (idx_timer == idx_duration) {
    bin_of(dev, idx_timer).hits += PULSE;
  } else {
    bin_of(dev, idx_duration).intercepts += PULSE;
    if (measured < tick_ns) data.tick_intercepts += PULSE;
  }
  data.total += PULSE;
}

// Linux: drivers/cpuidle/governors/teo.c, teo_find_shallower_state().
int teo_find_shallower_state(const CpuidleDevice& dev, int state_idx, std::int64_t duration_ns) {
  int found = state_idx;
  for (int i = state_idx - 1; i >= 0; --i) {
    found = i;
    if (residency_ns(dev, i) <= duration_ns) break;
  }
  return found;
}

// With the tick stopped nothing would end a long stay in a shallow state.
class Rules {
 public:
  Rules(CpuidleDevice& dev, bool tick_stopped, std::int64_t tick_ns)
      : dev_(dev), tick_stopped_(tick_stopped), tick_ns_(tick_ns) {}
  // Linux: drivers/cpuidle/governors/teo.c, teo_state_ok().
  bool state_ok(int index) const { return !tick_stopped_ || residency_ns(dev_, index) >= tick_ns_; }

  // Linux: drivers/cpuidle/governors/teo.c, teo_select(): shallower if most wake-ups came early.
  int after_intercepts() const {
    const int deepest = static_cast<int>(dev_.states.size()) - 1;
    std::uint32_t intercepts = 0;
    std::uint32_t hits = 0;
    for (int i = 0; i < deepest; ++i) {
      intercepts += bin_of(dev_, i).intercepts;
      hits += bin_of(dev_, i).hits;
    }
    if (2 * intercepts <= dev_.teo.total - hits) return deepest;
    int suitable = deepest;
    std::uint32_t sum = 0;
    for (int i = deepest - 1; i >= 0; --i) {
      sum += bin_of(dev_, i).intercepts;
      if (2 * sum > intercepts) return state_ok(i) ? i : suitable;
      if (state_ok(i))
        suitable = i;
      else if (suitable == deepest)
        break;
    }
    return deepest;
  }

  // Linux: drivers/cpuidle/governors/teo.c, teo_select(): not beyond the next timer, and whether
  // the tick may stop.
  GovernorChoice within(int index, std::int64_t duration_ns, std::int64_t delta_tick) const {
    int idx = index;
    if (residency_ns(dev_, idx) > duration_ns) {
      const int shallower = teo_find_shallower_state(dev_, idx, duration_ns);
      if (state_ok(shallower)) idx = shallower;
    }
    const TeoDevice& data = dev_.teo;
    std::int64_t expected = duration_ns;
    if (residency_ns(dev_, idx) < tick_ns_ &&
        data.tick_intercepts > data.total / 2 + data.total / 8)
      expected = tick_ns_ / 2;
    if ((!is_polling(dev_, idx) && expected >= tick_ns_) || tick_stopped_) return {idx, true};
    if (idx > 0 && residency_ns(dev_, idx) > delta_tick)
      idx = teo_find_shallower_state(dev_, idx, delta_tick);
    return {idx, false};
  }

 private:
  CpuidleDevice& dev_;
  const bool tick_stopped_;
  const std::int64_t tick_ns_;
};

// What the timers say, for the choice and for the statistics.
Co<SleepLength> query_sleep_length(Cpu& cpu, TeoDevice& device) {
  TeoDevice& data = device;
  co_await exec(cpu, Path::menu_select_timer_query);
  const SleepLength length = co_await tick_nohz_get_sleep_length(cpu);
  data.sleep_length_ns =
      length.next_timer == Time::never() ? KTIME_MAX : length.next_timer.count_ns();
  co_return length;
}

}  // namespace

// Linux: drivers/cpuidle/governors/teo.c, teo_enable_device().
void teo_enable_device(PerCpu& pcpu) {
  pcpu.cpuidle.teo.bins.assign(pcpu.cpuidle.states.size(), {});
}

// Linux: drivers/cpuidle/governors/teo.c, teo_select().
// Not modelled: latency requests, disabled states inside the table.
Co<GovernorChoice> teo_select(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  CpuidleDevice& dev = self.cpuidle;
  TeoDevice& data = dev.teo;
  co_await exec(cpu, Path::teo_select);
  const std::int64_t tick_ns = self.kernel->tick_period().count_ns();
  // One state: nothing to choose, the governor is not asked (late 6.12.y).
  if (dev.states.size() == 1) co_return GovernorChoice{0, !is_polling(dev, 0)};
  if (data.needs_update) teo_update(dev, tick_ns);
  data.needs_update = false;
  data.selected = cpu.now();
  data.sleep_length_ns = KTIME_MAX;

  const Rules rules(dev, self.tick.stopped, tick_ns);
  const int idx = rules.after_intercepts();
  if (idx == 0) {
    // Whether this was right shows only if the sleep length is known.
    co_await query_sleep_length(cpu, data);
    co_return GovernorChoice{0, false};
  }
  if (is_polling(dev, 0) && residency_ns(dev, idx) < RESIDENCY_THRESHOLD_NS)
    co_return GovernorChoice{idx, false};
  const SleepLength length = co_await query_sleep_length(cpu, data);
  const std::int64_t delta_tick =
      length.delta_next == Time::never() ? KTIME_MAX : length.delta_next.count_ns();
  co_return rules.within(idx, data.sleep_length_ns, delta_tick);
}

// Linux: drivers/cpuidle/governors/teo.c, teo_reflect().
void teo_reflect(PerCpu& pcpu, int index) {
  CpuidleDevice& dev = pcpu.cpuidle;
  TeoDevice& data = dev.teo;
  dev.last_state_idx = index;
  data.needs_update = true;
  const std::int64_t tick_ns = pcpu.kernel->tick_period().count_ns();
  if (dev.poll_time_limit ||
      (tick_nohz_idle_got_tick(*pcpu.cpu) && data.sleep_length_ns > tick_ns)) {
    dev.poll_time_limit = false;
    data.time_span_ns = data.sleep_length_ns;
  } else {
    data.time_span_ns = (pcpu.cpu->now() - data.selected).count_ns();
  }
}

}  // namespace idlesim::kernel

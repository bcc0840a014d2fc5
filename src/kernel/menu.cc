// The menu governor. Rules: kernel-paths 1.11.
#include <algorithm>

#include "idlesim/kernel/kernel.h"
#include "idlesim/kernel/timer.h"

namespace idlesim::kernel {

namespace {

// Linux: drivers/cpuidle/governors/menu.c.
constexpr std::int64_t RESOLUTION = 1024;
constexpr std::int64_t DECAY = 8;
constexpr std::int64_t MAX_INTERESTING_NS = 50'000'000;
constexpr std::int64_t RESIDENCY_THRESHOLD_NS = 15000;
constexpr std::uint32_t kInfinite = ~std::uint32_t{0};
constexpr std::uint32_t kIntMax = kInfinite >> 1;

// Linux: menu.c, which_bucket().
unsigned which_bucket(std::int64_t duration_ns) {
  unsigned bucket = 0;
  for (std::int64_t limit = 10'000; bucket < 5 && duration_ns >= limit; limit *= 10) ++bucket;
  return bucket;
}

// Linux: menu.c, get_typical_interval(). Microseconds; kInfinite if there is no pattern.
std::uint32_t get_typical_interval(const MenuDevice& data) {
  std::uint64_t threshold = kIntMax;
  for (;;) {
    std::uint64_t sum = 0;
    std::uint64_t max = 0;
    std::uint64_t divisor = 0;
    for (const std::uint32_t value : data.intervals) {
      if (value > threshold) continue;
      sum += value;
      ++divisor;
      max = std::max<std::uint64_t>(max, value);
    }
    if (max == 0) return kInfinite;
    const std::uint64_t average = sum / divisor;
    std::uint64_t variance = 0;
    for (const std::uint32_t value : data.intervals) {
      if (value > threshold) continue;
      const auto difference = static_cast<std::int64_t>(value) - static_cast<std::int64_t>(average);
      variance += static_cast<std::uint64_t>(difference * difference);
    }
    variance /= divisor;
    if (variance <= 400 || (divisor * 4 >= 8 * 3 && average * average > variance * 36))
      return static_cast<std::uint32_t>(average);
    if (divisor * 4 <= 8 * 3) return kInfinite;
    threshold = max - 1;
  }
}

// Linux: menu.c, menu_update_intervals().
void menu_update_intervals(MenuDevice& data, std::uint32_t interval_us) {
  data.intervals[static_cast<std::size_t>(data.interval_ptr)] = interval_us;
  data.interval_ptr = (data.interval_ptr + 1) % 8;
}

// Linux: menu.c, menu_update(): what the last idle period teaches, at the next selection.
void menu_update(CpuidleDevice& dev, std::int64_t tick_ns) {
  MenuDevice& data = dev.menu;
  const int last = dev.last_state_idx;
  std::int64_t measured = 0;
  if (data.tick_wakeup && data.next_timer_ns > tick_ns) {
    measured = 9 * MAX_INTERESTING_NS / 10;
  } else if (is_polling(dev, last) && dev.poll_time_limit) {
    measured = data.next_timer_ns;
  } else {
    measured = dev.last_residency.count_ns();
    const std::int64_t latency = exit_latency_ns(dev, last);
    measured = measured > 2 * latency ? measured - latency : measured / 2;
  }
  measured = std::min(measured, data.next_timer_ns);

  std::uint32_t& factor = data.correction_factor[data.bucket];
  std::int64_t updated = factor - factor / DECAY;
  if (data.next_timer_ns > 0 && measured < MAX_INTERESTING_NS)
    updated += RESOLUTION * measured / data.next_timer_ns;
  else
    updated += RESOLUTION;
  factor = static_cast<std::uint32_t>(std::max<std::int64_t>(updated, 1));

  menu_update_intervals(
      data, static_cast<std::uint32_t>(std::min<std::int64_t>(measured / 1000, kInfinite)));
}

// The timer's distance times the correction factor of its bucket, to the nearest microsecond.
std::int64_t corrected_ns(const MenuDevice& data) {
  constexpr std::int64_t scale = RESOLUTION * DECAY * 1000;
  constexpr std::int64_t most = std::int64_t{1} << 49;  // six days: what does not overflow
  const std::int64_t factor = data.correction_factor[data.bucket];
  return (scale / 2 + std::min(data.next_timer_ns, most) * factor) / scale * 1000;
}

// Linux: menu.c, the scan of menu_select().
GovernorChoice choose(const CpuidleDevice& dev, std::int64_t predicted_ns, std::int64_t next_timer,
                      std::int64_t delta_tick, std::int64_t tick_ns, bool tick_stopped) {
  GovernorChoice choice{-1, true};
  const int count = static_cast<int>(dev.states.size());
  for (int i = 0; i < count; ++i) {
    if (choice.index == -1) choice.index = i;
    if (residency_ns(dev, i) > predicted_ns) {
      // Rather a shallow state than polling.
      if (is_polling(dev, choice.index) && residency_ns(dev, i) < RESIDENCY_THRESHOLD_NS &&
          residency_ns(dev, i) <= next_timer && exit_latency_ns(dev, i) <= predicted_ns) {
        predicted_ns = residency_ns(dev, i);
        choice.index = i;
        break;
      }
      if (predicted_ns < tick_ns) break;
      if (!tick_stopped) {
        // Shallow: keep the tick and choose again when it comes.
        predicted_ns = residency_ns(dev, choice.index);
        break;
      }
      // Rather not stay long in a shallow state.
      if (residency_ns(dev, choice.index) < tick_ns && residency_ns(dev, i) <= delta_tick)
        choice.index = i;
      return choice;
    }
    choice.index = i;
  }
  if ((is_polling(dev, choice.index) || predicted_ns < tick_ns) && !tick_stopped) {
    choice.stop_tick = false;
    for (int i = choice.index; i > 0 && residency_ns(dev, choice.index) > delta_tick; --i)
      choice.index = i - 1;
  }
  return choice;
}

}  // namespace

// Linux: drivers/cpuidle/governors/menu.c, menu_select().
// Not modelled: latency requests, disabled states inside the table, iowait.
Co<GovernorChoice> menu_select(Cpu& cpu) {
  PerCpu& self = this_cpu(cpu);
  CpuidleDevice& dev = self.cpuidle;
  MenuDevice& data = dev.menu;
  co_await exec(cpu, Path::menu_select);
  const std::int64_t tick_ns = self.kernel->tick_period().count_ns();
  // One state: nothing to choose, the governor is not asked (late 6.12.y).
  if (dev.states.size() == 1) co_return GovernorChoice{0, !is_polling(dev, 0)};
  if (data.needs_update) {
    menu_update(dev, tick_ns);
    data.needs_update = false;
  } else if (ops_of(cpu).menu_records_refusals && dev.last_residency == Time{}) {
    menu_update_intervals(data, kInfinite);  // the state was refused
  }

  std::int64_t predicted_ns = std::int64_t{get_typical_interval(data)} * 1000;
  std::int64_t delta_tick = tick_ns / 2;
  if (predicted_ns > RESIDENCY_THRESHOLD_NS || self.tick.stopped) {
    co_await exec(cpu, Path::menu_select_timer_query);
    const SleepLength length = co_await tick_nohz_get_sleep_length(cpu);
    const auto ns = [](Time time) { return time == Time::never() ? KTIME_MAX : time.count_ns(); };
    data.next_timer_ns = ns(length.next_timer);
    delta_tick = ns(length.delta_next);
    data.bucket = which_bucket(data.next_timer_ns);
    predicted_ns = std::min(predicted_ns, corrected_ns(data));
    if (self.tick.stopped && predicted_ns < tick_ns) predicted_ns = data.next_timer_ns;
  } else {
    data.next_timer_ns = KTIME_MAX;
    data.bucket = which_bucket(KTIME_MAX);
  }
  const bool poll_now = data.next_timer_ns < residency_ns(dev, 1);
  if (poll_now) co_return GovernorChoice{0, !is_polling(dev, 0)};
  co_return choose(dev, predicted_ns, data.next_timer_ns, delta_tick, tick_ns, self.tick.stopped);
}

// Linux: drivers/cpuidle/governors/menu.c, menu_reflect().
void menu_reflect(PerCpu& pcpu, int index) {
  CpuidleDevice& dev = pcpu.cpuidle;
  dev.last_state_idx = index;
  dev.menu.needs_update = true;
  dev.menu.tick_wakeup = tick_nohz_idle_got_tick(*pcpu.cpu);
}

}  // namespace idlesim::kernel

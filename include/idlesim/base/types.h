// Types that do not mix: simulated time, cycles, frequencies, CPU numbers.
#ifndef IDLESIM_BASE_TYPES_H_
#define IDLESIM_BASE_TYPES_H_

#include <compare>
#include <cstdint>
#include <limits>

namespace idlesim {

// A point in simulated time or a span of it, in whole picoseconds. 63 bits last 106 days.
// Never a floating-point number: the order of events must not depend on rounding.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time ps(std::int64_t count) { return Time(count); }
  static constexpr Time ns(std::int64_t count) { return Time(count * 1000); }
  static constexpr Time us(std::int64_t count) { return Time(count * 1'000'000); }
  static constexpr Time ms(std::int64_t count) { return Time(count * 1'000'000'000); }
  static constexpr Time seconds(std::int64_t count) { return Time(count * 1'000'000'000'000); }
  static constexpr Time never() { return Time(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t count_ps() const { return ps_; }
  constexpr std::int64_t count_ns() const { return ps_ / 1000; }
  // For reports only.
  constexpr double as_ns() const { return static_cast<double>(ps_) / 1000.0; }

  constexpr auto operator<=>(const Time&) const = default;
  constexpr Time& operator+=(Time other) {
    ps_ += other.ps_;
    return *this;
  }
  constexpr Time& operator-=(Time other) {
    ps_ -= other.ps_;
    return *this;
  }
  friend constexpr Time operator+(Time a, Time b) { return Time(a.ps_ + b.ps_); }
  friend constexpr Time operator-(Time a, Time b) { return Time(a.ps_ - b.ps_); }
  friend constexpr Time operator*(Time a, std::int64_t n) { return Time(a.ps_ * n); }
  friend constexpr std::int64_t operator/(Time a, Time b) { return a.ps_ / b.ps_; }
  friend constexpr Time operator/(Time a, std::int64_t n) { return Time(a.ps_ / n); }
  friend constexpr Time operator%(Time a, Time b) { return Time(a.ps_ % b.ps_); }

 private:
  explicit constexpr Time(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

// A count of clock cycles of some clock domain.
struct Cycles {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Cycles&) const = default;
};

// A clock rate in kHz, so that 2.45 GHz and 121.875 MHz are whole numbers.
class Frequency {
 public:
  constexpr Frequency() = default;
  static constexpr Frequency khz(std::int64_t count) { return Frequency(count); }
  static constexpr Frequency mhz(std::int64_t count) { return Frequency(count * 1000); }
  constexpr std::int64_t count_khz() const { return khz_; }

  // Time that `cycles` last, rounded down to a picosecond.
  constexpr Time to_time(Cycles cycles) const { return milli_to_time(cycles.count * 1000); }
  // The same for thousandths of a cycle (a fractional cycle count of a data sheet).
  constexpr Time milli_to_time(std::int64_t millicycles) const {
    // 1 cycle = 10^9 ps / kHz, hence 1 millicycle = 10^6 ps / kHz.
    return Time::ps(static_cast<std::int64_t>(static_cast<Int128>(millicycles) * 1'000'000 / khz_));
  }
  // Whole cycles that fit into `time`.
  constexpr Cycles to_cycles(Time time) const {
    return {static_cast<std::int64_t>(static_cast<Int128>(time.count_ps()) * khz_ / 1'000'000'000)};
  }
  constexpr auto operator<=>(const Frequency&) const = default;

 private:
  __extension__ using Int128 = __int128;
  explicit constexpr Frequency(std::int64_t khz) : khz_(khz) {}
  std::int64_t khz_ = 1'000'000;
};

// Linux CPU number: index into Machine::cpu().
using CpuId = int;
inline constexpr CpuId kNoCpu = -1;

}  // namespace idlesim

#endif  // IDLESIM_BASE_TYPES_H_

#include "idlesim/kernel/cmpwait.h"

#include <algorithm>
#include <bit>

#include "idlesim/kernel/kernel.h"

namespace idlesim::kernel {

namespace {

// Linux: arch/arm64/include/asm/cmpxchg.h, __CMPWAIT_CASE(). SEVL and the first WFE leave the event
// register clear; LDXR arms the monitor before the value is compared, so that a store after it ends
// the second WFE.
Co<> cmpwait(Cpu& cpu, Word& word, std::uint64_t val, Time deadline, SourceLocation where) {
  const hw::HaltTiming& timing = cpu.spec().wfe;
  cpu.sevl();
  co_await cpu.wfe(timing, Time::never(), where);
  const std::uint64_t seen = co_await cpu.load_exclusive(word, where);
  if (seen != val) {
    cpu.disarm_monitor();  // nobody will wait for it
    co_return;
  }
  co_await cpu.wfe(timing, deadline, where);
}

}  // namespace

// Linux: arch/arm64/include/asm/cmpxchg.h, __cmpwait_relaxed().
Co<> cmpwait_relaxed(Cpu& cpu, Word& word, std::uint64_t val, SourceLocation where) {
  return cmpwait(cpu, word, val, Time::never(), where);
}

// Linux: arch/arm64/include/asm/cmpxchg.h, __cmpwait_relaxed_timeout() (series of 2025-26).
Co<> cmpwait_relaxed_timeout(Cpu& cpu, Word& word, std::uint64_t val, Time timeout,
                             SourceLocation where) {
  const Frequency counter = cpu.spec().tsc;
  const std::int64_t end = hw::counter_at(counter, cpu.now()) + nsecs_to_cycles(counter, timeout);
  return cmpwait(cpu, word, val, hw::time_of_counter(counter, end), where);
}

// Linux: include/asm-generic/barrier.h and arch/arm64/include/asm/barrier.h,
// smp_cond_load_relaxed(), smp_cond_load_acquire().
Co<> smp_cond_load_until_clear(Cpu& cpu, Word& word, std::uint64_t mask, hw::PathCost round,
                               SourceLocation where) {
  Word& awaited = word;
  if (cpu.spec().arch == hw::Arch::kX86_64) {
    hw::SpinLoop loop;
    loop.mask = mask;
    loop.while_set = true;
    loop.pause = cpu.spec().pause;
    loop.period = round.time + loop.pause;
    loop.instructions = round.instructions;
    co_await cpu.spin(awaited, loop, where);
    co_return;
  }
  for (;;) {
    const std::uint64_t val = co_await cpu.load(awaited, where);
    if ((val & mask) == 0) co_return;
    co_await cpu.exec(round, where);
    co_await cmpwait_relaxed(cpu, awaited, val, where);
  }
}

// Linux: arch/arm64/include/asm/delay-const.h, NSECS_TO_CYCLES(): 2^32 / 10^9 rounded up to 5.
std::int64_t nsecs_to_cycles(Frequency counter, Time time) {
  __extension__ using Int128 = __int128;
  const Int128 xloops = static_cast<Int128>(time.count_ns()) * 5;
  return static_cast<std::int64_t>(xloops * counter.count_khz() * 1000 >> 32);
}

// Linux: drivers/clocksource/arm_arch_timer.c, arch_timer_configure_evtstream(): the power of two
// nearest to what makes 10 kHz.
int event_stream_bit(Frequency counter, bool ecv) {
  constexpr std::int64_t ARCH_TIMER_EVT_STREAM_FREQ = 10'000;
  constexpr int kLargest = 15;  // of CNTKCTL_EL1.EVNTI; EVNTIS adds 8
  const auto divider =
      static_cast<std::uint64_t>(counter.count_khz() * 1000 / ARCH_TIMER_EVT_STREAM_FREQ / 2);
  int lsb = std::bit_width(divider) - 1;
  if (lsb > 0 && (divider >> (lsb - 1) & 1) != 0) ++lsb;
  lsb = std::max(lsb, 0);
  if (ecv && lsb > kLargest) return std::min(lsb, kLargest + 8);
  return std::min(lsb, kLargest);
}

}  // namespace idlesim::kernel

// Relax loops. While the line of the tested word stays in the core's cache, a round cannot see
// anything new, so the CPU is not woken for it: the next event of the loop is the loss of the line,
// an interrupt, or the clock check that finds the deadline passed. The rounds in between are
// accounted for. Machine::iterate_spins executes every round instead; both forms give the same
// times and counts (tests/hw/spin_test.cc).
//
// Rounds are numbered from the start of a block of check_every rounds; round r's load stands at
//   base + (r - round) * period + (r / check_every - round / check_every) * check_time
// and before the load of a round that starts a block the clock is checked.
#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

Cpu::Spin Cpu::spin(Word& word, const SpinLoop& loop, SourceLocation where) {
  CHECK(loop.period > Time{}, "a round of a relax loop takes time");
  where_ = where;
  spin_ = {};
  spin_.word = &word;
  spin_.loop = loop;
  return {*this};
}

bool Cpu::spin_begin() {
  op_ = {MemoryOp::Kind::kSpinLoad, AtomicOp::kOr, spin_.word, 0, 0, 0};
  return start_op();
}

// A load of the loop has its value. True: the loop is over.
bool Cpu::spin_loaded() {
  const bool set = (op_.result & spin_.loop.mask) != 0;
  if (set != spin_.loop.while_set) return true;
  spin_.base = now();
  spin_.deferred = false;
  spin_plan();
  wait_ = Wait::kSpin;
  return false;
}

Time Cpu::spin_round_time(std::uint64_t round) const {
  Time time = spin_.base + spin_.loop.period * static_cast<std::int64_t>(round - spin_.round);
  if (spin_.loop.check_every != 0)
    time += spin_.loop.check_time * static_cast<std::int64_t>(round / spin_.loop.check_every);
  return time;
}

// The first round after the current one whose load stands at `time` or later.
std::uint64_t Cpu::spin_round_at(Time time) const {
  const SpinLoop& loop = spin_.loop;
  const Time since = time - (spin_.base - loop.period * static_cast<std::int64_t>(spin_.round));
  const auto ceil = [](Time a, Time b) {
    return static_cast<std::uint64_t>((a + b - Time::ps(1)) / b);
  };
  std::uint64_t round = 0;
  if (loop.check_every == 0) {
    round = ceil(since, loop.period);
  } else {
    const Time block = loop.period * loop.check_every + loop.check_time;
    const auto blocks = static_cast<std::uint64_t>(since / block);
    round = blocks * loop.check_every +
            std::min<std::uint64_t>(ceil(since % block, loop.period), loop.check_every);
  }
  round = std::max(round, spin_.round + 1);
  return std::min(round, spin_exit_round());
}

// The round at whose start a clock check finds the deadline passed.
std::uint64_t Cpu::spin_exit_round() const {
  const SpinLoop& loop = spin_.loop;
  if (loop.check_every == 0 || loop.deadline == Time::never()) return ~std::uint64_t{0};
  const Time block = loop.period * loop.check_every + loop.check_time;
  const Time origin = spin_.base - loop.period * static_cast<std::int64_t>(spin_.round);
  const std::int64_t passed = loop.deadline < origin ? 0 : (loop.deadline - origin) / block;
  return static_cast<std::uint64_t>(passed + 1) * loop.check_every;
}

void Cpu::spin_plan() {
  Line& line = spin_.word->line();
  if (machine_.iterate_spins || !line.can_read(watcher_core)) {
    spin_.next_round = spin_.round + 1;
    arm(spin_round_time(spin_.next_round));
    return;
  }
  spin_.watching = true;
  line.watch(*this);
  const std::uint64_t exit = spin_exit_round();
  spin_.next_round = exit;
  if (exit != ~std::uint64_t{0}) arm(spin_round_time(exit));
}

void Cpu::spin_stop_watching() {
  spin_.watching = false;
  spin_.word->line().unwatch(*this);
}

// The start of round `next_round`: the clock check if one is due, then the load.
void Cpu::spin_fire() {
  // Loads of relax loops come last among the events of an instant, so that skipping rounds cannot
  // change what they see.
  if (!spin_.deferred && engine_.next_time() == now()) {
    spin_.deferred = true;
    arm(now());
    return;
  }
  if (spin_.watching) spin_stop_watching();
  const SpinLoop& loop = spin_.loop;
  instructions_ += (spin_.next_round - spin_.round) * loop.instructions;
  if (loop.check_every != 0) {
    const std::uint64_t checks = spin_.next_round / loop.check_every;
    instructions_ += checks * loop.check_instructions;
    spin_.round = spin_.next_round % loop.check_every;
    if (checks != 0 && spin_.round == 0 && now() > loop.deadline) {
      spin_.timed_out = true;
      continue_or_interrupt();
      return;
    }
  }
  op_ = {MemoryOp::Kind::kSpinLoad, AtomicOp::kOr, spin_.word, 0, 0, 0};
  wait_ = Wait::kRunning;
  if (start_op()) continue_or_interrupt();
}

}  // namespace idlesim::hw

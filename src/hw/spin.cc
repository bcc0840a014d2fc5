// Relax loops. While the line of the tested word stays in the core's cache, a round cannot see
// anything new, so the CPU is not woken for it: the next event of the loop is the loss of the line,
// an interrupt, or the clock check that finds the deadline passed. The rounds in between are
// accounted for. Machine::iterate_spins executes every round instead; both forms give the same
// times and counts (tests/hw/spin_test.cc).
//
// Rounds are numbered from the start of a block of check_every rounds; round r's load stands at
//   base + (r - round) * period + r / check_every * check_time
// where `round` (< check_every) is the last one done; before the load of a round that starts a
// block the clock is checked.
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
  spin_.code = loop.period - loop.pause;
  spin_.check = loop.check_time;
  if (machine_.gate != nullptr && loop.deadline != Time::never()) {
    spin_.deadline_gated = true;
    spin_.loop.deadline = Time::never();
  }
  return {*this};
}

bool Cpu::spin_begin() {
  op_ = {MemoryOp::Kind::kSpinLoad, AtomicOp::kOr, spin_.word, 0, 0, 0};
  return start_op();
}

// A load of the loop has its value, which took `penalty`. True: the loop is over.
bool Cpu::spin_loaded(Time penalty) {
  const bool set = (op_.result & spin_.loop.mask) != 0;
  if (set != spin_.loop.while_set) {
    run_beside_siblings();
    return finish_op(penalty);
  }
  spin_apply_pace();
  spin_.base = now() + penalty;
  spin_plan();
  wait_ = Wait::kSpin;
  relax_beside_siblings();
  return false;
}

Time Cpu::spin_round_time(std::uint64_t round) const {
  Time time = spin_.base + spin_.loop.period * static_cast<std::int64_t>(round - spin_.round);
  if (spin_.loop.check_every != 0)
    time += spin_.loop.check_time * static_cast<std::int64_t>(round / spin_.loop.check_every);
  return time;
}

// The first round after the last one done whose load stands at `time` or later.
std::uint64_t Cpu::spin_round_at(Time time) const {
  const SpinLoop& loop = spin_.loop;
  if (time <= spin_.base) return spin_.round + 1;
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
  return std::min(std::max(round, spin_.round + 1), spin_exit_round());
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

// The next round to come: a load of this instant counts as done if its turn has passed.
std::uint64_t Cpu::spin_next_round() const {
  return spin_round_at(machine_.physical().spin_turn_passed(turn) ? now() + Time::ps(1) : now());
}

// Of the rounds after the last one done up to and including `to`, with their clock checks.
std::uint64_t Cpu::spin_instructions(const Spinning& spin, std::uint64_t to) {
  const SpinLoop& loop = spin.loop;
  std::uint64_t count = (to - spin.round) * loop.instructions;
  if (loop.check_every != 0) count += to / loop.check_every * loop.check_instructions;
  return count;
}

// All rounds up to and including `to` have been done.
void Cpu::spin_skip(std::uint64_t to) {
  instructions_ += spin_instructions(spin_, to);
  spin_.base = spin_round_time(to);
  spin_.round = spin_.loop.check_every != 0 ? to % spin_.loop.check_every : to;
}

std::uint64_t Cpu::instructions() const {
  if (!spin_.watching) return instructions_;
  return instructions_ + spin_instructions(spin_, spin_next_round() - 1);
}

void Cpu::spin_plan() {
  Line& line = spin_.word->line();
  if (machine_.iterate_spins || !line.can_read(watcher_core)) {
    arm(spin_round_time(spin_.round + 1));
    return;
  }
  spin_.watching = true;
  line.watch_spin(*this);
  const std::uint64_t exit = spin_exit_round();
  if (exit != ~std::uint64_t{0}) arm(spin_round_time(exit));
}

void Cpu::spin_stop_watching() {
  spin_.watching = false;
  spin_.word->line().unwatch_spin(*this);
}

void Cpu::spin_line_lost() {
  spin_skip(spin_next_round() - 1);
  spin_stop_watching();
  arm(spin_round_time(spin_.round + 1));
}

// The start of a round: the clock check if one is due, then the load.
void Cpu::spin_turn() {
  const SpinLoop& loop = spin_.loop;
  spin_skip(spin_.round + 1);
  if (loop.check_every != 0 && spin_.round == 0 && now() > loop.deadline) {
    spin_.timed_out = true;
    run_beside_siblings();
    continue_or_interrupt();
    return;
  }
  op_ = {MemoryOp::Kind::kSpinLoad, AtomicOp::kOr, spin_.word, 0, 0, 0};
  wait_ = Wait::kRunning;
  after_op(start_op());
}

}  // namespace idlesim::hw

// Threads that share a core: at which pace their code goes on, and in which idle state the core is.
#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/hw/core.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

namespace {

__extension__ using Int128 = __int128;

// A stretch's duration at a pace is its work times `times` / `by`.
struct Ratio {
  Int128 times = 1;
  Int128 by = 1;
};

Ratio slowdown(const Stretch& stretch, const Pace& pace, Time mispredict) {
  Ratio ratio{kWholeCore, pace.share};
  if (pace.restricted && stretch.indirect_branches != 0) {
    CHECK(stretch.whole > Time{}, "branches are executed in code that takes time");
    const Time penalty = mispredict * stretch.indirect_branches;
    ratio.times *= (stretch.whole + penalty).count_ps();
    ratio.by *= stretch.whole.count_ps();
  }
  return ratio;
}

Share product(Share a, Share b) { return a * b / kWholeCore; }

}  // namespace

Time duration(Time work, const Stretch& stretch, const Pace& pace, Time mispredict) {
  const Ratio ratio = slowdown(stretch, pace, mispredict);
  return Time::ps(
      static_cast<std::int64_t>((work.count_ps() * ratio.times + ratio.by - 1) / ratio.by));
}

Time work_done(Time elapsed, const Stretch& stretch, const Pace& pace, Time mispredict) {
  const Ratio ratio = slowdown(stretch, pace, mispredict);
  return Time::ps(static_cast<std::int64_t>(elapsed.count_ps() * ratio.by / ratio.times));
}

Share share_beside_loop(const CpuSpec& spec, Time code, Time pause) {
  const Share running = Share{1000} * spec.smt_share_running_permille;
  const Share paused = Share{1000} * spec.smt_share_pause_permille;
  const Int128 slowed = duration(code, {}, {running, false}, {}).count_ps();
  const Int128 round = slowed + pause.count_ps();
  return static_cast<Share>((running * slowed + paused * pause.count_ps()) / round);
}

// --- the core ---

Core::Core(Machine& machine)
    : machine_(machine),
      beside_running_(Share{1000} * machine.spec().cpu.smt_share_running_permille) {}

void Core::add(Cpu& thread) { threads_.push_back({&thread, kWholeCore, 0}); }

Core::Thread& Core::find(const Cpu& thread) {
  const auto it = std::find_if(threads_.begin(), threads_.end(),
                               [&thread](const Thread& t) { return t.cpu == &thread; });
  return *it;
}

void Core::set_beside(Cpu& thread, Share beside) {
  Thread& self = find(thread);
  if (self.beside == beside) return;
  self.beside = beside;
  set_paces();
}

void Core::spec_ctrl_changed() {
  const bool restricted = std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) {
    return (t.cpu->spec_ctrl() & (SPEC_CTRL_IBRS | SPEC_CTRL_STIBP)) != 0;
  });
  if (restricted == restricted_) return;
  restricted_ = restricted;
  set_paces();
}

void Core::set_paces() {
  for (const Thread& thread : threads_) {
    Pace pace{kWholeCore, restricted_};
    for (const Thread& other : threads_)
      if (other.cpu != thread.cpu) pace.share = product(pace.share, other.beside);
    thread.cpu->set_pace(pace);
  }
}

void Core::set_depth(Cpu& thread, int depth) {
  find(thread).depth = depth;
  int state = depth;
  for (const Thread& other : threads_) state = std::min(state, other.depth);
  if (state == state_) return;
  state_ = state;
  state_since_ = machine_.now();
  machine_.tracer().emit(
      trace::CoreIdle{state_since_, threads_.front().cpu->id, static_cast<std::int16_t>(state)});
}

Time Core::wake(Cpu& thread, const HaltTiming& asked, Time since) {
  // The halt of a thread by itself is the shallowest state, and needs nothing of its siblings.
  const int effective = std::clamp(state_, 1, asked.depth);
  const auto& table = machine_.spec().idle_states;
  const HaltTiming& timing =
      effective == asked.depth ? asked : table.at(static_cast<std::size_t>(effective - 1)).timing;
  const Time began = effective > 1 ? std::max(since, state_since_) : since;
  const Time awake =
      std::max(std::max(machine_.now(), began + timing.entry) + timing.exit, awake_at_);
  if (effective > 1) awake_at_ = awake;
  set_depth(thread, 0);
  return awake;
}

// --- a thread ---

void Cpu::begin_stretch(Time work, std::uint32_t indirect_branches, bool logged) {
  stretch_ = {work, work, now(), indirect_branches, logged};
  arm(now() + duration(work, stretch_, pace_, mispredict_));
}

// Counts what has been done since the pace was last looked at.
void Cpu::settle_stretch() {
  stretch_.left -=
      std::min(stretch_.left, work_done(now() - stretch_.since, stretch_, pace_, mispredict_));
  stretch_.since = now();
  if (stretch_.logged) pace_log_.push_back({now(), stretch_.whole - stretch_.left});
}

// Goes on with what is left, after an interrupt or at another pace.
void Cpu::resume_stretch() {
  if (stretch_.logged && stretch_.since != now())
    pace_log_.push_back({now(), stretch_.whole - stretch_.left});
  stretch_.since = now();
  arm(now() + duration(stretch_.left, stretch_, pace_, mispredict_));
}

void Cpu::set_pace(const Pace& pace) {
  if (pace == pace_) return;
  if (guest_ != nullptr) guest_->set_pace(pace);
  if (wait_ == Wait::kExec) settle_stretch();
  pace_ = pace;
  if (wait_ == Wait::kExec)
    resume_stretch();
  else if (wait_ == Wait::kSpin)
    spin_pace_changed();
}

// The rounds of a relax loop at the present pace.
void Cpu::spin_apply_pace() {
  spin_.loop.period = spin_.loop.pause + duration_of(spin_.code, 0);
  spin_.loop.check_time = duration_of(spin_.check, 0);
}

// A round that has begun keeps its length; the pace changes with the next load.
void Cpu::spin_pace_changed() {
  if (spin_.watching) spin_skip(spin_next_round() - 1);
  const Time next = spin_round_time(spin_.round + 1);
  spin_apply_pace();
  spin_.base += next - spin_round_time(spin_.round + 1);
  if (!spin_.watching) return;
  const std::uint64_t exit = spin_exit_round();
  if (exit != ~std::uint64_t{0}) arm(spin_round_time(exit));
}

// --- SPEC_CTRL ---

bool Cpu::WriteSpecCtrl::await_ready() const {
  CHECK(!cpu.irq_enabled_, "SPEC_CTRL is written with interrupts off");
  return cpu.finish_op(cpu.machine_.spec().spec_ctrl_write);
}

Cpu::WriteSpecCtrl Cpu::write_spec_ctrl(std::uint64_t value, SourceLocation where) {
  where_ = where;
  return {*this, value};
}

void Cpu::spec_ctrl_written(std::uint64_t value) {
  physical().spec_ctrl_ = value;
  machine_.tracer().emit(trace::MsrWrite{now(), id, value});
  smt_core_->spec_ctrl_changed();
}

void Cpu::reset_spec_ctrl(std::uint64_t value) {
  spec_ctrl_ = value;
  smt_core_->spec_ctrl_changed();
}

Cpu::LoggedExec Cpu::exec_logged(const PathCost& cost, SourceLocation where) {
  where_ = where;
  instructions_ += cost.instructions;
  pace_log_.clear();
  return {{*this, cost.time, cost.indirect_branches}};
}

}  // namespace idlesim::hw

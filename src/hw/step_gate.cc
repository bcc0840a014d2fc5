// What a StepGate sees of a CPU and lets it do.
#include "idlesim/hw/step_gate.h"

#include "idlesim/base/check.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

Cpu::Gated Cpu::gated() const {
  if (wait_ != Wait::kGate) return {};
  if (op_.kind == MemoryOp::Kind::kHalt) return {true, monitored_, false, true};
  const bool reads = op_.kind == MemoryOp::Kind::kLoad || op_.kind == MemoryOp::Kind::kSpinLoad ||
                     op_.kind == MemoryOp::Kind::kLoadExclusive;
  return {true, &op_.word->line(), !reads, false};
}

void Cpu::pass_gate() {
  CHECK(wait_ == Wait::kGate, "the CPU stands at no gate");
  if (op_.kind == MemoryOp::Kind::kHalt) {
    enter_halt();
    trampoline();
    return;
  }
  wait_ = Wait::kRunning;
  gate_open_ = true;
  const bool complete = start_op();
  gate_open_ = false;
  after_op(complete);
}

const Line* Cpu::gated_drain() const {
  return drain_held_ ? &store_buffer_[store_head_].word->line() : nullptr;
}

void Cpu::pass_drain() {
  CHECK(drain_held_, "no store waits at the gate");
  drain_open_ = true;
  drain();
  if (wait_ == Wait::kDrain) after_op(start_op());
}

const Line* Cpu::gated_deadline() const {
  if (gated_event()) return monitored_;
  return wait_ == Wait::kSpin && spin_.watching && spin_.deadline_gated ? &spin_.word->line()
                                                                        : nullptr;
}

void Cpu::pass_deadline() {
  CHECK(gated_deadline() != nullptr, "no deadline waits at the gate");
  if (wait_ == Wait::kHalt) {
    // Later than any time limit that code compares its clock with.
    arm(now() + Time::ms(100));
    return;
  }
  spin_stop_watching();
  spin_.timed_out = true;
  run_beside_siblings();
  continue_or_interrupt();
}

}  // namespace idlesim::hw

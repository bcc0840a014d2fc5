// Where a test decides in which order things happen. With a StepGate set, a CPU stands still before
// each access to a gated line, before a buffered store to one becomes visible and before it halts;
// interrupts wait at the gate, and relax loops do not see their deadline pass. The gate lets them
// go on, one at a time: Cpu::pass_gate() and its neighbours. A machine without one does not notice.
#ifndef IDLESIM_HW_STEP_GATE_H_
#define IDLESIM_HW_STEP_GATE_H_

#include "idlesim/hw/interrupt.h"

namespace idlesim::hw {

class Cpu;
class Line;

class StepGate {
 public:
  // Do the CPUs stop before they touch this line?
  virtual bool gated(const Line& line) = 0;
  // An interrupt has arrived for `cpu`; Cpu::deliver_now() hands it over.
  virtual void arrived(Cpu& cpu, Vector vector) = 0;

 protected:
  ~StepGate() = default;
};

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_STEP_GATE_H_

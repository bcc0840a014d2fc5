#include "idlesim/hw/machine.h"

#include <algorithm>

#include "idlesim/base/check.h"

namespace idlesim::hw {

Machine::Machine(const MachineSpec& spec, std::uint64_t seed, std::uint64_t run)
    : spec_(spec),
      seed_(seed),
      run_(run),
      topology_(spec.topology),
      directory_(engine_, tracer_, topology_, spec.coherence),
      line_spread_(seed, run, "line-spread", 0),
      spin_slot_(engine_.add_slot(spin_turn_event, this)),
      spin_waiting_(topology_.nr_cpus()) {
  for (CpuId id = 0; id < nr_cpus(); ++id) cpus_.emplace_back(*this, id);
  for (CpuId id = 0; id < nr_cpus(); ++id) {
    Timer& timer = timers_.emplace_back(Timer{this, id, 0});
    timer.slot = engine_.add_slot(timer_event, &timer);
  }
}

Line& Machine::new_line(LineName name, NodeId node) {
  const int spread = spec_.coherence.spread_permille;
  int scale = 1000;
  if (spread > 0) scale += static_cast<int>(line_spread_.uniform_int(-spread, spread));
  return lines_.emplace_back(directory_, name, node, scale);
}

LineName Machine::line_name(std::string_view name) {
  for (std::size_t i = 0; i < line_names_.size(); ++i)
    if (line_names_[i] == name) return static_cast<LineName>(i);
  line_names_.emplace_back(name);
  return static_cast<LineName>(line_names_.size() - 1);
}

Time Machine::delivery_latency(CpuId from, CpuId to) const {
  switch (topology_.relation(from, to)) {
    case Relation::kSelf:
    case Relation::kSibling:
      return spec_.interrupt.delivery_sibling;
    case Relation::kCluster:
    case Relation::kSocket:
      return spec_.interrupt.delivery_socket;
    case Relation::kRemote:
      return spec_.interrupt.delivery_remote;
  }
  return spec_.interrupt.delivery_remote;
}

void Machine::send_ipi(CpuId from, CpuId to, Vector vector) {
  CHECK(to >= 0 && to < nr_cpus(), "an IPI goes to a CPU of the machine");
  tracer_.emit(trace::IpiSent{now(), from, to, static_cast<std::uint8_t>(vector)});
  engine_.post(now() + delivery_latency(from, to), deliver_event, this,
               static_cast<std::uint64_t>(to) << 8 | static_cast<std::uint64_t>(vector));
}

void Machine::deliver_event(void* machine, std::uint64_t argument) {
  static_cast<Machine*>(machine)
      ->cpu(static_cast<CpuId>(argument >> 8))
      .deliver(static_cast<Vector>(argument & 0xff));
}

void Machine::set_timer(CpuId cpu, Time deadline) {
  engine_.schedule(timers_[static_cast<std::size_t>(cpu)].slot, deadline);
}

void Machine::timer_event(void* timer) {
  const Timer& self = *static_cast<Timer*>(timer);
  self.machine->cpu(self.cpu).deliver(Vector::kLocalTimer);
}

bool Machine::take_spin_turn(Cpu& cpu) {
  if (engine_.next_time() == now() || !spin_waiting_.empty()) {
    spin_waiting_.set(cpu.id);
    engine_.schedule(spin_slot_, now());
    return false;
  }
  begin_spin_turn(cpu.id);
  return true;
}

void Machine::begin_spin_turn(CpuId cpu) {
  spin_cpu_ = spin_time_ == now() ? std::max(spin_cpu_, cpu) : cpu;
  spin_time_ = now();
}

void Machine::spin_turn_event(void* machine) {
  Machine& self = *static_cast<Machine*>(machine);
  const CpuId cpu = self.spin_waiting_.first();
  if (cpu == kNoCpu) return;  // interrupts came first
  if (self.engine_.next_time() == self.now()) {
    self.engine_.schedule(self.spin_slot_, self.now());
    return;
  }
  self.spin_waiting_.clear(cpu);
  if (self.spin_waiting_.first() != kNoCpu) self.engine_.schedule(self.spin_slot_, self.now());
  self.begin_spin_turn(cpu);
  self.cpu(cpu).spin_turn();
}

std::string Machine::stories() const {
  std::string text;
  const auto add = [&text](CpuId first, CpuId last, const std::string& story) {
    if (story.empty()) return;
    text += first == last ? "  CPU " + std::to_string(first)
                          : "  CPUs " + std::to_string(first) + "-" + std::to_string(last);
    text += ": " + story + "\n";
  };
  // CPUs in a row with one story share a line: on a large machine nearly all are idle.
  CpuId first = 0;
  for (CpuId cpu = 1; cpu <= nr_cpus(); ++cpu) {
    const std::string story = cpus_[static_cast<std::size_t>(first)].story();
    if (cpu < nr_cpus() && cpus_[static_cast<std::size_t>(cpu)].story() == story) continue;
    add(first, cpu - 1, story);
    first = cpu;
  }
  return text;
}

}  // namespace idlesim::hw

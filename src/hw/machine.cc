#include "idlesim/hw/machine.h"

#include <algorithm>

#include "idlesim/base/check.h"

namespace idlesim::hw {

Machine::Machine(const MachineSpec& spec, std::uint64_t seed, std::uint64_t run)
    : spec_(spec),
      seed_(seed),
      run_(run),
      topology_(spec.topology),
      physical_(this),
      own_engine_(std::make_unique<sim::Engine>()),
      engine_(*own_engine_),
      own_directory_(std::make_unique<Directory>(engine_, tracer_, topology_, spec.coherence)),
      directory_(*own_directory_),
      line_spread_(seed, run, "line-spread", 0),
      spin_slot_(engine_.add_slot(spin_turn_event, this)),
      spin_waiting_(topology_.nr_cpus()) {
  add_cpus();
}

Machine::Machine(const MachineSpec& spec, Machine& physical, std::vector<CpuId> placement,
                 Platform& platform)
    : spec_(spec),
      seed_(physical.seed_),
      run_(physical.run_),
      topology_(spec.topology),
      physical_(&physical),
      platform_(&platform),
      placement_(std::move(placement)),
      engine_(physical.engine_),
      directory_(physical.directory_),
      line_spread_(physical.seed_, physical.run_, "guest-line-spread", 0),
      spin_slot_(0) {
  CHECK(static_cast<int>(placement_.size()) == nr_cpus(), "every CPU of a guest has a place");
  add_cpus();
  for (Cpu& cpu : cpus_) cpu.platform = platform_;
}

void Machine::add_cpus() {
  if (!is_guest())
    for (CoreId id = 0; id < topology_.nr_cores(); ++id) cores_.emplace_back(*this);
  for (CpuId id = 0; id < nr_cpus(); ++id) {
    const auto turn = static_cast<CpuId>(physical_->turns_.size());
    physical_->turns_.push_back(&cpus_.emplace_back(*this, id, turn));
  }
  for (CpuId id = 0; id < nr_cpus(); ++id) {
    Timer& timer = timers_.emplace_back(Timer{this, id, 0});
    timer.slot = engine_.add_slot(timer_event, &timer);
  }
}

Line& Machine::new_line(LineName name, NodeId node) {
  const int spread = spec_.coherence.spread_permille;
  int scale = 1000;
  if (spread > 0) scale += static_cast<int>(line_spread_.uniform_int(-spread, spread));
  const NodeId home = is_guest() ? physical_->topology().node(placement_.front()) : node;
  return lines_.emplace_back(directory_, name, home, scale);
}

LineName Machine::line_name(std::string_view name) {
  std::vector<std::string>& names = physical_->line_names_;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<LineName>(i);
  names.emplace_back(name);
  return static_cast<LineName>(names.size() - 1);
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
  if (is_guest()) {
    platform_->post_ipi(cpu(from), to, vector);
    return;
  }
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
  Cpu& cpu = self.machine->cpu(self.cpu);
  if (!self.machine->is_guest()) {
    cpu.deliver(Vector::kLocalTimer);
    return;
  }
  self.machine->platform_->timer_expired(cpu);
  if (cpu.host() != nullptr) cpu.stop(Exit::kTimer);
}

bool Machine::take_spin_turn(Cpu& cpu) {
  if (engine_.next_time() == now() || !spin_waiting_.empty()) {
    spin_waiting_.set(cpu.turn);
    engine_.schedule(spin_slot_, now());
    return false;
  }
  begin_spin_turn(cpu.turn);
  return true;
}

void Machine::begin_spin_turn(CpuId turn) {
  spin_cpu_ = spin_time_ == now() ? std::max(spin_cpu_, turn) : turn;
  spin_time_ = now();
}

void Machine::spin_turn_event(void* machine) {
  Machine& self = *static_cast<Machine*>(machine);
  const CpuId turn = self.spin_waiting_.first();
  if (turn == kNoCpu) return;  // interrupts came first
  if (self.engine_.next_time() == self.now()) {
    self.engine_.schedule(self.spin_slot_, self.now());
    return;
  }
  self.spin_waiting_.clear(turn);
  if (self.spin_waiting_.first() != kNoCpu) self.engine_.schedule(self.spin_slot_, self.now());
  self.begin_spin_turn(turn);
  self.turns_[static_cast<std::size_t>(turn)]->spin_turn();
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

// A machine: its CPUs, cache lines, interrupt controller and clock. Owns them all; one per run.
#ifndef IDLESIM_HW_MACHINE_H_
#define IDLESIM_HW_MACHINE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/base/cpumask.h"
#include "idlesim/base/types.h"
#include "idlesim/hw/coherence.h"
#include "idlesim/hw/cpu.h"
#include "idlesim/hw/interrupt.h"
#include "idlesim/hw/machine_spec.h"
#include "idlesim/hw/step_gate.h"
#include "idlesim/hw/topology.h"
#include "idlesim/sim/engine.h"
#include "idlesim/sim/random.h"
#include "idlesim/trace/trace.h"

namespace idlesim::hw {

class Machine {
 public:
  // `seed` and `run` select the random streams of this run. The spec must outlive the machine.
  Machine(const MachineSpec& spec, std::uint64_t seed, std::uint64_t run);
  // A guest of `physical`: its own CPUs, timers and trace, on the cache lines and the clock of the
  // physical machine. CPU i executes on `placement[i]` at first. Both must outlive it.
  Machine(const MachineSpec& spec, Machine& physical, std::vector<CpuId> placement,
          Platform& platform);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const MachineSpec& spec() const { return spec_; }
  const Topology& topology() const { return topology_; }
  Machine& physical() const { return *physical_; }
  bool is_guest() const { return platform_ != nullptr; }
  CpuId placement(CpuId cpu) const {
    return is_guest() ? placement_[static_cast<std::size_t>(cpu)] : cpu;
  }
  sim::Engine& engine() { return engine_; }
  trace::Tracer& tracer() { return tracer_; }
  Time now() const { return engine_.now(); }
  int nr_cpus() const { return topology_.nr_cpus(); }
  Cpu& cpu(CpuId id) { return cpus_[static_cast<std::size_t>(id)]; }
  // Of the physical machine.
  Core& core(CoreId id) { return cores_[static_cast<std::size_t>(id)]; }
  sim::Random stream(std::string_view name, std::uint64_t entity) const {
    return is_guest() ? sim::Random(seed_, run_, "guest/" + std::string(name), entity)
                      : sim::Random(seed_, run_, name, entity);
  }

  // A new cache line, homed at `node`. Lines live as long as the machine; names are for reports and
  // shared by all lines of a kind. Its distance to the home differs from the mean of its relation
  // by a draw within the machine's measured spread: the physical address decides which slice of
  // the home serves it.
  Line& new_line(LineName name, NodeId node);
  LineName line_name(std::string_view name);
  const std::vector<std::string>& line_names() const { return physical_->line_names_; }

  // Inter-processor interrupt: `vector` becomes pending at `to` after the delivery latency. The
  // sender pays send_cost() itself.
  void send_ipi(CpuId from, CpuId to, Vector vector);
  Time delivery_latency(CpuId from, CpuId to) const;

  // SEV: an event for every CPU of the machine.
  void send_event() {
    for (Cpu& cpu : cpus_) cpu.event();
  }

  // Per-CPU one-shot timer (TSC deadline, generic timer): raises kLocalTimer at `deadline`.
  void set_timer(CpuId cpu, Time deadline);
  Time timer_deadline(CpuId cpu) const {
    return engine_.time_of(timers_[static_cast<std::size_t>(cpu)].slot);
  }

  // Loads of relax loops come last among the events of an instant, in the order of their CPUs, so
  // that what they see does not depend on which rounds were skipped. True: it is this CPU's turn.
  // Otherwise it will be called.
  bool take_spin_turn(Cpu& cpu);
  void give_up_spin_turn(CpuId turn) { spin_waiting_.clear(turn); }
  // Has this turn of the present instant passed?
  bool spin_turn_passed(CpuId turn) const { return spin_time_ == now() && turn <= spin_cpu_; }

  // Runs until the engine is stopped or nothing can happen any more.
  void run() { engine_.run(); }
  // One line for each CPU that has a context: what it executes and waits for.
  std::string stories() const;

  // Tests only: relax loops are executed round by round instead of being skipped.
  bool iterate_spins = false;
  StepGate* gate = nullptr;

 private:
  struct Timer {
    Machine* machine;
    CpuId cpu;
    sim::SlotId slot;
  };
  static void deliver_event(void* machine, std::uint64_t argument);
  static void timer_event(void* timer);
  static void spin_turn_event(void* machine);
  void begin_spin_turn(CpuId turn);
  void add_cpus();

  const MachineSpec& spec_;
  std::uint64_t seed_;
  std::uint64_t run_;
  Topology topology_;
  Machine* physical_;
  Platform* platform_ = nullptr;
  std::vector<CpuId> placement_;
  std::unique_ptr<sim::Engine> own_engine_;
  sim::Engine& engine_;
  trace::Tracer tracer_;
  std::unique_ptr<Directory> own_directory_;
  Directory& directory_;
  std::deque<Line> lines_;
  std::deque<Core> cores_;
  std::deque<Cpu> cpus_;
  std::vector<Cpu*> turns_;  // all CPUs on the physical machine
  std::deque<Timer> timers_;
  std::vector<std::string> line_names_;
  sim::Random line_spread_;
  sim::SlotId spin_slot_;
  CpuMask spin_waiting_;
  Time spin_time_;           // the last instant with a load of a relax loop,
  CpuId spin_cpu_ = kNoCpu;  // and the highest CPU that had its turn in it
};

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_MACHINE_H_

// A small machine and programs for its CPUs, for tests that compute every time by hand.
//
// A program is a list of steps; each leaves a sample: when it was over and what it gave. Step i
// starts when step i - 1 is over, the first at the time the program was given.
#ifndef IDLESIM_TESTS_SUPPORT_MACHINE_UNDER_TEST_H_
#define IDLESIM_TESTS_SUPPORT_MACHINE_UNDER_TEST_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "idlesim/hw/machine.h"
#include "idlesim/sim/co.h"

namespace idlesim::testing {

constexpr Time ns(std::int64_t count) { return Time::ns(count); }

// Sums of these name their parts: a cluster's legs are 1, 2, 4 ns, a socket's 10, 20, 30, and
// 100, 200, 300 between sockets; memory takes 5000 more, the home's directory 1000.
inline hw::MachineSpec small_spec(const hw::TopologySpec& topology) {
  hw::MachineSpec spec;
  spec.name = "small";
  spec.topology = topology;
  spec.coherence.sibling_transfer = ns(6);
  spec.coherence.cluster = {ns(1), ns(2), ns(4)};
  spec.coherence.socket = {ns(10), ns(20), ns(30)};
  spec.coherence.remote = {ns(100), ns(200), ns(300)};
  spec.coherence.directory = ns(1000);
  spec.coherence.memory = ns(5000);
  spec.coherence.far_atomic = ns(9);
  spec.cpu.atomic = ns(5);
  spec.cpu.barrier = ns(7);
  spec.cpu.store_buffer_entries = 4;
  spec.interrupt.delivery_sibling = ns(60);
  spec.interrupt.delivery_socket = ns(70);
  spec.interrupt.delivery_remote = ns(90);
  return spec;
}

// `cores` cores in one socket, each its own cluster: all transfers use the socket's legs.
inline hw::MachineSpec flat_spec(int cores) {
  hw::TopologySpec topology;
  topology.clusters_per_node = cores;
  return small_spec(topology);
}

struct Step {
  enum class Kind {
    kLoad,
    kStore,
    kAtomic,
    kPosted,
    kBarrier,
    kExec,
    kUntil,
    kSpin,
    kMonitor,
    kHalt,
    kIrqOn,
    kIrqOff,
    kIpi,
    kTimer,
    kLoadExclusive,
    kSevl,
    kSev,
    kWfe,
    kSpecCtrl,
  };
  Kind kind = Kind::kLoad;
  hw::Word* word = nullptr;
  hw::AtomicOp op = hw::AtomicOp::kOr;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  Time time;
  std::uint32_t instructions = 0;
  std::uint32_t indirect_branches = 0;
  hw::SpinLoop loop;
  hw::HaltKind halt = hw::HaltKind::kHlt;
  hw::HaltTiming timing;
  CpuId to = kNoCpu;
  hw::Vector vector = hw::Vector::kReschedule;
};
using Steps = std::vector<Step>;

inline Step step(Step::Kind kind, hw::Word* word = nullptr, std::uint64_t operand = 0) {
  Step s;
  s.kind = kind;
  s.word = word;
  s.operand = operand;
  return s;
}
inline Step load(hw::Word& word) { return step(Step::Kind::kLoad, &word); }
inline Step store(hw::Word& word, std::uint64_t value) {
  return step(Step::Kind::kStore, &word, value);
}
inline Step atomic(hw::AtomicOp op, hw::Word& word, std::uint64_t operand,
                   std::uint64_t expected = 0) {
  Step s = step(Step::Kind::kAtomic, &word, operand);
  s.op = op;
  s.expected = expected;
  return s;
}
inline Step posted(hw::AtomicOp op, hw::Word& word, std::uint64_t operand) {
  Step s = atomic(op, word, operand);
  s.kind = Step::Kind::kPosted;
  return s;
}
inline Step barrier() { return step(Step::Kind::kBarrier); }
inline Step exec(Time time, std::uint32_t instructions = 0) {
  Step s = step(Step::Kind::kExec);
  s.time = time;
  s.instructions = instructions;
  return s;
}
inline Step branchy_exec(Time time, std::uint32_t indirect_branches) {
  Step s = exec(time);
  s.indirect_branches = indirect_branches;
  return s;
}
// Executes until this time, which must not have passed.
inline Step until(Time time) {
  Step s = step(Step::Kind::kUntil);
  s.time = time;
  return s;
}
inline Step spin(hw::Word& word, const hw::SpinLoop& loop) {
  Step s = step(Step::Kind::kSpin, &word);
  s.loop = loop;
  return s;
}
// Spins until a bit of the word is set, one load in `period`.
inline Step spin_until_set(hw::Word& word, Time period) {
  hw::SpinLoop loop;
  loop.mask = ~std::uint64_t{0};
  loop.period = period;
  loop.instructions = 3;
  return spin(word, loop);
}
inline Step monitor(hw::Word& word) { return step(Step::Kind::kMonitor, &word); }
inline Step halt(hw::HaltKind kind, const hw::HaltTiming& timing) {
  Step s = step(Step::Kind::kHalt);
  s.halt = kind;
  s.timing = timing;
  return s;
}
inline Step halt(hw::HaltKind kind, Time entry, Time exit) {
  return halt(kind, hw::HaltTiming{entry, exit});
}
inline Step irq_on() { return step(Step::Kind::kIrqOn); }
inline Step irq_off() { return step(Step::Kind::kIrqOff); }
inline Step ipi(CpuId to, hw::Vector vector) {
  Step s = step(Step::Kind::kIpi);
  s.to = to;
  s.vector = vector;
  return s;
}
// Arms the CPU's own timer for this time.
inline Step timer(Time deadline) {
  Step s = step(Step::Kind::kTimer);
  s.time = deadline;
  return s;
}

// arm64.
inline Step load_exclusive(hw::Word& word) { return step(Step::Kind::kLoadExclusive, &word); }
inline Step sevl() { return step(Step::Kind::kSevl); }
inline Step sev() { return step(Step::Kind::kSev); }
inline Step wfe(Time entry, Time exit, Time deadline = Time::never()) {
  Step s = step(Step::Kind::kWfe);
  s.timing = {entry, exit};
  s.time = deadline;
  return s;
}
// WRMSR to SPEC_CTRL.
inline Step write_spec_ctrl(std::uint64_t value) {
  return step(Step::Kind::kSpecCtrl, nullptr, value);
}

struct Sample {
  Time time;
  std::uint64_t value = 0;
  std::uint64_t instructions = 0;
  bool operator==(const Sample&) const = default;
};

// One program on one CPU.
struct Script {
  Steps steps;
  sim::Co<> program;  // instead of steps
  std::vector<Sample> samples;
  sim::Root root;
  hw::Cpu* cpu = nullptr;
  bool done = false;

  Time time(std::size_t step) const { return samples.at(step).time; }
  std::uint64_t value(std::size_t step) const { return samples.at(step).value; }
};

struct Taken {
  CpuId cpu = kNoCpu;
  hw::Vector vector = hw::Vector::kReschedule;
  Time time;
  Time arrived;
  bool operator==(const Taken&) const = default;
};

// Those of arm64's event register.
inline sim::Co<std::uint64_t> execute_event_step(hw::Cpu& cpu, const Step& s) {
  hw::Cpu& self = cpu;
  if (s.kind == Step::Kind::kLoadExclusive) co_return co_await self.load_exclusive(*s.word);
  if (s.kind == Step::Kind::kSevl) self.sevl();
  if (s.kind == Step::Kind::kSev) self.machine().send_event();
  if (s.kind == Step::Kind::kWfe) co_await self.wfe(s.timing, s.time);
  co_return 0;
}

inline sim::Co<std::uint64_t> execute_step(hw::Cpu& cpu, const Step& s) {
  hw::Cpu& self = cpu;
  switch (s.kind) {
    case Step::Kind::kLoad:
      co_return co_await self.load(*s.word);
    case Step::Kind::kStore:
      co_await self.store(*s.word, s.operand);
      break;
    case Step::Kind::kAtomic:
      co_return co_await self.atomic(s.op, *s.word, s.operand, s.expected);
    case Step::Kind::kPosted:
      co_await self.posted_atomic(s.op, *s.word, s.operand);
      break;
    case Step::Kind::kBarrier:
      co_await self.barrier();
      break;
    case Step::Kind::kExec:
      co_await self.exec({s.time, s.instructions, s.indirect_branches});
      break;
    case Step::Kind::kUntil:
      co_await self.exec_time(s.time - self.now());
      break;
    case Step::Kind::kSpin: {
      const bool found = co_await self.spin(*s.word, s.loop);
      co_return found ? 1 : 0;
    }
    case Step::Kind::kMonitor:
      self.monitor(*s.word);
      break;
    case Step::Kind::kHalt:
      co_await self.halt(s.halt, s.timing);
      break;
    case Step::Kind::kIrqOn:
      co_await self.local_irq_enable();
      break;
    case Step::Kind::kIrqOff:
      self.local_irq_disable();
      break;
    case Step::Kind::kIpi:
      self.machine().send_ipi(self.id, s.to, s.vector);
      break;
    case Step::Kind::kTimer:
      self.machine().set_timer(self.id, s.time);
      break;
    case Step::Kind::kSpecCtrl:
      co_await self.write_spec_ctrl(s.operand);
      break;
    default:
      co_return co_await execute_event_step(self, s);
  }
  co_return 0;
}

inline sim::Co<> execute(hw::Cpu& cpu, const Steps& steps, std::vector<Sample>& samples) {
  std::vector<Sample>& out = samples;
  for (const Step& s : steps) {
    const std::uint64_t value = co_await execute_step(cpu, s);
    out.push_back({cpu.now(), value, cpu.instructions()});
  }
}

class MachineUnderTest {
 public:
  explicit MachineUnderTest(const hw::MachineSpec& machine_spec)
      : spec(machine_spec), machine(spec, 1, 0) {
    handlers_.resize(static_cast<std::size_t>(machine.nr_cpus()));
    for (CpuId id = 0; id < machine.nr_cpus(); ++id) {
      machine.cpu(id).os = this;
      machine.cpu(id).interrupt_handler = handle;
    }
  }

  hw::Line& line(hw::NodeId home = 0) { return machine.new_line(machine.line_name("X"), home); }
  hw::Line& named_line(const char* name) { return machine.new_line(machine.line_name(name), 0); }
  // A word in a line of its own; with `line`, one that shares it.
  hw::Word& word(hw::NodeId home = 0) { return words_.emplace_back(line(home), 0); }
  hw::Word& word(hw::Line& line) { return words_.emplace_back(line, 0); }

  Script& run_on(CpuId cpu, Time at, Steps steps) {
    Script& run = runs_.emplace_back();
    run.steps = std::move(steps);
    run.cpu = &machine.cpu(cpu);
    run.cpu->boot(at, start, &run);
    return run;
  }
  // Any coroutine; samples are its own affair.
  Script& run_on(CpuId cpu, Time at, sim::Co<> program) {
    Script& run = run_on(cpu, at, Steps{});
    run.program = std::move(program);
    return run;
  }
  // What `cpu` does when it takes `vector`; nothing if not said.
  void on_interrupt(CpuId cpu, hw::Vector vector, Steps steps) {
    handlers_[static_cast<std::size_t>(cpu)][static_cast<std::size_t>(vector)] = std::move(steps);
  }
  void deliver_at(Time time, CpuId cpu, hw::Vector vector) {
    at(time, [this, cpu, vector] { machine.cpu(cpu).deliver(vector); });
  }
  // For looking at the machine at a certain time.
  void at(Time time, std::function<void()> act) {
    machine.engine().post(time, call, &acts_.emplace_back(std::move(act)), 0);
  }
  void run() { machine.run(); }

  const hw::MachineSpec spec;
  hw::Machine machine;
  std::vector<Taken> taken;     // interrupts, when their handlers began
  std::vector<Sample> handled;  // of the handlers' steps

 private:
  static void start(void* object) {
    Script& run = *static_cast<Script*>(object);
    run.root.start(run.program ? std::move(run.program) : execute(*run.cpu, run.steps, run.samples),
                   ended, &run);
  }
  static void ended(void* run) { static_cast<Script*>(run)->done = true; }
  static void call(void* act, std::uint64_t) { (*static_cast<std::function<void()>*>(act))(); }
  static sim::Co<> handle(hw::Cpu& cpu, hw::Vector vector) {
    MachineUnderTest& self = *static_cast<MachineUnderTest*>(cpu.os);
    self.taken.push_back({cpu.id, vector, cpu.now(), cpu.interrupt_arrived()});
    const Steps& steps =
        self.handlers_[static_cast<std::size_t>(cpu.id)][static_cast<std::size_t>(vector)];
    co_await execute(cpu, steps, self.handled);
  }

  std::deque<hw::Word> words_;
  std::deque<Script> runs_;
  std::deque<std::function<void()>> acts_;
  std::vector<std::array<Steps, hw::kVectors>> handlers_;
};

}  // namespace idlesim::testing

#endif  // IDLESIM_TESTS_SUPPORT_MACHINE_UNDER_TEST_H_

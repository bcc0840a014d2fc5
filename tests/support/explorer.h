// Runs a program once for every order in which its CPUs can act on each other.
//
// A step is: an access to a gated line (every access of a relax loop that can see something new
// included), a buffered store becoming visible, an interrupt reaching its CPU, a halt, and, if
// asked for, an event of the event stream and a time limit passing for a relax loop or a WFE.
// Between two steps the machine comes to rest, so its latencies do not matter. Coroutines cannot be
// copied: every order is a fresh run.
//
// Depth first. Orders that differ only in steps that do not touch each other (different CPUs, and
// not one line that one of them writes) are the same order, and run once: sleep sets, P. Godefroid,
// "Partial-Order Methods for the Verification of Concurrent Systems", LNCS 1032. This assumes that
// CPUs share nothing but gated lines, and what a step on such a line does before the next await.
#ifndef IDLESIM_TESTS_SUPPORT_EXPLORER_H_
#define IDLESIM_TESTS_SUPPORT_EXPLORER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "idlesim/hw/machine.h"

namespace idlesim::testing {

// One run. Made anew for each order; nothing may have happened yet when it is returned.
class Program {
 public:
  virtual ~Program() = default;
  virtual hw::Machine& machine() = 0;
  // Nobody can act any more: empty if all is as it should be, otherwise what is wrong (work not
  // done is a deadlock).
  virtual std::string verdict() = 0;
};

struct ExploreOptions {
  std::vector<std::string> lines;      // names of the gated lines; empty: all
  std::uint64_t max_runs = 1'000'000;  // more fail the exploration
  std::size_t max_steps = 1000;        // of one run; more fail it
  int spin_deadlines = 0;              // how many deadlines of loops pass in a run
  int stream_events = 0;               // how many events of the event stream end a WFE in a run
  bool reduce = true;                  // false: also orders that differ in nothing
};

struct Exploration {
  std::uint64_t runs = 0;    // to their end
  std::uint64_t pruned = 0;  // given up because all that was left had been seen
  std::size_t longest = 0;   // steps
  // Empty, or the first failure: what is wrong, the steps that led there, each CPU's story.
  std::string failure;
  bool passed() const { return failure.empty(); }
};

class Explorer final : public hw::StepGate {
 public:
  using Make = std::function<std::unique_ptr<Program>()>;
  Explorer(Make make, ExploreOptions options)
      : make_(std::move(make)), options_(std::move(options)) {}

  Exploration explore() {
    do {
      if (result_.runs + result_.pruned >= options_.max_runs) {
        result_.failure = "not finished after " + std::to_string(options_.max_runs) + " runs";
        break;
      }
      const std::string wrong = run();
      if (!wrong.empty()) result_.failure = wrong + "\n" + story_;
    } while (result_.failure.empty() && advance());
    return result_;
  }

  bool gated(const hw::Line& line) override {
    if (options_.lines.empty()) return true;
    const hw::LineName name = line.name();
    if (gated_.size() <= name) gated_.resize(name + 1u, kUnknown);
    if (gated_[name] == kUnknown) {
      const std::string& text = program_->machine().line_names()[name];
      const auto& lines = options_.lines;
      gated_[name] = std::find(lines.begin(), lines.end(), text) != lines.end() ? kYes : kNo;
    }
    return gated_[name] == kYes;
  }
  void arrived(hw::Cpu& cpu, hw::Vector vector) override {
    in_flight_.push_back(step_of(Kind::kDeliver, cpu.id, vector));
  }

 private:
  enum class Kind : std::uint8_t {
    kAccess,
    kAccessThenDeliver,  // the interrupt is taken between this step and what follows it
    kDrain,
    kDeliver,
    kDeadline,
    kStreamEvent,
  };
  struct Step {
    Kind kind = Kind::kAccess;
    CpuId cpu = kNoCpu;
    hw::Vector vector = hw::Vector::kReschedule;
    const hw::Line* line = nullptr;  // of the present run; compared within it only
    int line_index = -1;             // the same in every run
    bool writes = false;
    bool operator==(const Step& other) const {
      return kind == other.kind && cpu == other.cpu && vector == other.vector &&
             line_index == other.line_index && writes == other.writes;
    }
  };
  struct Node {
    std::vector<Step> steps;
    std::vector<Step> asleep;  // what need not be tried here
    std::size_t chosen = 0;
  };
  enum : signed char { kUnknown, kNo, kYes };

  static Step step_of(Kind kind, CpuId cpu, hw::Vector vector) {
    Step step;
    step.kind = kind;
    step.cpu = cpu;
    step.vector = vector;
    return step;
  }
  static bool contains(const std::vector<Step>& steps, const Step& step) {
    return std::find(steps.begin(), steps.end(), step) != steps.end();
  }
  static bool independent(const Step& a, const Step& b) {
    if (a.cpu == b.cpu) return false;
    return a.line_index != b.line_index || a.line_index < 0 || (!a.writes && !b.writes);
  }

  // Lines in the order in which the run first came to them.
  int index_of(const hw::Line* line) {
    if (line == nullptr) return -1;
    const auto it = std::find(lines_.begin(), lines_.end(), line);
    if (it != lines_.end()) return static_cast<int>(it - lines_.begin());
    lines_.push_back(line);
    return static_cast<int>(lines_.size() - 1);
  }

  void add(Kind kind, hw::Cpu& cpu, hw::Vector vector, const hw::Line* line, bool writes) {
    Step step = step_of(kind, cpu.id, vector);
    step.line = line;
    step.line_index = index_of(line);
    step.writes = writes;
    ready_.push_back(step);
  }

  void collect() {
    hw::Machine& machine = program_->machine();
    ready_.clear();
    for (CpuId id = 0; id < machine.nr_cpus(); ++id) {
      hw::Cpu& cpu = machine.cpu(id);
      constexpr hw::Vector kNone = hw::Vector::kReschedule;
      const hw::Cpu::Gated gated = cpu.gated();
      if (gated.here) add(Kind::kAccess, cpu, kNone, gated.line, gated.writes);
      if (const hw::Line* line = cpu.gated_drain()) add(Kind::kDrain, cpu, kNone, line, true);
      for (const Step& arrival : in_flight_) {
        // Of several in flight with one vector, one is enough to choose from.
        if (arrival.cpu != id || contains(ready_, arrival)) continue;
        add(Kind::kDeliver, cpu, arrival.vector, nullptr, false);
        if (gated.here && !gated.halts && cpu.irqs_enabled())
          add(Kind::kAccessThenDeliver, cpu, arrival.vector, gated.line, gated.writes);
      }
      if (deadlines_left_ > 0)
        if (const hw::Line* line = cpu.gated_deadline())
          add(Kind::kDeadline, cpu, kNone, line, false);
      // Like the halt that it ends, it depends on who writes the monitored line.
      if (stream_events_left_ > 0 && cpu.gated_event())
        add(Kind::kStreamEvent, cpu, kNone, cpu.gated_deadline(), false);
    }
  }

  void perform(const Step& step) {
    hw::Cpu& cpu = program_->machine().cpu(step.cpu);
    switch (step.kind) {
      case Kind::kAccess:
        cpu.pass_gate();
        break;
      case Kind::kAccessThenDeliver:
        land(step);
        cpu.deliver_now(step.vector, true);
        cpu.pass_gate();
        break;
      case Kind::kDrain:
        cpu.pass_drain();
        break;
      case Kind::kDeliver:
        land(step);
        cpu.deliver_now(step.vector, false);
        break;
      case Kind::kDeadline:
        --deadlines_left_;
        cpu.pass_deadline();
        break;
      case Kind::kStreamEvent:
        --stream_events_left_;
        cpu.pass_event();
        break;
    }
  }
  void land(const Step& step) {
    const auto it = std::find_if(in_flight_.begin(), in_flight_.end(), [&](const Step& arrival) {
      return arrival.cpu == step.cpu && arrival.vector == step.vector;
    });
    in_flight_.erase(it);
  }

  // One run along the stack and beyond it. What is wrong, or empty.
  std::string run() {
    in_flight_.clear();
    lines_.clear();
    deadlines_left_ = options_.spin_deadlines;
    stream_events_left_ = options_.stream_events;
    program_ = make_();
    hw::Machine& machine = program_->machine();
    CHECK(!machine.iterate_spins, "relax loops are not iterated while orders are explored");
    machine.gate = this;
    std::string wrong;
    try {
      wrong = follow(machine);
    } catch (const SimulationError& error) {
      wrong = error.what();
    }
    if (!wrong.empty()) story_ = tell() + machine.stories();
    return wrong;
  }

  std::string follow(hw::Machine& machine) {
    for (std::size_t depth = 0;; ++depth) {
      machine.run();
      collect();
      if (depth == stack_.size()) {
        if (ready_.empty()) {
          ++result_.runs;
          result_.longest = std::max(result_.longest, depth);
          return program_->verdict();
        }
        if (depth >= options_.max_steps) return "a run does not end";
        push();
        if (!choose(stack_.back(), 0)) {
          ++result_.pruned;
          return {};
        }
      }
      Node& node = stack_[depth];
      CHECK(node.steps == ready_, "the same choices lead elsewhere: the program is not a function");
      perform(ready_[node.chosen]);
    }
  }

  void push() {
    Node node;
    node.steps = ready_;
    if (options_.reduce && !stack_.empty()) {
      const Node& parent = stack_.back();
      for (const Step& step : parent.asleep)
        if (independent(step, parent.steps[parent.chosen])) node.asleep.push_back(step);
    }
    stack_.push_back(std::move(node));
  }
  static bool choose(Node& node, std::size_t from) {
    for (node.chosen = from; node.chosen < node.steps.size(); ++node.chosen)
      if (!contains(node.asleep, node.steps[node.chosen])) return true;
    return false;
  }
  // To the next order; false if there is none.
  bool advance() {
    while (!stack_.empty()) {
      Node& node = stack_.back();
      if (node.chosen < node.steps.size()) {
        node.asleep.push_back(node.steps[node.chosen]);
        if (choose(node, node.chosen + 1)) return true;
      }
      stack_.pop_back();
    }
    return false;
  }

  std::string tell() const {
    std::string text;
    for (const Node& node : stack_) {
      if (node.chosen >= node.steps.size()) break;
      const Step& step = node.steps[node.chosen];
      text += "  CPU " + std::to_string(step.cpu) + ": ";
      switch (step.kind) {
        case Kind::kAccess:
        case Kind::kAccessThenDeliver:
          text += step.line == nullptr ? "halts" : step.writes ? "writes" : "reads or halts on";
          break;
        case Kind::kDrain:
          text += "its store is seen:";
          break;
        case Kind::kDeliver:
          text += "gets";
          break;
        case Kind::kDeadline:
          text += "its loop ends at the deadline:";
          break;
        case Kind::kStreamEvent:
          text += "the event stream ends its WFE:";
          break;
      }
      if (step.line_index >= 0)
        text += " line " +
                program_->machine()
                    .line_names()[lines_.at(static_cast<std::size_t>(step.line_index))->name()];
      if (step.kind == Kind::kAccessThenDeliver) text += ", then gets";
      if (step.kind == Kind::kAccessThenDeliver || step.kind == Kind::kDeliver)
        text += std::string(" ") + to_string(step.vector);
      text += "\n";
    }
    return text;
  }

  Make make_;
  ExploreOptions options_;
  Exploration result_;
  std::unique_ptr<Program> program_;
  std::vector<Node> stack_;
  std::vector<Step> ready_;
  std::vector<Step> in_flight_;
  std::vector<const hw::Line*> lines_;
  std::vector<signed char> gated_;
  int deadlines_left_ = 0;
  int stream_events_left_ = 0;
  std::string story_;
};

inline Exploration explore(Explorer::Make make, ExploreOptions options = {}) {
  return Explorer(std::move(make), std::move(options)).explore();
}

}  // namespace idlesim::testing

#endif  // IDLESIM_TESTS_SUPPORT_EXPLORER_H_

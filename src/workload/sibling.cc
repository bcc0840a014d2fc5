#include "idlesim/workload/sibling.h"

#include <algorithm>

#include "idlesim/config/reader.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/spec_ctrl.h"

namespace idlesim::workload {

using kernel::Cpu;
using kernel::Task;
using sim::Co;

namespace {

constexpr MetricInfo kMetrics[] = {{"sibling_wake_ns"}, {"sibling_interrupt_ns"}};
enum Metric : std::uint16_t { kWake, kInterrupt, kCount };

// What tells a phase's names from the others'.
std::string suffix_of(const SiblingParameters& parameters, std::size_t phase) {
  if (parameters.wakes_per_second.size() == 1) return {};
  return "_at_" + std::to_string(parameters.wakes_per_second[phase]) + "_wakes";
}

bool contains(const std::vector<CpuId>& cpus, CpuId cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

}  // namespace

// --- parameters ---

CpuId sibling_of(const hw::Topology& topology, CpuId cpu) {
  for (const CpuId other : topology.siblings(cpu))
    if (other != cpu) return other;
  return kNoCpu;
}

SiblingParameters read_sibling(config::Reader& in) {
  SiblingParameters p;
  if (in.has("sibling_wakes_per_second"))
    p.wakes_per_second = in.integers("sibling_wakes_per_second", 0, 1'000'000);
  if (p.wakes_per_second.empty()) {
    in.fail("sibling_wakes_per_second", "there is at least one rate");
    p.wakes_per_second = {0};
  }
  p.work = in.time_or("sibling_work_ns", Time::us(2));
  return p;
}

void check_sibling(config::Reader& in, const SiblingParameters& parameters,
                   const hw::Topology& topology, CpuId cpu) {
  const auto& rates = parameters.wakes_per_second;
  const bool woken = std::any_of(rates.begin(), rates.end(), [](auto rate) { return rate != 0; });
  if (cpu >= topology.nr_cpus())
    in.fail("cpu", "the machine has " + std::to_string(topology.nr_cpus()) + " CPUs");
  else if (woken && sibling_of(topology, cpu) == kNoCpu)
    in.fail("sibling_wakes_per_second", "the machine has one thread per core");
}

std::string describe(const SiblingParameters& parameters) {
  std::string text = "sibling_wakes_per_second=";
  for (std::size_t i = 0; i < parameters.wakes_per_second.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(parameters.wakes_per_second[i]);
  return text + " sibling_work_ns=" + std::to_string(parameters.work.count_ns());
}

PhaseMetrics::PhaseMetrics(const SiblingParameters& parameters,
                           const std::vector<MetricInfo>& own) {
  const std::size_t phases = parameters.wakes_per_second.size();
  names_.reserve(phases * (own.size() + kCount));  // so that pointers to them stay
  for (std::size_t phase = 0; phase < phases; ++phase) {
    const std::string suffix = suffix_of(parameters, phase);
    const auto add = [&](MetricInfo metric) {
      metric.id = names_.emplace_back(metric.id + suffix).c_str();
      all_.push_back(metric);
    };
    for (const MetricInfo& metric : own) add(metric);
    for (const MetricInfo& metric : kMetrics) add(metric);
  }
}

// --- what it does ---

void Sibling::setup(kernel::Kernel& kernel, Time start, Time length) {
  const hw::Topology& topology = kernel.machine().topology();
  kernel_ = &kernel;
  start_ = start;
  length_ = length;
  sibling_ = sibling_of(topology, cpu_);
  kernel.tracer().add(this);
  if (sibling_ == kNoCpu) return;
  kernel.foreground.set(sibling_);
  woken_cpu_ = sibling_;
  const std::vector<CpuId>& offline = kernel.config().offline_cpus;
  while (contains(offline, woken_cpu_) || woken_cpu_ == cpu_)
    woken_cpu_ = (woken_cpu_ + 1) % topology.nr_cpus();
  const auto& rates = parameters_.wakes_per_second;
  if (std::any_of(rates.begin(), rates.end(), [](auto rate) { return rate != 0; }))
    kernel.first_task(kernel.new_task("sibling", woken_cpu_, woken, this));
}

// When the task ends its sleep next: at multiples of its period, from a point that differs from run
// to run, or when the next phase begins. `random` is 1024 times the place of that point in a
// period, in ps.
Time Sibling::next_wake(Time now, Time random) const {
  const auto phase = static_cast<std::size_t>(now < start_ ? 0 : (now - start_) / length_);
  const Time begin = start_ + length_ * static_cast<std::int64_t>(phase);
  const Time end = begin + length_;
  if (phase >= phases_.size()) return Time::never();
  const std::int64_t rate = parameters_.wakes_per_second[phase];
  if (rate == 0) return end;
  const Time period = Time::seconds(1) / rate;
  const Time first = begin + period / 1024 * random.count_ps();
  if (now < first) return std::min(first, end);
  return std::min(first + period * ((now - first) / period + 1), end);
}

// A user's program.
Co<> Sibling::woken(Cpu& cpu, Task& task) {
  Sibling& self = *static_cast<Sibling*>(task.data);
  const Time random = cpu.machine().stream("sibling-phase", 0).uniform(Time{}, Time::ps(1024));
  for (;;) {
    const Time next = self.next_wake(cpu.now(), random);
    if (next == Time::never()) break;
    co_await kernel::schedule_hrtimeout(cpu, next);
    co_await kernel::syscall_exit(cpu);
    self.sample(kWake, cpu.now() - next);
    if (self.phase_ >= 0) ++self.phases_[static_cast<std::size_t>(self.phase_)].wakes;
    co_await cpu.exec_time(self.parameters_.work);
    co_await kernel::syscall_enter(cpu);
  }
}

// --- what is seen of it ---

std::uint16_t Sibling::metric(std::uint16_t own) const {
  return static_cast<std::uint16_t>(phase_ * (own_metrics_ + kCount) + own);
}

void Sibling::sample(std::uint16_t metric, Time value) {
  if (phase_ < 0) return;
  const auto index = static_cast<std::uint16_t>(own_metrics_ + metric);
  kernel_->tracer().emit(trace::Sample{this->metric(index), value.count_ps()});
}

void Sibling::start_measuring(int phase) {
  phase_ = phase;
  for (State& state : states_) state.since = kernel_->machine().now();
}

// Ends all open periods.
void Sibling::stop_measuring() {
  for (std::size_t who = 0; who < kWho; ++who) change(static_cast<Who>(who), states_[who].state);
  phase_ = -1;
}

void Sibling::change(Who who, int state) {
  State& current = states_[who];
  const Time now = kernel_->machine().now();
  if (phase_ >= 0)
    phases_[static_cast<std::size_t>(phase_)].spent[who][current.state] += now - current.since;
  current = {state, now};
}

void Sibling::on(const trace::IdleEnter& event) {
  if (event.cpu == cpu_) change(kThread, event.state);
  if (event.cpu == sibling_) change(kSibling, event.state);
}

void Sibling::on(const trace::IdleExit& event) {
  if (event.cpu == cpu_) change(kThread, -1);
  if (event.cpu == sibling_) change(kSibling, -1);
}

void Sibling::on(const trace::CoreIdle& event) {
  const hw::Topology& topology = kernel_->machine().topology();
  if (topology.core(event.cpu) == topology.core(cpu_)) change(kCore, event.state);
}

// From when it was pending to the first instruction of its handler.
void Sibling::on(const trace::InterruptTaken& event) {
  if (event.cpu == woken_cpu_ && event.context == trace::Context::kIdle)
    sample(kInterrupt, event.time - event.arrived);
}

void Sibling::on(const trace::MsrWrite&) {
  if (phase_ >= 0) ++phases_[static_cast<std::size_t>(phase_)].spec_ctrl_writes;
}

// Every state of the machine is listed, also those that are disabled, so that all variants have the
// same counters.
void Sibling::add_residencies(const Phase& phase, const std::string& suffix,
                              std::vector<CounterValue>& all) const {
  const auto& table = kernel_->machine().spec().idle_states;
  const auto add = [&](const std::string& who, const std::string& state, Time time) {
    all.push_back({"residency_ns." + who + "." + state + suffix, time.count_ns()});
  };
  const auto time_in = [&](Who who, int state) {
    const auto found = phase.spent[who].find(state);
    return found != phase.spent[who].end() ? found->second : Time{};
  };
  const auto add_thread = [&](Who who, const std::string& name, CpuId cpu) {
    const kernel::PerCpu& pcpu = kernel_->per_cpu(cpu);
    const auto& states = pcpu.cpuidle.states;
    add(name, pcpu.online ? "busy" : "offline", time_in(who, -1));
    const auto add_state = [&](const hw::IdleStateSpec* wanted, const std::string& state) {
      const auto found = std::find(states.begin(), states.end(), wanted);
      const auto index = static_cast<int>(found - states.begin());
      add(name, state, found != states.end() ? time_in(who, index) : Time{});
    };
    add_state(nullptr, "POLL");
    for (const hw::IdleStateSpec& state : table) add_state(&state, state.name);
  };
  add_thread(kThread, "thread", cpu_);
  if (sibling_ != kNoCpu) add_thread(kSibling, "sibling", sibling_);
  // A core whose state has not changed yet is awake.
  add("core", "awake", time_in(kCore, 0) + time_in(kCore, -1));
  for (std::size_t i = 0; i < table.size(); ++i)
    add("core", table[i].name, time_in(kCore, static_cast<int>(i) + 1));
}

std::vector<CounterValue> Sibling::counters() const {
  std::vector<CounterValue> all;
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const std::string suffix = suffix_of(parameters_, i);
    all.push_back({"spec_ctrl_writes" + suffix, phases_[i].spec_ctrl_writes});
    all.push_back({"sibling_wakes" + suffix, phases_[i].wakes});
    add_residencies(phases_[i], suffix, all);
  }
  return all;
}

}  // namespace idlesim::workload

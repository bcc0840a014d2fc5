#include "idlesim/experiment/run.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "idlesim/base/check.h"
#include "idlesim/hw/machine.h"
#include "idlesim/virt/kvm.h"

namespace idlesim::experiment {

namespace {

// Looks at the run every so often: is anybody waiting for it to stop, and does anything progress?
class Watchdog {
 public:
  Watchdog(hw::Machine& machine, const workload::Workload& workload,
           const std::atomic<bool>* interrupted)
      : machine_(machine), workload_(workload), interrupted_(interrupted) {
    post();
  }

  bool stuck() const { return stuck_; }
  bool interrupted() const { return was_interrupted_; }

 private:
  static constexpr int kPatience = 500;  // times kPeriod without progress: 5 simulated seconds
  static constexpr std::int64_t kPeriodMs = 10;

  void post() { machine_.engine().post(machine_.now() + Time::ms(kPeriodMs), look, this, 0); }
  static void look(void* watchdog, std::uint64_t) {
    Watchdog& self = *static_cast<Watchdog*>(watchdog);
    self.was_interrupted_ = self.interrupted_ != nullptr && self.interrupted_->load();
    const std::uint64_t progress = self.workload_.progress();
    self.without_ = progress == self.seen_ ? self.without_ + 1 : 0;
    self.seen_ = progress;
    self.stuck_ = self.without_ >= kPatience;
    if (self.stuck_ || self.was_interrupted_)
      self.machine_.engine().stop();
    else
      self.post();
  }

  hw::Machine& machine_;
  const workload::Workload& workload_;
  const std::atomic<bool>* interrupted_;
  std::uint64_t seen_ = 0;
  int without_ = 0;
  bool stuck_ = false;
  bool was_interrupted_ = false;
};

// The machine of one run, with what runs on it. On bare metal the kernel is on the machine itself;
// otherwise a host's kernel is, and the guest's is on the machine that the host gives it.
class System {
 public:
  System(const Variant& variant, std::uint64_t seed, std::uint64_t run)
      : machine_(variant.machine, seed, run) {
    if (variant.virtualization != nullptr) {
      const Virtualization& v = *variant.virtualization;
      host_ = std::make_unique<kernel::Kernel>(machine_, v.host_kernel, v.host_config);
      kvm_ = std::make_unique<virt::Kvm>(*host_, v.kvm);
    }
    kernel_ = std::make_unique<kernel::Kernel>(guest_machine(), variant.kernel, variant.config);
  }

  hw::Machine& machine() { return machine_; }
  // That of the kernel which runs the workload.
  hw::Machine& guest_machine() { return kvm_ != nullptr ? kvm_->machine() : machine_; }
  kernel::Kernel& kernel() { return *kernel_; }
  void boot() {
    if (host_ != nullptr) host_->boot();
    kernel_->boot();
  }
  std::string stories() {
    return kvm_ == nullptr
               ? machine_.stories()
               : "guest:\n" + kvm_->machine().stories() + "host:\n" + machine_.stories();
  }
  void add_counters(std::vector<workload::CounterValue>& counters) const {
    if (kvm_ == nullptr) return;
    const virt::KvmCounts& counts = kvm_->counts;
    for (int reason = 0; reason < hw::kExits; ++reason)
      counters.push_back({std::string("exits.") + hw::to_string(static_cast<hw::Exit>(reason)),
                          counts.exits[static_cast<std::size_t>(reason)]});
    counters.push_back({"host.halt_polls", counts.halt_polls});
    counters.push_back({"host.blocks", counts.blocks});
    counters.push_back({"host.kicks", counts.kicks});
    counters.push_back({"host.loads_single_task", counts.loads_single});
    counters.push_back({"host.loads_more_tasks", counts.loads_not_single});
  }

 private:
  hw::Machine machine_;
  std::unique_ptr<kernel::Kernel> host_;
  std::unique_ptr<virt::Kvm> kvm_;
  std::unique_ptr<kernel::Kernel> kernel_;
};

// Lines move on the physical machine, whoever's they are.
class LineMeter final : public trace::Listener {
 public:
  explicit LineMeter(Measurement& result) : result_(result) {}
  std::uint32_t wants() const override { return trace::kinds<trace::LineTransfer>(); }
  void on(const trace::LineTransfer& event) override {
    if (event.line >= result_.line_transfers.size()) result_.line_transfers.resize(event.line + 1u);
    ++result_.line_transfers[event.line];
  }

 private:
  Measurement& result_;
};

}  // namespace

RunOutcome run_once(const Variant& variant, std::uint64_t seed, std::uint64_t run,
                    const std::atomic<bool>* interrupted, trace::Listener* listener) {
  RunOutcome outcome;
  System system(variant, seed, run);
  hw::Machine& machine = system.machine();
  Meter meter(outcome.measurement, machine.nr_cpus());
  const std::unique_ptr<workload::Workload> workload = variant.workload->create();
  workload->setup(system.kernel());
  system.boot();
  system.guest_machine().tracer().add(&meter);
  if (listener != nullptr) system.guest_machine().tracer().add(listener);
  LineMeter lines(outcome.measurement);
  if (&system.guest_machine() != &machine) machine.tracer().add(&lines);
  Watchdog watchdog(machine, *workload, interrupted);
  try {
    machine.run();
    if (!workload->finished() && !watchdog.interrupted())
      throw SimulationError(watchdog.stuck() ? "nothing has progressed for 5 simulated seconds"
                                             : "nothing can happen any more, with work pending");
    if (workload->finished()) workload->check();
  } catch (const SimulationError& error) {
    throw SimulationError("variant \"" + variant.name + "\", run " + std::to_string(run) + ", at " +
                          std::to_string(machine.now().count_ns()) + " ns: " + error.what() + "\n" +
                          system.stories());
  }
  outcome.finished = workload->finished();
  if (outcome.finished) {
    outcome.measurement.run_time.record(workload->run_time().count_ps());
    outcome.measurement.counters = workload->counters();
    system.add_counters(outcome.measurement.counters);
  }
  outcome.line_names = machine.line_names();
  outcome.task_names.emplace_back();
  for (const kernel::Task& task : system.kernel().tasks()) outcome.task_names.push_back(task.comm);
  outcome.simulated = machine.now();
  outcome.events = machine.engine().events();
  return outcome;
}

namespace {

// All (variant, run) pairs, taken by the workers one after the other and stored by index, so that
// the result does not depend on who was faster.
class Campaign {
 public:
  Campaign(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario),
        options_(options),
        outcomes_(scenario.variants.size() * static_cast<std::size_t>(scenario.runs)) {}

  void run() {
    const auto jobs = static_cast<std::size_t>(std::max(options_.jobs, 1));
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min(jobs, outcomes_.size()); ++i)
      workers.emplace_back([this] { work(); });
    work();
    workers.clear();
    if (failed_at_ < outcomes_.size()) std::rethrow_exception(error_);
  }

  const RunOutcome& outcome(std::size_t variant, int run) const {
    return outcomes_[variant * static_cast<std::size_t>(scenario_.runs) +
                     static_cast<std::size_t>(run)];
  }

 private:
  bool stopping() const {
    return failed_ || (options_.interrupted != nullptr && options_.interrupted->load());
  }

  void work() {
    while (!stopping()) {
      const std::size_t index = next_++;
      if (index >= outcomes_.size()) return;
      const auto runs = static_cast<std::size_t>(scenario_.runs);
      try {
        outcomes_[index] = run_once(scenario_.variants[index / runs], scenario_.seed,
                                    static_cast<std::uint64_t>(index % runs), options_.interrupted);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        // The error of the first run in order, whoever fails first.
        if (!failed_ || index < failed_at_) {
          error_ = std::current_exception();
          failed_at_ = index;
        }
        failed_ = true;
        return;
      }
      const std::lock_guard lock(mutex_);
      if (options_.progress) options_.progress(++done_, static_cast<int>(outcomes_.size()));
    }
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  std::vector<RunOutcome> outcomes_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::size_t failed_at_ = ~std::size_t{0};
  int done_ = 0;
};

}  // namespace

report::Report run_scenario(const Scenario& scenario, const RunOptions& options) {
  Campaign campaign(scenario, options);
  campaign.run();

  report::Report report;
  report.manifest.model_version = kModelVersion;
  report.manifest.seed = scenario.seed;
  report.manifest.runs = scenario.runs;
  report.scenario.name = scenario.name;
  report.scenario.description = scenario.description;
  report.scenario.workload = scenario.variants.front().workload->describe();
  report.scenario.resolved = scenario.resolved_json;
  report.scenario.digest = scenario.digest;
  for (std::size_t i = 0; i < scenario.variants.size(); ++i) {
    const Variant& variant = scenario.variants[i];
    report::Variant out;
    out.name = variant.name;
    out.kernel = variant.kernel.name;
    out.machine = variant.machine.name;
    out.platform = variant.platform;
    out.changes = variant.changes;
    std::vector<const Measurement*> runs;
    std::vector<std::string> lines;
    for (int run = 0; run < scenario.runs; ++run) {
      const RunOutcome& outcome = campaign.outcome(i, run);
      if (!outcome.finished) continue;
      runs.push_back(&outcome.measurement);
      lines = outcome.line_names;
    }
    report.incomplete = report.incomplete || static_cast<int>(runs.size()) < scenario.runs;
    assemble(runs, lines, variant.workload->metrics(), out);
    report.variants.push_back(std::move(out));
  }
  return report;
}

}  // namespace idlesim::experiment

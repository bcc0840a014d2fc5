// P3, IBRS of an idle SMT sibling. Two parameters of the workload are fitted: cycles per packet to
// P3.2 and indirect branches per packet to P3.1. They depend on the machine's core clock and
// misprediction penalty, so every draw of those is fitted again. The rates, and everything about
// other policies, idle states and programs, is predicted.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "idlesim/experiment/draws.h"
#include "idlesim/experiment/reproduce.h"
#include "idlesim/experiment/run.h"
#include "idlesim/report/published.h"
#include "idlesim/report/statistics.h"

namespace idlesim::experiment {

namespace {

constexpr const char* kScenario = "dpdk-xeon-4114";
constexpr const char* kPolicies = "dpdk-xeon-4114-policies";
constexpr const char* kCycles = "workload.parameters.cycles_per_packet";
constexpr const char* kBranches = "workload.parameters.indirect_branches_per_packet";

struct Fit {
  double cycles = 0;
  double branches = 0;
};

struct Targets {
  double on = 0;
  double off = 0;
};

const Variant& variant_named(const std::vector<Variant>& variants, const std::string& name) {
  for (const Variant& variant : variants)
    if (variant.name == name) return variant;
  throw UserError("the scenario has no variant \"" + name + "\"");
}

// One run, with the workload's metrics by name.
class Run {
 public:
  Run(const Variant& variant, const ReproduceOptions& options, int run)
      : metrics_(variant.workload->metrics()),
        outcome_(
            run_once(variant, options.seed, static_cast<std::uint64_t>(run), options.interrupted)) {
    if (!outcome_.finished) throw Interrupted();
  }

  const report::Histogram* samples(std::string_view id) const {
    for (std::size_t i = 0; i < metrics_.size(); ++i)
      if (id == metrics_[i].id && i < outcome_.measurement.samples.size())
        return &outcome_.measurement.samples[i];
    return nullptr;
  }
  double mean(std::string_view id) const {
    const report::Histogram* found = samples(id);
    if (found == nullptr || found->empty()) return 0;
    return found->mean() / scale(id);
  }

 private:
  double scale(std::string_view id) const {
    for (const workload::MetricInfo& metric : metrics_)
      if (id == metric.id) return static_cast<double>(metric.scale);
    return 1;
  }

  std::vector<workload::MetricInfo> metrics_;
  RunOutcome outcome_;
};

std::vector<Override> overrides_of(const Fit& fit) {
  return {{kCycles, fmt::format("{:.3f}", fit.cycles)},
          {kBranches, fmt::format("{:.3f}", fit.branches)}};
}

double tsc_cycles(const Variant& variant, const ReproduceOptions& options, int run) {
  return Run(variant, options, run).mean("tsc_cycles_per_packet");
}

// The model is linear in both: the values that give the targets follow from one run of each side.
Fit fit(const std::vector<Variant>& variants, const Fit& start, const Targets& targets,
        const ReproduceOptions& options, int run) {
  const double off = tsc_cycles(variant_named(variants, "ibrs-off"), options, run);
  const double on = tsc_cycles(variant_named(variants, "ibrs-on"), options, run);
  return {start.cycles * targets.off / off,
          start.branches * (targets.on - targets.off) / (on - off)};
}

report::Simulated summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&values](double q) {
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {report::mean(values), at(0.025), at(0.975), report::IntervalOf::kParameters};
}

const config::Parameter& parameter_at(const Scenario& scenario, std::string_view pointer) {
  const auto& all = scenario.variants.front().parameters;
  const auto found = std::find_if(all.begin(), all.end(), [pointer](const config::Parameter& p) {
    return p.pointer == pointer;
  });
  if (found == all.end()) throw UserError("the scenario has no parameter " + std::string(pointer));
  return *found;
}

Fit fit_in_file(const Scenario& scenario, GroupResult& result) {
  Fit fit;
  const auto add = [&](const char* pointer) {
    const config::Parameter& parameter = parameter_at(scenario, pointer);
    const double value = parameter.value.as_double();
    result.fitted.push_back({std::string("scenarios/") + kScenario + ".json",
                             pointer,
                             value,
                             {parameter.range->low.as_double(), parameter.range->high.as_double()},
                             parameter.fitted_to});
    return value;
  };
  fit.cycles = add("/workload/parameters/cycles_per_packet");
  fit.branches = add("/workload/parameters/indirect_branches_per_packet");
  return fit;
}

// --- the rows ---

void run_draws(const ConfigPaths& paths, const Scenario& scenario, const Fit& start,
               const Targets& targets, const ReproduceOptions& options, GroupResult& result) {
  const Draws draws(paths, scenario, std::max(options.runs, 20), options.seed);
  const auto count = static_cast<std::size_t>(draws.count());
  std::vector<double> cycles(count), branches(count);
  std::array<std::vector<double>, 2> tsc, rate;
  for (auto* side : {&tsc[0], &tsc[1], &rate[0], &rate[1]}) side->resize(count);
  parallel(options, draws.count(), [&](int i) {
    const auto index = static_cast<std::size_t>(i);
    Draw draw = draws.make(i);
    const Fit fitted = fit(draw.variants, start, targets, options, i);
    cycles[index] = fitted.cycles;
    branches[index] = fitted.branches;
    const Scenario refitted = load_scenario(paths, kScenario, overrides_of(fitted));
    for (Variant& variant : draw.variants) {
      variant.workload = refitted.variants.front().workload;
      const std::size_t side = variant.name == "ibrs-on" ? 0 : 1;
      const Run run(variant, options, i);
      tsc[side][index] = run.mean("tsc_cycles_per_packet");
      rate[side][index] = run.mean("packets_per_second");
    }
  });
  result.simulated.emplace_back("P3.1.cycles", summarize(tsc[0]));
  result.simulated.emplace_back("P3.2.cycles", summarize(tsc[1]));
  result.simulated.emplace_back("P3.1.rate", summarize(rate[0]));
  result.simulated.emplace_back("P3.2.rate", summarize(rate[1]));
  const auto [least_c, most_c] = std::minmax_element(cycles.begin(), cycles.end());
  const auto [least_b, most_b] = std::minmax_element(branches.begin(), branches.end());
  result.notes.push_back(fmt::format(
      "{} draws of the machine's parameters, both fitted parameters fitted again in each: {:.1f} "
      "to {:.1f} core cycles and {:.2f} to {:.2f} indirect branches per packet (core clock 2.2 to "
      "3.0 GHz, misprediction 16.5 to 20 cycles); the sibling idles in C1E, which the source does "
      "not state",
      draws.count(), *least_c, *most_c, *least_b, *most_b));
}

// --- what else is predicted ---

void note_other_programs(const ConfigPaths& paths, const Fit& fit, const ReproduceOptions& options,
                         GroupResult& result) {
  std::string text = "other programs, TSC cycles per packet without and with IBRS of the sibling:";
  for (const double times : {0.0, 1.0, 2.0}) {
    const Scenario scenario =
        load_scenario(paths, kScenario, overrides_of({fit.cycles, fit.branches * times}));
    const double off = tsc_cycles(variant_named(scenario.variants, "ibrs-off"), options, 0);
    const double on = tsc_cycles(variant_named(scenario.variants, "ibrs-on"), options, 0);
    text += fmt::format("{} {:.0f} x the indirect branches {:.2f} and {:.2f} (+{:.2f})",
                        times == 0 ? "" : ",", times, off, on, on - off);
  }
  result.notes.push_back(text);
}

// The five rates of the scenario, as its metrics' names have them.
constexpr std::array<const char*, 5> kRates = {"0", "10", "100", "1000", "10000"};

std::string at_all_rates(const Run& run, const char* metric, double scale) {
  std::string text;
  for (const char* rate : kRates) {
    const report::Histogram* samples = run.samples(fmt::format("{}_at_{}_wakes", metric, rate));
    if (samples == nullptr || samples->empty())
      text += " -";
    else
      text += fmt::format(" {:.2f}", static_cast<double>(samples->quantile(0.5)) / scale);
  }
  return text;
}

void note_policies(const ConfigPaths& paths, const ReproduceOptions& options, GroupResult& result) {
  const Scenario scenario = load_scenario(paths, kPolicies, {});
  std::vector<std::string> notes(scenario.variants.size());
  parallel(options, static_cast<int>(notes.size()), [&](int i) {
    const auto index = static_cast<std::size_t>(i);
    const Run run(scenario.variants[index], options, 0);
    notes[index] = fmt::format(
        "{}: TSC cycles per packet{}; wake-up of the sibling's task{} us; "
        "interrupt to it{} us",
        scenario.variants[index].name, at_all_rates(run, "tsc_cycles_per_packet", 1e3),
        at_all_rates(run, "sibling_wake_ns", 1e6), at_all_rates(run, "sibling_interrupt_ns", 1e6));
  });
  result.notes.push_back(
      "policies (scenario dpdk-xeon-4114-policies), each at 0, 10, 100, 1000 and 10000 wakes of "
      "the sibling per second, medians:");
  result.notes.insert(result.notes.end(), notes.begin(), notes.end());
}

}  // namespace

GroupResult reproduce_p3(const ConfigPaths& paths, const ReproduceOptions& options) {
  GroupResult result;
  const auto rows = report::read_published(paths.root + "/published/p3.json");
  const auto low = [&rows](const char* id) {
    return std::find_if(rows.begin(), rows.end(), [id](const auto& r) { return r.id == id; })->low;
  };
  const Targets targets{low("P3.1.cycles"), low("P3.2.cycles")};
  const Scenario scenario =
      load_scenario(paths, kScenario, {{"workload.parameters.duration_ms", "20"}});
  const Fit in_file = fit_in_file(scenario, result);
  run_draws(paths, scenario, in_file, targets, options, result);
  note_other_programs(paths, in_file, options, result);
  note_policies(paths, options, result);
  return result;
}

}  // namespace idlesim::experiment

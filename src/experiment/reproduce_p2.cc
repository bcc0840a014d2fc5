// P2, haltpoll on arm64 guests: perf bench sched pipe without and with it. Each run has its own
// draw of the parameters of machine and platform that have a range; the two sides of a pair share
// it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/experiment/draws.h"
#include "idlesim/experiment/reproduce.h"
#include "idlesim/experiment/run.h"
#include "reproduce_statistics.h"

namespace idlesim::experiment {

namespace {

constexpr const char* kOps = "1000";  // per run; the published runs made 1,000,000
constexpr double kPublishedOps = 1e6;

// What one variant gave, by run.
struct Side {
  std::vector<double> op_us, instructions, cycles, elided, exits;

  explicit Side(int runs)
      : op_us(static_cast<std::size_t>(runs)),
        instructions(op_us.size()),
        cycles(op_us.size()),
        elided(op_us.size()),
        exits(op_us.size()) {}
};

// The mean of a workload's own metric, in its unit.
double metric_of(const Variant& variant, const Measurement& measurement, std::string_view id) {
  const std::vector<workload::MetricInfo> infos = variant.workload->metrics();
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].id == id)
      return measurement.samples.at(i).mean() / static_cast<double>(infos[i].scale);
  throw UserError("the workload has no metric \"" + std::string(id) + "\"");
}

double counter_of(const Measurement& measurement, std::string_view name) {
  double sum = 0;
  for (const workload::CounterValue& counter : measurement.counters)
    if (counter.name == name) sum += static_cast<double>(counter.value);
  return sum;
}

double exits_of(const Measurement& measurement) {
  double sum = 0;
  for (const workload::CounterValue& counter : measurement.counters)
    if (counter.name.starts_with("exits.")) sum += static_cast<double>(counter.value);
  return sum;
}

void run_side(const Variant& variant, const ReproduceOptions& options, int run, Side& side) {
  const RunOutcome outcome =
      run_once(variant, options.seed, static_cast<std::uint64_t>(run), options.interrupted);
  if (!outcome.finished) throw Interrupted();
  const Measurement& m = outcome.measurement;
  const auto i = static_cast<std::size_t>(run);
  const double ops = std::stod(kOps);
  side.op_us[i] = metric_of(variant, m, "usecs_per_op");
  side.instructions[i] = metric_of(variant, m, "instructions_per_op");
  side.cycles[i] = metric_of(variant, m, "cycles_per_op");
  side.elided[i] = counter_of(m, "sched_wake_idle_without_ipi") / ops;
  side.exits[i] = exits_of(m) / ops;
}

Scenario load(const ConfigPaths& paths, const char* name) {
  return load_scenario(paths, name, {{"workload.parameters.loop", kOps}});
}

// Two variants of a scenario over the same draws.
struct Pair {
  Side first, second;
};
Pair run_pair(const ConfigPaths& paths, const char* scenario_name, const char* first,
              const char* second, const ReproduceOptions& options) {
  const Scenario scenario = load(paths, scenario_name);
  const Draws draws(paths, scenario, std::max(options.runs / 4, 16), options.seed);
  Pair pair{Side(draws.count()), Side(draws.count())};
  parallel(options, draws.count(), [&](int i) {
    const Draw draw = draws.make(i);
    run_side(variant_named(draw.variants, first), options, i, pair.first);
    run_side(variant_named(draw.variants, second), options, i, pair.second);
  });
  return pair;
}

std::vector<double> quotient(std::vector<double> values, const std::vector<double>& by) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] /= by[i];
  return values;
}
std::vector<double> times(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

// Runs at the files' values, with other tasks on the host: what differs is their timing.
struct Spread {
  double without = 0;
  double with = 0;
};
Spread spread_with_noise(const ConfigPaths& paths, const ReproduceOptions& options) {
  constexpr int kRuns = 16;
  const Scenario scenario = load_scenario(paths, "sched-pipe-kvm-altra",
                                          {{"workload.parameters.loop", kOps},
                                           {"platform.noise_per_second", "200"},
                                           {"platform.noise_duration_us", "200"}});
  Side without(kRuns);
  Side with(kRuns);
  parallel(options, kRuns, [&](int i) {
    run_side(variant_named(scenario.variants, "without"), options, i, without);
    run_side(variant_named(scenario.variants, "with-haltpoll"), options, i, with);
  });
  return {100 * relative_deviation(without.op_us), 100 * relative_deviation(with.op_us)};
}

void note_pair(const char* what, const Pair& pair, GroupResult& result) {
  result.notes.push_back(fmt::format(
      "{}: per operation without / with: {:.2f} / {:.2f} us, {:.0f} / {:.0f} instructions, {:.0f} "
      "/ "
      "{:.0f} cycles, {:.2f} / {:.2f} wake-ups without an IPI, {:.2f} / {:.2f} exits",
      what, mean_of(pair.first.op_us), mean_of(pair.second.op_us), mean_of(pair.first.instructions),
      mean_of(pair.second.instructions), mean_of(pair.first.cycles), mean_of(pair.second.cycles),
      mean_of(pair.first.elided), mean_of(pair.second.elided), mean_of(pair.first.exits),
      mean_of(pair.second.exits)));
}

// What a wake-up costs without haltpoll and not with it, from the kernel's path lengths: the tick
// is stopped and started again, and an interrupt is taken.
void note_instructions(const ConfigPaths& paths, const Pair& pair, GroupResult& result) {
  using kernel::Path;
  const Scenario scenario = load(paths, "sched-pipe-kvm-altra-notrap");
  const kernel::KernelSpec& kernel = variant_named(scenario.variants, "without").kernel;
  const auto sum = [&kernel](std::initializer_list<Path> segments) {
    std::int64_t instructions = 0;
    for (const Path path : segments)
      instructions += kernel.segments[static_cast<std::size_t>(path)].instructions;
    return 2.0 * static_cast<double>(instructions);  // two wake-ups an operation
  };
  const double tick = sum({Path::tick_nohz_idle_stop_tick, Path::tick_nohz_restart});
  const double interrupt =
      sum({Path::irq_entry, Path::irq_entry_tick_stopped, Path::gic_ack, Path::generic_irq_layer,
           Path::ipi_handler, Path::generic_irq_layer_tail, Path::irq_exit});
  const double difference = mean_of(pair.first.instructions) - mean_of(pair.second.instructions);
  result.notes.push_back(fmt::format(
      "instructions an operation without minus with haltpoll: {:.0f}; stopping and starting the "
      "tick "
      "are {:.0f} of the instructions without, taking an interrupt {:.0f}; polling adds the others",
      difference, tick, interrupt));
}

}  // namespace

GroupResult reproduce_p2(const ConfigPaths& paths, const ReproduceOptions& options) {
  GroupResult result;
  const auto row = [&result](const char* id, const std::vector<double>& values) {
    result.simulated.emplace_back(id, summarize(values));
  };

  const Pair altra = run_pair(paths, "sched-pipe-kvm-altra", "without", "with-haltpoll", options);
  row("P2.1.without", altra.first.op_us);
  row("P2.1.with", altra.second.op_us);
  row("P2.1.ratio", quotient(altra.second.op_us, altra.first.op_us));
  note_pair("Altra, WFI exits", altra, result);
  const Spread spread = spread_with_noise(paths, options);
  const auto exact = [](double value) {
    return report::Simulated{value, value, value, report::IntervalOf::kRuns};
  };
  result.simulated.emplace_back("P2.1.spread_without", exact(spread.without));
  result.simulated.emplace_back("P2.1.spread_with", exact(spread.with));
  result.pass.emplace_back("P2.1.spread_with", spread.with > spread.without);
  result.notes.push_back(fmt::format(
      "spread of 16 runs of {} operations with 200 wake-ups a second of other host tasks that run "
      "200 us (assumed): {:.1f} % without, {:.1f} % with haltpoll",
      kOps, spread.without, spread.with));

  const Pair grace = run_pair(paths, "sched-pipe-kvm-grace", "without", "with-haltpoll", options);
  row("P2.2.without", grace.first.op_us);
  row("P2.2.with", grace.second.op_us);
  row("P2.2.ratio", quotient(grace.second.op_us, grace.first.op_us));
  note_pair("Grace", grace, result);

  const Pair x86 = run_pair(paths, "sched-pipe-kvm-skylake-sp", "cpu-relax", "cond-load", options);
  row("P2.3.relax", x86.first.op_us);
  row("P2.3.cond_load", x86.second.op_us);
  row("P2.3.ratio", quotient(x86.second.op_us, x86.first.op_us));

  const Pair poll = run_pair(paths, "sched-pipe-kvm-altra-poll", "cpu-relax", "cond-load", options);
  row("P2.4.relax", times(poll.first.cycles, kPublishedOps));
  row("P2.4.wfe", times(poll.second.cycles, kPublishedOps));
  row("P2.4.ratio", quotient(poll.second.cycles, poll.first.cycles));

  const Pair notrap =
      run_pair(paths, "sched-pipe-kvm-altra-notrap", "without", "with-haltpoll", options);
  row("P2.5.time_without", notrap.first.op_us);  // seconds for a million operations
  row("P2.5.time_with", notrap.second.op_us);
  row("P2.5.instr_without", times(notrap.first.instructions, kPublishedOps));
  row("P2.5.instr_with", times(notrap.second.instructions, kPublishedOps));
  row("P2.5.cycles_without", times(notrap.first.cycles, kPublishedOps));
  row("P2.5.cycles_with", times(notrap.second.cycles, kPublishedOps));
  row("P2.5.elided_without", times(notrap.first.elided, kPublishedOps));
  row("P2.5.elided_with", times(notrap.second.elided, kPublishedOps));
  note_pair("Altra, WFI does not exit", notrap, result);
  note_instructions(paths, notrap, result);
  return result;
}

}  // namespace idlesim::experiment

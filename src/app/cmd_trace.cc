#include <fmt/format.h>

#include <array>
#include <charconv>
#include <ostream>

#include "command.h"
#include "idlesim/base/check.h"
#include "idlesim/config/decimal.h"
#include "idlesim/config/findings.h"
#include "idlesim/experiment/run.h"
#include "idlesim/hw/interrupt.h"
#include "idlesim/report/timeline.h"
#include "output.h"
#include "scenario_options.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;
using report::TimelineRecorder;
using report::Window;

constexpr std::array<std::string_view, 3> kTraceFormats = {"perf-script", "ftrace", "json"};
constexpr Time kMargin = Time::us(10);

void add_options(po::options_description& options) {
  add_set_option(options);
  options.add_options()("seed", po::value<std::string>()->value_name("N"),
                        "seed of the random streams; default the scenario's");
  options.add_options()("variant", po::value<std::string>()->value_name("NAME"),
                        "which variant; default the first");
  options.add_options()("run", po::value<std::string>()->value_name("I"),
                        "which run, counted from 0; default 0");
  options.add_options()("format,f", po::value<std::string>()->value_name("FORMAT"),
                        "perf-script, ftrace or json (for Perfetto); default perf-script");
  options.add_options()("from", po::value<std::string>()->value_name("TIME"),
                        "leave out what is before: 1.5ms; units ns, us, ms, s of simulated time");
  options.add_options()("to", po::value<std::string>()->value_name("TIME"),
                        "leave out what is after");
  options.add_options()("around-worst", po::value<std::string>()->value_name("N"),
                        "only 10 us around the N slowest calls");
  options.add_options()("cpus", po::value<std::string>()->value_name("LIST"),
                        "only events on these CPUs or directed at them: 8,16-17");
  options.add_options()("limit", po::value<std::string>()->value_name("N"),
                        "keep this many events at most, and say how many are left out; default "
                        "1000000");
  add_output_option(options);
  options.add_options()("quiet,q", "no notes; errors only");
}

Time time_of(const Invocation& invocation, const char* option, Time fallback) {
  if (!invocation.has(option)) return fallback;
  const std::string text = invocation.text(option);
  constexpr std::pair<const char*, int> kUnits[] = {{"ns", 3}, {"us", 6}, {"ms", 9}, {"s", 12}};
  for (const auto& [unit, digits] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = config::Decimal::parse(
        std::string_view(text).substr(0, text.size() - std::string_view(unit).size()));
    const auto ps = number ? number->to_scaled(digits) : std::nullopt;
    if (ps && *ps >= 0) return Time::ps(*ps);
    break;
  }
  throw UserError("--" + std::string(option) + ": expected a time such as 1.5ms, found \"" +
                  config::printable(text) + "\"");
}

// "8,16-17"
CpuMask cpus_of(const Invocation& invocation, int nr_cpus) {
  CpuMask mask;
  if (!invocation.has("cpus")) return mask;
  const std::string text = invocation.text("cpus");
  const auto fail = [&] {
    throw UserError("--cpus: expected a list such as 8,16-17 of CPUs below " +
                    std::to_string(nr_cpus) + ", found \"" + config::printable(text) + "\"");
  };
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    int first = 0;
    auto [next, error] = std::from_chars(at, end, first);
    int last = first;
    if (error == std::errc{} && next != end && *next == '-') {
      const auto range = std::from_chars(next + 1, end, last);
      error = range.ec;
      next = range.ptr;
    }
    if (error != std::errc{} || first < 0 || last < first || last >= nr_cpus) fail();
    for (CpuId cpu = first; cpu <= last; ++cpu) mask.set(cpu);
    if (next == end) return mask;
    if (*next != ',') fail();
    at = next + 1;
  }
}

report::TimelineNames names_of(const experiment::Scenario& scenario,
                               const experiment::Variant& variant,
                               const experiment::RunOutcome& outcome) {
  report::TimelineNames names;
  names.tasks = outcome.task_names;
  names.is_x86 = variant.machine.cpu.arch == hw::Arch::kX86_64;
  names.nr_cpus = hw::Topology(variant.machine.topology).nr_cpus();
  names.title = scenario.name + ", " + variant.name;
  // Numbers of Linux on x86 (arch/x86/include/asm/irq_vectors.h); arm64 counts its own from 0.
  const auto add = [&](hw::Vector vector, int x86, const char* name) {
    const auto value = static_cast<std::int32_t>(vector);
    names.vectors.push_back({value, names.is_x86 ? x86 : value, name});
  };
  add(hw::Vector::kReschedule, 253, "reschedule");
  add(hw::Vector::kCallFunction, 252, "call_function");
  add(hw::Vector::kCallFunctionSingle, 251, "call_function_single");
  add(hw::Vector::kLocalTimer, 236, "local_timer");
  return names;
}

std::string trace(const Invocation& invocation, const std::string& format) {
  const experiment::Scenario scenario = load_scenario(invocation);
  const experiment::Variant& variant = find_variant(scenario, invocation.text("variant"));
  const auto run = static_cast<std::uint64_t>(invocation.number("run", 0, 1'000'000, 0));
  const int nr_cpus = hw::Topology(variant.machine.topology).nr_cpus();
  TimelineRecorder::Options options;
  options.cpus = cpus_of(invocation, nr_cpus);
  options.limit = static_cast<std::size_t>(invocation.number("limit", 1, 100'000'000, 1'000'000));
  options.windows = {
      {time_of(invocation, "from", Time{}), time_of(invocation, "to", Time::never())}};
  if (invocation.has("around-worst")) {
    if (invocation.has("from") || invocation.has("to"))
      throw UserError("--around-worst chooses the times itself: leave out --from and --to");
    // The same run once more, as it is the same every time.
    report::WorstFinder finder(
        static_cast<std::size_t>(invocation.number("around-worst", 1, 100'000, 1)), kMargin);
    experiment::run_once(variant, scenario.seed, run, nullptr, &finder);
    options.windows = finder.windows();
    if (options.windows.empty() && !invocation.has("quiet"))
      invocation.around.err << "warning: the run has no call to look around\n";
  }
  TimelineRecorder recorder(options, nr_cpus);
  const experiment::RunOutcome outcome =
      experiment::run_once(variant, scenario.seed, run, nullptr, &recorder);
  if (recorder.left_out() > 0 && !invocation.has("quiet"))
    invocation.around.err << "warning: " << recorder.left_out()
                          << " events are left out (--limit, --from, --to, --cpus)\n";
  const report::TimelineNames names = names_of(scenario, variant, outcome);
  if (format == "json") return report::to_trace_json(recorder.events(), names);
  return format == "ftrace" ? report::to_ftrace(recorder.events(), names)
                            : report::to_perf_script(recorder.events(), names);
}

int run(const Invocation& invocation) {
  const std::string format = invocation.word("format", kTraceFormats);
  const Output output(invocation);
  output.write(trace(invocation, format));
  return kSuccess;
}

constexpr OptionWords kWords[] = {{"format", kTraceFormats}};

}  // namespace

const Command kTraceCommand = {
    "trace",
    "Prints what happens in one run, event by event",
    "SCENARIO",
    1,
    1,
    "  idlesim trace ipistorm-epyc-milan --to 500us\n"
    "  idlesim trace ipistorm-epyc-milan --around-worst 3 -f json -o worst.json\n"
    "  idlesim trace ipistorm-altra --variant baseline --run 4 --cpus 1,17 -f ftrace\n",
    "perf-script: the text of 'perf script --ns' for sched_switch, sched_waking, sched_wakeup,\n"
    "sched_wake_idle_without_ipi, cpu_idle, ipi_send_cpu, interrupt entries and csd events. "
    "Function\n"
    "and return addresses that the model does not know are 0x0; a wake-up is printed when it is\n"
    "done, waking and wakeup at once. ftrace: the same as /sys/kernel/tracing/trace shows it. "
    "json:\n"
    "Trace Event JSON, to be opened at ui.perfetto.dev or chrome://tracing.\n",
    add_options,
    run,
    kWords};

}  // namespace idlesim::app

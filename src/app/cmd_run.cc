#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <ostream>
#include <thread>

#include "build_info.h"
#include "command.h"
#include "compare_options.h"
#include "idlesim/base/check.h"
#include "idlesim/experiment/run.h"
#include "idlesim/experiment/scenario.h"
#include "idlesim/report/json.h"
#include "idlesim/report/text.h"
#include "output.h"
#include "progress.h"
#include "scenario_options.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;

void add_options(po::options_description& options) {
  add_set_option(options);
  options.add_options()("runs,n", po::value<std::string>()->value_name("N"),
                        "runs of each variant; default the scenario's");
  options.add_options()("seed", po::value<std::string>()->value_name("N"),
                        "seed of the random streams; default the scenario's");
  add_jobs_option(options);
  const std::string format_help =
      "text or json; with --gate " + compare_formats() + "; default text";
  options.add_options()("format,f", po::value<std::string>()->value_name("FORMAT"),
                        format_help.c_str());
  add_output_option(options);
  add_gate_options(options);
  options.add_options()("save-report", po::value<std::string>()->value_name("FILE"),
                        "with --gate: write the report as JSON as well");
  options.add_options()("quiet,q", "no progress, no notes; errors only");
  add_color_option(options);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// What the simulation itself does not know: the program, and the circumstances of this execution.
void fill_manifest(const Invocation& invocation, report::Manifest& manifest) {
  const BuildInfo& info = build_info();
  manifest.version = info.version;
  manifest.git_commit = info.commit;
  manifest.volatile_part.compiler = info.compiler;
  manifest.volatile_part.flags = info.flags;
  manifest.volatile_part.command_line = invocation.command_line;
  manifest.volatile_part.host = host_name();
}

report::Report simulate(const Invocation& invocation, const experiment::Scenario& scenario) {
  const Interrupt* interrupt = invocation.around.interrupt;
  Progress progress(invocation.around, invocation.has("quiet"));
  progress.update(0, scenario.runs * static_cast<int>(scenario.variants.size()));
  experiment::RunOptions options;
  options.jobs = jobs_of(invocation);
  options.interrupted = interrupt == nullptr ? nullptr : &interrupt->requested;
  options.progress = [&progress](int done, int all) { progress.update(done, all); };

  const std::string start_time = utc_now();
  const auto start = std::chrono::steady_clock::now();
  report::Report report = experiment::run_scenario(scenario, options);
  progress.finish();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fill_manifest(invocation, report.manifest);
  report.manifest.volatile_part.start_time = start_time;
  report.manifest.volatile_part.duration_s = took.count();
  report.manifest.volatile_part.jobs = options.jobs;
  return report;
}

// 130 or 143 if the runs were interrupted, else `code`.
int unless_interrupted(const Invocation& invocation, int code) {
  const Interrupt* interrupt = invocation.around.interrupt;
  if (interrupt == nullptr || !interrupt->requested) return code;
  if (!invocation.has("quiet"))
    invocation.around.err << "interrupted: the report has the finished runs only\n";
  return 128 + interrupt->signal;
}

// The variants are compared with the first, and the comparison is what is printed.
int run_and_judge(const Invocation& invocation) {
  const CompareRequest request = compare_request(invocation);
  const Output output(invocation);
  const Output saved(invocation, "save-report");
  jobs_of(invocation);
  const experiment::Scenario scenario = load_scenario(invocation);
  if (scenario.variants.size() < 2)
    throw UserError(
        "the scenario has one variant: there is nothing to judge ('idlesim compare' "
        "judges two reports)");
  const report::Report report = simulate(invocation, scenario);
  if (invocation.has("save-report")) saved.write(report::to_json(report));
  const int code = finish_comparison(
      invocation, request, report::compare_variants(report, report.scenario.name, request.options),
      output);
  return unless_interrupted(invocation, code);
}

bool is_judged(const Invocation& invocation) {
  const bool judged = invocation.has("gate") || invocation.has("threshold");
  for (const char* option : {"alpha", "fail-on", "save-report"})
    if (!judged && invocation.has(option))
      throw UserError("--" + std::string(option) + ": needs --gate or --threshold");
  return judged;
}

int run(const Invocation& invocation) {
  if (is_judged(invocation)) return run_and_judge(invocation);
  const std::string format = invocation.word("format", kFormats);
  const Output output(invocation);
  const bool color = use_color(invocation, output.is_terminal());
  jobs_of(invocation);  // a wrong number is an error before the scenario's
  const experiment::Scenario scenario = load_scenario(invocation);
  const report::Report report = simulate(invocation, scenario);
  output.write(format == "json" ? report::to_json(report) : report::to_text(report, color));
  return unless_interrupted(invocation, kSuccess);
}

constexpr OptionWords kWords[] = {
    {"format", kCompareFormats}, {"color", kColorWords}, {"fail-on", kFailOn}};

}  // namespace

const Command kRunCommand = {
    "run",
    "Simulates a scenario and reports each variant beside the first",
    "SCENARIO",
    1,
    1,
    "  idlesim run ipistorm-epyc-milan\n"
    "  idlesim run ipistorm-epyc-milan -n 3 --set kernel.idle_enter=poll\n"
    "  idlesim run ipistorm-epyc-milan --set machine.topology.scale=2 -f json -o result.json\n"
    "  idlesim run ./mine.json --set workload.parameters.numipi=1000\n"
    "  idlesim run ./mine.json --gate gates.json -f markdown\n",
    "SCENARIO is a name ('idlesim list scenarios') or a file that ends in .json.\n"
    "With --gate or --threshold the variants are judged against the first, and what is printed is\n"
    "the comparison: see 'idlesim help compare'.\n"
    "Exit codes: 0 done; 1 a regression and 4 inconclusive, with --gate only; 2 wrong arguments "
    "or\n"
    "files, nothing was simulated; 3 the simulation failed; 130, 143 ended by SIGINT, SIGTERM:\n"
    "the report has the finished runs and says so.\n",
    add_options,
    run,
    kWords};

}  // namespace idlesim::app

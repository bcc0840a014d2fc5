#include <ostream>

#include "command.h"
#include "idlesim/experiment/reproduce.h"
#include "output.h"
#include "progress.h"
#include "scenario_options.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;

void add_options(po::options_description& options) {
  options.add_options()("runs,n", po::value<std::string>()->value_name("N"),
                        "draws for what is judged as a distribution; default 200");
  options.add_options()("seed", po::value<std::string>()->value_name("N"),
                        "seed of the random streams; default 1");
  add_jobs_option(options);
  add_format_option(options);
  add_output_option(options);
  options.add_options()("quiet,q", "no progress, no notes; errors only");
  add_color_option(options);
}

int run(const Invocation& invocation) {
  const std::string format = invocation.word("format", kFormats);
  const Output output(invocation);
  const bool color = use_color(invocation, output.is_terminal());
  const Interrupt* interrupt = invocation.around.interrupt;
  experiment::ReproduceOptions options;
  options.groups = invocation.operands;
  options.runs = invocation.number("runs", 1, 100'000, options.runs);
  options.seed = static_cast<std::uint64_t>(invocation.number("seed", 0, 2'147'483'647, 1));
  options.jobs = jobs_of(invocation);
  options.interrupted = interrupt == nullptr ? nullptr : &interrupt->requested;
  Progress progress(invocation.around, invocation.has("quiet"));
  options.progress = [&progress](int done, int all) { progress.update(done, all); };
  try {
    const auto report = experiment::reproduce(experiment::find_config_paths(), options);
    progress.finish();
    output.write(format == "json" ? report::to_json(report) : report::to_text(report, color));
  } catch (const experiment::Interrupted&) {
    progress.finish();
    if (!invocation.has("quiet"))
      invocation.around.err << "interrupted: half of the runs would say nothing, so nothing is "
                               "printed\n";
    return 128 + interrupt->signal;
  }
  return kSuccess;
}

constexpr OptionWords kWords[] = {{"format", kFormats}, {"color", kColorWords}};

}  // namespace

const Command kReproduceCommand = {
    "reproduce",
    "Puts published results beside the simulator's own",
    "[GROUP...]",
    0,
    kAnyNumber,
    "  idlesim reproduce\n  idlesim reproduce P1\n  idlesim reproduce P1 -n 20 -f json -o "
    "p1.json\n",
    "GROUP is a group of published rows, P1 to P5; without any, all of them.\n"
    "A row of a group that is not modelled yet says so.\n",
    add_options,
    run,
    kWords};

}  // namespace idlesim::app

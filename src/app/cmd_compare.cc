#include <filesystem>
#include <ostream>

#include "command.h"
#include "compare_options.h"
#include "idlesim/base/check.h"
#include "idlesim/report/json.h"
#include "output.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;

void add_options(po::options_description& options) {
  add_gate_options(options);
  options.add_options()("missing-baseline", po::value<std::string>()->value_name("WHAT"),
                        "if the base lacks something or is not there: fail (exit 4), warn or pass; "
                        "default fail");
  options.add_options()("pairing", po::value<std::string>()->value_name("HOW"),
                        "paired or independent runs; default auto: paired if scenario and seed are "
                        "the same");
  options.add_options()("resamples", po::value<std::string>()->value_name("N"),
                        "of the bootstrap; default 2000");
  options.add_options()("bootstrap-seed", po::value<std::string>()->value_name("N"), "default 1");
  const std::string format_help = compare_formats() + "; default text";
  options.add_options()("format,f", po::value<std::string>()->value_name("FORMAT"),
                        format_help.c_str());
  add_output_option(options);
  options.add_options()("quiet,q", "no notes; errors only");
  add_color_option(options);
}

bool is_missing_file(const std::string& path) {
  return path != "-" && !std::filesystem::exists(path);
}

int run(const Invocation& invocation) {
  const CompareRequest request = compare_request(invocation);
  const Output output(invocation);
  const std::vector<std::string>& files = invocation.operands;
  if (files.size() == 1) {
    const report::Report report = report::read_report(files.front());
    const std::string name = files.front() == "-" ? "standard input" : files.front();
    return finish_comparison(invocation, request,
                             report::compare_variants(report, name, request.options), output);
  }
  if (files[0] == "-" && files[1] == "-")
    throw UserError("only one of the reports can be standard input");
  if (is_missing_file(files[0])) return without_baseline(invocation, request, files[0]);
  const report::Report base = report::read_report(files[0]);
  const report::Report now = report::read_report(files[1]);
  return finish_comparison(invocation, request,
                           report::compare_reports(base, files[0], now, files[1], request.options),
                           output);
}

constexpr OptionWords kWords[] = {{"format", kCompareFormats},
                                  {"color", kColorWords},
                                  {"fail-on", kFailOn},
                                  {"missing-baseline", kMissing},
                                  {"pairing", kPairings}};

}  // namespace

const Command kCompareCommand = {
    "compare",
    "Says whether a second report is worse than a first, metric by metric",
    "BASE.json [NEW.json]",
    1,
    2,
    "  idlesim compare base.json new.json\n"
    "  idlesim compare base.json new.json --threshold 'call_round_trip_ns.p99=5%'\n"
    "  idlesim compare base.json new.json --gate gates.json -f junit -o result.xml\n"
    "  idlesim compare report.json -f markdown     # variants against the first\n"
    "  git bisect run sh -c 'make && idlesim run s.json -f json -o new.json &&\n"
    "                        idlesim compare --bisect good.json new.json'\n",
    "The reports are those of 'idlesim run -f json'; - is standard input. A metric is a "
    "regression\n"
    "if its change is real (Holm-corrected p below alpha) and the nearer end of the 95 % interval\n"
    "of the change is beyond its threshold, in the direction that is worse.\n"
    "'idlesim help compare-statistics' says more.\n"
    "Exit codes: 0 no regression; 1 a regression; 2 wrong arguments or files; 4 inconclusive: too\n"
    "few runs, another model version, something missing. With --bisect: 0; 1; 255 in place of 2;\n"
    "125 in place of 3 and 4.\n",
    add_options,
    run,
    kWords};

}  // namespace idlesim::app

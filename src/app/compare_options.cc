#include "compare_options.h"

#include <array>
#include <ostream>

#include "idlesim/base/check.h"
#include "idlesim/config/decimal.h"
#include "idlesim/config/findings.h"
#include "idlesim/report/compare_formats.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;

// Those of the command line come first, then the file's, or else the default ones.
report::Gates gates_of(const Invocation& invocation) {
  report::Gates gates = invocation.has("gate") ? report::read_gates(invocation.text("gate"))
                                               : report::default_gates();
  std::vector<report::Gate> first;
  if (invocation.has("threshold"))
    for (const std::string& text : invocation.options["threshold"].as<std::vector<std::string>>())
      first.push_back(report::parse_gate(text, "--threshold"));
  gates.gates.insert(gates.gates.begin(), first.begin(), first.end());
  if (invocation.has("alpha")) {
    const std::string text = invocation.text("alpha");
    const std::optional<config::Decimal> alpha = config::Decimal::parse(text);
    if (!alpha || alpha->as_double() <= 0 || alpha->as_double() > 0.5)
      throw UserError("--alpha: expected a number above 0, at most 0.5, found \"" +
                      config::printable(text) + "\"");
    gates.alpha = alpha->as_double();
  }
  return gates;
}

std::string text_of(const CompareRequest& request, const report::Comparison& comparison,
                    const report::CompareSummary& summary) {
  if (request.format == "text") return report::to_text(comparison, summary, request.color);
  if (request.format == "markdown") return report::to_markdown(comparison, summary);
  if (request.format == "json") return report::to_json(comparison, summary);
  if (request.format == "junit") return report::to_junit(comparison);
  if (request.format == "ktap") return report::to_ktap(comparison);
  if (request.format == "lkp") return report::to_lkp(comparison);
  if (request.format == "csv") return report::to_csv(comparison);
  if (request.format == "google-benchmark") return report::to_google_benchmark(comparison);
  return report::to_openmetrics(comparison, summary);
}

}  // namespace

void add_gate_options(po::options_description& options) {
  options.add_options()("gate", po::value<std::string>()->value_name("FILE"),
                        "what is judged, with which thresholds ('idlesim schema gates'); default "
                        "the mean of every metric");
  options.add_options()(
      "threshold", po::value<std::vector<std::string>>()->value_name("METRIC.STAT=N%"),
      "judge these metrics, with this threshold; * and ? match anything, =off judges nothing; "
      "before the gates of a file or the default ones; repeatable");
  options.add_options()("alpha", po::value<std::string>()->value_name("P"),
                        "the chance of a false alarm that is tolerated; default 0.01");
  options.add_options()("fail-on", po::value<std::string>()->value_name("WHAT"),
                        "regression, change or never; default regression");
  options.add_options()("bisect", "exit codes for 'git bisect run'");
}

std::string compare_formats() {
  std::string out;
  for (const std::string_view format : kCompareFormats)
    out += (out.empty() ? "" : ", ") + std::string(format);
  return out;
}

CompareRequest compare_request(const Invocation& invocation) {
  CompareRequest request;
  request.format = invocation.word("format", kCompareFormats);
  const std::string fail_on = invocation.word("fail-on", kFailOn);
  request.fail_on = fail_on == "never"    ? report::FailOn::kNever
                    : fail_on == "change" ? report::FailOn::kChange
                                          : report::FailOn::kRegression;
  request.missing_baseline = invocation.word("missing-baseline", kMissing);
  const std::string pairing = invocation.word("pairing", kPairings);
  if (pairing == "paired") request.options.pairing = report::Pairing::kPaired;
  if (pairing == "independent") request.options.pairing = report::Pairing::kIndependent;
  request.options.resamples =
      invocation.number("resamples", 100, 1'000'000, request.options.resamples);
  request.options.seed =
      static_cast<std::uint64_t>(invocation.number("bootstrap-seed", 0, 2'147'483'647, 1));
  request.options.gates = gates_of(invocation);
  const bool to_terminal = invocation.around.out_is_terminal &&
                           (!invocation.has("output") || invocation.text("output") == "-");
  request.color = use_color(invocation, to_terminal);
  return request;
}

int finish_comparison(const Invocation& invocation, const CompareRequest& request,
                      const report::Comparison& comparison, const Output& output) {
  const report::CompareSummary summary =
      report::summarize(comparison, request.fail_on, request.missing_baseline != "fail");
  output.write(text_of(request, comparison, summary));
  if (!invocation.has("quiet")) {
    if (request.missing_baseline == "warn")
      for (const std::string& name : comparison.missing_in_base)
        invocation.around.err << "warning: the base lacks variant " << name << '\n';
    // The text says so itself.
    if (summary.outcome != report::Outcome::kPass && request.format != "text")
      invocation.around.err << report::headline(summary) << '\n';
  }
  switch (summary.outcome) {
    case report::Outcome::kPass:
      return kSuccess;
    case report::Outcome::kFail:
      return kRegression;
    case report::Outcome::kInconclusive:
      return kInconclusive;
  }
  return kInconclusive;
}

int without_baseline(const Invocation& invocation, const CompareRequest& request,
                     const std::string& path) {
  const bool fails = request.missing_baseline == "fail";
  if (request.missing_baseline != "pass" && !(invocation.has("quiet") && !fails))
    invocation.around.err << (fails ? "INCONCLUSIVE: " : "warning: ") << "there is no base "
                          << config::printable(path, 400) << '\n';
  return fails ? kInconclusive : kSuccess;
}

}  // namespace idlesim::app

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "command.h"
#include "idlesim/experiment/scenario.h"
#include "idlesim/kernel/features.h"
#include "scenario_options.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;
using experiment::Scenario;
using experiment::Variant;

void add_options(po::options_description& options) {
  add_set_option(options);
  options.add_options()("variant", po::value<std::string>()->value_name("NAME"),
                        "the variant whose path is described; default the first");
}

void print_head(std::ostream& out, const Scenario& scenario, const Variant& variant) {
  const hw::MachineSpec& machine = variant.machine;
  out << scenario.name << '\n';
  if (!scenario.description.empty()) out << "  " << scenario.description << '\n';
  out << "  machine   " << machine.name << ": " << machine.description << '\n'
      << "  kernel    " << variant.kernel.name << " (" << variant.kernel.version
      << "), HZ=" << variant.kernel.hz << '\n'
      << "  platform  " << variant.platform << '\n'
      << "  workload  " << variant.workload->describe() << '\n'
      << "  runs      " << scenario.runs << " per variant, seed " << scenario.seed << '\n'
      << "  digest    " << scenario.digest << '\n';
}

void print_variants(std::ostream& out, const Scenario& scenario) {
  out << "\nvariants\n";
  for (const Variant& variant : scenario.variants) {
    out << "  " << variant.name;
    if (variant.changes.empty())
      out << (&variant == &scenario.variants.front() ? ": the others are compared with it"
                                                     : ": same settings as the first");
    for (const report::Change& change : variant.changes)
      out << "\n    " << change.path << "=" << change.to << " (was " << change.from << ')';
    out << '\n';
  }
}

void print_features(std::ostream& out, const Variant& variant) {
  out << "\nkernel features of " << variant.name << '\n';
  std::size_t width = 0;
  for (const kernel::FeatureAxis& axis : kernel::feature_axes())
    width = std::max(width, axis.name.size());
  std::size_t i = 0;
  for (const kernel::FeatureAxis& axis : kernel::feature_axes()) {
    const kernel::FeatureValue& value = axis.values[variant.config.features.value[i++]];
    out << fmt::format("  {:<{}} {:<15} {}\n", axis.name, width, value.name, value.description);
  }
}

void print_idle_states(std::ostream& out, const Variant& variant) {
  out << "\nidle states, shallowest first\n";
  for (const hw::IdleStateSpec& state : variant.machine.idle_states) {
    const auto& disabled = variant.config.disabled_states;
    const bool off = std::find(disabled.begin(), disabled.end(), state.name) != disabled.end();
    out << fmt::format(
        "  {:<8} entry {} ns, exit {} ns; the governor is told {} ns, worth it from "
        "{} ns{}\n",
        state.name, state.timing.entry.count_ns(), state.timing.exit.count_ns(),
        state.exit_latency.count_ns(), state.target_residency.count_ns(), off ? "; disabled" : "");
  }
}

std::string with_unit(const config::Decimal& number, const std::string& unit) {
  return unit.empty() ? number.text() : number.text() + " " + unit;
}

// Each number with where it comes from.
void print_parameters(std::ostream& out, const Variant& variant) {
  out << "\nparameters of " << variant.name << '\n';
  for (const config::Parameter& p : variant.parameters) {
    out << "  " << p.pointer << " = " << with_unit(p.value, p.unit) << "  ["
        << config::to_string(p.origin);
    if (p.range) out << ", " << p.range->low.text() << " to " << p.range->high.text();
    if (!p.fitted_to.empty()) out << ", fitted to " << p.fitted_to;
    out << (p.overridden ? ", overridden" : "") << "]\n    "
        << std::filesystem::path(p.file).filename().string() << ':' << p.line << ": " << p.source
        << '\n';
    if (!p.note.empty()) out << "    note: " << p.note << '\n';
  }
}

void print_path(std::ostream& out, const Variant& variant) {
  out << "\nmodelled path of " << variant.name
      << ": instructions and ns of straight-line code and privileged instructions on this "
         "machine;\n"
         "cache-line transfers and waiting come on top ('idlesim run' shows them by stage)\n";
  for (const workload::PathStep& step :
       variant.workload->explain({variant.machine, variant.kernel, variant.config})) {
    if (step.who.empty()) {
      out << "  " << step.text << '\n';
      continue;
    }
    const double ns = static_cast<double>(step.time.count_ps()) / 1000;
    out << fmt::format("    {:<7}{:>6} {:>9.1f}  {}\n", step.who,
                       step.instructions == 0 ? "" : fmt::format("{}", step.instructions), ns,
                       step.text);
  }
}

int run(const Invocation& invocation) {
  const Scenario scenario = load_scenario(invocation);
  const Variant& variant = find_variant(scenario, invocation.text("variant"));
  std::ostream& out = invocation.around.out;
  print_head(out, scenario, variant);
  print_variants(out, scenario);
  print_features(out, variant);
  print_idle_states(out, variant);
  print_path(out, variant);
  print_parameters(out, variant);
  out << "\nresolved configuration\n" << scenario.resolved_json;
  return kSuccess;
}

}  // namespace

const Command kExplainCommand = {
    "explain",
    "Shows what a scenario would simulate: settings, the origin of each number, the modelled path",
    "SCENARIO",
    1,
    1,
    "  idlesim explain ipistorm-epyc-milan\n"
    "  idlesim explain ipistorm-epyc-milan --variant sm-idle\n"
    "  idlesim explain ipistorm-epyc-milan --set machine.core.kernel_ipc=1.0\n",
    "Nothing is simulated. Exit codes: 0; 2 wrong arguments or files.\n",
    add_options,
    run};

}  // namespace idlesim::app

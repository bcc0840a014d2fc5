#include "scenario_options.h"

#include <algorithm>
#include <thread>

#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"

namespace idlesim::app {

namespace {

std::vector<experiment::Override> overrides_of(const Invocation& invocation) {
  std::vector<experiment::Override> overrides;
  if (invocation.has("set"))
    for (const std::string& text : invocation.options["set"].as<std::vector<std::string>>()) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0)
        throw UserError("--set: expected PATH=VALUE, found \"" + config::printable(text) + "\"");
      overrides.push_back(
          {text.substr(0, equals), text.substr(equals + 1), "--set " + config::printable(text)});
    }
  for (const char* option : {"runs", "seed"})
    if (invocation.has(option))
      overrides.push_back({option, invocation.text(option), std::string("--") + option});
  return overrides;
}

}  // namespace

experiment::Scenario load_scenario(const Invocation& invocation) {
  return experiment::load_scenario(experiment::find_config_paths(), invocation.operands.front(),
                                   overrides_of(invocation));
}

const experiment::Variant& find_variant(const experiment::Scenario& scenario,
                                        const std::string& name) {
  if (name.empty()) return scenario.variants.front();
  std::vector<std::string_view> names;
  for (const experiment::Variant& variant : scenario.variants) {
    if (variant.name == name) return variant;
    names.emplace_back(variant.name);
  }
  throw UserError("--variant: the scenario has no variant \"" + config::printable(name) + "\"" +
                  config::did_you_mean(name, names));
}

void add_jobs_option(boost::program_options::options_description& options) {
  options.add_options()("jobs,j", boost::program_options::value<std::string>()->value_name("N"),
                        "runs at a time; default the number of cores; changes no result");
}

int jobs_of(const Invocation& invocation) {
  const int cores = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  return invocation.number("jobs", 1, 1024, cores);
}

}  // namespace idlesim::app

// What the commands that work on a scenario have in common.
#ifndef IDLESIM_SRC_APP_SCENARIO_OPTIONS_H_
#define IDLESIM_SRC_APP_SCENARIO_OPTIONS_H_

#include <array>
#include <string_view>

#include "command.h"
#include "idlesim/experiment/scenario.h"

namespace idlesim::app {

inline constexpr std::array<std::string_view, 2> kFormats = {"text", "json"};

// The scenario that the first operand names, with --set, --runs and --seed. UserError lists every
// error of its files.
experiment::Scenario load_scenario(const Invocation& invocation);

// The variant of this name, the first if it is empty; UserError if there is none.
const experiment::Variant& find_variant(const experiment::Scenario& scenario,
                                        const std::string& name);

void add_jobs_option(boost::program_options::options_description& options);
// --jobs; by default the number of cores.
int jobs_of(const Invocation& invocation);

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_SCENARIO_OPTIONS_H_

// What `idlesim help` prints.
#ifndef IDLESIM_SRC_APP_HELP_H_
#define IDLESIM_SRC_APP_HELP_H_

#include <string>

#include "command.h"

namespace idlesim::app {

// All commands and topics.
std::string overview();

// Examples, usage, options, details.
std::string help_of(const Command& command);

// Of a command or a topic; UserError if there is neither.
std::string help_on(const std::string& name);

// The command's own options and --help.
boost::program_options::options_description options_of(const Command& command);

// "-n, --runs N" of an option.
std::string option_usage(const boost::program_options::option_description& option);

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_HELP_H_

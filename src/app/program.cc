// Finds the command, checks its options, prints help and errors.
#include "idlesim/app/program.h"

#include <algorithm>
#include <ostream>

#include "command.h"
#include "help.h"
#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;

std::string quoted(const std::string& text) { return "\"" + config::printable(text) + "\""; }

const Command& find_command(const std::string& name) {
  std::vector<std::string_view> names = {"help"};
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  throw UserError("unknown command " + quoted(name) + config::did_you_mean(name, names) +
                  "; 'idlesim help' lists the commands");
}

// --- arguments ---

[[noreturn]] void unknown_option(const Command& command, const std::string& option) {
  const std::string bare = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::vector<std::string> names;
  const po::options_description options = options_of(command);
  for (const auto& known : options.options()) names.push_back(known->long_name());
  const std::string near = config::nearest(bare.substr(0, bare.find('=')), names);
  throw UserError("unknown option " + quoted(option) +
                  (near.empty() ? "" : "; did you mean \"--" + near + "\"?") + " ('idlesim " +
                  command.name + " --help' lists the options)");
}

void check_operands(const Command& command, const std::vector<std::string>& operands) {
  const int found = static_cast<int>(operands.size());
  const std::string usage = std::string("usage: idlesim ") + command.name + " " + command.operands;
  if (found < command.fewest_operands) throw UserError("an argument is missing; " + usage);
  if (command.most_operands != kAnyNumber && found > command.most_operands)
    throw UserError("unexpected argument " +
                    quoted(operands[static_cast<std::size_t>(command.most_operands)]) + "; " +
                    usage);
}

Invocation parse(const Command& command, const std::vector<std::string>& arguments,
                 const Surroundings& around) {
  Invocation invocation{around, {"idlesim", command.name}, {}, {}};
  invocation.command_line.insert(invocation.command_line.end(), arguments.begin(), arguments.end());
  const po::options_description options = options_of(command);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const auto parsed = po::command_line_parser(arguments).options(options).style(style).run();
    for (const auto& option : parsed.options)
      if (option.position_key >= 0)
        invocation.operands.insert(invocation.operands.end(), option.value.begin(),
                                   option.value.end());
    po::store(parsed, invocation.options);
  } catch (const po::unknown_option& error) {
    unknown_option(command, error.get_option_name());
  } catch (const po::error& error) {
    throw UserError(error.what());
  }
  if (!invocation.has("help")) check_operands(command, invocation.operands);
  return invocation;
}

int dispatch(const std::vector<std::string>& arguments, const Surroundings& around) {
  if (arguments.empty()) {
    around.err << overview();
    return kUsage;
  }
  const std::string& name = arguments.front();
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (name == "help" || name == "--help" || name == "-h") {
    if (rest.empty() || name != "help")
      around.out << overview();
    else
      around.out << help_on(rest.front());
    return kSuccess;
  }
  const Command& command = find_command(name == "--version" ? "version" : name);
  const Invocation invocation = parse(command, rest, around);
  if (!invocation.has("help")) return command.run(invocation);
  around.out << help_of(command);
  return kSuccess;
}

// Each line of a UserError is one finding.
void print_errors(std::ostream& err, const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    err << "error: " << text.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
}

// What `git bisect run` understands; left alone are 0, 1 and the ends by a signal.
int bisect_code(int code) {
  if (code == kUsage) return kBisectAbort;
  if (code == kSimulation || code == kInconclusive) return kBisectSkip;
  return code;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  int code = kSuccess;
  try {
    code = dispatch(arguments, surroundings);
    surroundings.out.flush();
    if (!surroundings.out) throw UserError("cannot write to standard output");
  } catch (const UserError& error) {
    print_errors(surroundings.err, error.what());
    code = kUsage;
  } catch (const SimulationError& error) {
    surroundings.err << "simulation failed: " << error.what() << '\n';
    code = kSimulation;
  }
  surroundings.err.flush();
  // Asked of the words themselves: an argument that is wrong must not look like a bad commit.
  const bool bisect = std::find(arguments.begin(), arguments.end(), "--bisect") != arguments.end();
  return bisect ? bisect_code(code) : code;
}

}  // namespace idlesim::app

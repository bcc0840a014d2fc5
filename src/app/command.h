// A subcommand: what it is called, what it takes, what it does.
#ifndef IDLESIM_SRC_APP_COMMAND_H_
#define IDLESIM_SRC_APP_COMMAND_H_

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "idlesim/app/program.h"

namespace idlesim::app {

// The arguments of one command, checked against its options.
struct Invocation {
  const Surroundings& around;
  std::vector<std::string> command_line;  // as typed, with the program's name
  boost::program_options::variables_map options;
  std::vector<std::string> operands;

  bool has(const char* option) const { return options.count(option) != 0; }
  // The option's value, or `fallback`.
  std::string text(const char* option, const std::string& fallback = {}) const;
  // An integer from min to max; anything else is a UserError.
  int number(const char* option, int min, int max, int fallback) const;
  // One of `allowed`, by default the first of them; anything else is a UserError.
  std::string word(const char* option, std::span<const std::string_view> allowed) const;
};

inline constexpr int kAnyNumber = -1;

// The words that an option takes; "" for the operands.
struct OptionWords {
  const char* option;
  std::span<const std::string_view> words;
};

struct Command {
  const char* name;
  const char* summary;   // one line
  const char* operands;  // "SCENARIO"; "[NAME]"
  int fewest_operands;
  int most_operands;
  const char* examples;  // lines, shown first
  const char* details;   // lines; may be empty
  void (*add_options)(boost::program_options::options_description& options);
  int (*run)(const Invocation& invocation);
  std::span<const OptionWords> words = {};  // for completion
};

extern const Command kRunCommand;
extern const Command kCompareCommand;
extern const Command kExportCommand;
extern const Command kTraceCommand;
extern const Command kReproduceCommand;
extern const Command kExplainCommand;
extern const Command kListCommand;
extern const Command kValidateCommand;
extern const Command kSchemaCommand;
extern const Command kCompletionCommand;
extern const Command kVersionCommand;

// Every subcommand, in the order of the help.
std::span<const Command> commands();

// Options that several commands have.
void add_set_option(boost::program_options::options_description& options);
void add_format_option(boost::program_options::options_description& options);
void add_output_option(boost::program_options::options_description& options);

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_COMMAND_H_

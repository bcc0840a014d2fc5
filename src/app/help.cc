#include "help.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"
#include "topics.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;

// Breaks a description at spaces so that lines stay within 100 columns.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (column > indent && column + 1 + (end - begin) > 100) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(begin, end - begin);
    column += end - begin;
    begin = end + 1;
  }
  return out;
}

// "  NAME  what it is" for each.
template <typename Items>
std::string name_table(const Items& items, std::size_t width) {
  std::string out;
  for (const auto& item : items) {
    std::string name = item.name;
    name.resize(width + 2, ' ');
    out += "  " + name + item.summary + "\n";
  }
  return out;
}

}  // namespace

std::string overview() {
  std::string out =
      "idlesim simulates what happens between \"CPU A wants something from idle CPU B\" and \"B "
      "does it\".\n\n"
      "Examples:\n"
      "  idlesim run ipistorm-epyc-milan\n"
      "  idlesim run ipistorm-epyc-milan --set kernel.schedule_idle=sm_idle -n 3 -f json\n"
      "  idlesim list scenarios\n\n"
      "Commands:\n";
  std::size_t width = 0;
  for (const Command& command : commands())
    width = std::max(width, std::string(command.name).size());
  for (const Topic& topic : topics()) width = std::max(width, std::string(topic.name).size());
  out += name_table(commands(), width) + "\nTopics:\n" + name_table(topics(), width);
  return out + "\n'idlesim help NAME' says more about one of them.\n";
}

po::options_description options_of(const Command& command) {
  po::options_description options;
  if (command.add_options != nullptr) command.add_options(options);
  options.add_options()("help,h", "this text");
  return options;
}

std::string option_usage(const po::option_description& option) {
  const std::string with_dash =
      option.canonical_display_name(po::command_line_style::allow_dash_for_short);
  const std::string& name = option.long_name();
  const bool has_short = with_dash.size() == 2;
  std::string out = has_short ? with_dash + ", --" + name : "    --" + name;
  if (option.semantic()->max_tokens() > 0) out += " " + option.semantic()->name();
  return out;
}

std::string help_of(const Command& command) {
  std::string out = std::string(command.summary) + ".\n\nExamples:\n" + command.examples +
                    "\nUsage: idlesim " + command.name;
  if (*command.operands != '\0') out += std::string(" ") + command.operands;
  out += " [OPTIONS]\n";
  constexpr std::size_t kIndent = 30;
  const po::options_description options = options_of(command);
  for (const auto& option : options.options()) {
    std::string usage = "  " + option_usage(*option);
    usage.resize(std::max(kIndent, usage.size() + 2), ' ');
    out += usage + wrapped(option->description(), usage.size()) + "\n";
  }
  if (*command.details != '\0') out += std::string("\n") + command.details;
  return out;
}

std::string help_on(const std::string& name) {
  for (const Topic& topic : topics())
    if (name == topic.name) return std::string(topic.summary) + ".\n\n" + topic.text;
  for (const Command& command : commands())
    if (name == command.name) return help_of(command);
  std::vector<std::string_view> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  throw UserError("there is no command or topic \"" + config::printable(name) + "\"" +
                  config::did_you_mean(name, names) + "; 'idlesim help' lists them");
}

}  // namespace idlesim::app

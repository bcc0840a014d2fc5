#include "command.h"

#include <charconv>

#include "idlesim/base/check.h"
#include "idlesim/config/findings.h"
#include "idlesim/config/nearest.h"

namespace idlesim::app {

namespace po = boost::program_options;

std::string Invocation::text(const char* option, const std::string& fallback) const {
  return has(option) ? options[option].as<std::string>() : fallback;
}

int Invocation::number(const char* option, int min, int max, int fallback) const {
  if (!has(option)) return fallback;
  const std::string text = options[option].as<std::string>();
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max)
    throw UserError("--" + std::string(option) + ": expected an integer from " +
                    std::to_string(min) + " to " + std::to_string(max) + ", found \"" +
                    config::printable(text) + "\"");
  return value;
}

std::string Invocation::word(const char* option, std::span<const std::string_view> allowed) const {
  if (!has(option)) return std::string(allowed.front());
  const std::string text = options[option].as<std::string>();
  std::string list;
  for (const std::string_view one : allowed) {
    if (one == text) return text;
    list += (list.empty() ? "" : ", ") + std::string(one);
  }
  throw UserError("--" + std::string(option) + ": unknown value \"" + config::printable(text) +
                  "\"" + config::did_you_mean(text, allowed) + " (allowed: " + list + ")");
}

std::span<const Command> commands() {
  static const Command kCommands[] = {kRunCommand,        kCompareCommand,   kExportCommand,
                                      kTraceCommand,      kReproduceCommand, kExplainCommand,
                                      kListCommand,       kValidateCommand,  kSchemaCommand,
                                      kCompletionCommand, kVersionCommand};
  return kCommands;
}

void add_set_option(po::options_description& options) {
  options.add_options()("set", po::value<std::vector<std::string>>()->value_name("PATH=VALUE"),
                        "replace a value of the scenario, its kernel settings (kernel.*), its "
                        "workload (workload.parameters.*) or its machine (machine.*); repeatable");
}

void add_format_option(po::options_description& options) {
  options.add_options()("format,f", po::value<std::string>()->value_name("text|json"),
                        "what to print; default text");
}

void add_output_option(po::options_description& options) {
  options.add_options()("output,o", po::value<std::string>()->value_name("FILE"),
                        "write to FILE, all at once and only on success; - is standard output");
}

}  // namespace idlesim::app

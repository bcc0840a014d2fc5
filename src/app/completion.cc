#include "completion.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "command.h"
#include "idlesim/experiment/scenario.h"
#include "idlesim/kernel/features.h"
#include "topics.h"

namespace idlesim::app {

namespace {

namespace po = boost::program_options;
using Candidates = std::vector<Candidate>;

const Candidate kFiles = {":file", ""};

const Command* find_command(std::string_view name) {
  for (const Command& command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

const po::option_description* find_option(const po::options_description& options,
                                          std::string_view word) {
  for (const auto& option : options.options()) {
    const std::string short_name =
        option->canonical_display_name(po::command_line_style::allow_dash_for_short);
    if (word == "--" + option->long_name() || (short_name.size() == 2 && word == short_name))
      return option.get();
  }
  return nullptr;
}

Candidates words_of(const Command& command, std::string_view option) {
  Candidates out;
  for (const OptionWords& entry : command.words)
    if (option == entry.option)
      for (const std::string_view word : entry.words) out.push_back({std::string(word), ""});
  return out;
}

Candidates scenarios() {
  Candidates out = {kFiles};
  std::error_code error;
  const std::filesystem::path directory =
      std::filesystem::path(experiment::find_config_paths().root) / "scenarios";
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == ".json") out.push_back({entry.path().stem().string(), ""});
  std::sort(out.begin() + 1, out.end(),
            [](const Candidate& a, const Candidate& b) { return a.text < b.text; });
  return out;
}

// "kernel.AXIS=" or, once there is a =, "kernel.AXIS=VALUE".
Candidates settings(std::string_view current) {
  Candidates out;
  const bool wants_value = current.find('=') != current.npos;
  for (const kernel::FeatureAxis& axis : kernel::feature_axes()) {
    const std::string path = "kernel." + std::string(axis.name) + "=";
    if (!wants_value) {
      out.push_back({path, std::string(axis.description)});
      continue;
    }
    for (const kernel::FeatureValue& value : axis.values)
      out.push_back({path + std::string(value.name), std::string(value.description)});
  }
  return out;
}

Candidates values_of(const Command& command, const po::option_description& option,
                     std::string_view current) {
  const std::string& name = option.long_name();
  if (name == "set") return settings(current);
  if (option.semantic()->name() == "FILE") return {kFiles};
  return words_of(command, name);
}

Candidates options_of(const po::options_description& options) {
  Candidates out;
  for (const auto& option : options.options())
    out.push_back({"--" + option->long_name(), option->description()});
  return out;
}

Candidates operands_of(const Command& command) {
  const std::string_view operands = command.operands;
  if (operands == "SCENARIO") return scenarios();
  if (operands.find(".json") != operands.npos || operands.find("FILE") != operands.npos)
    return {kFiles};
  return words_of(command, "");
}

Candidates command_names() {
  Candidates out;
  for (const Command& command : commands()) out.push_back({command.name, command.summary});
  out.push_back({"help", "Explains a command or a topic"});
  return out;
}

Candidates all_candidates(const std::vector<std::string>& words) {
  if (words.size() < 2) return command_names();
  if (words.front() == "help") {
    Candidates out = command_names();
    for (const Topic& topic : topics()) out.push_back({topic.name, topic.summary});
    return out;
  }
  const Command* command = find_command(words.front());
  if (command == nullptr) return {};
  po::options_description options;
  if (command->add_options != nullptr) command->add_options(options);
  options.add_options()("help,h", "how to use the command");

  const std::string& current = words.back();
  const std::size_t equals = current.find('=');
  if (current.starts_with("--") && equals != current.npos) {
    const po::option_description* option = find_option(options, current.substr(0, equals));
    if (option == nullptr) return {};
    Candidates out = values_of(*command, *option, current.substr(equals + 1));
    for (Candidate& candidate : out)
      if (candidate.text != kFiles.text) candidate.text.insert(0, current.substr(0, equals + 1));
    return out;
  }
  const po::option_description* before = find_option(options, words[words.size() - 2]);
  if (before != nullptr && before->semantic()->max_tokens() > 0)
    return values_of(*command, *before, current);
  if (current.starts_with('-')) return options_of(options);
  return operands_of(*command);
}

}  // namespace

std::vector<Candidate> complete(const std::vector<std::string>& words) {
  Candidates out = all_candidates(words);
  const std::string current = words.empty() ? "" : words.back();
  std::erase_if(out, [&](const Candidate& candidate) {
    return candidate.text != kFiles.text && !candidate.text.starts_with(current);
  });
  return out;
}

}  // namespace idlesim::app

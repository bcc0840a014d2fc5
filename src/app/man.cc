#include "idlesim/app/man.h"

#include <string_view>

#include "help.h"
#include "topics.h"

namespace idlesim::app {

namespace {

// Text that scdoc shows as it is.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (c == '_' || c == '*' || c == '\\' || (begins_line && (c == '#' || c == '-' || c == '.')))
      out += '\\';
    out += c;
  }
  return out;
}

std::string literal(std::string_view lines) { return "```\n" + std::string(lines) + "```\n"; }

// Paragraphs as they are, indented lines as a literal block.
std::string paragraphs(std::string_view text) {
  std::string out;
  bool in_block = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool indented = line.starts_with("  ");
    // An empty line between indented ones belongs to the block.
    const bool goes_on = in_block && line.empty() && text.starts_with("  ");
    if (indented != in_block && !goes_on) out += "```\n";
    in_block = indented || goes_on;
    out += (in_block ? std::string(line) : plain(line)) + "\n";
  }
  return out + (in_block ? "```\n" : "");
}

std::string head(const std::string& name, int section, const std::string& summary) {
  return name + "(" + std::to_string(section) + ")\n\n# NAME\n\n" + name + " - " + plain(summary) +
         "\n\n";
}

ManPage command_page(const Command& command) {
  const std::string name = std::string("idlesim-") + command.name;
  std::string out = head(name, 1, command.summary);
  out += "# EXAMPLES\n\n" + literal(command.examples) + "\n# SYNOPSIS\n\n*idlesim " + command.name +
         "*";
  if (*command.operands != '\0') out += " " + plain(command.operands);
  out += " [OPTIONS]\n\n";
  if (*command.details != '\0') out += "# DESCRIPTION\n\n" + paragraphs(command.details) + "\n";
  out += "# OPTIONS\n\n";
  const auto options = options_of(command);
  for (const auto& option : options.options()) {
    std::string usage = option_usage(*option);
    usage.erase(0, usage.find_first_not_of(' '));
    out += "*" + plain(usage) + "*\n\t" + plain(option->description()) + "\n\n";
  }
  return {name + ".1", out + "# SEE ALSO\n\n*idlesim*(1)\n"};
}

ManPage topic_page(const Topic& topic) {
  const std::string name = std::string("idlesim-") + topic.name;
  return {name + ".7", head(name, 7, topic.summary) + "# DESCRIPTION\n\n" + paragraphs(topic.text) +
                           "\n# SEE ALSO\n\n*idlesim*(1)\n"};
}

ManPage main_page() {
  std::string out = head("idlesim", 1, "simulates idle CPUs and what wakes them, cycle by cycle");
  out += "# DESCRIPTION\n\n" + literal(overview()) + "\n# SEE ALSO\n\n";
  std::string all;
  for (const Command& command : commands())
    all += std::string(all.empty() ? "" : ", ") + "*idlesim-" + command.name + "*(1)";
  for (const Topic& topic : topics()) all += std::string(", *idlesim-") + topic.name + "*(7)";
  return {"idlesim.1", out + all + "\n"};
}

}  // namespace

std::vector<ManPage> man_pages() {
  std::vector<ManPage> pages = {main_page()};
  for (const Command& command : commands()) pages.push_back(command_page(command));
  for (const Topic& topic : topics()) pages.push_back(topic_page(topic));
  return pages;
}

}  // namespace idlesim::app

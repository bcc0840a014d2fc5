// Any bytes: the config layer either gives a document or throws UserError, and
//  - every error is one line with the file's name and a place inside the file;
//  - a document without errors, written resolved, reads back and gives the same text again.
// Input: the document; behind a byte 0xFF, lines "path=value" of overrides.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "idlesim/config/document.h"

namespace {

using namespace idlesim::config;
using namespace std::string_view_literals;

void require(bool condition) {
  if (!condition) std::abort();
}

// Reads with every getter; what is in the file decides which of them fit.
void read_everything(Reader in, int depth) {
  in.string("name");
  in.boolean_or("smt", false);
  in.integer("sockets", 1, 8);
  in.integers("list", -5, 5);
  in.enumeration("origin", std::array{"measured"sv, "assumed"sv});
  in.decimal("value");
  in.time("exit_latency_ns");
  in.frequency("core_mhz");
  in.parameter("p");
  in.parameter_time("transfer_ns");
  in.parameter_frequency("f_ghz");
  in.parameter_integer("entries", 1, 64);
  in.parameter_milli("ipc", 1, 8000);
  in.ignore("ignored");
  in.fail("name", "x");
  if (depth == 3) return;
  read_everything(in.object("core"), depth + 1);
  for (Reader element : in.optional_array("states")) read_everything(element, depth + 1);
  if (in.has("map"))
    for (auto& [key, value] : in.object("map").members()) read_everything(value, depth + 1);
}

// FILE:LINE:COLUMN: /pointer: message, or --set: /pointer: message.
void check_errors(std::string_view errors, std::string_view text) {
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  while (!errors.empty()) {
    const std::string_view line = errors.substr(0, errors.find('\n'));
    errors.remove_prefix(std::min(line.size() + 1, errors.size()));
    if (line.starts_with("... and ")) continue;
    std::string_view rest = line;
    if (line.starts_with("f.json:")) {
      char* end = nullptr;
      const std::string place(line.substr(7));
      const std::uint64_t number = std::strtoull(place.c_str(), &end, 10);
      require(number >= 1 && number <= lines && *end == ':');
      const std::uint64_t column = std::strtoull(end + 1, &end, 10);
      require(column >= 1 && column <= text.size() + 1);
      rest = std::string_view(line).substr(7 + static_cast<std::size_t>(end - place.c_str()));
    } else {
      require(line.starts_with("--set"));
      rest.remove_prefix(5);
    }
    require(rest.starts_with(": /"));
    for (const char c : line) require(static_cast<unsigned char>(c) >= 0x20);
  }
}

void override_all(Document& doc, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    doc.override_value(
        line.substr(0, equals), line.substr(std::min(equals + 1, line.size())),
        line.size() % 2 == 0 ? Document::Missing::kError : Document::Missing::kCreate);
  }
}

// Before root() is asked for, finish() knows the errors of parsing and overriding only.
bool has_errors(Document& doc) {
  Findings found;
  doc.finish(found);
  return !found.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(0, input.find('\xFF'));
  try {
    Document doc = parse_text(text, "f.json");
    override_all(doc, input.substr(std::min(text.size() + 1, input.size())));
    if (!has_errors(doc)) {
      const std::string resolved = doc.resolved_json();
      Document again = parse_text(resolved, "f.json");
      require(!has_errors(again));
      require(again.resolved_json() == resolved);
    }
    read_everything(doc.root(), 0);
    doc.finish();
  } catch (const idlesim::UserError& error) {
    check_errors(error.what(), text);
  }
  return 0;
}

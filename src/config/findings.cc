#include "idlesim/config/findings.h"

#include <algorithm>
#include <utility>

#include "utf8.h"

namespace idlesim::config {
namespace {

constexpr std::size_t kMostShown = 200;

}  // namespace

std::string Finding::text() const {
  std::string out = printable(file, 4096);
  if (line > 0) out += ":" + std::to_string(line) + ":" + std::to_string(column);
  out += ": " + (pointer.empty() ? "/" : printable(pointer, 400)) + ": " + message;
  return out;
}

void Findings::add(Finding finding) { lines_.push_back(finding.text()); }

void Findings::add(const UserError& error) {
  std::string_view rest = error.what();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines_.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::string Findings::text() const {
  std::string out;
  const std::size_t shown = std::min(lines_.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : "\n") + lines_[i];
  if (shown < lines_.size())
    out += "\n... and " + std::to_string(lines_.size() - shown) + " more errors";
  return out;
}

void Findings::throw_if_any() const {
  if (!empty()) throw UserError(text());
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (out.size() + length > limit) return out + "...";
    const auto byte = static_cast<unsigned char>(text.front());
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace idlesim::config

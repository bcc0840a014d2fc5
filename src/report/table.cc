#include "table.h"

#include <algorithm>

#include "idlesim/base/check.h"

namespace idlesim::report {

namespace {

void strip_trailing_spaces(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string styled(std::string_view text, Style style, bool color) {
  std::string_view code;
  switch (style) {
    case Style::kPlain:
      break;
    case Style::kBold:
      code = "\033[1m";
      break;
    case Style::kGood:
      code = "\033[32m";
      break;
    case Style::kBad:
      code = "\033[31m";
      break;
    case Style::kDim:
      code = "\033[2m";
      break;
  }
  if (!color || code.empty()) return std::string(text);
  return std::string(code) + std::string(text) + "\033[0m";
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t used = 0;
  const std::string margin(indent, ' ');
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (used > 0 && indent + used + 1 + display_width(word) > width) {
      result += '\n' + margin;
      used = 0;
    } else if (used > 0) {
      result += ' ';
      ++used;
    }
    result += word;
    used += display_width(word);
  }
  return result;
}

void Table::add_column(std::string header, Align align, int priority_to_drop) {
  const std::size_t width = display_width(header);
  columns_.push_back({std::move(header), align, priority_to_drop, width});
}

void Table::add_row(std::vector<Cell> cells) {
  CHECK(cells.size() == columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    columns_[i].width = std::max(columns_[i].width, display_width(cells[i].text));
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::columns_that_fit(std::size_t indent) const {
  std::vector<std::size_t> kept;
  std::size_t width = indent;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    width += columns_[i].width + (i == 0 ? 0 : 2);
    kept.push_back(i);
  }
  while (width > kTextWidth) {
    const auto next = std::max_element(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) {
      return columns_[a].priority_to_drop < columns_[b].priority_to_drop;
    });
    if (columns_[*next].priority_to_drop == 0) break;
    width -= columns_[*next].width + 2;
    kept.erase(next);
  }
  return kept;
}

std::string Table::render(std::size_t indent, bool color) const {
  const std::vector<std::size_t> kept = columns_that_fit(indent);
  const auto line_of = [&](auto cell_of) {
    std::string line(indent, ' ');
    for (std::size_t i : kept) {
      if (i != kept.front()) line += "  ";
      const Cell cell = cell_of(i);
      const std::string padding(columns_[i].width - display_width(cell.text), ' ');
      const std::string text = styled(cell.text, cell.style, color);
      line += columns_[i].align == Align::kLeft ? text + padding : padding + text;
    }
    strip_trailing_spaces(line);
    return line + '\n';
  };
  std::string out = line_of([&](std::size_t i) { return Cell{columns_[i].header, Style::kDim}; });
  for (const std::vector<Cell>& row : rows_) out += line_of([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace idlesim::report

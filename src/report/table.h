// Plain text tables: columns as wide as their widest cell, two spaces between them.
#ifndef IDLESIM_SRC_REPORT_TABLE_H_
#define IDLESIM_SRC_REPORT_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace idlesim::report {

inline constexpr std::size_t kTextWidth = 100;

enum class Style { kPlain, kBold, kGood, kBad, kDim };

// `text` with the terminal's codes around it if `color`.
std::string styled(std::string_view text, Style style, bool color);

// Characters of UTF-8 text (code points).
std::size_t display_width(std::string_view text);

// Lines of at most `width` characters, broken at spaces; each but the first is indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width = kTextWidth);

struct Cell {
  std::string text;
  Style style = Style::kPlain;
};

class Table {
 public:
  enum class Align { kLeft, kRight };

  // Columns with a higher `priority_to_drop` go first when the table is too wide; 0 stays always.
  void add_column(std::string header, Align align = Align::kRight, int priority_to_drop = 0);
  // As many cells as columns.
  void add_row(std::vector<Cell> cells);

  // Ends with a newline; every line is indented by `indent` spaces.
  std::string render(std::size_t indent, bool color) const;

 private:
  struct Column {
    std::string header;
    Align align = Align::kRight;
    int priority_to_drop = 0;
    std::size_t width = 0;
  };
  std::vector<std::size_t> columns_that_fit(std::size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_TABLE_H_

// Errors in the user's files, collected so that all of them are shown at once.
#ifndef IDLESIM_CONFIG_FINDINGS_H_
#define IDLESIM_CONFIG_FINDINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "idlesim/base/check.h"

namespace idlesim::config {

// One error. Shown as `FILE:LINE:COLUMN: /json/pointer: message`; a value from the command line has
// line 0 and is shown as `FILE: /json/pointer: message`. The root's pointer is shown as "/".
struct Finding {
  std::string file;
  int line = 0;    // 1-based
  int column = 0;  // 1-based, in characters
  std::string pointer;
  std::string message;

  std::string text() const;
  bool operator==(const Finding&) const = default;
};

// The findings of several documents, in the order in which they were added.
class Findings {
 public:
  void add(Finding finding);
  // The findings of a file that could not be parsed: each line of error.what().
  void add(const UserError& error);
  bool empty() const { return lines_.empty(); }
  // One finding a line; after the first 200 only their number is given.
  std::string text() const;
  // Throws UserError(text()) unless empty.
  void throw_if_any() const;

 private:
  std::vector<std::string> lines_;
};

// `text` made fit for one line of a message: control characters and invalid UTF-8 escaped, cut
// after `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace idlesim::config

#endif  // IDLESIM_CONFIG_FINDINGS_H_

// What could stand where the cursor is, for the shells' completion scripts.
#ifndef IDLESIM_SRC_APP_COMPLETION_H_
#define IDLESIM_SRC_APP_COMPLETION_H_

#include <string>
#include <vector>

namespace idlesim::app {

struct Candidate {
  std::string text;  // ":file" asks the shell for the names of files
  std::string description;
};

// Candidates for the last of `words`, which may be empty; the program's name is not among them.
// From the tables of commands and options, the shipped files and the kernel's features.
std::vector<Candidate> complete(const std::vector<std::string>& words);

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_COMPLETION_H_

// Where a command's data goes, and whether it is coloured.
#ifndef IDLESIM_SRC_APP_OUTPUT_H_
#define IDLESIM_SRC_APP_OUTPUT_H_

#include <array>
#include <string>
#include <string_view>

#include "command.h"

namespace idlesim::app {

// A file that appears with all of its contents or not at all, or standard output. The destination
// is tried when the object is made, before anything is simulated. Errors are UserErrors.
class Output {
 public:
  // Takes --output, or another option that names a file; without it, or with "-", standard output.
  explicit Output(const Invocation& invocation, const char* option = "output");

  bool is_terminal() const;
  void write(std::string_view text) const;

 private:
  const Surroundings& around_;
  const char* option_;
  std::string path_;  // empty: standard output
};

// --color, then NO_COLOR, then FORCE_COLOR or CLICOLOR_FORCE, then whether the text goes to a
// terminal that is not "dumb". An environment variable counts if it is not empty.
bool use_color(const Invocation& invocation, bool to_terminal);

inline constexpr std::array<std::string_view, 3> kColorWords = {"auto", "always", "never"};

void add_color_option(boost::program_options::options_description& options);

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_OUTPUT_H_

// The manual pages, made of the same tables as the help, in the format of scdoc(5).
#ifndef IDLESIM_APP_MAN_H_
#define IDLESIM_APP_MAN_H_

#include <string>
#include <vector>

namespace idlesim::app {

struct ManPage {
  std::string file;  // "idlesim-run.1"
  std::string text;
};

// idlesim(1), a page for each command in section 1 and for each topic in section 7.
std::vector<ManPage> man_pages();

}  // namespace idlesim::app

#endif  // IDLESIM_APP_MAN_H_

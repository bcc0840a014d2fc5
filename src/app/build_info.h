// What this program was built from.
#ifndef IDLESIM_SRC_APP_BUILD_INFO_H_
#define IDLESIM_SRC_APP_BUILD_INFO_H_

#include <string_view>

namespace idlesim::app {

struct BuildInfo {
  std::string_view version;
  std::string_view commit;    // "unknown" outside a checkout; ends in "-dirty" with local changes
  std::string_view compiler;  // "GNU 12.2.0"
  std::string_view flags;
};

const BuildInfo& build_info();

}  // namespace idlesim::app

#endif  // IDLESIM_SRC_APP_BUILD_INFO_H_

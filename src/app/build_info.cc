#include "build_info.h"

#include "idlesim_version.h"

namespace idlesim::app {

const BuildInfo& build_info() {
  static constexpr BuildInfo kInfo{IDLESIM_VERSION, IDLESIM_COMMIT, IDLESIM_COMPILER,
                                   IDLESIM_FLAGS};
  return kInfo;
}

}  // namespace idlesim::app

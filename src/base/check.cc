#include "idlesim/base/check.h"

namespace idlesim {

void check_failed(const char* expression, const std::string& why, const char* file, int line,
                  const char* function) {
  std::string message = std::string(file) + ":" + std::to_string(line) + ": " + function +
                        ": CHECK(" + expression + ") failed";
  if (!why.empty()) message += ": " + why;
  throw SimulationError(message);
}

}  // namespace idlesim

#include "idlesim/base/check.h"

namespace idlesim {

void check_failed(const char* expression, const std::string& why, std::source_location where) {
  std::string message = std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                        ": " + where.function_name() + ": CHECK(" + expression + ") failed";
  if (!why.empty()) message += ": " + why;
  throw SimulationError(message);
}

}  // namespace idlesim

#include "idlesim/report/schemas.h"

#include <string>

namespace idlesim::report {

const EmbeddedSchema* find_schema(std::string_view name) {
  const EmbeddedSchema* newest = nullptr;
  const std::string unversioned = std::string(name) + "-v";
  for (const EmbeddedSchema& schema : embedded_schemas()) {
    if (schema.name == name) return &schema;
    // One-digit versions sort as numbers.
    if (schema.name.starts_with(unversioned)) newest = &schema;
  }
  return newest;
}

}  // namespace idlesim::report

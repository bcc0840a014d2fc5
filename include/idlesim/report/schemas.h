// The JSON Schemas of every format idlesim reads or writes (sim-configs/schemas), built into the
// program.
#ifndef IDLESIM_REPORT_SCHEMAS_H_
#define IDLESIM_REPORT_SCHEMAS_H_

#include <span>
#include <string_view>

namespace idlesim::report {

struct EmbeddedSchema {
  std::string_view name;  // with its version: "report-v1"
  std::string_view text;  // the file, byte for byte
};

// Sorted by name.
std::span<const EmbeddedSchema> embedded_schemas();

// By its name, or without the version ("report"), which means the newest. Null if there is none.
const EmbeddedSchema* find_schema(std::string_view name);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_SCHEMAS_H_

// The JSON form of a report, schema version 1: sim-configs/schemas/report-v1.schema.json.
#ifndef IDLESIM_REPORT_JSON_H_
#define IDLESIM_REPORT_JSON_H_

#include <string>
#include <string_view>

#include "idlesim/report/report.h"

namespace idlesim::report {

// The same bytes for the same report on every host. Ends with a newline.
std::string to_json(const Report& report);

// Reads what to_json wrote; unknown keys are passed over, as later versions of idlesim may add
// some. `name` stands for the text in error messages. Throws UserError if the text is no report, or
// one of a newer schema version.
Report parse_report(std::string_view text, const std::string& name);

// The same for a file; "-" is standard input.
Report read_report(const std::string& path);

}  // namespace idlesim::report

#endif  // IDLESIM_REPORT_JSON_H_

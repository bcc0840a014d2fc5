// Numbers and raw documents in the report layer's JSON.
#ifndef IDLESIM_SRC_REPORT_JSON_NUMBERS_H_
#define IDLESIM_SRC_REPORT_JSON_NUMBERS_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "idlesim/config/json_writer.h"
#include "idlesim/report/statistics.h"

namespace idlesim::report {

// In plain decimal notation (1000000, not 1e+06) with the fewest digits that give the same double.
void write_number(config::JsonWriter& out, double number);
void write_number(config::JsonWriter& out, const std::optional<double>& number);
// [low, high] or null.
void write_interval(config::JsonWriter& out, const std::optional<Interval>& interval);
// A parsed document, members in its own order.
void write_document(config::JsonWriter& out, const nlohmann::ordered_json& document);

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_JSON_NUMBERS_H_

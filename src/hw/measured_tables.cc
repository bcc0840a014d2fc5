#include "idlesim/hw/measured_tables.h"

#include <map>
#include <string_view>
#include <utility>

#include "idlesim/hw/csv.h"

namespace idlesim::hw {

namespace {

std::optional<MlcLatency> parse_mlc(std::string_view text, const std::string& path, int line) {
  if (text == "-") return std::nullopt;
  MlcLatency latency;
  if (const std::size_t open = text.find(" ("); open != std::string_view::npos) {
    if (text.back() != ')') input_error(path, line, "a condition must end with a bracket");
    latency.condition = text.substr(open + 2, text.size() - open - 3);
    text = text.substr(0, open);
  }
  const std::size_t dash = text.find('-');
  latency.low = parse_ns(text.substr(0, dash), path, line);
  latency.high =
      dash == std::string_view::npos ? latency.low : parse_ns(text.substr(dash + 1), path, line);
  if (latency.low > latency.high) input_error(path, line, "a range must not decrease");
  return latency;
}

Time parse_us(std::string_view text, const std::string& path, int line) {
  return Time::ns(parse_thousandths(text, path, line));
}

}  // namespace

std::vector<ContentionPoint> read_contention(const std::string& path) {
  struct Sum {
    Time total;
    int trials = 0;
  };
  std::map<std::pair<std::string, int>, Sum> sums;
  for (const CsvRow& row :
       read_csv(path, {"Trial", "Cores", "Implementation", "Nanos/Op", "Total", "Rlen"})) {
    const int threads = parse_count(row.fields[1], path, row.line);
    if (threads == 0) input_error(path, row.line, "0 threads");
    Sum& sum = sums[{row.fields[2], threads}];
    sum.total += parse_ns(row.fields[3], path, row.line);
    ++sum.trials;
  }
  std::vector<ContentionPoint> points;
  for (const auto& [key, sum] : sums)
    points.push_back({key.first, key.second, sum.trials, sum.total / sum.trials});
  return points;
}

std::vector<MlcRow> read_mlc(const std::string& path) {
  std::vector<MlcRow> table;
  for (const CsvRow& row : read_csv(
           path, {"machine", "dram_local_ns", "dram_remote_ns", "l2_l2_hit_ns", "l2_l2_hitm_ns",
                  "remote_hitm_home_writer_ns", "remote_hitm_home_reader_ns", "source"})) {
    const auto latency = [&](std::size_t field) {
      return parse_mlc(row.fields[field], path, row.line);
    };
    table.push_back({row.fields[0], latency(1), latency(2), latency(3), latency(4), latency(5),
                     latency(6), row.fields[7]});
  }
  return table;
}

std::vector<CpuidleRow> read_cpuidle_tables(const std::string& path) {
  std::vector<CpuidleRow> table;
  for (const CsvRow& row : read_csv(path, {"machine", "driver", "state", "exit_latency_us",
                                           "target_residency_us", "source"})) {
    CpuidleRow state;
    state.machine = row.fields[0];
    state.driver = row.fields[1];
    state.state = row.fields[2];
    state.exit_latency = parse_us(row.fields[3], path, row.line);
    if (!row.fields[4].empty()) state.target_residency = parse_us(row.fields[4], path, row.line);
    state.source = row.fields[5];
    if (state.source == "same") {
      if (table.empty()) input_error(path, row.line, "\"same\" refers to no row");
      state.source = table.back().source;
    }
    table.push_back(std::move(state));
  }
  return table;
}

}  // namespace idlesim::hw

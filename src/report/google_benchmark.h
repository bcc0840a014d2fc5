// The JSON of google-benchmark: what its own compare.py and everything that reads it needs.
#ifndef IDLESIM_SRC_REPORT_GOOGLE_BENCHMARK_H_
#define IDLESIM_SRC_REPORT_GOOGLE_BENCHMARK_H_

#include <span>
#include <string>
#include <string_view>

#include "idlesim/config/json_writer.h"

namespace idlesim::report {

class GoogleBenchmark {
 public:
  explicit GoogleBenchmark(std::string_view version);
  // The runs of a metric as repetitions of a benchmark. The format has times only: other units are
  // passed over.
  void add(const std::string& name, std::string_view unit, std::span<const double> values);
  std::string take();

 private:
  config::JsonWriter out_;
  int family_ = 0;
};

}  // namespace idlesim::report

#endif  // IDLESIM_SRC_REPORT_GOOGLE_BENCHMARK_H_

#include "google_benchmark.h"

#include "json_numbers.h"

namespace idlesim::report {

GoogleBenchmark::GoogleBenchmark(std::string_view version) {
  out_.begin_object();
  out_.key("context").begin_object();
  out_.member("executable", "idlesim");
  out_.member("library_version", version);
  out_.member("library_build_type", "release");
  out_.member("json_schema_version", 1);
  out_.end_object();
  out_.key("benchmarks").begin_array();
}

void GoogleBenchmark::add(const std::string& name, std::string_view unit,
                          std::span<const double> values) {
  if (unit != "ns") return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out_.begin_object();
    out_.member("name", name);
    out_.member("family_index", family_);
    out_.member("per_family_instance_index", 0);
    out_.member("run_name", name);
    out_.member("run_type", "iteration");
    out_.member("repetitions", values.size());
    out_.member("repetition_index", i);
    out_.member("threads", 1);
    out_.member("iterations", 1);
    for (const char* key : {"real_time", "cpu_time"}) {
      out_.key(key);
      write_number(out_, values[i]);
    }
    out_.member("time_unit", "ns");
    out_.end_object();
  }
  if (!values.empty()) ++family_;
}

std::string GoogleBenchmark::take() {
  out_.end_array();
  out_.end_object();
  return out_.take();
}

}  // namespace idlesim::report

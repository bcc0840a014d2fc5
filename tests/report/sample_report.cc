#include "report/sample_report.h"

#include <initializer_list>

#include "idlesim/report/metric_builder.h"

namespace idlesim::report {

namespace {

using Runs = std::initializer_list<std::initializer_list<std::int64_t>>;

Metric metric(const MetricSpec& spec, Runs runs) {
  MetricBuilder builder(spec);
  for (const auto& run : runs) {
    Histogram samples;
    for (std::int64_t value : run) samples.record(value);
    builder.add_run(samples);
  }
  return builder.build();
}

Variant baseline() {
  Variant variant;
  variant.name = "baseline";
  variant.kernel = "linux-6.10";
  variant.runs = 3;
  variant.machine = "epyc-milan-2s";
  variant.platform = "bare-metal";
  variant.metrics = {
      metric(MetricSpec::time("run_time_ns"),
             {{52'000'000'000}, {51'000'000'000}, {53'500'000'000}}),
      metric(MetricSpec::time("call_round_trip_ns"),
             {{520'000, 521'500, 519'000}, {510'125, 515'000}, {530'000, 540'000, 535'001}}),
      metric({"throughput", "calls/s", Better::kHigher, 1},
             {{1'900'000}, {1'950'000}, {1'870'000}}),
  };
  variant.counters = {{"ipis_sent", 150'000}, {"ipis_elided", 150'001}, {"schedule_idle", 150'001}};
  variant.regimes = {{"alternating", 2.0 / 3, "real and elided IPIs take turns"},
                     {"all_real", 1.0 / 3, "every call sends an IPI"}};
  variant.stages = {{"queue_push", 41.5, 55.125, 0.08}, {"schedule_idle", 300, 1250.5, 0.577}};
  return variant;
}

Variant notify() {
  Variant variant = baseline();
  variant.name = "notify";
  variant.changes = {{"kernel.wake_queue", "csq", "csq_notify"},
                     {"kernel.schedule_idle", "full", "conditional"}};
  variant.metrics = {
      metric(MetricSpec::time("run_time_ns"),
             {{24'000'000'000}, {24'100'000'000}, {23'900'000'000}}),
      metric(MetricSpec::time("call_round_trip_ns"),
             {{240'000, 241'500, 239'000}, {}, {240'500, 240'500, 240'500}}),
      metric({"throughput", "calls/s", Better::kHigher, 1},
             {{1'910'000}, {1'900'000}, {1'890'000}}),
      metric(MetricSpec::time("ipi_delivery_ns"), {{}, {812'000}, {}}),
  };
  variant.counters = {{"ipis_sent", 3}, {"ipis_elided", 299'998}, {"schedule_idle", 0}};
  variant.regimes = {{"polling", 1, "every call finds the target polling"}};
  variant.stages = {{"queue_push", 41.5, 55.125, 0.173}, {"notify_check", 12.25, 14, 0.051}};
  return variant;
}

}  // namespace

Report sample_report() {
  Report report;
  report.manifest = {
      "0.1.0",
      "0123456789ab",
      1,
      1,
      3,
      {"g++ 12.2.0", "-O2", {"idlesim", "run", "x.json"}, "host", "2025-11-30T12:00:00Z", 1.5, 2}};
  report.warnings = {"socket 1 is a copy of socket 0"};
  report.scenario = {
      "ipistorm-example", "One CPU calls another, 100,000 times.",
      "ipistorm numipi=100000 single=1 offset=8 cpulist=8 wait=1", "sha256:" + std::string(64, 'a'),
      R"({"name":"ipistorm-example","runs":3,"kernel_ipc":1.25,"big":250000,"list":[1,"a",null,true]})"};
  report.variants = {baseline(), notify()};
  return report;
}

}  // namespace idlesim::report

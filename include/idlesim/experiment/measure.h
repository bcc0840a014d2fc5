// What one run measured, gathered from trace events.
#ifndef IDLESIM_EXPERIMENT_MEASURE_H_
#define IDLESIM_EXPERIMENT_MEASURE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/report/histogram.h"
#include "idlesim/report/report.h"
#include "idlesim/trace/trace.h"
#include "idlesim/workload/workload.h"

namespace idlesim::experiment {

// Parts of a synchronous call, in order; they add up to its round trip.
enum class CallStage : std::uint8_t { kQueue, kSignal, kWake, kReturn };
inline constexpr std::size_t kCallStages = 4;

struct Measurement {
  report::Histogram run_time;
  report::Histogram call_round_trip;
  report::Histogram ipi_delivery;
  report::Histogram elided_wake;
  report::Histogram poll_overshoot;  // of poll_idle() over its time limit
  std::array<report::Histogram, kCallStages> call_stages;
  std::uint64_t calls = 0;
  std::uint64_t calls_elided = 0;
  std::uint64_t calls_ipi = 0;
  std::uint64_t ipis_sent = 0;
  std::uint64_t ipis_elided = 0;
  std::uint64_t schedule_idle = 0;
  std::uint64_t schedule_idle_nothing = 0;
  std::uint64_t newidle_walks = 0;
  std::uint64_t newidle_cpus_read = 0;
  std::uint64_t polls = 0;
  std::uint64_t polls_timed_out = 0;
  std::array<std::uint64_t, 3> interrupts{};     // by trace::Context
  std::vector<std::uint64_t> line_transfers;     // by line name
  std::vector<report::Histogram> samples;        // by the workload's metric
  std::vector<workload::CounterValue> counters;  // the workload's own
};

// Listens to one run. Measures from the first call on, not the boot.
class Meter final : public trace::Listener {
 public:
  Meter(Measurement& result, int nr_cpus);

  std::uint32_t wants() const override;
  void on(const trace::LineTransfer& event) override;
  void on(const trace::IpiSent& event) override;
  void on(const trace::IpiElided& event) override;
  void on(const trace::InterruptTaken& event) override;
  void on(const trace::CallDone& event) override;
  void on(const trace::CallStarted& event) override;
  void on(const trace::ScheduleIdle& event) override;
  void on(const trace::Sample& event) override;
  void on(const trace::PollDone& event) override;

 private:
  Measurement& result_;
  std::vector<Time> sent_;  // last call-function IPI to each CPU
};

// Puts the finished runs of a variant together, in run order. `own` are the workload's metrics.
void assemble(const std::vector<const Measurement*>& runs, const std::vector<std::string>& lines,
              const std::vector<workload::MetricInfo>& own, report::Variant& variant);

}  // namespace idlesim::experiment

#endif  // IDLESIM_EXPERIMENT_MEASURE_H_

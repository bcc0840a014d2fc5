#include "idlesim/experiment/measure.h"

#include "idlesim/hw/interrupt.h"
#include "idlesim/report/metric_builder.h"

namespace idlesim::experiment {

namespace {

bool is_call_vector(std::uint8_t vector) {
  return vector == static_cast<std::uint8_t>(hw::Vector::kCallFunction) ||
         vector == static_cast<std::uint8_t>(hw::Vector::kCallFunctionSingle);
}

}  // namespace

Meter::Meter(Measurement& result, int nr_cpus)
    : result_(result), sent_(static_cast<std::size_t>(nr_cpus), Time::never()) {}

std::uint32_t Meter::wants() const {
  return trace::kinds<trace::LineTransfer, trace::IpiSent, trace::IpiElided, trace::InterruptTaken,
                      trace::CallDone, trace::CallStarted, trace::ScheduleIdle, trace::Sample,
                      trace::PollDone>();
}

void Meter::on(const trace::LineTransfer& event) {
  if (event.line >= result_.line_transfers.size()) result_.line_transfers.resize(event.line + 1u);
  ++result_.line_transfers[event.line];
}

void Meter::on(const trace::IpiSent& event) {
  ++result_.ipis_sent;
  if (is_call_vector(event.vector)) sent_[static_cast<std::size_t>(event.to)] = event.time;
}

void Meter::on(const trace::IpiElided&) { ++result_.ipis_elided; }

void Meter::on(const trace::InterruptTaken& event) {
  ++result_.interrupts[static_cast<std::size_t>(event.context)];
  Time& sent = sent_[static_cast<std::size_t>(event.cpu)];
  if (!is_call_vector(event.vector) || sent == Time::never()) return;
  result_.ipi_delivery.record((event.time - sent).count_ps());
  sent = Time::never();
}

void Meter::on(const trace::CallStarted& event) {
  if (event.elided) result_.elided_wake.record((event.time - event.signalled).count_ps());
}

void Meter::on(const trace::CallDone& event) {
  ++result_.calls;
  result_.calls_elided += event.elided ? 1 : 0;
  result_.calls_ipi += event.ipi ? 1 : 0;
  result_.call_round_trip.record((event.returned - event.issued).count_ps());
  if (event.started == Time::never()) return;
  const auto stage = [this](CallStage which, Time time) {
    result_.call_stages[static_cast<std::size_t>(which)].record(time.count_ps());
  };
  stage(CallStage::kQueue, event.queued - event.issued);
  stage(CallStage::kSignal, event.signalled - event.queued);
  stage(CallStage::kWake, event.started - event.signalled);
  stage(CallStage::kReturn, event.returned - event.started);
}

void Meter::on(const trace::ScheduleIdle& event) {
  ++result_.schedule_idle;
  result_.schedule_idle_nothing += event.nothing_to_run ? 1 : 0;
  result_.newidle_walks += event.cpus_walked > 0 ? 1 : 0;
  result_.newidle_cpus_read += event.cpus_walked;
}

void Meter::on(const trace::Sample& event) {
  if (event.metric >= result_.samples.size()) result_.samples.resize(event.metric + 1u);
  result_.samples[event.metric].record(event.value, event.count);
}

void Meter::on(const trace::PollDone& event) {
  ++result_.polls;
  if (!event.timed_out) return;
  ++result_.polls_timed_out;
  result_.poll_overshoot.record((event.time - event.limit).count_ps());
}

// --- putting runs together ---

namespace {

using Runs = std::vector<const Measurement*>;

void add_metric(const Runs& runs, const char* id, report::Histogram Measurement::*samples,
                report::Variant& variant) {
  report::MetricBuilder builder(report::MetricSpec::time(id));
  for (const Measurement* run : runs) builder.add_run(run->*samples);
  if (!builder.pooled().empty()) variant.metrics.push_back(builder.build());
}

void add_counter(const Runs& runs, const std::string& name, std::uint64_t Measurement::*count,
                 report::Variant& variant) {
  std::int64_t sum = 0;
  for (const Measurement* run : runs) sum += static_cast<std::int64_t>(run->*count);
  variant.counters.push_back({name, sum});
}

void add_counters(const Runs& runs, const std::vector<std::string>& lines,
                  report::Variant& variant) {
  add_counter(runs, "calls", &Measurement::calls, variant);
  add_counter(runs, "calls_elided", &Measurement::calls_elided, variant);
  add_counter(runs, "calls_by_ipi", &Measurement::calls_ipi, variant);
  add_counter(runs, "ipis_sent", &Measurement::ipis_sent, variant);
  add_counter(runs, "ipis_elided", &Measurement::ipis_elided, variant);
  add_counter(runs, "schedule_idle", &Measurement::schedule_idle, variant);
  add_counter(runs, "schedule_idle_nothing_to_run", &Measurement::schedule_idle_nothing, variant);
  add_counter(runs, "newidle_walks", &Measurement::newidle_walks, variant);
  add_counter(runs, "newidle_cpus_read", &Measurement::newidle_cpus_read, variant);
  std::uint64_t polls = 0;
  for (const Measurement* run : runs) polls += run->polls;
  if (polls > 0) {
    add_counter(runs, "polls", &Measurement::polls, variant);
    add_counter(runs, "polls_timed_out", &Measurement::polls_timed_out, variant);
  }
  constexpr const char* kContexts[] = {"interrupts_elsewhere", "interrupts_in_idle",
                                       "interrupts_in_schedule_idle"};
  for (std::size_t context = 0; context < 3; ++context) {
    std::int64_t sum = 0;
    for (const Measurement* run : runs) sum += static_cast<std::int64_t>(run->interrupts[context]);
    variant.counters.push_back({kContexts[context], sum});
  }
  for (std::size_t line = 0; line < lines.size(); ++line) {
    std::int64_t sum = 0;
    for (const Measurement* run : runs)
      if (line < run->line_transfers.size())
        sum += static_cast<std::int64_t>(run->line_transfers[line]);
    if (sum != 0) variant.counters.push_back({"line_transfers." + lines[line], sum});
  }
}

void add_stage(const char* name, const report::Histogram& samples, double total,
               report::Variant& variant) {
  variant.stages.push_back({name, report::round_for_report(samples.mean() / 1000),
                            static_cast<double>(samples.quantile(0.99)) / 1000,
                            report::round_for_report(samples.mean() / total)});
}

void add_stages(const Runs& runs, report::Variant& variant) {
  constexpr const char* kNames[] = {
      "queue: push on the target's list", "signal: flag word or ICR write",
      "wake: until the function starts", "return: function, unlock, caller sees it"};
  std::array<report::Histogram, kCallStages> pooled;
  double total = 0;
  for (std::size_t stage = 0; stage < kCallStages; ++stage) {
    for (const Measurement* run : runs) pooled[stage].merge(run->call_stages[stage]);
    total += pooled[stage].mean();
  }
  if (pooled[0].empty()) return;
  for (std::size_t stage = 0; stage < kCallStages; ++stage)
    add_stage(kNames[stage], pooled[stage], total, variant);
}

// What the workload measures itself: metrics, and the stages of its operations.
void add_own(const Runs& runs, const std::vector<workload::MetricInfo>& own,
             report::Variant& variant) {
  struct Part {
    const char* name;
    report::Histogram samples;
  };
  std::vector<Part> stages;
  double total = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const workload::MetricInfo& info = own[i];
    report::MetricBuilder builder(
        {info.id, info.unit,
         info.higher_is_better ? report::Better::kHigher : report::Better::kLower, info.scale});
    for (const Measurement* run : runs)
      builder.add_run(i < run->samples.size() ? run->samples[i] : report::Histogram());
    if (builder.pooled().empty()) continue;
    if (!info.stage) {
      variant.metrics.push_back(builder.build());
      continue;
    }
    stages.push_back({info.id, builder.pooled()});
    total += builder.pooled().mean();
  }
  for (const Part& part : stages) add_stage(part.name, part.samples, total, variant);
}

void add_own_counters(const Runs& runs, report::Variant& variant) {
  if (runs.empty()) return;
  for (std::size_t i = 0; i < runs.front()->counters.size(); ++i) {
    report::Counter sum{runs.front()->counters[i].name, 0};
    for (const Measurement* run : runs) sum.value += run->counters[i].value;
    variant.counters.push_back(sum);
  }
}

// Runs differ in how many calls find the target polling, and in whether it walks run queues.
void add_regimes(const Runs& runs, report::Variant& variant) {
  struct Kind {
    const char* name;
    const char* condition;
    int runs = 0;
  };
  Kind kinds[] = {
      {"elided", "at least 90 % of the calls need no interrupt, fewer than half walk"},
      {"mixed", "10 to 90 % of the calls need no interrupt, fewer than half walk"},
      {"interrupts", "fewer than 10 % of the calls go without an interrupt, fewer than half walk"},
      {"walking", "newidle_balance walks the domains in at least half of the passes"},
  };
  int counted = 0;
  for (const Measurement* run : runs) {
    if (run->calls == 0) continue;
    ++counted;
    const double elided = static_cast<double>(run->calls_elided) / static_cast<double>(run->calls);
    if (run->schedule_idle > 0 && 2 * run->newidle_walks >= run->schedule_idle)
      ++kinds[3].runs;
    else
      ++kinds[elided >= 0.9 ? 0 : elided >= 0.1 ? 1 : 2].runs;
  }
  for (const Kind& kind : kinds)
    if (kind.runs > 0)
      variant.regimes.push_back({kind.name,
                                 report::round_for_report(static_cast<double>(kind.runs) / counted),
                                 kind.condition});
}

}  // namespace

void assemble(const std::vector<const Measurement*>& runs, const std::vector<std::string>& lines,
              const std::vector<workload::MetricInfo>& own, report::Variant& variant) {
  variant.runs = static_cast<int>(runs.size());
  add_metric(runs, "run_time_ns", &Measurement::run_time, variant);
  add_metric(runs, "call_round_trip_ns", &Measurement::call_round_trip, variant);
  add_metric(runs, "ipi_delivery_ns", &Measurement::ipi_delivery, variant);
  add_metric(runs, "elided_wake_ns", &Measurement::elided_wake, variant);
  add_metric(runs, "poll_overshoot_ns", &Measurement::poll_overshoot, variant);
  add_own_counters(runs, variant);
  add_counters(runs, lines, variant);
  add_stages(runs, variant);
  add_own(runs, own, variant);
  add_regimes(runs, variant);
}

}  // namespace idlesim::experiment

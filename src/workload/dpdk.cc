// A poll-mode driver's loop, as DPDK applications have it: a thread that has its CPU to itself
// receives bursts of packets, works on them in user mode and never enters the kernel.
#include <algorithm>
#include <string>
#include <vector>

#include "idlesim/base/check.h"
#include "idlesim/config/reader.h"
#include "idlesim/kernel/sched.h"
#include "idlesim/kernel/spec_ctrl.h"
#include "idlesim/kernel/timer.h"
#include "idlesim/workload/sibling.h"
#include "idlesim/workload/workload.h"

namespace idlesim::workload {

namespace {

using kernel::Cpu;
using kernel::Task;
using sim::Co;
__extension__ using Int128 = __int128;

struct Parameters {
  CpuId cpu = 0;
  std::int64_t batch = 32;
  std::int64_t cycles_milli = 0;             // per packet, core cycles
  std::int64_t indirect_branches_milli = 0;  // per packet
  std::int64_t packets_per_second = 0;       // 0: more than the thread can take
  std::int64_t poll_cycles_milli = 0;        // that finds nothing
  Time warmup;
  Time duration;
  SiblingParameters sibling;
};

const std::vector<MetricInfo> kMetrics = {
    {"packets_per_second", "1/s", true, 1},
    {"tsc_cycles_per_packet", "cycles"},
    {"packet_service_ns"},
    {"packet_latency_ns"},
};
enum Metric : std::uint16_t { kRate, kCycles, kService, kLatency, kCount };

// The completion times of the packets of a batch, whose work is spread evenly: piecewise linear
// between the points of the CPU's pace log. `points` begins with the batch's start and ends with
// its end.
class Completions {
 public:
  Completions(const std::vector<hw::PacePoint>& points, std::int64_t packets)
      : points_(points), packets_(packets), whole_(points.back().done) {}

  // In ascending order of `packet`, 1 to packets.
  Time of(std::int64_t packet) {
    if (packet == packets_) return points_.back().time;
    const Time done = Time::ps(whole_.count_ps() * packet / packets_);
    while (points_[at_ + 1].done < done) ++at_;
    const hw::PacePoint& from = points_[at_];
    const hw::PacePoint& to = points_[at_ + 1];
    if (to.done == from.done) return to.time;
    const Int128 time = (to.time - from.time).count_ps();
    return from.time + Time::ps(static_cast<std::int64_t>(time * (done - from.done).count_ps() /
                                                          (to.done - from.done).count_ps()));
  }

 private:
  const std::vector<hw::PacePoint>& points_;
  std::int64_t packets_;
  Time whole_;
  std::size_t at_ = 0;
};

class Dpdk final : public Workload {
 public:
  explicit Dpdk(const Parameters& parameters)
      : parameters_(parameters), sibling_(parameters.sibling, parameters.cpu, kCount) {}

  void setup(kernel::Kernel& kernel) override {
    kernel_ = &kernel;
    start_ = Time::us(200) +
             kernel.machine().stream("workload-start", 0).uniform(Time{}, kernel.tick_period());
    kernel.first_task(kernel.new_task("dpdk", parameters_.cpu, poll_mode_thread, this));
    sibling_.setup(kernel, start_, parameters_.warmup + parameters_.duration);
  }
  bool finished() const override { return finished_; }
  void check() const override {
    if (all_packets_ == 0) throw SimulationError("dpdk: no packet was received");
  }
  Time run_time() const override { return parameters_.duration; }
  std::uint64_t progress() const override { return static_cast<std::uint64_t>(polls_); }
  std::vector<CounterValue> counters() const override {
    std::vector<CounterValue> all{{"packets", all_packets_}};
    for (CounterValue& value : sibling_.counters()) all.push_back(std::move(value));
    return all;
  }

 private:
  // The work of one burst.
  hw::PathCost cost_of(std::int64_t packets) {
    const std::int64_t branches = parameters_.indirect_branches_milli * packets + branches_left_;
    branches_left_ = branches % 1000;
    hw::PathCost cost;
    cost.time =
        kernel_->machine().spec().cpu.clock.milli_to_time(parameters_.cycles_milli * packets);
    cost.indirect_branches = static_cast<std::uint32_t>(branches / 1000);
    return cost;
  }

  static Co<> poll_mode_thread(Cpu& cpu, Task& task) {
    Dpdk& self = *static_cast<Dpdk*>(task.data);
    co_await kernel::schedule_hrtimeout(cpu, self.start_);
    co_await kernel::tick_nohz_full_stop_tick(cpu);
    co_await kernel::syscall_exit(cpu);
    self.next_arrival_ = cpu.now();
    Time end = self.start_;
    for (int phase = 0; phase < self.sibling_.phases(); ++phase) {
      end += self.parameters_.warmup;
      co_await self.receive_until(cpu, end);
      self.start_measuring(phase, cpu.now());
      end += self.parameters_.duration;
      co_await self.receive_until(cpu, end);
      self.stop_measuring(cpu.now());
    }
    self.finished_ = true;
    cpu.machine().engine().stop();
  }

  Co<> receive_until(Cpu& cpu, Time end) {
    Cpu& self = cpu;
    while (self.now() < end) {
      ++polls_;
      const std::int64_t packets = waiting(self.now());
      if (packets == 0) {
        co_await poll_in_vain(self);
        continue;
      }
      const Time begun = self.now();
      const hw::PathCost cost = cost_of(packets);
      co_await self.exec_logged(cost);
      received(self, begun, cost.time, packets);
    }
  }

  Time interval() const { return Time::seconds(1) / parameters_.packets_per_second; }

  // Packets in the queue, at most a batch.
  std::int64_t waiting(Time now) const {
    if (parameters_.packets_per_second == 0) return parameters_.batch;
    if (now < next_arrival_) return 0;
    return std::min((now - next_arrival_) / interval() + 1, parameters_.batch);
  }

  // Some polls of an empty queue: until the next packet, but few, since the pace may change.
  Co<> poll_in_vain(Cpu& cpu) {
    constexpr std::int64_t kMost = 8;
    Cpu& self = cpu;
    const Time poll =
        kernel_->machine().spec().cpu.clock.milli_to_time(parameters_.poll_cycles_milli);
    const std::int64_t polls =
        std::clamp<std::int64_t>((next_arrival_ - self.now()) / poll + 1, 1, kMost);
    co_await self.exec_time(poll * polls);
  }

  void start_measuring(int phase, Time now) {
    measuring_ = true;
    measured_from_ = now;
    packets_ = 0;
    sibling_.start_measuring(phase);
  }

  void stop_measuring(Time now) {
    const Time time = now - measured_from_;
    const hw::CpuSpec& cpu = kernel_->machine().spec().cpu;
    trace::Tracer& tracer = kernel_->tracer();
    const Int128 second = Time::seconds(1).count_ps();
    const auto rate = static_cast<std::int64_t>(packets_ * second / time.count_ps());
    tracer.emit(trace::Sample{sibling_.metric(kRate), rate});
    if (packets_ > 0)
      tracer.emit(
          trace::Sample{sibling_.metric(kCycles), cpu.tsc.to_cycles(time * 1000).count / packets_});
    sibling_.stop_measuring();
    measuring_ = false;
    all_packets_ += packets_;
  }

  void received(Cpu& cpu, Time begun, Time work, std::int64_t packets) {
    const Time now = cpu.now();
    const Time first_arrival = next_arrival_;
    if (parameters_.packets_per_second != 0) next_arrival_ += interval() * packets;
    if (!measuring_) return;
    packets_ += packets;
    trace::Tracer& tracer = kernel_->tracer();
    const bool arrivals = parameters_.packets_per_second != 0;
    if (cpu.pace_log().empty() && !arrivals) {  // all alike
      tracer.emit(
          trace::Sample{sibling_.metric(kService), ((now - begun) / packets).count_ps(), packets});
      return;
    }
    points_.assign(1, {begun, Time{}});
    points_.insert(points_.end(), cpu.pace_log().begin(), cpu.pace_log().end());
    points_.push_back({now, work});
    Completions completions(points_, packets);
    Time last = begun;
    for (std::int64_t packet = 1; packet <= packets; ++packet) {
      const Time done = completions.of(packet);
      tracer.emit(trace::Sample{sibling_.metric(kService), (done - last).count_ps()});
      if (arrivals)
        tracer.emit(trace::Sample{sibling_.metric(kLatency),
                                  (done - first_arrival - interval() * (packet - 1)).count_ps()});
      last = done;
    }
  }

  const Parameters& parameters_;
  Sibling sibling_;
  kernel::Kernel* kernel_ = nullptr;
  Time start_;
  Time measured_from_;
  Time next_arrival_;
  bool measuring_ = false;
  bool finished_ = false;
  std::int64_t polls_ = 0;
  std::int64_t packets_ = 0;  // of the phase
  std::int64_t all_packets_ = 0;
  std::int64_t branches_left_ = 0;  // thousandths that did not make a whole one
  std::vector<hw::PacePoint> points_;
};

class DpdkSpec final : public WorkloadSpec {
 public:
  explicit DpdkSpec(const Parameters& parameters)
      : parameters_(parameters), metrics_(parameters_.sibling, kMetrics) {}

  void check_machine(config::Reader in, const hw::Topology& topology) const override {
    config::Reader reader = in;
    check_sibling(reader, parameters_.sibling, topology, parameters_.cpu);
  }
  std::unique_ptr<Workload> create() const override { return std::make_unique<Dpdk>(parameters_); }
  std::vector<MetricInfo> metrics() const override { return metrics_.all(); }
  std::string describe() const override {
    return "dpdk cpu=" + std::to_string(parameters_.cpu) +
           " batch=" + std::to_string(parameters_.batch) +
           " packets_per_second=" + std::to_string(parameters_.packets_per_second) + " " +
           workload::describe(parameters_.sibling);
  }
  std::vector<PathStep> explain(const Setup& setup) const override {
    const Frequency clock = setup.machine.cpu.clock;
    std::vector<PathStep> steps;
    steps.push_back({"", "a poll-mode thread on CPU " + std::to_string(parameters_.cpu), 0, {}});
    steps.push_back({"thread", "receives up to " + std::to_string(parameters_.batch) + " packets",
                     0, clock.milli_to_time(parameters_.poll_cycles_milli)});
    steps.push_back({"thread", "works on a packet, its branches predicted", 0,
                     clock.milli_to_time(parameters_.cycles_milli)});
    steps.push_back({"thread", "more while a thread of the core has IBRS or STIBP set", 0,
                     setup.machine.cpu.mispredict * parameters_.indirect_branches_milli / 1000});
    return steps;
  }

 private:
  const Parameters parameters_;
  const PhaseMetrics metrics_;
};

}  // namespace

std::unique_ptr<WorkloadSpec> read_dpdk(config::Reader in) {
  constexpr std::int64_t kMostCpus = 8191;
  Parameters p;
  p.cpu = static_cast<CpuId>(in.integer_or("cpu", 0, kMostCpus, p.cpu));
  p.batch = in.integer_or("batch", 1, 4096, p.batch);
  p.cycles_milli = in.parameter_milli("cycles_per_packet", 10'000, 100'000'000);
  p.indirect_branches_milli = in.parameter_milli("indirect_branches_per_packet", 0, 1'000'000);
  p.packets_per_second = in.integer_or("packets_per_second", 0, 1'000'000'000, 0);
  p.poll_cycles_milli = in.integer_or("poll_cycles", 1, 100'000, 60) * 1000;
  p.warmup = in.time_or("warmup_ms", Time::ms(20));
  p.duration = in.time_or("duration_ms", Time::ms(100));
  if (p.duration == Time{}) in.fail("duration_ms", "a measurement takes time");
  p.sibling = read_sibling(in);
  return std::make_unique<DpdkSpec>(p);
}

}  // namespace idlesim::workload

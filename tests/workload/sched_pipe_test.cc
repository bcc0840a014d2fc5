// perf bench sched pipe on kernels of the tests: what must hold whatever the features, and what
// each placement of the two tasks does.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "idlesim/base/check.h"
#include "idlesim/config/document.h"
#include "idlesim/config/reader.h"
#include "idlesim/workload/workload.h"
#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;

constexpr int kStages = 5;

// Metrics by id, stages in order.
class Samples final : public trace::Listener {
 public:
  explicit Samples(const workload::WorkloadSpec& spec) : infos_(spec.metrics()) {
    values.resize(infos_.size());
  }
  std::uint32_t wants() const override { return trace::kinds<trace::Sample>(); }
  void on(const trace::Sample& event) override { values[event.metric].push_back(event.value); }

  const std::vector<std::int64_t>& of(std::string_view id) const {
    for (std::size_t i = 0; i < infos_.size(); ++i)
      if (infos_[i].id == id) return values[i];
    ADD_FAILURE() << "no metric " << id;
    return values[0];
  }
  std::int64_t only(std::string_view id) const {
    EXPECT_EQ(of(id).size(), 1u);
    return of(id).empty() ? 0 : of(id)[0];
  }
  std::vector<const std::vector<std::int64_t>*> stages() const {
    std::vector<const std::vector<std::int64_t>*> found;
    for (std::size_t i = 0; i < infos_.size(); ++i)
      if (infos_[i].stage) found.push_back(&values[i]);
    return found;
  }

 private:
  const std::vector<workload::MetricInfo> infos_;

 public:
  std::vector<std::vector<std::int64_t>> values;
};

std::unique_ptr<workload::WorkloadSpec> read_spec(const std::string& parameters) {
  config::Document document = config::parse_text(parameters, "test.json");
  auto spec = workload::read_sched_pipe(document.root());
  document.finish();
  return spec;
}

class PipeRun {
 public:
  PipeRun(const KernelUnderTest::Options& options, const std::string& parameters)
      : k(options), spec(read_spec(parameters)), samples(*spec), bench(spec->create()) {
    k.machine.tracer().add(&samples);
    bench->setup(k.kernel);
    k.boot();
    while (!bench->finished() && k.step_before(Time::ms(500))) {
    }
    EXPECT_TRUE(bench->finished()) << k.machine.stories();
    if (bench->finished()) bench->check();
    for (const workload::CounterValue& c : bench->counters()) counters.push_back(c);
  }
  std::int64_t counter(std::string_view name) const {
    for (const workload::CounterValue& c : counters)
      if (c.name == name) return c.value;
    return -1;
  }
  KernelUnderTest k;
  std::unique_ptr<workload::WorkloadSpec> spec;
  Samples samples;
  std::unique_ptr<workload::Workload> bench;
  std::vector<workload::CounterValue> counters;
};

KernelUnderTest::Options with(std::initializer_list<Axis> axes, Arch arch = Arch::kX86_64) {
  KernelUnderTest::Options options;
  options.arch = arch;
  options.config.features = features_of(arch, axes);
  return options;
}

void expect_exact_stages(const Samples& samples) {
  const auto stages = samples.stages();
  const std::vector<std::int64_t>& wakes = samples.of("wake_ns");
  ASSERT_EQ(stages.size(), static_cast<std::size_t>(kStages));
  EXPECT_FALSE(wakes.empty());
  for (std::size_t wake = 0; wake < wakes.size(); ++wake) {
    std::int64_t sum = 0;
    for (const auto* stage : stages) {
      ASSERT_EQ(stage->size(), wakes.size());
      EXPECT_GE((*stage)[wake], 0);
      sum += (*stage)[wake];
    }
    EXPECT_EQ(sum, wakes[wake]);
  }
}

// --- same CPU

TEST(SchedPipe, SameCpu) {
  const PipeRun run(with({}), R"({"loop": 100, "cpus": [1, 1]})");
  EXPECT_EQ(run.counter("wakeups"), 200);
  EXPECT_EQ(run.counter("migrations"), 0);
  // Two a round trip; the first is to the first task, from idle, and the last ends it.
  EXPECT_NEAR(static_cast<double>(run.counter("switches")), 200, 3);
  EXPECT_EQ(run.k.record.sent.size(), 0u);
  EXPECT_EQ(run.counter("sched_wake_idle_without_ipi"), 0);
  EXPECT_LE(run.samples.only("idle_share_percent"), 0);
  expect_exact_stages(run.samples);
  for (const std::int64_t exit : *run.samples.stages()[2]) EXPECT_EQ(exit, 0);
}

// --- two CPUs

// Polling: two wake-ups per round trip, none by interrupt.
TEST(SchedPipe, TwoCpusPolling) {
  for (const char* queue : {"csq", "csq_notify"})
    for (const std::string cpus : {"[0, 1]", "[0, 2]"}) {
      const PipeRun run(with({{"idle_enter", "poll"}, {"wake_queue", queue}}),
                        R"({"loop": 100, "cpus": )" + cpus + "}");
      EXPECT_EQ(run.counter("wakeups"), 200) << queue << cpus;
      EXPECT_EQ(run.counter("sched_wake_idle_without_ipi"), 200) << queue << cpus;
      EXPECT_EQ(run.k.record.sent.size(), 0u) << queue << cpus;
      expect_exact_stages(run.samples);
    }
}
TEST(SchedPipe, TwoCpusHalting) {
  const PipeRun run(with({{"idle_enter", "hlt"}}), R"({"loop": 100, "cpus": [0, 2]})");
  EXPECT_EQ(run.counter("wakeups"), 200);
  EXPECT_EQ(run.counter("sched_wake_idle_without_ipi"), 0);
  EXPECT_EQ(run.k.record.sent.size(), 200u);
  expect_exact_stages(run.samples);
  // Longer than the exit from HLT alone, which is in each wake-up.
  for (const std::int64_t exit : *run.samples.stages()[2])
    EXPECT_GE(exit, Time::ns(800).count_ps());
  // Cycles stop in HLT: 1 GHz, so that a cycle is a nanosecond.
  const std::int64_t ns = run.bench->run_time().count_ns();
  EXPECT_LT(run.counter("cpu0_cycles"), ns * 9 / 10);
  EXPECT_LT(run.counter("cpu2_cycles"), ns * 9 / 10);
  EXPECT_NEAR(static_cast<double>(run.samples.only("cycles_per_op")) / 1000,
              static_cast<double>(run.counter("cpu0_cycles") + run.counter("cpu2_cycles")) / 100,
              1);
}
// While one polls, its cycles go on.
TEST(SchedPipe, CyclesOfAPollingCpuGoOn) {
  const PipeRun run(with({{"idle_enter", "poll"}}), R"({"loop": 100, "cpus": [0, 1]})");
  EXPECT_EQ(run.counter("cpu0_cycles"), run.bench->run_time().count_ns());
  EXPECT_GT(run.samples.only("poll_share_percent"), 0);
  EXPECT_EQ(run.samples.only("poll_share_percent"), run.samples.only("idle_share_percent"));
}

// --- left to the scheduler: both tasks end up in one cache, and then stay where they are (check
// 16)

TEST(SchedPipe, UnpinnedTasksMeetInOneCache) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    KernelUnderTest::Options options = with({});
    options.seed = seed;
    const PipeRun run(options, R"({"loop": 200})");
    EXPECT_LE(run.counter("migrations"), 4) << seed;
    EXPECT_EQ(run.counter("wakeups"), 400);
    std::vector<CpuId> cpus;
    for (const trace::Switch& e : run.k.record.switches)
      if (e.next != 0) cpus.push_back(e.cpu);
    ASSERT_GT(cpus.size(), 2u);
    const CpuId a = cpus[cpus.size() - 2], b = cpus.back();
    EXPECT_EQ(a / 2, b / 2) << seed;
    expect_exact_stages(run.samples);
  }
}

// --- parameters and accounts

TEST(SchedPipe, ThreadsShareAnAddressSpace) {
  const PipeRun processes(with({}), R"({"loop": 50, "cpus": [0, 1]})");
  const PipeRun threads(with({}), R"({"loop": 50, "cpus": [0, 1], "threaded": true})");
  const auto transfers = [](const PipeRun& run) { return run.k.transfers_of("MMR").size(); };
  EXPECT_LT(transfers(processes), 10u);
  // Each CPU takes a reference and drops it once in a round trip.
  EXPECT_GE(transfers(threads), 100u);
}
TEST(SchedPipe, UsecsPerOpIsTheWholeTime) {
  const PipeRun run(with({}), R"({"loop": 50, "cpus": [0, 1]})");
  EXPECT_EQ(run.samples.only("usecs_per_op"), run.bench->run_time().count_ps() / 50);
  EXPECT_EQ(run.samples.of("op_ns").size(), 50u);
  std::int64_t sum = 0;
  for (const std::int64_t op : run.samples.of("op_ns")) sum += op;
  EXPECT_LE(sum, run.bench->run_time().count_ps());
  EXPECT_GT(sum, run.bench->run_time().count_ps() * 9 / 10);
}
TEST(SchedPipe, TheSameSeedGivesTheSameRun) {
  const PipeRun a(with({}), R"({"loop": 50})");
  const PipeRun b(with({}), R"({"loop": 50})");
  EXPECT_EQ(a.samples.values, b.samples.values);
}
TEST(SchedPipe, WrongParameters) {
  EXPECT_THROW(read_spec(R"({"loop": 0})"), UserError);
  EXPECT_THROW(read_spec(R"({"cpus": [1]})"), UserError);
  EXPECT_THROW(read_spec(R"({"cgroup": 1})"), UserError);
}

// --- every kernel: no wake-up is lost, and the stages add up

class SchedPipeContract : public ::testing::TestWithParam<KernelGroup> {};
INSTANTIATE_TEST_SUITE_P(All, SchedPipeContract, ::testing::ValuesIn(kernel_groups()));

TEST_P(SchedPipeContract, NoMessageIsLost) {
  const KernelGroup& group = GetParam();
  const char* const placements[] = {"[0, 1]", "[0, 2]", "[1, 1]"};
  std::size_t turn = 0;
  for (const kernel::Features& features : group.features()) {
    SCOPED_TRACE(to_string(features));
    KernelUnderTest::Options options;
    options.arch = group.arch;
    options.config.features = features;
    const std::string cpus = placements[turn++ % 3];
    const PipeRun run(options, turn % 4 == 0 ? std::string(R"({"loop": 20})")
                                             : R"({"loop": 20, "cpus": )" + cpus + "}");
    ASSERT_EQ(run.counter("wakeups"), 40) << cpus;
    expect_exact_stages(run.samples);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace idlesim::testing

// The patterns of engine_bench.cc as ns-3 events with its default scheduler.
#include <benchmark/benchmark.h>
#include <ns3/simulator.h>

#include <memory>
#include <string>
#include <vector>

#include "patterns.h"

namespace idlesim::bench {
namespace {

struct Process;

struct World {
  Delays delays;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<Process*> idle;
  std::int64_t steps = 0;
  std::int64_t stop_at = 0;

  explicit World(const std::string& kind) : delays(kind) {}
  // In units of ns-3's clock; which unit it is does not matter here.
  ns3::Time delay() { return ns3::Time(delays.next_ps()); }
  void count() {
    if (++steps == stop_at) ns3::Simulator::Stop();
  }
};

World* the_world = nullptr;

struct Process {
  Process* partner = nullptr;
  ns3::EventId timer;

  static void hold(Process* self) {
    ns3::Simulator::Schedule(the_world->delay(), &hold, self);
    the_world->count();
  }
  static void ping_pong(Process* self) {
    ns3::Simulator::Schedule(the_world->delay(), &ping_pong, self->partner);
    the_world->count();
  }
  static void relay(Process* self) {
    Process*& place = the_world->idle[the_world->delays.below(the_world->idle.size())];
    Process* next = place;
    place = self;
    ns3::Simulator::Schedule(the_world->delay(), &relay, next);
    the_world->count();
  }
  static void timer_fired(Process*) {}
  static void rearm(Process* self) {
    ns3::Simulator::Remove(self->timer);
    self->timer = ns3::Simulator::Schedule(ns3::Time(kTimerPs), &timer_fired, self);
    ns3::Simulator::Schedule(the_world->delay(), &rearm, self);
    the_world->count();
  }
};

void measure(benchmark::State& state, std::string pattern, std::string kind, int n) {
  World world(kind);
  the_world = &world;
  const int count = pattern == "ping_pong" ? 2 * n : pattern == "relay" ? kCpus : n;
  for (int i = 0; i < count; ++i) world.processes.push_back(std::make_unique<Process>());
  for (int i = 0; i < count; ++i) {
    Process* self = world.processes[static_cast<std::size_t>(i)].get();
    self->partner = world.processes[static_cast<std::size_t>(i ^ 1)].get();
    const bool starts = pattern == "relay" ? i < n : pattern == "ping_pong" ? i % 2 == 0 : true;
    auto* body = pattern == "hold"        ? &Process::hold
                 : pattern == "ping_pong" ? &Process::ping_pong
                 : pattern == "relay"     ? &Process::relay
                                          : &Process::rearm;
    if (starts)
      ns3::Simulator::Schedule(world.delay(), body, self);
    else
      world.idle.push_back(self);
  }
  for (auto _ : state) {
    world.stop_at = world.steps + kEvents;
    ns3::Simulator::Run();
  }
  state.SetItemsProcessed(state.iterations() * kEvents);
  ns3::Simulator::Destroy();
}

void add(const std::string& pattern, const std::string& kind, std::initializer_list<int> sizes) {
  for (int n : sizes) {
    const std::string name = "ns3/" + pattern + "/" + kind + "/" + std::to_string(n);
    benchmark::RegisterBenchmark(name.c_str(), measure, pattern, kind, n);
  }
}

}  // namespace
}  // namespace idlesim::bench

int main(int argc, char** argv) {
  using namespace idlesim::bench;
  add("hold", "exp", {2, 16, 256, 4096});
  add("hold", "busy", {2, 16, 256, 4096});
  add("ping_pong", "exp", {2, 16, 256, 4096});
  add("relay", "exp", {1, 100});
  add("rearm", "exp", {kCpus});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}

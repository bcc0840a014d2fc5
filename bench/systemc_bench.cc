// The patterns of engine_bench.cc as SystemC threads.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <systemc>
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
  std::int64_t pause_at = 0;
  bool ending = false;

  explicit World(const std::string& kind) : delays(kind) {}
  sc_core::sc_time delay() {
    return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(delays.next_ps()));
  }
  void count() {
    if (++steps == pause_at) sc_core::sc_pause();
  }
};

World* the_world = nullptr;

struct Process {
  Process* partner = nullptr;
  sc_core::sc_event event;
  sc_core::sc_event timer;

  void hold() {
    while (!the_world->ending) {
      sc_core::wait(the_world->delay());
      the_world->count();
    }
  }
  void ping_pong() {
    for (;;) {
      sc_core::wait(event);
      if (the_world->ending) return;
      partner->event.notify(the_world->delay());
      the_world->count();
    }
  }
  void relay() {
    for (;;) {
      sc_core::wait(event);
      if (the_world->ending) return;
      Process*& place = the_world->idle[the_world->delays.below(the_world->idle.size())];
      Process* next = place;
      place = this;
      next->event.notify(the_world->delay());
      the_world->count();
    }
  }
  void rearm() {
    while (!the_world->ending) {
      timer.cancel();
      timer.notify(sc_core::sc_time::from_value(kTimerPs));
      sc_core::wait(the_world->delay());
      the_world->count();
    }
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
    sc_core::sc_spawn([self, pattern] {
      if (pattern == "hold")
        self->hold();
      else if (pattern == "ping_pong")
        self->ping_pong();
      else if (pattern == "relay")
        self->relay();
      else
        self->rearm();
    });
    const bool starts = pattern == "relay" ? i < n : pattern == "ping_pong" && i % 2 == 0;
    if (starts)
      self->event.notify(sc_core::sc_time(1, sc_core::SC_NS) + world.delay());
    else
      world.idle.push_back(self);
  }
  for (auto _ : state) {
    world.pause_at = world.steps + kEvents;
    sc_core::sc_start();
  }
  state.SetItemsProcessed(state.iterations() * kEvents);

  world.ending = true;
  for (auto& process : world.processes) {
    process->event.notify(sc_core::SC_ZERO_TIME);
    process->timer.cancel();
  }
  sc_core::sc_start(2, sc_core::SC_MS);  // longer than any delay: all threads end
}

void add(const std::string& pattern, const std::string& kind, std::initializer_list<int> sizes) {
  for (int n : sizes) {
    const std::string name = "systemc/" + pattern + "/" + kind + "/" + std::to_string(n);
    benchmark::RegisterBenchmark(name.c_str(), measure, pattern, kind, n);
  }
}

}  // namespace
}  // namespace idlesim::bench

// SystemC brings its own main().
int sc_main(int argc, char** argv) {
  using namespace idlesim::bench;
  add("hold", "exp", {2, 16, 256, 4096});
  add("hold", "busy", {2, 16, 256, 4096});
  add("ping_pong", "exp", {2, 16, 256, 4096});
  add("relay", "exp", {1, 100});
  add("rearm", "exp", {kCpus});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

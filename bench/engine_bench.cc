// The engine, and std::priority_queue in its place, with C++20 coroutines as processes.
//
//   hold/<delays>/<n>     n processes, each waits for a delay, for ever
//   advance/<delays>/<n>  the same, but a process whose own event is next goes on without
//   suspending ping_pong/exp/<n>     n pairs of processes that wake each other relay/exp/<n> 128
//   CPUs, n of them active; an event passes to an idle CPU rearm/exp/128         128 CPUs, each
//   step also moves a timer of the CPU
//
// `engine_bench --count PATTERN DELAYS N EVENTS` fires exactly that many events of the engine and
// nothing else, for instruction counts.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "idlesim/sim/co.h"
#include "idlesim/sim/engine.h"
#include "patterns.h"

namespace idlesim::bench {
namespace {

using sim::Co;

// The engine under the interface that the patterns use.
class TreeScheduler {
 public:
  static constexpr const char* kName = "idlesim";
  using Id = sim::SlotId;
  Id add(sim::Fire fire, void* object) { return engine_.add_slot(fire, object); }
  Time now() const { return engine_.now(); }
  void arm(Id id, Time time) { engine_.schedule(id, time); }
  void move(Id id, Time time) { engine_.schedule(id, time); }
  bool try_advance(Time time) { return engine_.try_advance(time); }
  void step() { engine_.step(); }

 private:
  sim::Engine engine_;
};

// What one would write without it. To move an event is to push another and to skip the stale one.
template <bool kMoves>
class QueueScheduler {
 public:
  static constexpr const char* kName = "priority_queue";
  using Id = std::uint32_t;
  Id add(sim::Fire fire, void* object) {
    targets_.push_back({fire, object, 0});
    return static_cast<Id>(targets_.size() - 1);
  }
  Time now() const { return now_; }
  void arm(Id id, Time time) { queue_.push({time, ++sequence_, id, targets_[id].generation}); }
  void move(Id id, Time time) {
    ++targets_[id].generation;
    arm(id, time);
  }
  bool try_advance(Time time) {
    if (time >= queue_.top().time) return false;
    now_ = time;
    return true;
  }
  void step() {
    for (;;) {
      const Entry entry = queue_.top();
      queue_.pop();
      const Target& target = targets_[entry.id];
      if (kMoves && target.generation != entry.generation) continue;
      now_ = entry.time;
      target.fire(target.object);
      return;
    }
  }

 private:
  struct Target {
    sim::Fire fire;
    void* object;
    std::uint32_t generation;
  };
  struct Entry {
    Time time;
    std::uint64_t sequence;
    Id id;
    std::uint32_t generation;
    bool operator<(const Entry& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  Time now_;
  std::uint64_t sequence_ = 0;
  std::priority_queue<Entry> queue_;
  std::vector<Target> targets_;
};

template <class Scheduler>
struct Process {
  typename Scheduler::Id id;
  typename Scheduler::Id timer{};
  std::coroutine_handle<> waiting;
  sim::Root root;

  explicit Process(Scheduler& scheduler) : id(scheduler.add(fire, this)) {}
  static void fire(void* self) { static_cast<Process*>(self)->waiting.resume(); }
  static void timer_fired(void*) {}
};

template <class Scheduler>
struct World {
  Scheduler scheduler;
  Delays delays;
  std::vector<std::unique_ptr<Process<Scheduler>>> processes;
  std::vector<typename Scheduler::Id> idle;
  std::int64_t steps = 0;

  explicit World(const std::string& kind) : delays(kind) {}
  Time after_delay() { return scheduler.now() + Time::ps(delays.next_ps()); }
};

// The one that is measured. Global, as the simulators of SystemC and ns-3 are.
template <class Scheduler>
World<Scheduler>* the_world = nullptr;

// Waits until the process' slot fires.
template <class Scheduler>
struct Park {
  Process<Scheduler>& process;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) const { process.waiting = handle; }
  void await_resume() const noexcept {}
};

// Waits until `time`, at once if nothing else happens before.
template <class Scheduler>
struct Advance {
  Process<Scheduler>& process;
  Time time;
  bool await_ready() const { return the_world<Scheduler>->scheduler.try_advance(time); }
  void await_suspend(std::coroutine_handle<> handle) const {
    process.waiting = handle;
    the_world<Scheduler>->scheduler.arm(process.id, time);
  }
  void await_resume() const noexcept {}
};

template <class Scheduler>
Co<> hold(Process<Scheduler>& self) {
  for (const auto id = self.id;;) {
    World<Scheduler>& world = *the_world<Scheduler>;
    ++world.steps;
    world.scheduler.arm(id, world.after_delay());
    co_await Park<Scheduler>{self};
  }
}

template <class Scheduler>
Co<> advance(Process<Scheduler>& self) {
  for (Process<Scheduler>& process = self;;) {
    World<Scheduler>& world = *the_world<Scheduler>;
    ++world.steps;
    co_await Advance<Scheduler>{process, world.after_delay()};
  }
}

template <class Scheduler>
Co<> ping_pong(Process<Scheduler>& self) {
  for (const auto partner = self.id ^ 1;;) {
    co_await Park<Scheduler>{self};
    World<Scheduler>& world = *the_world<Scheduler>;
    ++world.steps;
    world.scheduler.arm(partner, world.after_delay());
  }
}

template <class Scheduler>
Co<> relay(Process<Scheduler>& self) {
  for (const auto id = self.id;;) {
    co_await Park<Scheduler>{self};
    World<Scheduler>& world = *the_world<Scheduler>;
    ++world.steps;
    auto& place = world.idle[world.delays.below(world.idle.size())];
    const auto next = std::exchange(place, id);
    world.scheduler.arm(next, world.after_delay());
  }
}

template <class Scheduler>
Co<> rearm(Process<Scheduler>& self) {
  const auto timer = self.timer;
  for (const auto id = self.id;;) {
    World<Scheduler>& world = *the_world<Scheduler>;
    ++world.steps;
    world.scheduler.move(timer, world.scheduler.now() + Time::ps(kTimerPs));
    world.scheduler.arm(id, world.after_delay());
    co_await Park<Scheduler>{self};
  }
}

template <class Scheduler>
std::unique_ptr<World<Scheduler>> make_world(const std::string& pattern, const std::string& kind,
                                             int n) {
  auto world = std::make_unique<World<Scheduler>>(kind);
  the_world<Scheduler> = world.get();
  const int count = pattern == "ping_pong" ? 2 * n : pattern == "relay" ? kCpus : n;
  for (int i = 0; i < count; ++i)
    world->processes.push_back(std::make_unique<Process<Scheduler>>(world->scheduler));
  for (int i = 0; i < count; ++i) {
    Process<Scheduler>& self = *world->processes[static_cast<std::size_t>(i)];
    if (pattern == "rearm")
      self.timer = world->scheduler.add(Process<Scheduler>::timer_fired, &self);
    Co<> body = pattern == "hold"        ? hold(self)
                : pattern == "advance"   ? advance(self)
                : pattern == "ping_pong" ? ping_pong(self)
                : pattern == "relay"     ? relay(self)
                                         : rearm(self);
    if (pattern == "advance") world->scheduler.arm(self.id, Time());
    self.root.start(
        std::move(body), [](void*) {}, nullptr);
    const bool starts = pattern == "relay" ? i < n : pattern == "ping_pong" && i % 2 == 0;
    if (starts)
      world->scheduler.arm(self.id, world->after_delay());
    else
      world->idle.push_back(self.id);
  }
  return world;
}

template <class Scheduler>
void run_events(World<Scheduler>& world, std::int64_t events) {
  for (const std::int64_t end = world.steps + events; world.steps < end;) world.scheduler.step();
}

template <class Scheduler>
void measure(benchmark::State& state, std::string pattern, std::string kind, int n) {
  auto world = make_world<Scheduler>(pattern, kind, n);
  for (auto _ : state) run_events(*world, kEvents);
  state.SetItemsProcessed(state.iterations() * kEvents);
}

template <class Scheduler>
void add(const std::string& pattern, const std::string& kind, std::initializer_list<int> sizes) {
  for (int n : sizes) {
    const std::string name =
        std::string(Scheduler::kName) + "/" + pattern + "/" + kind + "/" + std::to_string(n);
    benchmark::RegisterBenchmark(name.c_str(), measure<Scheduler>, pattern, kind, n);
  }
}

template <class Scheduler, class MovingScheduler>
void add_all() {
  for (const char* kind : {"exp", "busy"}) {
    add<Scheduler>("hold", kind, {2, 16, 256, 4096});
    add<Scheduler>("advance", kind, {2, 16, 256, 4096});
  }
  add<Scheduler>("ping_pong", "exp", {2, 16, 256, 4096});
  add<Scheduler>("relay", "exp", {1, 100});
  add<MovingScheduler>("rearm", "exp", {kCpus});
}

}  // namespace
}  // namespace idlesim::bench

int main(int argc, char** argv) {
  using namespace idlesim::bench;
  if (argc == 6 && std::strcmp(argv[1], "--count") == 0) {
    auto world = make_world<TreeScheduler>(argv[2], argv[3], std::atoi(argv[4]));
    run_events(*world, std::atoll(argv[5]));
    return 0;
  }
  add_all<TreeScheduler, TreeScheduler>();
  add_all<QueueScheduler<false>, QueueScheduler<true>>();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}

#include "idlesim/sim/engine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "idlesim/sim/random.h"

namespace idlesim::sim {
namespace {

// Entities that write their name into a common log when they fire.
struct Log {
  std::vector<std::pair<char, std::int64_t>> entries;
  Engine engine;
};
struct Entity {
  Log& log;
  char name;
  SlotId slot;
  Entity(Log& to, char called) : log(to), name(called), slot(to.engine.add_slot(fire, this)) {}
  static void fire(void* self) {
    auto& entity = *static_cast<Entity*>(self);
    entity.log.entries.emplace_back(entity.name, entity.log.engine.now().count_ps());
  }
};
using Entries = std::vector<std::pair<char, std::int64_t>>;

TEST(Engine, IsEmptyAtFirst) {
  Engine engine;
  EXPECT_EQ(engine.now(), Time());
  EXPECT_EQ(engine.next_time(), Time::never());
  EXPECT_FALSE(engine.step());
  EXPECT_EQ(engine.events(), 0u);
}

TEST(Engine, FiresByTimeThenByOrderOfTheCalls) {
  Log log;
  Entity a(log, 'a'), b(log, 'b'), c(log, 'c'), d(log, 'd');
  log.engine.schedule(c.slot, Time::ps(5));
  log.engine.schedule(a.slot, Time::ps(7));
  log.engine.schedule(d.slot, Time::ps(5));
  log.engine.schedule(b.slot, Time::ps(5));
  EXPECT_EQ(log.engine.next_time(), Time::ps(5));
  log.engine.run();
  EXPECT_EQ(log.entries, (Entries{{'c', 5}, {'d', 5}, {'b', 5}, {'a', 7}}));
  EXPECT_EQ(log.engine.events(), 4u);
  EXPECT_EQ(log.engine.now(), Time::ps(7));
}

TEST(Engine, MovingAnEventTakesANewPlaceAmongEqualTimes) {
  Log log;
  Entity a(log, 'a'), b(log, 'b');
  log.engine.schedule(a.slot, Time::ps(5));
  log.engine.schedule(b.slot, Time::ps(5));
  log.engine.schedule(a.slot, Time::ps(5));
  log.engine.run();
  EXPECT_EQ(log.entries, (Entries{{'b', 5}, {'a', 5}}));
}

TEST(Engine, MovesBothWaysAndCancels) {
  Log log;
  Entity a(log, 'a'), b(log, 'b'), c(log, 'c');
  log.engine.schedule(a.slot, Time::ps(5));
  log.engine.schedule(b.slot, Time::ps(6));
  log.engine.schedule(c.slot, Time::ps(7));
  log.engine.schedule(a.slot, Time::ps(9));
  log.engine.schedule(c.slot, Time::ps(1));
  log.engine.cancel(b.slot);
  EXPECT_FALSE(log.engine.armed(b.slot));
  EXPECT_EQ(log.engine.time_of(b.slot), Time::never());
  EXPECT_TRUE(log.engine.armed(a.slot));
  EXPECT_EQ(log.engine.time_of(a.slot), Time::ps(9));
  log.engine.run();
  EXPECT_EQ(log.entries, (Entries{{'c', 1}, {'a', 9}}));
}

TEST(Engine, NeverIsTheSameAsCancel) {
  Log log;
  Entity a(log, 'a');
  log.engine.schedule(a.slot, Time::ps(5));
  log.engine.schedule(a.slot, Time::never());
  EXPECT_FALSE(log.engine.armed(a.slot));
  EXPECT_FALSE(log.engine.step());
}

TEST(Engine, RejectsThePast) {
  Log log;
  Entity a(log, 'a');
  log.engine.schedule(a.slot, Time::ps(5));
  log.engine.run();
  EXPECT_THROW(log.engine.schedule(a.slot, Time::ps(4)), SimulationError);
  EXPECT_THROW(log.engine.try_advance(Time::ps(4)), SimulationError);
  EXPECT_THROW(log.engine.post(
                   Time::ps(4), [](void*, std::uint64_t) {}, nullptr, 0),
               SimulationError);
  log.engine.schedule(a.slot, Time::ps(5));
  log.engine.run();
  EXPECT_EQ(log.entries, (Entries{{'a', 5}, {'a', 5}}));
}

TEST(Engine, AFiringSlotIsDisarmedAndDoesNotCountAsNext) {
  struct Probe {
    Engine engine;
    SlotId first = engine.add_slot(fire, this);
    SlotId second = engine.add_slot([](void*) {}, nullptr);
    int fired = 0;
    static void fire(void* self) {
      auto& probe = *static_cast<Probe*>(self);
      ++probe.fired;
      EXPECT_FALSE(probe.engine.armed(probe.first));
      EXPECT_EQ(probe.engine.time_of(probe.first), Time::never());
      EXPECT_EQ(probe.engine.next_time(), Time::ps(20));
    }
  } probe;
  probe.engine.schedule(probe.second, Time::ps(20));
  probe.engine.schedule(probe.first, Time::ps(10));
  probe.engine.run();
  EXPECT_EQ(probe.fired, 1);
}

TEST(Engine, AdvancesOnlyIfNothingElseHappensUntilThen) {
  Log log;
  Entity a(log, 'a');
  log.engine.schedule(a.slot, Time::ps(10));
  EXPECT_TRUE(log.engine.try_advance(Time::ps(9)));
  EXPECT_EQ(log.engine.now(), Time::ps(9));
  EXPECT_FALSE(log.engine.try_advance(Time::ps(10)));
  EXPECT_FALSE(log.engine.try_advance(Time::ps(11)));
  EXPECT_EQ(log.engine.now(), Time::ps(9));
  EXPECT_TRUE(log.engine.try_advance(Time::ps(9)));
  log.engine.run();
  EXPECT_TRUE(log.engine.try_advance(Time::seconds(100'000)));
}

TEST(Engine, StopEndsTheRunAfterTheCurrentEvent) {
  struct Stopper {
    Engine engine;
    SlotId slot = engine.add_slot(fire, this);
    static void fire(void* self) {
      Engine& engine = static_cast<Stopper*>(self)->engine;
      engine.schedule(static_cast<Stopper*>(self)->slot, engine.now() + Time::ps(10));
      EXPECT_TRUE(engine.try_advance(engine.now() + Time::ps(1)));
      engine.stop();
      EXPECT_FALSE(engine.try_advance(engine.now() + Time::ps(1)));
      EXPECT_FALSE(engine.try_advance(engine.now()));
    }
  } stopper;
  stopper.engine.schedule(stopper.slot, Time::ps(1));
  stopper.engine.run();
  EXPECT_TRUE(stopper.engine.stopped());
  EXPECT_EQ(stopper.engine.events(), 1u);
  EXPECT_EQ(stopper.engine.now(), Time::ps(2));
  EXPECT_FALSE(stopper.engine.step());
}

TEST(Engine, AnExceptionLeavesRunAndTheEngineGoesOn) {
  Log log;
  Entity a(log, 'a');
  const SlotId thrower =
      log.engine.add_slot([](void*) { throw std::runtime_error("thrown"); }, nullptr);
  log.engine.schedule(thrower, Time::ps(1));
  log.engine.schedule(a.slot, Time::ps(2));
  EXPECT_THROW(log.engine.run(), std::runtime_error);
  EXPECT_EQ(log.engine.events(), 1u);
  EXPECT_FALSE(log.engine.armed(thrower));
  log.engine.run();
  EXPECT_EQ(log.entries, (Entries{{'a', 2}}));
}

TEST(Engine, PostedEventsAndSlotsShareOneOrder) {
  Log log;
  Entity a(log, 'a'), b(log, 'b');
  const auto posted = [](void* to, std::uint64_t name) {
    auto& target = *static_cast<Log*>(to);
    target.entries.emplace_back(static_cast<char>(name), target.engine.now().count_ps());
  };
  log.engine.post(Time::ps(5), posted, &log, 'x');
  log.engine.schedule(a.slot, Time::ps(5));
  log.engine.post(Time::ps(5), posted, &log, 'y');
  log.engine.post(Time::ps(3), posted, &log, 'z');
  log.engine.schedule(b.slot, Time::ps(5));
  log.engine.post(Time::ps(5), posted, &log, 'w');
  log.engine.run();
  EXPECT_EQ(log.entries, (Entries{{'z', 3}, {'x', 5}, {'a', 5}, {'y', 5}, {'b', 5}, {'w', 5}}));
}

TEST(Engine, KeepsTheOrderOfEventsBeyondItsHorizon) {
  Log log;
  Entity a(log, 'a'), b(log, 'b'), c(log, 'c'), d(log, 'd');
  const Time far = Time::seconds(1'000'000);
  log.engine.schedule(b.slot, far);
  log.engine.schedule(a.slot, far);
  log.engine.schedule(d.slot, Time::seconds(2'000'000));
  log.engine.schedule(c.slot, far - Time::ps(1));
  EXPECT_EQ(log.engine.next_time(), far - Time::ps(1));
  EXPECT_EQ(log.engine.time_of(a.slot), far);
  log.engine.step();
  log.engine.schedule(c.slot, far);
  log.engine.run();
  const std::int64_t ps = far.count_ps();
  EXPECT_EQ(log.entries, (Entries{{'c', ps - 1}, {'b', ps}, {'a', ps}, {'c', ps}, {'d', 2 * ps}}));
}

// Each call takes a rank, and there are 2^17 of them: at the end they are given anew.
TEST(Engine, KeepsTheOrderWhenItsRanksRunOut) {
  Log log;
  Entity a(log, 'a'), b(log, 'b'), c(log, 'c'), d(log, 'd');
  log.engine.schedule(b.slot, Time::ps(9));
  log.engine.schedule(a.slot, Time::ps(9));
  log.engine.schedule(d.slot, Time::ps(10));
  for (int i = 0; i < 300'000; ++i) log.engine.schedule(c.slot, Time::ps(9));
  log.engine.run();
  EXPECT_EQ(log.entries, (Entries{{'b', 9}, {'a', 9}, {'c', 9}, {'d', 10}}));
}

TEST(Engine, TakesSlotsWhileItRuns) {
  Log log;
  std::vector<std::unique_ptr<Entity>> entities;
  for (int i = 0; i < 100; ++i) {
    entities.push_back(std::make_unique<Entity>(log, static_cast<char>('0' + i % 10)));
    log.engine.schedule(entities.back()->slot, Time::ps(1000 - i));
  }
  log.engine.run();
  ASSERT_EQ(log.entries.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(log.entries[static_cast<std::size_t>(i)].second, 901 + i);
}

// The engine beside a sorted map, driven by random calls from outside and from inside of events.
class Twin {
 public:
  explicit Twin(std::uint64_t seed) : random_(seed, 0, "engine_test", 0) {
    for (int i = 0; i < 3; ++i) add_entity();
  }

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      disturb();
      if (HasFailure()) return;
      fired_ = false;
      const bool expected = !armed_.empty();
      ASSERT_EQ(engine_.step(), expected);
      ASSERT_EQ(fired_, expected);
    }
  }
  std::uint64_t fired_events() const { return engine_.events(); }

 private:
  struct Item {
    Twin& twin;
    std::uint64_t id;
    SlotId slot;
  };
  using Order = std::pair<Time, std::uint64_t>;  // time, sequence

  static bool HasFailure() { return testing::Test::HasFailure(); }

  void add_entity() {
    entities_.push_back(std::make_unique<Item>(Item{*this, entities_.size(), 0}));
    Item& item = *entities_.back();
    item.slot = engine_.add_slot(
        [](void* self) { static_cast<Item*>(self)->twin.fires(static_cast<Item*>(self)->id); },
        &item);
    where_.emplace_back(armed_.end());
  }

  void fires(std::uint64_t id) {
    fired_ = true;
    ASSERT_FALSE(armed_.empty());
    const auto first = armed_.begin();
    ASSERT_EQ(first->second, id);
    ASSERT_EQ(engine_.now(), first->first.first);
    armed_.erase(first);
    if (id < kPosted) {
      where_[id] = armed_.end();
      ASSERT_FALSE(engine_.armed(entities_[id]->slot));
      if (random_.below(4) == 0) disturb();
      if (random_.below(4) != 0) arm(id);
    }
    if (random_.below(2) == 0) disturb();
  }

  Time some_time() {
    const std::uint64_t kind = random_.below(2000);
    if (kind == 0) return engine_.now() + Time::seconds(100 + random_.uniform_int(0, 200));
    if (kind < 100) return engine_.now() + Time::ps(random_.uniform_int(0, 100'000));
    return engine_.now() + Time::ps(random_.uniform_int(0, 20));  // many ties
  }
  void arm(std::uint64_t id) {
    const Time time = some_time();
    if (where_[id] != armed_.end()) armed_.erase(where_[id]);
    where_[id] = armed_.emplace(Order{time, sequence_++}, id).first;
    engine_.schedule(entities_[id]->slot, time);
  }
  Time earliest() const { return armed_.empty() ? Time::never() : armed_.begin()->first.first; }

  // One random call and its comparison.
  void disturb() {
    const std::uint64_t id = random_.below(entities_.size());
    const bool is_armed = where_[id] != armed_.end();
    switch (random_.below(8)) {
      case 0:
      case 1:
        return arm(id);
      case 2:
        if (is_armed) armed_.erase(where_[id]);
        where_[id] = armed_.end();
        return engine_.cancel(entities_[id]->slot);
      case 3: {
        const Time time = some_time();
        armed_.emplace(Order{time, sequence_++}, kPosted + posted_);
        return engine_.post(
            time, [](void* twin, std::uint64_t post) { static_cast<Twin*>(twin)->fires(post); },
            this, kPosted + posted_++);
      }
      case 4: {
        const Time time = some_time();
        const bool expected = time < earliest();
        ASSERT_EQ(engine_.try_advance(time), expected);
        if (expected) {
          ASSERT_EQ(engine_.now(), time);
        }
        return;
      }
      case 5:
        ASSERT_EQ(engine_.next_time(), earliest());
        return;
      case 6:
        ASSERT_EQ(engine_.armed(entities_[id]->slot), is_armed);
        ASSERT_EQ(engine_.time_of(entities_[id]->slot),
                  is_armed ? where_[id]->first.first : Time::never());
        return;
      case 7:
        if (entities_.size() < 300 && random_.below(100) == 0) add_entity();
        return;
    }
  }

  static constexpr std::uint64_t kPosted = 1'000'000;

  Engine engine_;
  Random random_;
  std::map<Order, std::uint64_t> armed_;
  std::vector<std::map<Order, std::uint64_t>::iterator> where_;  // by entity
  std::vector<std::unique_ptr<Item>> entities_;
  std::uint64_t sequence_ = 0;
  std::uint64_t posted_ = 0;
  bool fired_ = false;
};

// Long enough for many events beyond the horizon and for three more levels.
TEST(Engine, AgreesWithASortedMapUnderRandomCalls) {
  for (std::uint64_t seed : {1, 2}) {
    Twin twin(seed);
    twin.run(120'000);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    EXPECT_GT(twin.fired_events(), 60'000u);
  }
}

// Short runs from many starting points, where few events are armed at a time.
TEST(Engine, AgreesWithASortedMapFromManyStarts) {
  for (std::uint64_t seed = 100; seed < 400; ++seed) {
    Twin twin(seed);
    twin.run(200);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace idlesim::sim

#include "idlesim/sim/engine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace
}  // namespace idlesim::sim

#include "idlesim/sim/engine.h"

#include <algorithm>

namespace idlesim::sim {

Engine::Engine() { groups_.assign(1, Group{{kNever, kNever, kNever, kNever}}); }

SlotId Engine::add_slot(Fire fire, void* object) {
  CHECK(slots_.size() < kSequenceStep - 1, "too many slots for one engine");
  slots_.push_back({fire, object});
  if (first_leaf_ + slots_.size() > groups_.size() * 4) grow();
  return static_cast<SlotId>(slots_.size() - 1);
}

// Adds a level. All leaves stay equally deep, so that every walk to the root takes the same number
// of turns, which the branch predictor likes.
void Engine::grow() {
  std::vector<Key> keys;
  for (SlotId slot = 0; slot + 1 < slots_.size(); ++slot) keys.push_back(leaf(slot));
  const std::size_t groups = groups_.size() * 4 + 1;
  groups_.assign(groups, Group{{kNever, kNever, kNever, kNever}});
  first_leaf_ = first_leaf_ * 4 + 4;
  for (std::size_t slot = 0; slot < keys.size(); ++slot) {
    const std::size_t place = first_leaf_ + slot;
    groups_[place / 4].child[place % 4] = keys[slot];
  }
  for (std::size_t group = groups; group-- > 0;) {
    const Group& g = groups_[group];
    const Key winner = *std::min_element(g.child, g.child + 4);
    if (group == 0)
      root_ = winner;
    else
      groups_[(group - 1) / 4].child[(group - 1) % 4] = winner;
  }
}

// Writes the leaf of the slot that stands at the root; all of its path changes.
void Engine::write_winner(SlotId slot, Key key) {
  Group* const groups = groups_.data();
  std::size_t place = first_leaf_ + slot;
  for (;;) {
    const std::size_t group = place / 4;
    Key* const child = groups[group].child;
    child[place % 4] = key;
    const Key b = child[(place + 1) % 4];
    const Key c = child[(place + 2) % 4];
    const Key d = child[(place + 3) % 4];
    const Key bc = b < c ? b : c;
    const Key bcd = bc < d ? bc : d;
    key = key < bcd ? key : bcd;
    if (group == 0) break;
    place = group - 1;
  }
  root_ = key;
}

// Writes the leaf of any other slot; the walk ends where the winner stays what it was.
void Engine::write(SlotId slot, Key key) {
  Group* const groups = groups_.data();
  std::size_t place = first_leaf_ + slot;
  for (;;) {
    const std::size_t group = place / 4;
    Key* const child = groups[group].child;
    child[place % 4] = key;
    const Key winner = *std::min_element(child, child + 4);
    if (group == 0) {
      root_ = winner;
      return;
    }
    place = group - 1;
    if (groups[place / 4].child[place % 4] == winner) return;
    key = winner;
  }
}

void Engine::schedule(SlotId slot, Time time) {
  CHECK(time >= now_, "an event cannot be in the past");
  if (time == Time::never()) return cancel(slot);
  const Key key = key_of(time, take_sequence() | slot);
  if (slot == fired_) {
    fired_ = kNoSlot;
    write_winner(slot, key);
  } else {
    write(slot, key);
  }
}

void Engine::cancel(SlotId slot) {
  if (armed(slot)) write(slot, kNever);
}

void Engine::retire_fired() {
  write_winner(fired_, kNever);
  fired_ = kNoSlot;
}

// The earliest key but for the one at the root: the least of all its siblings on the way up.
Engine::Key Engine::second() const {
  Key least = kNever;
  std::size_t place = first_leaf_ + slot_of(root_);
  for (;;) {
    const Group& group = groups_[place / 4];
    for (std::size_t other = 1; other < 4; ++other)
      least = std::min(least, group.child[(place + other) % 4]);
    if (place < 4) return least;
    place = place / 4 - 1;
  }
}

void Engine::post(Time time, PostFire fire, void* object, std::uint64_t argument) {
  CHECK(time >= now_ && time != Time::never(), "a transient event needs a time");
  if (transient_slot_ == kNoSlot) transient_slot_ = add_slot(fire_transient, this);
  const Key key = key_of(time, take_sequence() | transient_slot_);
  transients_.push_back({key, fire, object, argument});
  std::push_heap(transients_.begin(), transients_.end(),
                 [](const Transient& a, const Transient& b) { return a.key > b.key; });
  if (transients_.front().key != key) return;
  if (fired_ == transient_slot_) {
    fired_ = kNoSlot;
    write_winner(transient_slot_, key);
  } else {
    write(transient_slot_, key);
  }
}

void Engine::fire_transient(void* engine) {
  Engine& self = *static_cast<Engine*>(engine);
  std::pop_heap(self.transients_.begin(), self.transients_.end(),
                [](const Transient& a, const Transient& b) { return a.key > b.key; });
  const Transient event = self.transients_.back();
  self.transients_.pop_back();
  if (!self.transients_.empty()) {
    self.fired_ = kNoSlot;
    self.write_winner(self.transient_slot_, self.transients_.front().key);
  }
  event.fire(event.object, event.argument);
}

bool Engine::step() {
  if (stopped_) return false;
  if (fired_ != kNoSlot) retire_fired();
  if (root_ >= kNever) return false;
  now_ = time_of_key(root_);
  const SlotId slot = slot_of(root_);
  fired_ = slot;
  ++events_;
  const Slot& target = slots_[slot];
  target.fire(target.object);
  return true;
}

void Engine::run() {
  while (step()) {
  }
}

}  // namespace idlesim::sim

#include "idlesim/sim/engine.h"

#include <algorithm>
#include <tuple>

namespace idlesim::sim {

namespace {

using Key = std::uint64_t;

Key lesser(Key a, Key b) { return a < b ? a : b; }

// The walks through the tree are most of the work of an event: no branches but the loop's, and one
// comparison per level that must wait for the level below.
Key least_sibling(const Key* tree, std::size_t place) {
  Key least = lesser(lesser(tree[place ^ 1], tree[place ^ 2]), tree[place ^ 3]);
  asm("" : "+r"(least));  // keeps compilers from comparing the level below first
  return least;
}

}  // namespace

struct Engine::Armed {
  Time time;
  std::uint64_t order;
  SlotId slot;
  bool operator<(const Armed& other) const {
    return std::tie(time, order) < std::tie(other.time, other.order);
  }
};

Engine::Engine() : owner_(kRanks) { rebuild(4, {}); }

SlotId Engine::add_slot(Fire fire, void* object) {
  CHECK(slots_.size() < kMaxSlots, "too many slots for one engine");
  if (slots_.size() == first_leaf_) {
    // Another level. All leaves stay equally deep, so that every walk takes the same number of
    // turns, which branch predictors like.
    if (fired_ != kNoSlot) replace_fired(kNever);
    rebuild(first_leaf_ * 4, all_armed());
  }
  slots_.push_back({fire, object, false});
  far_.emplace_back();
  return static_cast<SlotId>(slots_.size() - 1);
}

// Everything armed, in order; fired_ must have been dealt with.
std::vector<Engine::Armed> Engine::all_armed() const {
  std::vector<Armed> armed;
  const auto add = [&](SlotId slot, Key key) {
    if (key == kFar)
      armed.push_back({far_[slot].time, far_[slot].order, slot});
    else if (key != kNever)
      armed.push_back({time_of_key(key), key % kRanks, slot});
  };
  for (SlotId slot = 0; slot < slots_.size(); ++slot) add(slot, leaf(slot));
  for (std::size_t i = near_count_; i > 0; --i) add(owner_[near_[i] % kRanks], near_[i]);
  std::sort(armed.begin(), armed.end());
  return armed;
}

// Gives every armed event a new key, in the same order.
void Engine::rebase(bool to_earliest) {
  if (fired_ != kNoSlot) replace_fired(kNever);
  const std::vector<Armed> armed = all_armed();
  base_ = to_earliest ? armed.front().time : now_;
  rebuild(first_leaf_, armed);
}

// Makes a tree with this many leaves that holds these events, ranked in the order they are given.
void Engine::rebuild(std::size_t first_leaf, const std::vector<Armed>& armed) {
  for (; near_count_ > 0; --near_count_) slots_[owner_[nearest() % kRanks]].near = false;
  aside_known_ = false;
  rank_ = 0;
  first_leaf_ = first_leaf;
  groups_.assign(first_leaf / 2, Group{{kNever, kNever, kNever, kNever}});
  for (const Armed& event : armed) {
    Key& key = tree()[first_leaf_ + event.slot];
    const auto since = static_cast<std::uint64_t>((event.time - base_).count_ps());
    if (since < kHorizonPs) {
      key = since << kRankBits | rank_;
      owner_[rank_++] = event.slot;
    } else {
      key = kFar;
    }
  }
  for (std::size_t group = groups_.size(); group-- > 1;)
    tree()[group] = *std::min_element(groups_[group].place, groups_[group].place + 4);
  root_ = tree()[1];
}

Time Engine::time_of_key(Key key) const {
  if (key >= kFar) [[unlikely]]
    return key == kFar ? earliest_far() : Time::never();
  return base_ + Time::ps(static_cast<std::int64_t>(key >> kRankBits));
}

Time Engine::earliest_far() const {
  Time earliest = Time::never();
  for (SlotId slot = 0; slot < slots_.size(); ++slot)
    if (leaf(slot) == kFar) earliest = std::min(earliest, far_[slot].time);
  return earliest;
}

// Writes the leaf of a slot other than fired_. The walk ends where the winner stays what it was.
void Engine::write(SlotId slot, Key key) {
  Key* const tree = this->tree();
  std::size_t place = first_leaf_ + slot;
  aside_known_ = false;
  for (;;) {
    tree[place] = key;
    key = lesser(key, least_sibling(tree, place));
    place /= 4;
    if (place == 1) break;
    if (tree[place] == key) return;
  }
  root_ = key;
}

// Writes the leaf of fired_, whose whole path changes.
void Engine::replace_fired(Key key) {
  Key* const tree = this->tree();
  std::size_t place = first_leaf_ + fired_;
  fired_ = kNoSlot;
  if (aside_known_) {
    aside_known_ = false;
    for (const Key* least = aside_.data(); place != 1; place /= 4) {
      tree[place] = key;
      key = lesser(key, *least++);
    }
  } else {
    do {
      tree[place] = key;
      key = lesser(key, least_sibling(tree, place));
      place /= 4;
    } while (place != 1);
  }
  root_ = key;
}

void Engine::look_aside() const {
  Key* out = aside_.data();
  second_ = kNever;
  for (std::size_t place = first_leaf_ + fired_; place != 1; place /= 4) {
    *out = least_sibling(tree(), place);
    second_ = lesser(second_, *out++);
  }
  aside_known_ = true;
}

Time Engine::next_time() const {
  if (fired_ == kNoSlot) return time_of_key(lesser(nearest(), root_));
  if (!aside_known_) look_aside();
  return time_of_key(lesser(nearest(), second_));
}

bool Engine::is_free_until(Time time) {
  if (stopped_ || bound_exact_) return false;
  bound_ = next_time();
  bound_exact_ = true;
  return time < bound_;
}

Time Engine::time_of(SlotId slot) const {
  if (slots_[slot].near) {
    std::size_t place = near_count_;
    while (owner_[near_[place] % kRanks] != slot) --place;
    return time_of_key(near_[place]);
  }
  if (slot == fired_) return Time::never();
  const Key key = leaf(slot);
  return key == kFar ? far_[slot].time : time_of_key(key);
}

void Engine::schedule(SlotId slot, Time time) {
  const auto since = static_cast<std::uint64_t>((time - base_).count_ps());
  if (time < now_ || since >= kHorizonPs || rank_ == kRanks) [[unlikely]]
    return schedule_rarely(slot, time);
  bound_ = std::min(bound_, time);
  const Key key = since << kRankBits | rank_;
  owner_[rank_++] = slot;
  if (slot == fired_) return arm_fired(key);
  if (slots_[slot].near) {
    disarm_near(slot);
  } else if (leaf(slot) != kNever) {
    bound_exact_ = false;
    return write(slot, key);
  }
  if (fired_ != kNoSlot) replace_fired(kNever);
  arm_near(slot, key);
}

// Arms a slot that is not armed, while no slot is fired_. What comes after the first in the tree
// belongs there, too, and so does the last of a full list.
inline void Engine::arm_near(SlotId slot, Key key) {
  if (key > root_) return write(slot, key);
  if (near_count_ == kNear) {
    if (key > near_[1]) return write(slot, key);
    const SlotId last = owner_[near_[1] % kRanks];
    slots_[last].near = false;
    write(last, near_[1]);
    std::copy(near_.begin() + 2, near_.end(), near_.begin() + 1);
    --near_count_;
  }
  slots_[slot].near = true;
  std::size_t place = ++near_count_;
  for (; near_[place - 1] < key; --place) near_[place] = near_[place - 1];
  near_[place] = key;
}

void Engine::disarm_near(SlotId slot) {
  slots_[slot].near = false;
  bound_exact_ = false;
  std::size_t place = near_count_;
  while (owner_[near_[place] % kRanks] != slot) --place;
  for (; place < near_count_; ++place) near_[place] = near_[place + 1];
  --near_count_;
}

// It leaves the tree if it comes before all that is there: then its next events do not touch it.
inline void Engine::arm_fired(Key key) {
  if (!aside_known_) look_aside();
  if (key > second_ || near_count_ == kNear) return replace_fired(key);
  const SlotId slot = fired_;
  replace_fired(kNever);
  arm_near(slot, key);
}

void Engine::schedule_rarely(SlotId slot, Time time) {
  if (time < now_) reject(time);
  cancel(slot);
  if (time == Time::never()) return;
  bound_ = std::min(bound_, time);
  rebase(false);
  if (static_cast<std::uint64_t>((time - base_).count_ps()) < kHorizonPs) {
    schedule(slot, time);
  } else {
    far_[slot] = {time, far_order_++};
    write(slot, kFar);
  }
}

void Engine::reject(Time time) const {
  CHECK(time >= now_, "time " + std::to_string(time.count_ps()) + " ps is past; it is " +
                          std::to_string(now_.count_ps()) + " ps");
  throw SimulationError("unreachable");
}

void Engine::cancel(SlotId slot) {
  if (slots_[slot].near) {
    disarm_near(slot);
  } else if (slot != fired_ && leaf(slot) != kNever) {
    bound_exact_ = false;
    write(slot, kNever);
  }
}

// Every transient event in flight has a slot, which the next one uses again.
void Engine::post(Time time, PostFire fire, void* object, std::uint64_t argument) {
  CHECK(time != Time::never(), "a transient event needs a time to come");
  if (free_transients_.empty()) {
    Transient& fresh = transients_.emplace_back(Transient{*this, kNoSlot, nullptr, nullptr, 0});
    fresh.slot = add_slot(fire_transient, &fresh);
    free_transients_.push_back(&fresh);
  }
  Transient& event = *free_transients_.back();
  schedule(event.slot, time);
  free_transients_.pop_back();
  event.fire = fire;
  event.object = object;
  event.argument = argument;
}

void Engine::fire_transient(void* transient) {
  auto& self = *static_cast<Transient*>(transient);
  self.engine.free_transients_.push_back(&self);
  const Transient event = self;
  event.fire(event.object, event.argument);
}

bool Engine::step() {
  if (stopped_) return false;
  if (fired_ != kNoSlot) replace_fired(kNever);
  Key key = nearest();
  SlotId slot = kNoSlot;
  if (key < root_) {
    --near_count_;
    slot = owner_[key % kRanks];
    slots_[slot].near = false;
    // What try_advance() asks for next, most often.
    const Key next = lesser(nearest(), root_);
    bound_ = base_ + Time::ps(static_cast<std::int64_t>(next >> kRankBits));
    bound_exact_ = next < kFar;
  } else {
    if (root_ >= kFar) [[unlikely]] {
      if (root_ == kNever) return false;
      rebase(true);
    }
    key = root_;
    slot = owner_[key % kRanks];
    fired_ = slot;
    bound_ = Time();
    bound_exact_ = false;
  }
  now_ = base_ + Time::ps(static_cast<std::int64_t>(key >> kRankBits));
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

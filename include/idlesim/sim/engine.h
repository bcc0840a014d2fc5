// The clock and the queue of what happens next.
//
// Every entity that can act (a CPU, a timer, a line in service) owns a slot, which holds at most
// one next event. The slots are the leaves of a 4-ary winner tree ordered by (time, sequence of the
// schedule call): to arm, move or disarm a slot rewrites one leaf and its path to the root, without
// allocation. What is rare or unbounded in number goes through post().
#ifndef IDLESIM_SIM_ENGINE_H_
#define IDLESIM_SIM_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "idlesim/base/check.h"
#include "idlesim/base/types.h"

namespace idlesim::sim {

using SlotId = std::uint32_t;
using Fire = void (*)(void* object);
using PostFire = void (*)(void* object, std::uint64_t argument);

class Engine {
 public:
  Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // One entity that can act; `fire(object)` is called for each of its events. Slots may be added at
  // any time and live as long as the engine.
  SlotId add_slot(Fire fire, void* object);

  // Arms the slot, or moves its event. Events at equal times fire in the order of these calls.
  // time >= now(); Time::never() is the same as cancel().
  void schedule(SlotId slot, Time time);
  void cancel(SlotId slot);
  bool armed(SlotId slot) const { return time_of(slot) != Time::never(); }
  // Time::never() if the slot is not armed; so it is while it fires, until it is armed again.
  Time time_of(SlotId slot) const {
    return slot == fired_ ? Time::never() : time_of_key(leaf(slot));
  }

  // A transient event: `fire(object, argument)` at `time`, in order with all other events. It
  // cannot be cancelled or moved.
  void post(Time time, PostFire fire, void* object, std::uint64_t argument);

  Time now() const { return now_; }
  // Time of the earliest armed event, Time::never() if there is none. While a slot fires its own
  // event no longer counts.
  Time next_time() const { return time_of_key(fired_ == kNoSlot ? root_ : second()); }

  // If nothing else happens up to and including `time`, moves the clock there and returns true: the
  // entity that runs goes on without suspending. False also once stopped, so that it comes to rest.
  bool try_advance(Time time) {
    if (fired_ != kNoSlot) retire_fired();
    if (time >= time_of_key(root_) || stopped_) return false;
    CHECK(time >= now_, "the clock cannot go back");
    now_ = time;
    return true;
  }

  // Fires the earliest event; false if there is none or the engine was stopped. What `fire` throws
  // passes through; the event counts as fired.
  bool step();
  // Fires events until none is armed or the engine is stopped.
  void run();
  // Nothing fires any more after the current event.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  // Events fired so far, transient ones included.
  std::uint64_t events() const { return events_; }

 private:
  // (time, sequence, slot) as one number. 20 bits name a slot, 44 the sequence: at 10^8 schedule
  // calls a second of host time these last two days.
  __extension__ using Key = unsigned __int128;
  static constexpr int kSlotBits = 20;
  static constexpr std::uint64_t kSequenceStep = std::uint64_t{1} << kSlotBits;
  static constexpr SlotId kNoSlot = ~SlotId{0};
  static constexpr Key kNever = static_cast<Key>(std::uint64_t{1} << 63 ^ ~std::uint64_t{0}) << 64;

  // The four children of one node, on one cache line. The winner of group g stands in group
  // (g - 1) / 4 at place (g - 1) % 4, and that of group 0 in root_.
  struct alignas(64) Group {
    Key child[4];
  };
  struct Slot {
    Fire fire;
    void* object;
  };
  struct Transient {
    Key key;
    PostFire fire;
    void* object;
    std::uint64_t argument;
  };

  static Time time_of_key(Key key) { return Time::ps(static_cast<std::int64_t>(key >> 64)); }
  static Key key_of(Time time, std::uint64_t low) {
    return static_cast<Key>(static_cast<std::uint64_t>(time.count_ps())) << 64 | low;
  }
  static SlotId slot_of(Key key) {
    return static_cast<SlotId>(static_cast<std::uint64_t>(key) & (kSequenceStep - 1));
  }
  const Key& leaf(SlotId slot) const {
    const std::size_t place = first_leaf_ + slot;
    return groups_[place / 4].child[place % 4];
  }

  std::uint64_t take_sequence() {
    const std::uint64_t sequence = sequence_;
    sequence_ += kSequenceStep;
    CHECK(sequence_ != 0, "too many schedule calls for one engine");
    return sequence;
  }
  void write(SlotId slot, Key key);
  void write_winner(SlotId slot, Key key);
  void retire_fired();
  Key second() const;
  void grow();
  static void fire_transient(void* engine);

  Key root_ = kNever;
  Time now_;
  SlotId fired_ = kNoSlot;  // its leaf and path still hold the key that fired
  bool stopped_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_ = 0;
  std::size_t first_leaf_ = 0;  // counted in children over all groups
  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  SlotId transient_slot_ = kNoSlot;
  std::vector<Transient> transients_;  // a heap, earliest first
};

}  // namespace idlesim::sim

#endif  // IDLESIM_SIM_ENGINE_H_

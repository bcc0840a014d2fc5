// The clock and the queue of what happens next.
//
// Every entity that can act (a CPU, a timer, a line in service) owns a slot, which holds at most
// one next event. The slots are the leaves of a 4-ary winner tree ordered by (time, sequence of the
// schedule call): to arm, move or disarm a slot rewrites one leaf and its path to the root, without
// allocation. What is rare or unbounded in number goes through post().
#ifndef IDLESIM_SIM_ENGINE_H_
#define IDLESIM_SIM_ENGINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
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
  Time time_of(SlotId slot) const;

  // A transient event: `fire(object, argument)` at `time`, in order with all other events. It
  // cannot be cancelled or moved.
  void post(Time time, PostFire fire, void* object, std::uint64_t argument);

  Time now() const { return now_; }
  // Time of the earliest armed event, Time::never() if there is none. While a slot fires its own
  // event no longer counts.
  Time next_time() const;

  // If nothing else happens up to and including `time`, moves the clock there and returns true: the
  // entity that runs goes on without suspending. False also once stopped, so that it comes to rest.
  bool try_advance(Time time) {
    if (time >= bound_ && !is_free_until(time)) return false;
    if (time < now_) [[unlikely]]
      reject(time);
    now_ = time;
    return true;
  }

  // Fires the earliest event; false if there is none or the engine was stopped. What `fire` throws
  // passes through; the event counts as fired.
  bool step();
  // Fires events until none is armed or the engine is stopped.
  void run();
  // Nothing fires any more after the current event.
  void stop() {
    stopped_ = true;
    bound_ = Time();
  }
  bool stopped() const { return stopped_; }

  // Events fired so far, transient ones included.
  std::uint64_t events() const { return events_; }

 private:
  // The order of an event in one word: its time since base_, then its rank, which counts the
  // schedule calls since base_ was set. When the ranks are used up, or the word cannot hold the
  // time of the next event, rebase() gives all armed events new keys in the same order.
  using Key = std::uint64_t;
  static constexpr int kRankBits = 17;
  static constexpr SlotId kRanks = SlotId{1} << kRankBits;
  static constexpr std::uint64_t kHorizonPs = (std::uint64_t{1} << (64 - kRankBits)) - 1;
  static constexpr SlotId kMaxSlots = kRanks / 2;
  static constexpr SlotId kNoSlot = ~SlotId{0};
  static constexpr Key kNever = ~Key{0};
  static constexpr Key kFar = kNever - 1;  // beyond the horizon: see far_
  static constexpr int kMaxLevels = kRankBits / 2 + 1;
  static constexpr std::size_t kNear = 8;

  // Four nodes of the tree with one parent. Nodes are numbered so that the parent of place p is at
  // place p / 4 and the root at place 1, so its children at 4 to 7, theirs at 16 to 31.
  struct alignas(32) Group {
    Key place[4];
  };
  struct Slot {
    Fire fire;
    void* object;
    bool near;  // its key is in near_, not in its leaf
  };
  // The event of a slot whose leaf is kFar.
  struct Far {
    Time time;
    std::uint64_t order = 0;
  };
  struct Transient {
    Engine& engine;
    SlotId slot;
    PostFire fire;
    void* object;
    std::uint64_t argument;
  };
  struct Armed;

  [[noreturn]] void reject(Time time) const;
  Time time_of_key(Key key) const;
  Key* tree() { return groups_.front().place; }
  const Key* tree() const { return groups_.front().place; }
  Key leaf(SlotId slot) const { return tree()[first_leaf_ + slot]; }
  void schedule_rarely(SlotId slot, Time time);
  void arm_near(SlotId slot, Key key);
  void disarm_near(SlotId slot);
  void arm_fired(Key key);
  Key nearest() const { return near_[near_count_]; }
  void write(SlotId slot, Key key);
  void replace_fired(Key key);
  void look_aside() const;
  bool is_free_until(Time time);
  void rebase(bool to_earliest);
  void rebuild(std::size_t first_leaf, const std::vector<Armed>& armed);
  std::vector<Armed> all_armed() const;
  Time earliest_far() const;
  static void fire_transient(void* transient);

  Time now_;
  Time bound_;                // no event is armed before this; it may be too low,
  bool bound_exact_ = false;  // or is known not to be
  Time base_;                 // <= now_
  SlotId rank_ = 0;
  // The slot that fires, if its event came from the tree. Its leaf and the path to the root still
  // hold its old key, which is less than any other, until it is armed again or the next event is
  // wanted: most often one walk serves both.
  SlotId fired_ = kNoSlot;
  bool stopped_ = false;
  // While aside_known_: the least key beside the path of fired_, in all and for each level.
  mutable bool aside_known_ = false;
  // An armed slot has its key either here or in its leaf. Entries 1 to near_count_, the earliest
  // last; entry 0 stays kNever.
  std::size_t near_count_ = 0;
  std::array<Key, 1 + kNear> near_{kNever};
  Key root_ = kNever;
  std::uint64_t events_ = 0;
  std::size_t first_leaf_ = 0;  // the place of slot 0; there are as many leaves
  std::vector<Group> groups_;
  std::vector<SlotId> owner_;  // by rank
  std::vector<Slot> slots_;
  mutable Key second_ = kNever;
  mutable std::array<Key, kMaxLevels> aside_{};
  std::vector<Far> far_;  // by slot
  std::uint64_t far_order_ = 0;
  std::deque<Transient> transients_;
  std::vector<Transient*> free_transients_;
};

}  // namespace idlesim::sim

#endif  // IDLESIM_SIM_ENGINE_H_

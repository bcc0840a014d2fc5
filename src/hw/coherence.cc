#include "idlesim/hw/coherence.h"

#include <algorithm>

#include "idlesim/base/check.h"

namespace idlesim::hw {

bool CoreSet::test_bitmap(CoreId core) const {
  const auto word = static_cast<std::size_t>(core) / 64;
  return word < bitmap_.size() && (bitmap_[word] >> (core % 64) & 1) != 0;
}

void CoreSet::add(CoreId core) {
  if (test(core)) return;
  if (bitmap_.empty() && count_ < kFew) {
    few_[static_cast<std::size_t>(count_++)] = core;
    return;
  }
  const auto set_bit = [this](CoreId c) {
    const auto word = static_cast<std::size_t>(c) / 64;
    if (word >= bitmap_.size()) bitmap_.resize(word + 1);
    bitmap_[word] |= std::uint64_t{1} << (c % 64);
  };
  if (bitmap_.empty())
    for (CoreId c : few_) set_bit(c);
  set_bit(core);
  ++count_;
}

namespace {

trace::From from_of(Relation relation) {
  switch (relation) {
    case Relation::kSelf:
    case Relation::kSibling:
      return trace::From::kSibling;
    case Relation::kCluster:
      return trace::From::kCluster;
    case Relation::kSocket:
      return trace::From::kSocket;
    case Relation::kRemote:
      return trace::From::kRemote;
  }
  return trace::From::kMemory;
}

}  // namespace

bool Line::holders_in_cluster_of(CoreId core, Request request) const {
  const Topology& topology = directory_->topology();
  const int cluster = topology.cluster_of_core(core);
  const auto near = [&](CoreId other) { return topology.cluster_of_core(other) == cluster; };
  if (request == Request::kGetS) {
    if (owner_ != kNoCore) return near(owner_);
    bool any = false;
    sharers_.for_each([&](CoreId sharer) { any = any || near(sharer); });
    return any;
  }
  if (request == Request::kFarAtomic) return false;
  if (owner_ == kNoCore && sharers_.empty()) return false;
  bool all = owner_ == kNoCore || near(owner_);
  sharers_.for_each([&](CoreId sharer) { all = all && near(sharer); });
  return all;
}

// Only the threads of the writer's core can still watch the line. They may unwatch while told.
void Line::tell_siblings(CpuId cpu, CoreId core) {
  for (std::size_t i = monitors_.size(); i-- > 0;)
    if (monitors_[i]->watcher_core == core && monitors_[i]->watcher_cpu != cpu)
      monitors_[i]->monitored_line_lost();
  for (std::size_t i = spinners_.size(); i-- > 0;)
    if (spinners_[i]->watcher_core == core) spinners_[i]->spin_line_lost();
}

// When the request arrives where it is resolved: in the cluster if that is where the line is.
// `holder`: the core that will have the line then, if not the present ones.
void Line::travel(Transaction& tx, CoreId holder) const {
  const Topology& topology = directory_->topology();
  const bool same_cluster =
      holder == kNoCore || topology.core_relation(tx.core, holder) <= Relation::kCluster;
  tx.local = same_cluster && holders_in_cluster_of(tx.core, tx.request);
  const Time leg =
      tx.local ? directory_->spec().cluster.request : directory_->home_legs(tx.core, home_).request;
  tx.arrival = tx.issued + scaled(leg);
}

// Most requests: `owner_` gives the line to another core, and no third one has to hear of it.
inline bool Line::moves_from_owner(const Transaction& tx) const {
  if (owner_ == kNoCore || owner_ == tx.core) return false;
  return tx.request == Request::kGetS ||
         (tx.request == Request::kGetM && sharers_.none_but(tx.core));
}

// For these, the same as travel() and plan_service().
inline void Line::plan_move_from_owner(Transaction& tx) const {
  const Topology& topology = directory_->topology();
  const CoherenceSpec& spec = directory_->spec();
  const auto plan = [&](Time request, Time snoop, Time data) {
    tx.arrival = tx.issued + scaled(request);
    tx.started = std::max(tx.arrival, free_at_);
    tx.snoop_at = tx.started + scaled(snoop);
    tx.done_at = tx.snoop_at + scaled(data);
  };
  tx.local = topology.cluster_of_core(owner_) == tx.cluster;
  if (tx.local) {
    tx.from = trace::From::kCluster;
    plan(spec.cluster.request, spec.cluster.snoop, spec.cluster.data);
    return;
  }
  const int socket = topology.socket_of_core(owner_);
  tx.from = socket == tx.socket ? trace::From::kSocket : trace::From::kRemote;
  plan((tx.socket == home_socket_ ? spec.socket : spec.remote).request,
       socket == home_socket_ ? spec.socket.snoop : spec.remote.snoop + spec.directory,
       (socket == tx.socket ? spec.socket : spec.remote).data);
}

inline void Line::plan(Transaction& tx) const {
  if (moves_from_owner(tx)) {
    plan_move_from_owner(tx);
  } else {
    travel(tx, kNoCore);
    tx.started = std::max(tx.arrival, free_at_);
    plan_service(tx);
  }
}

bool Line::request(Transaction& tx, bool waits) {
  settle();
  sim::Engine& engine = directory_->engine();
  tx.issued = engine.now();
  tx.in_service = tx.snooped = false;
  tx.next = nullptr;
  tx.queued = head_ != nullptr || tx.request != Request::kGetS || !clean();
  if (head_ != nullptr) {
    enqueue(tx);
    return false;
  }
  if (watched_ && tx.request != Request::kGetS) {
    head_ = &tx;
    start(tx);
    return false;
  }
  plan(tx);
  if (waits && engine.try_advance(tx.done_at)) {
    snoop(tx);
    emit(tx);
    if (tx.queued) free_at_ = tx.done_at + tx.hold;
    return true;
  }
  if (tx.queued) head_ = &tx;
  tx.in_service = true;
  engine.schedule(tx.slot, tx.done_at);
  return false;
}

// The queue is in order of arrival at the home; whoever is in service stays.
void Line::enqueue(Transaction& tx) {
  Transaction* last = head_;
  while (last->next != nullptr) last = last->next;
  travel(tx, last->core);
  if (head_->started > tx.issued && tx.arrival < head_->arrival) {
    // The first in line is still travelling and was overtaken by a nearer requester.
    directory_->engine().cancel(head_->slot);
    head_->in_service = false;
    tx.next = head_;
    head_ = &tx;
    start(tx);
    return;
  }
  Transaction* before = head_;
  while (before->next != nullptr && before->next->arrival <= tx.arrival) before = before->next;
  tx.next = before->next;
  before->next = &tx;
}

// Distance to the farthest copy that must be invalidated: it decides when all have answered.
void Line::farthest_sharer(const Transaction& tx, Time& snoop_leg, Time& data_leg,
                           Relation& relation) const {
  const Topology& topology = directory_->topology();
  sharers_.for_each([&](CoreId sharer) {
    if (sharer == tx.core) return;
    const Relation r = topology.core_relation(tx.core, sharer);
    const Time s =
        tx.local ? directory_->spec().cluster.snoop : directory_->home_legs(sharer, home_).snoop;
    const Time d = directory_->legs(r).data;
    if (s + d > snoop_leg + data_leg) {
      snoop_leg = s;
      data_leg = d;
    }
    relation = std::max(relation, r);
  });
}

void Line::plan_service(Transaction& tx) const {
  const Topology& topology = directory_->topology();
  const CoherenceSpec& spec = directory_->spec();
  Time snoop_leg;
  Time data_leg;
  Relation relation = Relation::kSelf;
  bool from_memory = false;
  if (owner_ != kNoCore && owner_ != tx.core) {
    relation = topology.core_relation(tx.core, owner_);
    snoop_leg = tx.local ? spec.cluster.snoop : directory_->home_legs(owner_, home_).snoop;
    if (!tx.local && topology.socket_of_core(owner_) != topology.socket_of_node(home_))
      snoop_leg += spec.directory;
    data_leg = tx.request == Request::kFarAtomic ? directory_->home_legs(owner_, home_).data
                                                 : directory_->legs(relation).data;
  } else if (owner_ == kNoCore && !sharers_.test(tx.core) && tx.request != Request::kFarAtomic) {
    const bool local = holders_in_cluster_of(tx.core, Request::kGetS);
    relation = local ? Relation::kCluster
                     : (topology.socket_of_core(tx.core) == topology.socket_of_node(home_)
                            ? Relation::kSocket
                            : Relation::kRemote);
    data_leg = local ? spec.cluster.data : directory_->home_legs(tx.core, home_).data;
    if (state_ == LineState::kInvalid) {
      data_leg += spec.memory;
      from_memory = true;
    }
  }
  if (tx.request != Request::kGetS) farthest_sharer(tx, snoop_leg, data_leg, relation);
  if (relation == Relation::kSelf && tx.request == Request::kFarAtomic)
    relation = topology.socket_of_core(tx.core) == topology.socket_of_node(home_)
                   ? Relation::kSocket
                   : Relation::kRemote;
  tx.from = from_memory ? trace::From::kMemory : from_of(relation);
  tx.snoop_at = tx.started + scaled(snoop_leg);
  tx.done_at = tx.snoop_at + scaled(data_leg);
  if (tx.request == Request::kFarAtomic) tx.done_at += spec.far_atomic;
}

// Watchers are to be told before it is done.
void Line::start(Transaction& tx) {
  tx.in_service = true;
  plan(tx);
  sim::Engine& engine = directory_->engine();
  engine.schedule(tx.slot, tx.done_at);
  if (!watched_ || !tx.queued || tx.request == Request::kGetS) return;
  if (!monitors_.empty()) engine.post(tx.snoop_at, settle_event, this, 0);
  if (!spinners_.empty()) engine.post(tx.snoop_at, spin_event, this, 0);
}

void Line::settle_event(void* line, std::uint64_t) { static_cast<Line*>(line)->settle(); }

// Tells relax loops that their line is being taken, and leaves the rest to whoever looks next.
void Line::spin_event(void* line, std::uint64_t) {
  Line& self = *static_cast<Line*>(line);
  const Transaction* const head = self.head_;
  if (head == nullptr || !head->in_service || head->snooped || head->request == Request::kGetS ||
      head->snoop_at > self.directory_->engine().now())
    return;
  self.tell_spinners(head->request == Request::kGetM ? head->core : kNoCore);
}

void Line::settle_head() {
  if (head_->in_service && head_->snoop_at <= directory_->engine().now()) snoop(*head_);
}

// The request has reached the previous holders: from here on they do not have what it takes away.
void Line::snoop(Transaction& tx) {
  tx.snooped = true;
  if (tx.request == Request::kGetS) {
    take_read(tx);
    return;
  }
  sharers_.clear();
  if (tx.request == Request::kGetM) {
    owner_ = tx.core;
    state_ = LineState::kModified;
  } else {
    owner_ = kNoCore;
    state_ = LineState::kShared;  // at the home, which is up to date
  }
  if (watched_) notify(tx.request == Request::kGetM ? tx.core : kNoCore);
}

void Line::take_read(const Transaction& tx) {
  if (owner_ == tx.core) return;
  const bool dirty = state_ == LineState::kModified || state_ == LineState::kOwned;
  // A read of a clean line that a writer has overtaken: it has its value, but cannot keep the line.
  if (!tx.queued && (dirty || (head_ != nullptr && head_->snooped))) return;
  if (owner_ == kNoCore && sharers_.empty()) {
    owner_ = tx.core;
    state_ = LineState::kExclusive;
    return;
  }
  if (owner_ != kNoCore) {
    if (dirty && directory_->spec().protocol == Protocol::kMoesi) {
      state_ = LineState::kOwned;
    } else {
      sharers_.add(owner_);
      owner_ = kNoCore;
      state_ = LineState::kShared;
    }
  }
  sharers_.add(tx.core);
}

// Watchers outside `keeper` have lost the line. They may unwatch while being told.
void Line::notify(CoreId keeper) {
  for (std::size_t i = monitors_.size(); i-- > 0;)
    if (monitors_[i]->watcher_core != keeper) monitors_[i]->monitored_line_lost();
  tell_spinners(keeper);
}

void Line::tell_spinners(CoreId keeper) {
  for (std::size_t i = spinners_.size(); i-- > 0;)
    if (spinners_[i]->watcher_core != keeper) spinners_[i]->spin_line_lost();
}

void Line::complete(Transaction& tx) {
  settle();
  if (!tx.snooped) snoop(tx);
  emit(tx);
  if (!tx.queued) return;
  CHECK(head_ == &tx, "only the request in service completes");
  head_ = tx.next;
  free_at_ = directory_->engine().now() + tx.hold;
  // Reads of what is now a clean line do not wait for each other.
  while (head_ != nullptr && head_->request == Request::kGetS && clean()) {
    Transaction& read = *head_;
    read.queued = false;
    head_ = read.next;
    start(read);
  }
  if (head_ != nullptr) start(*head_);
}

void Line::emit(const Transaction& tx) const {
  trace::Tracer& tracer = directory_->tracer();
  if (!tracer.wanted<trace::LineTransfer>()) return;
  const trace::Access access = tx.request == Request::kGetS   ? trace::Access::kRead
                               : tx.request == Request::kGetM ? trace::Access::kWrite
                                                              : trace::Access::kFarAtomic;
  tracer.emit(trace::LineTransfer{tx.issued, directory_->engine().now(), tx.started - tx.arrival,
                                  tx.cpu, name_, access, tx.from});
}

void Line::take(CpuId cpu, CoreId core) {
  if (head_ != nullptr) return;
  owner_ = core;
  state_ = LineState::kModified;
  sharers_.clear();
  notify(core);
  written(cpu, core);
}

void Line::watch(Watchers& watchers, Watcher& watcher, sim::PostFire event) {
  watchers.push_back(&watcher);
  watched_ = true;
  if (head_ != nullptr && head_->in_service && !head_->snooped && head_->request != Request::kGetS)
    directory_->engine().post(std::max(head_->snoop_at, directory_->engine().now()), event, this,
                              0);
}

void Line::unwatch(Watchers& watchers, Watcher& watcher) {
  const auto it = std::find(watchers.begin(), watchers.end(), &watcher);
  CHECK(it != watchers.end(), "unwatch without watch");
  watchers.erase(it);
  watched_ = !monitors_.empty() || !spinners_.empty();
}

int Line::queue_length() const {
  int length = 0;
  for (const Transaction* tx = head_; tx != nullptr; tx = tx->next) ++length;
  return length;
}

}  // namespace idlesim::hw

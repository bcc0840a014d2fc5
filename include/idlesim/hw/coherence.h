// Cache lines: who holds them, what moving them costs, and the queue at each line.
//
// A line is cached per core (hardware threads share their core's cache). A request travels from the
// requester to the line's home, from there to the owner, and the data from the owner to the
// requester; each leg costs what its distance costs in the machine file. Inside a cluster (one
// shared cache) the line is resolved there and the home is not asked. Requests that move ownership
// are served one after the other in the order in which they reach the home: contention is an
// outcome, not a parameter. Reads of a line nobody has modified do not wait for each other.
//
// Not modelled: capacity and conflict misses (a line stays cached until somebody takes it),
// prefetching, several outstanding loads of one thread.
#ifndef IDLESIM_HW_COHERENCE_H_
#define IDLESIM_HW_COHERENCE_H_

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "idlesim/base/types.h"
#include "idlesim/hw/topology.h"
#include "idlesim/sim/engine.h"
#include "idlesim/trace/trace.h"

namespace idlesim::hw {

using trace::LineName;

// Textbook letters. A line is in one state for the machine as a whole; `owner` and `sharers` say
// which cores have it.
enum class LineState : std::uint8_t {
  kInvalid,    // no core has it; memory is up to date
  kShared,     // some cores may read it; memory or a shared cache is up to date
  kOwned,      // MOESI: `owner` has modified it, others may read it
  kExclusive,  // one core has it, clean
  kModified,   // one core has it, dirty
};

enum class Protocol : std::uint8_t { kMesi, kMesif, kMoesi };

// Where a read-modify-write whose result nobody needs is executed (arm64 LSE): in the core, at the
// home unless the core has the line to itself, or always at the home. kLlSc: without LSE, by load
// and store exclusive in the core, whose result is always waited for (Linux prefetches the line for
// the store, so it comes once). Sources: machine files.
enum class Atomics : std::uint8_t { kNear, kFarUnlessUnique, kFar, kLlSc };

struct Legs {
  Time request;  // requester to home
  Time snoop;    // home to owner
  Time data;     // owner (or home) to requester
};

struct CoherenceSpec {
  Protocol protocol = Protocol::kMesi;
  Atomics atomics = Atomics::kNear;
  Time l1_hit;
  Time sibling_transfer;  // the other thread of the core wrote the line last
  Legs cluster;
  Legs socket;
  Legs remote;
  Time directory;   // lookup in the home's memory directory if the owner sits in another socket
  Time memory;      // DRAM access if no core has the line
  Time far_atomic;  // service time of a far atomic at the home
  int spread_permille = 0;  // a line's legs are scaled by 1 +- this, drawn per line and run
};

// Cores holding a copy: a few inline, a bitmap beyond that.
class CoreSet {
 public:
  bool test(CoreId core) const {
    if (bitmap_.empty()) [[likely]]
      return few_[0] == core || few_[1] == core || few_[2] == core || few_[3] == core;
    return test_bitmap(core);
  }
  void add(CoreId core);
  void clear() {
    few_.fill(kNoCore);
    count_ = 0;
    if (!bitmap_.empty()) [[unlikely]]
      bitmap_.clear();  // keeps its capacity
  }
  bool empty() const { return count_ == 0; }
  int count() const { return count_; }
  bool none_but(CoreId core) const { return count_ == 0 || (count_ == 1 && few_[0] == core); }
  template <class Visit>
  void for_each(Visit visit) const {
    if (!bitmap_.empty()) {
      for (std::size_t word = 0; word < bitmap_.size(); ++word)
        for (std::uint64_t bits = bitmap_[word]; bits != 0; bits &= bits - 1)
          visit(static_cast<CoreId>(word * 64) + std::countr_zero(bits));
      return;
    }
    for (int i = 0; i < count_; ++i) visit(few_[static_cast<std::size_t>(i)]);
  }

 private:
  bool test_bitmap(CoreId core) const;

  static constexpr int kFew = 4;
  std::array<CoreId, kFew> few_{kNoCore, kNoCore, kNoCore, kNoCore};
  int count_ = 0;
  std::vector<std::uint64_t> bitmap_;
};

class Line;

// A CPU as the lines it watches see it. A line is lost when another core takes it away or the other
// thread of the core writes it.
class Watcher {
 public:
  // The line of a relax loop: what its next load finds may be new.
  virtual void spin_line_lost() = 0;
  // The line of the address monitor; not called for the CPU's own writes.
  virtual void monitored_line_lost() = 0;
  CoreId watcher_core = kNoCore;
  CpuId watcher_cpu = kNoCpu;

 protected:
  ~Watcher() = default;
};

enum class Request : std::uint8_t { kGetS, kGetM, kFarAtomic };

// One outstanding request to a line. Owned by the requester, which must keep it alive until it
// calls Line::complete() when `slot` fires.
struct Transaction {
  Request request = Request::kGetS;
  CpuId cpu = kNoCpu;
  CoreId core = kNoCore;
  int cluster = 0;  // of the core
  int socket = 0;
  sim::SlotId slot = 0;  // armed by the line with the time of completion
  Time hold;             // a locked read-modify-write keeps the line this long after it arrived
  Time issued;
  Time arrival;   // at the home
  Time started;   // service began
  Time snoop_at;  // the previous holders lose (or share) the line
  Time done_at;
  trace::From from = trace::From::kMemory;
  bool in_service = false;
  bool snooped = false;
  bool queued = false;  // occupies the line (false for reads of clean lines)
  bool local = false;   // resolved inside the requester's cluster
  Transaction* next = nullptr;
};

// The machine-wide part: topology, legs, engine, trace. Lines refer to it.
class Directory {
 public:
  Directory(sim::Engine& engine, trace::Tracer& tracer, const Topology& topology,
            const CoherenceSpec& spec)
      : engine_(engine), tracer_(tracer), topology_(topology), spec_(spec) {}

  sim::Engine& engine() const { return engine_; }
  trace::Tracer& tracer() const { return tracer_; }
  const Topology& topology() const { return topology_; }
  const CoherenceSpec& spec() const { return spec_; }
  const Legs& legs(Relation relation) const {
    return relation == Relation::kRemote   ? spec_.remote
           : relation == Relation::kSocket ? spec_.socket
                                           : spec_.cluster;
  }
  const Legs& home_legs(CoreId core, NodeId home) const {
    return topology_.socket_of_core(core) == topology_.socket_of_node(home) ? spec_.socket
                                                                            : spec_.remote;
  }

 private:
  sim::Engine& engine_;
  trace::Tracer& tracer_;
  const Topology& topology_;
  CoherenceSpec spec_;
};

class Line {
 public:
  Line(Directory& directory, LineName name, NodeId home, int scale_permille)
      : name_(name),
        directory_(&directory),
        scale_q20_((std::int64_t{scale_permille} << 20) / 1000),
        home_(home),
        home_socket_(directory.topology().socket_of_node(home)) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  LineName name() const { return name_; }
  NodeId home() const { return home_; }
  LineState state() const { return state_; }
  CoreId owner() const { return owner_; }
  const CoreSet& sharers() const { return sharers_; }
  // Who wrote it last, unless the other thread of that core has seen it since.
  CpuId last_writer() const { return last_writer_; }

  // May `core` read (write) the line now without a request? Brings the line up to date first: a
  // request whose snoop has arrived by now has taken it.
  bool can_read(CoreId core) {
    settle();
    return owner_ == core || sharers_.test(core);
  }
  bool can_write(CoreId core) {
    settle();
    return owner_ == core && state_ != LineState::kOwned;
  }

  // Quick tests that need no bringing up to date: no request is under way, the line is in the
  // core's cache, and its other thread has not written it since. For writes: nobody watches either.
  bool hits(CoreId core, CpuId cpu) const {
    return head_ == nullptr && (owner_ == core || sharers_.test(core)) && !sibling_wrote(core, cpu);
  }
  // This thread wrote it last and nobody has taken it away.
  bool hits_own(CoreId core, CpuId cpu) const {
    return head_ == nullptr && owner_ == core && last_writer_ == cpu;
  }
  bool hits_for_write(CoreId core, CpuId cpu) const {
    return head_ == nullptr && owner_ == core && state_ != LineState::kOwned && !watched_ &&
           !sibling_wrote(core, cpu);
  }
  // The other thread of `core` was the last to write it.
  bool sibling_wrote(CoreId core, CpuId cpu) const {
    return last_writer_core_ == core && last_writer_ != cpu;
  }

  // `cpu`, whose core may write the line, has written it.
  void written(CpuId cpu, CoreId core) {
    last_writer_ = cpu;
    last_writer_core_ = core;
    if (state_ == LineState::kExclusive) state_ = LineState::kModified;
    if (watched_) [[unlikely]]
      tell_siblings(cpu, core);
  }
  // The same for a line that hits_for_write().
  void written_unwatched(CpuId cpu, CoreId core) {
    last_writer_ = cpu;
    last_writer_core_ = core;
    state_ = LineState::kModified;
  }

  // For processes that are not simulated instruction by instruction: `cpu` has written the line, as
  // if no time had passed. Does nothing while requests are in line.
  void take(CpuId cpu, CoreId core);
  // The other thread of the core that wrote it last has seen it.
  void handed_over() {
    last_writer_ = kNoCpu;
    last_writer_core_ = kNoCore;
  }

  // Puts `transaction` in line and arms its slot, now or when its turn comes. True: it is done.
  // That is so if the requester `waits` (does nothing else meanwhile) and nothing else happens
  // before; the clock has moved there, and the slot is not armed.
  bool request(Transaction& transaction, bool waits);
  // Must be called when the slot fires; afterwards the requester's core has what it asked for and
  // the next request is on its way.
  void complete(Transaction& transaction);

  void watch_spin(Watcher& watcher) { watch(spinners_, watcher, spin_event); }
  void unwatch_spin(Watcher& watcher) { unwatch(spinners_, watcher); }
  void watch_monitor(Watcher& watcher) { watch(monitors_, watcher, settle_event); }
  void unwatch_monitor(Watcher& watcher) { unwatch(monitors_, watcher); }

  // Requests in line, the one in service included.
  int queue_length() const;

 private:
  // Reading it takes nothing away from anybody.
  bool clean() const { return state_ == LineState::kInvalid || state_ == LineState::kShared; }
  void settle() {
    if (head_ != nullptr && !head_->snooped) settle_head();
  }
  void settle_head();
  using Watchers = std::vector<Watcher*>;
  void watch(Watchers& watchers, Watcher& watcher, sim::PostFire event);
  void unwatch(Watchers& watchers, Watcher& watcher);
  void tell_siblings(CpuId cpu, CoreId core);
  void travel(Transaction& transaction, CoreId holder) const;
  void plan(Transaction& transaction) const;
  void start(Transaction& transaction);
  void enqueue(Transaction& transaction);
  void snoop(Transaction& transaction);
  void take_read(const Transaction& transaction);
  void notify(CoreId keeper);
  void tell_spinners(CoreId keeper);
  void emit(const Transaction& transaction) const;
  bool holders_in_cluster_of(CoreId core, Request request) const;
  bool moves_from_owner(const Transaction& transaction) const;
  void plan_move_from_owner(Transaction& transaction) const;
  void plan_service(Transaction& transaction) const;
  void farthest_sharer(const Transaction& transaction, Time& snoop, Time& data,
                       Relation& relation) const;
  // In 1/2^20, so that a leg costs a multiplication.
  Time scaled(Time leg) const { return Time::ps(leg.count_ps() * scale_q20_ >> 20); }
  static void settle_event(void* line, std::uint64_t);
  static void spin_event(void* line, std::uint64_t);

  // What a hit looks at stands together.
  Transaction* head_ = nullptr;
  CoreId owner_ = kNoCore;
  CpuId last_writer_ = kNoCpu;
  CoreId last_writer_core_ = kNoCore;
  LineName name_;
  LineState state_ = LineState::kInvalid;
  bool watched_ = false;  // somebody is in spinners_ or monitors_
  CoreSet sharers_;       // never contains owner_
  Directory* directory_;
  Time free_at_;
  std::int64_t scale_q20_;
  NodeId home_;
  int home_socket_;
  // Apart, because what concerns relax loops must not change the order of anything else: skipping
  // rounds is exact.
  Watchers spinners_;
  Watchers monitors_;
};

// A 64-bit variable of the kernel (or of a program) and the line it lives in. Several words may
// share a line: that is false sharing. The value is real: what is tested was read.
class Word {
 public:
  Word() = default;
  Word(Line& line, std::uint64_t value) : line_(&line), value_(value) {}
  Line& line() const { return *line_; }
  // For set-up and checks; code that runs on a CPU goes through Cpu::load() and friends.
  std::uint64_t peek() const { return value_; }
  void poke(std::uint64_t value) { value_ = value; }

 private:
  Line* line_ = nullptr;
  std::uint64_t value_ = 0;
};

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_COHERENCE_H_

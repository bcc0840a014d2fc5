// Where woken tasks go, how tasks share a CPU, and what a switch does to address spaces.
#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using kernel::WF_CURRENT_CPU;
using kernel::WF_SYNC;

KernelUnderTest::Options sched_options(std::function<void(hw::MachineSpec&)> machine = {}) {
  KernelUnderTest::Options options;
  options.config.features = features_of(hw::Arch::kX86_64, {});
  options.machine = std::move(machine);
  return options;
}

// --- select_task_rq(): a task that sleeps on `prev` is woken by a task on `waker`. Tasks of others
// keep the CPUs in `busy` occupied. The machine has two sockets, each a shared cache of
// `cores` cores of `threads` threads.
struct Placement {
  CpuId prev = 0;
  CpuId waker = 0;
  unsigned flags = 0;
  std::vector<CpuId> busy;
  int cores = 4;
  int threads = 1;
  std::function<void(KernelUnderTest&, Task& woken)> before;
};

CpuId placed(const Placement& p) {
  KernelUnderTest k(sched_options([&](hw::MachineSpec& spec) {
    spec.topology.cores_per_cluster = p.cores;
    spec.topology.threads_per_core = p.threads;
  }));
  const int n = k.kernel.nr_cpus();
  kernel::Mm& mm = k.kernel.new_mm(0);
  CpuId ran_on = kNoCpu;
  Task* woken = nullptr;
  woken = &k.task(p.prev, CpuMask::all(n), &mm,
                  {block(), note([&] { ran_on = woken->running_on->id; })});
  for (const CpuId cpu : p.busy) k.task(cpu, {busy_until(Time::us(300))});
  k.task(p.waker, CpuMask::of(n, p.waker), &mm,
         {sleep_until(Time::us(100)), note([&] {
            if (p.before) p.before(k, *woken);
          }),
          wake(*woken, p.flags), busy_until(Time::us(300))});
  EXPECT_TRUE(k.run()) << k.machine.stories();
  EXPECT_EQ(woken->cpu, ran_on);
  return ran_on;
}

// The wakee stays on its previous CPU if that is idle and shares the waker's cache (check 16).
TEST(SelectTaskRq, SameCacheIdlePrevious) {
  for (const unsigned flags : {0u, WF_SYNC}) {
    Placement p;
    p.prev = 1;
    p.flags = flags;
    EXPECT_EQ(placed(p), 1);
  }
}
// From another cache: an asynchronous wake-up leaves it there, a synchronous one brings it to an
// idle CPU near the waker; the scan begins after the waker's CPU.
TEST(SelectTaskRq, OtherCacheIdlePrevious) {
  Placement p;
  p.prev = 6;
  p.waker = 2;
  EXPECT_EQ(placed(p), 6);
  p.flags = WF_SYNC;
  EXPECT_EQ(placed(p), 3);
  p.busy = {3};
  EXPECT_EQ(placed(p), 0);
}
// Nobody near is idle: it goes where the waker is.
TEST(SelectTaskRq, OtherCacheAndNobodyNearIsIdle) {
  Placement p;
  p.prev = 6;
  p.waker = 2;
  p.flags = WF_SYNC;
  p.busy = {0, 1, 3};
  EXPECT_EQ(placed(p), 2);
}
// The previous CPU is busy: the next idle one of its cache, from the waker on.
TEST(SelectTaskRq, BusyPrevious) {
  Placement p;
  p.prev = 1;
  p.waker = 0;
  p.busy = {1, 2};
  p.flags = WF_SYNC;
  EXPECT_EQ(placed(p), 3);
}
TEST(SelectTaskRq, RecentlyUsed) {
  Placement p;
  p.prev = 1;
  p.busy = {1};
  p.flags = WF_SYNC;
  p.before = [](KernelUnderTest&, Task& woken) { woken.recent_used_cpu = 3; };
  EXPECT_EQ(placed(p), 3);
  p.busy = {1, 3};
  EXPECT_EQ(placed(p), 2);
}
TEST(SelectTaskRq, CurrentCpuIfAsked) {
  Placement p;
  p.prev = 1;
  p.flags = WF_CURRENT_CPU;
  EXPECT_EQ(placed(p), 0);
}
// A CPU that has a wake-up pending does not count as idle.
TEST(SelectTaskRq, PendingWakeUpIsNotIdle) {
  Placement p;
  p.prev = 1;
  p.flags = WF_SYNC;
  p.before = [](KernelUnderTest& k, Task&) {
    k.cpu(1).ttwu_pending.poke(1);
    k.at(k.machine.now() + Time::us(50), [&k] { k.cpu(1).ttwu_pending.poke(0); });
  };
  EXPECT_EQ(placed(p), 2);
}
// nr_idle_scan bounds the search: 0 forbids it.
TEST(SelectTaskRq, TheScanIsBounded) {
  Placement p;
  p.prev = 6;
  p.waker = 0;
  p.flags = WF_SYNC;
  p.busy = {1, 2};
  p.before = [](KernelUnderTest& k, Task&) { k.kernel.llc_shared[0].nr_idle_scan.poke(3); };
  EXPECT_EQ(placed(p), 3);
  p.before = [](KernelUnderTest& k, Task&) { k.kernel.llc_shared[0].nr_idle_scan.poke(2); };
  EXPECT_EQ(placed(p), 0);
  p.busy = {};
  p.before = [](KernelUnderTest& k, Task&) { k.kernel.llc_shared[0].nr_idle_scan.poke(0); };
  EXPECT_EQ(placed(p), 0);
}
// Two threads per core, siblings 8 apart. While the cache has an idle core, one is looked for; when
// none is left, the sibling of the previous CPU comes first.
TEST(SelectTaskRq, IdleCoresFirst) {
  Placement p;
  p.threads = 2;
  p.prev = 1;
  p.waker = 0;
  p.busy = {1, 10};  // cores 1 and 2 are half idle, core 3 is idle
  p.flags = WF_SYNC;
  EXPECT_EQ(placed(p), 3);
  p.busy = {1, 2, 3};
  p.before = [](KernelUnderTest& k, Task&) { k.kernel.llc_shared[0].has_idle_cores.poke(0); };
  EXPECT_EQ(placed(p), 9);
}
TEST(SelectTaskRq, AScanWithoutAnIdleCoreSaysSo) {
  Placement p;
  p.threads = 2;
  p.prev = 1;
  p.busy = {1, 2, 3};
  p.flags = WF_SYNC;
  bool claimed = false, withdrawn = false;
  p.before = [&](KernelUnderTest& k, Task&) {
    claimed = k.kernel.llc_shared[0].has_idle_cores.peek() != 0;
    k.at(k.machine.now() + Time::us(20),
         [&k, &withdrawn] { withdrawn = k.kernel.llc_shared[0].has_idle_cores.peek() == 0; });
  };
  EXPECT_EQ(placed(p), 9);  // first idle thread after CPU 0: of core 1
  EXPECT_TRUE(claimed);
  EXPECT_TRUE(withdrawn);
}

// Each probe of another CPU costs loads of its run queue's lines.
TEST(SelectTaskRq, ProbesAreLoads) {
  Placement p;
  p.prev = 6;
  p.waker = 2;
  p.flags = WF_SYNC;
  p.busy = {3};
  int reads = 0;
  p.before = [&](KernelUnderTest& k, Task&) {
    k.record.clear();
    k.at(k.machine.now() + Time::us(20), [&k, &reads] {
      for (const trace::LineTransfer& e : k.transfers_of("RQC", 2))
        reads += e.access == trace::Access::kRead;
    });
  };
  EXPECT_EQ(placed(p), 0);
  // CPU 3, whose task is not idle; CPU 0. (Its own is not a transfer, and CPU 6 is not asked.)
  EXPECT_EQ(reads, 2);
}

// --- several tasks on a CPU

// Two programs share it by time slices: 3 ms each, seen at ticks (1 ms).
TEST(Fair, TimeSlices) {
  KernelUnderTest::Options options = sched_options();
  options.hz = 1000;
  KernelUnderTest k(options);
  kernel::Mm& mm = k.kernel.new_mm(0);
  Time ended[2];
  for (int i = 0; i < 2; ++i)
    k.task(1, CpuMask::of(4, 1), &mm,
           {user(Time::ms(30)), note([&, i] { ended[i] = k.machine.now(); })});
  ASSERT_TRUE(k.run(Time::ms(100)));
  EXPECT_GE(ended[0], Time::ms(50));
  EXPECT_GE(ended[1], Time::ms(60));
  EXPECT_LT(ended[1], Time::ms(61));
  int between = 0;
  for (const trace::Switch& e : k.record.switches)
    between += e.cpu == 1 && e.prev != 0 && e.next != 0;
  EXPECT_GE(between, 12);
  EXPECT_LE(between, 20);
}
// Who has slept is behind and preempts a program; the granularity keeps equals from it.
TEST(Fair, SleepersPreempt) {
  KernelUnderTest k(sched_options());
  kernel::Mm& mm = k.kernel.new_mm(0);
  Time ran, hog_ended;
  k.task(1, CpuMask::of(4, 1), &mm,
         {sleep_until(Time::ms(5)), note([&] { ran = k.machine.now(); })});
  k.task(1, CpuMask::of(4, 1), &mm,
         {user(Time::ms(8)), note([&] { hog_ended = k.machine.now(); })});
  ASSERT_TRUE(k.run(Time::ms(20)));
  EXPECT_GE(ran, Time::ms(5));
  EXPECT_LT(ran, Time::ms(5) + Time::us(30));
  EXPECT_GE(hog_ended, Time::ms(8));
}
TEST(Fair, EqualsDoNotPreempt) {
  KernelUnderTest k(sched_options());
  kernel::Mm& mm = k.kernel.new_mm(0);
  Time ran;
  k.task(1, CpuMask::of(4, 1), &mm,
         {sleep_until(Time::us(500)), note([&] { ran = k.machine.now(); })});
  k.task(1, CpuMask::of(4, 1), &mm, {user(Time::us(900))});
  ASSERT_TRUE(k.run(Time::ms(20)));
  EXPECT_GE(ran, Time::us(900));
}
// Woken from another CPU: the running program is told by an interrupt, and makes room.
TEST(Fair, RemotePreemptionNeedsAnInterrupt) {
  KernelUnderTest k(sched_options());
  kernel::Mm& mm = k.kernel.new_mm(0);
  Time woken_at, ran;
  Task& sleeper =
      k.task(1, CpuMask::of(4, 1), &mm, {block(), note([&] { ran = k.machine.now(); })});
  k.task(1, CpuMask::of(4, 1), &mm, {user(Time::ms(8))});
  k.task(0, {sleep_until(Time::ms(5)), note([&] {
               k.record.clear();
               woken_at = k.machine.now();
             }),
             wake(sleeper), busy_until(Time::ms(6))});
  ASSERT_TRUE(k.run(Time::ms(20)));
  EXPECT_LT(ran, woken_at + Time::us(10));
  ASSERT_GE(k.record.sent.size(), 1u);
  EXPECT_EQ(k.record.sent[0].to, 1);
  EXPECT_EQ(k.record.sent[0].vector, static_cast<std::uint8_t>(hw::Vector::kReschedule));
}

// --- a task that moves goes on where it is

TEST(Migration, GoesOnOnTheNewCpu) {
  KernelUnderTest k(sched_options());
  kernel::Mm& mm = k.kernel.new_mm(0);
  std::vector<CpuId> ran_on;
  Task* mover = nullptr;
  const auto where = [&] { ran_on.push_back(mover->running_on->id); };
  mover = &k.task(3, CpuMask::all(4), &mm,
                  {block(), note(where), user(Time::us(5)), block(), note(where),
                   sleep_until(Time::us(300)), note(where)});
  k.task(0, {sleep_until(Time::us(100)), wake(*mover, WF_SYNC), busy_until(Time::us(400))});
  k.task(2, {sleep_until(Time::us(200)), wake(*mover, WF_SYNC), busy_until(Time::us(400))});
  ASSERT_TRUE(k.run()) << k.machine.stories();
  EXPECT_EQ(ran_on, (std::vector<CpuId>{1, 3, 3}));
}

// --- mm_count: one more and one less for each user -> idle -> user, nothing between users or for
// kernel threads

// mm_count while its task sleeps, and the transfers of its line if another CPU writes it before the
// task sleeps and before it wakes up.
struct MmCounts {
  std::uint64_t asleep = 0;
  std::uint64_t after = 0;
  int transfers = 0;
};
MmCounts mm_counts(bool user_task) {
  KernelUnderTest::Options options;
  options.config.features = features_of(hw::Arch::kX86_64, {{"mm_count_line", "own"}});
  KernelUnderTest k(options);
  kernel::Mm& mm = k.kernel.new_mm(0);
  MmCounts counts;
  const Act take = note([&] { mm.mm_count.line().take(0, 0); });
  Task& sleeper = k.task(1, CpuMask::of(4, 1), user_task ? &mm : nullptr,
                         {busy_until(Time::us(80)), block(), busy_until(Time::us(140))});
  k.task(0, {busy_until(Time::us(50)), take, note([&] { k.record.clear(); }),
             busy_until(Time::us(100)), take, note([&] { counts.asleep = mm.mm_count.peek(); }),
             wake(sleeper), busy_until(Time::us(130)),
             note([&] { counts.transfers = static_cast<int>(k.transfers_of("MMR", 1).size()); })});
  EXPECT_TRUE(k.run());
  counts.after = mm.mm_count.peek();
  return counts;
}
TEST(MmCount, AnIdleCpuKeepsAReference) {
  const MmCounts user_task = mm_counts(true);
  EXPECT_EQ(user_task.asleep, 2u);
  EXPECT_EQ(user_task.transfers, 2);
  EXPECT_EQ(user_task.after, 2u);  // it has ended, and the CPU is idle
  const MmCounts thread = mm_counts(false);
  EXPECT_EQ(thread.asleep, 1u);
  EXPECT_EQ(thread.transfers, 0);
}
// From a task to another nothing is counted.
TEST(MmCount, NothingBetweenTasks) {
  KernelUnderTest k(sched_options());
  kernel::Mm& a = k.kernel.new_mm(0);
  kernel::Mm& b = k.kernel.new_mm(0);
  std::uint64_t seen = 0;
  Task& first = k.task(1, CpuMask::of(4, 1), &a,
                       {block(), note([&] { seen = a.mm_count.peek() * 10 + b.mm_count.peek(); })});
  k.task(1, CpuMask::of(4, 1), &b,
         {busy_until(Time::us(50)), wake(first), busy_until(Time::us(60)), block()});
  k.run_until(Time::us(100));
  EXPECT_EQ(seen, 11u);
  EXPECT_EQ(b.mm_count.peek(), 1u);
}

}  // namespace
}  // namespace idlesim::testing

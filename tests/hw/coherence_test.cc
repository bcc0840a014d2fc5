// Cache lines: states, legs and queues, each time computed by hand from small_spec()'s legs.
#include "idlesim/hw/coherence.h"

#include <gtest/gtest.h>

#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::AtomicOp;
using hw::CoreSet;
using hw::LineState;
using hw::Protocol;

// Two sockets of two clusters of two cores: {0,1} {2,3} | {4,5} {6,7}.
hw::TopologySpec two_sockets() {
  hw::TopologySpec topology;
  topology.sockets = 2;
  topology.clusters_per_node = 2;
  topology.cores_per_cluster = 2;
  return topology;
}

// Late enough for what sets the scene to be over.
constexpr Time kStart = Time::us(100);

// How long `reader` needs for a line homed in node `home` that `writer` has modified.
Time read_after_write(CpuId writer, CpuId reader, hw::NodeId home,
                      Protocol protocol = Protocol::kMesi) {
  hw::MachineSpec spec = small_spec(two_sockets());
  spec.coherence.protocol = protocol;
  MachineUnderTest m(spec);
  hw::Word& x = m.word(home);
  m.run_on(writer, {}, {store(x, 7)});
  Script& r = m.run_on(reader, kStart, {load(x)});
  m.at(kStart - ns(1), [&] { EXPECT_EQ(x.line().state(), LineState::kModified); });
  m.run();
  EXPECT_EQ(r.value(0), 7u);
  if (protocol == Protocol::kMoesi) {
    EXPECT_EQ(x.line().state(), LineState::kOwned);
    EXPECT_EQ(x.line().owner(), writer);
    EXPECT_EQ(x.line().sharers().count(), 1);
  } else {
    EXPECT_EQ(x.line().state(), LineState::kShared);
    EXPECT_EQ(x.line().owner(), hw::kNoCore);
    EXPECT_TRUE(x.line().sharers().test(writer));
  }
  EXPECT_TRUE(x.line().sharers().test(reader));
  return r.time(0) - kStart;
}

TEST(Legs, HomeInTheSocketOfBoth) {
  EXPECT_EQ(read_after_write(2, 0, 0), ns(10 + 20 + 30));
  EXPECT_EQ(read_after_write(2, 0, 0, Protocol::kMoesi), ns(10 + 20 + 30));
}
TEST(Legs, HomeAtTheWriter) { EXPECT_EQ(read_after_write(4, 0, 1), ns(100 + 20 + 300)); }
// The owner sits in another socket than the home, which has to ask its directory.
TEST(Legs, HomeAtTheReader) { EXPECT_EQ(read_after_write(4, 0, 0), ns(10 + 1000 + 200 + 300)); }
TEST(Legs, HomeInTheOtherSocketOfBoth) {
  EXPECT_EQ(read_after_write(2, 0, 1), ns(100 + 1000 + 200 + 30));
}
TEST(Legs, ClusterResolvesWithoutTheHome) {
  EXPECT_EQ(read_after_write(1, 0, 0), ns(1 + 2 + 4));
  EXPECT_EQ(read_after_write(1, 0, 1), ns(1 + 2 + 4));
}

TEST(Legs, MemoryNearAndFar) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word &x = m.word(0), &y = m.word(0);
  Script& near = m.run_on(0, {}, {load(x)});
  Script& far = m.run_on(4, {}, {load(y)});
  m.run();
  EXPECT_EQ(near.time(0), ns(10 + 30 + 5000));
  EXPECT_EQ(far.time(0), ns(100 + 300 + 5000));
  EXPECT_EQ(x.line().state(), LineState::kExclusive);
  EXPECT_EQ(x.line().owner(), 0);
}

TEST(Line, AReadIsBlockedUntilItsTimeAndNotLonger) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(0);
  Script& r = m.run_on(0, {}, {load(x)});
  m.at(ns(5040) - Time::ps(1), [&] {
    EXPECT_FALSE(r.done);
    EXPECT_EQ(x.line().state(), LineState::kInvalid);
  });
  m.at(ns(5040) + Time::ps(1), [&] { EXPECT_TRUE(r.done); });
  m.run();
  EXPECT_TRUE(r.done);
}

TEST(Line, AHitTakesNoTimeAndAnExclusiveLineIsWrittenSilently) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(0);
  Script& r = m.run_on(0, {}, {load(x), load(x), atomic(AtomicOp::kAdd, x, 3), load(x)});
  m.run();
  EXPECT_EQ(r.time(1), ns(5040));
  EXPECT_EQ(r.time(2), ns(5040 + 5));
  EXPECT_EQ(r.value(3), 3u);
  EXPECT_EQ(x.line().state(), LineState::kModified);
}

TEST(Line, UpgradeInvalidatesTheFarthestSharer) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(0);
  m.run_on(2, {}, {store(x, 1)});
  m.run_on(4, ns(20000), {load(x)});
  Script& r = m.run_on(0, ns(40000), {load(x), until(kStart), atomic(AtomicOp::kAdd, x, 1)});
  m.at(kStart, [&] { EXPECT_EQ(x.line().sharers().count(), 3); });
  m.run();
  // Shared lines come from the home: its data leg only.
  EXPECT_EQ(r.time(0) - ns(40000), ns(10 + 30));
  // CPU 2 would have answered after 20 + 30, CPU 4 after 200 + 300.
  EXPECT_EQ(r.time(2) - kStart, ns(10 + 200 + 300 + 5));
  EXPECT_EQ(x.line().state(), LineState::kModified);
  EXPECT_EQ(x.line().owner(), 0);
  EXPECT_TRUE(x.line().sharers().empty());
}

TEST(Line, UpgradeInsideTheCluster) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(1);
  m.run_on(1, {}, {store(x, 1)});
  Script& r = m.run_on(0, kStart, {load(x), atomic(AtomicOp::kAdd, x, 1)});
  m.run();
  EXPECT_EQ(r.time(0) - kStart, ns(1 + 2 + 4));
  EXPECT_EQ(r.time(1) - kStart, ns(7 + 7 + 5));
}

TEST(Line, OwnerOfASharedDirtyLineUpgrades) {
  hw::MachineSpec spec = small_spec(two_sockets());
  spec.coherence.protocol = Protocol::kMoesi;
  MachineUnderTest m(spec);
  hw::Word& x = m.word(0);
  Script& w = m.run_on(0, {}, {store(x, 1), until(kStart), atomic(AtomicOp::kAdd, x, 1)});
  m.run_on(2, ns(50000), {load(x)});
  m.run();
  EXPECT_EQ(w.time(2) - kStart, ns(10 + 20 + 30 + 5));
}

TEST(Line, AStrangerWritesASharedLine) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(0);
  m.run_on(0, {}, {store(x, 1)});
  m.run_on(2, ns(50000), {load(x)});
  Script& r = m.run_on(6, kStart, {atomic(AtomicOp::kAdd, x, 1)});
  m.run();
  // The home's copy is here after 300; the sharers' answers after 20 + 300.
  EXPECT_EQ(r.time(0) - kStart, ns(100 + 20 + 300 + 5));
}

TEST(Line, ASharedLineComesFromTheClusterIfOneThereHasIt) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(1);
  m.run_on(0, {}, {store(x, 1)});
  m.run_on(4, ns(50000), {load(x)});
  Script& r = m.run_on(1, kStart, {load(x)});
  m.run();
  EXPECT_EQ(r.time(0) - kStart, ns(1 + 4));
}

TEST(Line, SiblingThreadPaysOnceForWhatTheOtherWrote) {
  hw::TopologySpec topology;
  topology.threads_per_core = 2;
  MachineUnderTest m(small_spec(topology));
  hw::Word& x = m.word();
  Script& w = m.run_on(0, {}, {store(x, 1), until(kStart), store(x, 2)});
  Script& r =
      m.run_on(1, kStart + ns(100), {load(x), load(x), atomic(AtomicOp::kAdd, x, 1), load(x)});
  m.run();
  EXPECT_EQ(w.time(2), kStart);
  EXPECT_EQ(r.time(0) - kStart, ns(100 + 6));
  EXPECT_EQ(r.value(0), 2u);
  EXPECT_EQ(r.time(1) - kStart, ns(100 + 6));
  EXPECT_EQ(r.time(2) - kStart, ns(100 + 6 + 5));
}

// --- queues

// N cores ask for one modified line at once: each is served for snoop + data + the atomic itself.
TEST(Queue, ContendedAtomicsAreServedOneAfterTheOther) {
  MachineUnderTest m(flat_spec(6));
  hw::Word& x = m.word();
  m.run_on(5, {}, {store(x, 100)});
  std::vector<Script*> runs;
  for (CpuId cpu = 0; cpu < 5; ++cpu)
    runs.push_back(&m.run_on(cpu, kStart, {atomic(AtomicOp::kAdd, x, 1)}));
  m.at(kStart + ns(10), [&] { EXPECT_EQ(x.line().queue_length(), 5); });
  m.run();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(runs[static_cast<std::size_t>(i)]->time(0) - kStart, ns(10 + 55 * (i + 1)));
    EXPECT_EQ(runs[static_cast<std::size_t>(i)]->value(0), static_cast<std::uint64_t>(100 + i));
  }
  EXPECT_EQ(x.peek(), 105u);
}

// Inside one cluster the queue is the cluster's: nobody pays a trip to the home.
TEST(Queue, ContentionInsideAClusterStaysThere) {
  hw::TopologySpec topology;
  topology.cores_per_cluster = 4;
  MachineUnderTest m(small_spec(topology));
  hw::Word& x = m.word();
  m.run_on(3, {}, {store(x, 100)});
  std::vector<Script*> runs;
  for (CpuId cpu = 0; cpu < 3; ++cpu)
    runs.push_back(&m.run_on(cpu, kStart, {atomic(AtomicOp::kAdd, x, 1)}));
  m.run();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(runs[static_cast<std::size_t>(i)]->time(0) - kStart, ns(1 + (2 + 4 + 5) * (i + 1)));
}

TEST(Queue, TheNearerRequesterOvertakesOneThatStillTravels) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(0);
  m.run_on(2, {}, {store(x, 0)});
  Script& far = m.run_on(4, kStart, {atomic(AtomicOp::kAdd, x, 1)});            // there at 100
  Script& near = m.run_on(0, kStart + ns(50), {atomic(AtomicOp::kAdd, x, 1)});  // there at 60
  m.run();
  EXPECT_EQ(near.time(0) - kStart, ns(60 + 20 + 30 + 5));
  EXPECT_EQ(near.value(0), 0u);
  EXPECT_EQ(far.time(0) - kStart, ns(115 + 20 + 300 + 5));
  EXPECT_EQ(far.value(0), 1u);
}

TEST(Queue, NobodyOvertakesTheOneInService) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(0);
  m.run_on(2, {}, {store(x, 0)});
  Script& far = m.run_on(4, kStart, {atomic(AtomicOp::kAdd, x, 1)});
  Script& near = m.run_on(0, kStart + ns(91), {atomic(AtomicOp::kAdd, x, 1)});  // there at 101
  m.run();
  EXPECT_EQ(far.time(0) - kStart, ns(100 + 20 + 300 + 5));
  // Then the line is in socket 1: directory, and the far snoop and data legs.
  EXPECT_EQ(near.time(0) - kStart, ns(425 + 1000 + 200 + 300 + 5));
  EXPECT_EQ(near.value(0), 1u);
}

TEST(Queue, ReadsOfACleanLineDoNotWaitForEachOther) {
  MachineUnderTest m(flat_spec(6));
  hw::Word& x = m.word();
  m.run_on(5, {}, {store(x, 1)});
  m.run_on(4, ns(50000), {load(x)});
  std::vector<Script*> runs;
  for (CpuId cpu = 0; cpu < 4; ++cpu) runs.push_back(&m.run_on(cpu, kStart, {load(x)}));
  m.run();
  for (const Script* run : runs) EXPECT_EQ(run->time(0) - kStart, ns(10 + 30));
  EXPECT_EQ(x.line().sharers().count(), 6);
}

// The first reader makes the line clean (10 + 20 + 30); the others then get it from the home.
TEST(Queue, ReadsBehindTheOneThatCleansTheLineGoTogether) {
  MachineUnderTest m(flat_spec(5));
  hw::Word& x = m.word();
  m.run_on(4, {}, {store(x, 1)});
  std::vector<Script*> runs;
  for (CpuId cpu = 0; cpu < 4; ++cpu) runs.push_back(&m.run_on(cpu, kStart, {load(x)}));
  m.run();
  EXPECT_EQ(runs[0]->time(0) - kStart, ns(60));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(runs[i]->time(0) - kStart, ns(60 + 30));
}

// Neither reader can have the line before memory has delivered it.
TEST(Queue, TwoReadersOfALineInMemoryWaitForMemoryAndShareIt) {
  MachineUnderTest m(flat_spec(2));
  hw::Word& x = m.word();
  Script& a = m.run_on(0, {}, {load(x)});
  Script& b = m.run_on(1, ns(1), {load(x)});
  m.run();
  EXPECT_EQ(a.time(0), ns(5040));
  EXPECT_EQ(b.time(0), ns(5041));
  EXPECT_EQ(x.line().state(), LineState::kShared);
  EXPECT_EQ(x.line().sharers().count(), 2);
}

// A slow reader of a shared line is overtaken by a writer: it gets the new value, and the line
// stays with the writer.
TEST(Queue, AReaderOvertakenByAWriterKeepsNothing) {
  MachineUnderTest m(small_spec(two_sockets()));
  hw::Word& x = m.word(0);
  m.run_on(0, {}, {store(x, 1), until(kStart), atomic(AtomicOp::kAdd, x, 1)});  // at 10 + 20 + 30
  m.run_on(2, ns(50000), {load(x)});
  Script& slow = m.run_on(4, kStart, {load(x), load(x)});  // at 100 + 300
  m.run();
  EXPECT_EQ(slow.time(0) - kStart, ns(400));
  EXPECT_EQ(slow.value(0), 2u);
  EXPECT_EQ(slow.time(1) - kStart, ns(400 + 100 + 20 + 300));
}

TEST(Words, OnOneLineAreFalselyShared) {
  MachineUnderTest m(flat_spec(2));
  hw::Line& line = m.line();
  hw::Word &a = m.word(line), &b = m.word(line);
  Script& r =
      m.run_on(0, {}, {store(a, 1), until(kStart), load(a), until(kStart + ns(1000)), load(a)});
  m.run_on(1, kStart + ns(500), {atomic(AtomicOp::kAdd, b, 1)});
  m.run();
  EXPECT_EQ(r.time(2), kStart);
  EXPECT_EQ(r.time(4) - kStart, ns(1000 + 10 + 20 + 30));
  EXPECT_EQ(r.value(4), 1u);
}

TEST(CoreSet, HoldsFewAndMany) {
  CoreSet set;
  EXPECT_TRUE(set.empty());
  const std::vector<hw::CoreId> cores = {70, 3, 0, 130, 64, 63, 3};
  for (hw::CoreId core : cores) set.add(core);
  EXPECT_EQ(set.count(), 6);
  for (hw::CoreId core : cores) EXPECT_TRUE(set.test(core));
  EXPECT_FALSE(set.test(1));
  EXPECT_FALSE(set.test(500));
  std::vector<hw::CoreId> seen;
  set.for_each([&](hw::CoreId core) { seen.push_back(core); });
  EXPECT_EQ(seen, (std::vector<hw::CoreId>{0, 3, 63, 64, 70, 130}));
  set.clear();
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.test(70));
  set.add(7);
  EXPECT_EQ(set.count(), 1);
  EXPECT_TRUE(set.test(7));
}

}  // namespace
}  // namespace idlesim::testing

// The event register of arm64: WFE and WFET, SEV, the exclusive monitor, the event stream, and
// atomics without LSE. Every time by hand (legs: support/machine_under_test.h).
#include <gtest/gtest.h>

#include "support/machine_under_test.h"
#include "support/record.h"

namespace idlesim::testing {
namespace {

using hw::AtomicOp;
using hw::Atomics;
using hw::Vector;
using trace::WaitEnd;

hw::MachineSpec arm_spec(int cores = 2) {
  hw::MachineSpec spec = flat_spec(cores);
  spec.cpu.arch = hw::Arch::kArm64;
  spec.cpu.vendor = hw::Vendor::kArm;
  spec.cpu.tsc = Frequency::mhz(1000);
  return spec;
}

class EventTest : public ::testing::Test {
 protected:
  EventTest() { m.machine.tracer().add(&record); }
  // How the waits ended.
  std::vector<WaitEnd> ends() const {
    std::vector<WaitEnd> all;
    for (const trace::EventWait& e : record.event_waits) all.push_back(e.end);
    return all;
  }
  MachineUnderTest m{arm_spec()};
  Record record;
};

TEST_F(EventTest, WfeClearsTheRegisterOrWaits) {
  Script& a = m.run_on(0, {}, {sevl(), wfe(ns(10), ns(30)), wfe(ns(10), ns(30))});
  m.run_on(1, {}, {until(ns(1000)), sev()});
  m.run();
  EXPECT_EQ(a.time(1), ns(0));
  EXPECT_EQ(a.time(2), ns(1000 + 30));
  EXPECT_EQ(ends(), std::vector<WaitEnd>{WaitEnd::kEvent});
}
TEST_F(EventTest, SevReachesTheSenderToo) {
  Script& a = m.run_on(0, {}, {sev(), wfe(ns(10), ns(30))});
  Script& b = m.run_on(1, ns(50), {wfe(ns(10), ns(30)), wfe(ns(10), ns(30))});
  m.run();
  EXPECT_EQ(a.time(1), ns(0));
  EXPECT_EQ(b.time(0), ns(50));
  EXPECT_FALSE(b.done);
}
TEST_F(EventTest, AnEventDuringTheEntryWaitsForItsEnd) {
  Script& a = m.run_on(0, {}, {wfe(ns(10), ns(30))});
  m.run_on(1, {}, {until(ns(5)), sev()});
  m.run();
  EXPECT_EQ(a.time(0), ns(10 + 30));
}
// An event that comes while the CPU wakes is part of what woke it.
TEST_F(EventTest, EventsAreNotCounted) {
  Script& a = m.run_on(0, {}, {wfe(ns(10), ns(30)), wfe(ns(10), ns(30))});
  m.run_on(1, {}, {until(ns(100)), sev(), until(ns(110)), sev()});
  m.run();
  EXPECT_EQ(a.time(0), ns(130));
  EXPECT_FALSE(a.done);
}

// --- the exclusive monitor. The first load is over at 5040. A store issued at 6000 is at the home
// at 6010, and with the holder at 6030.

TEST_F(EventTest, ARemoteStoreEndsTheWait) {
  hw::Word& x = m.word();
  Script& a = m.run_on(0, {}, {load_exclusive(x), wfe(ns(10), ns(30))});
  m.run_on(1, ns(6000), {store(x, 1)});
  m.run();
  EXPECT_EQ(a.time(0), ns(5040));
  EXPECT_EQ(a.time(1), ns(6030 + 30));
  EXPECT_EQ(ends(), std::vector<WaitEnd>{WaitEnd::kEvent});
}
TEST_F(EventTest, AStoreBeforeWfeIsRemembered) {
  hw::Word& x = m.word();
  Script& a = m.run_on(0, {}, {load_exclusive(x), until(ns(7000)), wfe(ns(10), ns(30))});
  m.run_on(1, ns(6000), {store(x, 1)});
  m.run();
  EXPECT_EQ(a.time(2), ns(7000));
}
// The monitor is open after that, until the next LDXR.
TEST_F(EventTest, TheMonitorIsClearedOnce) {
  hw::Word& x = m.word();
  Script& a = m.run_on(0, {}, {load_exclusive(x), wfe(ns(10), ns(30)), wfe(ns(10), ns(30))});
  m.run_on(1, ns(6000), {store(x, 1), until(ns(8000)), store(x, 2)});
  m.run();
  EXPECT_EQ(a.time(1), ns(6060));
  EXPECT_FALSE(a.done);
}
TEST_F(EventTest, ReadsAndOwnStoresAreNoEvents) {
  hw::Word& x = m.word();
  Script& a = m.run_on(0, {}, {load_exclusive(x), store(x, 1), wfe(ns(10), ns(30))});
  Script& b = m.run_on(1, ns(6000), {load(x)});
  m.run();
  EXPECT_TRUE(b.done);
  EXPECT_FALSE(a.done);
}
TEST_F(EventTest, AStoreToTheOtherWordOfTheLineIsOne) {
  hw::Word& x = m.word();
  hw::Word& y = m.word(x.line());
  Script& a = m.run_on(0, {}, {load_exclusive(x), wfe(ns(10), ns(30))});
  m.run_on(1, ns(6000), {store(y, 1)});
  m.run();
  EXPECT_EQ(a.time(1), ns(6030 + 30));
}
// The writer has the line before the load that waited for it is over.
TEST_F(EventTest, AWriterDuringTheLoadIsNoticed) {
  for (std::int64_t start = 4900; start < 5200; start += 5) {
    MachineUnderTest n(arm_spec());
    hw::Word& x = n.word();
    Script& a = n.run_on(0, {}, {load_exclusive(x), wfe(ns(1), ns(1))});
    n.run_on(1, ns(start), {store(x, 1)});
    n.run();
    // Either the load has seen the store, or the wait ends.
    EXPECT_TRUE(a.value(0) == 1 || a.done) << start;
  }
}
TEST(Event, AnAtomicAtTheHomeIsOne) {
  hw::MachineSpec spec = arm_spec();
  spec.coherence.atomics = Atomics::kFar;
  MachineUnderTest m(spec);
  hw::Word& x = m.word();
  Script& a = m.run_on(0, {}, {load_exclusive(x), wfe(ns(10), ns(30))});
  m.run_on(1, ns(6000), {posted(AtomicOp::kOr, x, 1)});
  m.run();
  EXPECT_EQ(a.time(1), ns(6030 + 30));
}

// --- interrupts

TEST_F(EventTest, AMaskedInterruptDoesNotEndIt) {
  Script& a = m.run_on(0, {}, {wfe(ns(10), ns(30))});
  m.deliver_at(ns(100), 0, Vector::kReschedule);
  m.run();
  EXPECT_FALSE(a.done);
  EXPECT_EQ(m.machine.cpu(0).pending(), bit(Vector::kReschedule));
}
// Also not one that is pending already.
TEST_F(EventTest, APendingMaskedInterruptDoesNotEndIt) {
  Script& a = m.run_on(0, {}, {until(ns(200)), wfe(ns(10), ns(30))});
  m.deliver_at(ns(100), 0, Vector::kReschedule);
  m.run();
  EXPECT_FALSE(a.done);
}
// Taken when the core is awake; its return is an event.
TEST_F(EventTest, AnEnabledInterruptEndsIt) {
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(7))});
  Script& a =
      m.run_on(0, {}, {irq_on(), wfe(ns(10), ns(30)), wfe(ns(10), ns(30)), wfe(ns(10), ns(30))});
  m.deliver_at(ns(100), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(m.taken.at(0).time, ns(130));
  EXPECT_EQ(a.time(1), ns(137));
  EXPECT_EQ(a.time(2), ns(137));
  EXPECT_FALSE(a.done);
  EXPECT_EQ(ends(), std::vector<WaitEnd>{WaitEnd::kInterrupt});
}
TEST_F(EventTest, AnInterruptBetweenLdxrAndWfeIsAnEvent) {
  hw::Word& x = m.word();
  m.on_interrupt(0, Vector::kReschedule, {exec(ns(7))});
  Script& a = m.run_on(0, {}, {irq_on(), load_exclusive(x), exec(ns(100)), wfe(ns(10), ns(30))});
  m.deliver_at(ns(5100), 0, Vector::kReschedule);
  m.run();
  EXPECT_EQ(a.time(3), ns(5040 + 100 + 7));
}

// --- the event stream and WFET. Bit 3 of a counter of 1 GHz rises at 8, 24, 40, ... ns.

TEST_F(EventTest, TheStreamComesAtTheRisingEdges) {
  m.machine.cpu(0).set_event_stream(3);
  Script& a = m.run_on(0, {}, {until(ns(24)), wfe(ns(1), ns(2)), wfe(ns(1), ns(2))});
  m.run();
  EXPECT_EQ(a.time(1), ns(40 + 2));  // not at 24: that edge has passed
  EXPECT_EQ(a.time(2), ns(56 + 2));
  EXPECT_EQ(ends(), (std::vector<WaitEnd>{WaitEnd::kEventStream, WaitEnd::kEventStream}));
}
// 25 MHz, bit 10: a period of 81.92 us.
TEST(Event, TheStreamOfACounterOf25MHz) {
  hw::MachineSpec spec = arm_spec();
  spec.cpu.tsc = Frequency::mhz(25);
  MachineUnderTest m(spec);
  m.machine.cpu(0).set_event_stream(10);
  Script& a = m.run_on(0, ns(1000), {wfe(ns(10), ns(30)), wfe(ns(10), ns(30))});
  m.run();
  EXPECT_EQ(a.time(0), ns(40'960 + 30));
  EXPECT_EQ(a.time(1), ns(40'960 + 81'920 + 30));
}
TEST_F(EventTest, WfetEndsAtItsDeadline) {
  Script& a = m.run_on(0, {}, {wfe(ns(10), ns(30), ns(500)), wfe(ns(10), ns(30), ns(530))});
  m.run();
  EXPECT_EQ(a.time(0), ns(530));
  EXPECT_EQ(a.time(1), ns(530));  // passed already
  EXPECT_EQ(ends(), std::vector<WaitEnd>{WaitEnd::kDeadline});
}
TEST_F(EventTest, TheStreamEndsWfetToo) {
  m.machine.cpu(0).set_event_stream(3);
  Script& a = m.run_on(0, {}, {wfe(ns(1), ns(2), ns(30)), wfe(ns(1), ns(2), ns(23))});
  m.run();
  EXPECT_EQ(a.time(0), ns(8 + 2));
  EXPECT_EQ(a.time(1), ns(23 + 2));
}
// A CPU that does not wait has no events of the stream, one that waits has one in a period.
TEST_F(EventTest, OnlyWaitingCostsEvents) {
  m.machine.cpu(0).set_event_stream(3);
  m.machine.cpu(1).set_event_stream(3);
  m.run_on(0, {}, {exec(ns(10'000))});
  m.run_on(1, {}, {sevl()});
  m.run();
  EXPECT_LE(m.machine.engine().events(), 4u);
  EXPECT_TRUE(record.event_waits.empty());
}
TEST(Event, TheCounterReachesAValueInItsFirstPicosecond) {
  for (const Frequency f : {Frequency::mhz(25), Frequency::khz(121'875), Frequency::mhz(1050)})
    for (std::int64_t count = 1; count < 2'000'000; count = count * 3 + 1) {
      const Time time = hw::time_of_counter(f, count);
      EXPECT_EQ(hw::counter_at(f, time), count);
      EXPECT_EQ(hw::counter_at(f, time - Time::ps(1)), count - 1);
    }
}

// --- atomics

// An atomic whose result nobody needs is posted with LSE; without, it waits for its line (memory:
// 10 + 5000 + 30 from CPU 1's home) and is no barrier either.
TEST(Event, AtomicsWithoutLse) {
  for (const Atomics atomics : {Atomics::kNear, Atomics::kLlSc}) {
    hw::MachineSpec spec = arm_spec();
    spec.coherence.atomics = atomics;
    MachineUnderTest m(spec);
    hw::Word& x = m.word();
    Script& a = m.run_on(1, {}, {posted(AtomicOp::kOr, x, 1)});
    m.run();
    EXPECT_EQ(a.time(0), atomics == Atomics::kNear ? ns(0) : ns(5040 + 5));
    EXPECT_EQ(x.peek(), 1u);
  }
}
sim::Co<> barrier_after_atomic(hw::Cpu& cpu, Time* over) {
  hw::Cpu& self = cpu;
  co_await self.barrier_after_atomic();
  *over = self.now();
}
TEST(Event, AtomicsWithoutLseNeedBarriers) {
  hw::MachineSpec spec = arm_spec();
  spec.coherence.atomics = Atomics::kLlSc;
  MachineUnderTest m(spec);
  Time over;
  m.run_on(0, {}, barrier_after_atomic(m.machine.cpu(0), &over));
  m.run();
  EXPECT_EQ(over, ns(7));
}

}  // namespace
}  // namespace idlesim::testing

// What every kernel must do, whatever its features: each call runs exactly once, on its target,
// with interrupts off; a waited call has run when it returns; sleepers and blocked tasks wake up.
#include <gtest/gtest.h>

#include <string>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;

class Contract : public ::testing::TestWithParam<KernelGroup> {
 protected:
  template <class Check>
  void for_all_features(Check check) {
    const KernelGroup& group = GetParam();
    int kernels = 0;
    for (const kernel::Features& features : group.features()) {
      SCOPED_TRACE(to_string(features));
      KernelUnderTest::Options options;
      options.arch = group.arch;
      options.config.features = features;
      check(options);
      ++kernels;
      if (HasFatalFailure()) return;
    }
    EXPECT_GE(kernels, 200);
  }
};
INSTANTIATE_TEST_SUITE_P(All, Contract, ::testing::ValuesIn(kernel_groups()));

// The moments of every call are in order, so that the stages of a call are not negative and add up
// to its round trip: also when the target serves it before the caller has signalled, or has got
// round to noting that it is queued.
void expect_ordered(const std::vector<trace::CallDone>& calls) {
  for (const trace::CallDone& call : calls) {
    EXPECT_LE(call.issued, call.queued);
    EXPECT_LE(call.queued, call.signalled);
    EXPECT_LE(call.signalled, call.started);
    if (call.started != Time::never()) {
      EXPECT_LE(call.started, call.returned);
    }
  }
}

// Calls of all kinds from one CPU, made up as they are added, and what became of them.
class Calls {
 public:
  Called& add(CpuId target, bool wait) {
    entries_.push_back({{}, target, wait});
    return entries_.back().called;
  }
  void check() const {
    for (const Entry& entry : entries_) {
      EXPECT_EQ(entry.called.runs, 1) << "to " << entry.target << " wait " << entry.wait;
      EXPECT_EQ(entry.called.cpu, entry.target);
      EXPECT_TRUE(entry.called.irqs_off);
    }
  }
  std::size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    Called called;
    CpuId target;
    bool wait;
  };
  std::deque<Entry> entries_;
};

// Every CPU calls every CPU, itself too, waiting and not, all at once and after pauses.
TEST_P(Contract, EachCallRunsOnce) {
  for_all_features([](const KernelUnderTest::Options& options) {
    KernelUnderTest k(options);
    Calls calls;
    std::deque<Called> many;
    for (CpuId cpu = 0; cpu < 4; ++cpu) {
      Acts acts{sleep_until(Time::us(100))};
      for (int round = 0; round < 2; ++round) {
        for (CpuId target = 0; target < 4; ++target)
          for (const bool wait : {true, false}) {
            Called& called = calls.add(target, wait);
            acts.push_back(call(target, called, wait));
            if (wait)
              acts.push_back(note([&called] { EXPECT_EQ(called.runs, 1) << "after waiting"; }));
          }
        for (const bool wait : {true, false, true}) {
          Called& called = many.emplace_back();
          acts.push_back(call_many(CpuMask::all(4), called, wait));
          if (wait)
            acts.push_back(note([&called] { EXPECT_EQ(called.runs, 3) << "after waiting"; }));
        }
        acts.push_back(busy_until(Time::us(200)));
        acts.push_back(sleep_until(Time::us(240 + 3 * cpu)));
      }
      k.task(cpu, acts);
    }
    ASSERT_TRUE(k.run()) << k.machine.stories();
    calls.check();
    expect_ordered(k.record.calls);
    for (const Called& called : many) EXPECT_EQ(called.runs, 3);
    EXPECT_EQ(k.record.started.size(), calls.count() + 3 * many.size());
    for (CpuId cpu = 0; cpu < 4; ++cpu) {
      EXPECT_EQ(k.cpu(cpu).call_single_queue.peek(), 0u);
      EXPECT_EQ(k.cpu(cpu).csd_data.flags.peek(), 0u);
      EXPECT_EQ(k.cpu(cpu).rq_lock.peek(), 0u);
      EXPECT_EQ(k.cpu(cpu).nr_running.peek(), 0u);
      EXPECT_EQ(k.cpu(cpu).ttwu_pending.peek(), 0u);
    }
  });
}

// An entry is its caller's again as soon as it is unlocked, while the target is still busy with the
// other entries it took: queued anew with another type, it must not run from the old list as well.
TEST_P(Contract, AReusedEntryRunsOnce) {
  for_all_features([](const KernelUnderTest::Options& options) {
    KernelUnderTest k(options);
    Called first, slow, second;
    slow.takes = Time::us(20);
    const CpuMask target = CpuMask::of(4, 2);
    k.task(2, {busy_until(Time::us(50)), mask_until(Time::us(200))});
    k.task(0,
           {busy_until(Time::us(100)), call_many(target, first), call_many(target, second, false),
            note([&] { EXPECT_EQ(slow.runs, 1) << "in the middle of it"; })});
    k.task(1, {busy_until(Time::us(110)), call(2, slow)});
    ASSERT_TRUE(k.run()) << k.machine.stories();
    EXPECT_EQ(first.runs, 1);
    EXPECT_EQ(slow.runs, 1);
    EXPECT_EQ(second.runs, 1);
    EXPECT_GT(second.at, slow.at + Time::us(20));
  });
}

// ipistorm: one sender, one target, back to back; and all CPUs to all others.
TEST_P(Contract, Storm) {
  for_all_features([](const KernelUnderTest::Options& options) {
    KernelUnderTest k(options);
    std::deque<Called> single, many;
    Acts acts{sleep_until(Time::us(100))};
    for (int i = 0; i < 30; ++i) acts.push_back(call(2, single.emplace_back()));
    k.task(0, acts);
    Acts more{sleep_until(Time::us(150))};
    for (int i = 0; i < 10; ++i)
      more.push_back(call_many(CpuMask::all(4), many.emplace_back(), i % 3 != 0));
    k.task(1, more);
    k.task(
        3, more = [&] {
          Acts others{sleep_until(Time::us(151))};
          for (int i = 0; i < 10; ++i)
            others.push_back(call_many(CpuMask::all(4), many.emplace_back(), true));
          return others;
        }());
    ASSERT_TRUE(k.run()) << k.machine.stories();
    expect_ordered(k.record.calls);
    for (const Called& called : single) EXPECT_EQ(called.runs, 1);
    for (const Called& called : many) EXPECT_EQ(called.runs, 3);
  });
}

// A task blocks and is woken from each other CPU in turn; it runs after each wake-up.
TEST_P(Contract, WakeUps) {
  for_all_features([](const KernelUnderTest::Options& options) {
    KernelUnderTest k(options);
    std::vector<Time> woken;
    Acts acts;
    for (int i = 0; i < 4; ++i) {
      acts.push_back(block());
      acts.push_back(note([&] { woken.push_back(k.machine.now()); }));
    }
    Task& sleeper = k.task(1, acts);
    for (CpuId cpu = 0; cpu < 4; ++cpu) {
      if (cpu == 1) continue;
      k.task(cpu, {sleep_until(Time::us(100 + 50 * cpu)), wake(sleeper)});
    }
    k.task(1, {sleep_until(Time::us(150)), wake(sleeper)});
    ASSERT_TRUE(k.run()) << k.machine.stories();
    ASSERT_EQ(woken.size(), 4u);
    for (int i = 0; i < 4; ++i) {
      EXPECT_GE(woken[static_cast<std::size_t>(i)], Time::us(100 + 50 * i));
      EXPECT_LT(woken[static_cast<std::size_t>(i)], Time::us(140 + 50 * i));
    }
    EXPECT_EQ(k.cpu(1).nr_running.peek(), 0u);
    EXPECT_EQ(k.cpu(1).ttwu_pending.peek(), 0u);
  });
}

// Sleeps shorter and longer than a tick, ticks included: on time, and not late by more than the
// wake-up itself.
TEST_P(Contract, SleepsEndOnTime) {
  for_all_features([](KernelUnderTest::Options options) {
    options.hz = 1000;
    KernelUnderTest k(options);
    std::vector<std::pair<Time, Time>> sleeps;
    for (CpuId cpu = 0; cpu < 3; ++cpu) {
      Acts acts;
      for (const Time time : {Time::us(50), Time::us(60), Time::us(2300), Time::us(5900)}) {
        acts.push_back(sleep_until(time));
        acts.push_back(note([&sleeps, &k, time] { sleeps.push_back({time, k.machine.now()}); }));
      }
      k.task(cpu, acts);
    }
    ASSERT_TRUE(k.run()) << k.machine.stories();
    ASSERT_EQ(sleeps.size(), 12u);
    for (const auto& [asked, got] : sleeps) {
      EXPECT_GE(got, asked);
      EXPECT_LT(got, asked + Time::us(20));
    }
  });
}

// A task that is woken before its sleep ends is not woken a second time by the old timer.
TEST_P(Contract, AnEarlyWakeUpCancelsTheTimer) {
  for_all_features([](const KernelUnderTest::Options& options) {
    KernelUnderTest k(options);
    Time first, second;
    Task& sleeper = k.task(1, {sleep_until(Time::us(300)), note([&] { first = k.machine.now(); }),
                               block(), note([&] { second = k.machine.now(); })});
    k.task(2,
           {sleep_until(Time::us(100)), wake(sleeper), sleep_until(Time::us(500)), wake(sleeper)});
    ASSERT_TRUE(k.run()) << k.machine.stories();
    EXPECT_GE(first, Time::us(100));
    EXPECT_LT(first, Time::us(140));
    EXPECT_GE(second, Time::us(500));
  });
}

}  // namespace
}  // namespace idlesim::testing

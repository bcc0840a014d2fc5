// newidle_balance() from schedule_idle(): when it walks, whom it reads, when it stops.
#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

// Two sockets of two clusters of two cores: CPUs 0-1, 2-3 in socket 0; 4-5, 6-7 in socket 1. CPU 0
// calls CPU 4, which polls; that makes CPU 4 look for work to pull.
class Newidle {
 public:
  static constexpr CpuId kTarget = 4;
  Newidle() : k(options()) {
    k.task(0, {busy_until(Time::us(100)), note([this] { begin(); }), call(kTarget, called_),
               busy_until(Time::us(500))});
  }
  // CPUs read.
  int walked() {
    k.run_until(Time::us(400));  // before CPU 0 looks for work itself
    EXPECT_EQ(count_on(k.record.schedules, kTarget), 1);
    return k.record.schedules.empty() ? -1 : k.record.schedules[0].cpus_walked;
  }
  int lines_read(const char* name) const {
    return static_cast<int>(k.transfers_of(name, kTarget).size());
  }
  std::function<void()> before;
  KernelUnderTest k;

 private:
  static KernelUnderTest::Options options() {
    KernelUnderTest::Options options;
    options.config.features = features_of(hw::Arch::kX86_64, {});
    options.machine = [](hw::MachineSpec& spec) { spec.topology.clusters_per_node = 2; };
    return options;
  }
  void begin() {
    k.record.clear();
    if (before) before();
  }
  Called called_;
};

TEST(Newidle, NobodyIsReadIfNobodyIsOverloaded) {
  Newidle newidle;
  EXPECT_EQ(newidle.walked(), 0);
  EXPECT_EQ(newidle.lines_read("CFS"), 0);
}

TEST(Newidle, ReadsEachCpuOfEachDomain) {
  Newidle newidle;
  newidle.before = [&] { newidle.k.kernel.rd_overloaded.poke(1); };
  // The cluster, the socket, the machine.
  EXPECT_EQ(newidle.walked(), 2 + 4 + 8);
  // Each line comes once, then it stays shared; CPU 0 runs a task, so that only the other seven are
  // asked for their current task.
  EXPECT_EQ(newidle.lines_read("CFS"), 8);
  int current = 0;
  for (const trace::LineTransfer& e : newidle.k.transfers_of("RQC", Newidle::kTarget))
    current += e.access == trace::Access::kRead;
  EXPECT_EQ(current, 7);
}

TEST(Newidle, TheRootDomainClearsTheFlag) {
  Newidle newidle;
  newidle.before = [&] { newidle.k.kernel.rd_overloaded.poke(1); };
  newidle.walked();
  EXPECT_EQ(newidle.k.kernel.rd_overloaded.peek(), 0u);
}
TEST(Newidle, TheFlagStaysIfACpuHasTwoTasks) {
  Newidle newidle;
  newidle.before = [&] {
    newidle.k.kernel.rd_overloaded.poke(1);
    newidle.k.cpu(7).nr_running.poke(2);
  };
  newidle.walked();
  EXPECT_EQ(newidle.k.kernel.rd_overloaded.peek(), 1u);
}
// Below the root nobody decides: the walk that ends there leaves the flag.
TEST(Newidle, AWalkThatStopsEarlyLeavesTheFlag) {
  Newidle newidle;
  newidle.before = [&] {
    newidle.k.kernel.rd_overloaded.poke(1);
    newidle.k.cpu(Newidle::kTarget).domains[2].max_newidle_lb_cost = Time::ms(2);
  };
  EXPECT_EQ(newidle.walked(), 2 + 4);
  EXPECT_EQ(newidle.k.kernel.rd_overloaded.peek(), 1u);
}

// avg_idle against what the first domain has cost: at the bound, and below it.
TEST(Newidle, ShortIdlesDoNotWalk) {
  for (const bool below : {false, true}) {
    Newidle newidle;
    newidle.before = [&] {
      kernel::PerCpu& cpu = newidle.k.cpu(Newidle::kTarget);
      newidle.k.kernel.rd_overloaded.poke(1);
      cpu.domains[0].max_newidle_lb_cost = Time::us(30);
      cpu.avg_idle = Time::us(30) - Time::ps(below ? 1 : 0);
    };
    EXPECT_EQ(newidle.walked(), below ? 0 : 2 + 4 + 8);
  }
}

// The walk's own time counts: after the first domain there is none left.
TEST(Newidle, StopsWhenTheIdleTimeIsUsedUp) {
  Newidle newidle;
  newidle.before = [&] {
    newidle.k.kernel.rd_overloaded.poke(1);
    newidle.k.cpu(Newidle::kTarget).avg_idle = Time::ps(1);
  };
  EXPECT_EQ(newidle.walked(), 2);
  EXPECT_GT(newidle.k.cpu(Newidle::kTarget).domains[0].max_newidle_lb_cost, Time{});
  EXPECT_EQ(newidle.k.cpu(Newidle::kTarget).domains[1].max_newidle_lb_cost, Time{});
}

// A queued wake-up ends it before it begins.
TEST(Newidle, NotWithAWakeUpPending) {
  Newidle newidle;
  newidle.before = [&] {
    newidle.k.kernel.rd_overloaded.poke(1);
    newidle.k.cpu(Newidle::kTarget).ttwu_pending.poke(1);
  };
  EXPECT_EQ(newidle.walked(), 0);
}

// Whether blocked load is old is asked only after long idles.
TEST(Newidle, LongIdlesLookAtNohz) {
  for (const bool is_long : {false, true}) {
    Newidle newidle;
    newidle.before = [&] {
      newidle.k.cpu(Newidle::kTarget).avg_idle = Time::us(500) - Time::ps(is_long ? 0 : 1);
    };
    EXPECT_EQ(newidle.walked(), 0);
    EXPECT_EQ(newidle.lines_read("NOHZ"), is_long ? 1 : 0);
  }
}

}  // namespace
}  // namespace idlesim::testing

// SPEC_CTRL: who writes it, how often, what it does to the latency of interrupts; CPUs that go
// offline and come back. Conformance check 14 (KERNEL_IBRS).
#include <gtest/gtest.h>

#include "idlesim/kernel/hotplug.h"
#include "idlesim/kernel/spec_ctrl.h"
#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;
using hw::SPEC_CTRL_IBRS;

// CPUs 0 and 1 share a core, so do 2 and 3. C1 is entered by intel_idle_irq, C6 has the IBRS flag.
KernelUnderTest::Options smt_options(std::initializer_list<Axis> axes, int idle_state,
                                     int threads = 2) {
  KernelUnderTest::Options options;
  options.config.features = features_of(Arch::kX86_64, axes);
  options.config.features.set("governor", "fixed");
  options.config.idle_state = idle_state;
  options.machine = [threads](hw::MachineSpec& spec) {
    spec.topology.cores_per_cluster = 2 / threads;
    spec.topology.threads_per_core = threads;
    spec.topology.numbering = hw::Numbering::kAdjacent;
    spec.cpu.vendor = hw::Vendor::kIntel;
    spec.spec_ctrl_write = Time::ns(50);
    spec.idle_states[0].irq_enable = true;
    spec.idle_states[1].ibrs = true;
    spec.idle_states[1].timing.depth = 2;
  };
  return options;
}

int writes_of(const KernelUnderTest& t, CpuId cpu) { return count_on(t.record.msr_writes, cpu); }

// CPU 2 calls CPU 0 a few times while nothing else runs.
void call_idle_cpu(KernelUnderTest& t, Called& called) {
  Acts acts{sleep_until(Time::us(500))};
  for (int i = 0; i < 5; ++i) {
    acts.push_back(call(0, called));
    acts.push_back(sleep_until(Time::us(600 + 100 * i)));
  }
  t.task(2, acts);
  t.run_until(Time::ms(2));
  EXPECT_EQ(called.runs, 5);
}

// --- idle ---

struct IdleCase {
  const char* ibrs;
  int state;  // 1: C1, 2: C6
  int threads;
  int writes_per_period;
};
void PrintTo(const IdleCase& c, std::ostream* out) {
  *out << c.ibrs << " state " << c.state << " threads " << c.threads;
}
class IdlePeriod : public ::testing::TestWithParam<IdleCase> {};
INSTANTIATE_TEST_SUITE_P(
    Policies, IdlePeriod,
    ::testing::Values(IdleCase{"off", 1, 2, 0}, IdleCase{"off", 2, 2, 0},
                      IdleCase{"kernel_ibrs", 1, 2, 0}, IdleCase{"kernel_ibrs", 2, 2, 0},
                      IdleCase{"long_idle", 1, 2, 0}, IdleCase{"long_idle", 2, 2, 2},
                      IdleCase{"all_idle", 1, 2, 2}, IdleCase{"all_idle", 2, 2, 2},
                      // sched_smt_active() is false
                      IdleCase{"all_idle", 1, 1, 0}, IdleCase{"long_idle", 2, 1, 0}));

TEST_P(IdlePeriod, WritesSpecCtrlAtItsBeginningAndEndOrNotAtAll) {
  const IdleCase& c = GetParam();
  KernelUnderTest t(smt_options({{"ibrs", c.ibrs}}, c.state, c.threads));
  Called called;
  call_idle_cpu(t, called);
  const int periods = count_on(t.record.exits, 0);
  EXPECT_GE(periods, 5);
  // The interrupts themselves write nothing. CPU 0 is in the next period now.
  EXPECT_EQ(writes_of(t, 0), c.writes_per_period * periods + c.writes_per_period / 2);
  const bool on = std::string(c.ibrs) != "off";
  EXPECT_EQ(t.machine.cpu(0).spec_ctrl(), on && c.writes_per_period == 0 ? SPEC_CTRL_IBRS : 0);
}

// From its arrival to the first instruction of its handler. STI;MWAIT takes it when MWAIT is over,
// 300 ns. With interrupts masked it waits for the end of the idle state: clearing the flag (5),
// the barrier (5), three segments of 10 ns; and in ibrs_off idle for the write of SPEC_CTRL, 50 ns.
struct LatencyCase {
  const char* ibrs;
  bool irq_enable;
  int ns;
};
class InterruptToIdle : public ::testing::TestWithParam<LatencyCase> {};
INSTANTIATE_TEST_SUITE_P(Policies, InterruptToIdle,
                         ::testing::Values(LatencyCase{"kernel_ibrs", true, 300},
                                           LatencyCase{"kernel_ibrs", false, 340},
                                           LatencyCase{"all_idle", true, 390},
                                           LatencyCase{"all_idle", false, 390}));

TEST_P(InterruptToIdle, WaitsForTheWriteAndForTheEndOfMaskedInterrupts) {
  KernelUnderTest::Options options = smt_options({{"ibrs", GetParam().ibrs}}, 1);
  options.config.features.set("wake_queue", "csq_always_ipi");
  const auto base = options.machine;
  options.machine = [base](hw::MachineSpec& spec) {
    base(spec);
    spec.idle_states[0].irq_enable = GetParam().irq_enable;
  };
  KernelUnderTest t(options);
  Called called;
  call_idle_cpu(t, called);
  int seen = 0;
  for (const trace::InterruptTaken& e : t.record.taken) {
    if (e.cpu != 0 || e.vector == static_cast<std::uint8_t>(hw::Vector::kLocalTimer)) continue;
    if (++seen == 1) continue;  // its stack is not in the cache yet
    EXPECT_EQ(e.time - e.arrived, Time::ns(GetParam().ns));
  }
  EXPECT_EQ(seen, 5);
}

// --- system calls and interrupts from user mode ---

struct Program {
  int calls = 0;
  Time until;
};
Co<> user_program(Cpu& cpu, Task& task) {
  Program& program = *static_cast<Program*>(task.data);
  co_await kernel::syscall_exit(cpu);
  for (int i = 0; i < program.calls; ++i) {
    co_await cpu.exec_time(Time::us(1));
    co_await kernel::syscall_enter(cpu);
    EXPECT_EQ(cpu.spec_ctrl(), kernel::ops_of(cpu).spec_ctrl_base);
    co_await kernel::syscall_exit(cpu);
    EXPECT_EQ(cpu.spec_ctrl(), 0u);
  }
  if (program.until > cpu.now()) co_await cpu.exec_time(program.until - cpu.now());
  co_await kernel::syscall_enter(cpu);
}

TEST(SystemCall, WritesSpecCtrlTwice) {
  for (const char* ibrs : {"off", "kernel_ibrs", "long_idle", "all_idle"}) {
    KernelUnderTest t(smt_options({{"ibrs", ibrs}}, 1));
    Program program{100, {}};
    t.kernel.first_task(t.kernel.new_task("program", 3, user_program, &program));
    t.run_until(Time::us(150));
    // One more to get into user mode, one to leave it; in all_idle the idle task's own.
    int writes = writes_of(t, 3);
    if (std::string(ibrs) == "all_idle") writes -= 1;
    EXPECT_EQ(writes, std::string(ibrs) == "off" ? 0 : 202) << ibrs;
  }
}

// An interrupt from user mode is an entry like any other.
TEST(InterruptFromUserMode, WritesSpecCtrlTwice) {
  KernelUnderTest t(smt_options({{"ibrs", "kernel_ibrs"}}, 1));
  Program program{0, Time::us(500)};
  t.kernel.first_task(t.kernel.new_task("program", 3, user_program, &program));
  Called called;
  t.task(0, {sleep_until(Time::us(100)), call(3, called), sleep_until(Time::us(200)),
             call(3, called)});
  t.run_until(Time::us(600));
  EXPECT_EQ(called.runs, 2);
  EXPECT_EQ(writes_of(t, 3), 2 + 2 * 2);
}

// --- offline ---

struct Administrator {
  Time down, up;
  Time dead, alive;
};
Co<> administrator(Cpu& cpu, Task& task) {
  Administrator& self = *static_cast<Administrator*>(task.data);
  co_await kernel::schedule_hrtimeout(cpu, self.down);
  co_await kernel::cpu_down(cpu, 1);
  self.dead = cpu.now();
  co_await kernel::schedule_hrtimeout(cpu, self.up);
  co_await kernel::cpu_up(cpu, 1);
  self.alive = cpu.now();
}

class Offline : public ::testing::TestWithParam<hw::Vendor> {
 protected:
  // CPU 2 takes CPU 1 down at 1 ms and up again at 50 ms.
  explicit Offline(const char* offline = "cleared") : t(options(offline)) {
    t.kernel.first_task(t.kernel.new_task("administrator", 2, administrator, &admin));
  }
  static KernelUnderTest::Options options(const char* offline) {
    KernelUnderTest::Options o =
        smt_options({{"ibrs", "kernel_ibrs"}, {"ibrs_offline", offline}}, 1);
    const auto base = o.machine;
    o.machine = [base](hw::MachineSpec& spec) {
      base(spec);
      spec.cpu.vendor = GetParam();
    };
    return o;
  }
  Administrator admin{Time::ms(1), Time::ms(50), {}, {}};
  KernelUnderTest t;
};
class OfflineBefore : public Offline {
 protected:
  OfflineBefore() : Offline("kept") {}
};
INSTANTIATE_TEST_SUITE_P(MwaitAndHlt, Offline,
                         ::testing::Values(hw::Vendor::kIntel, hw::Vendor::kAmd));
INSTANTIATE_TEST_SUITE_P(MwaitAndHlt, OfflineBefore,
                         ::testing::Values(hw::Vendor::kIntel, hw::Vendor::kAmd));

TEST_P(Offline, ClearsSpecCtrlOnceAndSetsItOnceWhenItComesBack) {
  t.run_until(Time::ms(40));
  EXPECT_GT(admin.dead, Time::ms(1));
  EXPECT_EQ(writes_of(t, 1), 1);
  EXPECT_EQ(t.machine.cpu(1).spec_ctrl(), 0u);
  t.run_until(Time::ms(60));
  EXPECT_GT(admin.alive, Time::ms(50));
  EXPECT_EQ(writes_of(t, 1), 2);
  EXPECT_EQ(t.machine.cpu(1).spec_ctrl(), SPEC_CTRL_IBRS);
}

TEST_P(OfflineBefore, KeepsSpecCtrlForEver) {
  t.run_until(Time::ms(40));
  EXPECT_GT(admin.dead, Time::ms(1));
  EXPECT_EQ(writes_of(t, 1), 0);
  EXPECT_EQ(t.machine.cpu(1).spec_ctrl(), SPEC_CTRL_IBRS);
}

TEST_P(Offline, TakesNoInterruptAndHasNoTick) {
  t.run_until(Time::ms(5));
  t.record.clear();
  t.at(Time::ms(20), [this] { t.machine.cpu(1).deliver(hw::Vector::kReschedule); });
  t.run_until(Time::ms(40));
  EXPECT_EQ(count_on(t.record.taken, 1), 0);
  EXPECT_GT(count_on(t.record.taken, 3), 0);  // the others have theirs
  EXPECT_TRUE(t.machine.cpu(1).halted());
}

TEST_P(Offline, WorksAgainWhenItIsBack) {
  Called called;
  t.task(3, {sleep_until(Time::ms(30)), call_many(CpuMask::all(4), called),
             sleep_until(Time::ms(70)), call(1, called)});
  t.run_until(Time::ms(40));
  EXPECT_EQ(called.runs, 2);  // CPUs 0 and 2
  t.run_until(Time::ms(100));
  EXPECT_EQ(called.runs, 3);
  EXPECT_EQ(called.cpu, 1);
  EXPECT_GT(count_on(t.record.taken, 1), 0);
}

// --- idle states of the core ---

TEST(CoreC6, IsReachedOnlyWhenBothSiblingsIdle) {
  KernelUnderTest t(smt_options({{"ibrs", "off"}}, 2));
  t.task(2, {busy_until(Time::ms(3))});
  t.run_until(Time::ms(3));
  int deepest[2] = {0, 0};
  for (const trace::CoreIdle& e : t.record.core_states)
    deepest[e.cpu / 2] = std::max(deepest[e.cpu / 2], static_cast<int>(e.state));
  EXPECT_EQ(deepest[0], 2);  // CPUs 0 and 1
  EXPECT_EQ(deepest[1], 0);  // CPU 3 asks for C6, CPU 2 runs
  EXPECT_GT(count_on(t.record.enters, 3), 0);
  t.run_until(Time::ms(5));
  deepest[1] = t.record.core_states.back().state;
  EXPECT_EQ(t.record.core_states.back().cpu, 2);
  EXPECT_EQ(deepest[1], 2);
}

// --- a sibling that polls ---

struct Busy {
  Time begun, end;
};
Co<> busy_program(Cpu& cpu, Task& task) {
  Busy& self = *static_cast<Busy*>(task.data);
  co_await cpu.exec_time(Time::ms(2));  // by then the sibling has settled
  self.begun = cpu.now();
  co_await cpu.exec_time(Time::ms(1));
  self.end = cpu.now();
}

// cpu_idle_poll(): 10 ns of code and a PAUSE of 10 ns. The code takes 16.667 ns beside the other
// thread: (0.6 * 16.667 + 0.85 * 10) / 26.667 = 0.693748 are left.
TEST(IdlePoll, SlowsTheSiblingAndMwaitDoesNot) {
  for (const bool poll : {true, false}) {
    KernelUnderTest::Options options =
        smt_options({{"idle_enter", poll ? "poll" : "mwait_ecx1"}}, 1);
    const auto base = options.machine;
    options.machine = [base](hw::MachineSpec& spec) {
      base(spec);
      spec.cpu.smt_share_running_permille = 600;
      spec.cpu.smt_share_pause_permille = 850;
    };
    KernelUnderTest t(options);
    Busy busy;
    t.kernel.first_task(t.kernel.new_task("busy", 0, busy_program, &busy));
    t.run_until(Time::ms(9));
    const std::int64_t share = poll ? 693'748 : 1'000'000;
    EXPECT_EQ(busy.end - busy.begun,
              Time::ps((Time::ms(1).count_ps() * 1'000'000 + share - 1) / share));
  }
}

}  // namespace
}  // namespace idlesim::testing

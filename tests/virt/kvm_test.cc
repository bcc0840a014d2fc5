// Guests under KVM: no call is lost on any road, exits are counted by hand, and the host's halt
// polling follows its rule.
#include "idlesim/virt/kvm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Arch;
using hw::Exit;
using virt::Kvm;
using virt::KvmSpec;
using virt::TrapPolicy;

KvmSpec kvm_spec(Arch arch) {
  KvmSpec spec;
  spec.name = "test";
  spec.arch = arch;
  spec.placement = {1, 2};
  spec.wfe_trap = TrapPolicy::kNoTrap;
  spec.exit = Time::ns(100);
  spec.entry = Time::ns(90);
  spec.halt_poll_grow_start = Time::us(10);
  return spec;
}

kernel::KernelConfig config_of(const kernel::Features& features) {
  kernel::KernelConfig config;
  config.features = features;
  return config;
}

// A guest of two vCPUs on CPUs 1 and 2, and its tasks.
class GuestUnderTest {
 public:
  GuestUnderTest(const KvmSpec& spec)
      : kvm_spec(spec),
        machine_spec(kernel_machine(spec.arch)),
        costs(constant_costs(spec.arch, 10)),
        machine(machine_spec, 1, 0),
        host(machine, costs, config_of(features_of(spec.arch, {}))),
        kvm(host, kvm_spec),
        guest(kvm.machine(), costs,
              config_of(features_of(
                  spec.arch, {{"tick", "always_stop"},
                              {"polling", "none"},
                              {"idle_enter", spec.arch == Arch::kArm64 ? "wfi" : "hlt"}}))) {}

  void run_until(Time time) {
    host.boot();
    (guest_kernel != nullptr ? *guest_kernel : guest).boot();
    machine.engine().post(
        time, [](void* m, std::uint64_t) { static_cast<hw::Machine*>(m)->engine().stop(); },
        &machine, 0);
    machine.run();
  }
  std::int64_t exits(Exit reason) const {
    return kvm.counts.exits[static_cast<std::size_t>(reason)];
  }

  const KvmSpec kvm_spec;
  const hw::MachineSpec machine_spec;
  const kernel::KernelSpec costs;
  hw::Machine machine;
  kernel::Kernel host;
  Kvm kvm;
  kernel::Kernel guest;
  kernel::Kernel* guest_kernel = nullptr;  // instead of it
};

struct Calls {
  int wanted = 0;
  Time start;
  Time pause;
  int done = 0;
  Called called;
};

Co<> caller(Cpu& cpu, Task& task) {
  Calls& calls = *static_cast<Calls*>(task.data);
  Cpu& self = cpu;
  co_await kernel::schedule_hrtimeout(self, calls.start);
  for (int i = 0; i < calls.wanted; ++i) {
    co_await kernel::smp_call_function_single(self, 1 - self.id, called_function, &calls.called,
                                              true);
    ++calls.done;
    if (calls.pause != Time{}) co_await kernel::schedule_hrtimeout(self, self.now() + calls.pause);
  }
}

struct Road {
  const char* name;
  Arch arch;
  Time halt_poll;
  TrapPolicy wfi;
  bool posted;
};
void PrintTo(const Road& road, std::ostream* out) { *out << road.name; }

class EveryRoad : public ::testing::TestWithParam<Road> {
 protected:
  KvmSpec spec() const {
    const Road& road = GetParam();
    KvmSpec spec = kvm_spec(road.arch);
    spec.halt_poll_max = road.halt_poll;
    spec.wfi_trap = road.wfi;
    spec.posted_interrupts = road.posted;
    spec.timer_traps = road.arch == Arch::kX86_64;
    if (road.arch == Arch::kX86_64) spec.ipi = virt::IpiRoad::kFastpath;
    return spec;
  }
};

// Both vCPUs call each other at once, so that a call finds its target in its guest, on its way out,
// polling, going to sleep, asleep and being woken.
TEST_P(EveryRoad, EachCallRunsOnceAndReturns) {
  for (int shift = 0; shift < 40; ++shift) {
    GuestUnderTest test(spec());
    Calls a{100, Time::us(300), Time::ns(700 * shift), 0, {}};
    Calls b{100, Time::us(300) + Time::ns(137 * shift), Time::us(30), 0, {}};
    test.guest.first_task(test.guest.new_task("a", 0, caller, &a));
    test.guest.first_task(test.guest.new_task("b", 1, caller, &b));
    test.run_until(Time::ms(20));
    ASSERT_EQ(a.done, 100) << "shift " << shift << "\n" << test.kvm.machine().stories();
    ASSERT_EQ(b.done, 100) << "shift " << shift << "\n" << test.kvm.machine().stories();
    ASSERT_EQ(a.called.runs, 100);
    ASSERT_EQ(b.called.runs, 100);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryRoad,
    ::testing::Values(
        Road{"arm64, no host polling", Arch::kArm64, {}, TrapPolicy::kTrap, false},
        Road{"arm64, host polls", Arch::kArm64, Time::us(500), TrapPolicy::kTrap, false},
        Road{"arm64, WFI not trapped", Arch::kArm64, Time::us(500), TrapPolicy::kNoTrap, false},
        Road{"x86, APICv", Arch::kX86_64, Time::us(200), TrapPolicy::kTrap, true},
        Road{"x86, no APICv", Arch::kX86_64, Time::us(200), TrapPolicy::kTrap, false},
        Road{"x86, APICv, HLT does not exit", Arch::kX86_64, {}, TrapPolicy::kNoTrap, true}));

// A call to an idle vCPU whose WFI exits: the caller exits once to send, the target has exited once
// to halt, and the host needs no interrupt of its own to make it exit.
TEST(KvmExits, CallToAHaltedVcpu) {
  KvmSpec spec = kvm_spec(Arch::kArm64);
  spec.wfi_trap = TrapPolicy::kTrap;
  GuestUnderTest test(spec);
  Calls calls{50, Time::us(500), {}, 0, {}};
  test.guest.first_task(test.guest.new_task("a", 0, caller, &calls));
  test.run_until(Time::ms(5));
  ASSERT_EQ(calls.done, 50);
  EXPECT_EQ(test.exits(Exit::kIpi), 50);
  EXPECT_EQ(test.kvm.counts.kicks, 0);
  // Its first idle, and again after each call; vCPU 0 sleeps before the calls and after them.
  EXPECT_EQ(test.exits(Exit::kHlt), 51 + 2);
}

// Its WFI does not exit: each call makes it exit by an interrupt of the host.
TEST(KvmExits, CallToAVcpuThatStaysInItsGuest) {
  KvmSpec spec = kvm_spec(Arch::kArm64);
  spec.wfi_trap = TrapPolicy::kNoTrap;
  GuestUnderTest test(spec);
  Calls calls{50, Time::us(500), {}, 0, {}};
  test.guest.first_task(test.guest.new_task("a", 0, caller, &calls));
  test.run_until(Time::ms(5));
  ASSERT_EQ(calls.done, 50);
  EXPECT_EQ(test.exits(Exit::kIpi), 50);
  EXPECT_EQ(test.kvm.counts.kicks, 50);
  EXPECT_GE(test.exits(Exit::kInterrupt), 50);
  EXPECT_EQ(test.exits(Exit::kHlt), 0);
}

// With posted interrupts the target takes it without an exit.
TEST(KvmExits, PostedInterruptNeedsNone) {
  KvmSpec spec = kvm_spec(Arch::kX86_64);
  spec.wfi_trap = TrapPolicy::kNoTrap;
  spec.posted_interrupts = true;
  GuestUnderTest test(spec);
  Calls calls{50, Time::us(500), {}, 0, {}};
  test.guest.first_task(test.guest.new_task("a", 0, caller, &calls));
  test.run_until(Time::ms(5));
  ASSERT_EQ(calls.done, 50);
  EXPECT_EQ(test.exits(Exit::kIpi), 50);
  EXPECT_EQ(test.kvm.counts.kicks, 0);
  EXPECT_LE(test.exits(Exit::kInterrupt), 2);
}

// --- WFE: conformance check 17 ---

// A guest that polls in WFE; vCPU 0 calls vCPU 1 every 30 us.
struct Polling {
  explicit Polling(TrapPolicy wfe)
      : test(spec_of(wfe)), guest(test.kvm.machine(), test.costs, config()) {
    test.guest_kernel = &guest;
    guest.first_task(guest.new_task("a", 0, caller, &calls));
    test.run_until(Time::ms(5));
  }
  static KvmSpec spec_of(TrapPolicy wfe) {
    KvmSpec spec = kvm_spec(Arch::kArm64);
    spec.wfi_trap = TrapPolicy::kTrap;
    spec.wfe_trap = wfe;
    return spec;
  }
  static kernel::KernelConfig config() {
    kernel::KernelConfig config = config_of(features_of(
        Arch::kArm64,
        {{"polling", "tif_polling"}, {"governor", "haltpoll"}, {"poll_idle", "cond_load_1"}}));
    config.haltpoll.force = true;
    return config;
  }

  GuestUnderTest test;
  kernel::Kernel guest;
  Calls calls{50, Time::us(500), Time::us(30), 0, {}};
};

// A WFE that traps comes back at once: it never lets the thread sleep.
TEST(KvmWfe, TrappedItNeverSleeps) {
  Polling trapped(TrapPolicy::kTrap);
  ASSERT_EQ(trapped.calls.done, 50);
  EXPECT_GT(trapped.test.exits(Exit::kWfe), 500);
  EXPECT_LE(trapped.test.kvm.counts.blocks, trapped.test.exits(Exit::kHlt));
  Polling untrapped(TrapPolicy::kNoTrap);
  ASSERT_EQ(untrapped.calls.done, 50);
  EXPECT_EQ(untrapped.test.exits(Exit::kWfe), 0);
}

// Alone on its CPU when the thread came in: WFE does not trap, and WFI does.
TEST(KvmWfe, SingleTaskIsDecidedWhenTheThreadComesIn) {
  Polling alone(TrapPolicy::kSingleTask);
  ASSERT_EQ(alone.calls.done, 50);
  EXPECT_EQ(alone.test.exits(Exit::kWfe), 0);
  EXPECT_GT(alone.test.exits(Exit::kHlt), 0);
  EXPECT_EQ(alone.test.kvm.counts.loads_not_single, 0);
  EXPECT_FALSE(alone.test.kvm.vcpu(1).wfe_traps);
  EXPECT_TRUE(alone.test.kvm.vcpu(1).wfi_traps);
}

// --- halt_poll_ns ---

struct Sleeps {
  std::vector<Time> lengths;
  std::vector<Time> poll_after;
  Kvm* kvm = nullptr;
};

Co<> sleeper(Cpu& cpu, Task& task) {
  Sleeps& sleeps = *static_cast<Sleeps*>(task.data);
  Cpu& self = cpu;
  for (const Time length : sleeps.lengths) {
    co_await kernel::schedule_hrtimeout(self, self.now() + length);
    sleeps.poll_after.push_back(sleeps.kvm->vcpu(self.id).halt_poll);
  }
}

// Halts last a little less than the sleeps. From 0 the window starts at 10 us, doubles while halts
// outlast it and are below the maximum, keeps when a halt fits, and halves after one beyond the
// maximum; below 10 us it becomes 0.
TEST(HaltPolling, GrowsAndShrinks) {
  KvmSpec spec = kvm_spec(Arch::kArm64);
  spec.wfi_trap = TrapPolicy::kTrap;
  spec.halt_poll_max = Time::us(100);
  GuestUnderTest test(spec);
  Sleeps sleeps;
  sleeps.kvm = &test.kvm;
  const auto us = [](std::int64_t count) { return Time::us(count); };
  sleeps.lengths = {us(50), us(50), us(50), us(30), us(90), us(90), us(200), us(200), us(200)};
  test.guest.first_task(test.guest.new_task("s", 0, sleeper, &sleeps));
  test.run_until(Time::ms(3));
  EXPECT_EQ(sleeps.poll_after,
            (std::vector<Time>{us(10), us(20), us(40), us(40), us(80), us(80) * 2, us(50), us(25),
                               us(12) + Time::ns(500)}));
}

}  // namespace
}  // namespace idlesim::testing

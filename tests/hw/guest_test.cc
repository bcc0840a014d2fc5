// A guest's CPU on a physical one: where it stops, what is left of what it was doing, and when it
// takes its interrupts. Every time is computed by hand.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

using hw::Cpu;
using hw::Exit;
using hw::Vector;
using sim::Co;

constexpr Time kExit = Time::ns(100);
constexpr Time kHandler = Time::ns(30);

// One guest CPU on CPU 0 of a machine with two cores. The host enters it again and again until the
// guest's program has ended; between exit and entry it takes its interrupts and hands over what
// `inject` holds.
class Guest : public ::testing::Test, public hw::Platform {
 public:
  using Program = Co<> (*)(Cpu& cpu, Guest& test);

  bool traps(const Cpu&, Exit reason) const override {
    return (traps_ >> static_cast<int>(reason) & 1) != 0;
  }
  void post_ipi(Cpu&, CpuId to, Vector vector) override { machine.cpu(to).deliver(vector); }
  void timer_expired(Cpu& cpu) override {
    note(cpu.host() != nullptr ? "expired" : "expired outside");
  }

  void trap(Exit reason) { traps_ |= 1u << static_cast<int>(reason); }
  void run(Program program) {
    program_ = program;
    machine.cpu(0).os = this;
    machine.cpu(0).interrupt_handler = guest_interrupt;
    machine.cpu(0).boot(Time{}, start_guest, this);
    host.cpu(0).os = this;
    host.cpu(0).interrupt_handler = host_interrupt;
    host.cpu(0).boot(Time{}, start_host, this);
    host.run();
  }
  void interrupt_host_at(Time time) { host.engine().post(time, deliver, &host.cpu(0), 0); }
  void note(const std::string& what) {
    log.push_back(std::to_string(host.now().count_ns()) + " " + what);
  }

  hw::MachineSpec spec = flat_spec(2);
  hw::MachineSpec guest_spec = flat_spec(1);
  hw::Machine host{spec, 1, 0};
  hw::Machine machine{guest_spec, host, {0}, *this};
  std::vector<std::string> log;
  std::vector<Vector> inject;
  Time handling = Time{};  // between an exit and the next entry, beyond interrupts

 private:
  static void deliver(void* cpu, std::uint64_t) {
    static_cast<Cpu*>(cpu)->deliver(Vector::kReschedule);
  }
  static Co<> guest_interrupt(Cpu& cpu, Vector vector) {
    Guest& self = *static_cast<Guest*>(cpu.os);
    self.note("guest takes " + std::string(hw::to_string(vector)));
    co_await cpu.exec_time(kHandler);
  }
  static Co<> host_interrupt(Cpu& cpu, Vector) {
    Guest& self = *static_cast<Guest*>(cpu.os);
    self.note("host interrupt");
    co_await cpu.exec_time(kHandler);
  }
  static Co<> guest_code(Cpu& cpu, Guest& self) {
    Guest& test = self;
    co_await test.program_(cpu, test);
    test.note("guest done");
    test.done_ = true;
    co_await cpu.exec_time(Time::us(100));
  }
  static Co<> host_code(Cpu& cpu, Guest& self) {
    Guest& test = self;
    while (!test.done_) {
      cpu.local_irq_disable();
      for (const Vector vector : test.inject) test.machine.cpu(0).deliver(vector);
      test.inject.clear();
      const hw::ExitInfo exit = co_await cpu.run_guest(test.machine.cpu(0), kExit);
      test.note(std::string("exit ") + hw::to_string(exit.reason));
      co_await cpu.local_irq_enable();
      co_await cpu.exec_time(test.handling);
      if (test.done_) cpu.machine().engine().stop();
    }
  }
  static void ended(void*) {}
  static void start_guest(void* test) {
    Guest& self = *static_cast<Guest*>(test);
    self.guest_root_.start(guest_code(self.machine.cpu(0), self), ended, test);
  }
  static void start_host(void* test) {
    Guest& self = *static_cast<Guest*>(test);
    self.host_root_.start(host_code(self.host.cpu(0), self), ended, test);
  }

  Program program_ = nullptr;
  unsigned traps_ = 0;
  bool done_ = false;
  sim::Root guest_root_, host_root_;
};

using Log = std::vector<std::string>;

Co<> straight(Cpu& cpu, Guest&) { co_await cpu.exec_time(ns(1000)); }

// The host's interrupt at 400 leaves 600 ns of the stretch. The guest is out for the exit (100) and
// the handler (30); the program ends at 1130 instead of 1000.
TEST_F(Guest, StretchIsCutAndGoesOn) {
  interrupt_host_at(ns(400));
  interrupt_host_at(ns(1200));
  run(straight);
  EXPECT_EQ(log, (Log{"500 exit interrupt", "500 host interrupt", "1130 guest done",
                      "1300 exit interrupt", "1300 host interrupt"}));
}

// Cycles do not count while the CPU stands still: 130 ns for the first exit, 100 for the second.
TEST_F(Guest, CyclesDoNotCountOutside) {
  interrupt_host_at(ns(400));
  interrupt_host_at(ns(1200));
  run(straight);
  EXPECT_EQ(host.now(), ns(1330));
  EXPECT_EQ(machine.cpu(0).halted_time(), ns(130 + 130));
}

// Several exits: every part of the stretch is executed once.
TEST_F(Guest, StretchIsCutAnyNumberOfTimes) {
  for (int i = 1; i <= 20; ++i) interrupt_host_at(ns(200 * i));
  run(straight);
  // 200 of 1000 are done before the first exit, then 70 of every 200.
  // 800 left after 200: 11 rounds of 70 are 770, the last 30 end at 130 + 12 * 200 + 30.
  EXPECT_EQ(log[24], "2560 guest done");
}

Co<> halts(Cpu& cpu, Guest& test) {
  co_await cpu.halt(hw::HaltKind::kHlt, {});
  test.note("after HLT");
}

// STI;HLT exits with interrupts enabled: what is injected on entry is taken before the next
// instruction.
TEST_F(Guest, HltExitsAndTheInjectedInterruptComesFirst) {
  trap(Exit::kHlt);
  handling = ns(500);
  inject = {};
  host.engine().post(
      ns(300),
      [](void* test, std::uint64_t) {
        static_cast<Guest*>(test)->inject.push_back(Vector::kCallFunction);
      },
      this, 0);
  interrupt_host_at(ns(2000));
  run(halts);
  EXPECT_EQ(log, (Log{"100 exit halt", "600 guest takes CALL_FUNCTION", "630 after HLT",
                      "630 guest done", "2100 exit interrupt", "2100 host interrupt"}));
}

// With an interrupt pending it would not wait, so it does not exit.
Co<> masked_wfi(Cpu& cpu, Guest& test) {
  cpu.local_irq_disable();
  co_await cpu.halt(hw::HaltKind::kWfi, {});
  test.note("after WFI");
  co_await cpu.local_irq_enable();
}

TEST_F(Guest, WfiWithAPendingInterruptDoesNotExit) {
  trap(Exit::kHlt);
  inject = {Vector::kReschedule};
  interrupt_host_at(ns(500));
  run(masked_wfi);
  EXPECT_EQ(log, (Log{"0 after WFI", "0 guest takes RESCHEDULE", "30 guest done",
                      "600 exit interrupt", "600 host interrupt"}));
}

// Without the trap the physical CPU waits; the host's interrupt ends the instruction.
TEST_F(Guest, HltThatDoesNotExitEndsWithTheHostsInterrupt) {
  interrupt_host_at(ns(700));
  interrupt_host_at(ns(2000));
  run(halts);
  EXPECT_EQ(log, (Log{"800 exit interrupt", "800 host interrupt", "830 after HLT", "830 guest done",
                      "2100 exit interrupt", "2100 host interrupt"}));
}

Co<> sends(Cpu& cpu, Guest& test) {
  co_await cpu.exec_time(ns(50));
  co_await cpu.send_ipi(0, Vector::kCallFunctionSingle);
  test.note("sent");
}

TEST_F(Guest, SendingExitsWithItsTarget) {
  trap(Exit::kIpi);
  handling = ns(200);
  interrupt_host_at(ns(1000));
  run(sends);
  EXPECT_EQ(log, (Log{"150 exit ipi", "350 sent", "350 guest done", "1100 exit interrupt",
                      "1100 host interrupt"}));
}

// Interrupts of the guest are masked: the injected one waits, the exits do not.
Co<> masked(Cpu& cpu, Guest& test) {
  cpu.local_irq_disable();
  co_await cpu.exec_time(ns(1000));
  test.note("unmask");
  co_await cpu.local_irq_enable();
  test.note("unmasked");
}

TEST_F(Guest, MaskedInterruptStaysPendingAcrossExits) {
  inject = {Vector::kReschedule};
  interrupt_host_at(ns(400));
  interrupt_host_at(ns(2000));
  run(masked);
  EXPECT_EQ(log, (Log{"500 exit interrupt", "500 host interrupt", "1130 unmask",
                      "1130 guest takes RESCHEDULE", "1160 unmasked", "1160 guest done",
                      "2100 exit interrupt", "2100 host interrupt"}));
}

// The timer of a guest that executes makes it exit; of one that stands still, the platform hears.
Co<> sets_timer(Cpu& cpu, Guest& test) {
  co_await cpu.program_timer(ns(300));
  co_await cpu.exec_time(ns(1000));
  test.note("worked");
}

TEST_F(Guest, TimerOfARunningGuestExits) {
  interrupt_host_at(ns(3000));
  run(sets_timer);
  EXPECT_EQ(log, (Log{"300 expired", "400 exit timer", "1100 worked", "1100 guest done",
                      "3100 exit interrupt", "3100 host interrupt"}));
}

TEST_F(Guest, TimerOfAGuestThatStandsStillIsThePlatforms) {
  interrupt_host_at(ns(250));
  interrupt_host_at(ns(3000));
  run(sets_timer);
  EXPECT_EQ(log,
            (Log{"300 expired outside", "350 exit interrupt", "350 host interrupt", "1130 worked",
                 "1130 guest done", "3100 exit interrupt", "3100 host interrupt"}));
}

}  // namespace
}  // namespace idlesim::testing

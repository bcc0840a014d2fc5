// Mutexes and wait queues between several tasks.
#include "idlesim/kernel/wait.h"

#include <gtest/gtest.h>

#include "support/kernel_under_test.h"

namespace idlesim::testing {
namespace {

// A mutex on a line of its own, and who is inside.
struct Guarded {
  explicit Guarded(KernelUnderTest& k) : kernel(&k) {
    hw::Line& line = k.machine.new_line(k.machine.line_name("MUTEX"), 0);
    mutex.owner = mutex.wait_lock = hw::Word(line, 0);
  }
  KernelUnderTest* kernel;
  kernel::Mutex mutex;
  int inside = 0;
  int entered = 0;
  Time sleeps;  // while inside; zero: it executes 2 us
};

Co<> critical_section(Cpu& cpu, void* object) {
  Guarded& guarded = *static_cast<Guarded*>(object);
  Task& self = *kernel::this_cpu(cpu).curr;
  co_await kernel::mutex_lock(cpu, guarded.mutex);
  ++guarded.inside;
  ++guarded.entered;
  EXPECT_EQ(guarded.inside, 1);
  Cpu& here = *self.running_on;
  if (guarded.sleeps == Time{})
    co_await here.exec_time(Time::us(2));
  else
    co_await kernel::schedule_hrtimeout(here, here.now() + guarded.sleeps);
  EXPECT_EQ(guarded.inside, 1);
  --guarded.inside;
  co_await kernel::mutex_unlock(*self.running_on, guarded.mutex);
}

KernelUnderTest::Options plain(hw::Arch arch) {
  KernelUnderTest::Options options;
  options.arch = arch;
  options.config.features = features_of(arch, {});
  return options;
}

// Eight tasks on four CPUs, pinned and not, five times each.
void contend(hw::Arch arch, Time sleeps) {
  KernelUnderTest k(plain(arch));
  Guarded guarded(k);
  guarded.sleeps = sleeps;
  kernel::Mm& mm = k.kernel.new_mm(0);
  for (int i = 0; i < 8; ++i) {
    const CpuId cpu = i % 4;
    Acts acts{sleep_until(Time::us(100 + i))};
    for (int round = 0; round < 5; ++round) acts.push_back(run(critical_section, &guarded));
    k.task(cpu, i < 4 ? CpuMask::of(4, cpu) : CpuMask::all(4), &mm, acts);
  }
  ASSERT_TRUE(k.run(Time::ms(20))) << k.machine.stories();
  EXPECT_EQ(guarded.entered, 40);
  EXPECT_EQ(guarded.mutex.owner.peek(), 0u);
  EXPECT_TRUE(guarded.mutex.waiters.empty());
}
TEST(Mutex, SpinnersTakeTurns) {
  contend(hw::Arch::kX86_64, {});
  contend(hw::Arch::kArm64, {});
}
// The owner sleeps, so that those who wait sleep too.
TEST(Mutex, SleepersAreWoken) {
  contend(hw::Arch::kX86_64, Time::us(30));
  contend(hw::Arch::kArm64, Time::us(30));
}

// A waiter on a wait queue is taken from it by its waker, and leaves by itself if it was not.
struct Queue {
  explicit Queue(KernelUnderTest& k) {
    hw::Line& line = k.machine.new_line(k.machine.line_name("QUEUE"), 0);
    head.lock = head.list = hw::Word(line, 0);
  }
  kernel::WaitQueueHead head;
  std::vector<int> woken;
  bool woke_somebody = false;
};
Co<> wait_on(Cpu& cpu, void* object) {
  Queue& queue = *static_cast<Queue*>(object);
  Task& self = *kernel::this_cpu(cpu).curr;
  kernel::WaitQueueEntry entry{&self, false};
  co_await kernel::prepare_to_wait_event(cpu, queue.head, entry, kernel::TASK_INTERRUPTIBLE);
  co_await kernel::schedule(cpu);
  queue.woken.push_back(self.pid);
  co_await kernel::finish_wait(*self.running_on, queue.head, entry);
}
Co<> wake_first(Cpu& cpu, void* object) {
  Queue& queue = *static_cast<Queue*>(object);
  queue.woke_somebody = co_await kernel::wake_up_interruptible_sync_poll(cpu, queue.head);
}
TEST(WaitQueue, FirstComeFirstWoken) {
  KernelUnderTest k(plain(hw::Arch::kX86_64));
  Queue queue(k);
  const Task& a = k.task(1, {sleep_until(Time::us(100)), run(wait_on, &queue)});
  const Task& b = k.task(2, {sleep_until(Time::us(120)), run(wait_on, &queue)});
  k.task(0,
         {sleep_until(Time::us(200)), run(wake_first, &queue), busy_until(Time::us(300)), note([&] {
            EXPECT_EQ(queue.head.entries.size(), 1u);
            EXPECT_EQ(queue.woken, std::vector<int>{a.pid});
          }),
          run(wake_first, &queue), note([&] { EXPECT_TRUE(queue.woke_somebody); }),
          busy_until(Time::us(400)), run(wake_first, &queue),
          note([&] { EXPECT_FALSE(queue.woke_somebody); })});
  ASSERT_TRUE(k.run());
  EXPECT_EQ(queue.woken, (std::vector<int>{a.pid, b.pid}));
}
TEST(WaitQueue, WokenBySomebodyElse) {
  KernelUnderTest k(plain(hw::Arch::kX86_64));
  Queue queue(k);
  Task& waiter = k.task(1, {sleep_until(Time::us(100)), run(wait_on, &queue)});
  k.task(0, {sleep_until(Time::us(200)), wake(waiter), busy_until(Time::us(300)),
             note([&] { EXPECT_TRUE(queue.head.entries.empty()); })});
  ASSERT_TRUE(k.run());
}

}  // namespace
}  // namespace idlesim::testing

#include "idlesim/kernel/wait.h"

#include <algorithm>

#include "idlesim/base/check.h"

namespace idlesim::kernel {

// --- wait queues ---

namespace {

// Linux: include/linux/list.h, list_add(), list_del_init(): the head's line and the entry's.
Co<> link(Cpu& cpu, WaitQueueHead& head, WaitQueueEntry& entry, bool queued) {
  WaitQueueHead& queue = head;
  WaitQueueEntry& e = entry;
  e.queued = queued;
  if (queued)
    queue.entries.push_back(&e);
  else
    queue.entries.erase(std::find(queue.entries.begin(), queue.entries.end(), &e));
  co_await write_once(cpu, queue.list, queue.entries.size());
  co_await write_once(cpu, e.task->stack, queued ? 1 : 0);
}

}  // namespace

// Linux: kernel/sched/wait.c, prepare_to_wait_event().
// Not modelled: signals.
Co<> prepare_to_wait_event(Cpu& cpu, WaitQueueHead& head, WaitQueueEntry& entry,
                           std::uint64_t state) {
  WaitQueueHead& queue = head;
  WaitQueueEntry& e = entry;
  cpu.local_irq_disable();
  co_await spin_lock(cpu, queue.lock);
  if (!e.queued) co_await link(cpu, queue, e, true);
  co_await set_current_state(cpu, state);
  co_await spin_unlock(cpu, queue.lock);
  co_await cpu.local_irq_enable();
}

// Linux: kernel/sched/wait.c, finish_wait().
Co<> finish_wait(Cpu& cpu, WaitQueueHead& head, WaitQueueEntry& entry) {
  WaitQueueHead& queue = head;
  WaitQueueEntry& e = entry;
  co_await write_once(cpu, e.task->state, TASK_RUNNING);
  // list_empty_careful(): whoever removes the entry has finished with it.
  co_await read_once(cpu, e.task->stack);
  if (!e.queued) co_return;
  cpu.local_irq_disable();
  co_await spin_lock(cpu, queue.lock);
  if (e.queued) co_await link(cpu, queue, e, false);
  co_await spin_unlock(cpu, queue.lock);
  co_await cpu.local_irq_enable();
}

// Linux: kernel/sched/wait.c, __wake_up_sync_key(), autoremove_wake_function().
// Not modelled: entries that are not exclusive, poll keys.
Co<bool> wake_up_interruptible_sync_poll(Cpu& cpu, WaitQueueHead& head) {
  WaitQueueHead& queue = head;
  const bool irqs = cpu.irqs_enabled();
  bool woken = false;
  cpu.local_irq_disable();
  co_await spin_lock(cpu, queue.lock);
  co_await read_once(cpu, queue.list);
  for (std::size_t i = 0; i < queue.entries.size() && !woken; ++i) {
    WaitQueueEntry& entry = *queue.entries[i];
    co_await read_once(cpu, entry.task->stack);
    woken = co_await try_to_wake_up(cpu, *entry.task, TASK_INTERRUPTIBLE, WF_SYNC);
    if (woken) co_await link(cpu, queue, entry, false);
  }
  co_await spin_unlock(cpu, queue.lock);
  if (irqs) co_await cpu.local_irq_enable();
  co_return woken;
}

// --- mutexes ---

namespace {

constexpr std::uint64_t MUTEX_FLAG_WAITERS = 1;

std::uint64_t address_of(const Task& task) { return reinterpret_cast<std::uintptr_t>(&task); }

Task* owner_of(std::uint64_t owner) {
  return reinterpret_cast<Task*>(static_cast<std::uintptr_t>(owner & ~MUTEX_FLAG_WAITERS));
}

// Linux: kernel/locking/mutex.c, __mutex_trylock(): leaves the flag as it is.
Co<bool> mutex_trylock(Cpu& cpu, Mutex& mutex) {
  Word& owner = mutex.owner;
  const std::uint64_t self = address_of(*this_cpu(cpu).curr);
  std::uint64_t value = co_await read_once(cpu, owner);
  while (owner_of(value) == nullptr) {
    const std::uint64_t old = co_await cmpxchg(cpu, owner, value, value | self);
    if (old == value) co_return true;
    value = old;
  }
  co_return false;
}

// Linux: kernel/locking/mutex.c, mutex_optimistic_spin(). True: it has the mutex; false: the owner
// does not run.
// Not modelled: the queue of spinners, giving up for a task that wants this CPU.
Co<bool> mutex_optimistic_spin(Cpu& cpu, Mutex& mutex) {
  Mutex& m = mutex;
  for (;;) {
    if (co_await mutex_trylock(cpu, m)) co_return true;
    Task* owner = owner_of(co_await read_once(cpu, m.owner));
    if (owner == nullptr) continue;
    if (co_await read_once(cpu, owner->on_cpu) == 0) co_return false;
    hw::SpinLoop loop;
    loop.mask = ~MUTEX_FLAG_WAITERS;
    loop.while_set = true;
    loop.pause = cpu.spec().pause;
    loop.period = loop.pause + Time::ns(1);
    co_await cpu.spin(m.owner, loop);
  }
}

// Linux: kernel/locking/mutex.c, __mutex_lock_common().
// Not modelled: hand-off to the first waiter.
Co<> mutex_lock_slowpath(Cpu& cpu, Mutex& mutex) {
  Mutex& m = mutex;
  Task& self = *this_cpu(cpu).curr;
  if (co_await mutex_optimistic_spin(cpu, m)) co_return;
  co_await spin_lock(cpu, m.wait_lock);
  m.waiters.push_back(&self);
  co_await fetch_or(cpu, m.owner, MUTEX_FLAG_WAITERS);
  for (;;) {
    Cpu& here = *self.running_on;
    co_await set_current_state(here, TASK_UNINTERRUPTIBLE);
    if (co_await mutex_trylock(here, m)) break;
    co_await spin_unlock(here, m.wait_lock);
    co_await schedule(here);
    co_await spin_lock(*self.running_on, m.wait_lock);
  }
  Cpu& here = *self.running_on;
  co_await write_once(here, self.state, TASK_RUNNING);
  m.waiters.erase(std::find(m.waiters.begin(), m.waiters.end(), &self));
  if (m.waiters.empty()) co_await clear_bits(here, m.owner, MUTEX_FLAG_WAITERS);
  co_await spin_unlock(here, m.wait_lock);
}

}  // namespace

// Linux: kernel/locking/mutex.c, mutex_lock().
Co<> mutex_lock(Cpu& cpu, Mutex& mutex) {
  Mutex& m = mutex;
  const std::uint64_t self = address_of(*this_cpu(cpu).curr);
  if (co_await cmpxchg(cpu, m.owner, 0, self) != 0) co_await mutex_lock_slowpath(cpu, m);
}

// Linux: kernel/locking/mutex.c, mutex_unlock(), __mutex_unlock_slowpath().
Co<> mutex_unlock(Cpu& cpu, Mutex& mutex) {
  Mutex& m = mutex;
  const std::uint64_t self = address_of(*this_cpu(cpu).curr);
  if (co_await cmpxchg(cpu, m.owner, self, 0) == self) co_return;
  co_await cpu.atomic(hw::AtomicOp::kAnd, m.owner, MUTEX_FLAG_WAITERS);
  co_await spin_lock(cpu, m.wait_lock);
  Task* next = m.waiters.empty() ? nullptr : m.waiters.front();
  co_await spin_unlock(cpu, m.wait_lock);
  if (next != nullptr) co_await try_to_wake_up(cpu, *next, TASK_UNINTERRUPTIBLE);
}

}  // namespace idlesim::kernel

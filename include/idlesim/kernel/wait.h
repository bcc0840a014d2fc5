// Wait queues and mutexes.
#ifndef IDLESIM_KERNEL_WAIT_H_
#define IDLESIM_KERNEL_WAIT_H_

#include <deque>

#include "idlesim/kernel/sched.h"

namespace idlesim::kernel {

// wait_queue_entry, on the stack of the task that waits.
struct WaitQueueEntry {
  Task* task = nullptr;
  bool queued = false;
};

// wait_queue_head. Its words are on lines of the object it belongs to.
struct WaitQueueHead {
  Word lock;
  Word list;  // head of the list of entries: what adding and removing writes
  std::deque<WaitQueueEntry*> entries;
};

// Puts the running task on the queue and into `state`, after which it must test its condition.
Co<> prepare_to_wait_event(Cpu& cpu, WaitQueueHead& head, WaitQueueEntry& entry,
                           std::uint64_t state);
Co<> finish_wait(Cpu& cpu, WaitQueueHead& head, WaitQueueEntry& entry);
// Wakes the first of the tasks that wait exclusively; false if there is none. The waker is about to
// block itself.
Co<bool> wake_up_interruptible_sync_poll(Cpu& cpu, WaitQueueHead& head);

// struct mutex. Bit 0 of `owner`: somebody sleeps; the rest is the owner's address.
struct Mutex {
  Word owner;
  Word wait_lock;
  std::deque<Task*> waiters;
};

// May sleep: a task that is not pinned may go on elsewhere.
Co<> mutex_lock(Cpu& cpu, Mutex& mutex);
Co<> mutex_unlock(Cpu& cpu, Mutex& mutex);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_WAIT_H_

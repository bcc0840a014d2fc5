#include "idlesim/kernel/pipe.h"

#include "idlesim/base/check.h"
#include "idlesim/kernel/idle.h"
#include "idlesim/kernel/spec_ctrl.h"

namespace idlesim::kernel {

void init_pipe(Kernel& kernel, CpuId cpu, Pipe& pipe) {
  hw::Machine& machine = kernel.machine();
  const hw::NodeId node = machine.topology().node(cpu);
  const auto line = [&](const char* name) -> hw::Line& {
    return machine.new_line(machine.line_name(name), node);
  };
  hw::Line& first = line("PIPE");
  pipe.mutex.owner = pipe.mutex.wait_lock = Word(first, 0);
  pipe.rd_wait.lock = pipe.rd_wait.list = Word(first, 0);
  hw::Line& second = line("PIPE2");
  pipe.head = pipe.tail = Word(second, 0);
  constexpr std::size_t kSlotBytes = 40, kLineBytes = 64;
  hw::Line* slots = nullptr;
  for (std::size_t i = 0; i < Pipe::kSlots; ++i) {
    if (i == 0 || i * kSlotBytes / kLineBytes != (i - 1) * kSlotBytes / kLineBytes)
      slots = &line("PIPE_BUFS");
    pipe.bufs[i] = Word(*slots, 0);
  }
  pipe.page = Word(line("PIPE_PAGE"), 0);
}

namespace {

Word& slot(Pipe& pipe, std::uint64_t index) { return pipe.bufs[index % Pipe::kSlots]; }

// Linux: fs/pipe.c, pipe_readable(), without the mutex.
Co<bool> pipe_readable(Cpu& cpu, Pipe& pipe) {
  Pipe& p = pipe;
  const std::uint64_t head = co_await read_once(cpu, p.head);
  co_return head != co_await read_once(cpu, p.tail);
}

// Waits until there is something to read.
// Linux: include/linux/wait.h, wait_event_interruptible_exclusive(), from fs/pipe.c, pipe_read().
Co<> wait_for_data(Cpu& cpu, Pipe& pipe) {
  Pipe& p = pipe;
  Task& self = *this_cpu(cpu).curr;
  WaitQueueEntry entry{&self, false};
  if (co_await pipe_readable(cpu, p)) co_return;
  for (;;) {
    Cpu& here = *self.running_on;
    co_await prepare_to_wait_event(here, p.rd_wait, entry, TASK_INTERRUPTIBLE);
    if (co_await pipe_readable(here, p)) break;
    co_await schedule(here);
  }
  co_await finish_wait(*self.running_on, p.rd_wait, entry);
}

// The mutex is held, and there is data: takes it, and hands the page back for the next write.
Co<> take_data(Cpu& cpu, Pipe& pipe, std::uint64_t tail) {
  Pipe& p = pipe;
  co_await read_once(cpu, slot(p, tail));
  co_await read_once(cpu, p.page);
  co_await write_once(cpu, slot(p, tail), 0);
  co_await write_once(cpu, p.tail, tail + 1);
}

// Linux: fs/pipe.c, pipe_read(). True: it has waited.
// Not modelled: partial reads, O_NONBLOCK, writers that wait for room, pipes without writers.
Co<bool> pipe_read(Cpu& cpu, Pipe& pipe) {
  Pipe& p = pipe;
  Task& self = *this_cpu(cpu).curr;
  bool waited = false;
  co_await mutex_lock(cpu, p.mutex);
  for (;;) {
    Cpu& here = *self.running_on;
    const std::uint64_t head = co_await read_once(here, p.head);
    const std::uint64_t tail = co_await read_once(here, p.tail);
    if (head != tail) {
      co_await exec(here, waited ? Path::pipe_read_after_wake : Path::pipe_read_data_ready);
      co_await take_data(here, p, tail);
      break;
    }
    CHECK(!waited, "two readers of a pipe");
    co_await mutex_unlock(here, p.mutex);
    co_await exec(here, Path::pipe_read_to_schedule);
    waited = true;
    co_await wait_for_data(here, p);
    co_await mutex_lock(*self.running_on, p.mutex);
  }
  co_await mutex_unlock(*self.running_on, p.mutex);
  co_return waited;
}

// Linux: fs/pipe.c, pipe_write(). True: somebody waited and was woken.
// Not modelled: appending to a page that is not full, a full pipe, fasync.
Co<bool> pipe_write(Cpu& cpu, Pipe& pipe) {
  Pipe& p = pipe;
  Task& self = *this_cpu(cpu).curr;
  co_await mutex_lock(cpu, p.mutex);
  Cpu& here = *self.running_on;
  const std::uint64_t head = co_await read_once(here, p.head);
  const std::uint64_t tail = co_await read_once(here, p.tail);
  CHECK(head - tail < Pipe::kSlots, "a pipe is full");
  co_await exec(here, Path::pipe_write_to_wakeup);
  co_await write_once(here, p.head, head + 1);
  co_await write_once(here, slot(p, head), 1);
  co_await write_once(here, p.page, head);
  co_await mutex_unlock(here, p.mutex);
  if (head != tail) co_return false;
  co_return co_await wake_up_interruptible_sync_poll(here, p.rd_wait);
}

// The way back to the program, switching tasks first if somebody wants the CPU.
// Linux: kernel/entry/common.c, syscall_exit_to_user_mode().
Co<> return_to_user(Cpu& cpu, Path exit) {
  Task& self = *this_cpu(cpu).curr;
  if (co_await need_resched(cpu)) {
    co_await exit_to_user_mode_loop(cpu);
    co_await exec(*self.running_on, Path::exit_to_user_after_switch);
  } else {
    co_await exec(cpu, exit);
  }
  co_await syscall_exit(*self.running_on);
}

}  // namespace

// Linux: fs/read_write.c, ksys_read(), with system call entry and exit.
Co<> sys_read(Cpu& cpu, Pipe& pipe) {
  Pipe& p = pipe;
  Task& self = *this_cpu(cpu).curr;
  co_await syscall_enter(cpu);
  co_await exec(cpu, Path::sys_read_entry);
  if (!co_await pipe_read(cpu, p)) {
    co_await exit_to_user_mode_loop(*self.running_on);
    co_await syscall_exit(*self.running_on);
    co_return;
  }
  co_await exec(*self.running_on, Path::sys_read_exit);
  co_await return_to_user(*self.running_on, Path::exit_to_user_after_switch);
}

// Linux: fs/read_write.c, ksys_write(), with system call entry and exit.
Co<> sys_write(Cpu& cpu, Pipe& pipe) {
  Pipe& p = pipe;
  Task& self = *this_cpu(cpu).curr;
  co_await syscall_enter(cpu);
  co_await exec(cpu, Path::sys_write_entry);
  const bool woke = co_await pipe_write(cpu, p);
  Cpu& here = *self.running_on;
  co_await exec(here, woke ? Path::pipe_write_wakeup_unwind : Path::pipe_write_no_waiter);
  co_await return_to_user(here, Path::sys_write_exit);
}

}  // namespace idlesim::kernel

// Pipes: one reader and one writer at a time, messages of a few bytes.
#ifndef IDLESIM_KERNEL_PIPE_H_
#define IDLESIM_KERNEL_PIPE_H_

#include <array>

#include "idlesim/kernel/wait.h"

namespace idlesim::kernel {

// pipe_inode_info: 192 bytes. The mutex and rd_wait share its first line, head, tail and the
// counters of readers and writers its second; slots (40 bytes each) and the page have their own.
struct Pipe {
  static constexpr int kSlots = 16;  // PIPE_DEF_BUFFERS

  Mutex mutex;
  WaitQueueHead rd_wait;
  Word head;
  Word tail;
  std::array<Word, kSlots> bufs;
  Word page;  // the one page that writer and reader hand to each other (tmp_page)
};

// Lays the pipe out on lines of the node of `cpu`.
void init_pipe(Kernel& kernel, CpuId cpu, Pipe& pipe);

// read() and write() of one message by the running task, from its program's call to the return.
// They may sleep: a task that is not pinned may go on elsewhere. sys_write() does not wait for
// room: the caller sees to it that at most kSlots messages are on their way.
Co<> sys_read(Cpu& cpu, Pipe& pipe);
Co<> sys_write(Cpu& cpu, Pipe& pipe);

}  // namespace idlesim::kernel

#endif  // IDLESIM_KERNEL_PIPE_H_

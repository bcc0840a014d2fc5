#include "idlesim/sim/frame_pool.h"

namespace idlesim::sim {

constinit thread_local FramePool::Lists FramePool::lists_{};

// Gives a thread's blocks back to the heap when the thread ends. Separate from the lists, so that
// those need no initialisation check on the fast path.
struct FramePoolCloser {
  ~FramePoolCloser() {
    FramePool::lists_.closed = true;
    for (std::size_t index = 0; index < FramePool::kClasses; ++index) {
      while (FramePool::Block* block = FramePool::lists_.head[index]) {
        FramePool::unpoison(block, index);
        FramePool::lists_.head[index] = block->next;
        ::operator delete(block);
      }
    }
  }
  void touch() {}
};

void* FramePool::refill(std::size_t index) {
  static thread_local FramePoolCloser closer;
  if (!lists_.closed) closer.touch();
  return ::operator new((index + 1) * kGranule);
}

}  // namespace idlesim::sim

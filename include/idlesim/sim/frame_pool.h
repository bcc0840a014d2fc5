// Memory for coroutine frames: one list of free blocks per size class and thread. Taking and
// giving back are a few instructions each; blocks return to the heap when the thread ends. A frame
// may be given back on another thread than it was taken on.
#ifndef IDLESIM_SIM_FRAME_POOL_H_
#define IDLESIM_SIM_FRAME_POOL_H_

#include <cstddef>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define IDLESIM_POOL_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IDLESIM_POOL_POISON 1
#endif
#endif
#ifdef IDLESIM_POOL_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace idlesim::sim {

class FramePool {
 public:
  static void* take(std::size_t size) {
    const std::size_t index = class_of(size);
    if (index < kClasses) [[likely]] {
      if (Block* block = lists_.head[index]) [[likely]] {
        unpoison(block, index);
        lists_.head[index] = block->next;
        return block;
      }
      return refill(index);
    }
    return ::operator new(size);
  }

  static void give_back(void* frame, std::size_t size) noexcept {
    const std::size_t index = class_of(size);
    if (index < kClasses && !lists_.closed) [[likely]] {
      Block* block = ::new (frame) Block{lists_.head[index]};
      lists_.head[index] = block;
      poison(block, index);
      return;
    }
    ::operator delete(frame);
  }

 private:
  static constexpr std::size_t kGranule = 64;
  static constexpr std::size_t kClasses = 32;  // frames up to 2 KiB; larger ones go to the heap

  struct Block {
    Block* next;
  };
  struct Lists {
    Block* head[kClasses];
    bool closed;  // the thread is ending and has given its blocks to the heap
  };

  static std::size_t class_of(std::size_t size) { return (size - 1) / kGranule; }
  static void* refill(std::size_t index);

  // A destroyed frame stays out of bounds for the address sanitizer, but for the list's pointer.
  static void poison([[maybe_unused]] void* block, [[maybe_unused]] std::size_t index) {
#ifdef IDLESIM_POOL_POISON
    ASAN_POISON_MEMORY_REGION(static_cast<char*>(block) + sizeof(Block),
                              (index + 1) * kGranule - sizeof(Block));
#endif
  }
  static void unpoison([[maybe_unused]] void* block, [[maybe_unused]] std::size_t index) {
#ifdef IDLESIM_POOL_POISON
    ASAN_UNPOISON_MEMORY_REGION(block, (index + 1) * kGranule);
#endif
  }

  friend struct FramePoolCloser;
  static constinit thread_local Lists lists_;
};

}  // namespace idlesim::sim

#endif  // IDLESIM_SIM_FRAME_POOL_H_

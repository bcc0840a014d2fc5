#include "idlesim/sim/co.h"

#include <gtest/gtest.h>

namespace idlesim::sim {
namespace {

// Suspends until somebody resumes the handle.
struct Gate {
  std::coroutine_handle<> waiting;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) noexcept { waiting = handle; }
  void await_resume() const noexcept {}
};

Co<int> seven(Gate* gate) {
  if (gate != nullptr) co_await *gate;
  co_return 7;
}
Co<> add_twice(Gate* gate, int& sum) {
  int& total = sum;
  total += co_await seven(gate);
  total += co_await seven(nullptr);
}
void count(void* counter) { ++*static_cast<int*>(counter); }

TEST(Root, TellsTheEndOfACoroutineThatNeverSuspends) {
  int sum = 0, ended = 0;
  Root root;
  root.start(add_twice(nullptr, sum), count, &ended);
  EXPECT_EQ(sum, 14);
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(root.running());
}

TEST(Root, TellsTheEndOfACoroutineThatSuspends) {
  int sum = 0, ended = 0;
  Gate gate;
  Root root;
  root.start(add_twice(&gate, sum), count, &ended);
  EXPECT_TRUE(root.running());
  EXPECT_EQ(ended, 0);
  gate.waiting.resume();
  EXPECT_EQ(sum, 14);
  EXPECT_EQ(ended, 1);
  EXPECT_FALSE(root.running());
}

}  // namespace
}  // namespace idlesim::sim

// Traps of g++ 12 with coroutines: a co_await in a condition of a coroutine that declares a local
// must work. (Without any local variable g++ 12 skips the wait or crashes; the house rule is to
// name the object at work first. Nor may an await stand beside && in a loop's condition: g++ 12 makes
// it even when the left side is false.) Returns 0 if this compiler gets the rest right.
#include <coroutine>

struct Co {
  struct promise_type {
    Co get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

struct Yes : std::suspend_always {
  bool await_resume() const noexcept { return true; }
};

Co run(int& x) {
  int* target = &x;
  if (co_await Yes{}) *target = 1;
  while (co_await Yes{}) {
    if (++*target == 5) break;
  }
  switch (co_await Yes{}) {
    case true: *target += 10;
  }
}

int main() {
  int x = 0;
  Co co = run(x);
  while (!co.handle.done()) co.handle.resume();
  co.handle.destroy();
  return x == 15 ? 0 : 1;
}

// Co<T>: a lazy coroutine with one owner, and Root: what starts a top-level one.
//
// `co_await f()` runs f at once, inside the await. Most awaits of the model complete without any
// simulated time to wait for; such an await never suspends its parent, so a loop of them neither
// grows the stack nor depends on tail calls. Only a child that did suspend continues its parent
// from its final suspension.
//
// Rules (they keep references alive and avoid faults of g++ 12): no lambda coroutines; parameters
// by value or by reference to something that outlives the run; await a Co exactly once; declare a
// local before an await in a condition; no await beside && or || in the condition of a loop, since
// g++ 12 makes it even where the other side has decided.
#ifndef IDLESIM_SIM_CO_H_
#define IDLESIM_SIM_CO_H_

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "idlesim/base/check.h"
#include "idlesim/sim/frame_pool.h"

namespace idlesim::sim {

template <class T = void>
class Co;

namespace detail {

// What all promises share: pooled frames, the parent, the exception that left the body.
class CoPromiseBase {
 public:
  static void* operator new(std::size_t size) { return FramePool::take(size); }
  static void operator delete(void* frame, std::size_t size) noexcept {
    FramePool::give_back(frame, size);
  }

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      const std::coroutine_handle<> parent = ended.promise().parent_;
      return parent ? parent : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  void set_parent(std::coroutine_handle<> parent) { parent_ = parent; }
  void rethrow_error() const {
    if (error_) [[unlikely]]
      std::rethrow_exception(error_);
  }

 private:
  std::coroutine_handle<> parent_;  // set only if the parent waits, suspended, for this child
  std::exception_ptr error_;
};

template <class T>
class CoPromise : public CoPromiseBase {
 public:
  Co<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T result() {
    rethrow_error();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class CoPromise<void> : public CoPromiseBase {
 public:
  Co<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void result() const { rethrow_error(); }
};

}  // namespace detail

template <class T>
class [[nodiscard]] Co {
 public:
  using promise_type = detail::CoPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Co() = default;  // empty
  explicit Co(Handle handle) : handle_(handle) {}
  Co(Co&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Co& operator=(Co&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  // Destroying a suspended Co destroys its locals and the children it waits for; whoever holds the
  // innermost handle (an engine slot) must not resume it any more.
  ~Co() {
    if (handle_) handle_.destroy();
  }

  explicit operator bool() const { return handle_ != nullptr; }

  class Awaiter {
   public:
    explicit Awaiter(Handle child) : child_(child) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> parent) const {
      child_.resume();
      if (child_.done()) return false;
      child_.promise().set_parent(parent);
      return true;
    }
    T await_resume() const { return child_.promise().result(); }

   private:
    Handle child_;
  };
  Awaiter operator co_await() && {
    CHECK(handle_ && !handle_.done(), "a Co is awaited once");
    return Awaiter(handle_);
  }

 private:
  Handle handle_;
};

template <class T>
Co<T> detail::CoPromise<T>::get_return_object() noexcept {
  return Co<T>(Co<T>::Handle::from_promise(*this));
}
inline Co<void> detail::CoPromise<void>::get_return_object() noexcept {
  return Co<void>(Co<void>::Handle::from_promise(*this));
}

// Starts top-level coroutines, one after the other, and tells when each has ended. Owned by the
// entity that executes them (a task). Neither movable nor, while its coroutine runs, replaceable.
class Root {
 public:
  using Done = void (*)(void* object);

  Root() = default;
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  // Destroys a coroutine that has not ended. Not to be called from inside that coroutine or `done`.
  ~Root() { destroy_driver(); }

  // Runs `co` until it first suspends. When it has ended, at once or later, done(object) is called
  // once, as the last thing; `done` may call start() again, which then takes effect when it
  // returns. An exception that leaves `co` is not reported to `done`: it leaves start(), or the
  // resume() (hence Engine::run()) that let it happen, and the Root is no longer running.
  void start(Co<> co, Done done, void* object) {
    CHECK(!running_, "the Root already runs a coroutine");
    CHECK(static_cast<bool>(co), "nothing to start");
    next_ = std::move(co);
    done_ = done;
    object_ = object;
    running_ = true;
    if (in_done_) return;
    if (driver_ && driver_.done()) destroy_driver();
    if (!driver_) driver_ = drive(*this).handle;
    driver_.resume();
  }

  bool running() const { return running_; }

 private:
  // Awaits one coroutine after the other, so that a start() inside `done` neither nests nor
  // destroys the frame it is called from.
  struct Driver {
    struct promise_type {
      explicit promise_type(Root& root) : root_(root) {}
      Driver get_return_object() {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_always initial_suspend() const noexcept { return {}; }
      std::suspend_always final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      // Leaves resume(); the driver is then at its final suspension.
      void unhandled_exception() const {
        root_.running_ = false;
        root_.in_done_ = false;
        throw;
      }

     private:
      Root& root_;
    };
    std::coroutine_handle<promise_type> handle;
  };

  static Driver drive(Root& root) {
    for (Root& self = root;;) {
      co_await std::move(self.next_);
      self.next_ = {};
      self.running_ = false;
      self.in_done_ = true;
      self.done_(self.object_);
      self.in_done_ = false;
      if (!self.running_) co_await std::suspend_always{};
    }
  }

  void destroy_driver() {
    if (driver_) driver_.destroy();
    driver_ = nullptr;
  }

  Co<> next_;
  Done done_ = nullptr;
  void* object_ = nullptr;
  std::coroutine_handle<Driver::promise_type> driver_;
  bool running_ = false;
  bool in_done_ = false;
};

}  // namespace idlesim::sim

#endif  // IDLESIM_SIM_CO_H_

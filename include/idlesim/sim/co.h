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
#include <type_traits>
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

  // A child that has never suspended (hence no parent_) ends without stopping here: its frame
  // destroys itself, which saves its parent the call to do so.
  struct Final {
    bool gone;
    bool await_ready() const noexcept { return gone; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      const std::coroutine_handle<> parent = ended.promise().parent_;
      return parent ? parent : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  void set_parent(std::coroutine_handle<> parent) { parent_ = parent; }
  void rethrow_error() const {
    if (error_) [[unlikely]]
      std::rethrow_exception(error_);
  }

 protected:
  bool ends_at_once() const { return parent_ == nullptr && error_ == nullptr; }

 private:
  std::coroutine_handle<> parent_;  // set only if the parent waits, suspended, for this child
  std::exception_ptr error_;
};

template <class T>
class CoPromise : public CoPromiseBase {
 public:
  Co<T> get_return_object() noexcept;
  Final final_suspend() const noexcept;
  template <class U>
  void return_value(U&& value);
  void set_owner(Co<T>& owner) { owner_ = &owner; }

 private:
  Co<T>* owner_ = nullptr;  // the awaited Co: it takes the value
};

template <>
class CoPromise<void> : public CoPromiseBase {
 public:
  Co<void> get_return_object() noexcept;
  Final final_suspend() const noexcept;
  void return_void() const noexcept {}
  void set_owner(Co<void>& owner) { owner_ = &owner; }

 private:
  Co<void>* owner_ = nullptr;
};

// Where the value of a Co<T> waits for its parent.
template <class T>
struct CoValue {
  std::optional<T> value;
  bool there() const { return value.has_value(); }
  T take() { return std::move(*value); }
};
template <>
struct CoValue<void> {
  bool ended = false;
  bool there() const { return ended; }
  void take() const {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Co {
 public:
  using promise_type = detail::CoPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Co() = default;  // empty
  explicit Co(Handle handle) : handle_(handle) {}
  // A Co is moved before it is awaited, not while it is.
  Co(Co&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), value_(std::exchange(other.value_, {})) {}
  Co& operator=(Co&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
      value_ = std::exchange(other.value_, {});
    }
    return *this;
  }
  // Destroying a suspended Co destroys its locals and the children it waits for; whoever holds the
  // innermost handle (an engine slot) must not resume it any more.
  ~Co() {
    if (handle_) handle_.destroy();
  }

  // One that has ended already, without a frame: for functions that most often have nothing to wait
  // for (see start()).
  static Co ended() requires std::is_void_v<T> {
    Co co;
    co.value_.ended = true;
    return co;
  }
  template <class U>
  static Co ended(U&& value) requires(!std::is_void_v<T>) {
    Co co;
    co.value_.value.emplace(std::forward<U>(value));
    return co;
  }
  bool has_ended() const { return value_.there(); }
  // The value of one that has ended.
  const auto& value() const requires(!std::is_void_v<T>) { return *value_.value; }

  explicit operator bool() const { return handle_ != nullptr || value_.there(); }

  // Refers to the Co, which lives as long as the await: a temporary of its full expression.
  class Awaiter {
   public:
    explicit Awaiter(Co& child) : child_(child) {}
    bool await_ready() const noexcept { return !child_.handle_; }
    bool await_suspend(std::coroutine_handle<> parent) const {
      const Handle handle = child_.handle_;
      handle.promise().set_owner(child_);
      handle.resume();
      if (!child_.handle_ || handle.done()) return false;
      handle.promise().set_parent(parent);
      return true;
    }
    T await_resume() const {
      if (child_.handle_) child_.handle_.promise().rethrow_error();
      return child_.value_.take();
    }

   private:
    Co& child_;
  };
  Awaiter operator co_await() && {
    CHECK(static_cast<bool>(*this), "a Co is awaited once");
    return Awaiter(*this);
  }

 private:
  template <class>
  friend class detail::CoPromise;

  Handle handle_;  // empty once the coroutine has ended without ever suspending
  detail::CoValue<T> value_;
};

template <class T>
Co<T> detail::CoPromise<T>::get_return_object() noexcept {
  return Co<T>(Co<T>::Handle::from_promise(*this));
}
inline Co<void> detail::CoPromise<void>::get_return_object() noexcept {
  return Co<void>(Co<void>::Handle::from_promise(*this));
}

template <class T>
template <class U>
void detail::CoPromise<T>::return_value(U&& value) {
  owner_->value_.value.emplace(std::forward<U>(value));
}

template <class T>
auto detail::CoPromise<T>::final_suspend() const noexcept -> Final {
  const bool gone = ends_at_once();
  if (gone) owner_->handle_ = nullptr;
  return {gone};
}
inline auto detail::CoPromise<void>::final_suspend() const noexcept -> Final {
  const bool gone = ends_at_once();
  if (gone) owner_->handle_ = nullptr;
  return {gone};
}

namespace detail {

// Waits for an awaiter whose await_ready() has said no.
template <class Awaiter>
struct Started {
  Awaiter& awaiter;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) { awaiter.await_suspend(handle); }
  decltype(auto) await_resume() { return awaiter.await_resume(); }
};
template <class Awaiter, class T>
Co<T> wait_for(Awaiter awaiter) {
  Awaiter& started = awaiter;
  co_return co_await Started<Awaiter>{started};
}

}  // namespace detail

// The operation of one awaiter as a Co, for a function whose callers expect one. It begins here,
// not when it is awaited, and needs a frame only if it does not end at once: 20 host instructions
// instead of 90. The Co must be awaited next.
template <class Awaiter, class T = decltype(std::declval<Awaiter&>().await_resume())>
Co<T> start(Awaiter awaiter) {
  if (!awaiter.await_ready()) return detail::wait_for<Awaiter, T>(std::move(awaiter));
  if constexpr (std::is_void_v<T>) {
    awaiter.await_resume();
    return Co<>::ended();
  } else {
    return Co<T>::ended(awaiter.await_resume());
  }
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

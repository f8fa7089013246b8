// How long work of the host is stopped, by Ctrl-C or otherwise.
//
// A loop that may take long calls stop_if_told() in every turn, which throws Interrupted once the work is to stop. How it
// finds out is up to the caller: it makes an Interruptible with a function that says so (the bindings ask Python whether
// Ctrl-C came), which holds for its thread and as long as it lives. Without one, nothing is ever stopped. Threads that help
// with the work have none: the thread that they help asks for all.
//
// After Interrupted a caller sees a state that is sound: the one before the call, or that after some whole steps of it. A loop
// that leaves it half changed in between therefore runs under Uninterrupted, or undoes what it did.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <utility>

namespace dualstep {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "told to stop"; }
};

class Interruptible {
 public:
  using Duration = std::chrono::nanoseconds;
  // `stop` is asked when the last question is `pause` ago; where it said true, it is asked no more. Null: nobody asks
  explicit Interruptible(std::function<bool()> stop, Duration pause = std::chrono::milliseconds(30))
      : stop_(std::move(stop)), pause_(pause), outer_(present()) {
    present() = this;
  }
  ~Interruptible() { present() = outer_; }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  // whether anyone may tell this thread
  static bool anyone() { return present() && present()->stop_; }
  static bool told() { return present() && present()->ask(); }

 private:
  // of this thread
  static Interruptible*& present() {
    thread_local Interruptible* now = nullptr;
    return now;
  }
  // by the clock that takes the least time to read, which moves every few milliseconds
  static Duration time() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
#else
    return std::chrono::steady_clock::now().time_since_epoch();
#endif
  }
  bool ask() {
    if (told_ || !stop_) return told_;
    const Duration now = time();
    if (now - asked_ < pause_) return false;
    told_ = stop_();
    asked_ = now;
    return told_;
  }

  const std::function<bool()> stop_;
  const Duration pause_;
  Duration asked_ = time();
  bool told_ = false;
  Interruptible* const outer_;
};

inline void stop_if_told() {
  if (Interruptible::told()) throw Interrupted();
}

// many bytes, a few at once: calls f(begin, count) for all of them
constexpr size_t kBytesOfTurn = size_t{4} << 20;
template <class F>
void in_turns(size_t bytes, F f) {
  for (size_t begin = 0; begin < bytes; begin += kBytesOfTurn) {
    stop_if_told();
    f(begin, std::min(kBytesOfTurn, bytes - begin));
  }
}

// while it lives nobody asks: what is done then stands
class Uninterrupted : Interruptible {
 public:
  Uninterrupted() : Interruptible(nullptr) {}
};

}  // namespace dualstep

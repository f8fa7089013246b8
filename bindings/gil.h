// Leaving Python's global lock to others while C++ works, and asking it for signals.
//
// Before Python 3.14 a daemon thread that wants the lock back while the interpreter ends is ended by pthread_exit,
// which unwinds its stack: through destructors that must not throw, and through references that are dropped without
// the lock. Such a thread is kept asleep instead, as later versions of Python do; the process ends around it.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <chrono>

namespace dualstep {

// calls f, which takes the lock
template <class F>
auto or_sleep_at_the_end(F f) {
#ifdef __GLIBCXX__
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    // leaving this block would go on with the unwinding
    for (;;) pause();
  }
#else
  return f();
#endif
}

class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    or_sleep_at_the_end([this] { PyEval_RestoreThread(state_); });
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// whether a signal's handler raised (Ctrl-C): Python's error is set then. The lock is released
inline bool signal_waits() {
  return or_sleep_at_the_end([] {
    const PyGILState_STATE held = PyGILState_Ensure();
    const bool raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(held);
    return raised;
  });
}

// the same for loops of short turns: asks twenty times a second at most
class SignalsNowAndThen {
 public:
  bool operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < std::chrono::milliseconds(50)) return false;
    asked_ = now;
    return signal_waits();
  }

 private:
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace dualstep

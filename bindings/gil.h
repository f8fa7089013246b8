// Leaving Python's global lock to others while C++ works, and asking it for signals.
//
// Before Python 3.14 a daemon thread that wants the lock back while the interpreter ends is ended by pthread_exit,
// which unwinds its stack: through destructors that must not throw, and through references that are dropped without
// the lock. Such a thread is kept asleep instead, as later versions of Python do; the process ends around it.
#pragma once

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include "host/interruption.h"

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

// calls f with the lock; Ctrl-C ends it where it asks (host/interruption.h). Throws what the signal's handler raised
template <class F>
void until_ctrl_c_with_lock(F f) {
  try {
    const Interruptible interruptible(signal_waits);
    f();
    // told, and done before it asked again
    stop_if_told();
  } catch (const Interrupted&) {
    throw pybind11::error_already_set();
  }
}
// the same without the lock
template <class F>
void until_ctrl_c(F f) {
  until_ctrl_c_with_lock([&] {
    const ReleasedGil released;
    f();
  });
}

}  // namespace dualstep

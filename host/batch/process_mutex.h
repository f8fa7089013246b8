// A lock that knows its process. After a fork, a lock that another thread held in the parent is held in the child by
// nobody: who waits for it there waits for ever, and what it guards may be half written. The child is told so instead,
// and so is a thread that holds it and asks for it again, as a signal's handler does amid a call. Who waits may be told
// to stop meanwhile.
#pragma once

#include <sys/types.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#endif

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "host/interruption.h"

namespace dualstep {

class ProcessMutex {
 public:
  // throws std::runtime_error where another process holds it, or this thread, and Interrupted
  void lock() {
    const pid_t self = getpid();
    const std::thread::id thread = std::this_thread::get_id();
    for (pid_t holder = 0; !holder_.compare_exchange_strong(holder, self, std::memory_order_acquire);
         holder = 0) {
      if (holder != self)
        throw std::runtime_error(
            "this process was forked while another thread was in a call of this batch: what the batch holds "
            "here "
            "is half of a step. Fork between calls, or make the batch in the child");
      if (owner_.load() == thread)
        throw std::runtime_error(
            "this batch is amid a call of this thread: what a signal's handler asks of it would wait for "
            "that call, which waits for the handler. Note the signal there, and ask between calls");
      wait_while_held_by(holder);
      stop_if_told();
    }
    owner_.store(thread);
  }
  void unlock() {
    owner_.store({});
    holder_.store(0);
#ifdef __linux__
    if (waiting_.load() > 0) syscall(SYS_futex, &holder_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#endif
  }

 private:
  // or for as long as nobody has to be asked. std::atomic's own wait knows no end of it; where there is no futex, a short
  // sleep stands for one
  void wait_while_held_by([[maybe_unused]] pid_t holder) {
#ifdef __linux__
    constexpr timespec kPause{0, 30'000'000};
    ++waiting_;
    syscall(SYS_futex, &holder_, FUTEX_WAIT_PRIVATE, holder, &kPause, nullptr, 0);
    --waiting_;
#else
    std::this_thread::sleep_for(std::chrono::microseconds(100));
#endif
  }

  std::atomic<pid_t> holder_{0};
  std::atomic<std::thread::id> owner_{};  // the holder's thread
  std::atomic<int> waiting_{0};
  static_assert(sizeof(std::atomic<pid_t>) == sizeof(pid_t));
};

}  // namespace dualstep

// A lock that knows its process. After a fork, a lock that another thread held in the parent is held in the child by
// nobody: who waits for it there waits for ever, and what it guards may be half written. The child is told so instead.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

namespace dualstep {

class ProcessMutex {
 public:
  // throws std::runtime_error where the process that holds it is another
  void lock() {
    const pid_t self = getpid();
    for (pid_t holder = 0; !holder_.compare_exchange_strong(holder, self, std::memory_order_acquire);
         holder = 0) {
      if (holder != self)
        throw std::runtime_error(
            "this process was forked while another thread was in a call of this batch: what the batch holds "
            "here "
            "is half of a step. Fork between calls, or make the batch in the child");
      holder_.wait(holder, std::memory_order_relaxed);
    }
  }
  void unlock() {
    holder_.store(0, std::memory_order_release);
    holder_.notify_one();
  }

 private:
  std::atomic<pid_t> holder_{0};
};

}  // namespace dualstep

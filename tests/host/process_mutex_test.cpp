// A lock that was held at a fork is known in the child to be held by nobody; and who holds it does not wait for itself.
#include "host/batch/process_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <mutex>
#include <thread>

namespace dualstep {
namespace {

// what a child finds: 0 the lock, 1 that it cannot be had
int child_finds(ProcessMutex* mutex) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      const std::lock_guard lock(*mutex);
      _exit(0);
    } catch (const std::runtime_error&) {
      _exit(1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessMutex, IsHeldByOneThreadAtATime) {
  ProcessMutex mutex;
  long count = 0;
  const auto add = [&] {
    for (int i = 0; i < 20000; ++i) {
      const std::lock_guard lock(mutex);
      ++count;
    }
  };
  std::thread one(add), other(add);
  one.join(), other.join();
  EXPECT_EQ(count, 40000);
}

TEST(ProcessMutex, AChildIsToldThatNobodyWillLetGo) {
  ProcessMutex mutex;
  EXPECT_EQ(child_finds(&mutex), 0);
  mutex.lock();
  EXPECT_EQ(child_finds(&mutex), 1);
  mutex.unlock();
  EXPECT_EQ(child_finds(&mutex), 0);
}

TEST(ProcessMutex, AThreadThatHoldsItIsToldSo) {
  ProcessMutex mutex;
  for (int turn = 0; turn < 2; ++turn) {
    mutex.lock();
    EXPECT_THROW(mutex.lock(), std::runtime_error);
    mutex.unlock();
  }
  // another thread waits
  mutex.lock();
  std::thread other([&] { const std::lock_guard lock(mutex); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  mutex.unlock();
  other.join();
}

}  // namespace
}  // namespace dualstep

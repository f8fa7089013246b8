// A pool of persistent threads that share out numbered pieces of work. The caller is one of them. Each begins
// with the same share of the pieces in every call of as many, so that it finds in its cache what it left there, and
// then helps the others: it takes pieces that they have not begun, and then iterations of the loops they share.
// Scope: one run at a time; no allocation in a run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace dualstep {

// processors that this process may use: its affinity, and the quota of its control group
int available_threads();

class ThreadPool {
 public:
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return num_threads_; }
  // where a share of the pieces begins, of `shares` that follow each other, as equal as may be; share `shares` at the
  // end. A thread begins with the share of its number, of size() shares
  static int share_begin(int share, int shares, int pieces) {
    return static_cast<int>(static_cast<long>(pieces) * share / shares);
  }
  // calls work(context, piece, thread) once for every piece < pieces, thread < size(); returns when all are
  // done. Throws std::runtime_error in a process that was forked off after the pool was made.
  // A run that is watched asks between the caller's pieces and iterations whether to stop. Where it is told to, those that
  // nobody began are left out, and the run was stopped.
  using Work = void (*)(void* context, int piece, int thread);
  void watch(bool on) { watched_ = on; }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void run(int pieces, Work work, void* context);
  // a loop within a piece of work, by the thread that has it: calls work(context, i, some thread) once for
  // every i < count, and returns when all are done. Threads that have no piece any more help
  void share(int thread, int count, Work work, void* context);

 private:
  void start();
  void stop();
  void worker(int thread);
  void drain(int thread);
  void help(int thread, uint32_t present);
  void take_part(int thread, uint32_t present);
  bool ends(int thread);

  // the pieces that a thread begins with
  struct alignas(64) Share {
    std::atomic<int> next{0};  // the first that nobody took
    int end = 0;
  };
  // the loop that a thread shares; the others read of it what it wrote before `left` became positive
  struct alignas(64) Loop {
    std::atomic<int> left{0};  // iterations that nobody took
    int count = 0;
    Work work = nullptr;
    void* context = nullptr;
    std::atomic<int> helped{0};  // iterations that others did
    bool run_one(int thread, bool left_out);
  };

  const int num_threads_;
  const long owner_;  // process that the threads belong to
  std::vector<std::thread> threads_;
  std::chrono::microseconds awake_{0};  // how long a thread that waits does so without sleeping

  // the present run; written before generation_ moves
  Work work_ = nullptr;
  void* context_ = nullptr;
  bool watched_ = false;
  std::atomic<bool> stopped_{false};
  std::vector<Share> shares_;                        // one a thread
  std::vector<Loop> loops_;                          // one a thread
  alignas(64) std::atomic<uint32_t> generation_{0};  // number of the present run; workers wait on it
  alignas(64) std::atomic<int> busy_{0};             // threads that may have a piece of the present run
  std::atomic<bool> stop_{false};
};

}  // namespace dualstep

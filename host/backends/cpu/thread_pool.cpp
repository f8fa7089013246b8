#include "host/backends/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "host/interruption.h"

namespace dualstep {
namespace {

// A thread that waits stays awake for about as long as it takes to put it to sleep and wake it (tens of
// microseconds on a virtual machine): a loop that steps small models would otherwise sleep in every gap
// between two steps.
constexpr std::chrono::microseconds kAwake{100};
// ... and one without a piece of its own for longer than an iteration of a shared loop takes
constexpr std::chrono::microseconds kHelpful{1000};

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// returns when done() holds, or after a while
template <class F>
void stay_awake(std::chrono::microseconds longest, F done) {
  constexpr int kPauses = 16;  // between two looks at the clock
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPauses; ++i) {
      if (done()) return;
      pause();
    }
  } while (std::chrono::steady_clock::now() - start < longest);
}

std::vector<int> allowed_processors() {
  std::vector<int> list;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) list.push_back(i);
    }
  }
  return list;
}

}  // namespace

int available_threads() {
  int count = static_cast<int>(allowed_processors().size());
  if (count == 0) count = std::max(1u, std::thread::hardware_concurrency());
  // a container's share of processor time: "quota period", or "max period" where there is none
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    long quota = 0, period = 0;
    if (std::fscanf(file, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0) {
      count = std::min(count, static_cast<int>(std::max(1L, (quota + period - 1) / period)));
    }
    std::fclose(file);
  }
  return count;
}

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(num_threads),
      owner_(getpid()),
      shares_(static_cast<size_t>(num_threads)),
      loops_(static_cast<size_t>(num_threads)) {
  try {
    start();
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() {
  if (owner_ == getpid()) {
    stop();
  } else {
    // after a fork the threads live in the parent only: there is nothing to join, so the handles are left
    new std::vector<std::thread>(std::move(threads_));
  }
}

void ThreadPool::start() {
  const std::vector<int> processors = allowed_processors();
  // workers are pinned where the pool fills the machine; smaller pools may have neighbours, so are left alone
  const int num_processors = static_cast<int>(processors.size());
  const bool pin = num_threads_ == num_processors;
  // threads that share a processor had better leave it to each other
  if (num_threads_ <= num_processors) awake_ = kAwake;
  for (int thread = 1; thread < num_threads_; ++thread) {
    threads_.emplace_back([this, thread] { worker(thread); });
    if (!pin) continue;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors[thread], &set);
    pthread_setaffinity_np(threads_.back().native_handle(), sizeof set, &set);
  }
}

void ThreadPool::stop() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadPool::drain(int thread) {
  for (int k = 0; k < num_threads_; ++k) {
    Share& share = shares_[(thread + k) % num_threads_];
    for (int piece; (piece = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;)
      if (!ends(thread)) work_(context_, piece, thread);
  }
}

// whether the run was stopped; the caller asks
bool ThreadPool::ends(int thread) {
  if (thread == 0 && watched_ && !stopped() && Interruptible::told())
    stopped_.store(true, std::memory_order_relaxed);
  return stopped();
}

// takes an iteration, if there is one
bool ThreadPool::Loop::run_one(int thread, bool left_out) {
  int now = left.load(std::memory_order_relaxed);
  do {
    if (now == 0) return false;
  } while (!left.compare_exchange_weak(now, now - 1, std::memory_order_acquire, std::memory_order_relaxed));
  if (!left_out) work(context, count - now, thread);
  return true;
}

void ThreadPool::share(int thread, int count, Work work, void* context) {
  Loop& loop = loops_[thread];
  loop.count = count, loop.work = work, loop.context = context;
  loop.helped.store(0, std::memory_order_relaxed);
  loop.left.store(count, std::memory_order_release);
  int others = count;
  while (loop.run_one(thread, ends(thread))) --others;
  const auto done = [&] { return loop.helped.load(std::memory_order_acquire) == others; };
  stay_awake(awake_, done);
  for (int helped; (helped = loop.helped.load(std::memory_order_acquire)) != others;)
    loop.helped.wait(helped, std::memory_order_acquire);
}

// iterations of the loops of others, while run `present` may have some
void ThreadPool::help(int thread, uint32_t present) {
  // threads that share a processor are no help to each other
  if (awake_ == awake_.zero()) return;
  for (bool found = true; found;) {
    found = false;
    stay_awake(kHelpful, [&] {
      for (Loop& loop : loops_) {
        if (!loop.run_one(thread, ends(thread))) continue;
        found = true;
        loop.helped.fetch_add(1, std::memory_order_release);
        loop.helped.notify_one();
      }
      return found || busy_.load(std::memory_order_acquire) == 0 ||
             generation_.load(std::memory_order_acquire) != present;
    });
  }
}

// what a thread does in run `present`
void ThreadPool::take_part(int thread, uint32_t present) {
  drain(thread);
  if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  help(thread, present);
}

void ThreadPool::worker(int thread) {
  for (uint32_t seen = 0;;) {
    stay_awake(awake_, [&] { return generation_.load(std::memory_order_acquire) != seen; });
    generation_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (stop_.load()) return;
    take_part(thread, seen);
  }
}

void ThreadPool::run(int pieces, Work work, void* context) {
  if (num_threads_ > 1 && owner_ != getpid()) {
    throw std::runtime_error(
        "this batch was made before the process was forked, and its threads stayed in the parent: make the "
        "batch in the child, or give num_threads=1");
  }
  work_ = work;
  context_ = context;
  stopped_.store(false, std::memory_order_relaxed);
  for (int thread = 0; thread < num_threads_; ++thread) {
    shares_[thread].next.store(share_begin(thread, num_threads_, pieces), std::memory_order_relaxed);
    shares_[thread].end = share_begin(thread + 1, num_threads_, pieces);
  }
  // a single piece is not worth waking anyone
  if (num_threads_ == 1 || pieces <= 1) return drain(0);
  busy_.store(num_threads_, std::memory_order_relaxed);
  const uint32_t present = generation_.fetch_add(1, std::memory_order_release) + 1;
  generation_.notify_all();
  take_part(0, present);
  stay_awake(awake_, [&] { return busy_.load(std::memory_order_acquire) == 0; });
  for (int left; (left = busy_.load(std::memory_order_acquire)) != 0;)
    busy_.wait(left, std::memory_order_acquire);
}

}  // namespace dualstep

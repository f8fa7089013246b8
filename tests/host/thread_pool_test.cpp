// Every piece of work is done once, whoever does it, however often the pool is used.
#include "host/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>

namespace dualstep {
namespace {

// on the heap: GCC 13's address sanitizer puts objects of 64 bytes alignment anywhere on its copy of the
// stack (GCC's bug 110027)
std::unique_ptr<ThreadPool> make_pool(int threads) { return std::make_unique<ThreadPool>(threads); }

struct Count {
  std::vector<std::atomic<int>> done;
  std::vector<std::atomic<int>> by;
  Count(int pieces, int threads) : done(pieces), by(threads) {}
  static void work(void* context, int piece, int thread) {
    Count& count = *static_cast<Count*>(context);
    count.done[piece].fetch_add(1);
    count.by[thread].fetch_add(1);
  }
};

TEST(ThreadPool, DoesEachPieceOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const auto held = make_pool(threads);
    ThreadPool& pool = *held;
    EXPECT_EQ(pool.size(), threads);
    for (const int pieces : {0, 1, 2, 7, 1000}) {
      for (int round = 0; round < 20; ++round) {
        Count count(pieces, threads);
        pool.run(pieces, &Count::work, &count);
        for (int i = 0; i < pieces; ++i) ASSERT_EQ(count.done[i], 1);
        int all = 0;
        for (const auto& n : count.by) all += n;
        ASSERT_EQ(all, pieces);
      }
    }
  }
}

TEST(ThreadPool, RunsOfPiecesFollowEachOther) {
  for (const int pieces : {0, 1, 2, 3, 100, 2000000000}) {
    EXPECT_EQ(ThreadPool::run_begin(0, 3, pieces), 0);
    EXPECT_EQ(ThreadPool::run_begin(3, 3, pieces), pieces);
    for (int thread = 0; thread < 3; ++thread) {
      const int length =
          ThreadPool::run_begin(thread + 1, 3, pieces) - ThreadPool::run_begin(thread, 3, pieces);
      EXPECT_TRUE(length == pieces / 3 || length == (pieces + 2) / 3) << pieces;
    }
  }
}

TEST(ThreadPool, WakesAfterSleep) {
  const auto held = make_pool(4);
  ThreadPool& pool = *held;
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Count count(64, 4);
    pool.run(64, &Count::work, &count);
    for (const auto& n : count.done) ASSERT_EQ(n, 1);
  }
}

TEST(ThreadPool, SeesWhatTheCallerWrote) {
  // plain memory, handed over by run alone: a sanitizer would see a race here
  const auto held = make_pool(3);
  ThreadPool& pool = *held;
  std::vector<long> numbers(300);
  for (int round = 0; round < 200; ++round) {
    std::iota(numbers.begin(), numbers.end(), round);
    pool.run(
        300, [](void* context, int piece, int) { static_cast<long*>(context)[piece] *= 2; }, numbers.data());
    for (int i = 0; i < 300; ++i) ASSERT_EQ(numbers[i], 2 * (i + round));
  }
}

TEST(ThreadPool, EndsWithoutHavingRun) {
  for (int i = 0; i < 50; ++i) (void)make_pool(4);
}

TEST(ThreadPool, KnowsItsMachine) { EXPECT_GE(available_threads(), 1); }

}  // namespace
}  // namespace dualstep

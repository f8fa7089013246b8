// Every piece of work is done once, whoever does it, however often the pool is used.
#include "host/backends/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
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
    EXPECT_EQ(ThreadPool::share_begin(0, 3, pieces), 0);
    EXPECT_EQ(ThreadPool::share_begin(3, 3, pieces), pieces);
    for (int thread = 0; thread < 3; ++thread) {
      const int length =
          ThreadPool::share_begin(thread + 1, 3, pieces) - ThreadPool::share_begin(thread, 3, pieces);
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

// pieces whose loops are shared; the first is longer than all others
struct Loops {
  ThreadPool& pool;
  int pieces;
  std::vector<std::atomic<int>> done;
  std::vector<std::atomic<int>> by;
  std::vector<long> sums;
  static constexpr int kRounds = 10;

  Loops(ThreadPool& p, int n) : pool(p), pieces(n), done(n * kMost), by(p.size()), sums(n) {}
  static constexpr int kMost = 64;
  static int iterations(int piece) { return piece == 0 ? kMost : piece % 5; }

  struct Round {
    Loops& loops;
    int piece;
    std::vector<long> terms;  // plain memory, handed over by share alone
  };
  static void iterate(void* context, int i, int thread) {
    Round& round = *static_cast<Round*>(context);
    round.loops.done[round.piece * kMost + i].fetch_add(1);
    round.loops.by[thread].fetch_add(1);
    round.terms[i] += i;
    if (round.piece == 0) std::this_thread::sleep_for(std::chrono::microseconds(5));
  }
  static void work(void* context, int piece, int thread) {
    Loops& loops = *static_cast<Loops*>(context);
    Round round{loops, piece, std::vector<long>(kMost)};
    for (int r = 0; r < kRounds; ++r) {
      for (long& term : round.terms) term += 1;
      loops.pool.share(thread, iterations(piece), &iterate, &round);
    }
    loops.sums[piece] = std::accumulate(round.terms.begin(), round.terms.end(), 0L);
  }
};

TEST(ThreadPool, SharesLoopsWithThoseWhoHaveNoPiece) {
  for (const int threads : {1, 2, 3}) {
    const auto held = make_pool(threads);
    for (const int pieces : {1, 2, 7}) {
      std::vector<int> most(threads);
      for (int call = 0; call < 3; ++call) {
        Loops loops(*held, pieces);
        held->run(pieces, &Loops::work, &loops);
        int all = 0, counted = 0;
        for (int piece = 0; piece < pieces; ++piece) {
          const int n = Loops::iterations(piece);
          all += n * Loops::kRounds;
          for (int i = 0; i < Loops::kMost; ++i)
            ASSERT_EQ(loops.done[piece * Loops::kMost + i], i < n ? Loops::kRounds : 0);
          ASSERT_EQ(loops.sums[piece], Loops::kRounds * (Loops::kMost + n * (n - 1) / 2));
        }
        for (int thread = 0; thread < threads; ++thread) {
          counted += loops.by[thread];
          most[thread] = std::max<int>(most[thread], loops.by[thread]);
        }
        ASSERT_EQ(counted, all);
      }
      // where there is a processor for each, nobody watches the first piece
      if (pieces != threads || threads > available_threads()) continue;
      for (const int n : most) EXPECT_GT(n, 2 * Loops::kRounds);
    }
  }
}

TEST(ThreadPool, EndsWithoutHavingRun) {
  for (int i = 0; i < 50; ++i) (void)make_pool(4);
}

TEST(ThreadPool, KnowsItsMachine) { EXPECT_GE(available_threads(), 1); }

}  // namespace
}  // namespace dualstep

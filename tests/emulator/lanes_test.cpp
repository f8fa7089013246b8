// FiberLanes against SerialLanes (same bits at every width, in every order) and against what lanes may not
// do.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host/backends/fibers/fiber_lanes.h"
#include "kernels/data/views.h"

namespace {

using dualstep::FiberLanes;
using dualstep::run_lanes;
using dualstep::SerialLanes;
using dualstep::emulator::Fence;
using dualstep::emulator::LaneError;
using dualstep::emulator::Order;
using dualstep::emulator::Schedule;

std::vector<Schedule> schedules() {
  std::vector<Schedule> all;
  for (Fence fence : {Fence::every_exchange, Fence::sync_only}) {
    all.push_back({Order::ordered, 0, fence});
    all.push_back({Order::reversed, 0, fence});
    for (std::uint64_t seed = 0; seed < 3; seed++) all.push_back({Order::shuffled, seed, fence});
  }
  return all;
}

// numbers of both signs over ten decades, so that another order of summation has other bits
std::vector<double> rough_numbers(int n) {
  std::vector<double> x(n);
  std::uint64_t state = 12345;
  for (double& v : x) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double mantissa = static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    v = mantissa * std::pow(10.0, static_cast<double>((state >> 20) % 11) - 5.0);
  }
  return x;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <int W, class Real>
void expect_same_sums() {
  const std::vector<double> a = rough_numbers(71), b = rough_numbers(142);
  for (int n = 0; n <= 70; n++) {
    const auto term = [&](int i, Real sum) { return sum + Real(a[i]) * Real(b[i + 71]); };
    const Real expected = SerialLanes::accumulate<Real>(n, term);
    for (const Schedule& schedule : schedules()) {
      // poisoned: a lane that leaves no sum is seen
      std::vector<Real> got(W, Real(-1e30));
      run_lanes<W>(schedule, [&](FiberLanes<W>& lanes) {
        got[lanes.rank()] = lanes.template accumulate<Real>(n, term);
      });
      for (int rank = 0; rank < W; rank++)
        ASSERT_TRUE(same_bits(got[rank], expected)) << "n " << n << " lane " << rank << " of " << W;
    }
  }
}

template <int W>
void expect_same_scans() {
  for (const Schedule& schedule : schedules()) {
    int before[W], total[W];
    run_lanes<W>(schedule, [&](FiberLanes<W>& lanes) {
      const int rank = lanes.rank();
      before[rank] = lanes.exclusive_scan(rank * rank + 1, &total[rank]);
    });
    int sum = 0;
    for (int rank = 0; rank < W; rank++) {
      EXPECT_EQ(before[rank], sum) << "lane " << rank << " of " << W;
      sum += rank * rank + 1;
    }
    for (int rank = 0; rank < W; rank++) EXPECT_EQ(total[rank], sum) << "lane " << rank << " of " << W;
  }
}

template <int W>
void expect_same_votes() {
  for (const Schedule& schedule : schedules())
    for (int chosen = -1; chosen < W; chosen++) {
      std::atomic<int> yes = 0;  // atomic: lanes that count together must not race
      run_lanes<W>(schedule,
                   [&](FiberLanes<W>& lanes) { yes += lanes.any_lane(lanes.rank() == chosen) ? 1 : 0; });
      EXPECT_EQ(yes, chosen < 0 ? 0 : W) << "lane " << chosen << " of " << W;
    }
}

template <int W>
struct Width {
  static constexpr int value = W;
};
template <class T>
class EveryWidth : public testing::Test {};
using Widths = testing::Types<Width<1>, Width<2>, Width<4>, Width<8>, Width<16>, Width<32>>;
TYPED_TEST_SUITE(EveryWidth, Widths);

TYPED_TEST(EveryWidth, SumsHaveTheBitsOfOneLane) {
  expect_same_sums<TypeParam::value, float>();
  expect_same_sums<TypeParam::value, double>();
}
TYPED_TEST(EveryWidth, SumsOfPacksHaveTheBitsOfOneLane) {
  expect_same_sums<TypeParam::value, dualstep::Pack<float, 8>>();
}
TYPED_TEST(EveryWidth, SumsAtOnceHaveTheBitsOfEachAlone) {
  constexpr int W = TypeParam::value;
  using Sum = dualstep::Sums<float, 3>;
  const std::vector<double> a = rough_numbers(210);
  const auto term = [&](int k, int i, float sum) { return sum + static_cast<float>(a[70 * k + i]); };
  for (int n = 0; n <= 70; n++) {
    for (const Schedule& schedule : schedules()) {
      std::vector<Sum> got(W);
      run_lanes<W>(schedule, [&](FiberLanes<W>& lanes) {
        got[lanes.rank()] = lanes.template accumulate<Sum>(n, [&](int i, Sum s) {
          for (int k = 0; k < 3; k++) s.of[k] = term(k, i, s.of[k]);
          return s;
        });
      });
      for (int k = 0; k < 3; k++) {
        const float alone =
            SerialLanes::accumulate<float>(n, [&](int i, float sum) { return term(k, i, sum); });
        for (const Sum& sum : got) ASSERT_TRUE(same_bits(sum.of[k], alone)) << "sum " << k << " of " << n;
      }
    }
  }
}
TYPED_TEST(EveryWidth, ScansAreThoseOfTheRanks) { expect_same_scans<TypeParam::value>(); }
TYPED_TEST(EveryWidth, OneLaneIsEnoughForAny) { expect_same_votes<TypeParam::value>(); }

// values handed over by consecutive calls must not meet in the buffers
TYPED_TEST(EveryWidth, CallsInARowKeepTheirValuesApart) {
  constexpr int W = TypeParam::value;
  for (const Schedule& schedule : schedules())
    run_lanes<W>(schedule, [&](FiberLanes<W>& lanes) {
      for (int round = 0; round < 20; round++) {
        int total = 0;
        const int before = lanes.exclusive_scan(round, &total);
        ASSERT_EQ(before, round * lanes.rank());
        ASSERT_EQ(total, round * W);
        const double sum =
            lanes.template accumulate<double>(9, [&](int i, double s) { return s + i + round; });
        ASSERT_EQ(sum, 36 + 9 * round);
        ASSERT_EQ(lanes.any_lane(round % W == lanes.rank() && round % 2 == 0), round % 2 == 0);
        if (round % 3 == 0) lanes.sync();
      }
    });
}

// the sums above could only agree by chance if the order of summation did not show
TEST(Stripes, AnotherOrderHasOtherBits) {
  const std::vector<double> a = rough_numbers(71);
  int differ = 0;
  for (int n = 0; n <= 70; n++) {
    float left_to_right = 0;
    for (int i = 0; i < n; i++) left_to_right += static_cast<float>(a[i]);
    const float striped =
        SerialLanes::accumulate<float>(n, [&](int i, float s) { return s + static_cast<float>(a[i]); });
    differ += same_bits(left_to_right, striped) ? 0 : 1;
  }
  EXPECT_GT(differ, 20);
}

template <int W>
std::vector<std::vector<int>> turns_of(Order order, std::uint64_t seed, int phases) {
  std::vector<std::vector<int>> turns(phases, std::vector<int>(W, -1));
  std::atomic<int> ticket = 0;
  run_lanes<W>(order, seed, [&](FiberLanes<W>& lanes) {
    for (int phase = 0; phase < phases; phase++) {
      const int turn = ticket++;
      turns[turn / W][turn % W] = lanes.rank();
      lanes.sync();
    }
  });
  return turns;
}

TEST(Orders, OrderedAndReversedRunByRank) {
  for (const auto& turn : turns_of<8>(Order::ordered, 1, 4))
    EXPECT_EQ(turn, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  for (const auto& turn : turns_of<8>(Order::reversed, 1, 4))
    EXPECT_EQ(turn, (std::vector{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(Orders, ShuffledDiffersByPhaseAndSeedAndRepeats) {
  std::set<std::vector<int>> seen;
  for (std::uint64_t seed = 0; seed < 50; seed++) {
    const auto turns = turns_of<32>(Order::shuffled, seed, 4);
    EXPECT_EQ(turns, turns_of<32>(Order::shuffled, seed, 4));
    for (const auto& turn : turns) {
      EXPECT_EQ(std::set<int>(turn.begin(), turn.end()).size(), 32u);
      EXPECT_EQ(*std::max_element(turn.begin(), turn.end()), 31);
      EXPECT_EQ(*std::min_element(turn.begin(), turn.end()), 0);
      seen.insert(turn);
    }
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST(Orders, ShuffledReachesEveryOrderOfFour) {
  std::vector<std::set<std::vector<int>>> seen(3);
  for (std::uint64_t seed = 0; seed < 300; seed++) {
    const auto turns = turns_of<4>(Order::shuffled, seed, 3);
    for (int phase = 0; phase < 3; phase++) seen[phase].insert(turns[phase]);
  }
  for (int phase = 0; phase < 3; phase++) EXPECT_EQ(seen[phase].size(), 24u) << "phase " << phase;
}

template <int W, class F>
std::string error_of(const F& f) {
  std::string first;
  for (const Schedule& schedule : schedules()) {
    try {
      run_lanes<W>(schedule, f);
      ADD_FAILURE() << "the launch went through";
      return "";
    } catch (const LaneError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("the " + std::to_string(W) + " lanes do not meet at barrier"), std::string::npos)
          << text;
      if (first.empty()) first = text;
    }
    // the failed launch leaves nothing behind
    std::atomic<int> ran = 0;
    run_lanes<W>(schedule, [&](FiberLanes<W>& lanes) {
      lanes.sync();
      ran++;
    });
    EXPECT_EQ(ran, W);
  }
  return first;
}

bool names(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Divergence, ALaneThatReturnsEarly) {
  const std::string text = error_of<4>([](FiberLanes<4>& lanes) {
    lanes.sync();
    if (lanes.rank() == 2) return;
    lanes.sync();
  });
  EXPECT_TRUE(names(text, "barrier 2 (ordered)")) << text;
  EXPECT_TRUE(names(text, "lanes 0 1 3: at sync(), ")) << text;
  EXPECT_TRUE(names(text, "lanes 2: returned")) << text;
  EXPECT_TRUE(names(text, "lanes_test.cpp:")) << text;
}

TEST(Divergence, ABarrierInABranch) {
  const std::string text = error_of<8>([](FiberLanes<8>& lanes) {
    if (lanes.rank() < 3) lanes.sync();
    lanes.any_lane(true);
  });
  EXPECT_TRUE(names(text, "lanes 0 1 2: at sync(), ")) << text;
  EXPECT_TRUE(names(text, "lanes 3 4 5 6 7: at any_lane(), ")) << text;
}

TEST(Divergence, TheSameCallAtTwoPlaces) {
  const int line = __LINE__ + 3;
  const std::string text = error_of<2>([](FiberLanes<2>& lanes) {
    if (lanes.rank() == 0)
      lanes.sync();
    else
      lanes.sync();
  });
  EXPECT_TRUE(names(text, "lanes 0: at sync(), ")) << text;
  EXPECT_TRUE(names(text, "lanes_test.cpp:" + std::to_string(line))) << text;
  EXPECT_TRUE(names(text, "lanes_test.cpp:" + std::to_string(line + 2))) << text;
}

TEST(Divergence, SumsOfDifferentLength) {
  const std::string text = error_of<16>([](FiberLanes<16>& lanes) {
    lanes.accumulate<float>(lanes.rank() == 9 ? 11 : 12, [](int, float s) { return s; });
  });
  EXPECT_TRUE(names(text, "lanes 9: at accumulate() of 11 terms, ")) << text;
  EXPECT_TRUE(names(text, " of 12 terms")) << text;
}

// the barriers of a stage go through its environment, and still stand where the stage wrote them
template <class Env>
void parting_stage(Env& env) {
  if (env.lanes.rank() == 0)
    env.sync();
  else
    env.sync();
  env.accumulate(3, [](int, float s) { return s; });
}
template <class Env>
void summing_stage(Env& env) {
  if (env.lanes.rank() == 0)
    env.accumulate(3, [](int, float s) { return s; });
  else
    env.accumulate(3, [](int, float s) { return s; });
}
TEST(Divergence, BarriersOfAnEnvironmentStandInTheStage) {
  using Env = dualstep::Env<float, FiberLanes<2>>;
  const dualstep::Tables<float> tables{};
  const auto in_env = [&](auto stage) {
    return [&tables, stage](FiberLanes<2>& lanes) {
      Env env = make_env(tables, lanes, dualstep::Workspace<float>{nullptr, nullptr}, 0);
      stage(env);
    };
  };
  const std::string parting = error_of<2>(in_env([](Env& env) { parting_stage(env); }));
  EXPECT_TRUE(names(parting, "lanes 0: at sync(), ")) << parting;
  EXPECT_TRUE(names(parting, "parting_stage")) << parting;
  EXPECT_FALSE(names(parting, "views.h")) << parting;
  const std::string summing = error_of<2>(in_env([](Env& env) { summing_stage(env); }));
  EXPECT_TRUE(names(summing, "lanes 0: at accumulate() of 3 terms, ")) << summing;
  EXPECT_TRUE(names(summing, "summing_stage")) << summing;
}

// a helper that hands its caller's place on: the place alone does not tell the calls apart
TEST(Divergence, TwoCallsAtOnePlace) {
  const auto here = std::source_location::current();
  const std::string text = error_of<2>([&](FiberLanes<2>& lanes) {
    int total = 0;
    if (lanes.rank() == 0)
      lanes.accumulate<int>(
          0, [](int, int s) { return s; }, here);
    else
      lanes.exclusive_scan(1, &total, here);
  });
  EXPECT_TRUE(names(text, "lanes 0: at accumulate() of 0 terms, ")) << text;
  EXPECT_TRUE(names(text, "lanes 1: at exclusive_scan(), ")) << text;
}

struct Counted {
  explicit Counted(std::atomic<int>& alive) : alive(alive) { alive++; }
  ~Counted() { alive--; }
  std::atomic<int>& alive;
};

TEST(Errors, AnExceptionOfALaneReachesTheCallerAndUnwindsAll) {
  for (const Schedule& schedule : schedules())
    for (int thrower = 0; thrower < 8; thrower++) {
      std::atomic<int> alive = 0, past = 0;
      try {
        run_lanes<8>(schedule, [&](FiberLanes<8>& lanes) {
          const Counted counted(alive);
          lanes.sync();
          if (lanes.rank() == thrower) throw std::out_of_range("lane " + std::to_string(thrower));
          lanes.sync();
          past++;
        });
        FAIL() << "no exception";
      } catch (const std::out_of_range& error) {
        EXPECT_EQ(error.what(), "lane " + std::to_string(thrower));
      }
      EXPECT_EQ(alive, 0);
      EXPECT_EQ(past, 0);
    }
}

TEST(Errors, AllLanesMayThrow) {
  EXPECT_THROW(run_lanes<32>(Order::shuffled, 5, [](FiberLanes<32>&) { throw 7; }), int);
}

TEST(Errors, TheFirstExceptionWinsAndNoLaneStartsAfterIt) {
  std::atomic<int> started = 0;
  const auto thrower = [&](int rank) {
    return [&, rank](FiberLanes<4>& lanes) {
      started++;
      if (lanes.rank() == rank) throw rank;
      try {
        lanes.sync();
      } catch (...) {
        throw 100 + lanes.rank();
      }
    };
  };
  for (int rank = 0; rank < 4; rank++) {
    started = 0;
    try {
      run_lanes<4>(Order::ordered, 0, thrower(rank));
      FAIL() << "no exception";
    } catch (int thrown) {
      EXPECT_EQ(thrown, rank);
    }
    EXPECT_EQ(started, rank + 1);
  }
}

TEST(Errors, ALaunchInsideALane) {
  EXPECT_THROW(run_lanes<2>(Order::ordered, 0,
                            [](FiberLanes<2>&) { run_lanes<2>(Order::ordered, 0, [](FiberLanes<2>&) {}); }),
               LaneError);
}

TEST(Errors, ABarrierCalledAsAnotherLane) {
  std::atomic<const FiberLanes<2>*> zero = nullptr;
  try {
    run_lanes<2>(Order::ordered, 0, [&](FiberLanes<2>& lanes) {
      if (lanes.rank() == 0) zero = &lanes;
      (lanes.rank() == 0 ? lanes : *zero.load()).sync();
    });
    FAIL() << "no exception";
  } catch (const LaneError& error) {
    EXPECT_TRUE(names(error.what(), "lane 1 called a barrier as lane 0")) << error.what();
  }
}

TEST(Errors, LanesUsedAfterTheirLaunch) {
  std::optional<FiberLanes<2>> kept;
  run_lanes<2>(Order::ordered, 0, [&](FiberLanes<2>& lanes) {
    if (lanes.rank() == 0) kept = lanes;
  });
  EXPECT_THROW(kept->sync(), LaneError);
}

// the shape of a stage: a template over an environment that carries its lanes
template <class Lanes>
struct SmallEnv {
  Lanes& lanes;
  float* x;
  int n;
};
template <class Env>
float normalize(Env& env) {
  const float norm2 =
      env.lanes.template accumulate<float>(env.n, [&](int i, float s) { return s + env.x[i] * env.x[i]; });
  const float inverse = 1.0f / dualstep::sqrt(norm2);
  env.lanes.sync();
  for (int i = env.lanes.rank(); i < env.n; i += env.lanes.width()) env.x[i] = env.x[i] * inverse;
  env.lanes.sync();
  return env.lanes.template accumulate<float>(env.n, [&](int i, float s) { return s + env.x[i]; });
}

TYPED_TEST(EveryWidth, AStageHasTheBitsOfOneLane) {
  constexpr int W = TypeParam::value;
  const std::vector<double> start = rough_numbers(37);
  std::vector<float> expected_x(start.begin(), start.end());
  SerialLanes serial;
  SmallEnv<SerialLanes> serial_env{serial, expected_x.data(), 37};
  const float expected = normalize(serial_env);
  for (const Schedule& schedule : schedules()) {
    std::vector<float> x(start.begin(), start.end());
    run_lanes<W>(schedule, [&](FiberLanes<W>& lanes) {
      SmallEnv<FiberLanes<W>> env{lanes, x.data(), 37};
      EXPECT_TRUE(same_bits(normalize(env), expected));
    });
    EXPECT_EQ(std::memcmp(x.data(), expected_x.data(), x.size() * sizeof(float)), 0);
  }
}

TEST(Threads, EachThreadHasItsOwnLanes) {
  int sum[2] = {};
  const auto work = [&](int me) {
    for (std::uint64_t seed = 0; seed < 200; seed++)
      run_lanes<16>(Order::shuffled, seed, [&](FiberLanes<16>& lanes) {
        const int s = lanes.accumulate<int>(10, [&](int i, int t) { return t + i + me; });
        if (lanes.rank() == 0) sum[me] += s;
      });
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(sum[0], 200 * 45);
  EXPECT_EQ(sum[1], 200 * 55);
}

}  // namespace

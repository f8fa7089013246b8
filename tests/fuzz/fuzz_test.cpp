// The fuzzers' targets under random bytes, for compilers without libFuzzer: the same in every run. FUZZ_RUNS says how
// many (a million for a night under sanitizers), FUZZ_SEED where they begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "targets.h"

namespace dualstep::fuzz {
namespace {

long variable(const char* name, long otherwise) {
  const char* value = std::getenv(name);
  return value ? std::atol(value) : otherwise;
}

void search(bool (*target)(const uint8_t*, size_t), long runs, int least_taken) {
  const auto began = std::chrono::steady_clock::now();
  int taken = 0;
  double longest = 0;
  for (long run = variable("FUZZ_SEED", 0), end = run + variable("FUZZ_RUNS", runs); run < end; ++run) {
    std::mt19937 random(static_cast<unsigned>(run));
    std::vector<uint8_t> bytes(2 + random() % 40);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const auto before = std::chrono::steady_clock::now();
    SCOPED_TRACE(run);
    taken += target(bytes.data(), bytes.size());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    longest = std::max(longest, took.count());
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
  std::printf("%d taken, the longest took %.3f s, all %.1f s\n", taken, longest, all.count());
  EXPECT_GE(taken, least_taken);
  EXPECT_LT(longest, 2);
}

TEST(Fuzz, Models) { search(&run_model, 1500, 20); }
TEST(Fuzz, Checkpoints) { search(&run_checkpoint, 1500, 20); }

}  // namespace
}  // namespace dualstep::fuzz

// The real stages under ThreadSanitizer: they do not race, and without any one of their barriers they would.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/support/child_process.h"

namespace {

TEST(Stages, DoNotRace) {
  const child::Ended ended = child::run_program(STAGES_PROGRAM, "race_free");
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_EQ(ended.text, "");
}

// every sync() of the kernels is left out once: something must show, or it is not needed, or the scenes of
// tests/support/models.h do not reach what needs it. A done(), the end of a stage, stays: it may be for another reader
// than the next stage
class Barriers : public testing::TestWithParam<int> {};
constexpr int kShards = 4;

TEST_P(Barriers, AreAllNeeded) {
  const child::Ended ended = child::run_program(
      STAGES_PROGRAM, "drop_barriers " + std::to_string(GetParam()) + " " + std::to_string(kShards),
      "exitcode=0:symbolize=0:handle_segv=0:handle_sigbus=0:log_path=/dev/"
      "null:suppress_equal_stacks=0:suppress_equal_addresses=0");
  ASSERT_EQ(ended.code, 0) << ended.text;
  std::istringstream lines(ended.text);
  std::map<std::string, int> syncs;
  for (std::string place, call, shown; lines >> place >> call >> shown;) {
    ASSERT_EQ(call, "sync") << place << " " << shown;
    syncs[shown]++;
    EXPECT_NE(shown, "nothing") << "without the barrier at " << place << " nothing goes wrong";
  }
  EXPECT_GT(syncs["races"], 10) << ended.text;
  for (const auto& [shown, count] : syncs) RecordProperty("sync_" + shown, count);
}

INSTANTIATE_TEST_SUITE_P(All, Barriers, testing::Range(0, kShards));

}  // namespace

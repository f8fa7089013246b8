// Every planted bug must be found, by the order of lanes where that can find it and by ThreadSanitizer in all
// cases, with the file named; every right kernel must pass without a report.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/backends/fibers/fiber_lanes.h"
#include "tests/emulator/seeded_kernels.h"
#include "tests/support/child_process.h"

namespace {

using dualstep::FiberLanes;
using dualstep::run_lanes;
using dualstep::emulator::Order;
using seeded::FoundBy;

using child::Ended;
using child::kFound;
using child::run_program;

struct Seed {
  const char* name;
  FoundBy found_by;
  seeded::Scratch (*run)(bool planted, int width, Order order, std::uint64_t seed);
};

template <int W, class Right, class Planted>
seeded::Scratch run_width(bool planted, Order order, std::uint64_t seed, Right right, Planted wrong) {
  seeded::Scratch scratch = seeded::fresh_scratch();
  run_lanes<W>(order, seed,
               [&](FiberLanes<W>& lanes) { planted ? wrong(lanes, scratch) : right(lanes, scratch); });
  return scratch;
}

#define SEED(kernel, found)                                                                  \
  {#kernel, FoundBy::found, [](bool planted, int width, Order order, std::uint64_t seed) {   \
     const auto right = [](const auto& lanes, auto& s) { seeded::kernel<false>(lanes, s); }; \
     const auto wrong = [](const auto& lanes, auto& s) { seeded::kernel<true>(lanes, s); };  \
     return width == 32  ? run_width<32>(planted, order, seed, right, wrong)                 \
            : width == 8 ? run_width<8>(planted, order, seed, right, wrong)                  \
                         : run_width<2>(planted, order, seed, right, wrong);                 \
   }},
const std::vector<Seed> kSeeds = {SEEDED_KERNELS(SEED)};
#undef SEED

void PrintTo(const Seed& seed, std::ostream* out) { *out << seed.name; }

bool names(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void expect_silent(const Ended& ended) {
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_EQ(ended.text, "");
}

class SeededBug : public testing::TestWithParam<Seed> {};

// how many of the orders give another result than the right kernel
int orders_that_differ(const Seed& seed, bool planted, int width) {
  const seeded::Scratch right = seed.run(false, width, Order::ordered, 0);
  int differ = 0;
  differ += seed.run(planted, width, Order::ordered, 0).out != right.out;
  differ += seed.run(planted, width, Order::reversed, 0).out != right.out;
  for (std::uint64_t s = 0; s < 20; s++)
    differ += seed.run(planted, width, Order::shuffled, s).out != right.out;
  return differ;
}

TEST_P(SeededBug, OrderFindsWhatOrderCanFind) {
  for (int width : {2, 8, 32}) {
    EXPECT_EQ(orders_that_differ(GetParam(), false, width), 0) << "the right kernel, width " << width;
    const int differ = orders_that_differ(GetParam(), true, width);
    if (GetParam().found_by == FoundBy::order)
      EXPECT_GT(differ, 0) << "width " << width;
    else
      EXPECT_EQ(differ, 0) << "width " << width << ": this bug shows by order after all";
  }
}

#if defined(SEEDED_PROGRAM_THREAD)
void expect_found(const std::string& kernel, const Ended& ended) {
  EXPECT_EQ(ended.code, kFound) << ended.text;
  EXPECT_TRUE(names(ended.text, "ThreadSanitizer: data race")) << ended.text;
  EXPECT_TRUE(names(ended.text, "seeded_kernels.h:")) << ended.text;
  EXPECT_TRUE(names(ended.text, "seeded::" + kernel)) << ended.text;
  EXPECT_TRUE(names(ended.text, "'lane ")) << ended.text;
}

TEST_P(SeededBug, ThreadSanitizerFindsIt) {
  const std::string name = GetParam().name;
  expect_found(name, run_program(SEEDED_PROGRAM_THREAD, name + " planted sync_only"));
  const Ended forgiving = run_program(SEEDED_PROGRAM_THREAD, name + " planted every_exchange");
  if (GetParam().found_by == FoundBy::threads_if_only_sync_orders)
    expect_silent(forgiving);
  else
    expect_found(name, forgiving);
}

TEST_P(SeededBug, ThreadSanitizerPassesTheRightKernel) {
  const std::string name = GetParam().name;
  expect_silent(run_program(SEEDED_PROGRAM_THREAD, name + " right sync_only"));
  expect_silent(run_program(SEEDED_PROGRAM_THREAD, name + " right every_exchange"));
}

TEST(ThreadSanitizer, IsSilentOnValuesHandedOver) {
  expect_silent(run_program(SEEDED_PROGRAM_THREAD, "exchanges"));
}
TEST(ThreadSanitizer, IsSilentWhenLanesAreUnwound) {
  expect_silent(run_program(SEEDED_PROGRAM_THREAD, "unwinding"));
}
TEST(ThreadSanitizer, IsSilentOnThreadsWithLanesOfTheirOwn) {
  expect_silent(run_program(SEEDED_PROGRAM_THREAD, "threads"));
}
#endif

#if defined(SEEDED_PROGRAM_ADDRESS)
TEST_P(SeededBug, AddressSanitizerFollowsTheLanes) {
  expect_silent(run_program(SEEDED_PROGRAM_ADDRESS, std::string(GetParam().name) + " right sync_only"));
}
TEST(AddressSanitizer, IsSilentWhenLanesAreUnwound) {
  expect_silent(run_program(SEEDED_PROGRAM_ADDRESS, "unwinding"));
}
TEST(AddressSanitizer, IsSilentOnThreadsWithLanesOfTheirOwn) {
  expect_silent(run_program(SEEDED_PROGRAM_ADDRESS, "threads"));
}
TEST(AddressSanitizer, FindsAnOverrunOnTheStackOfALane) {
  expect_silent(run_program(SEEDED_PROGRAM_ADDRESS, "overrun_right"));
  const Ended ended = run_program(SEEDED_PROGRAM_ADDRESS, "overrun_planted");
  EXPECT_EQ(ended.code, kFound) << ended.text;
  EXPECT_TRUE(names(ended.text, "stack-buffer-overflow")) << ended.text;
  EXPECT_TRUE(names(ended.text, "seeded_program.cpp:")) << ended.text;
}
#endif

INSTANTIATE_TEST_SUITE_P(All, SeededBug, testing::ValuesIn(kSeeds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace

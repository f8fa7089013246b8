// One answer: packs on the CPU and emulated lanes give the same bits, whatever the instruction set, the
// number of lanes and the order in which they run between barriers.
#include <gtest/gtest.h>

#include "host/backends/cpu/cpu_backend.h"
#include "host/backends/fibers/emulated_kernels.h"
#include "tests/support/rollout.h"

namespace dualstep {
namespace {

using emulator::Fence;
using emulator::Order;
using emulator::Schedule;

constexpr int kEnvs = 5, kSteps = 40, kFewSteps = 10;

// Sanitizers look at memory. The order of lanes does not change what is touched, and every rollout of a scene goes through
// the same states: with sanitizers one order stands for all, and lanes go all the way once whole and once in parts, those
// that cost least. The bits of all, after all steps, are compared without
struct Lanes {
  std::vector<int> given;
  int steps = kSteps;
};
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
constexpr Order kOrders[] = {Order::shuffled};
const Lanes kWhole[] = {{{1}, kFewSteps}, {{4}}, {{32}, kFewSteps}};
const Lanes kInParts[] = {{{1, 8, 4, 32, 2}, kFewSteps}, {{16, 1, 8, 2, 1}}};
#else
constexpr bool kSanitized = false;
constexpr Order kOrders[] = {Order::ordered, Order::reversed, Order::shuffled};
const Lanes kWhole[] = {{{1}}, {{2}}, {{4}}, {{8}}, {{16}}, {{32}}};
const Lanes kInParts[] = {{{1, 8, 4, 32, 2}}, {{16, 1, 8, 2, 1}}};
#endif

template <class Scalar>
void on_cpu(const CpuKernels<Scalar>& kernels, int steps, Rollout<Scalar>* rollout) {
  const auto bytes = static_cast<size_t>(kernels.scratch_bytes(rollout->tables));
  const std::shared_ptr<void> scratch = allocate_aligned(bytes);
  for (int k = 0; k < steps; k++) {
    std::memset(scratch.get(), 0xff, bytes);
    rollout->step([&](const StepArgs& args) {
      for (int block = 0; block * kernels.pack < kEnvs; block++)
        kernels.run(rollout->tables, rollout->batch, args, block, scratch.get());
    });
  }
}

template <class Scalar>
void on_lanes(const LaneChoice& choice, Order order, int steps, Rollout<Scalar>* rollout) {
  const auto bytes = static_cast<size_t>(emulated_scratch_bytes(rollout->tables));
  const std::shared_ptr<void> scratch = allocate_aligned(bytes);
  uint64_t seed = 0;
  for (int k = 0; k < steps; k++)
    rollout->step([&](const StepArgs& args) {
      for (int e = 0; e < kEnvs; e++) {
        std::memset(scratch.get(), 0xff, bytes);
        run_emulated(rollout->tables, rollout->batch, args, e, scratch.get(), choice,
                     Schedule{order, seed++, Fence::sync_only});
      }
    });
}

template <class Scalar>
void expect_one_answer(const Scene& scene) {
  Rollout<Scalar> first(scene, kEnvs);
  const auto all = available_kernels<Scalar>();
  ASSERT_FALSE(all.empty());
  on_cpu(*all.back(), kSteps, &first);
  // the comparison means something: the states have moved, and stayed finite
  Rollout<Scalar> still(scene, kEnvs);
  ASSERT_NE(first.difference(still), "");
  for (int e = 0; e < kEnvs; e++) {
    ASSERT_EQ(first.batch.status[e] & kDiverged, 0u);
    for (int i = 0; i < first.tables.n.nv; i++)
      ASSERT_LT(std::abs(first.batch.qvel[e * first.tables.n.nv + i]), 1e3);
  }
  for (const auto* kernels : all) {
    // with sanitizers the only one, on the memory of before
    if (kSanitized && kernels == all.back()) continue;
    Rollout<Scalar> rollout(scene, kEnvs);
    on_cpu(*kernels, kSteps, &rollout);
    EXPECT_EQ(rollout.difference(first), "") << kernels->isa;
  }
  Rollout<Scalar> begun(scene, kEnvs);
  if (kSanitized) on_cpu(*all.back(), kFewSteps, &begun);
  const auto compare = [&](const Lanes& lanes, Order order) {
    const LaneChoice choice = choose_lanes(lanes.given);
    Rollout<Scalar> rollout(scene, kEnvs);
    on_lanes(choice, order, lanes.steps, &rollout);
    EXPECT_EQ(rollout.difference(lanes.steps == kSteps ? first : begun), "")
        << describe_lanes(choice, "lane") << ", order " << static_cast<int>(order);
  };
  // every number of lanes in one order; the fewest and the most that talk to each other in all
  for (const Lanes& lanes : kWhole)
    for (Order order : kOrders)
      if (order == Order::shuffled || lanes.given[0] == 2 || lanes.given[0] == 32) compare(lanes, order);
  // the same in parts, each with lanes of its own
  for (const Lanes& lanes : kInParts) compare(lanes, Order::shuffled);
}

class OneAnswer : public testing::TestWithParam<Scene> {};
TEST_P(OneAnswer, Float) { expect_one_answer<float>(GetParam()); }
TEST_P(OneAnswer, Double) { expect_one_answer<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, OneAnswer, testing::ValuesIn(all_scenes()),
                         [](const auto& info) { return info.param.name; });

// the scenes are worth running: contacts touch, overflow, and limits act. Nothing runs that does not run above
#if !defined(__SANITIZE_ADDRESS__)
TEST(Scenes, DoWhatTheyAreFor) {
  for (const Scene& scene : all_scenes()) {
    Rollout<double> rollout(scene, kEnvs);
    on_cpu(*available_kernels<double>().back(), kSteps, &rollout);
    const Sizes& n = rollout.tables.n;
    bool contact = false, overflow = false, constrained = false;
    for (int e = 0; e < kEnvs; e++) {
      contact = contact || rollout.batch.contact_count[e] > 0;
      overflow = overflow || (rollout.batch.status[e] & kContactOverflow) != 0;
      for (int i = 0; scene.outputs && i < n.nv; i++)
        constrained = constrained || rollout.batch.qfrc_constraint[e * n.nv + i] != 0;
    }
    // the links of that chain
    const bool apart = scene.name == "chain_rk4" || scene.name == "chain_implicit" ||
                       scene.name == "chain_discrete" || scene.name == "chain_in_medium";
    EXPECT_EQ(contact, !apart) << scene.name;
    EXPECT_EQ(overflow, scene.name == "garden_overflow") << scene.name;
    EXPECT_EQ(constrained, scene.outputs) << scene.name;
  }
}
#endif

}  // namespace
}  // namespace dualstep

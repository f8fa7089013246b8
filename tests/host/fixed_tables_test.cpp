// The stages with a model's sizes, options and places as constants give the bits of those for all models.
// What the run-time compiler of CUDA is given for a device (host/backends/cuda/specialize) is here compiled for the CPU, a
// scene an executable: FIXED_TABLES is a file of fixed_tables_writer, SCENE its scene.
#define DUALSTEP_ISA fixed_tables
#include FIXED_TABLES

#include <gtest/gtest.h>

#include "host/backends/cpu/cpu_backend.h"
#include "kernels/step.h"
#include "tests/support/rollout.h"

namespace dualstep {
namespace {

constexpr int kEnvs = 5, kSteps = 40;

const Scene& scene() {
  static const std::vector<Scene> all = all_scenes();
  return *std::find_if(all.begin(), all.end(), [](const Scene& s) { return s.name == SCENE; });
}

void for_all_models(Rollout<float>* rollout) {
  const CpuKernels<float>& kernels = *available_kernels<float>().back();
  const std::shared_ptr<void> scratch =
      allocate_aligned(static_cast<size_t>(kernels.scratch_bytes(rollout->tables)));
  for (int k = 0; k < kSteps; k++)
    rollout->step([&](const StepArgs& args) {
      for (int block = 0; block * kernels.pack < kEnvs; block++)
        kernels.run(rollout->tables, rollout->batch, args, block, scratch.get());
    });
}

void for_this_model(const StepTables<float>& tables, Rollout<float>* rollout) {
  using Fixed = StepTables<float>;
  std::vector<float> reals(static_cast<size_t>(Fixed::l.total));
  std::vector<int> words(static_cast<size_t>(pool_words<float>(Fixed::n)));
  const SerialLanes lanes;
  for (int k = 0; k < kSteps; k++)
    rollout->step([&](const StepArgs& args) {
      for (int e = 0; e < kEnvs; e++) {
        auto env = make_env(tables, lanes, Workspace<float>{reals.data(), words.data()}, e);
        run_environment<Fixed::n.kdim, Fixed::o.weights == kWeighsRows>(env, rollout->batch, args);
      }
    });
}

TEST(FixedTables, SameBits) {
  Rollout<float> all(scene(), kEnvs), one(scene(), kEnvs), still(scene(), kEnvs);
  for_all_models(&all);
  ASSERT_NE(all.difference(still), "");
  for_this_model({one.tables}, &one);
  EXPECT_EQ(one.difference(all), "");
}

// the numbers are constants indeed: those that come with the tables are not read
TEST(FixedTables, NumbersOfTheTablesAreNotRead) {
  Rollout<float> one(scene(), kEnvs), other(scene(), kEnvs);
  for_this_model({one.tables}, &one);
  Tables<float> changed = other.tables;
  std::memset(&changed.n, 0xff, sizeof changed.n);
  std::memset(&changed.l, 0xff, sizeof changed.l);
  changed.o = {};
  for_this_model({changed}, &other);
  EXPECT_EQ(other.difference(one), "");
}

}  // namespace
}  // namespace dualstep

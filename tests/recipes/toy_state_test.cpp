// A field of the state is one row (toy_state.inl): with it alone a batch allocates, loads, checks, stores, saves,
// restores and resets the array, and lists it by name, shape and meaning for Python.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "host/batch/batch.h"
#include "tests/host/tiny_model.h"

namespace dualstep {
namespace {

constexpr int kEnvs = 6;

template <class Scalar>
class ToyState : public testing::Test {
 protected:
  static BatchOptions options() {
    BatchOptions o;
    o.num_envs = kEnvs;
    o.float64 = sizeof(Scalar) == 8;
    o.device.device = "cpu";
    o.device.isa = "portable";
    o.device.num_threads = 1;
    return o;
  }
  Scalar* age() { return static_cast<Scalar*>(batch.array("toy_age")->data.get()); }
  bool all_are(Scalar value) {
    return std::all_of(age(), age() + kEnvs * batch.model().nv, [&](Scalar x) { return x == value; });
  }
  Batch batch{tiny_model(), options()};
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ToyState, Scalars);

TYPED_TEST(ToyState, IsListedWithItsShapeAndMeaning) {
  const auto found = std::find_if(batch_fields().begin(), batch_fields().end(),
                                  [](const BatchField& field) { return field.name == "toy_age"; });
  ASSERT_NE(found, batch_fields().end());
  EXPECT_EQ(found->role, FieldRole::kState);
  EXPECT_EQ(found->meaning, "steps that each dof has lived");
  EXPECT_EQ(this->batch.array("toy_age")->shape, std::vector<int>{this->batch.model().nv});
  EXPECT_EQ(scratch_field("toy_age").size, "nv");
}

TYPED_TEST(ToyState, IsLoadedAndStoredByAStep) {
  EXPECT_TRUE(this->all_are(0));
  this->batch.step(1);
  this->batch.step(2);
  EXPECT_TRUE(this->all_are(3));
  this->age()[0] = 10;  // users write it too
  this->batch.step(1);
  EXPECT_EQ(this->age()[0], 11);
}

TYPED_TEST(ToyState, IsSavedRestoredAndReset) {
  std::vector<int> all(kEnvs);
  for (int e = 0; e < kEnvs; e++) all[e] = e;
  this->batch.step(4);
  const std::string state = this->batch.save(all);
  this->batch.step(1);
  EXPECT_TRUE(this->all_are(5));
  this->batch.load(state, all);
  EXPECT_TRUE(this->all_are(4));
  this->batch.reset(nullptr, -1);
  EXPECT_TRUE(this->all_are(0));
}

TYPED_TEST(ToyState, IsChecked) {
  this->age()[0] = std::numeric_limits<TypeParam>::quiet_NaN();
  this->batch.step(1);
  const auto* status = static_cast<const uint32_t*>(this->batch.array("status")->data.get());
  EXPECT_TRUE(status[0] & kDiverged);
  EXPECT_EQ(status[1], 0u);
  EXPECT_EQ(this->age()[this->batch.model().nv], 1);
}

}  // namespace
}  // namespace dualstep

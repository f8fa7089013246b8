// The recipe of a contact law: one file outside the kernels (toy_contact_law.h) gives the option contact_model a
// word, the tables a law, a Batch its refusals, and the step its forces.
#define DUALSTEP_ISA recipe
#include "host/model/contact_law.h"

#include <gtest/gtest.h>

#include "host/model/options_table.h"
#include "host/model/unsupported.h"
#include "kernels/step.h"
#include "tests/support/rollout.h"

namespace dualstep {
namespace {

constexpr double kRadius = 0.1, kHeight = 0.09, kTimestep = 0.002, kTimeConstant = 0.05, kSoftness = 1e-3;

// a ball that a rail keeps above a floor, into which it reaches
Scene ball_on_floor() {
  ModelBuilder b;
  b.geom(0, scenes::floor_plane());
  const int ball = b.body(0, {0, 0, kHeight}, 0.7);
  b.joint(ball, {.type = kSlide, .axis = {0, 0, 1}});
  b.geom(ball, {.type = kSphere, .size = {kRadius, 0, 0}, .condim = 1});
  b.option["timestep"] = {kTimestep};
  Scene scene{"ball", b.build()};
  Options& o = scene.model.opt;
  o.cone = Cone::kElliptic;
  o.contact_time_constant = kTimeConstant;
  o.contact_regularization = kSoftness;
  set_option(o, "contact_model", std::string("toy"));
  return scene;
}

class Ball {
 public:
  explicit Ball(const Scene& scene) : rollout_(scene, 1) {
    rollout_.batch.qvel[0] = rollout_.batch.qfrc_applied[0] = 0;
    std::fill_n(rollout_.batch.xfrc_applied, 6 * tables().n.nbody, 0.0);
  }
  void step() {
    const SerialLanes lanes;
    std::vector<double> reals(static_cast<size_t>(tables().l.total));
    std::vector<int> words(static_cast<size_t>(pool_words<double>(tables().n)));
    auto env = make_env(tables(), lanes, Workspace<double>{reals.data(), words.data()}, 0);
    run_environment<3, true>(env, rollout_.batch, StepArgs{Action::kStep, 1, 1});
  }
  double gap() const { return kHeight + rollout_.batch.qpos[0] - kRadius; }
  double velocity() const { return rollout_.batch.qvel[0]; }
  const Tables<double>& tables() const { return rollout_.tables; }

 private:
  Rollout<double> rollout_;
};

TEST(ContactLaw, TheWordGivesTheLaw) {
  const Scene scene = ball_on_floor();
  EXPECT_STREQ(contact_models().back().word, "toy");
  EXPECT_EQ(contact_law(scene.model.opt), kLawToy);
  EXPECT_EQ(Ball(scene).tables().o.contact_law, kLawToy);
}

TEST(ContactLaw, ABatchRefusesWhatItsTraitsExclude) {
  Scene scene = ball_on_floor();
  EXPECT_NO_THROW(check_kernels(scene.model));
  for (const char* integrator : {"rk4", "implicitfast"}) {
    set_option(scene.model.opt, "integrator", std::string(integrator));
    EXPECT_THROW(check_kernels(scene.model), UnsupportedModelError) << integrator;
  }
}

// v' = (eps (v - h g) - phi / k) / (1 + eps), phi' = phi + h v': the gap decays by 1 - h / k a step, to where the
// weight carries the ball
TEST(ContactLaw, TheGapClosesAsItSays) {
  Ball ball(ball_on_floor());
  double gap = ball.gap(), velocity = 0;
  ASSERT_LT(gap, 0);
  for (int k = 0; k < 400; k++) {
    velocity = (kSoftness * (velocity - kTimestep * 9.81) - gap / kTimeConstant) / (1 + kSoftness);
    gap += kTimestep * velocity;
    ball.step();
    ASSERT_NEAR(ball.velocity(), velocity, 1e-9) << "step " << k;
    ASSERT_NEAR(ball.gap(), gap, 1e-11) << "step " << k;
  }
  EXPECT_NEAR(ball.gap(), -kSoftness * kTimeConstant * kTimestep * 9.81, 1e-8);
}

}  // namespace
}  // namespace dualstep

// A kind of constraint rows from one file outside the kernels takes part in a step: in every solver, beside
// the other kinds. What it must do follows from a dense solve on qM, without any of the rows' code.
#define DUALSTEP_ISA row_kind_recipe
#define DUALSTEP_EXTRA_ROW_KINDS "tests/recipes/toy_row_kind.h"
#include <gtest/gtest.h>

#include "kernels/step.h"
#include "tests/support/rollout.h"

namespace dualstep {
namespace {

using Vector = std::vector<double>;

// an arm of three hinges above a floor that it does not reach, with limits that rest
Model arm(Solver solver) {
  ModelBuilder b;
  b.geom(0, scenes::floor_plane());
  int parent = 0;
  for (int k = 0; k < 3; k++) {
    parent = b.body(parent, k == 0 ? Three{0, 0, 3} : Three{0.05, 0, -0.3}, 0.6 - 0.1 * k);
    b.joint(parent, {.type = kHinge, .axis = {0, 1, 0}, .range = {-1, 1}, .armature = 0.02});
    b.geom(parent, {.type = kSphere, .size = {0.05, 0, 0}});
  }
  Model m = b.build();
  m.opt.solver = solver;
  m.opt.tolerance = 1e-10;
  return m;
}

// a step of one environment
class Arm {
 public:
  Arm(Solver solver, const Vector& qvel) : model_(arm(solver)), rollout_({"arm", model_}, 1) {
    // the host's part of the recipe: how many rows there are, and which dofs each reaches
    store_ = build_tables(model_);
    store_.n.ndense += 1;
    store_.dense_support.push_back(0b111);
    build_sizes(model_, &store_);
    Tables<double> t = rollout_.tables;
    t.n = store_.n;
    t.l = make_layout(store_.n);
    t.dense_support = store_.dense_support.data();
    std::copy(qvel.begin(), qvel.end(), batch().qvel);
    std::fill_n(batch().qfrc_applied, t.n.nv, 0.0);
    std::fill_n(batch().xfrc_applied, 6 * t.n.nbody, 0.0);
    run(t);
  }

  const BatchView<double>& batch() const { return rollout_.batch; }
  // M x = b, M as the step left it in qM
  Vector solve(Vector b) const {
    const int nv = 3;
    double M[nv][nv];
    for (int i = 0; i < nv; i++)
      for (int e = rollout_.tables.M_rowadr[i]; e < rollout_.tables.M_rowadr[i + 1]; e++)
        M[i][rollout_.tables.M_col[e]] = M[rollout_.tables.M_col[e]][i] = batch().qM[e];
    for (int k = 0; k < nv; k++)
      for (int i = 0; i < nv; i++) {
        if (i == k) continue;
        const double c = M[i][k] / M[k][k];
        for (int j = 0; j < nv; j++) M[i][j] -= c * M[k][j];
        b[i] -= c * b[k];
      }
    for (int k = 0; k < nv; k++) b[k] /= M[k][k];
    return b;
  }

 private:
  void run(const Tables<double>& t) {
    // what nobody writes is a NaN
    Vector reals(static_cast<size_t>(t.l.total), NAN);
    std::vector<int> words(static_cast<size_t>(pool_words<double>(t.n)));
    const SerialLanes lanes;
    auto env = make_env(t, lanes, Workspace<double>{reals.data(), words.data()}, 0);
    run_environment<3, false>(env, batch(), StepArgs{Action::kForward, 1, 1});
    // behind those that are there; whoever asks where these begin is not told otherwise by it
    EXPECT_EQ(DenseKinds::first_of<GearFriction>(env), t.n.ndense - 1);
    EXPECT_EQ(DenseKinds::first_of<TendonLosses>(env), t.n.ndense - 1 - t.n.ntenloss);
    EXPECT_EQ(DenseKinds::first_joining(env), t.n.nball);
  }

  Model model_;
  Rollout<double> rollout_;
  TableStore store_;
};

struct Case {
  const char* name;
  Vector qvel;
  bool slides;
};

// the least of 1/2 (A + R) l^2 + b l over |l| <= f, b = J qacc_smooth + B J v
TEST(RowKindRecipe, ForceIsThatOfTheDenseProblem) {
  using Gear = GearFriction;
  const Vector J = {1, 0, Gear::kRatio};
  for (const Case& c : {Case{"sticks", {0.01, 0.2, -0.02}, false}, Case{"slides", {0.9, -0.3, 0.4}, true},
                        Case{"slides back", {-0.9, 0.3, -0.4}, true}}) {
    for (const Solver solver : {Solver::kPgsNewton, Solver::kPgs, Solver::kPgsAnderson,
                                Solver::kPgsNewtonPrimal, Solver::kPgsNewtonDual}) {
      SCOPED_TRACE(std::string(c.name) + ", solver " + std::to_string(static_cast<int>(solver)));
      const Arm arm(solver, c.qvel);
      const BatchView<double>& batch = arm.batch();
      const Vector x = arm.solve(J);
      double A = 0, b = 0;
      for (int i = 0; i < 3; i++) {
        A += J[i] * x[i];
        b += J[i] * (batch.qacc_smooth[i] + Gear::kDamping * c.qvel[i]);
      }
      const double free = -b / (A + Gear::kSoftness), l = std::clamp(free, -Gear::kBound, Gear::kBound);
      EXPECT_EQ(std::abs(free) > Gear::kBound, c.slides);
      EXPECT_GT(std::abs(l), 0.01);
      for (int i = 0; i < 3; i++) {
        EXPECT_NEAR(batch.qacc[i], batch.qacc_smooth[i] + x[i] * l, 1e-10 * (1 + std::abs(batch.qacc[i])));
        EXPECT_NEAR(batch.qfrc_constraint[i], J[i] * l, 1e-10);
      }
      EXPECT_LT(batch.residual[0], 1e-9);
      EXPECT_EQ(batch.status[0], 0u);
    }
  }
}

}  // namespace
}  // namespace dualstep

// Friction of a gear between the first and the last dof, as a kind of dense scalar rows: the recipe, carried
// out.
//
//   J = e_first + 1/2 e_last,   aref = -B J v,   |l| <= f
//
// Source: friction loss of MuJoCo's dofs, on a sum of two. Reads qvel, qacc_smooth, LD, Dscale,
// dense_support. Writes its row of Z, dense_y0, dense_D. Cost: O(nv).
#pragma once

#include "kernels/rows/kinds/dense_scalar.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct GearFriction {
  static constexpr double kRatio = 0.5, kBound = 0.4, kSoftness = 0.05, kDamping = 25;

  template <class E>
  DS_HD static int count(const E&) {
    return 1;
  }
  template <class E>
  DS_HD static Huber<typename E::Real> law(const E&, int, int) {
    using Real = typename E::Real;
    return {Real(kBound), Real(kSoftness)};
  }
  template <class E>
  DS_HD static void make(E& env, int first) {
    using Real = typename E::Real;
    const auto Z = env.Z(), qvel = env.qvel(), qacc = env.qacc_smooth();
    env.each(count(env), [&](int k) {
      const int g = first + k, nv = env.t.n.nv, row = g * nv;
      const auto start = [&](int dof) { return fma(Real(kDamping), qvel[dof], qacc[dof]); };
      for (int d = 0; d < nv; d++) Z[row + d] = Real(0);
      Z[row] = Real(1);
      Z[row + nv - 1] = Real(kRatio);
      env.dense_y0()[g] = fma(Real(kRatio), start(nv - 1), start(0));
      env.dense_D()[g] = Real(1) / Real(kSoftness);
      whiten<1>(env, Z, g, dense_support(env, g));
    });
  }
};
using ExtraRowKinds = KindList<GearFriction>;

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

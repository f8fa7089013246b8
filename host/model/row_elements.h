// Which elements of a model have constraint rows, kind by kind, under its present options: for the tables, and for what
// a Batch refuses.
#pragma once

#include <vector>

#include "host/model/model.h"

namespace dualstep {

// those of `count` elements that pass a test, in their order; none where a flag switches off their kind, or constraints
template <class F>
std::vector<int> with_rows(const Model& m, DisableBit off, int count, F test) {
  std::vector<int> found;
  if (m.opt.disabled(kDisableConstraint) || m.opt.disabled(off)) return found;
  for (int i = 0; i < count; ++i)
    if (test(i)) found.push_back(i);
  return found;
}

// slides and hinges
inline std::vector<int> limited_joints(const Model& m) {
  return with_rows(m, kDisableLimit, m.njnt, [&](int j) {
    return m.jnt_limited[j] != 0 && (m.jnt_type[j] == kSlide || m.jnt_type[j] == kHinge);
  });
}
inline std::vector<int> limited_balls(const Model& m) {
  return with_rows(m, kDisableLimit, m.njnt,
                   [&](int j) { return m.jnt_limited[j] != 0 && m.jnt_type[j] == kBall; });
}
inline std::vector<int> dofs_with_friction(const Model& m) {
  return with_rows(m, kDisableFrictionLoss, m.nv, [&](int d) { return m.dof_frictionloss[d] > 0; });
}
// one that starts inactive stays so: nothing here switches it on
inline std::vector<int> active_equalities(const Model& m) {
  return with_rows(m, kDisableEquality, m.neq, [&](int e) { return m.eq_active0[e] != 0; });
}
inline std::vector<int> limited_tendons(const Model& m) {
  return with_rows(m, kDisableLimit, m.ntendon, [&](int ten) { return m.tendon_limited[ten] != 0; });
}
inline std::vector<int> tendons_with_friction(const Model& m) {
  return with_rows(m, kDisableFrictionLoss, m.ntendon,
                   [&](int ten) { return m.tendon_frictionloss[ten] > 0; });
}

}  // namespace dualstep

// Bodies that move but have no inverse weight: their centre of mass stays (kernels/rows/rigid_weight.h).
//
// The largest A that rows on them can have, at qpos0:
//
//   A <= sum over dofs of r^2 (M^-1)_dd,   r the arm of a hinge or ball to what lies farthest on the body, 1 of a slide
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "host/model/element_rows.h"
#include "host/model/model.h"

namespace dualstep {

inline bool is_rigid_body(const Model& m, int b) {
  constexpr double kNoWeight = 1e-12;
  return m.body_weldid[b] > 0 && translation_weight(m, b) < kNoWeight;
}
inline bool any_rigid_body(const Model& m) {
  for (int b = 1; b < m.nbody; ++b)
    if (is_rigid_body(m, b)) return true;
  return false;
}

inline double length_of(std::span<const double> v) { return std::hypot(v[0], v[1], v[2]); }

// how far geoms and sites reach from each body's frame, at most
inline std::vector<double> reaches_of_bodies(const Model& m) {
  std::vector<double> reach(m.nbody, 0);
  const auto extend = [&](int b, double to) { reach[b] = std::max(reach[b], to); };
  for (int g = 0; g < m.ngeom; ++g)
    extend(m.geom_bodyid[g], length_of(row::geom_pos(m, g)) + m.geom_rbound[g]);
  for (int s = 0; s < m.nsite; ++s) extend(m.site_bodyid[s], length_of(row::site_pos(m, s)));
  return reach;
}

// the largest A of a row on a body that reaches so far
inline double largest_A_of_body(const Model& m, int b, double reach) {
  double A = 0;
  for (; b > 0; reach += length_of(row::body_pos(m, b)), b = m.body_parentid[b]) {
    for (int j = m.body_jntadr[b]; j < m.body_jntadr[b] + m.body_jntnum[b]; ++j) {
      const double arm = m.jnt_type[j] == kSlide ? 1 : reach + length_of(row::jnt_pos(m, j));
      A += arm * arm * m.dof_invweight0[m.jnt_dofadr[j]];
    }
  }
  return A;
}

// one over the largest A of each tree's bodies without an inverse weight; a vast number where there are none
inline std::vector<double> rigid_inertia_of_trees(const Model& m, const std::vector<int>& body_tree,
                                                  int trees) {
  constexpr double kNone = 1e30;
  std::vector<double> inertia(trees, kNone);
  const auto reach = reaches_of_bodies(m);
  for (int b = 1; b < m.nbody; ++b) {
    if (!is_rigid_body(m, b)) continue;
    double& least = inertia[body_tree[b]];
    least = std::min(least, 1 / std::max(largest_A_of_body(m, b, reach[b]), 1 / kNone));
  }
  return inertia;
}

}  // namespace dualstep

// How large a row could be, were nothing in it to cancel: next to that its rounding is known.
//
// A row's entry at a dof is a difference of motions, of two bodies at a point, each known to rounding. Where all entries are
// no more than that rounding no dof moves the row, and conditioning.h and the kinds of rows leave it out.
//
// solves    a bound of the square of a row in the norm of M^-1, of rows along an axis through a point p and about it
// equation  s_along = sum over dofs of (|lin|^2 + |ang|^2 (|p - com|^2 + |p|^2)) / D_d,   s_about = sum of |ang|^2 / D_d
//           lost: at most (16 u)^2 s, u the unit roundoff, D_d the pivots of M = L'DL
// source    own derivation
// deviation none
// reads     cdof, tree_com, Dscale
// writes    nothing
// cost      O(1) a dof
#pragma once

#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// what rows along an axis and about it could be at most, were nothing to cancel: squares in the norm of M^-1
template <class Real>
struct RowScale {
  Real along = Real(0), about = Real(0);
  Real arm2 = Real(0);  // of the longest arm, squared

  // 16 units of roundoff
  DS_HD static Real unit() { return Real(kSingle<Real> ? 1e-6 : 2e-15); }
  // of a distance at p
  DS_HD Real rounding(const Vec3<Real>& p) const { return unit() * (sqrt(arm2) + norm(p)); }

  template <class E>
  DS_HD void add(const E& env, Index d, const Vec3<Real>& p) {
    const Spatial<Real> s = env.cdof().spatial(d);
    const Vec3<Real> arm = p - env.tree_com().vec(env.t.body_tree[env.t.dof_body[d]]);
    const Real scale = env.Dscale()[d], spin = dot(s.ang, s.ang) * scale * scale;
    along = along + fma(dot(s.lin, s.lin), scale * scale, spin * (dot(arm, arm) + dot(p, p)));
    about = about + spin;
    arm2 = max(arm2, dot(arm, arm));
  }
  // what is rounding of them
  DS_HD Real lost(bool rotation) const { return unit() * unit() * (rotation ? about : along); }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

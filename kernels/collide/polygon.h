// A convex polygon cut by a slab, without branches.
//
// solves    the part of a polygon between two parallel planes
// equation  each edge gives at most two points: its start, or where it enters, then where it leaves
// source    Sutherland & Hodgman 1974
// deviation two parallel planes at a time (two slabs, along x and along y, cut a face out of another); the
//           corners come out in the same order, in the first `count` slots. A point is appended by writing it
//           to the slot that equals the count, for each slot that it can reach
// reads     its arguments
// writes    a Polygon, and a mask of what was cut off
// cost      300 operations a slab
#pragma once

#include "kernels/base/spatial.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// u: the coordinate to cut; v, w: carried along
template <class Real, int K>
struct Polygon {
  Real u[K], v[K], w[K];
  Real count;
};

// appends (u, v, w) where `valid`; `most` points can have been appended before. More than K are dropped
template <class Real, int K>
DS_HD void append(Polygon<Real, K>* to, const MaskOf<Real>& valid, const Real& u, const Real& v,
                  const Real& w, int most) {
  for (int s = 0; s < K; s++) {
    if (s > most) break;
    const auto here = mask_and(valid, to->count == Real(s));
    to->u[s] = select(here, u, to->u[s]);
    to->v[s] = select(here, v, to->v[s]);
    to->w[s] = select(here, w, to->w[s]);
  }
  to->count = to->count + select(valid, Real(1), Real(0));
}

// the part of `from` with |u| <= limit; `cut` collects where anything was cut off. Cost: 27 operations and a
// division an edge, and 4 a slot that it can reach; 4 a corner where all is inside
template <class Real, int KIn, int KOut>
DS_FN void cut_by_slab(const Polygon<Real, KIn>& from, const Real& limit, Polygon<Real, KOut>* to,
                       MaskOf<Real>* cut) {
  static_assert(KOut >= KIn);
  const Real zero(0), one(1);
  MaskOf<Real> used[KIn], inside[KIn];
  auto outside = zero < zero;
  for (int k = 0; k < KIn; k++) {
    used[k] = Real(k) < from.count;
    inside[k] = abs(from.u[k]) <= limit;
    outside = mask_or(outside, mask_and(used[k], mask_not(inside[k])));
  }
  for (int s = 0; s < KOut; s++) {
    const bool have = s < KIn;
    to->u[s] = have ? from.u[s] : zero;
    to->v[s] = have ? from.v[s] : zero;
    to->w[s] = have ? from.w[s] : zero;
  }
  to->count = from.count;
  if (!any(outside)) return;
  *cut = mask_or(*cut, outside);

  to->count = zero;
  for (int k = 0; k < KIn; k++) {
    Real qu = from.u[0], qv = from.v[0], qw = from.w[0];
    if (k + 1 < KIn) {
      const auto more = Real(k + 1) < from.count;
      qu = select(more, from.u[k + 1], qu);
      qv = select(more, from.v[k + 1], qv);
      qw = select(more, from.w[k + 1], qw);
    }
    const Real pu = from.u[k], pv = from.v[k], pw = from.w[k];
    const Real du = qu - pu, dv = qv - pv, dw = qw - pw;
    const Real inv = one / select(du == zero, one, du);
    const Real p_side = select(pu < zero, -limit, limit), q_side = select(qu < zero, -limit, limit);
    // strictly on the inner side of the plane that the other end is beyond?
    const auto q_within = select(pu < zero, -qu, qu) < limit, p_within = select(qu < zero, -pu, pu) < limit;
    const auto starts = mask_and(used[k], mask_or(inside[k], q_within));
    const auto leaves = mask_and(mask_and(used[k], abs(qu) > limit), p_within);
    const Real in = (p_side - pu) * inv, out = (q_side - pu) * inv;
    append(to, starts, select(inside[k], pu, p_side), select(inside[k], pv, fma(in, dv, pv)),
           select(inside[k], pw, fma(in, dw, pw)), 2 * k);
    append(to, leaves, q_side, fma(out, dv, pv), fma(out, dw, pw), 2 * k + 1);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

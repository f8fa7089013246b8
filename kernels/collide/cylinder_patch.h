// More contacts of a cylinder, once the direction n of least overlap is known: a line (the core of a capsule,
// the side of another cylinder, the edge of a box) over a cap or beside the side, each end with its own
// distance.
//
// solves    both ends of the stretch of a line that is over the cap, or beside the side
// equation  in the cylinder's frame, n pointing away from it. Over a cap (n_z^2 > 1/2) distances are taken
//           along n: the point q of the line is over the cap's disk where
//             q - n (q_z - z_cap) / n_z   is inside it, a quadratic along the line,
//             dist = (q_z - z_cap) / n_z
//           Beside the side, where |q_z| <= h,
//             dist = |q_xy| - R,   and the normal is its own
// source    own derivation
// deviation every contact lies on both shapes, and none is deeper than what n allows (deeper ones are dropped
//           by the caller)
// reads     its arguments
// writes    Touches in the cylinder's frame; put_touch a slot of a Manifold
// cost      about 110 operations a line
#pragma once

#include "kernels/collide/cylinder_search.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a contact in the cylinder's frame; the normal points away from the cylinder
template <class Real>
struct Touch {
  Real dist;
  Vec3<Real> pos, normal;
  MaskOf<Real> hit;
};

// the line q + t u, |t| <= reach, with balls of radius `ball` around it
template <class Real>
struct Line {
  Vec3<Real> q, u;
  Real reach, ball;
};

template <class Real>
DS_HD Real rim_slack() {
  return Real(kSingle<Real> ? 1 + 2e-6 : 1 + 1e-12);
}

// square of what is left of a line's unit vector when seen along n: below it the line is a point over the cap
constexpr double kPointOverCap = 1e-12;
// a rate along a line: a coordinate that changes more slowly is level
template <class Real>
constexpr double kLevelLine = kSingle<Real> ? 1e-6 : 1e-12;
// cosine between n and the normal of an end that is beside the side
constexpr double kBesideCosine = 0.9;

// contacts at both ends of the stretch of the line that is over the cap (`over`) or beside the side;
// stretch[0] to stretch[1] is that stretch, or the whole line where there is none
template <class Real>
DS_FN void line_contacts(const Line<Real>& line, const Vec3<Real>& n, const Real& half, const Real& radius,
                         const MaskOf<Real>& over, Touch<Real>* touch, Real* stretch) {
  const Real zero(0), one(1);
  const Vec3<Real>&q = line.q, &u = line.u;
  const Real cap = select(n.z < zero, -half, half), inv_nz = one / select(over, n.z, one);
  Real low = -line.reach, high = line.reach;
  MaskOf<Real> there = zero <= zero;
  {
    // |o + t v|^2 <= radius^2
    const Real lift = (q.z - cap) * inv_nz, climb = u.z * inv_nz, limit = radius * rim_slack<Real>();
    const Real ox = fma(-n.x, lift, q.x), oy = fma(-n.y, lift, q.y);
    const Real vx = fma(-n.x, climb, u.x), vy = fma(-n.y, climb, u.y);
    const Real a = fma(vx, vx, vy * vy), b = fma(ox, vx, oy * vy), c = fma(ox, ox, oy * oy) - limit * limit;
    const Real root_square = fma(b, b, -(a * c));
    const auto still = a < Real(kPointOverCap);
    const Real inv = one / select(still, one, a), root = sqrt(max(root_square, zero));
    const Real enters = select(still, low, max(low, (-b - root) * inv));
    const Real leaves = select(still, high, min(high, (root - b) * inv));
    const auto crosses = select(still, -c, root_square) >= zero;

    const auto level = abs(u.z) < Real(kLevelLine<Real>);
    const Real inv_uz = one / select(level, one, u.z);
    const Real t1 = (-half - q.z) * inv_uz, t2 = (half - q.z) * inv_uz;
    const Real rises = select(level, low, max(low, min(t1, t2))),
               tops = select(level, high, min(high, max(t1, t2)));
    const auto beside = mask_or(mask_not(level), abs(q.z) <= half);
    low = select(over, enters, rises);
    high = select(over, leaves, tops);
    there = mask_and(mask_or(mask_and(over, crosses), mask_and(mask_not(over), beside)), low <= high);
  }
  for (int end = 0; end < 2; end++) {
    stretch[end] = select(there, end == 0 ? low : high, end == 0 ? -line.reach : line.reach);
    const Vec3<Real> p = axpy(u, stretch[end], q);
    const Real away = sqrt(fma(p.x, p.x, p.y * p.y)), inv = one / max(away, Real(kLeastDivisor));
    const Vec3<Real> radial{p.x * inv, p.y * inv, zero};
    const auto sideways = fma(radial.x, n.x, radial.y * n.y) > Real(kBesideCosine);
    Touch<Real>& t = touch[end];
    t.dist = select(over, (p.z - cap) * inv_nz, away - radius) - line.ball;
    t.normal = select3(over, n, radial);
    t.pos = axpy(t.normal, fma(t.dist, Real(-0.5), -line.ball), p);
    t.hit = mask_and(there, mask_or(over, sideways));
  }
}

// keeps a further contact if it is within the margin, not deeper than the deepest, and somewhere else
template <class Real>
DS_HD void keep_if_new(Touch<Real>* t, const Touch<Real>& deepest, const Real& margin, const Real& tie,
                       const Real& apart) {
  const Vec3<Real> d = t->pos - deepest.pos;
  const auto elsewhere = mask_or(mask_not(deepest.hit), dot(d, d) > apart * apart);
  t->hit = mask_and(mask_and(t->hit, elsewhere), mask_and(t->dist < margin, t->dist >= deepest.dist - tie));
}

// of contacts that are all but at one point the deepest stays: two would weigh a load twice
template <int K, class Real>
DS_HD void keep_apart(Touch<Real>* touch, const Real& apart) {
  for (int k = 1; k < K; k++)
    for (int j = 0; j < k; j++) {
      const Vec3<Real> d = touch[k].pos - touch[j].pos;
      const auto same = mask_and(mask_and(touch[j].hit, touch[k].hit), dot(d, d) <= apart * apart);
      const auto deeper = touch[k].dist < touch[j].dist;
      touch[j].hit = mask_and(touch[j].hit, mask_not(mask_and(same, deeper)));
      touch[k].hit = mask_and(touch[k].hit, mask_or(mask_not(same), deeper));
    }
}
// whether two contacts are both as deep as the deepest: what is level along a stretch rests on its ends
template <class Real>
DS_HD MaskOf<Real> rests_on_ends(const Touch<Real>* ends, const Touch<Real>& deepest, const Real& tie) {
  return mask_and(mask_and(ends[0].hit, ends[1].hit), max(ends[0].dist, ends[1].dist) <= deepest.dist + tie);
}
// how far apart contacts of two shapes are at least, each told by its longest size
template <class Real>
DS_HD Real least_apart(const Real& longest, const Real& other) {
  return Real(kContactsApart) * min(longest, other);
}

// into the world, as slot k; `sign` is 1 where the cylinder is the first shape, -1 where it is the second
template <class Real, int K>
DS_HD void put_touch(const Touch<Real>& t, const Vec3<Real>& centre, const Mat3<Real>& rot, const Real& sign,
                     const MaskOf<Real>& near, int k, Manifold<Real, K>* out) {
  out->dist[k] = t.dist;
  out->pos[k] = centre + rotate(rot, t.pos);
  out->normal[k] = rotate(rot, t.normal * sign);
  out->hit[k] = mask_and(near, t.hit);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Capsule against cylinder: the core segment against the cylinder, then a ball around the nearest point.
//
// solves    up to three contacts
// equation  the signed distance is the largest separation over the directions of cylinder_search.h, here: the
//           cap's normal (the segment over a cap), z x u (side against side), an end of the segment against
//           side and rim, and the rim against the segment, the one that needs a search
// source    cylinder_search.h
// deviation the list is complete, so depth and normal are exact, also deep inside. Up to two more contacts
//           lie where the capsule leaves the cap, or the cylinder's side, so that a capsule lying on either
//           is carried at both ends
// reads     its arguments
// writes    a Manifold
// cost      25 operations while nothing is within reach, then about 330 and 40 a step of the search
#pragma once

#include "kernels/collide/cylinder_patch.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
DS_FN void capsule_cylinder(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                            Manifold<Real, 3>* out) {
  const Real zero(0), one(1);
  const Real r = a.size.x, l = a.size.y, radius = b.size.x, half = b.size.y;
  const Vec3<Real> c = rotate_transposed(b.rot, a.pos - b.pos), u = rotate_transposed(b.rot, z_axis(a));
  const Real out_squared = fma(c.x, c.x, c.y * c.y);
  const RimFrame<Real> frame = rim_frame(u);
  const Real across = frame.across;
  const Real room = margin + r, wide = fma(l, across, radius + room);
  auto near = mask_and(abs(c.z) - fma(l, abs(u.z), half) < room, out_squared < wide * wide);
  if (!any(near)) return clear(out);

  const auto slanted = across > Real(kSlantedSine<Real>);
  const auto separation = [&](const Vec3<Real>& n) {
    return dot(n, c) - l * abs(dot(n, u)) - half * abs(n.z) - radius * sqrt(fma(n.x, n.x, n.y * n.y));
  };
  const Real tie = Real(kDirectionTie<Real>) * ((half + radius) + (l + r));
  const Real cap_kind(0), side_kind(1), rim_kind(2);

  Direction<Real> best{{zero, zero, unit_sign(c.z)}, abs(c.z) - fma(l, abs(u.z), half), cap_kind};
  const Real beside = dot(c, frame.e2);
  consider(&best, slanted, frame.e2 * unit_sign(beside), abs(beside) - radius, side_kind, tie);
  for (int end = -1; end <= 1; end += 2) {
    const Vec3<Real> e = end < 0 ? axpy(u, -l, c) : axpy(u, l, c);
    const Real away = sqrt(fma(e.x, e.x, e.y * e.y));
    const auto centred = away < Real(kNoLength);
    const Real inv = one / select(centred, one, away);
    const Vec3<Real> m{select(centred, one, e.x * inv), e.y * inv, zero};
    consider(&best, zero <= zero, m, separation(m), side_kind, tie);
    const Real over_side = away - radius, over_cap = abs(e.z) - half;
    const auto corner = mask_and(over_side > zero, over_cap > zero);
    const Real scale = one / select(corner, sqrt(fma(over_side, over_side, over_cap * over_cap)), one);
    const Vec3<Real> n = (m * over_side + Vec3<Real>{zero, zero, over_cap * unit_sign(e.z)}) * scale;
    consider(&best, corner, n, separation(n), rim_kind, tie);
  }
  if (any(mask_and(near, slanted))) {
    Vec3<Real> n;
    const auto rim = rim_across(frame, c, half, radius, &n);
    consider(&best, mask_and(rim, slanted), n, separation(n), rim_kind, tie);
  }
  const Vec3<Real> n = best.n;
  near = mask_and(near, best.separation - r < margin);
  if (!any(near)) return clear(out);

  const auto over = n.z * n.z > Real(0.5);
  const auto on_cap = best.kind == cap_kind, on_side = best.kind == side_kind;
  Touch<Real> more[2], deepest;
  Real stretch[2];
  const Line<Real> core{c, u, l, r};
  line_contacts(core, n, half, radius, over, more, stretch);

  // the point of the segment that is deepest: nearest to the rim's point, or to the cylinder's axis
  const Real flat = sqrt(fma(n.x, n.x, n.y * n.y)), inv_flat = radius / select(flat > zero, flat, one);
  const Vec3<Real> rim{n.x * inv_flat, n.y * inv_flat, select(n.z < zero, -half, half)};
  const Real to_axis = -fma(c.x, u.x, c.y * u.y) / select(slanted, across * across, one);
  Real t = select(on_side, clamp(to_axis, stretch[0], stretch[1]), clamp(dot(u, rim - c), -l, l));
  // over a cap it is the lower end of the stretch over the disk, or of the segment
  const Real lower = select(n.z * u.z > zero, -l, l);
  t = select(on_cap, lower, t);
  const Vec3<Real> p = axpy(u, t, c);
  deepest.dist = best.separation - r;
  deepest.normal = n;
  const auto first_lower = more[0].dist < more[1].dist;
  const auto use_first = mask_and(mask_and(on_cap, more[0].hit), first_lower);
  const auto use_second = mask_and(mask_and(on_cap, more[1].hit), mask_not(first_lower));
  deepest.dist = select(use_first, more[0].dist, select(use_second, more[1].dist, deepest.dist));
  deepest.pos = select3(use_first, more[0].pos,
                        select3(use_second, more[1].pos, axpy(n, -fma(deepest.dist, Real(0.5), r), p)));
  deepest.hit = deepest.dist < margin;

  const Real apart = least_apart(max(half, radius), l + r);
  for (int k = 0; k < 2; k++) keep_if_new(&more[k], deepest, margin, tie, apart);
  keep_apart<2>(more, apart);
  deepest.hit = mask_and(deepest.hit, mask_not(rests_on_ends(more, deepest, tie)));
  put_touch(deepest, b.pos, b.rot, -one, near, 0, out);
  for (int k = 0; k < 2; k++) put_touch(more[k], b.pos, b.rot, -one, near, 1 + k, out);
  out->tangent = {zero, zero, zero};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

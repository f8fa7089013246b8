// Cylinder against cylinder.
//
// solves    up to 5 contacts
// equation  directions of least overlap: a cap's normal (of either), side against side, the rim of one
//           against the side of the other (the search of cylinder_search.h, either way), and rim against rim.
//           The last is smooth, w the difference of the caps' centres that face each other:
//             s(n) = n.w - R1 |n x z| - R2 |n x u|
//             gradient   w - R1 m1 - R2 m2
//             curvature  -(R1/|n x z|) t1 t1' - (R2/|n x u|) t2 t2'
//           with m the unit part of n across an axis, t across m and the axis. Newton on the sphere climbs
//           it, from the best direction so far; a step that does not climb is cut
// source    cylinder_search.h
// deviation contacts: the deepest point; over a cap the corners of the two disks' overlap (cap on cap), or
//           both ends of the other's lowest line over the disk (side on cap); beside each other the ends of
//           the stretch along which the sides run
// reads     its arguments
// writes    a Manifold
// cost      40 operations while nothing is within reach, about 900, and 150 a step of the climb
#pragma once

#include "kernels/collide/cylinder_patch.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// both cylinders in the frame of the first: the second has centre c and axis u
template <class Real>
struct TwoCylinders {
  Vec3<Real> c, u;
  Real half1, radius1, half2, radius2;

  DS_HD Real separation(const Vec3<Real>& n) const {
    const Real along = dot(n, u);
    const Vec3<Real> across = axpy(u, -along, n);
    return dot(n, c) - half1 * abs(n.z) - radius1 * sqrt(fma(n.x, n.x, n.y * n.y)) - half2 * abs(along) -
           radius2 * norm(across);
  }
};

template <class Real>
DS_HD Vec3<Real> unit_or(const Vec3<Real>& v, const Vec3<Real>& fallback) {
  Real length;
  return normalize(v, fallback, &length);
}

template <class Real>
constexpr int kClimbSteps = kSingle<Real> ? 12 : 24;
// of both radii: what rounding does to the height
template <class Real>
constexpr double kClimbRounding = kSingle<Real> ? 1e-7 : 2e-16;
// of both radii: the slope at which the top is reached
template <class Real>
constexpr double kClimbArrived = kSingle<Real> ? 1e-3 : 1e-6;
// in radians: a climb ends with a shorter step
template <class Real>
constexpr double kClimbLeastStep = kSingle<Real> ? 1e-6 : 1e-11;
// or with a smaller fraction of Newton's step; of one that does not climb so much is left
constexpr double kClimbLeastFraction = 1e-4, kClimbCut = 0.25;
// of both radii: what is added at least to a curvature that is not positive
constexpr double kClimbLeastShift = 0.02;
// sine between n and an axis: what is divided by is no smaller
constexpr double kClimbLeastSine = 1e-9;

// climbs from n with the caps chosen by side1 (of z) and side2 (of u) held fixed: smooth everywhere but along
// the axes, and an upper bound of the separation, which it equals on those sides
template <class Real>
DS_STAGE Vec3<Real> climb(const TwoCylinders<Real>& t, const Real& side1, const Real& side2,
                          const Vec3<Real>& start, MaskOf<Real>* arrived) {
  const Real zero(0), one(1), scale = t.radius1 + t.radius2;
  Vec3<Real> w = axpy(t.u, -t.half2 * side2, t.c);
  w.z = fma(-t.half1, side1, w.z);
  const auto height = [&](const Vec3<Real>& n, const Vec3<Real>& across2) {
    return dot(n, w) - t.radius1 * sqrt(fma(n.x, n.x, n.y * n.y)) - t.radius2 * norm(across2);
  };
  Vec3<Real> n = start, across = axpy(t.u, -dot(n, t.u), n);
  const Real level = scale * Real(kClimbRounding<Real>);
  Real value = height(n, across), fraction(1), steepness(0);
  auto open = zero <= zero;
  for (int step = 0; step < kClimbSteps<Real>; step++) {
    const Real inv1 = one / max(sqrt(fma(n.x, n.x, n.y * n.y)), Real(kClimbLeastSine)),
               inv2 = one / max(norm(across), Real(kClimbLeastSine));
    const Vec3<Real> m2 = across * inv2, e1{-n.y * inv1, n.x * inv1, zero}, e2 = cross(n, e1);
    Vec3<Real> g = axpy(m2, -t.radius2, w);
    g.x = fma(-t.radius1 * inv1, n.x, g.x);
    g.y = fma(-t.radius1 * inv1, n.y, g.y);
    const Vec3<Real> t2 = cross(t.u, m2);
    const Real x = dot(t2, e1), y = dot(t2, e2), k1 = t.radius1 * inv1, k2 = t.radius2 * inv2;
    const Real g1 = dot(g, e1), g2 = dot(g, e2);
    steepness = select(open, fma(g1, g1, g2 * g2), steepness);
    // minus the curvature; where it is not positive, as if the bodies just touched
    Real d11 = fma(k2, x * x, k1), d22 = k2 * y * y;
    const Real d12 = k2 * x * y;
    const auto concave = mask_and(d11 + value > zero, fma(d11 + value, d22 + value, -(d12 * d12)) > zero);
    const Real shift = select(concave, value, max(value, scale * Real(kClimbLeastShift)));
    d11 = d11 + shift;
    d22 = d22 + shift;
    const Real inv = one / max(fma(d11, d22, -(d12 * d12)), Real(kFiniteInverse));
    const Real s1 = fma(d22, g1, -(d12 * g2)) * inv, s2 = fma(d11, g2, -(d12 * g1)) * inv;
    const Real length = sqrt(fma(s1, s1, s2 * s2));
    const Real cut = fraction * min(one, Real(0.5) / max(length, Real(kFiniteInverse)));
    const Vec3<Real> trial = unit_or(n + e1 * (s1 * cut) + e2 * (s2 * cut), n);
    const Vec3<Real> trial_across = axpy(t.u, -dot(trial, t.u), trial);
    const Real trial_value = height(trial, trial_across);
    // near the top the height is level to rounding, and only the slope still tells
    const auto better = mask_and(open, trial_value > value - level);
    n = select3(better, trial, n);
    across = select3(better, trial_across, across);
    value = select(better, trial_value, value);
    fraction = select(better, min(fraction * Real(4), one), fraction * Real(kClimbCut));
    open = mask_and(
        open, mask_and(length * cut > Real(kClimbLeastStep<Real>), fraction > Real(kClimbLeastFraction)));
    if (!any(open)) break;
  }
  // its square, one step before the last
  *arrived = steepness < square(scale * Real(kClimbArrived<Real>));
  return n;
}

// kinds of touch: a cap of the first or of the second, the sides, the rim of the first on the second's side, that of
// the second on the first's, the rims
enum : int { kCapOfFirst, kCapOfSecond, kSides, kRimOfFirst, kRimOfSecond, kRims };

// sine below which n counts as along an axis, or as across one, where the separation has a kink
template <class Real>
constexpr double kOnKink = kSingle<Real> ? 1e-5 : 1e-7;
// how far uphill a climb starts at most: in radians, and of the sine between n and an axis
constexpr double kUphill = 0.01, kUphillOfSine = 0.2;

// what touches, and the direction
template <class Real>
DS_STAGE Direction<Real> least_overlap(const TwoCylinders<Real>& t, const Real& margin, const Real& tie) {
  const Real zero(0), one(1);
  const auto always = zero <= zero;
  const RimFrame<Real> frame = rim_frame(t.u);
  const Vec3<Real>&e2 = frame.e2, &level = frame.level;
  const Real across = frame.across;
  const Vec3<Real> z{zero, zero, unit_sign(t.c.z)};
  const Real along = dot(t.u, t.c), beside = dot(e2, t.c), ahead = dot(level, t.c), tilt = abs(t.u.z);
  const Vec3<Real> u = t.u * unit_sign(along);

  Direction<Real> best{z, abs(t.c.z) - t.half1 - fma(t.half2, tilt, t.radius2 * across), Real(kCapOfFirst)};
  consider(&best, always, u, abs(along) - t.half2 - fma(t.half1, tilt, t.radius1 * across),
           Real(kCapOfSecond), tie);
  consider(&best, always, e2 * unit_sign(beside), abs(beside) - t.radius1 - t.radius2, Real(kSides), tie);
  Vec3<Real> n;
  auto there = rim_across(frame, t.c, t.half1, t.radius1, &n);
  consider(&best, there, n, t.separation(n), Real(kRimOfFirst), tie);
  // the same seen along z: the second's rim is the ellipse, with its cap towards -ahead
  const Real inv = one / t.radius2;
  Real co, si;
  there = ellipse_normal(fma(-t.half2, across, abs(ahead)) * inv, abs(beside) * inv, tilt, across * across,
                         &co, &si);
  n = level * (co * unit_sign(ahead)) + e2 * (si * unit_sign(beside));
  consider(&best, there, n, t.separation(n), Real(kRimOfSecond), tie);

  if (any(best.separation < margin)) {
    // start a little uphill of the best so far, and in the middle of the directions with the same caps
    const Real small(kOnKink<Real>);
    const Real dip = dot(best.n, t.u), flat = sqrt(fma(best.n.x, best.n.x, best.n.y * best.n.y));
    const Vec3<Real> rest = axpy(t.u, -dip, best.n);
    const Real rest_length = norm(rest);
    const Real rim1 = select(flat > small, t.radius1 / max(flat, small), zero),
               rim2 = select(rest_length > small, t.radius2 / max(rest_length, small), zero);
    Vec3<Real> g = axpy(t.u, select(abs(dip) > small, -t.half2 * unit_sign(dip), zero), t.c) - rest * rim2;
    g.x = fma(-rim1, best.n.x, g.x);
    g.y = fma(-rim1, best.n.y, g.y);
    g.z = g.z - select(abs(best.n.z) > small, t.half1 * unit_sign(best.n.z), zero);
    g = axpy(best.n, -dot(g, best.n), g);
    const Vec3<Real> centre = unit_or(t.c, best.n);
    // not past an axis that is near
    const Real hop =
        min(Real(kUphill), min(select(flat > small, Real(kUphillOfSine) * flat, one),
                               select(rest_length > small, Real(kUphillOfSine) * rest_length, one)));
    const Vec3<Real> uphill = unit_or(axpy(unit_or(g, z), hop, best.n), best.n);
    const Real side1 = unit_sign(uphill.z), side2 = unit_sign(dot(uphill, t.u));
    const Vec3<Real> middle = axpy(centre, Real(0.5), axpy(t.u, side2, {zero, zero, side1}));
    n = climb(t, side1, side2, uphill, &there);
    consider(&best, there, n, t.separation(n), Real(kRims), tie);
    n = climb(t, side1, side2, unit_or(middle, uphill), &there);
    consider(&best, there, n, t.separation(n), Real(kRims), tie);
  }
  return best;
}

// each cylinder against the bounding cylinder of the other. tilt = |u_z|, across = |u_xy|
template <class Real>
DS_HD MaskOf<Real> within_reach(const TwoCylinders<Real>& t, const Real& tilt, const Real& across,
                                const Real& margin) {
  const Real along = dot(t.c, t.u), squared = dot(t.c, t.c);
  const Real wide1 = fma(t.half2, across, t.radius1 + t.radius2) + margin,
             wide2 = fma(t.half1, across, t.radius1 + t.radius2) + margin;
  const auto near = mask_and(abs(t.c.z) - t.half1 - fma(t.half2, tilt, t.radius2 * across) < margin,
                             abs(along) - t.half2 - fma(t.half1, tilt, t.radius1 * across) < margin);
  return mask_and(near,
                  mask_and(squared - t.c.z * t.c.z < wide1 * wide1, squared - along * along < wide2 * wide2));
}

// the two in the frame of the cylinder whose cap faces the other more: that one's half height and radius, the
// other's centre c and axis u, and n from that one to the other
template <class Real>
struct FacingCap {
  MaskOf<Real> swapped;  // it is the second cylinder
  Vec3<Real> n, c, u;
  Real half, radius, other_half, other_radius;
};

template <class Real>
DS_HD FacingCap<Real> facing_cap(const Shape<Real>& a, const Shape<Real>& b, const TwoCylinders<Real>& t,
                                 const Direction<Real>& best) {
  FacingCap<Real> f;
  const Real dip = dot(best.n, t.u);
  f.swapped = mask_and(best.kind > Real(kCapOfFirst), dip * dip > best.n.z * best.n.z);
  Mat3<Real> turn;
  for (int k = 0; k < 3; k++) {
    const Vec3<Real> row = rotate_transposed(b.rot, column(a.rot, k));
    turn.m[3 * k] = row.x, turn.m[3 * k + 1] = row.y, turn.m[3 * k + 2] = row.z;
  }
  f.n = select3(f.swapped, rotate_transposed(turn, -best.n), best.n);
  f.c = select3(f.swapped, rotate_transposed(turn, -t.c), t.c);
  f.u = select3(f.swapped, Vec3<Real>{turn.m[6], turn.m[7], turn.m[8]}, t.u);
  f.half = select(f.swapped, t.half2, t.half1);
  f.radius = select(f.swapped, t.radius2, t.radius1);
  f.other_half = select(f.swapped, t.half1, t.half2);
  f.other_radius = select(f.swapped, t.radius1, t.radius2);
  return f;
}

// of the radius: disks whose centres are closer are centred
constexpr double kCentredDisks = 1e-9;
// corners of the overlap of a cap's disk with that of the other cylinder, which nearly faces it: on the line of the
// centres, and where it is widest. `face` is a point of the other disk's plane
template <class Real>
DS_STAGE void disk_contacts(const FacingCap<Real>& f, const Vec3<Real>& face, const MaskOf<Real>& use,
                            Touch<Real>* touch) {
  const Vec3<Real>&n = f.n, &u = f.u;
  const Real &radius = f.radius, zero(0), one(1);
  const Real cap = select(n.z < zero, -f.half, f.half), inv_nz = one / select(use, n.z, one);
  const Real facing = dot(n, u), inv_facing = one / select(use, facing, one);
  // the other disk seen along n shrinks to an ellipse; a circle inside it
  const Real seen = f.other_radius * min(abs(facing * inv_nz), one) * abs(u.z);
  const Real lift = (face.z - cap) * inv_nz;
  const Real dx = fma(-n.x, lift, face.x), dy = fma(-n.y, lift, face.y), d = sqrt(fma(dx, dx, dy * dy));
  const auto centred = d < Real(kCentredDisks) * radius;
  const Real inv_d = one / select(centred, one, d);
  const Real x = select(centred, one, dx * inv_d), y = select(centred, zero, dy * inv_d);
  const Real low = max(-radius, d - seen), high = min(radius, d + seen);
  const Real wide =
      clamp((fma(d, d, radius * radius) - seen * seen) / max(d + d, Real(kFiniteInverse)), zero, d);
  const Real rest = wide - d;
  const Real side = sqrt(max(min(radius * radius - wide * wide, seen * seen - rest * rest), zero));
  for (int k = 0; k < 4; k++) {
    const Real along = k == 0 ? low : (k == 1 ? high : wide),
               sideways = k < 2 ? zero : (k == 2 ? side : -side);
    const Vec3<Real> p{fma(x, along, -(y * sideways)), fma(y, along, x * sideways), cap};
    Touch<Real>& t = touch[k];
    t.dist = select(use, dot(face - p, u) * inv_facing, t.dist);
    t.normal = select3(use, n, t.normal);
    t.pos = select3(use, axpy(n, t.dist * Real(0.5), p), t.pos);
    t.hit = mask_or(mask_and(use, low <= high), mask_and(mask_not(use), t.hit));
  }
}

// nearest points of the rims: p1 of the cap, p2 of the other, lowest in the middle of the other's lowest line
template <class Real>
struct RimPoints {
  Vec3<Real> p1, p2, lowest;
  Real down, slope;  // of the other's axis along n, across it
};

template <class Real>
DS_HD RimPoints<Real> rim_points(const FacingCap<Real>& f) {
  RimPoints<Real> r;
  const Real zero(0);
  const Vec3<Real>& n = f.n;
  const Real flat = sqrt(fma(n.x, n.x, n.y * n.y)), rim = f.radius / max(flat, Real(kLeastDivisor));
  r.p1 = {n.x * rim, n.y * rim, select(n.z < zero, -f.half, f.half)};
  r.down = dot(n, f.u);
  const Vec3<Real> across_n = axpy(f.u, -r.down, n);
  r.slope = norm(across_n);
  r.lowest = axpy(across_n, -f.other_radius / max(r.slope, Real(kLeastDivisor)), f.c);
  r.p2 = axpy(f.u, -f.other_half * unit_sign(r.down), r.lowest);
  return r;
}

// sine between the axes of cylinders that lie along each other, and cosine of those whose caps face each other
constexpr double kAlongSine = 0.01, kFacingCapsCosine = 0.9;
// the ends of the other's lowest line over the cap, or of its axis beside the side where the two are parallel,
// or the corners of two disks that face each other; stretch is where on the line these ends are
template <class Real>
DS_HD void further_contacts(const FacingCap<Real>& f, const RimPoints<Real>& r, const Real& tilt,
                            const Real& across, const MaskOf<Real>& near, Touch<Real>* more, Real* stretch) {
  const Real zero(0);
  const auto over = f.n.z * f.n.z > Real(0.5);
  const auto parallel = mask_and(mask_not(over), across < Real(kAlongSine)),
             lying = mask_and(over, tilt < Real(0.5));
  // so that both ends stay on both sides
  const Real spare = select(parallel, f.other_radius * across, zero),
             own_spare = select(parallel, f.radius * across, zero);
  Line<Real> line;
  line.q = select3(over, r.lowest, f.c);
  line.u = f.u;
  line.reach = select(over, f.other_half, max(f.other_half - spare, zero));
  line.ball = select(over, zero, f.other_radius);
  line_contacts(line, f.n, select(over, f.half, max(f.half - own_spare, zero)), f.radius, over, more,
                stretch);
  for (int k = 0; k < 2; k++) {
    more[k].hit = mask_and(more[k].hit, mask_or(parallel, lying));
    more[2 + k] = more[k];
    more[2 + k].hit = zero < zero;
  }
  const auto facing = mask_and(over, tilt > Real(kFacingCapsCosine));
  if (any(mask_and(near, facing)))
    disk_contacts(f, axpy(f.u, -f.other_half * unit_sign(r.down), f.c), facing, more);
}

// sine below which axes count as parallel
template <class Real>
constexpr double kParallelSine = kSingle<Real> ? 1e-5 : 1e-9;
// and between n and the other's axis, below which its cap counts as flat on this one
template <class Real>
constexpr double kFlatCapSine = kSingle<Real> ? 1e-4 : 1e-7;

// the deepest point: of the kind of the best direction, `stretch` that of further_contacts
template <class Real>
DS_HD Touch<Real> deepest_point(const FacingCap<Real>& f, const RimPoints<Real>& r,
                                const Direction<Real>& best, const Real& across, const Real* stretch) {
  const Real half_of(0.5), s = best.separation;
  const auto of_kind = [&](int k) { return best.kind == Real(k); };
  // with parallel axes the rim is nowhere along the side
  const auto upright =
      mask_and(across < Real(kParallelSine<Real>), mask_or(of_kind(kRimOfFirst), of_kind(kRimOfSecond)));
  const auto on_cap = mask_or(of_kind(kCapOfFirst), of_kind(kCapOfSecond)),
             on_side = mask_or(of_kind(kSides), upright);
  const auto by_first = mask_or(mask_and(of_kind(kRimOfFirst), mask_not(f.swapped)),
                                mask_and(of_kind(kRimOfSecond), f.swapped));
  const Real to_axis = clamp(fma(-f.c.x, f.u.x, -(f.c.y * f.u.y)) / max(across * across, Real(kLeastDivisor)),
                             stretch[0], stretch[1]);
  const Vec3<Real> beside = axpy(f.n, fma(s, -half_of, -f.other_radius), axpy(f.u, to_axis, f.c));
  const Vec3<Real> from1 = axpy(f.n, s * half_of, r.p1), from2 = axpy(f.n, -s * half_of, r.p2);
  Touch<Real> deepest;
  deepest.dist = s;
  deepest.normal = f.n;
  deepest.pos = select3(on_side, beside, select3(by_first, from1, from2));
  deepest.pos = select3(of_kind(kRims), (from1 + from2) * half_of, deepest.pos);
  // with a cap flat on the other shape, or that reaching beyond it, only the corners of the overlap count
  const auto on_disk = fma(r.p2.x, r.p2.x, r.p2.y * r.p2.y) <= square(f.radius * rim_slack<Real>());
  deepest.hit = mask_or(mask_not(on_cap), mask_and(on_disk, r.slope > Real(kFlatCapSine<Real>)));
  return deepest;
}

template <class Real>
DS_STAGE void cylinder_cylinder(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                                Manifold<Real, 5>* out) {
  const Real zero(0), one(1);
  TwoCylinders<Real> t;
  t.c = rotate_transposed(a.rot, b.pos - a.pos);
  t.u = rotate_transposed(a.rot, z_axis(b));
  t.radius1 = a.size.x, t.half1 = a.size.y, t.radius2 = b.size.x, t.half2 = b.size.y;
  const Real tilt = abs(t.u.z), across = sqrt(fma(t.u.x, t.u.x, t.u.y * t.u.y));
  auto near = within_reach(t, tilt, across, margin);
  if (!any(near)) return clear(out);

  const Real tie = Real(kDirectionTie<Real>) * ((t.half1 + t.half2) + (t.radius1 + t.radius2));
  const auto best = least_overlap(t, margin, tie);
  near = mask_and(near, best.separation < margin);
  if (!any(near)) return clear(out);

  const auto f = facing_cap(a, b, t, best);
  const auto rims = rim_points(f);
  Touch<Real> more[4];
  Real stretch[2];
  further_contacts(f, rims, tilt, across, near, more, stretch);
  Touch<Real> deepest = deepest_point(f, rims, best, across, stretch);

  const Real apart = least_apart(max(f.half, f.radius), max(f.other_half, f.other_radius));
  auto others = zero < zero;
  for (int k = 0; k < 4; k++) {
    keep_if_new(&more[k], deepest, margin, tie, apart);
    others = mask_or(others, more[k].hit);
  }
  keep_apart<4>(more, apart);
  deepest.hit = mask_and(mask_or(deepest.hit, mask_not(others)), mask_not(rests_on_ends(more, deepest, tie)));

  const Real sign = select(f.swapped, -one, one);
  const Vec3<Real> centre = select3(f.swapped, b.pos, a.pos);
  Mat3<Real> rot;
  for (int k = 0; k < 9; k++) rot.m[k] = select(f.swapped, b.rot.m[k], a.rot.m[k]);
  put_touch(deepest, centre, rot, sign, near, 0, out);
  for (int k = 0; k < 4; k++) put_touch(more[k], centre, rot, sign, near, 1 + k, out);
  out->tangent = {zero, zero, zero};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Cylinder against box.
//
// solves    up to 8 contacts
// equation  directions of least overlap, in the words of cylinder_search.h and in the order in which they
//           carry more contacts: the cap's normal, the faces, an edge across the side, a corner beside the
//           side, the rim across an edge (a search for each edge that a bound leaves), a corner off the rim
// source    cylinder_search.h
// deviation at a maximum of the separation n is along the cylinder's axis or across at most two of the axes
//           of both bodies, so that the list is complete, and depth and normal are exact. Contacts: over a
//           cap the corners of what the disk and the box's face have in common: both ends of each edge over
//           the disk, or where an edge misses the disk the rim's point farthest towards it; a cylinder that
//           lies on a face has both ends of its lowest line over the face; an edge along the side has both
//           ends of the stretch. And the deepest point, in place of its neighbour where all eight slots are
//           taken
// reads     its arguments
// writes    a Manifold
// cost      60 operations while nothing is within reach, about 2500 and 400 a search, of which a heap leaves two or three
#pragma once

#include "kernels/collide/cylinder_patch.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// both in the frame of the cylinder
template <class Real>
struct BoxBeside {
  Vec3<Real> c, axis[3];
  Real size[3];
  Real half, radius;

  DS_HD Real separation(const Vec3<Real>& n) const {
    Real s = dot(n, c);
    for (int k = 0; k < 3; k++) s = s - size[k] * abs(dot(n, axis[k]));
    return fma(-half, abs(n.z), s) - radius * sqrt(fma(n.x, n.x, n.y * n.y));
  }
  DS_HD Vec3<Real> corner(const Real& x, const Real& y, const Real& z) const {
    return axpy(axis[2], z * size[2], axpy(axis[1], y * size[1], axpy(axis[0], x * size[0], c)));
  }
};

// kinds of touch: a cap, a face of the box, an edge across the side, a corner beside the side, the rim
enum : int { kBoxOnCap, kBoxFace, kBoxEdge, kBoxCorner, kBoxRim };

// the direction of least overlap among those that need no search, and the corner where one is what touches
template <class Real>
DS_STAGE Direction<Real> plain_overlap(const BoxBeside<Real>& t, const Real& tie, Vec3<Real>* corner) {
  const Real zero(0), one(1);
  const auto always = zero <= zero;
  Direction<Real> best{{zero, zero, unit_sign(t.c.z)}, zero, Real(kBoxOnCap)};
  best.separation = t.separation(best.n);
  for (int k = 0; k < 3; k++) {
    const Vec3<Real> n = t.axis[k] * unit_sign(dot(t.c, t.axis[k]));
    consider(&best, always, n, t.separation(n), Real(kBoxFace), tie);
  }
  for (int k = 0; k < 3; k++) {
    const Vec3<Real>& u = t.axis[k];
    const Real across = sqrt(fma(u.x, u.x, u.y * u.y));
    const auto slanted = across > Real(kSlantedSine<Real>);
    const Real inv = one / select(slanted, across, one);
    Vec3<Real> n{-u.y * inv, u.x * inv, zero};
    n = n * unit_sign(dot(n, t.c));
    consider(&best, slanted, n, t.separation(n), Real(kBoxEdge), tie);
  }
  *corner = t.c;
  for (int k = 0; k < 8; k++) {
    const Vec3<Real> v = t.corner(Real(k & 1 ? -1 : 1), Real(k & 2 ? -1 : 1), Real(k & 4 ? -1 : 1));
    const Real away = sqrt(fma(v.x, v.x, v.y * v.y));
    const auto centred = away < Real(kNoLength);
    const Real inv = one / select(centred, one, away);
    const Vec3<Real> m{select(centred, one, v.x * inv), v.y * inv, zero};
    Real before = best.separation;
    consider(&best, always, m, t.separation(m), Real(kBoxCorner), tie);
    *corner = select3(best.separation > before, v, *corner);
    const Real over_side = away - t.radius, over_cap = abs(v.z) - t.half;
    const auto off = mask_and(over_side > zero, over_cap > zero);
    const Real scale = one / select(off, sqrt(fma(over_side, over_side, over_cap * over_cap)), one);
    const Vec3<Real> n = (m * over_side + Vec3<Real>{zero, zero, over_cap * unit_sign(v.z)}) * scale;
    before = best.separation;
    consider(&best, off, n, t.separation(n), Real(kBoxRim), tie);
    *corner = select3(best.separation > before, v, *corner);
  }
  return best;
}

// The rim across the four edges along one axis of the box, either cap: an edge that has passed the cylinder's axis may
// still be nearest to the cap that it left. Seen along the axis, n = (c, s) in the frame (way e1, sign e2) of a cap and
// of the side on which an edge lies, c and s at least 0. With P = way at.e1 - h across, Q = |at.e2|, k = |u_z|,
//   s(n) <= f(n) = P c + Q s - R sqrt(k^2 c^2 + s^2) <= (P - R k^2 c_m / r) c + (Q - R s_m / r) s,
// r the root at (c_m, s_m), since a norm lies above its tangents. A maximum at which the edge touches leans against both of
// the edge's faces: n in the cone between -x a_i and -y a_j. So an edge is searched for where that cone reaches the
// quadrant and its bound, from the tangent in the middle of both, is above what has been found
template <class Real>
struct RimEdges {
  static constexpr int kCount = 8;
  Vec3<Real> e1, e2;
  Real across, k, inv_radius;
  Real p[4], q[4];     // of each edge, along e1 and e2
  Real bound[kCount];  // 2 edge + (0 or 1: the upper cap)
  MaskOf<Real> waiting[kCount];

  DS_HD static Real way(int of) { return Real(of & 1 ? 1 : -1); }

  // of the cone from `lo` to `hi`, neither wider than a right angle: the most of a.n over its unit vectors
  DS_HD static Real most(const Real& a, const Real& b, const Real& lo_c, const Real& lo_s, const Real& hi_c,
                         const Real& hi_s) {
    const auto inside = mask_and(fma(lo_c, b, -(lo_s * a)) > Real(0), fma(a, hi_s, -(b * hi_c)) > Real(0));
    return select(inside, sqrt(fma(a, a, b * b)), max(fma(a, lo_c, b * lo_s), fma(a, hi_c, b * hi_s)));
  }

  DS_HD RimEdges(const BoxBeside<Real>& t, int axis)
      : k(abs(t.axis[axis].z)), inv_radius(Real(1) / t.radius) {
    const RimFrame<Real> frame = rim_frame(t.axis[axis]);
    e1 = frame.e1, e2 = frame.e2, across = frame.across;
    const int i = (axis + 1) % 3, j = (axis + 2) % 3;
    const Vec3<Real>&a = t.axis[i], &b = t.axis[j];
    const Real zero(0), ac = dot(a, e1), as = dot(a, e2), bc = dot(b, e1), bs = dot(b, e2);
    for (int edge = 0; edge < 4; edge++) {
      const Real x(edge & 1 ? -1 : 1), y(edge & 2 ? -1 : 1);
      const Vec3<Real> at = axpy(b, y * t.size[j], axpy(a, x * t.size[i], t.c));
      p[edge] = dot(at, e1);
      q[edge] = dot(at, e2);
      const Real side = unit_sign(q[edge]);
      for (int cap = 0; cap < 2; cap++) {
        const Real w = way(cap);
        // the edge's cone in the quadrant's frame, from the one of its ends that comes first
        Real lo_c = -(w * x) * ac, lo_s = -(side * x) * as, hi_c = -(w * y) * bc, hi_s = -(side * y) * bs;
        const auto turned = fma(lo_c, hi_s, -(lo_s * hi_c)) < zero;
        const Real first_c = select(turned, hi_c, lo_c), first_s = select(turned, hi_s, lo_s);
        hi_c = select(turned, lo_c, hi_c), hi_s = select(turned, lo_s, hi_s);
        // cut to the quadrant: a right angle reaches over one side of another at most
        const auto below = first_s < zero, beyond = hi_c < zero;
        lo_c = select(below, Real(1), first_c), lo_s = select(below, zero, first_s);
        hi_c = select(beyond, zero, hi_c), hi_s = select(beyond, Real(1), hi_s);
        const auto reaches =
            mask_and(mask_and(lo_c >= zero, lo_s >= zero), mask_and(hi_c >= zero, hi_s >= zero));
        const Real mid_c = lo_c + hi_c, mid_s = lo_s + hi_s;
        const Real tangent =
            t.radius / sqrt(max(fma(k * k * mid_c, mid_c, mid_s * mid_s), Real(kLeastDivisor)));
        const Real P = fma(-t.half, across, w * p[edge]), Q = abs(q[edge]);
        bound[2 * edge + cap] =
            most(fma(-(tangent * k * k), mid_c, P), fma(-tangent, mid_s, Q), lo_c, lo_s, hi_c, hi_s);
        waiting[2 * edge + cap] = reaches;
      }
    }
  }

  // the next of each element that may be above `least`: what is left of the list. False where none is
  DS_HD bool next(const Real& least, Real* w, Real* px, Real* py, MaskOf<Real>* found) {
    *found = all_false<Real>();
    *w = *px = *py = Real(1);
    for (int of = 0; of < kCount; of++) {
      const auto some = mask_and(waiting[of], bound[of] > least), now = mask_and(some, mask_not(*found));
      waiting[of] = mask_and(some, *found);
      *found = mask_or(*found, now);
      *w = select(now, way(of), *w);
      *px = select(now, p[of / 2], *px);
      *py = select(now, q[of / 2], *py);
    }
    return any(*found);
  }
};

// the rim across each edge
template <class Real>
DS_STAGE void rim_overlap(const BoxBeside<Real>& t, const MaskOf<Real>& use, const Real& tie,
                          Direction<Real>* best) {
  // what rounding could hide
  const Real slack = tie * Real(0.5);
  DS_ROLLED
  for (int axis = 0; axis < 3; axis++) {
    RimEdges<Real> edges(t, axis);
    const auto slanted = mask_and(use, edges.across > Real(kSlantedSine<Real>));
    for (auto& of : edges.waiting) of = mask_and(of, slanted);
    Real way, px, py;
    auto found = slanted;
    while (edges.next(best->separation + slack, &way, &px, &py, &found)) {
      Real co, si;
      const auto there =
          ellipse_normal(fma(-t.half, edges.across, way * px) * edges.inv_radius, abs(py) * edges.inv_radius,
                         edges.k, edges.across * edges.across, &co, &si);
      const Vec3<Real> n = edges.e1 * (co * way) + edges.e2 * (si * unit_sign(py));
      consider(best, mask_and(there, found), n, t.separation(n), Real(kBoxRim), tie);
    }
  }
}

// cosine between n and the face's normal, above which the face does not look against n
constexpr double kAgainstCosine = -0.1;
// the face of the box that looks most against n: its centre, its outward normal, its half edges
template <class Real>
struct BoxFace {
  Vec3<Real> centre, normal, u, v;
  Real half_u, half_v;

  DS_HD BoxFace(const BoxBeside<Real>& t, const Vec3<Real>& n) {
    const Real d[3] = {dot(n, t.axis[0]), dot(n, t.axis[1]), dot(n, t.axis[2])};
    const auto second = abs(d[1]) > abs(d[0]);
    const auto third = abs(d[2]) > max(abs(d[0]), abs(d[1]));
    const auto pick = [&](const auto& x0, const auto& x1, const auto& x2, const auto& choose) {
      return choose(third, x2, choose(second, x1, x0));
    };
    const auto one_of = [](const auto& m, const Real& a, const Real& b) { return select(m, a, b); };
    const auto vec_of = [](const auto& m, const Vec3<Real>& a, const Vec3<Real>& b) {
      return select3(m, a, b);
    };
    const Real facing = pick(d[0], d[1], d[2], one_of);
    normal = pick(t.axis[0], t.axis[1], t.axis[2], vec_of) * -unit_sign(facing);
    u = pick(t.axis[1], t.axis[2], t.axis[0], vec_of);
    v = pick(t.axis[2], t.axis[0], t.axis[1], vec_of);
    half_u = pick(t.size[1], t.size[2], t.size[0], one_of);
    half_v = pick(t.size[2], t.size[0], t.size[1], one_of);
    centre = axpy(normal, pick(t.size[0], t.size[1], t.size[2], one_of), t.c);
  }
  // how far from p along n the face's plane is
  DS_HD Real along(const Vec3<Real>& p, const Vec3<Real>& n) const {
    const Real facing = dot(n, normal);
    return dot(centre - p, normal) / select(facing < Real(kAgainstCosine), facing, Real(-1));
  }
  DS_HD MaskOf<Real> holds(const Vec3<Real>& q) const {
    const Vec3<Real> d = q - centre;
    return mask_and(abs(dot(d, u)) <= half_u * rim_slack<Real>(),
                    abs(dot(d, v)) <= half_v * rim_slack<Real>());
  }
};

// a point of the cylinder against the face
template <class Real>
DS_HD Touch<Real> on_face(const BoxFace<Real>& face, const Vec3<Real>& p, const Vec3<Real>& n) {
  Touch<Real> t;
  t.dist = face.along(p, n);
  t.normal = n;
  t.pos = axpy(n, t.dist * Real(0.5), p);
  t.hit = face.holds(axpy(n, t.dist, p));
  return t;
}

// of half an edge: a stretch that ends beyond it ends with the edge
template <class Real>
constexpr double kShortOfEnd = kSingle<Real> ? 1 - 1e-6 : 1 - 1e-12;
// corners of what a cap and a face have in common, seen along n: two slots an edge of the face
template <class Real>
DS_STAGE void cap_contacts(const BoxBeside<Real>& t, const BoxFace<Real>& face, const Vec3<Real>& n,
                           const MaskOf<Real>& use, Touch<Real>* touch) {
  const Real zero(0), one(1);
  const Real cap = select(n.z < zero, -t.half, t.half);
  for (int edge = 0; edge < 4; edge++) {
    // around the face: each edge starts where the one before ends
    const bool along_u = edge % 2 == 0;
    const Real side(edge < 2 ? 1 : -1);
    const Vec3<Real> out = (along_u ? face.v : face.u) * side,
                     along = (along_u ? face.u : face.v) * (along_u ? -side : side);
    Line<Real> line;
    line.q = axpy(out, along_u ? face.half_v : face.half_u, face.centre);
    line.u = along;
    line.reach = along_u ? face.half_u : face.half_v;
    line.ball = zero;
    Touch<Real> ends[2];
    Real stretch[2];
    line_contacts(line, n, t.half, t.radius, use, ends, stretch);
    // an end that is the next edge's start is its
    const auto cut = stretch[1] < line.reach * Real(kShortOfEnd<Real>);
    // the rim's point farthest towards the edge, seen along n
    // d/dp of out . (p moved along n into the face) over the cap's plane
    const Real facing = dot(n, face.normal),
               inv_facing = one / select(facing < Real(kAgainstCosine), facing, -one);
    const Real slide = dot(out, n) * inv_facing;
    const Real dx = fma(-slide, face.normal.x, out.x), dy = fma(-slide, face.normal.y, out.y);
    const Real length = sqrt(fma(dx, dx, dy * dy)), scale = t.radius / max(length, Real(kLeastDivisor));
    Touch<Real> rim = on_face(face, Vec3<Real>{dx * scale, dy * scale, cap}, n);
    for (int end = 0; end < 2; end++) {
      Touch<Real>& to = touch[2 * edge + end];
      to = ends[end];
      to.hit = mask_and(use, end == 1 ? mask_and(ends[1].hit, cut) : ends[0].hit);
    }
    const auto take_rim = mask_and(use, mask_and(rim.hit, mask_not(mask_or(ends[0].hit, ends[1].hit))));
    Touch<Real>& to = touch[2 * edge];
    to.dist = select(take_rim, rim.dist, to.dist);
    to.normal = select3(take_rim, rim.normal, to.normal);
    to.pos = select3(take_rim, rim.pos, to.pos);
    to.hit = mask_or(take_rim, to.hit);
  }
}

// both ends of the cylinder's lowest line over a face
template <class Real>
DS_STAGE void lying_contacts(const BoxBeside<Real>& t, const BoxFace<Real>& face, const Vec3<Real>& n,
                             const MaskOf<Real>& use, Touch<Real>* touch) {
  const Real zero(0), one(1);
  const Real flat = sqrt(fma(n.x, n.x, n.y * n.y)), scale = t.radius / max(flat, Real(kLeastDivisor));
  const Vec3<Real> p{n.x * scale, n.y * scale, zero};
  // moved into the face along n: q + z v
  const Vec3<Real> z{zero, zero, one};
  const Real lift = face.along(p, n), rise = face.along(p + z, n) - lift;
  const Vec3<Real> q = axpy(n, lift, p) - face.centre, v = axpy(n, rise, z);
  Real low = -t.half, high = t.half;
  auto there = zero <= zero;
  for (int k = 0; k < 2; k++) {
    const Vec3<Real>& e = k == 0 ? face.u : face.v;
    const Real limit = (k == 0 ? face.half_u : face.half_v) * rim_slack<Real>();
    const Real at = dot(q, e), rate = dot(v, e);
    const auto level = abs(rate) < Real(kLevelLine<Real>);
    const Real inv = one / select(level, one, rate), t1 = (-limit - at) * inv, t2 = (limit - at) * inv;
    low = select(level, low, max(low, min(t1, t2)));
    high = select(level, high, min(high, max(t1, t2)));
    there = mask_and(there, mask_or(mask_not(level), abs(at) <= limit));
  }
  there = mask_and(there, low <= high);
  for (int end = 0; end < 2; end++) {
    const Touch<Real> found = on_face(face, axpy(z, end == 0 ? low : high, p), n);
    Touch<Real>& to = touch[end];
    to.dist = select(use, found.dist, to.dist);
    to.normal = select3(use, n, to.normal);
    to.pos = select3(use, found.pos, to.pos);
    to.hit = select_mask(use, there, to.hit);
  }
}

// both ends of the stretch along which an edge runs beside the side
template <class Real>
DS_STAGE void edge_contacts(const BoxBeside<Real>& t, const Vec3<Real>& n, const MaskOf<Real>& use,
                            Touch<Real>* touch) {
  const Real zero(0);
  // the axis most along the cylinder's, and the corner of the other two that is lowest against n
  const Real z0 = abs(t.axis[0].z), z1 = abs(t.axis[1].z), z2 = abs(t.axis[2].z);
  const auto second = z1 > z0, third = z2 > max(z0, z1);
  Vec3<Real> corner = t.c;
  for (int k = 0; k < 3; k++) {
    const auto first = mask_not(mask_or(second, third));
    const auto is_edge = k == 0 ? first : k == 1 ? mask_and(second, mask_not(third)) : third;
    const Real step = -unit_sign(dot(n, t.axis[k])) * t.size[k];
    corner = axpy(t.axis[k], select(is_edge, zero, step), corner);
  }
  Line<Real> line;
  line.q = corner;
  line.u = select3(third, t.axis[2], select3(second, t.axis[1], t.axis[0]));
  line.reach = select(third, t.size[2], select(second, t.size[1], t.size[0]));
  line.ball = zero;
  Touch<Real> ends[2];
  Real stretch[2];
  line_contacts(line, n, t.half, t.radius, zero < zero, ends, stretch);
  for (int end = 0; end < 2; end++) {
    Touch<Real>& to = touch[end];
    to.dist = select(use, ends[end].dist, to.dist);
    to.normal = select3(use, ends[end].normal, to.normal);
    to.pos = select3(use, ends[end].pos, to.pos);
    to.hit = select_mask(use, ends[end].hit, to.hit);
  }
}

// sine between an edge of the box and the side's line, above which they pass each other
constexpr double kPassingSine = 1e-9;
// of the cylinder's size: a point that is no farther outside a body is on it
template <class Real>
constexpr double kBodySlack = kSingle<Real> ? 1e-6 : 1e-10;
// the deepest point of each kind of touch
template <class Real>
DS_STAGE Touch<Real> deepest_contact(const BoxBeside<Real>& t, const Direction<Real>& best,
                                     const Vec3<Real>& corner) {
  const Real zero(0), one(1), half_of(0.5);
  const Vec3<Real>& n = best.n;
  const Real s = best.separation;
  const auto of_kind = [&](int k) { return best.kind == Real(k); };
  const Real flat = sqrt(fma(n.x, n.x, n.y * n.y)), scale = t.radius / max(flat, Real(kLeastDivisor));
  const Vec3<Real> rim{n.x * scale, n.y * scale, select(n.z < zero, -t.half, t.half)};

  // an edge across the side: where the edge passes the side's line
  Vec3<Real> lowest = t.c, along = t.axis[0];
  Real reach = t.size[0], least = abs(dot(n, t.axis[0]));
  for (int k = 0; k < 3; k++) {
    const Real d = dot(n, t.axis[k]);
    const auto flatter = abs(d) < least;
    along = select3(flatter, t.axis[k], along);
    reach = select(flatter, t.size[k], reach);
    least = select(flatter, abs(d), least);
    lowest = axpy(t.axis[k], -unit_sign(d) * t.size[k], lowest);
  }
  Vec3<Real> middle = t.c;
  for (int k = 0; k < 3; k++) {
    const Real d = dot(n, t.axis[k]);
    middle = axpy(t.axis[k], select(abs(d) <= least, zero, -unit_sign(d) * t.size[k]), middle);
  }
  const Vec3<Real> sideways{-n.y, n.x, zero};
  const Real passing = dot(along, sideways);
  const auto passes = abs(passing) > Real(kPassingSine);
  const Real at = clamp(-dot(middle, sideways) / select(passes, passing, one), -reach, reach);
  const Vec3<Real> on_edge = axpy(along, at, middle);

  Touch<Real> d;
  d.dist = s;
  d.normal = n;
  const Vec3<Real> from_rim = axpy(n, s * half_of, rim);
  Vec3<Real> from_box = select3(of_kind(kBoxEdge), on_edge, corner);
  from_box = axpy(n, -s * half_of, select3(of_kind(kBoxOnCap), lowest, from_box));
  d.pos = select3(mask_or(of_kind(kBoxFace), of_kind(kBoxRim)), from_rim, from_box);
  // it counts where both of its points are on their bodies: not so where flat sides meet that are parallel
  // but for rounding, when another corner of what they share is as deep
  const Real slack = Real(kBodySlack<Real>) * (t.half + t.radius);
  const Vec3<Real> on_cylinder = axpy(n, -s * half_of, d.pos), on_box = axpy(n, s * half_of, d.pos) - t.c;
  const Real limit = t.radius + slack;
  d.hit = mask_and(fma(on_cylinder.x, on_cylinder.x, on_cylinder.y * on_cylinder.y) <= limit * limit,
                   abs(on_cylinder.z) <= t.half + slack);
  for (int k = 0; k < 3; k++) d.hit = mask_and(d.hit, abs(dot(on_box, t.axis[k])) <= t.size[k] + slack);
  return d;
}

// cosine between n and the normal of a face that the cylinder lies on, and between its axis and an edge along its side
constexpr double kLyingCosine = -0.7, kAlongEdgeCosine = 0.999;
// of the sizes of both shapes: a contact that is shallower than the deepest point by less stands for it
template <class Real>
DS_HD Real as_deep() {
  return Real(kSingle<Real> ? 1e-5 : 1e-9);
}

template <class Real>
DS_FN void cylinder_box(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                        Manifold<Real, 8>* out) {
  const Real zero(0);
  BoxBeside<Real> t;
  t.c = rotate_transposed(a.rot, b.pos - a.pos);
  for (int k = 0; k < 3; k++) t.axis[k] = rotate_transposed(a.rot, column(b.rot, k));
  t.size[0] = b.size.x, t.size[1] = b.size.y, t.size[2] = b.size.z;
  t.radius = a.size.x, t.half = a.size.y;
  // against the faces and the cap
  auto near = t.separation({zero, zero, unit_sign(t.c.z)}) < margin;
  for (int k = 0; k < 3; k++)
    near = mask_and(near, t.separation(t.axis[k] * unit_sign(dot(t.c, t.axis[k]))) < margin);
  if (!any(near)) return clear(out);

  const Real scale = (t.half + t.radius) + ((t.size[0] + t.size[1]) + t.size[2]);
  const Real tie = Real(kDirectionTie<Real>) * scale;
  Vec3<Real> corner;
  Direction<Real> best = plain_overlap(t, tie, &corner);
  near = mask_and(near, best.separation < margin);
  if (!any(near)) return clear(out);
  rim_overlap(t, near, tie, &best);
  near = mask_and(near, best.separation < margin);
  if (!any(near)) return clear(out);

  const Vec3<Real>& n = best.n;
  const BoxFace<Real> face(t, n);
  const auto facing = dot(n, face.normal) < Real(kLyingCosine);
  const auto over = n.z * n.z > Real(0.5);
  Touch<Real> touch[8];
  // a cap shows its disk to a face, or to the edges of one
  cap_contacts(t, face, n, over, touch);
  const Real upright = max(abs(t.axis[0].z), max(abs(t.axis[1].z), abs(t.axis[2].z)));
  const auto lying = mask_and(mask_not(over), facing),
             beside = mask_and(mask_not(over), upright > Real(kAlongEdgeCosine));
  const auto leaning = mask_and(lying, mask_not(mask_and(beside, mask_not(best.kind == Real(kBoxFace)))));
  const auto along = mask_and(beside, mask_not(leaning));
  if (any(mask_and(near, leaning))) lying_contacts(t, face, n, leaning, touch);
  if (any(mask_and(near, along))) edge_contacts(t, n, along, touch);

  Touch<Real> deepest = deepest_contact(t, best, corner);
  const Real apart = least_apart(max(t.half, t.radius), max(t.size[0], max(t.size[1], t.size[2])));
  auto complete = zero < zero;
  const Real exact = best.separation + as_deep<Real>() * scale;
  for (int k = 0; k < 8; k++) {
    touch[k].hit = mask_and(touch[k].hit, mask_or(over, k < 2 ? mask_or(leaning, along) : zero < zero));
    keep_if_new(&touch[k], deepest, margin, tie, apart);
    complete = mask_or(complete, mask_and(touch[k].hit, touch[k].dist < exact));
  }
  keep_apart<8>(touch, apart);
  deepest.hit = mask_or(deepest.hit, mask_not(complete));
  // the deepest takes the first free slot, or that of its neighbour
  Real slot(-1), nearest(0);
  for (int k = 7; k >= 0; k--) slot = select(touch[k].hit, slot, Real(k));
  const auto full = slot < zero;
  for (int k = 0; k < 8; k++) {
    const Vec3<Real> d = touch[k].pos - deepest.pos;
    const Real square_of = dot(d, d);
    const auto closer = mask_and(full, mask_or(slot < zero, square_of < nearest));
    slot = select(closer, Real(k), slot);
    nearest = select(closer, square_of, nearest);
  }
  for (int k = 0; k < 8; k++) {
    const auto here = mask_and(deepest.hit, slot == Real(k));
    touch[k].dist = select(here, deepest.dist, touch[k].dist);
    touch[k].normal = select3(here, deepest.normal, touch[k].normal);
    touch[k].pos = select3(here, deepest.pos, touch[k].pos);
    touch[k].hit = mask_or(here, touch[k].hit);
    put_touch(touch[k], a.pos, a.rot, Real(1), near, k, out);
  }
  out->tangent = {zero, zero, zero};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

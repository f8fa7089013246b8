// Capsule against box: the point of the core segment nearest to the box, and where the capsule lies along a
// face or an edge, a second one as far from it as the two run side by side. Each then is a sphere against the
// box.
//
// solves    one or two contacts
// equation  in the box's frame the segment is p + x h, |x| <= 1. Candidates for the nearest point are the two
//           ends, where they face a side of the box, and the nearest points of the segment to each of the 12
//           edges; with f the offset to an edge along j across it (k, m the other axes),
//             x = (h.f) / (h_k^2 + h_m^2)
//           clamped to the edge, then to the segment. Which feature won decides where a second point makes
//           sense, by the signs of h and of the corner
// source    MuJoCo's: the candidates, their order on ties and the rule for the second point, so that a
//           capsule on a box behaves alike
// deviation none
// reads     its arguments
// writes    a Manifold
// cost      60 operations while nothing is within reach, then about 700 and 12 divisions
#pragma once

#include "kernels/collide/sphere.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Mask>
DS_HD Mask mask_xor(const Mask& a, const Mask& b) {
  return mask_and(mask_or(a, b), mask_not(mask_and(a, b)));
}

// the point of the segment nearest to the box, and the feature of the box that is nearest there
template <class Real>
struct SegmentTouch {
  Real x;        // on the segment, -1 to 1
  Real squared;  // squared distance; a bound in length units where nothing was found
  Real edge;     // 4 j + 2 (upper in the higher other axis) + (upper in the lower one); -1: a face
  Real along;    // the edge, from its middle
  Real side;     // -1, 1: the edge's lower, upper end; 0: between
  MaskOf<Real> found, face[3];  // a face: the axis along which the end is outside; none: inside the box
};

// squared sine between a segment and an edge along which it has no nearest point
template <class Real>
constexpr double kParallelToEdge = kSingle<Real> ? 1e-11 : 1e-30;
// of the squared distance, in single precision: an edge must be nearer than a face by more
constexpr double kFaceTie = 1e-6;

template <class Real>
DS_FN SegmentTouch<Real> nearest_to_box(const Real* p, const Real* h, const Real* s,
                                        const Real& length_squared, const Real& bound) {
  const Real zero(0), one(1);
  const auto no = zero < zero;
  SegmentTouch<Real> t{.x = zero,
                       .squared = bound,
                       .edge = -one,
                       .along = zero,
                       .side = zero,
                       .found = no,
                       .face = {no, no, no}};

  for (int end = -1; end <= 1; end += 2) {
    MaskOf<Real> outside[3];
    Real squared = zero;
    for (int j = 0; j < 3; j++) {
      const Real e = end < 0 ? p[j] - h[j] : p[j] + h[j];
      const Real over = e - clamp(e, -s[j], s[j]);
      outside[j] = over != zero;
      squared = fma(over, over, squared);
    }
    const auto beside =
        mask_or(mask_and(outside[0], mask_or(outside[1], outside[2])), mask_and(outside[1], outside[2]));
    const auto better = mask_and(mask_not(beside), squared < t.squared);
    t.squared = select(better, squared, t.squared);
    t.x = select(better, Real(end), t.x);
    t.found = mask_or(t.found, better);
    for (int j = 0; j < 3; j++)
      t.face[j] = mask_or(mask_and(better, outside[j]), mask_and(mask_not(better), t.face[j]));
  }

  const Real inv_length = one / select(length_squared > zero, length_squared, one);
  for (int j = 0; j < 3; j++) {
    const int lo = j == 0 ? 1 : 0, hi = j == 2 ? 1 : 2;
    const Real across = fma(h[lo], h[lo], h[hi] * h[hi]);
    // along this edge there is no nearest point; the others find it
    const auto parallel = mask_or(across * (s[j] * s[j]) < Real(kNoLength),
                                  across <= length_squared * Real(kParallelToEdge<Real>));
    const Real inv = one / select(parallel, one, across);
    for (int corner = 0; corner < 4; corner++) {
      const Real flo = (corner & 1 ? s[lo] : -s[lo]) - p[lo], fhi = (corner & 2 ? s[hi] : -s[hi]) - p[hi];
      const Real along = fma(h[hi], fhi, h[lo] * flo);
      const Real free_x = along * inv, free_y = fma(free_x, h[j], p[j]);
      Real y = clamp(free_y, -s[j], s[j]);
      Real side = select(free_y > s[j], one, select(free_y < -s[j], -one, zero));
      // at the edge's end the segment's nearest point moves; beyond the segment's end the edge's does
      const Real moved_x = select(side == zero, free_x, fma(h[j], y - p[j], along) * inv_length);
      const Real x = clamp(moved_x, -one, one);
      const auto cut = x != moved_x;
      const Real moved_y = fma(x, h[j], p[j]);
      y = select(cut, clamp(moved_y, -s[j], s[j]), y);
      side = select(mask_and(cut, moved_y > s[j]), one, select(mask_and(cut, moved_y < -s[j]), -one, side));

      const Real dlo = fma(-x, h[lo], flo), dhi = fma(-x, h[hi], fhi), dj = fma(-x, h[j], y - p[j]);
      const Real squared = fma(dj, dj, fma(dhi, dhi, dlo * dlo));
      // a face wins a tie
      const Real to_beat = kSingle<Real> ? t.squared * Real(1 - kFaceTie) : t.squared - Real(kNoLength);
      const auto better = mask_and(mask_not(parallel), squared < to_beat);
      t.squared = select(better, squared, t.squared);
      t.x = select(better, x, t.x);
      t.edge = select(better, Real(4 * j + corner), t.edge);
      t.along = select(better, y, t.along);
      t.side = select(better, side, t.side);
      t.found = mask_or(t.found, better);
    }
  }
  return t;
}

// of an end over a face: towards the other end, until the segment leaves the face. inv is 1 / h
template <class Real>
DS_HD Real second_over_face(const SegmentTouch<Real>& t, const Real* p, const Real* h, const Real* s,
                            const Real* inv) {
  const Real zero(0);
  Real on_face(2);
  for (int j = 0; j < 3; j++) {
    const Real e = fma(t.x, h[j], p[j]), back = -(t.x * inv[j]);
    const Real to_upper = (s[j] - e) * back, to_lower = (-s[j] - e) * back;
    const auto beside = mask_not(t.face[j]);
    on_face = select(mask_and(beside, mask_and(to_upper > zero, to_upper < on_face)), to_upper, on_face);
    on_face = select(mask_and(beside, mask_and(to_lower > zero, to_lower < on_face)), to_lower, on_face);
  }
  return -(t.x * on_face);
}

// how far along the segment from t.x the second contact is; `there` says whether there is one
template <class Real>
DS_FN Real second_point(const SegmentTouch<Real>& t, const Real* p, const Real* h, const Real* s,
                        const Real& length_squared, MaskOf<Real>* there) {
  const Real zero(0), one(1), two(2);
  Real inv[3], span[3], reach[3];
  for (int j = 0; j < 3; j++) {
    const auto level = abs(h[j]) < Real(kFiniteInverse);
    inv[j] = one / select(level, Real(kFiniteInverse), h[j]);
    span[j] = abs(inv[j]);
    reach[j] = two * s[j] * span[j];
  }

  const auto face = t.edge < zero;
  const MaskOf<Real> edge[3] = {mask_and(t.edge >= zero, t.edge < Real(4)),
                                mask_and(t.edge >= Real(4), t.edge < Real(8)), t.edge >= Real(8)};
  const Real corner = t.edge - select(edge[2], Real(8), select(edge[1], Real(4), zero));
  const auto upper_hi = corner >= two;
  const auto upper_lo = corner - select(upper_hi, two, zero) >= one;
  const auto upper = t.side > zero;
  // does the segment run away from the corner (or edge) along each axis?
  const auto pick = [](const MaskOf<Real>& m, const MaskOf<Real>& a, const MaskOf<Real>& b) {
    return mask_or(mask_and(m, a), mask_and(mask_not(m), b));
  };
  const MaskOf<Real> positive[3] = {h[0] > zero, h[1] > zero, h[2] > zero};
  const MaskOf<Real> off[3] = {
      mask_xor(positive[0], pick(edge[0], upper, upper_lo)),
      mask_xor(positive[1], pick(edge[0], upper_lo, pick(edge[1], upper, upper_hi))),
      mask_xor(positive[2], pick(edge[2], upper, upper_hi)),
  };

  // at a corner: the axis whose sign differs from the other two is the one along which both run
  const Real count = (select(off[0], one, zero) + select(off[1], one, zero)) + select(off[2], one, zero);
  const auto single = count == one, pair = count == two;
  Real odd_square = zero, odd_reach = zero, other_reach = reach[0];
  MaskOf<Real> odd[3];
  for (int j = 0; j < 3; j++) {
    odd[j] = mask_or(mask_and(single, off[j]), mask_and(pair, mask_not(off[j])));
    odd_square = select(odd[j], h[j] * h[j], odd_square);
    odd_reach = select(odd[j], reach[j], odd_reach);
  }
  other_reach = select(odd[0], min(reach[1], reach[2]),
                       select(odd[1], min(reach[2], reach[0]), min(reach[0], reach[1])));
  const Real way = select(single, one, -one);
  const auto along_edge = odd_square > Real(0.5) * length_squared;
  const Real at_corner = select(along_edge, way * min(fma(-way, t.x, one), odd_reach),
                                -way * min(fma(way, t.x, one), other_reach));

  // on an edge: along the other axis that the segment follows more, until either leaves the face
  const auto prefer_1_to_2 = abs(h[1]) > abs(h[2]), prefer_2_to_0 = abs(h[2]) > abs(h[0]),
             prefer_0_to_1 = abs(h[0]) > abs(h[1]);
  const MaskOf<Real> along[3] = {
      mask_or(mask_and(edge[1], mask_not(prefer_2_to_0)), mask_and(edge[2], prefer_0_to_1)),
      mask_or(mask_and(edge[2], mask_not(prefer_0_to_1)), mask_and(edge[0], prefer_1_to_2)),
      mask_or(mask_and(edge[0], mask_not(prefer_1_to_2)), mask_and(edge[1], prefer_2_to_0)),
  };
  const auto crosses = pick(edge[0], mask_xor(off[1], off[2]),
                            pick(edge[1], mask_xor(off[2], off[0]), mask_xor(off[0], off[1])));
  const auto forward = pick(along[0], off[0], pick(along[1], off[1], off[2]));
  const auto edge_positive = pick(edge[0], positive[0], pick(edge[1], positive[1], positive[2]));
  const Real edge_half = select(edge[0], s[0], select(edge[1], s[1], s[2]));
  const Real edge_span = select(edge[0], span[0], select(edge[1], span[1], span[2]));
  const Real edge_left = edge_half - select(mask_xor(edge_positive, forward), -t.along, t.along);
  const Real edge_way = select(forward, one, -one);
  const Real along_reach = select(along[0], reach[0], select(along[1], reach[1], reach[2]));
  const Real on_edge = edge_way * min(min(fma(-edge_way, t.x, one), along_reach), edge_left * edge_span);

  const Real on_face = second_over_face(t, p, h, s, inv);
  const auto outside = mask_or(t.face[0], mask_or(t.face[1], t.face[2]));
  const auto at_end = t.side != zero;
  *there = mask_and(t.found, pick(face, outside, pick(at_end, mask_or(single, pair), crosses)));
  return select(face, on_face, select(at_end, at_corner, on_edge));
}

template <class Real>
DS_FN void capsule_box(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                       Manifold<Real, 2>* out) {
  const Real radius = a.size.x, half = a.size.y;
  const Vec3<Real> centre = rotate_transposed(b.rot, a.pos - b.pos);
  const Vec3<Real> axis = rotate_transposed(b.rot, z_axis(a) * half);
  const Real p[3] = {centre.x, centre.y, centre.z}, h[3] = {axis.x, axis.y, axis.z};
  const Real s[3] = {b.size.x, b.size.y, b.size.z};
  const Real within = radius + margin;
  auto near = abs(p[0]) - abs(h[0]) <= s[0] + within;
  for (int j = 1; j < 3; j++) near = mask_and(near, abs(p[j]) - abs(h[j]) <= s[j] + within);
  if (!any(near)) return clear(out);

  const Real length_squared = half * half;
  const Real bound = margin + Real(2) * (radius + half + (s[0] + s[1] + s[2]));
  const auto t = nearest_to_box(p, h, s, length_squared, bound);
  MaskOf<Real> there;
  const Real second = t.x + second_point(t, p, h, s, length_squared, &there);
  const Real at[2] = {t.x, select(there, second, t.x)};
  for (int k = 0; k < 2; k++) {
    const auto touch = ball_in_box_frame(axpy(axis, at[k], centre), radius, b.size);
    out->dist[k] = touch.dist;
    out->normal[k] = rotate(b.rot, touch.normal);
    out->pos[k] = b.pos + rotate(b.rot, touch.pos);
    out->hit[k] = mask_and(mask_and(near, k == 0 ? t.found : there), touch.dist < margin);
  }
  out->tangent = {Real(0), Real(0), Real(0)};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

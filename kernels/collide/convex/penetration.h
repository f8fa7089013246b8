// Depth of two convex cores that meet: the polytope, and what makes the result exact for ellipsoids.
//
// An ellipsoid is curved everywhere, and a polytope of 32 points comes to within a thousandth of a deep penetration only.
// From its best direction m Newton's method goes on, each step taken only where it lowers h. Where the other shape has
// edges, patches of the surface around m, a polytope of one triangle each, finish it. Radii are left out, since they move no
// direction. Of such pairs the touching points follow from n, as the ellipsoid has one point only for each direction.
//
// solves    the direction m of least h, and the depth h(m)
// equation  h(m) = max m.w over M,   on the sphere:  (P H P - h) x = -P w,   H the curvature of the supports
// source    polytope.h; own derivation for the rest
// deviation none
// reads     its arguments
// writes    its arguments
// cost      the polytope's; of pairs with an ellipsoid at most 12 Newton steps, and two patches where the other has edges
#pragma once

#include "kernels/collide/convex/polytope.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr int kSharpenSteps = 12;
// of the smaller shape: the least curvature that a step is taken with
constexpr double kLeastBend = 0.02;
constexpr double kSharpenCut = 0.25;  // so much is left of a step that does not lower the depth
constexpr double kSteepCosine = 0.7;  // directions that are closer to z are crossed with x
// tangents of the angles between the corners of patches and the direction in their middle
constexpr double kWidePatch = 0.2, kNarrowPatch = 0.02;

// whether one of a pair is curved everywhere
template <class Real>
DS_HD bool has_ellipsoid(const ConvexPair<Real>& pair) {
  return shape_among<kShapeSmooth>(pair.a.type) || shape_among<kShapeSmooth>(pair.b.type);
}

template <class Real>
DS_FN void add_curvature(const ConvexCore<Real>& c, const Vec3<Real>& m, const Vec3<Real>& u,
                         const Vec3<Real>& v, Curvature<Real>* h) {
  with_shape(c.type, [&](auto shape) { shape.add_curvature(c.size, m, u, v, h); });
}

// two unit vectors across m
template <class Real>
DS_FN void across(const Vec3<Real>& m, Vec3<Real>* t1, Vec3<Real>* t2) {
  const Real zero(0), one(1);
  Real length;
  const auto steep = abs(m.z) > Real(kSteepCosine);
  const Vec3<Real> side = select3(steep, Vec3<Real>{one, zero, zero}, Vec3<Real>{zero, zero, one});
  *t1 = normalize(cross(m, side), {one, zero, zero}, &length);
  *t2 = cross(m, *t1);
}

// along t1 and t2, two directions across m: Newton's step to the least h, w the point of M that is farthest along m.
// Where `only_second`, m stays across t1
template <class Real>
struct SphereStep {
  Real x, y;
};
template <class Real>
DS_FN SphereStep<Real> newton_step(const ConvexPair<Real>& pair, const Vec3<Real>& m, const Vec3<Real>& w,
                                   const Vec3<Real>& t1, const Vec3<Real>& t2,
                                   const MaskOf<Real>& only_second) {
  const Real zero(0), one(1), half(0.5);
  Curvature<Real> of_both{zero, zero, zero};
  add_curvature(pair.a, m, t1, t2, &of_both);
  add_curvature(pair.b, rotate_transposed(pair.rot, m), rotate_transposed(pair.rot, t1),
                rotate_transposed(pair.rot, t2), &of_both);
  auto& [xx, xy, yy] = of_both;
  const Real h = dot(m, w), gx = select(only_second, zero, dot(t1, w)), gy = dot(t2, w);
  xx = select(only_second, one, xx - h);
  xy = select(only_second, zero, xy);
  yy = yy - h;
  // made positive where the depth bends more than the surface
  const Real middle = half * (xx + yy), d = half * (xx - yy);
  const Real lowest = middle - sqrt(fma(d, d, xy * xy));
  const Real lift = max(zero, pair.small * Real(kLeastBend) - lowest);
  xx = xx + lift;
  yy = yy + lift;
  const Real inv = one / fma(xx, yy, -(xy * xy));
  return {fma(xy, gy, -(yy * gx)) * inv, fma(xy, gx, -(xx * gy)) * inv};
}

template <class Real>
DS_STAGE void newton_on_sphere(const ConvexPair<Real>& pair, const MaskOf<Real>& open,
                               DepthBounds<Real>* bounds) {
  const Real zero(0), one(1), half(0.5);
  Vec3<Real> m = bounds->outwards, w = support(pair, -m, mask_word(open)).y, step{zero, zero, zero};
  Real fraction(1);
  auto fresh = zero <= zero;
  for (int k = 0; k < kSharpenSteps; k++) {
    if (any(fresh)) {
      Vec3<Real> t1, t2;
      across(m, &t1, &t2);
      const auto [x, y] = newton_step(pair, m, w, t1, t2, zero < zero);
      const Real size = sqrt(fma(x, x, y * y)), cut = select(size > half, half / max(size, half), one);
      step = select3(fresh, axpy(t1, x * cut, t2 * (y * cut)), step);
      fraction = select(fresh, one, fraction);
    }
    Real length;
    const Vec3<Real> trial = normalize(axpy(step, fraction, m), m, &length);
    const Vec3<Real> far = support(pair, -trial, mask_word(open)).y;
    const Real h = dot(trial, far);
    fresh = mask_and(open, h < bounds->upper);
    bounds->upper = select(fresh, h, bounds->upper);
    m = select3(fresh, trial, m);
    w = select3(fresh, far, w);
    fraction = fraction * Real(kSharpenCut);
  }
  bounds->outwards = m;
}

// One triangle of extreme points around `outwards`, `tilt` away from it. Growing, it stays a patch of M around
// the direction: curved shapes come to their depth that way where a whole polytope has too few points
template <class Real>
DS_STAGE void first_patch(const ConvexPair<Real>& pair, const Vec3<Real>& outwards, double tilt,
                          Polytope<Real>* x) {
  Real length;
  Vec3<Real> t1, t2;
  across(outwards, &t1, &t2);
  const double corner[3][2] = {{1, 0}, {-0.5, kSin60}, {-0.5, -kSin60}};
  for (int k = 0; k < 3; k++) {
    const Vec3<Real> m = axpy(t1, Real(tilt * corner[k][0]), axpy(t2, Real(tilt * corner[k][1]), outwards));
    x->point[k] = support(pair, -normalize(m, outwards, &length), x->taking_part);
  }
  x->penalty = no_height<Real>();  // what does not lie below the origin is left alone
  x->nface_max = 0;
  open_faces(x, 1);
  x->nfresh = 0;
  each_element<Real>(x->taking_part, [&](int l) {
    x->nface[l] = 1;
    for (int e = 0; e < 3; e++) x->corner[l][0][e] = static_cast<unsigned char>(e);
    add_fresh(x, x->nfresh++, l, 0, 1, 0);
  });
  fill_planes(x, 2);
}

// the upper bound and its direction, at least as good as before
template <class Real>
DS_STAGE void sharpen(const ConvexPair<Real>& pair, const Real& tolerance, const MaskOf<Real>& open,
                      Polytope<Real>* x, DepthBounds<Real>* bounds) {
  newton_on_sphere(pair, open, bounds);
  if (!shape_among<kShapeFaces>(pair.a.type) && !shape_among<kShapeFaces>(pair.b.type)) return;
  for (const double tilt : {kWidePatch, kNarrowPatch}) {
    x->taking_part = mask_word(open);
    first_patch(pair, bounds->outwards, tilt, x);
    grow(pair, tolerance, 3, open, x, bounds);
    take_witness(*x, bounds);
  }
}

// the touching points of a pair with an ellipsoid, from n
template <class Real>
DS_FN void ellipsoid_witness(const ConvexPair<Real>& pair, Separation<Real>* s) {
  if (shape_among<kShapeSmooth>(pair.a.type)) {
    s->on_a = core_support(pair.a, s->n);
    s->on_b = axpy(s->n, s->dist, s->on_a);
  } else {
    s->on_b = pair.shift + rotate(pair.rot, core_support(pair.b, -rotate_transposed(pair.rot, s->n)));
    s->on_a = axpy(s->n, -s->dist, s->on_b);
  }
}

// what GJK leaves of the gap between two cores that are apart, one of them an ellipsoid
template <class Real>
DS_STAGE void sharpen_distance(const ConvexPair<Real>& pair, const MaskOf<Real>& open, Separation<Real>* s) {
  Polytope<Real> x;
  const Vec3<Real> none{Real(0), Real(0), Real(0)};
  DepthBounds<Real> bounds;
  bounds.upper = -s->dist;
  bounds.lower = Real(0);
  bounds.outwards = -s->n;
  bounds.lowered = Real(1) < Real(0);
  bounds.on_a = bounds.on_b = none;
  for (auto& t : bounds.triangle) t[0] = t[1] = t[2] = 0;
  sharpen(pair, enough(pair), open, &x, &bounds);
  const Real raised = -bounds.upper - s->dist;
  s->n = select3(open, -bounds.outwards, s->n);
  s->gap = select(open, s->gap - raised, s->gap);
  s->dist = select(open, -bounds.upper, s->dist);
}

// separation of the elements of `wanted`, whose cores meet
template <class Real>
DS_STAGE void core_penetration(const ConvexPair<Real>& pair, const Simplex<Real>& found,
                               const MaskOf<Real>& wanted, Separation<Real>* out) {
  const Real tolerance = enough(pair);
  Polytope<Real> x;
  const Vec3<Real> none{Real(0), Real(0), Real(0)};
  x.penalty = tolerance * Real(0.5);
  x.nface_max = 0;
  x.taking_part = mask_word(wanted);
  first_points(pair, found, wanted, &x);
  first_faces(&x);
  DepthBounds<Real> bounds;
  bounds.upper = no_height<Real>();
  bounds.lower = Real(0);
  bounds.outwards = none;
  for (auto& t : bounds.triangle) t[0] = t[1] = t[2] = 0;
  bounds.lowered = Real(1) < Real(0);
  bounds.on_a = bounds.on_b = none;
  grow(pair, tolerance, 4, wanted, &x, &bounds);
  take_witness(x, &bounds);
  const Real lower = bounds.lower;
  const auto open = mask_and(wanted, bounds.upper - lower > tolerance);
  if (has_ellipsoid(pair) && any(open)) sharpen(pair, tolerance, open, &x, &bounds);
  out->on_a = select3(wanted, bounds.on_a, out->on_a);
  out->on_b = select3(wanted, bounds.on_b, out->on_b);
  out->n = select3(wanted, -bounds.outwards, out->n);
  out->dist = select(wanted, -bounds.upper, out->dist);
  out->gap = select(wanted, bounds.upper - lower, out->gap);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// A mesh, by its hull of points with flat faces.
//
// solves    the hooks of hooks.h
// equation  the hull's farthest point, nearest face and level edge (hull_features.h); a ray meets the nearest of its
//           triangles, those of the mesh itself
// source    as hull_features.h; MuJoCo's documentation, mj_ray
// deviation none
// reads     its arguments; geom_hull, allgeom_hull, hull_box, ray_triangle and what each_hull.h does
// writes    its arguments
// cost      that of hull_features.h; O(triangles) for a ray
#pragma once

#include "kernels/collide/convex/hull_features.h"
#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a shape with a hull; other shapes carry none of this
template <class Real>
struct HullShape : Shape<Real> {
  Hulls<Real> hull;
  Real bound;  // no point is farther from the centre
};

// of hull_box: the centre of a box, then its half sizes
constexpr int kHullBoxNumbers = 2 * kVecNumbers;

// calls f(a, b, c) with the corners of each triangle of geom g
template <class E, class F>
DS_HD void each_triangle(const E& env, int g, F f) {
  const auto& t = env.t;
  const int first = t.allgeom_triangleadr[g];
  for (int k = first; k < first + t.allgeom_trianglenum[g]; k++) {
    const auto corner = [&](int i) { return env.vec(t.ray_triangle, 3 * k + i); };
    f(corner(0), corner(1), corner(2));
  }
}

template <>
struct ShapeHooks<kMesh> : ShapeDefaults<kMesh> {
  template <class Real>
  using InWorld = HullShape<Real>;
  template <class E, class Real = typename E::Real>
  DS_HD static HullShape<Real> in_world(const E& env, int g, const Shape<Real>& shape) {
    return {shape, {hull_of_table<typename E::Scalar>(env.t, env.t.geom_hull[g])}, env.geom_rbound(g)};
  }
  // the shape refers to these hulls
  template <class E>
  struct Gathered {
    Hull<typename E::Scalar> hulls[E::kPack];
    template <class Near, class Real = typename E::Real>
    DS_HD void fill(const E& env, const Near& near, int of, HullShape<Real>* shape) {
      for (int l = 0; l < E::kPack; l++)
        hulls[l] = hull_of_table<typename E::Scalar>(env.t, env.t.geom_hull[near.geom(env, l, of)]);
      shape->hull = {hulls[0], near.of_one_pair() ? nullptr : hulls};
      shape->bound = near.rows(env, env.t.geom_rbound, 1, [&](int l) { return near.geom(env, l, of); })(0);
    }
  };

  template <class E, class Real = typename E::Real>
  DS_HD static AxesBox<Real> box_about(const E& env, int g) {
    const auto* b = env.t.hull_box.p + kHullBoxNumbers * env.t.geom_hull[g];
    const auto* half = b + kVecNumbers;
    return {{Real(b[0]), Real(b[1]), Real(b[2])}, {Real(half[0]), Real(half[1]), Real(half[2])}};
  }

  template <class Real>
  DS_HD static ConvexCore<Real> core_of(const HullShape<Real>& s) {
    return {kMesh, s.size, s.hull, s.bound};
  }
  template <class E, class Real = typename E::Real>
  DS_HD static ConvexCore<Real> core_of_geom(const E& env, int g, const Vec3<Real>& size) {
    ConvexCore<Real> core{
        kMesh, size, {hull_of_table<typename E::Scalar>(env.t, env.t.allgeom_hull[g])}, Real(0)};
    for (int i = 0; i < core.hull.npoint; i++)
      core.bound = max(core.bound, norm(broadcast_triple<Real>(core.hull.points(), i)));
    return core;
  }
  template <class Real>
  DS_HD static Vec3<Real> support(const ConvexCore<Real>& c, const Vec3<Real>& n, unsigned wanted) {
    return hull_support(c.hull, n, wanted);
  }
  template <class Real>
  DS_HD static Vec3<Real> nearest_normal(const ConvexCore<Real>& c, const Vec3<Real>& n,
                                         const MaskOf<Real>& wanted) {
    Real most;
    Vec3<Real> normal;
    nearest_face(c.hull, n, wanted, &most, &normal);
    return normal;
  }
  template <class Real>
  DS_HD static void show(const ConvexCore<Real>& c, const Vec3<Real>& n, const MaskOf<Real>& wanted,
                         ShownFace<Real>* out) {
    hull_face(c.hull, n, wanted, out);
    hull_edge(c.hull, n, wanted, out);
  }
  template <class Real>
  DS_HD static LevelEdge<Real> level_edge(const ConvexCore<Real>& c, const Vec3<Real>& n,
                                          const MaskOf<Real>& wanted) {
    return shown_edge(n, wanted, [&](ShownFace<Real>* shown) { hull_edge(c.hull, n, wanted, shown); });
  }

  template <class E, class Real = typename E::Real>
  DS_HD static Real ray_to_geom(const E& env, int g, const Vec3<Real>& p, const Vec3<Real>& v) {
    NearestHit<Real> hit;
    each_triangle(env, g, [&](const Vec3<Real>& a, const Vec3<Real>& b, const Vec3<Real>& c) {
      offer_triangle(a, b, c, p, v, &hit);
    });
    return hit.t;
  }
  // of the first triangle that is met there
  template <class E, class Real = typename E::Real>
  DS_HD static Vec3<Real> geom_normal(const E& env, int g, const Vec3<Real>& p, const Vec3<Real>& v,
                                      const Real& t) {
    const Real zero(0);
    Vec3<Real> n{zero, zero, Real(1)};
    auto sought = all_true<Real>();
    each_triangle(env, g, [&](const Vec3<Real>& a, const Vec3<Real>& b, const Vec3<Real>& c) {
      NearestHit<Real> hit;
      offer_triangle(a, b, c, p, v, &hit);
      const auto here = mask_and(sought, hit.t == t);
      n = select3(here, cross(b - a, c - a), n);
      sought = mask_and(sought, mask_not(here));
    });
    Real length;
    // triangles may be small
    const Real scale = Real(1) / max(max(abs(n.x), abs(n.y)), max(abs(n.z), Real(kFiniteInverse)));
    return normalize(n * scale, n, &length);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Convex pairs by themselves, for tests/python/kernels/test_kernels_convex.py through ctypes: two shapes in many
// poses, in packs of one width or as scalars; in packs with one hull for all elements, or as if each had its own.
#include <cstdint>

#include "kernels/collide/convex/pairs.h"

using namespace dualstep;

namespace {

template <class Scalar>
struct ProbeShape {
  int type, npoint, nface;
  Scalar bound;
  const Scalar *size, *point, *normal;
  const int *corner_adr, *corner;
  // cells of the directions of points, then of normals, one for each side of the cube (kernels/data/hull_table.h)
  const int *cell_adr, *cell_num;
  const Scalar* cell_triple;
  const int* cell_number;
};

// the hulls of a pack
template <class Real>
struct ProbeHulls {
  Hull<ScalarOf<Real>> of[kPackSize<Real>];
  ProbeHulls(const ProbeShape<ScalarOf<Real>>& s) {
    const auto cells = [&](int first) {
      return TripleCells<ScalarOf<Real>>{.adr = s.cell_adr + first,
                                         .num = s.cell_num + first,
                                         .triple = s.cell_triple,
                                         .number = s.cell_number,
                                         .side = 1};
    };
    for (auto& hull : of)
      hull = {.point = s.point,
              .normal = s.normal,
              .corner_adr = s.corner_adr,
              .corner = s.corner,
              .npoint = s.npoint,
              .nface = s.nface,
              .point_cells = cells(0),
              .normal_cells = cells(6)};
  }
};

// poses: position and quaternion of each pair, (n, 7)
template <class Real, bool kEach>
HullShape<Real> shape_at(const ProbeShape<ScalarOf<Real>>& s, const ProbeHulls<Real>& hulls,
                         const ScalarOf<Real>* poses, int first, int n) {
  Real x[7];
  for (int k = 0; k < 7; k++)
    for (int l = 0; l < kPackSize<Real>; l++)
      set_lane(x[k], l, poses[7 * (first + l < n ? first + l : n - 1) + k]);
  HullShape<Real> shape{{{x[0], x[1], x[2]},
                         to_matrix(Quat<Real>{x[3], x[4], x[5], x[6]}),
                         {Real(s.size[0]), Real(s.size[1]), Real(s.size[2])}},
                        {hulls.of[0]},
                        Real(s.bound)};
  if constexpr (kEach) shape.hull.each = hulls.of;
  return shape;
}

template <class Real>
ConvexCore<Real> core_of(const HullShape<Real>& s, int type) {
  return with_shape(type, [&](auto shape) { return shape.core_of(s); });
}

// out: dist, gap, n, on_a, on_b of each pair, (n, 11)
template <class Real, bool kEach>
void separations(const ProbeShape<ScalarOf<Real>>& a, const ProbeShape<ScalarOf<Real>>& b, int n,
                 const ScalarOf<Real>* poses_a, const ScalarOf<Real>* poses_b, ScalarOf<Real> margin,
                 ScalarOf<Real>* out) {
  const ProbeHulls<Real> hulls_a(a), hulls_b(b);
  for (int first = 0; first < n; first += kPackSize<Real>) {
    const HullShape<Real> sa = shape_at<Real, kEach>(a, hulls_a, poses_a, first, n),
                          sb = shape_at<Real, kEach>(b, hulls_b, poses_b, first, n);
    const auto pair = make_convex_pair(sa, core_of(sa, a.type), sb, core_of(sb, b.type));
    Separation<Real> s;
    convex_separation(pair, Real(margin), &s);
    const Vec3<Real> normal = rotate(sa.rot, s.n), on_a = sa.pos + rotate(sa.rot, s.on_a),
                     on_b = sa.pos + rotate(sa.rot, s.on_b);
    const Real values[11] = {s.dist, s.gap,  normal.x, normal.y, normal.z, on_a.x,
                             on_a.y, on_a.z, on_b.x,   on_b.y,   on_b.z};
    for (int l = 0; l < kPackSize<Real> && first + l < n; l++)
      for (int k = 0; k < 11; k++) out[11 * (first + l) + k] = lane_of(values[k], l);
  }
}

// out: of each pair the number of contacts, the normal, then dist and pos of each contact, (n, 20). The first
// type may be a plane
template <class Real, bool kEach>
void manifolds(const ProbeShape<ScalarOf<Real>>& a, const ProbeShape<ScalarOf<Real>>& b, int n,
               const ScalarOf<Real>* poses_a, const ScalarOf<Real>* poses_b, ScalarOf<Real> margin,
               ScalarOf<Real>* out) {
  const auto most = [](int type) { return type == kSphere || type == kEllipsoid ? 1 : 4; };
  const ProbeHulls<Real> hulls_a(a), hulls_b(b);
  for (int first = 0; first < n; first += kPackSize<Real>) {
    const HullShape<Real> sa = shape_at<Real, kEach>(a, hulls_a, poses_a, first, n),
                          sb = shape_at<Real, kEach>(b, hulls_b, poses_b, first, n);
    Manifold<Real, 4> m;
    if (a.type == kPlane && b.type == kMesh) {
      plane_mesh(sa, sb, Real(margin), &m);
    } else if (a.type == kPlane) {
      Manifold<Real, 1> one;
      plane_ellipsoid(sa, sb, Real(margin), &one);
      clear(&m);
      m.dist[0] = one.dist[0], m.pos[0] = one.pos[0], m.normal[0] = one.normal[0], m.hit[0] = one.hit[0];
    } else {
      const auto pair = make_convex_pair(sa, core_of(sa, a.type), sb, core_of(sb, b.type));
      const int count = most(a.type) < most(b.type) ? most(a.type) : most(b.type);
      convex_manifold(pair, sa.pos, sa.rot, Real(margin), count, &m);
    }
    for (int l = 0; l < kPackSize<Real> && first + l < n; l++) {
      ScalarOf<Real>* row = out + 20 * (first + l);
      int count = 0;
      for (int k = 0; k < 4; k++) {
        if (!mask_bit(m.hit[k], l)) continue;
        ScalarOf<Real>* contact = row + 4 + 4 * count++;
        contact[0] = lane_of(m.dist[k], l);
        contact[1] = lane_of(m.pos[k].x, l), contact[2] = lane_of(m.pos[k].y, l),
        contact[3] = lane_of(m.pos[k].z, l);
      }
      row[0] = ScalarOf<Real>(count);
      if (count == 0) continue;
      row[1] = lane_of(m.normal[0].x, l), row[2] = lane_of(m.normal[0].y, l),
      row[3] = lane_of(m.normal[0].z, l);
    }
  }
}

}  // namespace

#define DS_PROBE(job, name, Real, kEach)                                                                 \
  extern "C" void job##_##name(const ProbeShape<ScalarOf<Real>>* a, const ProbeShape<ScalarOf<Real>>* b, \
                               int n, const ScalarOf<Real>* poses_a, const ScalarOf<Real>* poses_b,      \
                               ScalarOf<Real> margin, ScalarOf<Real>* out) {                             \
    job<Real, kEach>(*a, *b, n, poses_a, poses_b, margin, out);                                          \
  }
#if defined(__AVX512F__)
using WideFloat = Pack<float, 16>;
using WideDouble = Pack<double, 8>;
#else
using WideFloat = Pack<float, 8>;
using WideDouble = Pack<double, 4>;
#endif
#define DS_PROBES(job)                          \
  DS_PROBE(job, float, float, false)            \
  DS_PROBE(job, double, double, false)          \
  DS_PROBE(job, wide_float, WideFloat, false)   \
  DS_PROBE(job, wide_double, WideDouble, false) \
  DS_PROBE(job, each_float, WideFloat, true)    \
  DS_PROBE(job, each_double, WideDouble, true)
DS_PROBES(separations)
DS_PROBES(manifolds)

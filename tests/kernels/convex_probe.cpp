// Convex pairs by themselves, for tests/python/test_kernels_convex.py through ctypes: two shapes in many poses,
// in packs of one width or as scalars.
#include <cstdint>

#include "kernels/collide/convex/separation.h"

using namespace dualstep;

namespace {

template <class Scalar>
struct ProbeShape {
  int type, npoint, nface;
  Scalar bound;
  const Scalar *size, *point, *normal;
  const int *corner_adr, *corner;
};

template <class Real>
ConvexCore<Real> core_of(const ProbeShape<ScalarOf<Real>>& s) {
  return {s.type, {Real(s.size[0]), Real(s.size[1]), Real(s.size[2])},
          {s.point, s.normal, s.corner_adr, s.corner, s.npoint, s.nface}};
}

// poses: position and quaternion of each pair, (n, 7)
template <class Real>
Shape<Real> shape_at(const ProbeShape<ScalarOf<Real>>& s, const ScalarOf<Real>* poses, int first, int n) {
  Real x[7];
  for (int k = 0; k < 7; k++)
    for (int l = 0; l < kPackSize<Real>; l++)
      set_lane(x[k], l, poses[7 * (first + l < n ? first + l : n - 1) + k]);
  return {{x[0], x[1], x[2]}, to_matrix(Quat<Real>{x[3], x[4], x[5], x[6]}),
          {Real(s.size[0]), Real(s.size[1]), Real(s.size[2])}};
}

// out: dist, gap, n, on_a, on_b of each pair, (n, 11)
template <class Real>
void separations(const ProbeShape<ScalarOf<Real>>& a, const ProbeShape<ScalarOf<Real>>& b, int n,
                 const ScalarOf<Real>* poses_a, const ScalarOf<Real>* poses_b, ScalarOf<Real> margin,
                 ScalarOf<Real>* out) {
  for (int first = 0; first < n; first += kPackSize<Real>) {
    const Shape<Real> sa = shape_at<Real>(a, poses_a, first, n), sb = shape_at<Real>(b, poses_b, first, n);
    const auto pair =
        make_convex_pair(sa, core_of<Real>(a), Real(a.bound), sb, core_of<Real>(b), Real(b.bound));
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

}  // namespace

#define DS_PROBE(name, Real)                                                                            \
  extern "C" void separations_##name(const ProbeShape<ScalarOf<Real>>* a, const ProbeShape<ScalarOf<Real>>* b, \
                                     int n, const ScalarOf<Real>* poses_a, const ScalarOf<Real>* poses_b,      \
                                     ScalarOf<Real> margin, ScalarOf<Real>* out) {                             \
    separations<Real>(*a, *b, n, poses_a, poses_b, margin, out);                                               \
  }
using WideFloat = Pack<float, 16>;
using WideDouble = Pack<double, 8>;
DS_PROBE(float, float)
DS_PROBE(double, double)
DS_PROBE(wide_float, WideFloat)
DS_PROBE(wide_double, WideDouble)

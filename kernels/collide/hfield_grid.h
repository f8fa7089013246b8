// A height field: triangles between the heights of a grid, solid below them.
//
// Cell (i, j) has its corner (i, j) at x = -half_x + i dx, y = -half_y + j dy, and two triangles, on the lower and the
// upper side of the diagonal from (i, j) to (i + 1, j + 1), as MuJoCo has them. Heights are the same for a whole pack,
// but its elements look at different cells: heights are gathered. Indices are whole numbers of the type Real, so that
// masks apply to them.
//
// cost      a gather is a load for each element of a pack
#pragma once

#include "kernels/collide/convex/shape.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Scalar>
struct HeightGrid {
  const Scalar* height = nullptr;  // (nrow, ncol), over the origin of the geom
  int nrow = 0, ncol = 0;
  Scalar half_x = 0, half_y = 0, base = 0;  // half lengths; the depth of the solid below the origin
  Scalar top = 0;                           // the largest height
};

// a height field in the world
template <class Real>
struct FieldShape : Shape<Real> {
  HeightGrid<ScalarOf<Real>> grid;
};

// a grid seen from a point, along the axes of its geom
template <class Real>
struct GridView {
  HeightGrid<ScalarOf<Real>> grid;
  Real dx, dy;          // of a cell
  Vec3<Real> to_first;  // from the point to height 0 over vertex (0, 0)

  DS_HD Vec3<Real> vertex(const Real& i, const Real& j, const Real& height) const {
    return {fma(i, dx, to_first.x), fma(j, dy, to_first.y), to_first.z + height};
  }
};

template <class Real>
DS_FN GridView<Real> view_grid(const HeightGrid<ScalarOf<Real>>& g, const Vec3<Real>& from) {
  using Scalar = ScalarOf<Real>;
  const Scalar dx = g.half_x * Scalar(2) / Scalar(g.ncol - 1), dy = g.half_y * Scalar(2) / Scalar(g.nrow - 1);
  return {g, Real(dx), Real(dy), {-Real(g.half_x) - from.x, -Real(g.half_y) - from.y, -from.z}};
}

// x without its fraction, at least 0 and at most `most`; 0 where x is no number
template <class Real>
DS_FN Real whole_between(const Real& x, int most) {
  const Real zero(0), bounded = select(x > zero, min(x, Real(most)), zero);
  Real whole(0);
  for (int l = 0; l < kPackSize<Real>; l++)
    set_lane(whole, l, static_cast<ScalarOf<Real>>(static_cast<int>(lane_of(bounded, l))));
  return whole;
}

template <class Real>
DS_FN IntOf<Real> vertex_address(const HeightGrid<ScalarOf<Real>>& g, const Real& i, const Real& j) {
  IntOf<Real> at(0);
  for (int l = 0; l < kPackSize<Real>; l++)
    set_lane(at, l, static_cast<int>(lane_of(j, l)) * g.ncol + static_cast<int>(lane_of(i, l)));
  return at;
}

// the triangle that a point is over or under: the height over it along its normal, and that normal
template <class Real>
struct FaceUnder {
  Real dist;
  Vec3<Real> normal;
  MaskOf<Real> there;
};

template <class Real>
DS_FN Vec3<Real> slope_normal(const Real& sx, const Real& sy) {
  const Real inv = Real(1) / sqrt(fma(sx, sx, fma(sy, sy, Real(1))));
  return {-(sx * inv), -(sy * inv), inv};
}

template <class Real>
DS_STAGE FaceUnder<Real> face_under(const GridView<Real>& view, const Vec3<Real>& p) {
  using Int = IntOf<Real>;
  const auto& g = view.grid;
  const Real zero(0), x = p.x - view.to_first.x, y = p.y - view.to_first.y;
  const Real gx = x / view.dx, gy = y / view.dy;
  FaceUnder<Real> f;
  f.there =
      mask_and(mask_and(gx >= zero, gx <= Real(g.ncol - 1)), mask_and(gy >= zero, gy <= Real(g.nrow - 1)));
  const Real i = whole_between(gx, g.ncol - 2), j = whole_between(gy, g.nrow - 2);
  const Real u = gx - i, w = gy - j;
  const Int at = vertex_address(g, i, j);
  const Real h0 = gather<Real>(g.height, at), east = gather<Real>(g.height, at + Int(1));
  const Real north = gather<Real>(g.height, at + Int(g.ncol)),
             far = gather<Real>(g.height, at + Int(g.ncol + 1));
  const auto lower = u >= w;
  const Real sx = select(lower, east - h0, far - north) / view.dx;
  const Real sy = select(lower, far - east, north - h0) / view.dy;
  f.normal = slope_normal(sx, sy);
  const Real rise = fma(sx, u * view.dx, fma(sy, w * view.dy, h0));
  f.dist = (p.z - view.to_first.z - rise) * f.normal.z;
  return f;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

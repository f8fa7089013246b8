// A height field: triangles between the heights of a grid, solid below them.
//
// Cell (i, j) has its corner (i, j) at x = -half_x + i dx, y = -half_y + j dy, and two triangles, on the lower and the
// upper side of the diagonal from (i, j) to (i + 1, j + 1), as MuJoCo has them. Heights are the same for a whole pack,
// but its elements look at different cells: heights are gathered. Indices are whole numbers of the type Real, so that
// masks apply to them.
//
// solves    vertices, windows of cells, bounds of heights, and the triangle over or under a point
// equation  triangle  height = h0 + sx u dx + sy w dy over the cell at (u, w) in [0, 1]^2, sx and sy its slopes;
//                     dist = (p_z - height) n_z,   n = (-sx, -sy, 1) / |(-sx, -sy, 1)|
//           bound     the largest height of the block that holds a window (code.h)
// source    MuJoCo's documentation, "hfield", for the grid; tables of maxima over blocks of 2^k cells as for range queries
// deviation none
// reads     hfield_* of the tables
// writes    none
// cost      a gather is a load for each element of a pack; of a face 4, of a bound 1
#pragma once

#include "kernels/collide/hfield/code.h"
#include "kernels/collide/manifold.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Scalar>
struct HeightGrid {
  const Scalar* height = nullptr;  // (nrow, ncol), over the origin of the geom
  const Scalar* code = nullptr;    // GridCode of each
  const Scalar* block = nullptr;   // the largest heights of blocks
  int nrow = 0, ncol = 0;
  Scalar half_x = 0, half_y = 0, base = 0;  // half lengths; the depth of the solid below the origin
  Scalar top = 0;                           // the largest height
};

// half lengths, the largest height, the depth of the solid of height field f of the tables
template <class Scalar>
struct FieldExtent {
  Scalar half_x, half_y, top, base;
};
template <class Scalar, class Tables>
DS_HD FieldExtent<Scalar> field_extent(const Tables& t, int f) {
  const Scalar* size = t.hfield_size.p + 4 * f;
  return {.half_x = size[0], .half_y = size[1], .top = size[2], .base = size[3]};
}
template <class Scalar, class Tables>
DS_HD HeightGrid<Scalar> height_grid(const Tables& t, int f) {
  const FieldExtent<Scalar> extent = field_extent<Scalar>(t, f);
  const int first = t.hfield_adr[f];
  return {.height = t.hfield_height.p + first,
          .code = t.hfield_code.p + first,
          .block = t.hfield_block.p + t.hfield_blockadr[f],
          .nrow = t.hfield_nrow[f],
          .ncol = t.hfield_ncol[f],
          .half_x = extent.half_x,
          .half_y = extent.half_y,
          .base = extent.base,
          .top = extent.top};
}

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
  const Real zero(0), bounded = select(x > zero, min(x, Real(most)), zero), near = round_nearest(bounded);
  return select(near > bounded, near - Real(1), near);
}

template <class Real>
DS_FN IntOf<Real> vertex_address(const HeightGrid<ScalarOf<Real>>& g, const Real& i, const Real& j) {
  return without_fraction(j) * IntOf<Real>(g.ncol) + without_fraction(i);
}

// the vertices of the cells under a box around the origin, and those beyond its border that a box beyond it is next to
template <class Real>
struct GridWindow {
  Real i0, j0, i1, j1;
  MaskOf<Real> within;  // the box is within the border
};
template <class Real>
DS_FN GridWindow<Real> window_under(const GridView<Real>& view, const Vec3<Real>& reach) {
  const auto& g = view.grid;
  const Real one(1), inv_x = one / view.dx, inv_y = one / view.dy;
  const Real west = (-reach.x - view.to_first.x) * inv_x, east = (reach.x - view.to_first.x) * inv_x;
  const Real south = (-reach.y - view.to_first.y) * inv_y, north = (reach.y - view.to_first.y) * inv_y;
  GridWindow<Real> w;
  w.i0 = whole_between(west, g.ncol - 1), w.i1 = whole_between(east + one, g.ncol - 1);
  w.j0 = whole_between(south, g.nrow - 1), w.j1 = whole_between(north + one, g.nrow - 1);
  w.within = mask_and(mask_and(west >= Real(0), east <= Real(g.ncol - 1)),
                      mask_and(south >= Real(0), north <= Real(g.nrow - 1)));
  return w;
}

// the bits of a vertex that are not the side of its square
template <class Real>
DS_FN Real convex_code(const HeightGrid<ScalarOf<Real>>& g, const IntOf<Real>& at) {
  const Real code = gather<Real>(g.code, at);
  const Real side = whole_between(code * Real(1.0 / int(kPlanarStep)), kPlanarSide);
  return fma(side, Real(-int(kPlanarStep)), code);
}
// the side of the square of cells in a plane that begins at the first vertex of a window; at most 1 more
template <class Real>
DS_FN Real planar_side(const HeightGrid<ScalarOf<Real>>& g, const GridWindow<Real>& w) {
  return gather<Real>(g.code, vertex_address(g, w.i0, w.j0)) * Real(1.0 / int(kPlanarStep));
}

// a height that no vertex of the window exceeds
template <class Real>
DS_FN Real height_bound(const HeightGrid<ScalarOf<Real>>& g, const GridWindow<Real>& w) {
  using Int = IntOf<Real>;
  using Scalar = ScalarOf<Real>;
  const Real side = max(w.i1 - w.i0, w.j1 - w.j0);
  const int levels = block_levels(g.nrow, g.ncol);
  Real scale(1);
  Int first(0), columns(blocks_along(g.ncol, 0));
  for (int level = 1, at = 0; level < levels; level++) {
    const auto wider = side > Real(Scalar(1 << (level - 1)));
    if (!any(wider)) break;
    at += blocks_along(g.nrow, level - 1) * blocks_along(g.ncol, level - 1);
    scale = select(wider, Real(Scalar(1) / Scalar(1 << level)), scale);
    first = select(wider, Int(at), first);
    columns = select(wider, Int(blocks_along(g.ncol, level)), columns);
  }
  const Real i = whole_between(w.i0 * scale, g.ncol), j = whole_between(w.j0 * scale, g.nrow);
  return gather<Real>(g.block, without_fraction(j) * columns + (without_fraction(i) + first));
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

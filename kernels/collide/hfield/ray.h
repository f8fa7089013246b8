// Where a ray first meets a height field.
//
// solves    the least t >= 0 with p + t v on the boundary of the solid between a surface of triangles and its base; -1
//           where there is none
// equation  cell by cell along the ray, G(t) = p_z + t v_z - height(p_xy + t v_xy), linear over each triangle; the
//           surface is met where G changes its sign, and a wall where the ray comes over the border or leaves it with
//           G < 0 and z >= 0. Below, the base is a box from -base to 0
// source    Amanatides and Woo 1987 for the cells; MuJoCo's documentation, mj_ray
// deviation none: as in MuJoCo the top of the box at height 0 is met from within it. The sign is carried from triangle
//           to triangle, so that no ray slips through an edge or a vertex, as some do between MuJoCo's triangles
// reads     the heights of the grid
// writes    none
// cost      40 operations and 4 gathers a cell
#pragma once

#include "kernels/collide/hfield/grid.h"
#include "kernels/collide/ray_hit.h"
#include "kernels/collide/shapes/box.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the stretch of a ray between two parallel planes
template <class Real>
struct Stretch {
  Real begin, end;
  DS_HD void cut(const Real& low, const Real& high, const Real& p, const Real& v) {
    const auto crosses = abs(v) > Real(kMinVal);
    const Real inverse = Real(1) / select(crosses, v, Real(1));
    const Real t1 = (low - p) * inverse, t2 = (high - p) * inverse;
    const auto beside = mask_or(p<low, p> high);
    begin = select(crosses, max(begin, min(t1, t2)), begin);
    end = select(crosses, min(end, max(t1, t2)), select(beside, Real(-2 * kVast), end));
  }
};

// the elements of one mask alone
template <class Real>
DS_HD MaskOf<Real> differ(const MaskOf<Real>& a, const MaskOf<Real>& b) {
  return mask_and(mask_or(a, b), mask_not(mask_and(a, b)));
}

// a linear function of the way along a ray
template <class Real>
struct Along {
  Real at0, rate;
  DS_HD Real operator()(const Real& t) const { return fma(t, rate, at0); }
};

// an end of the way through a square that is nearer to the diagonal than this share of the other end lies on it
constexpr double kOnDiagonal = 1e-12;
// a height over the surface that changes no faster along the ray than this does not change
constexpr double kLevelRate = 1e-30;
// the surface over a stretch of the ray; a wall at its begin where the ray enters there, and at its end where it leaves
template <class Real>
DS_STAGE void offer_surface(const HeightGrid<ScalarOf<Real>>& g, const Vec3<Real>& p, const Vec3<Real>& v,
                            const Stretch<Real>& stretch, const MaskOf<Real>& enters,
                            const MaskOf<Real>& leaves, NearestHit<Real>* hit) {
  using Int = IntOf<Real>;
  const Real zero(0), one(1), never(kVast);
  const auto view = view_grid(g, p);
  const Real inv_x = one / view.dx, inv_y = one / view.dy;
  // in cells from vertex (0, 0)
  const Along<Real> x{-view.to_first.x * inv_x, v.x * inv_x}, y{-view.to_first.y * inv_y, v.y * inv_y};
  Real i = whole_between(x(stretch.begin), g.ncol - 2), j = whole_between(y(stretch.begin), g.nrow - 2);
  const auto to_east = v.x > zero, to_north = v.y > zero;
  const auto along_x = abs(x.rate) > Real(kMinVal), along_y = abs(y.rate) > Real(kMinVal);
  const Real turn_x = one / select(along_x, x.rate, one), turn_y = one / select(along_y, y.rate, one);
  auto walking = stretch.begin <= stretch.end;
  Real t = stretch.begin, before = zero;
  auto fresh = walking;
  while (any(walking)) {
    const Int at = vertex_address(g, i, j);
    const Real o = gather<Real>(g.height, at), e = gather<Real>(g.height, at + Int(1));
    const Real n = gather<Real>(g.height, at + Int(g.ncol)),
               ne = gather<Real>(g.height, at + Int(g.ncol + 1));
    const Real next_x = select(along_x, (i + select(to_east, one, zero) - x.at0) * turn_x, never);
    const Real next_y = select(along_y, (j + select(to_north, one, zero) - y.at0) * turn_y, never);
    const Real next = max(t, min(stretch.end, min(next_x, next_y)));
    // over the surface of either triangle, continued
    const auto over = [&](const Real& east, const Real& north) {
      const Real start = fma(x.at0 - i, east, fma(y.at0 - j, north, o));
      return Along<Real>{p.z - start, v.z - fma(x.rate, east, y.rate * north)};
    };
    const Along<Real> lower = over(e - o, ne - e), upper = over(ne - n, n - o);
    const Along<Real> side{(x.at0 - i) - (y.at0 - j), x.rate - y.rate};
    const Real side1 = side(t), side2 = side(next);
    const auto begins_low = side1 + side2 * Real(kOnDiagonal) >= zero,
               ends_low = side2 + side1 * Real(kOnDiagonal) >= zero;
    const auto turns = differ<Real>(begins_low, ends_low);
    const Real middle = t + (next - t) * clamp(side1 / select(turns, side1 - side2, one), zero, one);
    const auto pass = [&](const MaskOf<Real>& low, const Real& from, const Real& to,
                          const MaskOf<Real>& wanted) {
      const Along<Real> height{select(low, lower.at0, upper.at0), select(low, lower.rate, upper.rate)};
      const auto starts = mask_and(fresh, wanted);
      before = select(starts, height(from), before);
      fresh = mask_and(fresh, mask_not(wanted));
      const auto wall = mask_and(mask_and(starts, enters), before < zero);
      hit->offer(from, wall);
      const Real after = height(to);
      const auto meets =
          mask_and(mask_and(wanted, mask_not(wall)), differ<Real>(before < zero, after < zero));
      const auto steep = abs(height.rate) > Real(kLevelRate);
      const Real root = -height.at0 / select(steep, height.rate, one);
      hit->offer(max(from, min(to, select(steep, root, from))), meets);
      before = select(wanted, after, before);
      walking = mask_and(walking, mask_not(mask_or(meets, wall)));
    };
    pass(begins_low, t, select(turns, middle, next), walking);
    pass(ends_low, middle, next, mask_and(walking, turns));
    const auto by_x = next_x <= next_y;
    i = select(by_x, i + select(to_east, one, -one), i);
    j = select(by_x, j, j + select(to_north, one, -one));
    t = next;
    walking = mask_and(walking, next < stretch.end);
    walking = mask_and(walking, mask_and(i >= zero, i <= Real(g.ncol - 2)));
    walking = mask_and(walking, mask_and(j >= zero, j <= Real(g.nrow - 2)));
    i = max(zero, min(i, Real(g.ncol - 2)));
    j = max(zero, min(j, Real(g.nrow - 2)));
  }
  hit->offer(stretch.end, mask_and(leaves, before < zero));
}

// p and v in the frame of the height field
template <class Real>
DS_STAGE Real ray_grid(const HeightGrid<ScalarOf<Real>>& g, const Vec3<Real>& p, const Vec3<Real>& v) {
  const Real zero(0), x(g.half_x), y(g.half_y), half_base(g.base * ScalarOf<Real>(0.5)), top(g.top);
  NearestHit<Real> hit;
  ShapeHooks<kBox>::offer_ray({x, y, half_base}, Vec3<Real>{p.x, p.y, p.z + half_base}, v, &hit);
  Stretch<Real> border{Real(-kVast), Real(kVast)};
  border.cut(-x, x, p.x, v.x);
  border.cut(-y, y, p.y, v.y);
  // more than what rounding could hide
  const Real slack = (top + half_base + x) * Real(1e-3), rounding = slack * Real(kSingle<Real> ? 1e-2 : 1e-9);
  Stretch<Real> within{max(border.begin, zero), border.end};
  within.cut(-slack, top + slack, p.z, v.z);
  const auto there = within.begin <= within.end;
  if (!any(there)) return hit.t;
  const auto over_base = [&](const Real& t) { return fma(t, v.z, p.z) >= -rounding; };
  const auto enters = mask_and(within.begin == border.begin, over_base(within.begin));
  const auto leaves = mask_and(within.end == border.end, over_base(within.end));
  offer_surface(g, p, v, within, enters, leaves, &hit);
  return hit.t;
}

// at a point of the boundary, in the frame of the height field, outwards: the surface's, or that of whichever plane is nearer
template <class Real>
DS_STAGE Vec3<Real> grid_normal(const HeightGrid<ScalarOf<Real>>& g, const Vec3<Real>& x) {
  using Int = IntOf<Real>;
  const Real zero(0), one(1);
  const auto view = view_grid(g, x);
  const Real inv_x = one / view.dx, inv_y = one / view.dy;
  const Real at_x = -view.to_first.x * inv_x, at_y = -view.to_first.y * inv_y;
  const Real i = whole_between(at_x, g.ncol - 2), j = whole_between(at_y, g.nrow - 2);
  const Int at = vertex_address(g, i, j);
  const Real o = gather<Real>(g.height, at), e = gather<Real>(g.height, at + Int(1));
  const Real n = gather<Real>(g.height, at + Int(g.ncol)), ne = gather<Real>(g.height, at + Int(g.ncol + 1));
  const Real u = at_x - i, w = at_y - j;
  const auto low = u >= w;
  const Real east = select(low, e - o, ne - n), north = select(low, ne - e, n - o);
  Real length;
  Vec3<Real> out =
      normalize(Vec3<Real>{-(east * inv_x), -(north * inv_y), one}, Vec3<Real>{zero, zero, one}, &length);
  Real nearest = abs(x.z - fma(u, east, fma(w, north, o))) / length;
  const auto offer = [&](const Real& distance, const Vec3<Real>& normal) {
    const auto nearer = abs(distance) < nearest;
    nearest = select(nearer, abs(distance), nearest);
    out = select3(nearer, normal, out);
  };
  offer(abs(x.x) - Real(g.half_x), {sign_nonzero(x.x), zero, zero});
  offer(abs(x.y) - Real(g.half_y), {zero, sign_nonzero(x.y), zero});
  offer(x.z + Real(g.base), {zero, zero, -one});
  // the box below height 0, met from within it
  offer(x.z, {zero, zero, one});
  return out;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

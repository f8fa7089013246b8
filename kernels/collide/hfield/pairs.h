// Height fields against everything: contacts with faces, with convex edges and with convex vertices.
//
// solves    the local minima of the distance between the surface of a height field and a shape
// equation  face    the plane of a triangle against the shape, where the contact of the plane lies over the triangle;
//                   of corners of boxes and hulls the triangle that they are over or under
//           edge    a capsule without a radius against the shape, n.w <= 0 for w from the edge to the far corner of
//                   both triangles beside it
//           vertex  a sphere without a radius, n.u <= 0 for all six edges u
//           n from the surface to the shape. Edges that do not rise over the line between the far corners are no
//           edges, so a shape that slides over flat ground has the contacts that it has on a plane
// source    Ericson 2005, section 5.1, for the regions of a triangle
//           Where the cells under the shape's bounding box lie in one plane, the closed form of a plane serves
//           (code.h says how planar)
// deviation MuJoCo tests each prism under the shape, and has contacts with edges between coplanar triangles too.
//           The surface is open at its border: below it is a wall that nothing touches, and a shape whose centre is
//           below the base touches nothing. A shape whose centre, or a box or capsule of which a part is in the solid
//           below an edge, is pushed up through the surface, where MuJoCo takes the shortest way out of each prism.
//           Contacts closer than a hundredth of the shape's size with normals within a degree are one, the deepest; of
//           more than there are slots the deepest stay, the earlier ones of equals
// reads     its arguments; of the height field hfield_height, hfield_code and hfield_block; of a hull what
//           each_hull.h does
// writes    a Manifold
// cost      200 operations and 6 gathers for the window under the shape. On planar ground a plane against the shape.
//           Elsewhere 150 operations and 5 gathers for each cell under the bounding box whose highest corner
//           reaches it; where something is convex 150 and 3 more; for a convex edge nearby a capsule against the shape
#pragma once

#include "kernels/collide/hfield/box.h"
#include "kernels/collide/hfield/capsule.h"
#include "kernels/collide/hfield/mesh.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kType, class Scene, class Real>
DS_STAGE void face_contacts(Scene* s, const FieldFace<Real>& t, const MaskOf<Real>& wanted) {
  const Real zero(0), half(0.5);
  const Vec3<Real> n = slope_normal(t.slope_x, t.slope_y);
  constexpr int kMost = kPairCapacity<kPlane, kType>;
  Manifold<Real, kMost> m;
  plane_contacts<kType>(t.corner, n, s->body, s->margin, &m);
  auto some = m.hit[0];
  for (int k = 1; k < kMost; k++) some = mask_or(some, m.hit[k]);
  if (!any(mask_and(some, wanted))) return;
  const Real slack = (s->size + s->margin) * Real(kFaceSlack);
  const Vec3<Real> centre{zero, zero, zero};
  const auto below = dot(n, t.corner) > zero;
  const auto inside = mask_and(below, over_face(s->view, t, centre, slack));
  for (int k = 0; k < kMost; k++) {
    auto valid = mask_and(wanted, m.hit[k]);
    if (!any(valid)) continue;
    const Real reach = m.dist[k] * half;
    // the point of the plane, seen from above; or the point of the shape
    const auto above = OverField<kType>::counts_from_above(*s, m.dist[k], below);
    const auto over = mask_or(mask_and(above, over_face(s->view, t, axpy(n, -reach, m.pos[k]), slack)),
                              over_face(s->view, t, axpy(n, reach, m.pos[k]), slack));
    valid = mask_and(valid, mask_or(inside, over));
    if (any(valid)) keep_contact(s, valid, m.dist[k], m.pos[k], n);
  }
}

template <int kType, class Scene, class Real>
DS_STAGE void edge_contacts(Scene* s, const Vec3<Real>& from, const Vec3<Real>& to, const Beside<Real>& far1,
                            const Beside<Real>& far2, MaskOf<Real> wanted) {
  const auto overlaps = [&](const Real& a, const Real& b, const Real& reach) {
    return mask_and(min(a, b) <= reach, max(a, b) >= -reach);
  };
  wanted = mask_and(wanted, mask_and(overlaps(from.x, to.x, s->reach.x), overlaps(from.y, to.y, s->reach.y)));
  // one above the shape may have it in the solid below
  if constexpr (OverField<kType>::kBelowEdges)
    wanted = mask_and(wanted, max(from.z, to.z) >= -s->reach.z);
  else
    wanted = mask_and(wanted, overlaps(from.z, to.z, s->reach.z));
  if (!any(wanted)) return;
  const Vec3<Real> span = to - from;
  const Real length = norm(span);
  OverField<kType>::edge(s, FieldEdge<Real>{from, to, span * (Real(1) / length), length, far1, far2}, wanted);
}

template <int kType, class Scene, class Real>
DS_STAGE void vertex_contact(Scene* s, const FieldVertex<Real>& v, MaskOf<Real> wanted) {
  const Vec3<Real>& at = v.at;
  wanted = mask_and(wanted, mask_and(abs(at.x) <= s->reach.x, abs(at.y) <= s->reach.y));
  wanted = mask_and(wanted, abs(at.z) <= s->reach.z);
  if (any(wanted)) OverField<kType>::vertex(s, v, wanted);
}

// what belongs to vertex (i, j): the triangles of its cell, the edges to the east, north and north-east, and itself
template <int kType, class Scene, class Real>
DS_STAGE void around_vertex(Scene* s, const Real& i, const Real& j, MaskOf<Real> wanted) {
  using Int = IntOf<Real>;
  const auto& view = s->view;
  const auto& g = view.grid;
  const Real zero(0), one(1);
  const auto has_east = i < Real(g.ncol - 1), has_north = j < Real(g.nrow - 1);
  const Int none(0), at = vertex_address(g, i, j);
  const Int east = select(has_east, Int(1), none), north = select(has_north, Int(g.ncol), none);
  const auto corner = [&](const Int& step, int di, int dj, const MaskOf<Real>& there) {
    return Beside<Real>{view.vertex(i + Real(di), j + Real(dj), gather<Real>(g.height, at + step)), there};
  };
  const Vec3<Real> o = corner(none, 0, 0, wanted).at;
  const Beside<Real> e = corner(east, 1, 0, has_east), n = corner(north, 0, 1, has_north),
                     ne = corner(east + north, 1, 1, mask_and(has_east, has_north));
  wanted = mask_and(wanted, max(max(o.z, e.at.z), max(n.at.z, ne.at.z)) > -s->reach.z);
  if (!any(wanted)) return;
  if constexpr (!kShapeIs<kType, kShapeCorners>) {
    const auto cell = mask_and(wanted, ne.there);
    const Real inv_x = one / view.dx, inv_y = one / view.dy;
    const FieldFace<Real> lower{o, (e.at.z - o.z) * inv_x, (ne.at.z - e.at.z) * inv_y, false};
    const FieldFace<Real> upper{o, (ne.at.z - n.at.z) * inv_x, (n.at.z - o.z) * inv_y, true};
    if (any(cell)) {
      face_contacts<kType>(s, lower, cell);
      face_contacts<kType>(s, upper, cell);
    }
  }
  Real code = convex_code<Real>(g, at);
  if (!any(mask_and(wanted, code > zero))) return;
  const auto take_bit = [&](int bit) {
    const auto set = code >= Real(bit);
    code = select(set, code - Real(bit), code);
    return mask_and(wanted, set);
  };
  const auto vertex_wanted = take_bit(kConvexVertex), far_wanted = take_bit(kConvexFar);
  const auto north_wanted = take_bit(kConvexNorth), east_wanted = take_bit(kConvexEast);
  const auto has_west = i > zero, has_south = j > zero;
  const Int west = select(has_west, Int(-1), none), south = select(has_south, Int(-g.ncol), none);
  const Beside<Real> w = corner(west, -1, 0, has_west), so = corner(south, 0, -1, has_south),
                     sw = corner(west + south, -1, -1, mask_and(has_west, has_south));
  if (any(east_wanted)) edge_contacts<kType>(s, o, e.at, ne, so, east_wanted);
  if (any(north_wanted)) edge_contacts<kType>(s, o, n.at, ne, w, north_wanted);
  if (any(far_wanted)) edge_contacts<kType>(s, o, ne.at, e, n, far_wanted);
  const FieldVertex<Real> vertex{o, {e, ne, n, w, sw, so}};
  if (any(vertex_wanted)) vertex_contact<kType>(s, vertex, vertex_wanted);
}

// half lengths of the bounding box of a shape
template <int kType, class Body, class Real = decltype(Body::size.x)>
DS_FN Vec3<Real> bounding_box(const Body& b) {
  const auto core = ShapeHooks<kType>::core_of(b);
  if constexpr (kShapeIs<kType, kShapeHull>) return {core.bound, core.bound, core.bound};
  const auto along = [&](int row) {
    const Vec3<Real> axis{b.rot.m[3 * row], b.rot.m[3 * row + 1], b.rot.m[3 * row + 2]};
    return dot(axis, core_support(core, axis)) + core_radius(core);
  };
  return {along(0), along(1), along(2)};
}

// where the cells under a shape lie in one plane: the contacts of that plane, in the frame of the scene
template <int kType, int K, class Scene, class Real>
DS_STAGE void planar_contacts(Scene* s, const GridWindow<Real>& w, const MaskOf<Real>& wanted,
                              Manifold<Real, K>* out) {
  using Int = IntOf<Real>;
  const auto& view = s->view;
  const auto& g = view.grid;
  // a window that is not wanted may be a point at the border
  const Real one(1), columns = max(w.i1 - w.i0, one), rows = max(w.j1 - w.j0, one);
  const Int none(0), at = vertex_address(g, w.i0, w.j0);
  const Int east = select(wanted, without_fraction(columns), none);
  const Int north = select(wanted, without_fraction(rows) * Int(g.ncol), none);
  const Real height = gather<Real>(g.height, at);
  const Real rise_x = gather<Real>(g.height, at + east) - height;
  const Real rise_y = gather<Real>(g.height, at + north) - height;
  const Vec3<Real> point = view.vertex(w.i0, w.j0, height);
  const Vec3<Real> n = slope_normal(rise_x / (columns * view.dx), rise_y / (rows * view.dy));
  OverField<kType>::planar(s, point, n, wanted, out);
}

// a box or hull that is in the solid without a contact, since all of it that could touch is below: its centre leaves by
// the face over it
template <class Scene, class Mask>
DS_STAGE void sunk_contact(Scene* s, const Mask& wanted) {
  using Real = decltype(s->margin);
  auto alone = wanted;
  for (const Mask& hit : s->found.hit) alone = mask_and(alone, mask_not(hit));
  if (!any(alone)) return;
  const Real zero(0);
  const FaceUnder<Real> f = face_under(s->view, Vec3<Real>{zero, zero, zero});
  const auto sunk = mask_and(mask_and(alone, f.there), f.dist < zero);
  if (any(sunk)) keep_contact(s, sunk, f.dist, f.normal * (f.dist * Real(-0.5)), f.normal);
}

// the contacts with faces, edges and vertices of each cell
template <int kType, class Scene, class Real>
DS_STAGE void rough_contacts(Scene* s, const GridWindow<Real>& w, const Real& top,
                             const MaskOf<Real>& wanted) {
  const Real ceiling = s->view.to_first.z + top + s->margin;
  OverField<kType>::corners(s, ceiling, wanted);
  for (Real j = w.j0; any(mask_and(wanted, j <= w.j1)); j = j + Real(1)) {
    for (Real i = w.i0; any(mask_and(wanted, i <= w.i1)); i = i + Real(1)) {
      const auto here = mask_and(wanted, mask_and(i <= w.i1, j <= w.j1));
      if (any(here)) around_vertex<kType>(s, min(i, w.i1), min(j, w.j1), here);
    }
  }
  if constexpr (kShapeIs<kType, kShapeCorners>) sunk_contact(s, wanted);
}

template <int kType, int K, class Body, class Real>
DS_FN void hfield_contacts(const FieldShape<Real>& a, const Body& b, const Real& margin,
                           Manifold<Real, K>* out) {
  const auto& g = a.grid;
  const Real zero(0);
  clear(out);
  const Vec3<Real> centre = rotate_transposed(a.rot, b.pos - a.pos);
  FieldScene<Real, Body, K> s{
      .view = view_grid(g, centre), .body = b, .reach = {}, .margin = margin, .size = {}, .found = {}};
  s.body.pos = {zero, zero, zero};
  const auto axis = [&](int c) { return rotate_transposed(a.rot, column(b.rot, c)); };
  s.body.rot = from_columns(axis(0), axis(1), axis(2));
  s.size = ShapeHooks<kType>::core_of(b).bound;
  const Vec3<Real> box = bounding_box<kType>(s.body);
  s.reach = {box.x + margin, box.y + margin, box.z + margin};
  const GridWindow<Real> window = window_under(s.view, s.reach);
  const Real top = height_bound(g, window);
  const auto low = mask_and(centre.z >= -Real(g.base), -s.reach.z < s.view.to_first.z + top);
  if (!any(low)) return;

  const Real side = max(window.i1 - window.i0, window.j1 - window.j0);
  const auto planar = mask_and(mask_and(low, window.within), planar_side(g, window) >= max(side, Real(1)));
  const auto rough = mask_and(low, mask_not(planar));
  if (any(planar)) planar_contacts<kType>(&s, window, planar, out);
  if (any(rough)) {
    clear(&s.found);
    rough_contacts<kType>(&s, window, top, rough);
    for (int k = 0; k < K; k++) {
      out->dist[k] = select(rough, s.found.dist[k], out->dist[k]);
      out->pos[k] = select3(rough, s.found.pos[k], out->pos[k]);
      out->normal[k] = select3(rough, s.found.normal[k], out->normal[k]);
      out->hit[k] = mask_or(mask_and(rough, s.found.hit[k]), mask_and(planar, out->hit[k]));
    }
  }
  for (int k = 0; k < K; k++) {
    if (!any(out->hit[k])) continue;
    out->pos[k] = b.pos + rotate(a.rot, out->pos[k]);
    out->normal[k] = rotate(a.rot, out->normal[k]);
  }
}

#define DS_FIELD_PAIR(first, type, function, capacity, traits)                      \
  template <class Body, class Real>                                                 \
  DS_FN void function(const FieldShape<Real>& a, const Body& b, const Real& margin, \
                      Manifold<Real, capacity>* out) {                              \
    hfield_contacts<type>(a, b, margin, out);                                       \
  }
DS_FIELD_PAIRS(DS_FIELD_PAIR)
#undef DS_FIELD_PAIR

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

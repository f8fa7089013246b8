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
//           (hfield_code.h says how planar)
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

#include "kernels/collide/capsule.h"
#include "kernels/collide/capsule_box.h"
#include "kernels/collide/capsule_cylinder.h"
#include "kernels/collide/hfield_faces.h"
#include "kernels/collide/sphere.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

constexpr double kFieldCone = 1e-4;  // sine by which a normal may lean into the surface
constexpr double kFieldEnd = 1e-5;   // of an edge: what is nearer to an end belongs to the vertex
// above this a greatest number has been found: the search for it begins at -kVast
constexpr double kSomeFound = -1e29;

// edges and vertices -----------------------------------------------------------------------------------------

// a corner of the grid beside an edge or a vertex; beyond the border the surface falls
template <class Real>
struct Beside {
  Vec3<Real> at;
  MaskOf<Real> there;
};

// squared sine between an edge and another line: what is divided by is no smaller
constexpr double kFieldLeastSine2 = 1e-9;
// where two lines pass each other, along each
template <class Real>
struct Crossing {
  Real at, beside;
};

// an edge of the grid
template <class Real>
struct FieldEdge {
  Vec3<Real> from, along;  // unit
  Real length;
  Beside<Real> far1, far2;

  // across it, to a far corner
  DS_FN Vec3<Real> across_to(const Beside<Real>& far) const {
    const Vec3<Real> w = far.at - from;
    return axpy(along, -dot(along, w), w);
  }
  // whether a normal leads away from both triangles beside it
  DS_FN MaskOf<Real> allows(const Vec3<Real>& n) const {
    const auto away = [&](const Beside<Real>& far) {
      const Vec3<Real> side = across_to(far);
      return mask_or(mask_not(far.there), dot(n, side) <= norm(side) * Real(kFieldCone));
    };
    return mask_and(n.z >= Real(0), mask_and(away(far1), away(far2)));
  }
  // whether a unit vector across the edge leads into the solid below it, between both triangles
  DS_FN MaskOf<Real> leads_under(const Vec3<Real>& d) const {
    Vec3<Real> side1 = across_to(far1), side2 = across_to(far2);
    side1 = side1 * (Real(1) / norm(side1)), side2 = side2 * (Real(1) / norm(side2));
    const Real between = dot(side1, side2);
    return mask_and(mask_and(far1.there, far2.there),
                    mask_and(dot(d, side1) >= between, dot(d, side2) >= between));
  }
  // along the edge, and along a line whose point is at d from the edge's start
  DS_FN Crossing<Real> crossing(const Vec3<Real>& d, const Vec3<Real>& line) const {
    const Real cosine = dot(along, line), a = dot(along, d), b = dot(line, d);
    const Real at = fma(-cosine, b, a) / max(fma(-cosine, cosine, Real(1)), Real(kFieldLeastSine2));
    return {at, fma(at, cosine, -b)};
  }
  // ends are vertices
  DS_FN MaskOf<Real> within(const Real& at) const {
    return mask_and(at >= length * Real(kFieldEnd), at <= length * Real(1 - kFieldEnd));
  }
};

// sine between an edge and one of the box that have no direction across both
constexpr double kFieldParallel = 1e-4;
// rate at which an edge that is level crosses the slab between two faces of the box
constexpr double kFieldLevel = 1e-12;

// Of the directions across the edge and across an edge of the box, the one of those allowed along which the two are
// farthest apart. Where it is that of a face, the ends of the stretch over that face; else where the edges cross.
// A capsule against a box would leave by the nearest face
template <class Scene, class Real>
DS_STAGE void edge_box(Scene* s, const FieldEdge<Real>& e, const MaskOf<Real>& wanted) {
  const Real zero(0), one(1), size[3] = {s->body.size.x, s->body.size.y, s->body.size.z};
  const Vec3<Real> axis[3] = {column(s->body.rot, 0), column(s->body.rot, 1), column(s->body.rot, 2)};
  Real best(-kVast), half = zero;
  Vec3<Real> n{zero, zero, zero}, other = n;
  auto some = all_false<Real>(), separate = some;
  for (int j = 0; j < 3; j++) {
    const Vec3<Real> x = cross(e.along, axis[j]);
    const Real sine = norm(x);
    const auto parallel = sine < Real(kFieldParallel);
    const Vec3<Real> u = x * (select(x.z < zero, -one, one) / select(parallel, one, sine));
    Real reach = zero;
    for (int i = 0; i < 3; i++) reach = reach + (i == j ? zero : abs(dot(u, axis[i])) * size[i]);
    const Real apart = -dot(u, e.from) - reach;
    const auto allowed = mask_and(mask_not(parallel), e.allows(u)), better = mask_and(apart > best, allowed);
    // a box that is wholly below the edge is in the solid, or beside it
    const auto below = apart < reach * Real(-2);
    auto beyond = mask_or(mask_and(mask_not(allowed), apart > zero), below);
    if (any(mask_and(below, allowed)))
      beyond = mask_and(beyond, mask_not(mask_and(allowed, e.leads_under(-u))));
    separate = mask_or(separate, mask_and(mask_not(parallel), beyond));
    best = select(better, apart, best);
    n = select3(better, u, n);
    other = select3(better, axis[j], other);
    half = select(better, size[j], half);
    some = mask_or(some, better);
  }
  some = mask_and(mask_and(some, wanted), mask_and(best < s->margin, mask_not(separate)));
  if (!any(some)) return;
  // the box's edge, and the face that looks down
  Vec3<Real> low{zero, zero, zero}, face = low;
  Real depth = zero, enter = zero, leave = e.length;
  for (int i = 0; i < 3; i++) {
    const Real along_n = dot(n, axis[i]);
    const auto looks = abs(along_n) >= Real(kAlignedCosine);
    face = select3(looks, axis[i] * select(along_n < zero, -one, one), face);
    depth = select(looks, size[i], depth);
    const auto free = dot(axis[i], other) > Real(0.5);
    low = axpy(axis[i], select(free, zero, select(along_n > zero, -size[i], size[i])), low);
    const Real at = dot(axis[i], e.from), rate = dot(axis[i], e.along);
    const auto level = mask_or(looks, abs(rate) < Real(kFieldLevel));
    const Real inv = one / select(level, one, rate), t1 = (-size[i] - at) * inv, t2 = (size[i] - at) * inv;
    enter = select(level, enter, max(enter, min(t1, t2)));
    leave = select(level, leave, min(leave, max(t1, t2)));
    leave = select(mask_and(mask_not(looks), mask_and(level, abs(at) > size[i])), -one, leave);
  }
  const auto flush = mask_and(mask_and(some, depth > zero), e.allows(face));
  if (any(flush)) {
    for (const Real& at : {enter, leave}) {
      const Vec3<Real> x = axpy(e.along, at, e.from);
      const Real dist = -depth - dot(face, x);
      const auto valid = mask_and(mask_and(flush, enter <= leave), mask_and(e.within(at), dist < s->margin));
      if (any(valid)) keep_contact(s, valid, dist, axpy(face, dist * Real(0.5), x), face);
    }
  }
  const auto [at, beside] = e.crossing(low - e.from, other);
  auto valid = mask_and(mask_and(some, mask_not(flush)), mask_and(e.within(at), abs(beside) <= half));
  if (any(valid)) keep_contact(s, valid, best, axpy(n, best * Real(0.5), axpy(e.along, at, e.from)), n);
}

// A capsule whose axis has passed an edge, in the solid below it, leaves it across both
template <class Scene, class Real>
DS_STAGE void edge_passed(Scene* s, const FieldEdge<Real>& e, const MaskOf<Real>& wanted) {
  const Real zero(0), one(1);
  const Vec3<Real> axis = column(s->body.rot, 2), x = cross(e.along, axis);
  const Real sine = norm(x);
  const auto crosses = sine >= Real(kFieldParallel);
  const Vec3<Real> n = x * (select(x.z < zero, -one, one) / select(crosses, sine, one));
  const Real apart = -dot(n, e.from);
  auto valid = mask_and(mask_and(wanted, crosses), apart < zero);
  if (!any(valid)) return;
  const auto [at, beside] = e.crossing(-e.from, axis);
  valid = mask_and(valid, mask_and(e.within(at), abs(beside) <= s->body.size.y));
  if (any(valid)) valid = mask_and(valid, mask_and(e.allows(n), e.leads_under(-n)));
  if (!any(valid)) return;
  const Real dist = apart - s->body.size.x;
  keep_contact(s, valid, dist, axpy(n, dist * Real(0.5), axpy(e.along, at, e.from)), n);
}

template <int kType, class Scene, class Real>
DS_STAGE void edge_contacts(Scene* s, const Vec3<Real>& from, const Vec3<Real>& to, const Beside<Real>& far1,
                            const Beside<Real>& far2, MaskOf<Real> wanted) {
  const Real half(0.5), zero(0), one(1);
  const auto overlaps = [&](const Real& a, const Real& b, const Real& reach) {
    return mask_and(min(a, b) <= reach, max(a, b) >= -reach);
  };
  wanted = mask_and(wanted, mask_and(overlaps(from.x, to.x, s->reach.x), overlaps(from.y, to.y, s->reach.y)));
  // one above a box or capsule may have the shape in the solid below it
  if constexpr (kType == kBox || kType == kCapsule)
    wanted = mask_and(wanted, max(from.z, to.z) >= -s->reach.z);
  else
    wanted = mask_and(wanted, overlaps(from.z, to.z, s->reach.z));
  if (!any(wanted)) return;
  const Vec3<Real> span = to - from;
  const Real length = norm(span);
  const Vec3<Real> along = span * (one / length);
  const FieldEdge<Real> e{from, along, length, far1, far2};
  if constexpr (kType == kBox) return edge_box(s, e, wanted);
  if constexpr (kType == kCapsule) edge_passed(s, e, wanted);
  Shape<Real> edge;
  Vec3<Real> t1, t2;
  across(along, &t1, &t2);
  edge.pos = (from + to) * half;
  edge.size = {zero, length * half, zero};
  edge.rot = from_columns(t1, t2, along);
  constexpr int kMost = kPairCapacity<kCapsule, kType>;
  Manifold<Real, kMost> m;
  if constexpr (kType != kBox) collide_types<kCapsule, kType>(edge, s->body, s->margin, &m);
  if constexpr (kType != kBox) {
    for (int k = 0; k < kMost; k++) {
      auto valid = mask_and(wanted, m.hit[k]);
      if (!any(valid)) continue;
      const Vec3<Real>& n = m.normal[k];
      const Real at = dot(along, axpy(n, m.dist[k] * Real(-0.5), m.pos[k]) - from);
      valid = mask_and(valid, mask_and(e.within(at), e.allows(n)));
      if (any(valid)) keep_contact(s, valid, m.dist[k], m.pos[k], n);
    }
  }
}

// a vertex of the grid
template <class Real>
struct FieldVertex {
  Vec3<Real> at;
  Beside<Real> around[6];

  DS_FN MaskOf<Real> allows(const Vec3<Real>& n) const {
    auto allowed = n.z >= Real(0);
    for (const Beside<Real>& c : around) {
      const Vec3<Real> u = c.at - at;
      allowed = mask_and(allowed, mask_or(mask_not(c.there), dot(n, u) <= norm(u) * Real(kFieldCone)));
    }
    return allowed;
  }
};

// of the faces that look down on a vertex that is in front of them, the one that is least deep
template <class Scene, class Real>
DS_STAGE void vertex_box(Scene* s, const FieldVertex<Real>& v, const MaskOf<Real>& wanted) {
  const Real zero(0), size[3] = {s->body.size.x, s->body.size.y, s->body.size.z};
  Real best(-kVast);
  Vec3<Real> n{zero, zero, zero};
  for (int k = 0; k < 3; k++) {
    const Vec3<Real> axis = column(s->body.rot, k), m = axis * sign_nonzero(axis.z);
    const Real apart = -dot(m, v.at) - size[k];
    auto valid = mask_and(mask_and(apart > best, apart < s->margin), apart >= size[k] * Real(-2));
    for (int i = 0; i < 3; i++)
      if (i != k) valid = mask_and(valid, abs(dot(column(s->body.rot, i), v.at)) <= size[i]);
    valid = mask_and(valid, wanted);
    if (!any(valid)) continue;
    valid = mask_and(valid, v.allows(m));
    best = select(valid, apart, best);
    n = select3(valid, m, n);
  }
  const auto found = best > Real(kSomeFound);
  if (any(found)) keep_contact(s, found, best, axpy(n, best * Real(0.5), v.at), n);
}

template <class Scene, class Real>
DS_STAGE void vertex_hull(Scene* s, const FieldVertex<Real>& v, const MaskOf<Real>& wanted) {
  const Real zero(0);
  const auto& h = s->body.hull;
  const Vec3<Real> local = rotate_transposed(s->body.rot, v.at);
  Real best(-kVast), beyond(-kVast);
  Vec3<Real> n{zero, zero, zero};
  for (int f = 0; f < h.nface; f++) {
    const Vec3<Real> out = broadcast_triple<Real>(h.normals(), f);
    const Real height = dot(out, local - broadcast_triple<Real>(h.points(), h.corner[h.corner_adr[f]]));
    const Vec3<Real> m = -rotate(s->body.rot, out);
    auto allowed = mask_and(height > best, m.z >= zero);
    if (any(mask_and(allowed, wanted))) allowed = mask_and(allowed, v.allows(m));
    const auto taken = mask_and(allowed, wanted);
    beyond = max(beyond, select(taken, best, height));
    best = select(taken, height, best);
    n = select3(taken, m, n);
  }
  const auto found = mask_and(mask_and(best > Real(kSomeFound), best < s->margin), beyond <= zero);
  if (any(found)) keep_contact(s, found, best, axpy(n, best * Real(0.5), v.at), n);
}

template <int kType, class Scene, class Real>
DS_STAGE void vertex_contact(Scene* s, const FieldVertex<Real>& v, MaskOf<Real> wanted) {
  const Real zero(0), one(1);
  const Vec3<Real>& at = v.at;
  wanted = mask_and(wanted, mask_and(abs(at.x) <= s->reach.x, abs(at.y) <= s->reach.y));
  wanted = mask_and(wanted, abs(at.z) <= s->reach.z);
  if (!any(wanted)) return;
  if constexpr (kType == kBox) return vertex_box(s, v, wanted);
  if constexpr (kShapeIs<kType, kShapeHull>) return vertex_hull(s, v, wanted);
  if constexpr (!kShapeIs<kType, kShapeCorners>) {
    const Shape<Real> point{at, {{one, zero, zero, zero, one, zero, zero, zero, one}}, {zero, zero, zero}};
    Manifold<Real, 1> m;
    collide_types<kSphere, kType>(point, s->body, s->margin, &m);
    auto valid = mask_and(wanted, m.hit[0]);
    if (!any(valid)) return;
    valid = mask_and(valid, v.allows(m.normal[0]));
    if (any(valid)) keep_contact(s, valid, m.dist[0], m.pos[0], m.normal[0]);
  }
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
  const auto core = make_core(b, kType);
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
  if constexpr (kShapeIs<kType, kShapeHull>) {
    hull_corners(
        s,
        [&](const Vec3<Real>& p) {
          return FaceUnder<Real>{dot(n, p - point), n, wanted};
        },
        Real(kVast));
    *out = s->found;
  } else {
    constexpr int kMost = kPairCapacity<kPlane, kType>;
    Manifold<Real, kMost> m;
    plane_contacts<kType>(point, n, s->body, s->margin, &m);
    for (int k = 0; k < kMost; k++) {
      out->dist[k] = m.dist[k];
      out->pos[k] = m.pos[k];
      out->normal[k] = n;
      out->hit[k] = mask_and(wanted, m.hit[k]);
    }
  }
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
  if constexpr (kType == kBox) box_corners<kType>(s, ceiling, wanted);
  if constexpr (kShapeIs<kType, kShapeHull>) {
    const auto under = [&](const Vec3<Real>& p) {
      FaceUnder<Real> f = face_under(s->view, p);
      f.there = mask_and(f.there, wanted);
      return f;
    };
    hull_corners(s, under, ceiling);
  }
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
  s.size = make_core(b, kType).bound;
  const Vec3<Real> box = bounding_box<kType>(s.body);
  s.reach = {box.x + margin, box.y + margin, box.z + margin};
  const GridWindow<Real> window = window_under(s.view, s.reach);
  const Real top = height_bound(g, window);
  const auto low = mask_and(centre.z >= -Real(g.base), -s.reach.z < s.view.to_first.z + top);
  if (!any(low)) return;

  const Real side = max(window.i1 - window.i0, window.j1 - window.j0);
  const auto planar = mask_and(mask_and(low, window.within), planar_side(g, window) >= max(side, Real(1)));
  const auto rough = mask_and(low, mask_not(planar));
  if (any(planar)) {
    if (kShapeIs<kType, kShapeHull>) clear(&s.found);
    planar_contacts<kType>(&s, window, planar, out);
  }
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

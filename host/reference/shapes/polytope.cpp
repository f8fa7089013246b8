// Boxes and hulls.
//
// solves    the hooks that they have in common
// equation  its flat feature is the face that looks most along n, else the edge that is most nearly across n
//           of a height field a vertex is inside it but for one face that is allowed: it leaves by the least deep of those
#include "host/reference/shapes/polytope.h"

#include <cmath>

#include "host/reference/collide_hfield.h"

namespace dualstep::reference {

namespace {

// the edge that is most nearly across n, among those whose higher end is the support point
Polygon level_edge(const Shape& shape, const Vector3d& n, const std::vector<PolytopeHooks::Face>& faces) {
  const Vector3d top = core_support(shape, n);
  Polygon best;
  double least = kAligned;
  for (const auto& face : faces) {
    const Polygon& corners = face.corners;
    for (size_t k = 0; k < corners.size(); k++) {
      const Vector3d a = shape.mat * corners[k], b = shape.mat * corners[(k + 1) % corners.size()];
      const double slope = std::abs(n.dot(b - a)) / (b - a).norm();
      if (slope >= least || (a != top && b != top)) continue;
      least = slope;
      best = {shape.pos + a, shape.pos + b};
    }
  }
  return best;
}

}  // namespace

void PolytopeHooks::add_edges(const Shape&, const std::vector<Vector3d>& corners, double least,
                              std::vector<Vector3d>* edges) const {
  add_edges_between(corners, least, edges);
}

Polygon PolytopeHooks::flat_feature(const Shape& s, const Vector3d& n) const {
  const std::vector<Face> all = faces(s);
  Polygon feature;
  double best = std::sqrt(1 - kAligned * kAligned);
  for (const Face& face : all) {
    const double aligned = n.dot(s.mat * face.normal);
    if (aligned <= best) continue;
    best = aligned;
    feature = face.corners;
  }
  if (feature.empty()) return level_edge(s, n, all);
  for (Vector3d& p : feature) p = s.pos + s.mat * p;
  return feature;
}

void PolytopeHooks::meet_vertex(FieldScene* s, const FieldVertex& vertex) const {
  const std::vector<HalfSpace> all = half_spaces(s->shape);
  const auto height = [&](size_t k) { return all[k].normal.dot(vertex.at - s->shape.pos - all[k].point); };
  int best = -1;
  for (size_t k = 0; k < all.size(); k++)
    if ((best < 0 || height(k) > height(best)) && vertex.allows(-all[k].normal)) best = static_cast<int>(k);
  if (best < 0 || height(best) > s->margin) return;
  for (size_t k = 0; k < all.size(); k++)
    if (static_cast<int>(k) != best && height(k) > 0) return;
  s->found.push_back(at_surface(vertex.at, height(best), -all[best].normal));
}

}  // namespace dualstep::reference

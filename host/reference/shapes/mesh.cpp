// The convex hull of a mesh, as MuJoCo's compiler made it.
//
// solves    the hooks of hooks.h, and its contacts with a plane
// equation  its farthest point along n is one of its points; a plane touches those within the margin, at most four
//           rays meet the mesh itself, triangle by triangle, from both sides
// cost      the number of its points, faces or triangles
#include <algorithm>

#include "host/model/element_rows.h"
#include "host/reference/collide_hfield.h"
#include "host/reference/shapes/pairs.h"
#include "host/reference/shapes/polytope.h"
#include "host/reference/shapes/rays.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

// MuJoCo's hull graph begins with the numbers of its points and triangles, the addresses of the points' edges,
// and the points, as vertices of the mesh; without a graph all vertices count
int Hull::points() const {
  const int graph = model->mesh_graphadr[mesh];
  return graph < 0 ? model->mesh_vertnum[mesh] : model->mesh_graph[graph];
}

Vector3d Hull::point(int i) const {
  const int graph = model->mesh_graphadr[mesh];
  const int vertex = graph < 0 ? i : model->mesh_graph[graph + 2 + model->mesh_graph[graph] + i];
  return vec3(model->mesh_vert, model->mesh_vertadr[mesh] + vertex);
}

int Hull::faces() const { return model->mesh_polynum[mesh]; }

Vector3d Hull::face_normal(int f) const {
  return vec3(model->mesh_polynormal, model->mesh_polyadr[mesh] + f);
}

std::vector<Vector3d> Hull::face_corners(int f) const {
  const int face = model->mesh_polyadr[mesh] + f;
  std::vector<Vector3d> corners;
  for (int i = 0; i < model->mesh_polyvertnum[face]; i++) {
    const int vertex = model->mesh_polyvert[model->mesh_polyvertadr[face] + i];
    corners.push_back(vec3(model->mesh_vert, model->mesh_vertadr[mesh] + vertex));
  }
  return corners;
}

namespace {

constexpr double kApartOnPlane = 0.01;  // of its size: two contacts with a plane closer than this are one

struct Mesh : PolytopeHooks {
  double extent(const Shape& s) const override {
    double radius = 0;
    for (int i = 0; i < s.hull.points(); i++) radius = std::max(radius, s.hull.point(i).norm());
    return radius;
  }

  Vector3d support(const Shape& s, const Vector3d& n) const override {
    const int count = s.hull.points();
    double best = -1e300;
    Vector3d p = Vector3d::Zero();
    for (int i = 0; i < count; i++) {
      const Vector3d x = s.hull.point(i);
      if (x.dot(n) <= best) continue;
      best = x.dot(n);
      p = x;
    }
    return p;
  }

  std::vector<Face> faces(const Shape& s) const override {
    std::vector<Face> faces;
    for (int f = 0; f < s.hull.faces(); f++) faces.push_back({s.hull.face_normal(f), s.hull.face_corners(f)});
    return faces;
  }
  std::vector<HalfSpace> half_spaces(const Shape& s) const override {
    std::vector<HalfSpace> all;
    for (const Face& face : faces(s)) all.push_back({s.mat * face.normal, s.mat * face.corners[0]});
    return all;
  }

  RayHit ray(const Shape& s, const Vector3d& p, const Vector3d& v) const override {
    NearestHit best;
    // a site is nothing but sizes
    if (!s.hull.model) return best;
    const Model& m = *s.hull.model;
    const auto corner = [&](int f, int k) {
      return vec3(m.mesh_vert, m.mesh_vertadr[s.hull.mesh] + row::mesh_face(m, f)[k]);
    };
    const int begin = m.mesh_faceadr[s.hull.mesh];
    for (int f = begin; f < begin + m.mesh_facenum[s.hull.mesh]; ++f)
      offer_triangle(corner(f, 0), corner(f, 1), corner(f, 2), p, v, &best);
    return best;
  }

  // corners that are apart as seen from above
  void meet_faces(FieldScene* s) const override {
    std::vector<Vector3d> corners;
    for (int k = 0; k < s->shape.hull.points(); k++) corners.push_back(s->shape.hull.point(k));
    s->found = apart_from_above(*s, corners_on_faces(*s, corners, false));
  }
};

}  // namespace

const ShapeHooks& shapes::mesh() {
  static const Mesh hooks;
  return hooks;
}

Touches plane_mesh(const Shape& plane, const Shape& shape, double margin) {
  const Vector3d n = plane.axis();
  Touches found;
  for (int i = 0; i < shape.hull.points(); i++) {
    const Vector3d x = shape.pos + shape.mat * shape.hull.point(i);
    const double dist = n.dot(x - plane.pos);
    if (dist <= margin) found.push_back(Touch{dist, x - n * (dist / 2), n, Vector3d::Zero()});
  }
  return four_apart(found, kApartOnPlane * extent(shape));
}

}  // namespace dualstep::reference

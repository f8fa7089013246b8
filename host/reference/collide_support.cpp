// Convex shapes by their support.
//
// solves    the point of a core that is farthest along a direction
// equation  ellipsoid  S^2 n / |S n|, S = diag(half axes)      box, hull   one of the corners
//           cylinder   a point of a rim                        capsule     an end of the axis
//           sphere     the centre
//           The ball around a core (capsule, sphere) is added by the caller
// cost      the number of points of a hull
#include <algorithm>
#include <cmath>

#include "host/reference/collide.h"
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

double ball_radius(const Shape& shape) {
  return shape.type == kSphere || shape.type == kCapsule ? shape.size[0] : 0;
}

Vector3d core_support(const Shape& shape, const Vector3d& n) {
  const Vector3d local = shape.mat.transpose() * n, size = shape.size;
  const auto side = [](double x) { return x < 0 ? -1.0 : 1.0; };
  Vector3d p = Vector3d::Zero();
  switch (shape.type) {
    case kCapsule:
      p.z() = side(local.z()) * size[1];
      break;
    case kCylinder: {
      const double across = local.head<2>().norm();
      if (across > 0) p.head<2>() = local.head<2>() * (size[0] / across);
      p.z() = side(local.z()) * size[1];
      break;
    }
    case kEllipsoid:
      p = size.cwiseProduct(size).cwiseProduct(local) / size.cwiseProduct(local).norm();
      break;
    case kBox:
      for (int i = 0; i < 3; i++) p[i] = side(local[i]) * size[i];
      break;
    case kMesh: {
      const Hull& hull = shape.hull;
      const int count = hull.points();
      double best = -1e300;
      for (int i = 0; i < count; i++) {
        const Vector3d x = hull.point(i);
        if (x.dot(local) <= best) continue;
        best = x.dot(local);
        p = x;
      }
      break;
    }
    default:
      break;
  }
  return shape.mat * p;
}

double extent(const Shape& shape) {
  switch (shape.type) {
    case kSphere:
      return shape.size[0];
    case kCapsule:
      return shape.size[0] + shape.size[1];
    case kCylinder:
      return std::hypot(shape.size[0], shape.size[1]);
    case kEllipsoid:
      return shape.size.maxCoeff();
    case kMesh: {
      double radius = 0;
      for (int i = 0; i < shape.hull.points(); i++) radius = std::max(radius, shape.hull.point(i).norm());
      return radius;
    }
    default:
      return shape.size.norm();
  }
}

}  // namespace dualstep::reference

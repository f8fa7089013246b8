// What is done by shape, and what a shape does that says nothing else.
//
// A shape is a class derived from ShapeHooks in a file of this folder and a row of DS_REFERENCE_SHAPES (shapes.h). Its hooks
// are
//
//   traits       surface, strictly_convex, has_corners
//   size         radius: of the ball around its core; extent, longest, half_axes; beyond: of what no ball holds
//   core         support: the core's farthest point along n; curvature of its support function; edges and faces that may hold
//                the direction of least separation; summands, where the shape is a sum of segments, disks and a ball
//   features     shown: what it shows along n to a shape that is such a sum too; flat_feature: to any other
//   contacts     touches: with a shape that no row of pairs.h names; nearest: the closest points of both
//   rays         ray: where one first meets it; holds: whether a point is inside
//   terrain      contacts with faces, edges and vertices of a height field (collide_hfield.h)
//
// Points, directions and rays of support, ray and holds are in its own frame, those of all others in the world.
#pragma once

#include <optional>
#include <vector>

#include "host/reference/collide.h"

namespace dualstep::reference {

struct FieldEdge;
struct FieldScene;
struct FieldVertex;

struct Disk {
  Vector3d axis;
  double radius;
};
// a shape as a sum: segments [-u, u], disks, a ball around it; and the axes of its flat faces
struct Summands {
  std::vector<Vector3d> segments;
  std::vector<Disk> disks;
  double ball = 0;
  std::vector<Vector3d> faces;
};

// what such a sum shows in a direction: the corners of a face, points of the rim of a disk, or a line
struct Feature {
  std::vector<Vector3d> points;  // corners, in order; two for a line
  bool disk = false;
  Vector3d centre, axis;   // of a disk; of the shape's axis for a line
  double radius = 0;       // of a disk; of the ball that the line's axis carries
  double half_length = 0;  // of the axis of a line
  bool round_ends = false;

  bool line() const { return points.size() == 2; }
};

using Polygon = std::vector<Vector3d>;  // two points are an edge
constexpr double kAligned =
    0.034899496702500972;  // sine of two degrees: a feature this close to level is flat

// distance along a ray to a surface, -1 for a miss, and the surface's normal there, outwards
struct RayHit {
  double t = -1;
  Vector3d normal = Vector3d::Zero();
};

// the defaults are those of a convex shape with a smooth surface and without a radius
struct ShapeHooks {
  virtual ~ShapeHooks() = default;

  // whether it is no convex body; such shapes come first in their pairs
  virtual bool surface() const { return false; }
  // whether the core has one point for each direction
  virtual bool strictly_convex() const { return false; }
  // whether contacts with terrain are those of its own corners
  virtual bool has_corners() const { return false; }

  virtual double radius(const Shape&) const { return 0; }
  // of a ball around its position that holds all of it
  virtual double extent(const Shape& s) const { return s.size.norm(); }
  // the largest of its half lengths
  virtual double longest(const Shape& s) const { return s.size.maxCoeff(); }
  // of the ellipsoid that a medium sees
  virtual Vector3d half_axes(const Vector3d& size) const { return size; }
  // whether a ball is farther from it than a margin, of shapes that no ball holds: a centre from its position
  virtual bool beyond(const Matrix3d&, const Vector3d&, double, double) const { return false; }

  virtual Vector3d support(const Shape&, const Vector3d&) const { return Vector3d::Zero(); }
  // the second derivative of the core's support function at n
  virtual Matrix3d curvature(const Shape&, const Vector3d&) const { return Matrix3d::Zero(); }
  // edges that n may be across, given those corners of the core that attain its support; none shorter than `least`
  virtual void add_edges(const Shape&, const std::vector<Vector3d>&, double, std::vector<Vector3d>*) const {}
  // normals of flat faces that are nearest to n
  virtual void add_faces(const Shape&, const Vector3d&, std::vector<Vector3d>*) const {}
  virtual std::optional<Summands> summands(const Shape&) const { return {}; }

  // of a shape that has summands
  virtual Feature shown(const Shape&, const Vector3d&) const { return {}; }
  // to within two degrees of level; empty where there is none
  virtual Polygon flat_feature(const Shape&, const Vector3d&) const { return {}; }

  // contacts with a second shape, where no row of the pairs has them; by default by a search
  virtual Touches touches(const Shape& s, const Shape& second, double margin) const;
  virtual ClosestPair nearest(const Shape& s, const Shape& second, double beyond) const;

  virtual RayHit ray(const Shape&, const Vector3d&, const Vector3d&) const { return {}; }
  virtual bool holds(const Vector3d&, const Vector3d&) const { return false; }

  // by default the pairs with a plane, a capsule and a sphere stand for faces, edges and vertices
  virtual void meet_faces(FieldScene* s) const;
  virtual void meet_edge(FieldScene* s, const FieldEdge& edge) const;
  virtual void meet_vertex(FieldScene* s, const FieldVertex& vertex) const;
  // whether a contact at `dist` from a face counts where the face's point is over its triangle; below: where the
  // shape's centre is
  virtual bool counts_from_above(const Shape&, double, bool below) const { return !below; }
  // contacts with a field at most
  virtual size_t most_over_field() const { return 8; }
};

// a unit vector along v, where that is longer than `least` and its direction is new
void add_unit(std::vector<Vector3d>* all, const Vector3d& v, double least);
// the edges between corners
void add_edges_between(const std::vector<Vector3d>& corners, double least, std::vector<Vector3d>* edges);
// the second derivative of the support function of an ellipsoid with these half axes
Matrix3d ellipsoid_curvature(const Matrix3d& mat, const Vector3d& half_axes, const Vector3d& n);
// the line along the axis of a capsule or cylinder, moved by `offset` to its side
Feature side_line(const Shape& s, const Vector3d& offset);
Polygon side_edge(const Shape& s, const Vector3d& across);

}  // namespace dualstep::reference

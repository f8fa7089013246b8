// What shapes with corners and flat faces have in common: boxes and hulls.
#pragma once

#include "host/reference/shapes/hooks.h"

namespace dualstep::reference {

struct PolytopeHooks : ShapeHooks {
  // in the frame of the shape; corners counterclockwise seen from outside
  struct Face {
    Vector3d normal;
    Polygon corners;
  };
  // a face by its outward normal and one of its points, from the shape's position, in world axes
  struct HalfSpace {
    Vector3d normal, point;
  };
  virtual std::vector<Face> faces(const Shape& s) const = 0;
  virtual std::vector<HalfSpace> half_spaces(const Shape& s) const = 0;

  bool has_corners() const override { return true; }
  void add_edges(const Shape& s, const std::vector<Vector3d>& corners, double least,
                 std::vector<Vector3d>* edges) const override;
  Polygon flat_feature(const Shape& s, const Vector3d& n) const override;
  void meet_vertex(FieldScene* s, const FieldVertex& vertex) const override;
};

}  // namespace dualstep::reference

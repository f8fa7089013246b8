// What a shape sees of a height field: faces, edges and vertices of the surface, in the frame of the field. The default hooks
// of shapes over terrain and those of their own files add contacts to `found` of a FieldScene; collide_hfield.cpp says
// which contacts there are.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "host/reference/collide.h"

namespace dualstep::reference {

// a triangle of cell (i, j), on the lower or the upper side of its diagonal from (i, j) to (i + 1, j + 1)
struct FieldTriangle {
  Vector3d corner[3], normal;
};
// the triangle that a point is over or under
std::optional<FieldTriangle> triangle_under(const HeightField& f, const Vector3d& p);

// everything in the frame of the field
struct FieldScene {
  HeightField field;
  Shape shape;
  double margin, size;
  Touches found{};
  int first_i = 0, last_i = 0, first_j = 0, last_j = 0;  // vertices of the cells that the shape may reach
};

// an edge between two triangles, and what directions are allowed to contacts with it
struct FieldEdge {
  Vector3d from, to, along;
  std::vector<Vector3d> across;  // unit, into the triangles beside; at the border there is one

  bool allows(const Vector3d& n) const;
  // whether a unit vector across the edge leads into the solid below it, between both triangles
  bool leads_under(const Vector3d& d) const;
  double place(const Vector3d& p) const { return along.dot(p - from) / (to - from).norm(); }
  bool within(const Vector3d& p) const { return place(p) >= 1e-5 && place(p) <= 1 - 1e-5; }
  // whether it is over or under a box with these half lengths about a point, wider by a margin: the solid below it
  // ends with its triangles
  bool is_over(const Vector3d& centre, const Vector3d& half, double margin) const;
};

// a vertex, and what directions are allowed to contacts with it
struct FieldVertex {
  Vector3d at;
  std::vector<Vector3d> edges;

  bool allows(const Vector3d& n) const;
};

Touch at_surface(const Vector3d& p, double dist, const Vector3d& n);
// contacts of a shape's corners, given in its frame, with the faces they are over or under; all of them, or those alone that
// lie below the shape's centre along the normal
Touches corners_on_faces(const FieldScene& s, const std::vector<Vector3d>& corners, bool lower_only);
// of these contacts those that are apart as seen from above, at most four
Touches apart_from_above(const FieldScene& s, const Touches& touches);

}  // namespace dualstep::reference

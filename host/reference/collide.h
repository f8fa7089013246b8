// Pairs of shapes: pure functions from two posed shapes to contact points. No model, no workspace.
#pragma once

#include <vector>

#include "host/model/model.h"
#include "host/reference/data.h"

namespace dualstep::reference {

struct Shape {
  int type = kSphere;
  Vector3d pos = Vector3d::Zero();
  Matrix3d mat = Matrix3d::Identity();
  Vector3d size = Vector3d::Zero();  // MuJoCo's: radius; radius, half length along z; half sides

  Vector3d axis() const { return mat.col(2); }
};

// a contact point before it has parameters; normal from the first shape to the second
struct Touch {
  double dist = 0;
  Vector3d pos = Vector3d::Zero();  // midway between the two surfaces
  Vector3d normal = Vector3d::UnitX();
  Vector3d tangent = Vector3d::Zero();  // wanted direction of t1; zero where there is none
};
using Touches = std::vector<Touch>;

// contacts with dist <= margin between two shapes, first.type <= second.type (MuJoCo's order of types)
Touches collide_shapes(const Shape& first, const Shape& second, double margin);

// rows n, t1, t2: t1 as wanted, else the world's y axis (z where n is near y), made orthogonal to n
Matrix3d contact_frame(const Touch& touch);

// closed forms, as in MuJoCo
Touches plane_sphere(const Shape& plane, const Shape& sphere, double margin);
Touches plane_capsule(const Shape& plane, const Shape& capsule, double margin);
Touches plane_cylinder(const Shape& plane, const Shape& cylinder, double margin);
Touches plane_box(const Shape& plane, const Shape& box, double margin);
Touches sphere_sphere(const Shape& first, const Shape& second, double margin);
Touches sphere_capsule(const Shape& sphere, const Shape& capsule, double margin);
Touches sphere_cylinder(const Shape& sphere, const Shape& cylinder, double margin);
Touches sphere_box(const Shape& sphere, const Shape& box, double margin);
Touches capsule_capsule(const Shape& first, const Shape& second, double margin);
Touches capsule_box(const Shape& capsule, const Shape& box, double margin);
Touches box_box(const Shape& first, const Shape& second, double margin);

// pairs without a closed form (capsule, cylinder, box in any pair): the direction of least overlap and a
// manifold
struct Separation {
  double dist = 0;  // distance, or minus the penetration depth
  Vector3d normal = Vector3d::UnitX();
};
Separation separation(const Shape& first, const Shape& second);
Touches convex_manifold(const Shape& first, const Shape& second, const Separation& sep, double margin);

// a vector of length one and its former length; (1, 0, 0) where that is below 1e-15, as in MuJoCo
Vector3d unit_or_x(const Vector3d& v, double* length = nullptr);

}  // namespace dualstep::reference

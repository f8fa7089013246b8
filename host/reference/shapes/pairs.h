// Pairs of shapes whose contacts have a closed form: the one list of them. Contacts of the others are searched for.
#pragma once

#include "host/reference/shapes/shapes.h"

// X(first type, second type, function, points): first <= second. A function stands in the file of its second shape, or in one
// of its own. Its points are
//   kNearest   those where both shapes are nearest, so that they give the distance of shapes that are apart
//   kCorners   corners of features that face each other, which may be farther apart
#define DS_REFERENCE_PAIRS(X)                      \
  X(kPlane, kSphere, plane_sphere, kNearest)       \
  X(kPlane, kCapsule, plane_capsule, kNearest)     \
  X(kPlane, kEllipsoid, plane_ellipsoid, kNearest) \
  X(kPlane, kCylinder, plane_cylinder, kNearest)   \
  X(kPlane, kBox, plane_box, kNearest)             \
  X(kPlane, kMesh, plane_mesh, kNearest)           \
  X(kSphere, kSphere, sphere_sphere, kNearest)     \
  X(kSphere, kCapsule, sphere_capsule, kNearest)   \
  X(kSphere, kCylinder, sphere_cylinder, kNearest) \
  X(kSphere, kBox, sphere_box, kNearest)           \
  X(kCapsule, kCapsule, capsule_capsule, kNearest) \
  X(kCapsule, kBox, capsule_box, kNearest)         \
  X(kBox, kBox, box_box, kCorners)

namespace dualstep::reference {

// contacts with dist <= margin, the normals from the first shape to the second
using PairFunction = Touches(const Shape& first, const Shape& second, double margin);
#define DS_ROW(type1, type2, function, points) PairFunction function;
DS_REFERENCE_PAIRS(DS_ROW)
#undef DS_ROW

enum class PairPoints { kNearest, kCorners };
struct ClosedPair {
  int type1, type2;
  PairFunction* touches;
  PairPoints points;
};
// null where a pair has no row
const ClosedPair* closed_pair(int type1, int type2);

}  // namespace dualstep::reference

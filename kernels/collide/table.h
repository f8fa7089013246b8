// The narrow phase at a glance: which function answers for a pair of geom types, and how many contacts it has
// room for. Types are MuJoCo's mjtGeom values and type1 <= type2; a pair given the other way round is swapped
// by the caller, since the normal points from the first shape to the second.
#pragma once

#include "kernels/collide/box_box.h"
#include "kernels/collide/capsule.h"
#include "kernels/collide/capsule_box.h"
#include "kernels/collide/capsule_cylinder.h"
#include "kernels/collide/plane.h"
#include "kernels/collide/sphere.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

enum : int { kGeomPlane = 0, kGeomSphere = 2, kGeomCapsule = 3, kGeomCylinder = 5, kGeomBox = 6 };

// X(type1, type2, function, capacity)
#define DS_PAIRS(X)                                   \
  X(kGeomPlane, kGeomSphere, plane_sphere, 1)         \
  X(kGeomPlane, kGeomCapsule, plane_capsule, 2)       \
  X(kGeomPlane, kGeomCylinder, plane_cylinder, 4)     \
  X(kGeomPlane, kGeomBox, plane_box, 4)               \
  X(kGeomSphere, kGeomSphere, sphere_sphere, 1)       \
  X(kGeomSphere, kGeomCapsule, sphere_capsule, 1)     \
  X(kGeomSphere, kGeomCylinder, sphere_cylinder, 1)   \
  X(kGeomSphere, kGeomBox, sphere_box, 1)             \
  X(kGeomCapsule, kGeomCapsule, capsule_capsule, 2)   \
  X(kGeomCapsule, kGeomCylinder, capsule_cylinder, 3) \
  X(kGeomCapsule, kGeomBox, capsule_box, 2)           \
  X(kGeomBox, kGeomBox, box_box, 8)

// contacts that a pair of types has room for, in either order; 0 where the types do not collide
constexpr int pair_capacity(int type1, int type2) {
  const int low = type1 < type2 ? type1 : type2, high = type1 < type2 ? type2 : type1;
#define DS_CAPACITY(t1, t2, function, capacity) \
  if (low == t1 && high == t2) return capacity;
  DS_PAIRS(DS_CAPACITY)
#undef DS_CAPACITY
  return 0;
}

// the largest of them: room for any one pair
constexpr int max_pair_capacity() {
  int most = 0;
#define DS_CAPACITY(t1, t2, function, capacity) most = most > capacity ? most : capacity;
  DS_PAIRS(DS_CAPACITY)
#undef DS_CAPACITY
  return most;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

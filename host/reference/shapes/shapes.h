// The shapes that the reference knows: the one list of them.
#pragma once

#include "host/reference/shapes/hooks.h"

// X(type, name): the hooks are what `name` returns, in shapes/name.cpp
#define DS_REFERENCE_SHAPES(X) \
  X(kPlane, plane)             \
  X(kHfield, hfield)           \
  X(kSphere, sphere)           \
  X(kCapsule, capsule)         \
  X(kEllipsoid, ellipsoid)     \
  X(kCylinder, cylinder)       \
  X(kBox, box)                 \
  X(kMesh, mesh)

namespace dualstep::reference {

namespace shapes {
#define DS_ROW(type, name) const ShapeHooks& name();
DS_REFERENCE_SHAPES(DS_ROW)
#undef DS_ROW
}  // namespace shapes

// of a type; of one without a row the defaults
const ShapeHooks& shape_hooks(int type);
inline const ShapeHooks& hooks_of(const Shape& s) { return shape_hooks(s.type); }

}  // namespace dualstep::reference

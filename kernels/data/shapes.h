// The shapes of geoms: what the pair functions, the tables of a model and the host agree on. No functions of a
// stage, so host code reads it too.
//
// A shape is its code in base/mujoco_enums.h, a row here, its hooks in collide/shapes/, and its pairs in collide/kinds.h. Code
// that does something for some shapes asks for a trait; what is an algorithm of one shape alone names it.
#pragma once

#include "kernels/base/mujoco_enums.h"

namespace dualstep {

enum ShapeTrait : unsigned {
  kShapeUntouched = 1 << 0,  // does not collide here: a geom of it must touch nothing
  kShapeUnseen = 1 << 1,     // rays cannot be cast at it
  kShapeUnbounded = 1 << 2,  // no sphere holds it
  kShapeSurface = 1 << 3,    // does not collide with another surface; first in its pairs
  kShapeGrid = 1 << 4,       // has heights beside its sizes (FieldShape)
  kShapeHull = 1 << 5,       // has points and faces beside its sizes (HullShape)
  kShapeCorners = 1 << 6,    // on terrain its own corners are asked, not each cell's faces
  kShapeSearched =
      1 << 7,  // contacts but those with planes are searched for (collide/convex/, collide/hfield/)
  kShapeIterated = 1 << 8,  // MuJoCo finds contacts but those with surfaces by iteration
  kShapeRound = 1 << 9,     // its first size is a radius around what is searched
  kShapeFaces = 1 << 10,    // has flat faces
  kShapeCurved = 1 << 11,   // beside a radius it is curved somewhere
  kShapeSmooth = 1 << 12,   // and everywhere
  kShapeOwnBox = 1 << 13,   // is the box about it
};

// X(type, word, sizes, touches, radius, half lengths of the box along its axes (3), traits), in the order of GeomType
//   sizes    how many numbers of geom_size it has, all of them positive; x, y, z are these numbers
//   touches  how many contacts it brings to a pile
//   radius   of the sphere about its centre that holds it; `given`, what MuJoCo says, of shapes that are more than
//            sizes. Nobody asks for their half lengths, which are 0 here
#define DS_SHAPES(X)                                                                                \
  X(kPlane, "plane", 0, 0, given, 0, 0, 0, kShapeSurface | kShapeUnbounded)                         \
  X(kHfield, "height field", 0, 0, given, 0, 0, 0, kShapeSurface | kShapeGrid | kShapeSearched)     \
  X(kSphere, "sphere", 1, 1, x, x, x, x, kShapeRound)                                               \
  X(kCapsule, "capsule", 2, 2, x + y, x, x, x + y, kShapeRound)                                     \
  X(kEllipsoid, "ellipsoid", 3, 1, largest(x, y, z), x, y, z,                                       \
    kShapeSearched | kShapeIterated | kShapeCurved | kShapeSmooth)                                  \
  X(kCylinder, "cylinder", 2, 4, hypot(x, y), x, x, y, kShapeIterated | kShapeFaces | kShapeCurved) \
  X(kBox, "box", 3, 8, hypot(x, y, z), x, y, z, kShapeCorners | kShapeFaces | kShapeOwnBox)         \
  X(kMesh, "mesh", 0, 4, given, 0, 0, 0,                                                            \
    kShapeHull | kShapeCorners | kShapeSearched | kShapeIterated | kShapeFaces)                     \
  X(kSdf, "sdf", 0, 0, given, 0, 0, 0, kShapeUntouched | kShapeUnseen)

struct ShapeRow {
  int type, sizes, touches;
  unsigned traits;
};
inline constexpr ShapeRow kShapeRows[] = {
#define DS_ROW(type, word, sizes, touches, radius, x, y, z, traits) {type, sizes, touches, traits},
    DS_SHAPES(DS_ROW)
#undef DS_ROW
};

inline constexpr int kShapeTypes = sizeof kShapeRows / sizeof kShapeRows[0];
constexpr bool shapes_are_in_order() {
  for (int type = 0; type < kShapeTypes; type++)
    if (kShapeRows[type].type != type) return false;
  return true;
}
static_assert(shapes_are_in_order(), "the rows of DS_SHAPES are in the order of GeomType");

// of a code that is none of these: a shape that is nothing
constexpr ShapeRow shape_row(int type) {
  return type >= 0 && type < kShapeTypes ? kShapeRows[type]
                                         : ShapeRow{type, 0, 0, kShapeUntouched | kShapeUnseen};
}
// whether a shape has any of these traits
constexpr bool shape_is(int type, unsigned traits) { return (shape_row(type).traits & traits) != 0; }
// the same for kernels, whose compiler lets them call no function of the host, even where nothing is left of the call
template <int kType, unsigned kTraits>
constexpr bool kShapeIs = shape_is(kType, kTraits);
// and of a type that the compiler does not know: a bit for each type that has any of these traits
constexpr unsigned shapes_with(unsigned traits) {
  unsigned types = 0;
  for (const ShapeRow& row : kShapeRows)
    if ((row.traits & traits) != 0) types |= 1u << row.type;
  return types;
}
template <unsigned kTraits>
constexpr unsigned kShapesWith = shapes_with(kTraits);

}  // namespace dualstep

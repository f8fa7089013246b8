// The kinds of collision by the types of their geoms, and how many contacts each can have: what the tables of
// candidate pairs and the narrow phase agree on. No functions, so host code can read it too.
#pragma once

#include "kernels/data/shapes.h"

namespace dualstep {

// what sets a pair apart from the others of its shapes
enum PairTrait : unsigned {
  // MuJoCo finds its contacts in closed form, though one of its shapes is kShapeIterated
  kPairClosed = 1 << 0,
  // of shapes that are apart its function gives the distance of a corner, not of the nearest points
  kPairByCorners = 1 << 1,
  // its function takes the points of one hull for all elements of a pack
  kPairOfOneHull = 1 << 2,
};

// those of a height field, whose functions are all hfield_contacts (hfield/pairs.h)
#define DS_FIELD_PAIRS(X)                        \
  X(kHfield, kSphere, hfield_sphere, 4, 0)       \
  X(kHfield, kCapsule, hfield_capsule, 8, 0)     \
  X(kHfield, kEllipsoid, hfield_ellipsoid, 4, 0) \
  X(kHfield, kCylinder, hfield_cylinder, 8, 0)   \
  X(kHfield, kBox, hfield_box, 8, 0)             \
  X(kHfield, kMesh, hfield_mesh, 8, 0)

// X(first type, second type, pair function, capacity, traits): first <= second; a pair given the other way round is
// swapped by the caller, since the normal points from the first shape to the second. The capacity is the most
// contacts that the function returns
#define DS_PAIRS(X)                                      \
  X(kPlane, kSphere, plane_sphere, 1, 0)                 \
  X(kPlane, kCapsule, plane_capsule, 2, 0)               \
  X(kPlane, kCylinder, plane_cylinder, 4, 0)             \
  X(kPlane, kBox, plane_box, 4, 0)                       \
  X(kSphere, kSphere, sphere_sphere, 1, 0)               \
  X(kSphere, kCapsule, sphere_capsule, 1, 0)             \
  X(kSphere, kCylinder, sphere_cylinder, 1, kPairClosed) \
  X(kSphere, kBox, sphere_box, 1, 0)                     \
  X(kCapsule, kCapsule, capsule_capsule, 2, 0)           \
  X(kCapsule, kCylinder, capsule_cylinder, 3, 0)         \
  X(kCapsule, kBox, capsule_box, 2, 0)                   \
  X(kCylinder, kCylinder, cylinder_cylinder, 5, 0)       \
  X(kCylinder, kBox, cylinder_box, 8, 0)                 \
  X(kBox, kBox, box_box, 8, kPairByCorners)              \
  X(kPlane, kEllipsoid, plane_ellipsoid, 1, 0)           \
  X(kSphere, kEllipsoid, sphere_ellipsoid, 1, 0)         \
  X(kCapsule, kEllipsoid, capsule_ellipsoid, 1, 0)       \
  X(kEllipsoid, kEllipsoid, ellipsoid_ellipsoid, 1, 0)   \
  X(kEllipsoid, kCylinder, ellipsoid_cylinder, 1, 0)     \
  X(kEllipsoid, kBox, ellipsoid_box, 1, 0)               \
  X(kPlane, kMesh, plane_mesh, 4, kPairOfOneHull)        \
  X(kSphere, kMesh, sphere_mesh, 1, 0)                   \
  X(kCapsule, kMesh, capsule_mesh, 2, 0)                 \
  X(kEllipsoid, kMesh, ellipsoid_mesh, 1, 0)             \
  X(kCylinder, kMesh, cylinder_mesh, 4, 0)               \
  X(kBox, kMesh, box_mesh, 4, 0)                         \
  X(kMesh, kMesh, mesh_mesh, 4, 0)                       \
  DS_FIELD_PAIRS(X)

enum PairKind : int {
#define DS_KIND(type1, type2, function, capacity, traits) kKind_##function,
  DS_PAIRS(DS_KIND)
#undef DS_KIND
      kPairKinds
};

struct PairKindRow {
  int type1, type2, capacity;
  unsigned traits;
};
inline constexpr PairKindRow kPairKindRows[] = {
#define DS_ROW(type1, type2, function, capacity, traits) {type1, type2, capacity, traits},
    DS_PAIRS(DS_ROW)
#undef DS_ROW
};

// the kind for two types in the order of the pair function; -1 where they do not collide
constexpr int pair_kind(int type1, int type2) {
  for (int k = 0; k < kPairKinds; k++) {
    if (kPairKindRows[k].type1 == type1 && kPairKindRows[k].type2 == type2) return k;
  }
  return -1;
}

// whether contacts of a kind are searched for (kernels/collide/convex, kernels/collide/hfield)
constexpr bool is_searched_kind(int kind) {
  const PairKindRow& row = kPairKindRows[kind];
  return row.type1 != kPlane && (shape_is(row.type1, kShapeSearched) || shape_is(row.type2, kShapeSearched));
}

// whether MuJoCo finds contacts of a kind by iteration: without its flag multiccd there is one of them
constexpr bool is_iterated_kind(int kind) {
  const PairKindRow& row = kPairKindRows[kind];
  return !shape_is(row.type1, kShapeSurface) && (row.traits & kPairClosed) == 0 &&
         (shape_is(row.type1, kShapeIterated) || shape_is(row.type2, kShapeIterated));
}

// contacts that a pair of types has room for, in either order; 0 where the types do not collide
constexpr int pair_capacity(int type1, int type2) {
  const int kind = type1 < type2 ? pair_kind(type1, type2) : pair_kind(type2, type1);
  return kind < 0 ? 0 : kPairKindRows[kind].capacity;
}
// the same for kernels, as kShapeIs
template <int kType1, int kType2>
constexpr int kPairCapacity = pair_capacity(kType1, kType2);

// the largest of them: room for any one pair
constexpr int max_pair_capacity() {
  int most = 0;
  for (const PairKindRow& row : kPairKindRows) most = most > row.capacity ? most : row.capacity;
  return most;
}

}  // namespace dualstep

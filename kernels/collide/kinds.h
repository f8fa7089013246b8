// The kinds of collision by the types of their geoms, and how many contacts each has room for: what the
// tables of candidate pairs and the narrow phase agree on. No functions, so host code can read it too.
#pragma once

namespace dualstep {

// MuJoCo's mjtGeom
enum : int {
  kGeomPlane = 0,
  kGeomSphere = 2,
  kGeomCapsule = 3,
  kGeomEllipsoid = 4,
  kGeomCylinder = 5,
  kGeomBox = 6,
  kGeomMesh = 7
};

// X(first type, second type, pair function, capacity): first <= second; a pair given the other way round is
// swapped by the caller, since the normal points from the first shape to the second. The capacity is the most
// contacts that the function returns
#define DS_PAIRS(X)                                         \
  X(kGeomPlane, kGeomSphere, plane_sphere, 1)               \
  X(kGeomPlane, kGeomCapsule, plane_capsule, 2)             \
  X(kGeomPlane, kGeomCylinder, plane_cylinder, 4)           \
  X(kGeomPlane, kGeomBox, plane_box, 4)                     \
  X(kGeomSphere, kGeomSphere, sphere_sphere, 1)             \
  X(kGeomSphere, kGeomCapsule, sphere_capsule, 1)           \
  X(kGeomSphere, kGeomCylinder, sphere_cylinder, 1)         \
  X(kGeomSphere, kGeomBox, sphere_box, 1)                   \
  X(kGeomCapsule, kGeomCapsule, capsule_capsule, 2)         \
  X(kGeomCapsule, kGeomCylinder, capsule_cylinder, 3)       \
  X(kGeomCapsule, kGeomBox, capsule_box, 2)                 \
  X(kGeomCylinder, kGeomCylinder, cylinder_cylinder, 5)     \
  X(kGeomCylinder, kGeomBox, cylinder_box, 8)               \
  X(kGeomBox, kGeomBox, box_box, 8)                         \
  X(kGeomPlane, kGeomEllipsoid, plane_ellipsoid, 1)         \
  X(kGeomSphere, kGeomEllipsoid, sphere_ellipsoid, 1)       \
  X(kGeomCapsule, kGeomEllipsoid, capsule_ellipsoid, 1)     \
  X(kGeomEllipsoid, kGeomEllipsoid, ellipsoid_ellipsoid, 1) \
  X(kGeomEllipsoid, kGeomCylinder, ellipsoid_cylinder, 1)   \
  X(kGeomEllipsoid, kGeomBox, ellipsoid_box, 1)             \
  X(kGeomPlane, kGeomMesh, plane_mesh, 4)                   \
  X(kGeomSphere, kGeomMesh, sphere_mesh, 1)                 \
  X(kGeomCapsule, kGeomMesh, capsule_mesh, 2)               \
  X(kGeomEllipsoid, kGeomMesh, ellipsoid_mesh, 1)           \
  X(kGeomCylinder, kGeomMesh, cylinder_mesh, 4)             \
  X(kGeomBox, kGeomMesh, box_mesh, 4)                       \
  X(kGeomMesh, kGeomMesh, mesh_mesh, 4)

enum PairKind : int {
#define DS_KIND(type1, type2, function, capacity) kKind_##function,
  DS_PAIRS(DS_KIND)
#undef DS_KIND
      kPairKinds
};

struct PairKindRow {
  int type1, type2, capacity;
};
inline constexpr PairKindRow kPairKindRows[] = {
#define DS_ROW(type1, type2, function, capacity) {type1, type2, capacity},
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

// contacts that a pair of types has room for, in either order; 0 where the types do not collide
constexpr int pair_capacity(int type1, int type2) {
  const int kind = type1 < type2 ? pair_kind(type1, type2) : pair_kind(type2, type1);
  return kind < 0 ? 0 : kPairKindRows[kind].capacity;
}

// the largest of them: room for any one pair
constexpr int max_pair_capacity() {
  int most = 0;
  for (const PairKindRow& row : kPairKindRows) most = most > row.capacity ? most : row.capacity;
  return most;
}

}  // namespace dualstep

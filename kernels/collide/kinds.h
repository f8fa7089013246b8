// The kinds of collision by the types of their geoms, and how many contacts each has room for: what the
// tables of candidate pairs and the narrow phase agree on. No functions, so host code can read it too.
#pragma once

namespace dualstep {

// X(pair function, first type, second type, capacity): types are MuJoCo's mjtGeom values, first <= second.
// The capacity is the most contacts that MuJoCo 4 finds for such a pair.
#define DS_PAIR_KINDS(X)        \
  X(plane_sphere, 0, 2, 1)      \
  X(plane_capsule, 0, 3, 2)     \
  X(plane_cylinder, 0, 5, 4)    \
  X(plane_box, 0, 6, 4)         \
  X(sphere_sphere, 2, 2, 1)     \
  X(sphere_capsule, 2, 3, 1)    \
  X(sphere_cylinder, 2, 5, 1)   \
  X(sphere_box, 2, 6, 1)        \
  X(capsule_capsule, 3, 3, 2)   \
  X(capsule_cylinder, 3, 5, 5)  \
  X(capsule_box, 3, 6, 4)       \
  X(cylinder_cylinder, 5, 5, 5) \
  X(cylinder_box, 5, 6, 5)      \
  X(box_box, 6, 6, 8)

enum PairKind : int {
#define DS_KIND(function, type1, type2, capacity) kKind_##function,
  DS_PAIR_KINDS(DS_KIND)
#undef DS_KIND
      kPairKinds
};

struct PairKindRow {
  int type1, type2, capacity;
};
inline constexpr PairKindRow kPairKindRows[] = {
#define DS_ROW(function, type1, type2, capacity) {type1, type2, capacity},
    DS_PAIR_KINDS(DS_ROW)
#undef DS_ROW
};

// the kind for two types in the order of the pair function; -1 where they do not collide
constexpr int pair_kind(int type1, int type2) {
  for (int k = 0; k < kPairKinds; k++) {
    if (kPairKindRows[k].type1 == type1 && kPairKindRows[k].type2 == type2) return k;
  }
  return -1;
}

}  // namespace dualstep

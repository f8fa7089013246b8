// What a pair function takes and gives. Pair functions are pure: they read two shapes and a margin, and write
// at most K contacts; none touches the workspace.
#pragma once

#include "kernels/base/spatial.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// of a shape's size: contacts closer than this are one
constexpr double kContactsApart = 0.01;

// a geom in the world: centre, orientation (columns are its axes), MuJoCo's size numbers
template <class Real>
struct Shape {
  Vec3<Real> pos;
  Mat3<Real> rot;
  Vec3<Real> size;
};

// contacts of a pair, in a fixed order of slots k; hit[k] says whether slot k is in use (dist[k] < margin).
// The normal points from the first shape to the second; pos is midway between the two surfaces; dist is
// negative in penetration. `tangent` is a hint for the direction of t1 (zero: the frame's own rule).
template <class Real, int K>
struct Manifold {
  static constexpr int kCapacity = K;
  Real dist[K];
  Vec3<Real> pos[K];
  Vec3<Real> normal[K];
  Vec3<Real> tangent;
  MaskOf<Real> hit[K];
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

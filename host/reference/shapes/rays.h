// Where a ray p + t v, t >= 0, first meets parts of surfaces: what the shapes' hooks for rays are made of.
#pragma once

#include "host/reference/shapes/hooks.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

// the hit of the smallest t >= 0 of those offered
struct NearestHit : RayHit {
  // `outwards` at the hit: of any length but zero
  void offer(double candidate, const Vector3d& outwards) {
    if (!(candidate >= 0 && (t < 0 || candidate < t))) return;
    t = candidate;
    normal = outwards.normalized();
  }
};

// roots of a t^2 + 2 b t + c = 0, smaller first; false where there are none
bool roots(double a, double b, double c, double t[2]);
// the round wall of a cylinder along z, where |z| <= half
void offer_wall(double radius, double half, const Vector3d& p, const Vector3d& v, NearestHit* best);
// the part of a sphere around z = height that lies beyond it
void offer_cap(double radius, double height, const Vector3d& p, const Vector3d& v, NearestHit* best);
// p + t v = a + x (b - a) + y (c - a)
void offer_triangle(const Vector3d& a, const Vector3d& b, const Vector3d& c, const Vector3d& p,
                    const Vector3d& v, NearestHit* best);
// the six faces of a box
void offer_box(const Vector3d& half, const Vector3d& p, const Vector3d& v, NearestHit* best);

}  // namespace dualstep::reference

// A plane: through its centre, its normal along z, infinite to what touches it.
//
// solves    the hooks of hooks.h
// equation  a sphere reaches it where n.d < r + margin;  a ray meets it from above at t = -p_z / v_z
// source    MuJoCo's documentation, "geom" and mj_ray
// deviation none: rays meet it within its size where that is not zero, as in MuJoCo
// reads     its arguments; geom_xmat
// writes    its arguments
// cost      O(1)
#pragma once

#include "kernels/collide/shapes/hooks.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the axis of a plane's frame that is its normal
constexpr int kPlaneNormal = 2;

template <>
struct ShapeHooks<kPlane> : ShapeDefaults<kPlane> {
  template <class E, class Real = typename E::Real>
  DS_HD static MaskOf<Real> may_reach(const E& env, int g, const Vec3<Real>& d, const Real& reach) {
    return dot(column(env.geom_xmat().mat(g), kPlaneNormal), d) < reach;
  }
  template <class Real>
  DS_HD static void offer_ray(const Vec3<Real>& size, const Vec3<Real>& p, const Vec3<Real>& v,
                              NearestHit<Real>* hit) {
    const auto down = v.z < Real(-kMinVal);
    const Real x = -p.z / select(down, v.z, Real(1)), zero(0);
    const auto wide = mask_or(size.x <= zero, abs(fma(x, v.x, p.x)) <= size.x);
    const auto deep = mask_or(size.y <= zero, abs(fma(x, v.y, p.y)) <= size.y);
    hit->offer(x, mask_and(down, mask_and(wide, deep)));
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

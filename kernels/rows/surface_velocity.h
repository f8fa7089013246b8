// Surfaces that move while their geoms do not: belts, treadmills, turntables.
//
// solves    of each contact the velocity of the second geom's surface less the first's, along t1 and t2 and about n
// equation  sigma(x) = v + omega x (x - p),   p a geom's origin; v and omega turn with it: kept in its body's frame
//           the rows of a contact see   J v + (0, sigma.t1, sigma.t2, omega.n, 0, 0)   in place of J v
// source    MuJoCo's documentation, "geom/surfacevel"
// deviation none
// reads     xpos, xquat, con_pair, con_dim, con_pos, con_frame
// writes    con_surface
// cost      40 operations a contact; nothing in models whose surfaces stand still
#pragma once

#include "kernels/rows/kinds/contact_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E>
DS_STAGE void surface_velocities(E& env) {
  using Real = typename E::Real;
  const auto out = env.con_surface();
  env.each(env.ncon_max, [&](int slot) {
    const Vec3<Real> none{Real(0), Real(0), Real(0)}, pos = env.con_pos().vec(slot);
    Spatial<Real> sum{none, none};
    each_pair_in(env, slot, [&](int pair, const auto& here) {
      for (int of = 0; of < kPairSides; of++) {
        const int geom = geom_of_pair(env.t, pair, of), body = env.t.geom_body[geom];
        const Quat<Real> q = env.xquat().quat(body);
        const Vec3<Real> own{env.surface_ang(geom, 0), env.surface_ang(geom, 1), env.surface_ang(geom, 2)};
        const Vec3<Real> at_origin{env.surface_lin(geom, 0), env.surface_lin(geom, 1),
                                   env.surface_lin(geom, 2)};
        const Vec3<Real> ang = rotate(q, own),
                         lin = rotate(q, at_origin) + cross(ang, pos - env.xpos().vec(body));
        const Real sign(of == 0 ? -1 : 1);
        sum.ang = select3(here, axpy(ang, sign, sum.ang), sum.ang);
        sum.lin = select3(here, axpy(lin, sign, sum.lin), sum.lin);
      }
    });
    const auto frame = frame_of(env, slot);
    const Vec3<Real> n = frame.vec_at(kFrameNormal);
    Vec3<Real> t1, t2;
    contact_frame(n, frame.vec_at(kFrameTangent), &t1, &t2);
    out.set(slot, Vec3<Real>{dot(t1, sum.lin), dot(t2, sum.lin), dot(n, sum.ang)});
  });
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Energies of an environment; all lanes find them together.
//
// solves    potential and kinetic energy
// equation  -sum of m g'x + 1/2 sum of k |q - q_spring|^2 (of tendons the stretch),   1/2 v' M v
// source    MuJoCo's documentation of mjData
// deviation none
// reads     qpos, qvel, xipos, M
// writes    momentum
// cost      O(nbody + njnt), and a product with M
#pragma once

#include "kernels/smooth/bias.h"
#include "kernels/smooth/factorize.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
struct EnergyOf {
  Real potential, kinetic;
};

template <class E>
DS_STAGE EnergyOf<typename E::Real> energy_of(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Vec3<Real> g = gravity_of(env);
  Real potential = env.accumulate(t.n.nbody, [&](int b, const Real& s) {
    return b == 0 ? s : s - env.body_mass(b) * dot(g, env.xipos().vec(b));
  });
  if (!disabled(t.o, kDisableSpring))
    potential = potential + env.accumulate(t.n.njnt, [&](int j, const Real& s) {
      const Real k = env.jnt_stiffness(j);
      int adr = t.jnt_qposadr[j];
      Real d2(0);
      if (is_scalar_joint(t.jnt_type[j])) {
        const Real d = env.qpos()[adr] - env.qpos_spring(adr);
        d2 = d * d;
      } else {
        if (t.jnt_type[j] == kFree) {
          for (int i = 0; i < 3; i++) {
            const Real d = env.qpos()[adr + i] - env.qpos_spring(adr + i);
            d2 = fma(d, d, d2);
          }
          adr += 3;
        }
        const Quat<Real> rest{env.qpos_spring(adr), env.qpos_spring(adr + 1), env.qpos_spring(adr + 2),
                              env.qpos_spring(adr + 3)};
        const Vec3<Real> d = rotation_vector(mul(conjugate(rest), normalize(env.qpos().quat_at(adr))));
        d2 = d2 + dot(d, d);
      }
      return fma(Real(0.5) * k, d2, s);
    });
  if (!disabled(t.o, kDisableSpring) && t.o.has_ten_passive)
    potential = potential + env.accumulate(t.n.ntendon, [&](int ten, const Real& s) {
      const Real L = env.ten_length()[ten];
      const Real d = L - clamp(L, env.ten_spring_lower(ten), env.ten_spring_upper(ten));
      return fma(Real(0.5) * env.ten_stiffness(ten), d * d, s);
    });
  multiply_M(env, env.qvel(), env.momentum());
  const Real kinetic = Real(0.5) * env.accumulate(t.n.nv, [&](int i, const Real& s) {
    return fma(env.momentum()[i], env.qvel()[i], s);
  });
  return {potential, kinetic};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

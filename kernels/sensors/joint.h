// Sensors of joints: positions, velocities, actuator forces, and limits.
//
// solves    jointpos, jointvel, jointactuatorfrc, ballquat, ballangvel; jointlimitpos, -vel, -frc
// equation  of the first row of a limit that is in use: its r (distance less margin), J v, and force; 0 where none is
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     qpos, qvel, qfrc_actuator, lim_y, lim_D, dense_y, dense_D
// writes    sensordata
// cost      O(1)
#pragma once

#include "kernels/rows/kinds/kinds.h"
#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct JointSensors {
  DS_HD static constexpr bool serves(int type) {
    return type == kJointPos || type == kJointVel || type == kJointActFrc || type == kBallQuat ||
           type == kBallAngVel;
  }
  template <class E, class F>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int j = t.sensor_objid[s], adr = t.jnt_qposadr[j], dof = t.jnt_dofadr[j];
    if (t.sensor_type[s] == kBallQuat)
      out.set_at(0, normalize(env.qpos().quat_at(adr)));
    else if (t.sensor_type[s] == kBallAngVel)
      put_reading(out, 0, env.qvel().vec_at(dof));
    else
      out[0] = t.sensor_type[s] == kJointPos   ? env.qpos()[adr]
               : t.sensor_type[s] == kJointVel ? env.qvel()[dof]
                                               : env.qfrc_actuator()[dof];
  }
};

struct JointLimitSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kJointLimitPos && type <= kJointLimitFrc; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int j = t.sensor_objid[s], adr = t.jnt_qposadr[j], dof = t.jnt_dofadr[j];
    const int type = t.sensor_type[s], limit = t.sensor_limit[s];
    Real found(0);
    auto open = all_true<Real>();
    const auto offer = [&](const Real& D, const Real& r, const Real& rate, const Real& y) {
      const Real x = type == kJointLimitPos ? r : type == kJointLimitVel ? rate : OneSided::force(y, D);
      const auto here = mask_and(open, D > Real(0));
      found = select(here, x, found);
      open = mask_and(open, mask_not(here));
    };
    if (limit >= 0 && t.jnt_type[j] != kBall) {
      for (int side = 0; side < kLimitSides; side++) {
        const int row = side_of_limit(limit, side);
        const Real sign(side == kUpperSide ? -1 : 1);
        offer(env.lim_D()[row], sign * (env.qpos()[adr] - env.lim_range(row)) - env.lim_margin(limit),
              sign * env.qvel()[dof], env.lim_y()[row]);
      }
    } else if (limit >= 0) {
      const Vec3<Real> turn = rotation_vector(normalize(env.qpos().quat_at(adr)));
      Real angle;
      const Vec3<Real> axis = normalize(turn, Vec3<Real>{Real(1), Real(0), Real(0)}, &angle);
      const int row = DenseKinds::first_of<BallLimits>(env) + limit;
      offer(env.dense_D()[row], env.ball_range(limit) - angle - env.ball_margin(limit),
            -dot(axis, env.qvel().vec_at(dof)), env.dense_y()[row]);
    }
    out[0] = found;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Sensors of joints: positions, velocities, actuator forces.
//
// solves    jointpos, jointvel, jointactuatorfrc, ballquat, ballangvel
// equation  what the state holds; quaternions are normalized
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     qpos, qvel, qfrc_actuator
// writes    sensordata
// cost      O(1)
#pragma once

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

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

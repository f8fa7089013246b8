// Sensors of actuators.
//
// solves    actuatorpos, actuatorvel, actuatorfrc
// equation  length and velocity of the transmission, which counts as zero where actuation is disabled; the scalar force
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     qpos, qvel, actuator_force
// writes    sensordata
// cost      O(dofs that the actuator acts on)
#pragma once

#include "kernels/sensors/sensor.h"
#include "kernels/smooth/actuation.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct ActuatorSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kActuatorPos && type <= kActuatorFrc; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const int a = env.t.sensor_objid[s], type = env.t.sensor_type[s];
    if (type == kActuatorFrc) {
      out[0] = env.actuator_force()[a];
      return;
    }
    Real length, velocity;
    transmission(env, a, &length, &velocity);
    if (disabled(env.t.o, kDisableActuation)) velocity = Real(0);
    out[0] = type == kActuatorPos ? length : velocity;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

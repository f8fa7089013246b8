// Sensors of tendons: lengths, rates, actuator forces.
//
// solves    tendonpos, tendonvel, tendonactuatorfrc
// equation  L, dL/dt, the sum of the forces of its actuators
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     ten_length, ten_velocity, actuator_force
// writes    sensordata
// cost      O(1); of forces O(nactuator)
#pragma once

#include "kernels/sensors/sensor.h"
#include "kernels/smooth/actuators/transmission.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct TendonSensors {
  DS_HD static constexpr bool serves(int type) {
    return type == kTendonPos || type == kTendonVel || type == kTendonActFrc;
  }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int ten = t.sensor_objid[s], type = t.sensor_type[s];
    if (type != kTendonActFrc) {
      out[0] = type == kTendonPos ? env.ten_length()[ten] : env.ten_velocity()[ten];
      return;
    }
    Real sum(0);
    for (int a = 0; a < t.n.nactuator; a++)
      if (tendon_of(t, a) == ten) sum = sum + env.actuator_force()[a];
    out[0] = sum;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

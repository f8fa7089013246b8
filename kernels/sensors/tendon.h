// Sensors of tendons: lengths, rates, actuator forces, and limits.
//
// solves    tendonpos, tendonvel, tendonactuatorfrc; tendonlimitpos, -vel, -frc
// equation  L, dL/dt, the sum of the forces of its actuators; of the first row of a limit that is in use: its r
//           (distance less margin), J v, and force; 0 where none is
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     ten_length, ten_velocity, actuator_force, dense_y, dense_D
// writes    sensordata
// cost      O(1); of forces O(nactuator)
#pragma once

#include "kernels/rows/kinds/kinds.h"
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

struct TendonLimitSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kTendonLimitPos && type <= kTendonLimitFrc; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int ten = t.sensor_objid[s], type = t.sensor_type[s], limit = t.sensor_limit[s];
    Real found(0);
    auto open = all_true<Real>();
    for (int side = 0; limit >= 0 && side < kLimitSides; side++) {
      const int row = DenseKinds::first_of<TendonLimits>(env) + side_of_limit(limit, side);
      const bool upper = side == kUpperSide;
      const Real sign(upper ? -1 : 1), bound = upper ? env.tenlim_upper(limit) : env.tenlim_lower(limit);
      const Real D = env.dense_D()[row];
      const Real x = type == kTendonLimitPos
                         ? sign * (env.ten_length()[ten] - bound) - env.tenlim_margin(limit)
                     : type == kTendonLimitVel ? sign * env.ten_velocity()[ten]
                                               : OneSided::force(Real(env.dense_y()[row]), D);
      const auto here = mask_and(open, D > Real(0));
      found = select(here, x, found);
      open = mask_and(open, mask_not(here));
    }
    out[0] = found;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Sensors of the whole environment.
//
// solves    e_potential, e_kinetic, clock
// equation  the energies (kernels/smooth/energy.h); the time
// source    MuJoCo's documentation, "Sensors"
// deviation a clock shows the time at which the reading is there: after a step, that of its end
// reads     time
// writes    sensordata
// cost      O(1)
#pragma once

#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct GlobalSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kPotential && type <= kClock; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    using Scalar = typename E::Scalar;
    const E& env = at.env;
    const int type = env.t.sensor_type[s];
    if (type != kClock) {
      out[0] = type == kPotential ? at.potential : at.kinetic;
      return;
    }
    Real time(0);
    for (int l = 0; l < E::kPack; l++) {
      const bool steps = at.in.args.action == Action::kStep && !mask_bit(env.diverged, l);
      const double now = at.in.batch.time[at.in.row(l)];
      set_lane(time, l, Scalar(steps ? now + static_cast<double>(env.t.o.timestep_exact) : now));
    }
    out[0] = time;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Sensors of limits: the distance, the rate and the force of the limits of a joint or of a tendon.
//
// solves    jointlimitpos, -vel, -frc; tendonlimitpos, -vel, -frc
// equation  of the first row of the limit that is in use: its r (distance less margin), J v, and force; 0 where none is
// source    MuJoCo's documentation, "Sensors"
// deviation none
// reads     qpos, qvel, lim_y, lim_D, ten_length, ten_velocity, dense_y, dense_D
// writes    sensordata
// cost      O(1)
#pragma once

#include "kernels/rows/kinds/kinds.h"
#include "kernels/sensors/sensor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// what is read of a row, in the order of both families of MuJoCo's sensors
enum LimitQuantity : int { kLimitDistance, kLimitRate, kLimitForce };
static_assert(kJointLimitFrc - kJointLimitPos == kLimitForce &&
              kTendonLimitFrc - kTendonLimitPos == kLimitForce);

// of the first row in use among those that are offered
template <class Real>
struct FirstLimit {
  int quantity;
  Real found = Real(0);
  MaskOf<Real> open = all_true<Real>();
  DS_HD void offer(const LimitReading<Real>& row) {
    const Real x = quantity == kLimitDistance ? row.distance : quantity == kLimitRate ? row.rate : row.force;
    const auto here = mask_and(open, row.weight > Real(0));
    found = select(here, x, found);
    open = mask_and(open, mask_not(here));
  }
};

struct JointLimitSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kJointLimitPos && type <= kJointLimitFrc; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int limit = t.sensor_limit[s];
    FirstLimit<Real> first{t.sensor_type[s] - kJointLimitPos};
    if (limit >= 0 && t.jnt_type[t.sensor_objid[s]] == kBall)
      first.offer(BallLimits::reading(env, DenseKinds::first_of<BallLimits>(env), limit));
    else if (limit >= 0)
      for (int side = 0; side < kLimitSides; side++)
        first.offer(Limits<E>{env}.reading(side_of_limit(limit, side)));
    out[0] = first.found;
  }
};

struct TendonLimitSensors {
  DS_HD static constexpr bool serves(int type) { return type >= kTendonLimitPos && type <= kTendonLimitFrc; }
  template <class E, class F, class Real = typename E::Real>
  DS_STAGE static void read(const SensorView<E>& at, int s, const F& out) {
    const E& env = at.env;
    const auto& t = env.t;
    const int limit = t.sensor_limit[s], row = DenseKinds::first_of<TendonLimits>(env);
    FirstLimit<Real> first{t.sensor_type[s] - kTendonLimitPos};
    for (int side = 0; limit >= 0 && side < kLimitSides; side++)
      first.offer(TendonLimits::reading(env, row, side_of_limit(limit, side)));
    out[0] = first.found;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// The kinds of actuators, as MuJoCo divides them: how one acts on the joints (transmission), how its activation
// moves (dynamics), and what force follows (gain, bias). A motor is dynamics, gain and bias in one. A kind is a struct in
// a file of this folder and a name in a list here; host code refuses what no kind serves. Beside serves(code) it has
//
//   transmission   motion(env, a, &length, &velocity), moment(env, a, c); kTurn, the first number of its gear that is
//                  of a turn, where that is not 0
//   dynamics       rate(env, a, u, act), next(env, a, act, rate); kShorterWay, where u is brought nearest to act on a
//                  circle
//   gain, bias     apply(env, a, &force): first the gain, then the bias
#pragma once

#include "kernels/smooth/actuators/controls.h"
#include "kernels/smooth/actuators/dcmotor.h"
#include "kernels/smooth/actuators/dynamics.h"
#include "kernels/smooth/actuators/force.h"
#include "kernels/smooth/actuators/muscle.h"
#include "kernels/smooth/actuators/transmission.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class... Kinds>
struct ActuatorKinds {
  // calls f(kind) for the kind that serves a code of MuJoCo's
  template <class F>
  DS_HD static void with(int code, F f) {
    (void)((Kinds::serves(code) && (f(Kinds{}), true)) || ...);
  }
  static constexpr bool serve(int code) { return (Kinds::serves(code) || ...); }
};

using Transmissions = ActuatorKinds<TendonTransmission, SiteTransmission, JointTransmission>;
using Dynamics =
    ActuatorKinds<NoDynamics, IntegratorDynamics, FilterDynamics, ExactFilterDynamics, MuscleDynamics>;
using Gains = ActuatorKinds<FixedGain, AffineGain, MuscleGain>;
using Motors = ActuatorKinds<DCMotor>;
using Biases = ActuatorKinds<NoBias, AffineBias, MuscleBias>;

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

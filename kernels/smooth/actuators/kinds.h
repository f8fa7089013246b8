// The kinds of actuators, as MuJoCo divides them: how one acts on the joints (transmission), how its activation
// moves (dynamics), and what force follows (gain, bias). A motor, or a servo, is dynamics, gain and bias in one. A kind
// is a struct in a file of this folder, and a row of a list of data/actuators.h that names it. Its hooks are
//
//   transmission   motion(env, a, &length, &velocity), moment(env, a, c); kTurn, the first number of its gear that is
//                  of a turn, where that is not 0
//   dynamics       rate(env, a, u, act), next(env, a, act, rate); kShorterWay, where u is brought nearest to act on a
//                  circle
//   gain, bias     apply(env, a, &force): first the gain, then the bias
//   motor          apply(env, a, off, &force), next(env, a, adr, act, rate)
#pragma once

#include "kernels/smooth/actuators/controls.h"
#include "kernels/smooth/actuators/dcmotor.h"
#include "kernels/smooth/actuators/dynamics.h"
#include "kernels/smooth/actuators/force.h"
#include "kernels/smooth/actuators/muscle.h"
#include "kernels/smooth/actuators/pid.h"
#include "kernels/smooth/actuators/transmission.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a row: a code of MuJoCo's, and the kind that serves it
template <int kRowCode, class RowKind>
struct ServedCode {
  using Kind = RowKind;
  static constexpr int kCode = kRowCode;
};
template <class One, class Other>
inline constexpr bool kSameKind = false;
template <class One>
inline constexpr bool kSameKind<One, One> = true;

// the rows follow a comma each
template <class Nothing, class... Rows>
class ActuatorKinds {
  template <class Kind>
  DS_HD static constexpr bool serves(int code) {
    return ((kSameKind<Kind, typename Rows::Kind> && code == Rows::kCode) || ...);
  }
  // a kind that serves several codes is asked once, at the first of them
  template <class Row, class F>
  DS_HD static bool ask(int code, F& f) {
    using Kind = typename Row::Kind;
    if constexpr (((!kSameKind<Kind, typename Rows::Kind> || Row::kCode <= Rows::kCode) && ...))
      return serves<Kind>(code) && (f(Kind{}), true);
    else
      return false;
  }

 public:
  // calls f(kind) for the kind that serves a code of MuJoCo's
  template <class F>
  DS_HD static void with(int code, F f) {
    (void)(ask<Rows>(code, f) || ...);
  }
};

#define DS_SERVED(code, word, kind, ...) , ServedCode<code, kind>
#define DS_NOT_SERVED(...)
using Transmissions = ActuatorKinds<void DS_TRANSMISSIONS(DS_SERVED, DS_NOT_SERVED)>;
using Dynamics = ActuatorKinds<void DS_DYNAMICS(DS_SERVED, DS_NOT_SERVED)>;
using Gains = ActuatorKinds<void DS_GAINS(DS_SERVED, DS_NOT_SERVED)>;
using Biases = ActuatorKinds<void DS_BIASES(DS_SERVED, DS_NOT_SERVED)>;
#undef DS_SERVED
#undef DS_NOT_SERVED
// by the codes of their gains
#define DS_SERVED(dynamics, gain, bias, word, traits, kind) , ServedCode<gain, kind>
using Motors = ActuatorKinds<void DS_MOTORS(DS_SERVED)>;
#undef DS_SERVED

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Gains and biases: the force of an actuator, and its slopes by velocity and by length.
//
// solves    f = gain(l, ld) u + bias(l, ld), df/dld, df/dl
// equation  fixed gain g_0;  affine gain g_0 + g_1 l + g_2 ld
//           no bias 0;       affine bias b_0 + b_1 l + b_2 ld
// source    MuJoCo's documentation, "Actuation model", "Force generation"
// deviation none
// reads     act_gainprm, act_biasprm
// writes    none
// cost      O(1)
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// what a gain and a bias are asked with, and add to
template <class Real>
struct ActuatorForce {
  Real u, length, velocity;
  Real force, slope;
  Real by_length;
};

struct FixedGain {
  template <class E, class Real>
  DS_HD static void apply(const E& env, int a, ActuatorForce<Real>* f) {
    f->force = env.act_gain_constant(a) * f->u;
  }
};
struct AffineGain {
  template <class E, class Real>
  DS_HD static void apply(const E& env, int a, ActuatorForce<Real>* f) {
    const Real gain = fma(env.act_gain_velocity(a), f->velocity,
                          fma(env.act_gain_length(a), f->length, env.act_gain_constant(a)));
    f->slope = env.act_gain_velocity(a) * f->u;
    f->by_length = env.act_gain_length(a) * f->u;
    f->force = gain * f->u;
  }
};
struct NoBias {
  template <class E, class Real>
  DS_HD static void apply(const E&, int, ActuatorForce<Real>*) {}
};
struct AffineBias {
  template <class E, class Real>
  DS_HD static void apply(const E& env, int a, ActuatorForce<Real>* f) {
    const Real bias = fma(env.act_bias_velocity(a), f->velocity,
                          fma(env.act_bias_length(a), f->length, env.act_bias_constant(a)));
    f->force = f->force + bias;
    f->slope = f->slope + env.act_bias_velocity(a);
    f->by_length = f->by_length + env.act_bias_length(a);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

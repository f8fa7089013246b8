// Muscles: activation by excitation, and force over length and velocity.
//
// solves    d act/dt; f = gain(l, ld) u + bias(l), df/dld, df/dl
// equation  with l and ld of the actuator, L = l / L0 shifted and V = ld / (L0 vmax):
//             gain = -F FL(L) FV(V),  bias = -F fpmax FP(L)
//             FL   two parabolas about 1 that meet halfway to lmin and to lmax; 0 outside (lmin, lmax)
//             FV   (1 + V)^2 from -1 to 0, then fvmax - (fvmax - 1 - V)^2 / (fvmax - 1), then fvmax
//             FP   parabola from 1 to halfway to lmax, then its tangent
//           activation  rate = (u - act) / tau, u within [0, 1]; with s = 1/2 + 3/2 act, act within [0, 1], tau is
//             tau_act s where u > act, tau_deact / s where not, blended by a quintic over the width tausmooth
// source    MuJoCo's documentation, "Actuation model", "Muscles"; Millard, Uchida, Seth & Delp 2013
// deviation none. What only parameters decide (F, L0, slopes of the parabolas) is a row of the tables
// reads     act_dynprm, act_muscle
// writes    none
// cost      O(1)
#pragma once

#include "kernels/smooth/actuators/dynamics.h"
#include "kernels/smooth/actuators/force.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

struct MuscleDynamics : EulerStep {
  template <class E, class Real = typename E::Real>
  DS_FN static Real rate(const E& env, int a, const Real& u, const Real& act) {
    const Real zero(0), one(1), half(0.5), tiny(kMinVal);
    const Real scale = fma(Real(1.5), clamp(act, zero, one), half);
    const Real rising = env.act_time_constant(a) * scale, falling = env.act_fall_time(a) / scale;
    const Real difference = clamp(u, zero, one) - act, width = env.act_smoothing(a);
    const Real x = clamp(difference / max(width, tiny) + half, zero, one);
    const Real blend = x * x * x * fma(Real(3) * x, fma(Real(2), x, Real(-5)), Real(10));
    const Real tau = select(width < tiny, select(difference > zero, rising, falling),
                            fma(rising - falling, blend, falling));
    return difference / max(tau, tiny);
  }
};

struct MuscleGain {
  // FL, and its slope by L
  template <class E, class Real = typename E::Real>
  DS_FN static Real over_length(const E& env, int a, const Real& length, Real* by_L) {
    const Real half(0.5), one(1), zero(0);
    const Real lmin = env.muscle_lmin(a), lmax = env.muscle_lmax(a);
    const Real L = fma(length, env.muscle_per_length(a), env.muscle_offset(a));
    const auto below = L <= one;
    const Real slope = select(below, env.muscle_rise(a), env.muscle_fall(a));
    const Real middle = half * (select(below, lmin, lmax) + one);
    // distances from the end and from the top
    const Real end = select(below, L - lmin, lmax - L) * slope, top = (one - L) * slope;
    const auto outer = select(below, middle - L, L - middle) >= zero, within = mask_and(L >= lmin, L <= lmax);
    const Real curve = select(outer, half * end * end, fma(-half, top * top, one));
    *by_L = select(within, select(outer, select(below, end, -end), top) * slope, zero);
    return select(within, curve, zero);
  }
  // FV and its slope
  template <class E, class Real = typename E::Real>
  DS_FN static void over_velocity(const E& env, int a, const Real& V, Real* curve, Real* slope) {
    const Real zero(0), one(1), two(2), fvmax = env.muscle_fvmax(a), end = fvmax - one;
    const Real per = env.muscle_stretch(a), left = end - V, right = V + one;
    const auto shortens = V <= zero, slow = V <= end, fast = V <= -one;
    const Real lengthening = select(slow, fma(-left * left, per, fvmax), fvmax);
    *curve = select(fast, zero, select(shortens, right * right, lengthening));
    *slope = select(fast, zero, select(shortens, two * right, select(slow, two * left * per, zero)));
  }
  template <class E, class Real>
  DS_FN static void apply(const E& env, int a, ActuatorForce<Real>* f) {
    Real curve, slope;
    over_velocity(env, a, Real(f->velocity * env.muscle_per_speed(a)), &curve, &slope);
    Real by_L;
    const Real strength = -(env.muscle_peak(a) * over_length(env, a, f->length, &by_L)) * f->u;
    f->force = strength * curve;
    f->slope = strength * (slope * env.muscle_per_speed(a));
    f->by_length = -(env.muscle_peak(a) * (by_L * env.muscle_per_length(a))) * f->u * curve;
  }
};

struct MuscleBias {
  template <class E, class Real>
  DS_FN static void apply(const E& env, int a, ActuatorForce<Real>* f) {
    const Real half(0.5), one(1), zero(0), per = env.passive_fall(a);
    const Real L = fma(f->length, env.passive_per_length(a), env.passive_offset(a));
    const Real near = (L - one) * per, far = fma(L - env.passive_knee(a), per, half);
    const Real curve = select(L <= one, zero, select(L <= env.passive_knee(a), half * near * near, far));
    f->force = fma(-env.passive_peak(a), curve, f->force);
    const Real by_L = select(L <= one, zero, select(L <= env.passive_knee(a), near, one)) * per;
    f->by_length = fma(-env.passive_peak(a), by_L * env.passive_per_length(a), f->by_length);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

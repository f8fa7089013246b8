// MuJoCo's soft constraints in numbers: stiffness and damping of the reference acceleration, and the impedance.
//
//   aref = -B v - K imp(r) r,   R = (1 - imp) / imp * A,   imp = d0 + y(|r| / width) (dmax - d0)
//
// Source: MuJoCo's documentation, "Solver parameters" (Todorov 2014 for the model behind it). Deviations: a
// flat impedance (d0 = dmax, or no width) is stored as one that is constant for every r.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "host/model/options.h"

namespace dualstep {

constexpr double kTiny = 1e-15;        // MuJoCo's smallest divisor
constexpr double kMinFriction = 1e-5;  // the least friction coefficient of a MuJoCo contact

struct Impedance {
  std::array<double, 7> table;  // d0, dmax, width, mid, power, 1/mid^(p-1), 1/(1-mid)^(p-1)
  double dmax;                  // as given, clamped: what K and B are scaled by
  double at_zero;               // imp(0)
};

inline Impedance make_impedance(std::span<const double> solimp) {
  const auto unit = [](double d) { return std::clamp(d, 1e-4, 0.9999); };
  double d0 = unit(solimp[0]), dmax = unit(solimp[1]), width = std::max(0.0, solimp[2]);
  double mid = unit(solimp[3]), power = std::max(1.0, solimp[4]);
  const double given = dmax;
  if (d0 == dmax || width <= kTiny) {
    d0 = dmax = 0.5 * (d0 + dmax);
    width = power = 1;
    mid = 0.5;
  }
  const double below = 1 / std::pow(mid, power - 1), above = 1 / std::pow(1 - mid, power - 1);
  return {.table = {d0, dmax, width, mid, power, below, above}, .dmax = given, .at_zero = d0};
}

// R of a friction loss, which has no position: the impedance is that of distance zero
inline double friction_loss_R(const Impedance& imp, double approx_A) {
  return std::max(kTiny, (1 - imp.at_zero) * approx_A / imp.at_zero);
}

struct Softness {
  double K, B;
  double stiffest = 1e300;  // integrator discrete: the largest K imp that a contact or limit may have
};

// a reference that mixes both formats is replaced by `fallback`; a time constant below two steps is raised, but under
// the integrator discrete, whose rows bear any
inline std::array<double, 2> usable_reference(std::span<const double> solref, std::array<double, 2> fallback,
                                              const Options& opt) {
  std::array<double, 2> ref{solref[0], solref[1]};
  if ((ref[0] > 0) != (ref[1] > 0)) ref = fallback;
  const bool safe = !opt.disabled(kDisableRefSafe) && opt.integrator != Integrator::kDiscrete;
  if (ref[0] > 0 && safe) ref[0] = std::max(ref[0], 2 * opt.timestep);
  return ref;
}

// (time constant, damping ratio) where positive, else (-stiffness, -damping)
inline Softness softness_of(const std::array<double, 2>& ref, double dmax) {
  Softness s;
  const double scaled = dmax * ref[0] * ref[1];
  s.K = ref[0] > 0 ? 1 / std::max(kTiny, scaled * scaled) : -ref[0] / std::max(kTiny, dmax * dmax);
  s.B = ref[1] > 0 ? 2 / std::max(kTiny, dmax * ref[0]) : -ref[1] / std::max(kTiny, dmax);
  return s;
}

inline Softness make_softness(std::span<const double> solref, double dmax, const Options& opt) {
  const std::array<double, 2> ref = usable_reference(solref, {0.02, 1}, opt);
  Softness s = softness_of(ref, dmax);
  if (ref[0] > 0 && !opt.disabled(kDisableRefSafe)) s.stiffest = 1 / (opt.timestep * opt.timestep);
  return s;
}

}  // namespace dualstep

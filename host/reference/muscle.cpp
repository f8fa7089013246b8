// Muscles: activation by excitation, and force over length and velocity.
//
// solves    gain, bias and d act/dt
// equation  gain = -F FL(L) FV(V), bias = -F fpmax FP(L), L and V in units of the optimal length L0 and of L0 vmax
//           d act/dt = (u - act) / tau, tau by whether u is above act, blended over the width tausmooth
// source    MuJoCo's documentation, "Actuation model", "Muscles"; Millard, Uchida, Seth & Delp 2013
// cost      O(1)
#include <algorithm>
#include <cmath>

#include "host/model/element_rows.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

double square(double x) { return x * x; }
double within_unit(double x) { return std::min(std::max(x, 0.0), 1.0); }
double at_least_tiny(double x) { return std::max(x, 1e-15); }

struct Muscle {
  Bounds range;
  double force, lmin, lmax, vmax, fpmax, fvmax, L0, shortest;

  Muscle(const Model& m, int i, std::span<const double> prm) : range(bounds(prm.subspan(kMuscleRange, 2))) {
    force = prm[kMuscleForce];
    lmin = prm[kMuscleLmin], lmax = prm[kMuscleLmax], vmax = prm[kMuscleVmax];
    fpmax = prm[kMuscleFpmax], fvmax = prm[kMuscleFvmax];
    // without a force of its own it is as strong as the inertia that it moves
    if (force < 0) force = prm[kMuscleScale] / at_least_tiny(m.actuator_acc0[i]);
    const Bounds lengths = bounds(row::actuator_lengthrange(m, i));
    shortest = lengths.lower;
    L0 = (lengths.upper - shortest) / at_least_tiny(range.upper - range.lower);
  }
  double normalized(double length) const { return range.lower + (length - shortest) / at_least_tiny(L0); }
  double unit_speed() const { return at_least_tiny(L0 * vmax); }

  double active(double L) const {
    if (L < lmin || L > lmax) return 0;
    const double low = (lmin + 1) / 2, high = (1 + lmax) / 2;
    if (L <= low) return square((L - lmin) / at_least_tiny(low - lmin)) / 2;
    if (L <= 1) return 1 - square((1 - L) / at_least_tiny(1 - low)) / 2;
    if (L <= high) return 1 - square((L - 1) / at_least_tiny(high - 1)) / 2;
    return square((lmax - L) / at_least_tiny(lmax - high)) / 2;
  }
  double at_speed(double V) const {
    const double end = fvmax - 1;
    if (V <= -1) return 0;
    if (V <= 0) return square(V + 1);
    return V <= end ? fvmax - square(end - V) / at_least_tiny(end) : fvmax;
  }
  double slope_at_speed(double V) const {
    const double end = fvmax - 1;
    if (V <= -1 || V > std::max(0.0, end)) return 0;
    return V <= 0 ? 2 * (V + 1) : 2 * (end - V) / at_least_tiny(end);
  }
  double active_slope(double L) const {
    if (L < lmin || L > lmax) return 0;
    const double low = (lmin + 1) / 2, high = (1 + lmax) / 2;
    if (L <= low) return (L - lmin) / square(at_least_tiny(low - lmin));
    if (L <= 1) return (1 - L) / square(at_least_tiny(1 - low));
    if (L <= high) return -(L - 1) / square(at_least_tiny(high - 1));
    return -(lmax - L) / square(at_least_tiny(lmax - high));
  }
  double passive_slope(double L) const {
    const double high = (1 + lmax) / 2, width = at_least_tiny(high - 1);
    if (L <= 1) return 0;
    return L <= high ? (L - 1) / square(width) : 1 / width;
  }
  double passive(double L) const {
    const double high = (1 + lmax) / 2, width = at_least_tiny(high - 1);
    if (L <= 1) return 0;
    return L <= high ? square((L - 1) / width) / 2 : 0.5 + (L - high) / width;
  }
};

}  // namespace

double muscle_activation_rate(std::span<const double> dynprm, double ctrl, double act) {
  const double scale = 0.5 + 1.5 * within_unit(act), difference = within_unit(ctrl) - act,
               width = dynprm[kMuscleDynSmooth];
  const double rising = dynprm[kMuscleDynRise] * scale, falling = dynprm[kMuscleDynFall] / scale;
  double tau = difference > 0 ? rising : falling;
  if (width >= 1e-15) {
    const double x = within_unit(difference / width + 0.5);
    tau = falling + (rising - falling) * (6 * std::pow(x, 5) - 15 * std::pow(x, 4) + 10 * std::pow(x, 3));
  }
  return difference / at_least_tiny(tau);
}

double muscle_gain(const Model& m, int i, double length, double velocity) {
  const Muscle muscle(m, i, row::actuator_gainprm(m, i));
  return -muscle.force * muscle.active(muscle.normalized(length)) *
         muscle.at_speed(velocity / muscle.unit_speed());
}

double muscle_gain_slope(const Model& m, int i, double length, double velocity) {
  const Muscle muscle(m, i, row::actuator_gainprm(m, i));
  const double unit = muscle.unit_speed();
  return -muscle.force * muscle.active(muscle.normalized(length)) * muscle.slope_at_speed(velocity / unit) /
         unit;
}

double muscle_gain_stiffness(const Model& m, int i, double length, double velocity) {
  const Muscle muscle(m, i, row::actuator_gainprm(m, i));
  return -muscle.force * muscle.active_slope(muscle.normalized(length)) / at_least_tiny(muscle.L0) *
         muscle.at_speed(velocity / muscle.unit_speed());
}

double muscle_bias_stiffness(const Model& m, int i, double length) {
  const Muscle muscle(m, i, row::actuator_biasprm(m, i));
  return -muscle.force * muscle.fpmax * muscle.passive_slope(muscle.normalized(length)) /
         at_least_tiny(muscle.L0);
}

double muscle_bias(const Model& m, int i, double length) {
  const Muscle muscle(m, i, row::actuator_biasprm(m, i));
  return -muscle.force * muscle.fpmax * muscle.passive(muscle.normalized(length));
}

}  // namespace dualstep::reference

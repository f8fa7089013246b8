// Delays of controls.
//
// solves    what acts at time t
// equation  what was given at t - delay, between samples by hold, line or spline. Samples lie one step apart and end
//           one step ago
// source    MuJoCo's documentation, "Delays"; its cubic is Catmull and Rom's, without slope at either end of the
//           buffer
// deviation a delay of whole steps is so exactly, whatever the clock's rounding
// reads     ctrl, ctrl_history
// cost      O(samples)
#include <cmath>

#include "host/model/element_rows.h"
#include "host/model/unsupported.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// samples oldest first; `back` steps before the newest
double sample(const double* samples, int count, int order, double back) {
  const double at = count - 1 - back;
  if (at <= 0) return samples[0];
  if (at >= count - 1) return samples[count - 1];
  if (std::abs(at - std::round(at)) < 1e-9) return samples[std::lround(at)];
  const int before = static_cast<int>(at);
  const double *lo = samples + before, *hi = lo + 1, s = at - before;
  if (order == 0) return *lo;
  if (order == 1) return *lo + s * (*hi - *lo);
  // Hermite's basis
  const double slope_lo = before > 0 ? (*hi - lo[-1]) / 2 : 0;
  const double slope_hi = before + 2 < count ? (hi[1] - *lo) / 2 : 0;
  return (1 + 2 * s) * (1 - s) * (1 - s) * *lo + s * (1 - s) * (1 - s) * slope_lo +
         s * s * (3 - 2 * s) * *hi + s * s * (s - 1) * slope_hi;
}

}  // namespace

VectorXd acting_controls(const Model& m, const Data& d) {
  VectorXd ctrl = d.ctrl;
  if (d.ctrl_history.size() == 0) return ctrl;
  const std::vector<int> kept = kept_controls(m);
  for (int i = 0; i < m.nactuator; ++i) {
    if (m.actuator_delay[i] <= 0) continue;
    const double back = m.actuator_delay[i] / m.opt.timestep - 1 - d.step_share;
    for (int k = m.actuator_ctrladr[i]; k < m.actuator_ctrladr[i] + m.actuator_ctrlnum[i]; ++k)
      ctrl[k] = sample(d.ctrl_history.data() + kept[k], kept[k + 1] - kept[k], delay_order(m, i), back);
  }
  return ctrl;
}

void keep_controls(const Model& m, Data* d) {
  if (d->ctrl_history.size() == 0) return;
  const std::vector<int> kept = kept_controls(m);
  for (int k = 0; k < m.nu; ++k) {
    for (int e = kept[k]; e + 1 < kept[k + 1]; ++e) d->ctrl_history[e] = d->ctrl_history[e + 1];
    if (kept[k + 1] > kept[k]) d->ctrl_history[kept[k + 1] - 1] = d->ctrl[k];
  }
}

}  // namespace dualstep::reference

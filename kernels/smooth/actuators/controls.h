// Controls: what of them acts now, after a delay and within a range.
//
// solves    u_k, and the samples that are kept of it one step on
// equation  without a delay u = ctrl; else u(t) = ctrl(t - delay) = sum over the kept samples of weight times sample, the
//           weights those of a hold, a line or Catmull and Rom's cubic; then clip(u) to its range
// source    MuJoCo's documentation, "Delays"
//           a stage of Runge and Kutta's asks for what acts at its own time
// deviation samples lie one step apart: the rounding of a clock moves none of them
// reads     ctrl, ctrl_history, ctrl_delay_weight, act_ctrlrange
// writes    ctrl_history
// cost      O(samples of the control)
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class E, class Real = typename E::Real>
DS_HD Real delayed_control(const E& env, int k) {
  const auto& t = env.t;
  const int first = t.ctrl_delay_adr[k], end = t.ctrl_delay_adr[k + 1];
  if (first == end) return env.ctrl()[k];
  // weights at the start of a step, then those at its middle and its end
  const int node = (env.rk_stage + 1) / 2, weights = node * t.n.nctrlhist;
  Real u(0);
  for (int e = first; e < end; e++) u = fma(env.ctrl_delay_weight(weights + e), env.ctrl_history()[e], u);
  return u;
}

template <class E, class Real = typename E::Real>
DS_HD Real acting_control(const E& env, int k) {
  const auto& t = env.t;
  const Real u = t.n.nctrlhist > 0 ? delayed_control(env, k) : Real(env.ctrl()[k]);
  if (!t.ctrl_limited[k] || disabled(t.o, kDisableClampCtrl)) return u;
  return clamp(u, env.ctrl_lower(k), env.ctrl_upper(k));
}

template <class E, class Mask>
DS_HD void keep_controls(E& env, const Mask& move) {
  const auto& t = env.t;
  if (t.n.nctrlhist == 0) return;
  const auto kept = env.ctrl_history();
  env.each(t.n.nu, [&](int k) {
    const int first = t.ctrl_delay_adr[k], last = t.ctrl_delay_adr[k + 1] - 1;
    for (int e = first; e < last; e++) kept[e] = select(move, kept[e + 1], kept[e]);
    if (last >= first) kept[last] = select(move, env.ctrl()[k], kept[last]);
  });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

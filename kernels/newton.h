// Newton on the primal, with an exact line search: the finish of the constraint solver.
//
//   f(w) = 1/2 |w|^2 + sum s(y0 + Z'w),   grad = w - Z force(y),   H = 1 + Z curvature(y) Z'
//
// Source: Todorov 2014 for the primal; the active-set view of it after the sweeps of pgs.h: for pyramids f is
// piecewise quadratic, and a full step onto an unchanged active set is exact. Rows Z reach only the ancestors
// of the bodies in touch, so H has the tree's sparsity, plus fill where a contact joins two branches; the set
// of entries is that of the whole pack (an entry more is an exact zero). H = L'DL as in factorize.h, leaves
// first. A converged environment is frozen by mask. Cost of a step: O(contacts nv^2 + fill).
#pragma once

#include "kernels/pgs.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

DS_HD int bit_count_trailing(unsigned x) {
#if DS_DEVICE
  return __ffs(static_cast<int>(x)) - 1;
#else
  return __builtin_ctz(x);
#endif
}
DS_HD int highest_bit(unsigned x) {
#if DS_DEVICE
  return 31 - __clz(static_cast<int>(x));
#else
  return 31 - __builtin_clz(x);
#endif
}

// columns j < i of row i of H that can be nonzero, as words after the supports of the slots in the pool
template <class E>
DS_HD int* pattern_row(const E& env, int i) {
  return env.pool + (env.t.n.ncon + i) * env.t.n.nword;
}

// the pattern of H and of its factor for the contacts of this pack
template <class E>
DS_FN void symbolic(E& env) {
  const auto& t = env.t;
  const int nword = t.n.nword, nv = t.n.nv;
  if (env.lanes.rank() == 0) {
    for (int i = 0; i < nv; i++) {
      int* row = pattern_row(env, i);
      for (int k = 0; k < nword; k++) row[k] = 0;
      for (int e = t.M_rowadr[i] + 1; e < t.M_rowadr[i + 1]; e++)
        row[t.M_col[e] >> 5] |= static_cast<int>(1u << (t.M_col[e] & 31));
    }
    const auto add_below = [&](const int* set, int i) {
      int* row = pattern_row(env, i);
      for (int k = 0; k < (i >> 5); k++) row[k] |= set[k];
      row[i >> 5] |= static_cast<int>(static_cast<unsigned>(set[i >> 5]) & ((1u << (i & 31)) - 1u));
    };
    for (int slot = 0; slot < env.ncon_max; slot++) {
      // the deepest dof of the support takes the whole of it; elimination passes it on
      const int* set = slot_support(env, slot);
      for (int k = nword - 1; k >= 0; k--)
        if (set[k] != 0) {
          add_below(set, 32 * k + highest_bit(static_cast<unsigned>(set[k])));
          break;
        }
    }
    for (int i = nv - 1; i > 0; i--) {
      const int* row = pattern_row(env, i);
      for (int k = i >> 5; k >= 0; k--)
        if (row[k] != 0) {
          add_below(row, 32 * k + highest_bit(static_cast<unsigned>(row[k])));
          break;
        }
    }
  }
  env.sync();
}

// room for a list of dofs, one of each lane's own
template <class E>
DS_HD int* lane_columns(const E& env) {
  return env.pool + (env.t.n.ncon + env.t.n.nv) * env.t.n.nword + env.lanes.rank() * env.t.n.nv;
}

// the entries of row i of the pattern, highest first; returns how many
template <class E>
DS_HD int pattern_columns(const E& env, int i, int* columns) {
  const int* row = pattern_row(env, i);
  int n = 0;
  for (int k = i >> 5; k >= 0; k--) {
    unsigned word = static_cast<unsigned>(row[k]);
    while (word != 0) {
      const int bit = highest_bit(word);
      word &= ~(1u << bit);
      columns[n++] = 32 * k + bit;
    }
  }
  return n;
}

DS_HD int triangle(int i) { return i * (i + 1) / 2; }

// y = y0 + Z'w of every row
template <int kDim, class E>
DS_FN void residuals(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w();
  for (int u = 0, s = 0, k = 0; u < t.n.nunit; u++) {
    const int dof = t.unit_dof[u];
    const Real x = unit_dot(env, dof, w);
    // limits and losses are listed in the order of their dofs
    for (; s < t.n.nlim && t.jnt_dofadr[t.lim_jnt[s]] == dof; s++)
      if (env.lanes.rank() == 0) {
        env.lim_y()[2 * s] = env.lim_y0()[2 * s] + x;
        env.lim_y()[2 * s + 1] = env.lim_y0()[2 * s + 1] - x;
      }
    for (; k < t.n.nloss && t.loss_dof[k] == dof; k++)
      if (env.lanes.rank() == 0) env.loss_y()[k] = env.loss_y0()[k] + x;
  }
  for (int g = 0; g < t.n.ngen; g++) {
    const Real x = dense_dot(env, g, w);
    if (env.lanes.rank() == 0) env.gen_y()[g] = env.gen_y0()[g] + x;
  }
  for (int c = 0; c < kDim * env.ncon_max; c++) {
    const Real x = dense_dot(env, t.n.ngen + c, w);
    if (env.lanes.rank() == 0) env.con_y()[c] = env.con_y0()[c] + x;
  }
  env.sync();
}

// the cost of the rows at the present y
template <int kDim, bool kElliptic, class E>
DS_FN typename E::Real row_cost(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real half(0.5), nil(0);
  Real cost = env.accumulate(2 * t.n.nlim, [&](int s, const Real& sum) {
    const Real y = min(env.lim_y()[s], nil);
    return fma(half * env.lim_D()[s] * y, y, sum);
  });
  cost = cost + env.accumulate(t.n.nloss, [&](int k, const Real& sum) {
    const Real f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1), y = env.loss_y()[k],
               l = loss_force(y, f, R);
    return sum + select(abs(y) < R * f, half * y * y / R, abs(y) * f - half * R * f * f) + nil * l;
  });
  cost = cost + env.accumulate(t.n.ngen, [&](int g, const Real& sum) {
    const Real y = min(env.gen_y()[g], nil);
    return fma(half * env.gen_D()[g] * y, y, sum);
  });
  return cost + env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
    Real y[kDim];
    for (int r = 0; r < kDim; r++) y[r] = env.con_y()[kDim * slot + r];
    ConeLaw<Real, kDim> law;
    cone_law<kElliptic, false>(cone_params<kDim>(env, slot), y, &law);
    return sum + law.cost;
  });
}

// grad and H at the present y; returns a number that changes when the active set does
template <int kDim, bool kElliptic, bool kCurvature, class E>
DS_FN typename E::Real gradient_and_hessian(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), grad = env.grad(), H = env.H(), Z = env.Z(), Linv = env.Linv();
  const Real nil(0), one(1);
  const int nv = t.n.nv;
  Real key = nil;
  int* columns = lane_columns(env);
  env.each(nv, [&](int i) {
    grad[i] = w[i];
    if (kCurvature) {
      H[triangle(i) + i] = one;
      for (int j = 0; j < i; j++) H[triangle(i) + j] = nil;
    }
  });
  env.sync();
  for (int u = 0, s = 0, k = 0; u < t.n.nunit; u++) {
    const int dof = t.unit_dof[u], row = t.M_rowadr[dof], n = t.M_rowadr[dof + 1] - row;
    Real force = nil, weight = nil;
    for (; s < t.n.nlim && t.jnt_dofadr[t.lim_jnt[s]] == dof; s++)
      for (int side = 0; side < 2; side++) {
        const Real y = env.lim_y()[2 * s + side], D = env.lim_D()[2 * s + side];
        const Real h = select(y < nil, D, nil);
        force = side ? force + h * y : force - h * y;
        weight = weight + h;
        key = key + select(h > nil, Real(side + 1 + (s & 31)), nil);
      }
    for (; k < t.n.nloss && t.loss_dof[k] == dof; k++) {
      const Real y = env.loss_y()[k], f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1);
      const auto inside = abs(y) < R * f;
      force = force + loss_force(y, f, R);
      weight = weight + select(inside, one / R, nil);
      key = key + select(inside, Real(1 + (k & 31)), nil);
    }
    if (!any(force != nil) && !any(weight != nil)) continue;
    env.each(n, [&](int a) {
      const int i = t.M_col[row + a];
      grad[i] = fma(-Linv[row + a], force, grad[i]);
      if (!kCurvature) return;
      const Real x = weight * Linv[row + a];
      for (int b = a; b < n; b++) {
        Real& h = H[triangle(i) + t.M_col[row + b]];
        h = fma(x, Linv[row + b], h);
      }
    });
    env.sync();
  }
  for (int g = 0; g < t.n.ngen; g++) {
    const Real y = env.gen_y()[g], h = select(y < nil, env.gen_D()[g], nil);
    if (!any(h > nil)) continue;
    key = key + select(h > nil, one, nil);
    env.each(nv, [&](int i) {
      const Real z = Z[g * nv + i];
      grad[i] = fma(z, h * y, grad[i]);
      if (!kCurvature) return;
      for (int j = 0; j <= i; j++) H[triangle(i) + j] = fma(h * z, Z[g * nv + j], H[triangle(i) + j]);
    });
    env.sync();
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const int first = t.n.ngen + kDim * slot;
    Real y[kDim];
    for (int r = 0; r < kDim; r++) y[r] = env.con_y()[kDim * slot + r];
    ConeLaw<Real, kDim> law;
    cone_law<kElliptic, kCurvature>(cone_params<kDim>(env, slot), y, &law);
    key = fma(law.key, Real(1 + (slot & 15)), key);
    if (env.lanes.rank() == 0)
      for (int r = 0; r < kDim; r++) env.con_f()[kDim * slot + r] = law.force[r];
    bool idle = true;
    for (int r = 0; r < kDim; r++) idle = idle && !any(law.force[r] != nil);
    if (idle) continue;
    // the support as a list, highest dof first, so that the lower triangle is walked by rows
    const int* set = slot_support(env, slot);
    int n = 0;
    for (int k = t.n.nword - 1; k >= 0; k--) {
      unsigned word = static_cast<unsigned>(set[k]);
      while (word != 0) {
        const int bit = highest_bit(word);
        word &= ~(1u << bit);
        columns[n++] = 32 * k + bit;
      }
    }
    env.each(n, [&](int a) {
      const int i = columns[a];
      Real z[kDim], hz[kDim], g = grad[i];
      for (int r = 0; r < kDim; r++) {
        z[r] = Z[(first + r) * nv + i];
        g = fma(-z[r], law.force[r], g);
      }
      grad[i] = g;
      if (!kCurvature) return;
      for (int r = 0; r < kDim; r++) {
        hz[r] = nil;
        for (int c = 0; c < kDim; c++) {
          // a pyramid's curvature is an arrow
          if (!kElliptic && r != c && r != 0 && c != 0) continue;
          hz[r] = fma(law.curvature[r > c ? triangle(r) + c : triangle(c) + r], z[c], hz[r]);
        }
      }
      for (int b = a; b < n; b++) {
        const int j = columns[b];
        Real h = H[triangle(i) + j];
        for (int r = 0; r < kDim; r++) h = fma(hz[r], Z[(first + r) * nv + j], h);
        H[triangle(i) + j] = h;
      }
    });
    env.sync();
  }
  return key;
}

// dw = -H^-1 grad, by H = L'DL in place
template <class E>
DS_FN void newton_direction(E& env) {
  using Real = typename E::Real;
  const auto H = env.H(), dw = env.dw(), grad = env.grad();
  const int nv = env.t.n.nv;
  int* columns = lane_columns(env);
  env.each(nv, [&](int i) { dw[i] = -grad[i]; });
  env.sync();
  for (int k = nv - 1; k >= 0; k--) {
    const int n = pattern_columns(env, k, columns), row = triangle(k);
    const Real inv = Real(1) / H[row + k], x = dw[k];
    for (int a = env.lanes.rank(); a < n; a += env.lanes.width()) {
      const int i = columns[a], up = triangle(i);
      const Real l = H[row + i] * inv;
      for (int b = a; b < n; b++) {
        const int j = columns[b];
        H[up + j] = fma(-l, H[row + j], H[up + j]);
      }
      dw[i] = fma(-l, x, dw[i]);
    }
    env.sync();
    for (int a = env.lanes.rank(); a < n; a += env.lanes.width())
      H[row + columns[a]] = H[row + columns[a]] * inv;
    if (env.lanes.rank() == 0) dw[k] = x * inv;
    env.sync();
  }
  for (int k = 0; k < nv; k++) {
    const int* set = pattern_row(env, k);
    const int row = triangle(k);
    const Real s = env.accumulate(
        k, [&](int j, const Real& p) { return in_set(set, j) ? fma(H[row + j], dw[j], p) : p; });
    if (env.lanes.rank() == 0) dw[k] = dw[k] - s;
    env.sync();
  }
}

// change of every y along dw
template <int kDim, class E>
DS_FN void direction_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto dw = env.dw(), dy = env.dy();
  for (int u = 0, s = 0, k = 0; u < t.n.nunit; u++) {
    const int dof = t.unit_dof[u];
    const Real x = unit_dot(env, dof, dw);
    for (; s < t.n.nlim && t.jnt_dofadr[t.lim_jnt[s]] == dof; s++)
      if (env.lanes.rank() == 0) {
        dy[2 * s] = x;
        dy[2 * s + 1] = -x;
      }
    for (; k < t.n.nloss && t.loss_dof[k] == dof; k++)
      if (env.lanes.rank() == 0) dy[2 * t.n.nlim + k] = x;
  }
  for (int g = 0; g < t.n.ngen; g++) {
    const Real x = dense_dot(env, g, dw);
    if (env.lanes.rank() == 0) dy[2 * t.n.nlim + t.n.nloss + g] = x;
  }
  for (int c = 0; c < kDim * env.ncon_max; c++) {
    const Real x = dense_dot(env, t.n.ngen + c, dw);
    if (env.lanes.rank() == 0) env.con_dy()[c] = x;
  }
  env.sync();
}

// slope and curvature of the cost at w + alpha dw
template <int kDim, bool kElliptic, class E>
DS_FN void along(E& env, const typename E::Real& alpha, const typename E::Real& wd,
                 const typename E::Real& dd, typename E::Real* slope, typename E::Real* bend) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto dy = env.dy();
  const Real nil(0);
  Real s = fma(alpha, dd, wd), b = dd;
  const auto half_line = [&](const Real& y0, const Real& d, const Real& D, Real* slope_of, Real* bend_of) {
    const Real y = fma(alpha, d, y0), h = select(y < nil, D * d, nil);
    *slope_of = fma(h, y, *slope_of);
    *bend_of = fma(h, d, *bend_of);
  };
  for (int i = 0; i < 2 * t.n.nlim; i++) half_line(env.lim_y()[i], dy[i], env.lim_D()[i], &s, &b);
  for (int k = 0; k < t.n.nloss; k++) {
    const Real d = dy[2 * t.n.nlim + k], y = fma(alpha, d, env.loss_y()[k]);
    const Real f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1);
    s = fma(-loss_force(y, f, R), d, s);
    b = b + select(abs(y) < R * f, d * d / R, nil);
  }
  for (int g = 0; g < t.n.ngen; g++)
    half_line(env.gen_y()[g], dy[2 * t.n.nlim + t.n.nloss + g], env.gen_D()[g], &s, &b);
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto p = cone_params<kDim>(env, slot);
    Real y[kDim], d[kDim];
    for (int r = 0; r < kDim; r++) {
      d[r] = env.con_dy()[kDim * slot + r];
      y[r] = fma(alpha, d[r], env.con_y()[kDim * slot + r]);
    }
    if constexpr (!kElliptic) {
      for (int i = 0; i < kDim - 1; i++)
        for (int minus = 0; minus < 2; minus++) {
          const Real mu = minus ? -p.mu[i] : p.mu[i], D = edge_D(p, i, minus);
          const Real ye = fma(mu, y[i + 1], y[0]), de = fma(mu, d[i + 1], d[0]);
          const Real h = select(ye < nil, D * de, nil);
          s = fma(h, ye, s);
          b = fma(h, de, b);
        }
    } else {
      ConeLaw<Real, kDim> law;
      cone_law<true, true>(p, y, &law);
      for (int r = 0; r < kDim; r++) {
        s = fma(-law.force[r], d[r], s);
        for (int c = 0; c < kDim; c++)
          b = fma(law.curvature[r > c ? triangle(r) + c : triangle(c) + r] * d[r], d[c], b);
      }
    }
  }
  *slope = s;
  *bend = b;
}

// the minimum along dw: Newton on the slope, kept inside a bracket that shrinks
template <int kDim, bool kElliptic, class E>
DS_FN typename E::Real line_search(E& env, const typename E::Real& wd, const typename E::Real& dd,
                                   const typename E::Real& slope0, const typename E::Mask& live) {
  using Real = typename E::Real;
  const Real nil(0), one(1), huge(1e10);
  Real lo = nil, hi = huge, alpha = one;
  // a float cannot see a slope below its own rounding of the terms
  const Real enough = abs(slope0) * (sizeof(ScalarOf<Real>) == 4 ? Real(1e-3) : Real(1e-9));
  auto searching = live;
  for (int it = 0; it < 12; it++) {
    Real slope, bend;
    along<kDim, kElliptic>(env, alpha, wd, dd, &slope, &bend);
    searching = mask_and(searching, abs(slope) > enough);
    if (!any(searching)) break;
    const auto past = slope > nil;
    lo = select(mask_and(searching, mask_not(past)), alpha, lo);
    hi = select(mask_and(searching, past), alpha, hi);
    Real next = alpha - slope / bend;
    const Real middle = select(hi < huge, Real(0.5) * (lo + hi), Real(2) * alpha);
    next = select(mask_and(next > lo, next < hi), next, middle);
    alpha = select(searching, next, alpha);
  }
  return alpha;
}

// steps until the active set is stable, or the step is negligible, or the cap is reached; y must be current.
// Returns the environments that did not converge; counts the steps of each.
template <int kDim, bool kElliptic, class E>
DS_FN typename E::Mask newton(E& env, int cap, const typename E::Real& tolerance) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), dw = env.dw(), grad = env.grad(), dy = env.dy();
  const int nv = t.n.nv;
  const Real nil(0), one(1);
  Real key_before(-1);
  auto live = nil == nil;
  for (int step = 0; step < cap; step++) {
    const Real key = gradient_and_hessian<kDim, kElliptic, true>(env);
    // a full step onto the set it was computed for has landed on the minimum
    if constexpr (!kElliptic) live = mask_and(live, key != key_before);
    const Real gg = env.accumulate(nv, [&](int i, const Real& s) { return fma(grad[i], grad[i], s); });
    live = mask_and(live, gg != nil);
    env.sync();  // grad has been read: whatever comes next may write it
    if (!any(live)) break;
    newton_direction(env);
    const Real slope0 = env.accumulate(nv, [&](int i, const Real& s) { return fma(grad[i], dw[i], s); });
    const Real wd = env.accumulate(nv, [&](int i, const Real& s) { return fma(w[i], dw[i], s); });
    const Real dd = env.accumulate(nv, [&](int i, const Real& s) { return fma(dw[i], dw[i], s); });
    direction_rows<kDim>(env);
    const Real alpha = line_search<kDim, kElliptic>(env, wd, dd, slope0, live);
    const Real move = select(live, alpha, nil);
    env.sync();
    env.each(nv, [&](int i) { w[i] = select(live, fma(move, dw[i], w[i]), w[i]); });
    env.each(2 * t.n.nlim,
             [&](int i) { env.lim_y()[i] = select(live, fma(move, dy[i], env.lim_y()[i]), env.lim_y()[i]); });
    env.each(t.n.nloss, [&](int k) {
      env.loss_y()[k] = select(live, fma(move, dy[2 * t.n.nlim + k], env.loss_y()[k]), env.loss_y()[k]);
    });
    env.each(t.n.ngen, [&](int g) {
      env.gen_y()[g] =
          select(live, fma(move, dy[2 * t.n.nlim + t.n.nloss + g], env.gen_y()[g]), env.gen_y()[g]);
    });
    env.each(kDim * env.ncon_max, [&](int c) {
      env.con_y()[c] = select(live, fma(move, env.con_dy()[c], env.con_y()[c]), env.con_y()[c]);
    });
    env.sync();
    const Real ww = env.accumulate(nv, [&](int i, const Real& s) { return fma(w[i], w[i], s); });
    env.iterations = env.iterations + select(live, one, nil);
    // the decrement is the squared M-norm of the step left over
    live = mask_and(live, -slope0 > tolerance * tolerance * ww);
    // only a full step may stop at an unchanged set
    key_before = select(abs(alpha - one) < Real(1e-3), key, Real(-1));
    if (!any(live)) break;
  }
  return live;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

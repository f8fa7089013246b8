// Constraint rows, whitened: what the solver works on.
//
//   minimize over l in K   1/2 l'(A + R) l + l' b,   A = J M^-1 J',   b = J qacc_smooth - aref
//   aref = -B J v - K imp (dist - margin),           R = (1 - imp)/imp diag   (MuJoCo's solref and solimp)
//
// Source: Todorov 2014 ("Convex and analytically-invertible dynamics with contacts and constraints");
// MuJoCo's documentation, "Solver parameters", for the impedance. Each row of J is replaced by Z = D^-1/2
// L^-T J', so that A = Z'Z and the unknown becomes w = D^1/2 L (qacc - qacc_smooth), whose 2-norm is the
// M-norm of the acceleration: single precision then sees a well-scaled problem, and M is not needed again. Z
// has entries only on the ancestors of the bodies in touch. Contacts keep 1, 3, 4 or 6 rows (n, t1, t2, spin,
// roll1, roll2), in kdim rows a slot; pyramid edges n +- mu_i t_i are formed on the fly. A row of a limit or
// of friction loss is one dof's: Linv holds it on the dof's ancestors alone. Reads LD, Dscale, cdof, con_*.
// Writes Linv, Z, lim_*, loss_*, gen_*, con_y0. Cost: O(contacts (nv + nM)).
#pragma once

#include "kernels/rows/equality.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// calls f(s, dof) for both sides of every limit of the dof of a single-dof row
template <class E, class F>
DS_HD void each_limit_of(const E& env, int u, F f) {
  const auto& t = env.t;
  const int dof = t.single_dof[u];
  for (int k = t.single_lim[u]; k < t.single_lim[u + 1]; k++)
    for (int side = 0; side < 2; side++) f(2 * k + side, dof);
}
// calls f(k) for the friction loss of the dof of a single-dof row
template <class E, class F>
DS_HD void each_loss_of(const E& env, int u, F f) {
  const auto& t = env.t;
  for (int k = t.single_loss[u]; k < t.single_loss[u + 1]; k++) f(k);
}
// the environments that use a single-dof row, or may
template <class E>
DS_HD typename E::Mask single_users(const E& env, int u) {
  using Real = typename E::Real;
  const Real zero(0);
  auto used = all_false<Real>();
  each_limit_of(env, u, [&](int s, int) { used = mask_or(used, env.lim_D()[s] > zero); });
  each_loss_of(env, u, [&](int) { used = all_true<Real>(); });
  return used;
}
// the single-dof rows in use, which push on some environment or may: those of friction losses, and of limits with a
// weight. No others are made, and nobody reads them
template <class E>
DS_HD typename E::Words single_rows_in_use(const E& env) {
  return env.words(env.t.n.single_begin + (E::kPack > 1 && env.subset ? env.t.n.nsingleword : 0));
}
// those that environments of a set use, as a set
template <class E>
DS_HD void find_single_rows(const E& env, const typename E::Mask& users, const typename E::Words& out) {
  const auto& t = env.t;
  const int rank = env.lanes.rank(), width = env.lanes.width();
  for (int word = 0; word < t.n.nsingleword; word++) {
    int mine = 0, all = 0;
    for (int u = 32 * word + rank; u < t.n.nsingle && u < 32 * (word + 1); u += width) {
      if (any(mask_and(users, single_users(env, u)))) mine |= static_cast<int>(1u << (u & 31));
    }
    // no two lanes have the same
    (void)env.lanes.exclusive_scan(mine, &all);
    if (rank == 0) out[word] = all;
  }
}
template <class E>
DS_STAGE void find_single_rows(E& env) {
  using Real = typename E::Real;
  find_single_rows(env, all_true<Real>(), single_rows_in_use(env));
  env.done();
}

// single-dof rows in use whitened: x = D^-1/2 L^-T e_i on the chain of ancestors of i
template <class E>
DS_STAGE void single_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto LD = env.LD(), Dscale = env.Dscale(), Linv = env.Linv();
  env.each(t.n.nsingle, [&](int u) {
    if (!in_set(single_rows_in_use(env), u)) return;
    const int i = t.single_dof[u], row = t.M_rowadr[i], n = t.M_rowadr[i + 1] - row;
    const auto z = Linv.from(row);
    z[0] = Real(1);
    for (Index a = 1; a < n; a++) z[a] = Real(0);
    for (int a = 0; a < n; a++) {
      const int k = t.M_col[row + a];
      const auto up = LD.from(t.M_rowadr[k]), above = z.from(a);
      const Index behind = n - a;
      const Real x = z[a];
      for (Index e = 1; e < behind; e++) above[e] = fma(-up[e], x, above[e]);
      z[a] = x * Dscale[k];
    }
  });
}

template <class E>
DS_STAGE void limit_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qpos = env.qpos(), qvel = env.qvel(), qacc = env.qacc_smooth(), y0 = env.lim_y0(),
             D = env.lim_D();
  env.each(2 * t.n.nlim, [&](int s) {
    const int k = s / 2, j = t.lim_jnt[k], dof = t.jnt_dofadr[j];
    const bool upper = s & 1;
    const Real sign(upper ? -1 : 1), margin = env.lim_param(11 * k);
    if (t.o.spring_damper_rows) {
      // the spring-damper of Todorov 2014; its weight follows once the rows are whitened
      const Real phi = sign * (qpos[t.jnt_qposadr[j]] - env.lim_range(2 * k + upper));
      const auto active = phi <= max(margin, Real(t.o.contact_margin));
      const Real rate = Real(1) / Real(t.o.kappa);
      const Real v = fma(Real(2) * rate, qvel[dof], qacc[dof]);
      y0[s] = select(active, fma(sign, v, phi * rate * rate), Real(0));
      D[s] = select(active, Real(1), Real(0));
      return;
    }
    const Real r = sign * (qpos[t.jnt_qposadr[j]] - env.lim_range(2 * k + upper)) - margin;
    // elsewhere a margin of all contacts only says how early a row appears
    const bool own = t.o.contact_law == kLawMujoco;
    const auto active = r < (own ? Real(0) : max(Real(t.o.contact_margin) - margin, Real(0)));
    y0[s] = Real(0);
    D[s] = Real(0);
    if (!any(active)) return;
    const Real imp = impedance(r, [&](int c) { return env.lim_param(11 * k + 4 + c); });
    const Real kterm = env.lim_param(11 * k + 1) * imp * r;
    const Real v = fma(env.lim_param(11 * k + 2), qvel[dof], qacc[dof]);
    y0[s] = select(active, fma(sign, v, kterm), Real(0));
    D[s] = select(active, Real(1) / regularizer(imp, env.lim_param(11 * k + 3)), Real(0));
  });
  const auto loss = env.loss_y0();
  env.each(t.n.nloss, [&](int k) {
    const int dof = t.loss_dof[k];
    loss[k] = fma(env.loss_param(3 * k + 2), qvel[dof], qacc[dof]);
  });
}

// limits of ball joints: one row with three entries, on the axis of the rotation from the reference
template <class E>
DS_STAGE void ball_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qpos = env.qpos(), qvel = env.qvel(), qacc = env.qacc_smooth(), Z = env.Z();
  const auto y0 = env.dense_y0(), D = env.dense_D();
  const int nv = t.n.nv;
  env.each(t.n.nball, [&](int k) {
    const int j = t.ball_jnt[k], dof = t.jnt_dofadr[j];
    for (int d = 0; d < nv; d++) Z[k * nv + d] = Real(0);
    const Vec3<Real> turn = rotation_vector(normalize(qpos.quat_at(t.jnt_qposadr[j])));
    Real angle;
    const Vec3<Real> axis = normalize(turn, Vec3<Real>{Real(1), Real(0), Real(0)}, &angle);
    const Real r = env.ball_param(12 * k) - angle - env.ball_param(12 * k + 1);
    const auto active = r < Real(0);
    const Real imp = impedance(r, [&](int c) { return env.ball_param(12 * k + 5 + c); });
    const Real B = env.ball_param(12 * k + 3);
    const Vec3<Real> rate{fma(B, qvel[dof], qacc[dof]), fma(B, qvel[dof + 1], qacc[dof + 1]),
                          fma(B, qvel[dof + 2], qacc[dof + 2])};
    y0[k] = select(active, env.ball_param(12 * k + 2) * imp * r - dot(axis, rate), Real(0));
    D[k] = select(active, Real(1) / regularizer(imp, env.ball_param(12 * k + 4)), Real(0));
    Z[k * nv + dof] = select(active, -axis.x, Real(0));
    Z[k * nv + dof + 1] = select(active, -axis.y, Real(0));
    Z[k * nv + dof + 2] = select(active, -axis.z, Real(0));
    whiten<1>(env, Z, k, dense_support(env, k));
  });
}

// the set of dofs that some environment's contact in this slot moves
template <class E>
DS_HD typename E::Words slot_support(const E& env, int slot) {
  return env.words(slot * env.t.n.nword);
}

// the pair that the contact of an environment comes from
template <class E>
DS_HD int pair_of(const E& env, int slot, int lane = 0) {
  return static_cast<int>(lane_of(env.con_pair()[slot], lane)) / 8;
}
// calls f(pair, environments) for the pairs that environments of a set have in a slot in use
template <class E, class F>
DS_HD void each_pair_of(const E& env, int slot, [[maybe_unused]] typename E::Mask set, F f) {
  using Real = typename E::Real;
  if constexpr (E::kPack == 1) {
    f(pair_of(env, slot), set);
  } else {
    const Real id = env.con_pair()[slot];
    set = mask_and(set, env.con_dim()[slot] > Real(0));
    for (unsigned bits = mask_word(set); bits != 0;) {
      const int pair = pair_of(env, slot, bit_count_trailing(bits));
      const Real first(8 * pair);
      const auto here = mask_and(set, mask_and(id >= first, id < first + Real(8)));
      bits &= ~mask_word(here);
      f(pair, here);
    }
  }
}
// the dofs that the contacts of a set of environments in a slot reach, as a set; calls f as each_pair_of does
template <class E, class F>
DS_HD void find_support(const E& env, int slot, const typename E::Mask& set, const typename E::Words& out,
                        F f) {
  const int nword = env.t.n.nword;
  for (int k = 0; k < nword; k++) out[k] = 0;
  each_pair_of(env, slot, set, [&](int pair, const auto& here) {
    for (int k = 0; k < nword; k++) out[k] |= env.t.pair_support[pair * nword + k];
    f(pair, here);
  });
}
// how the dofs move the bodies of a pair
template <class E>
DS_HD const int* signs_of(const E& env, int pair) {
  return env.t.pair_sign + static_cast<long>(pair) * env.t.n.nv;
}
// the dofs that slots reach; of packs, whose environments have other pairs, their signs too, in row 0 of each
// slot. A barrier has to follow
template <class E>
DS_HD void find_dofs(E& env, int kdim) {
  using Real = typename E::Real;
  const Real zero(0);
  const auto all = all_true<Real>();
  const int nv = env.t.n.nv;
  env.each(env.ncon_max, [&](int slot) {
    const auto row = env.Z().from((env.t.n.ndense + kdim * slot) * nv);
    bool first = true;
    find_support(env, slot, all, slot_support(env, slot), [&](int pair, const auto& here) {
      if constexpr (E::kPack > 1) {
        const int* sign = signs_of(env, pair);
        if (first)
          for (Index d = 0; d < nv; d++) row[d] = select(here, Real(sign[d]), zero);
        else
          for (Index d = 0; d < nv; d++) row[d] = select(here, Real(sign[d]), row[d]);
        first = false;
      }
    });
  });
}

// unit normal given, a hint for t1 (or zero): t1 orthogonal to n, t2 = n x t1
template <class Real>
DS_HD void contact_frame(const Vec3<Real>& n, const Vec3<Real>& hint, Vec3<Real>* t1, Vec3<Real>* t2) {
  const Real zero(0), one(1);
  const auto lying = abs(n.y) < Real(0.5);
  const Vec3<Real> rule{zero, select(lying, one, zero), select(lying, zero, one)};
  const Vec3<Real> start = select3(dot(hint, hint) < Real(0.25), rule, hint);
  Real length;
  *t1 = normalize(start - n * dot(n, start), rule, &length);
  *t2 = cross(n, *t1);
}

// rows of contact slots: J on the support, b, then whitened
template <int kDim, class E>
DS_STAGE void contact_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto Z = env.Z(), pos = env.con_pos(), frame = env.con_frame(), kb = env.con_kb(), y0 = env.con_y0();
  const auto cdof = env.cdof(), com = env.tree_com(), qvel = env.qvel(), qacc = env.qacc_smooth();
  const int nv = t.n.nv;
  const bool velocities = t.o.contact_law == kLawExplicit;  // what such a law starts from, in place of y
  const Real zero(0);
  find_dofs(env, kDim);
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const int first = t.n.ndense + kDim * slot;
    const auto z = rows_of<kDim>(Z, first, nv);
    const auto support = slot_support(env, slot);
    const Vec3<Real> p = pos.vec(slot), n = frame.vec(2 * slot);
    Vec3<Real> axis[3] = {n, {zero, zero, zero}, {zero, zero, zero}};
    contact_frame(n, frame.vec(2 * slot + 1), &axis[1], &axis[2]);
    env.sync();
    if (env.lanes.rank() == 0) frame.set(2 * slot + 1, axis[1]);
    const Real dim = env.con_dim()[slot];
    env.each(nv, [&](int d) {
      if (!in_set(support, d)) {
        DS_UNROLL
        for (int r = 0; r < kDim; r++) z[r][d] = zero;
        return;
      }
      Real sign;
      if constexpr (E::kPack > 1)
        sign = z[0][d];
      else
        sign = Real(signs_of(env, pair_of(env, slot))[d]);
      const Spatial<Real> s = cdof.spatial(d);
      const Vec3<Real> v = s.lin + cross(s.ang, p - com.vec(t.body_tree[t.dof_body[d]]));
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const Real j = fma(sign, dot(axis[r % 3], r < 3 ? v : s.ang), zero);
        z[r][d] = r == 0 ? j : select(dim > Real(r), j, zero);
      }
    });
    env.sync();
    const Real Bn = kb[3 * slot + 1], Bt = kb[3 * slot + 2];
    DS_UNROLL
    for (int three = 0; three < kDim; three += 3) {
      using Sum = Sums<Real, 3>;
      const Sum s = env.template accumulate_in<Sum>(support, nv, [&](Index d, Sum sum) {
        DS_UNROLL
        for (int k = 0; k < 3; k++) {
          const int r = three + k;
          sum.of[k] = fma(z[r][d], velocities ? qvel[d] : fma(r == 0 ? Bn : Bt, qvel[d], qacc[d]), sum.of[k]);
        }
        return sum;
      });
      if (env.lanes.rank() != 0) continue;
      DS_UNROLL
      for (int k = 0; k < 3; k++)
        y0[kDim * slot + three + k] = three + k == 0 ? s.of[k] + kb[3 * slot] : s.of[k];
    }
  }
  env.sync();
  // lanes take a row each, one lane three of them
  static_assert(kDim % 3 == 0);
  constexpr int kRows = E::Lanes::kWidth == 1 ? 3 : 1;
  env.each(kDim / kRows * env.ncon_max, [&](int i) {
    whiten<kRows>(env, Z, t.n.ndense + kRows * i, slot_support(env, kRows * i / kDim));
  });
  env.done();
}

template <int kDim, class E>
DS_FN void rows(E& env) {
  limit_rows(env);
  env.sync();
  find_single_rows(env);
  single_rows(env);
  ball_rows(env);
  equality_rows(env);
  env.done();
  contact_rows<kDim>(env);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

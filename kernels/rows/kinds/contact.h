// Contacts: a cone of forces over kDim rows a slot (contact_rows.h).
//
// kByRows: the cone is round, or |.|_1 by rows; else a pyramid, whose edges n +- mu_i t_i are formed on the fly. In the
// natural residual a round cone is measured in coordinates scaled by 1 / mu_i, where it is circular.
//
// solves    what the solver asks of contacts: y, cost, force, curvature, a sweep, their part of the natural residual
// equation  y = J qacc - aref,   cost s(y), force -s'(y), curvature s''(y) of the cone (cone.h),   l in K
// source    cone.h; contact_block.h for the sweeps
// deviation none
// reads     Z, con_y0, con_D, con_mu, con_dim
// writes    as the solver asks con_A, con_y, con_dy, con_f, con_h, con_lambda
// cost      O(contacts); of a product with J O(contacts x the dofs they reach)
#pragma once

#include "kernels/rows/kinds/contact_block.h"
#include "kernels/rows/kinds/contact_rows.h"
#include "kernels/rows/kinds/scalar_law.h"
#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// diagonal blocks of A, lower triangles
template <int kDim, class E>
DS_STAGE void diagonal_blocks(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto Z = env.Z(), A = env.con_A();
  const int nv = t.n.nv;
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto z = rows_of<kDim>(Z, t.n.ndense + kDim * slot, nv);
    DS_UNROLL
    for (int first = 0; first < kTriangle<kDim>; first += 3) {
      using Sum = Sums<Real, 3>;
      const Sum a = env.template accumulate_in<Sum>(slot_support(env, slot), nv, [&](Index d, Sum s) {
        DS_UNROLL
        for (int k = 0; k < 3; k++) {
          const int r = triangle_row(first + k), c = first + k - triangle(r);
          s.of[k] = fma(z[r][d], z[c][d], s.of[k]);
        }
        return s;
      });
      if (env.lanes.rank() != 0) continue;
      DS_UNROLL
      for (int k = 0; k < 3; k++) A[kTriangle<kDim> * slot + first + k] = a.of[k];
    }
  }
  env.done();
}

// what does not depend on the cone
template <int kDim, class E>
struct ContactRows {
  using Real = typename E::Real;
  const E& env;

  // the first of a slot's rows of Z
  DS_HD int first_row(int slot) const { return env.t.n.ndense + kDim * slot; }

  // y = y0 + Z'w
  template <class F>
  DS_HD void put_residuals(const F& w) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      Real x[kDim];
      contact_dots<kDim>(env, slot, w, x);
      if (env.lanes.rank() != 0) continue;
      DS_UNROLL
      for (int r = 0; r < kDim; r++) env.con_y()[kDim * slot + r] = env.con_y0()[kDim * slot + r] + x[r];
    }
  }
  // dy = Z'dw
  template <class F>
  DS_HD void put_changes(const F& dw) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      Real x[kDim];
      contact_dots<kDim>(env, slot, dw, x);
      if (env.lanes.rank() != 0) continue;
      DS_UNROLL
      for (int r = 0; r < kDim; r++) env.con_dy()[kDim * slot + r] = x[r];
    }
  }
  template <class F>
  DS_HD void each_residual(F f) const {
    env.each(kDim * env.ncon_max, [&](int c) { f(env.con_y()[c], env.con_dy()[c]); });
  }
  // x <- x - Z l, or of rigid rows alone, or + the squares of the terms; a contact without a normal force has no other
  template <Terms kTerms = Terms::kAll, class F>
  DS_HD void subtract_forces(const typename E::Mask& live, const F& x) const {
    const auto con_f = env.con_f();
    for (int slot = 0; slot < env.ncon_max; slot++) {
      if (!any(mask_and(live, con_f[kDim * slot] != Real(0)))) continue;
      Real f[kDim];
      DS_UNROLL
      for (int r = 0; r < kDim; r++) f[r] = -con_f[kDim * slot + r];
      if constexpr (kTerms == Terms::kRigid) {
        const Real of_tree = rigid_weight_of_slot(env, slot, live), D = env.con_D()[slot];
        DS_UNROLL
        for (int r = 0; r < kDim; r++) f[r] = if_rigid(of_tree, D, f[r]);
      }
      add_rows<kDim, kTerms>(env, slot_support(env, slot), first_row(slot), f, x);
    }
  }
  DS_HD void load(const Field<Real, E::kStride>& field, int slot, Real* x) const {
    DS_UNROLL
    for (int r = 0; r < kDim; r++) x[r] = field[kDim * slot + r];
  }
};

template <int kDim, bool kByRows, class E>
struct Contacts : ContactRows<kDim, E> {
  using Real = typename E::Real;
  using Rows = ContactRows<kDim, E>;
  using Rows::env, Rows::load, Rows::first_row;
  // forces of a slot during the sweeps: of rows, or of edges
  static constexpr int kForces = kByRows ? kDim : kEdges<kDim>;
  DS_HD explicit Contacts(const E& e) : Rows{e} {}

  // all forces; where they stand behind those of the scalar rows
  DS_HD int count() const { return kForces * env.ncon_max; }
  DS_HD int first() const { return env.t.n.nrow1; }
  DS_HD auto lambda() const { return env.con_lambda(); }

  // calls f(mu with its sign, D, i, minus) for the edges n +- mu_i t_i of a pyramid
  template <class F>
  DS_HD static void each_edge(const ConeParams<Real, kDim>& p, F f) {
    DS_UNROLL
    for (int i = 0; i < kDim - 1; i++)
      for (int minus = 0; minus < 2; minus++) f(minus ? -p.mu[i] : p.mu[i], edge_D(p, i, minus), i, minus);
  }

  DS_HD Real cost() const {
    return env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
      Real y[kDim];
      load(env.con_y(), slot, y);
      ConeLaw<Real, kDim> law;
      cone_law<kByRows, false>(cone_params<kDim>(env, slot), y, &law);
      return sum + law.cost;
    });
  }
  // forces, and curvatures where wanted; returns a number that changes when the active set does
  template <bool kCurvature>
  DS_HD Real put_laws() const {
    return env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
      Real y[kDim];
      load(env.con_y(), slot, y);
      ConeLaw<Real, kDim> law;
      cone_law<kByRows, kCurvature>(cone_params<kDim>(env, slot), y, &law);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) env.con_f()[kDim * slot + r] = law.force[r];
      if (kCurvature)
        for (int k = 0; k < triangle(kDim); k++) env.con_h()[triangle(kDim) * slot + k] = law.curvature[k];
      return sum + law.key;
    });
  }
  // slope and curvature of one contact's cost along d, at y
  DS_HD static void add_along_of(const ConeParams<Real, kDim>& p, const Real* y, const Real* d, Real* slope,
                                 Real* bend) {
    if constexpr (kByRows) {
      cone_along(p, y, d, slope, bend);
    } else {
      each_edge(p, [&](const Real& mu, const Real& D, int i, int) {
        const Real ye = fma(mu, y[i + 1], y[0]), de = fma(mu, d[i + 1], d[0]);
        const Real h = select(ye < Real(0), D * de, Real(0));
        *slope = fma(h, ye, *slope);
        *bend = fma(h, de, *bend);
      });
    }
  }
  DS_HD void add_along(const Real& alpha, Real* slope, Real* bend) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      Real y[kDim], d[kDim];
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        d[r] = env.con_dy()[kDim * slot + r];
        y[r] = fma(alpha, d[r], env.con_y()[kDim * slot + r]);
      }
      add_along_of(cone_params<kDim>(env, slot), y, d, slope, bend);
    }
  }

  // R of the normal row, or of an edge
  DS_HD static Real regularization(const ConeParams<Real, kDim>& p) {
    return Real(1) / select(p.D > Real(0), p.D, Real(1));
  }
  // R_r mu_r^2: one number for all tangents of a round cone
  DS_HD static Real scaled_regularization(const ConeParams<Real, kDim>& p, int r) {
    const Real R = regularization(p), safe_mu = select(p.cone_mu > Real(0), p.cone_mu, Real(1));
    return r == 0 ? R : R * safe_mu * safe_mu;
  }
  // A: the lower triangle of the contact's block
  template <class F>
  DS_HD static void add_diagonal_of(const ConeParams<Real, kDim>& p, const F& A,
                                    MeanDiagonal<Real>* diagonal) {
    if constexpr (kByRows) {
      const auto used = p.D > Real(0);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const Real mu = r == 0 ? Real(1) : p.mu[r - 1];
        diagonal->add(mask_and(used, p.dim > Real(r)), mu * mu * A[triangle(r) + r],
                      scaled_regularization(p, r));
      }
    } else {
      const Real R = regularization(p);
      each_edge(p, [&](const Real& mu, const Real& D, int i, int) {
        const int row = triangle(i + 1);
        const Real a = A[0] + Real(2) * mu * A[row] + mu * mu * A[row + i + 1];
        diagonal->add(D > Real(0), a, R);
      });
    }
  }
  DS_HD void add_diagonal(MeanDiagonal<Real>* diagonal) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      const auto A = env.con_A().from(kTriangle<kDim> * slot);
      const auto p = cone_params<kDim>(env, slot);
      add_diagonal_of(p, A, diagonal);
      Real terms(0);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const Real f = env.con_f()[kDim * slot + r];
        terms = fma(A[triangle(r) + r] * f, f, terms);
      }
      diagonal->stiff.add(A[0], p.D, terms);
      if (env.t.o.has_rigid)
        diagonal->stiff.add_rigid(rigid_weight_of_slot(env, slot, p.D > Real(0)), p.D,
                                  Real(env.con_f()[kDim * slot]));
    }
  }
  // x, s_0 = x_n and s_i = x_i / mu_i, goes to the point of the cone nearest to it; t2 = |x_t|^2
  DS_HD static void project(const ConeParams<Real, kDim>& p, const Real& t2, Real* x) {
    const Real zero(0), one(1);
    if (p.l1_cone) {  // onto |t|_1 <= n
      const Real normal = x[0];
      x[0] = max(normal + shrink_tangents<kDim>(p.dim, normal, one, x), zero);
      return;
    }
    // onto the circular cone |t| <= n
    const Real tn = sqrt(t2);
    const auto flat = p.dim < Real(2);
    const auto inside = tn <= x[0], polar = tn <= -x[0];
    const Real mid = Real(0.5) * (x[0] + tn);
    const Real n = select(flat, max(x[0], zero), select(inside, x[0], select(polar, zero, mid)));
    const Real s = select(inside, one, select(polar, zero, mid / select(tn > zero, tn, one)));
    x[0] = n;
    DS_UNROLL
    for (int r = 1; r < kDim; r++) x[r] = x[r] * s;
  }
  // y of the primal, what the dual's differs from it but for R l, and the force
  template <class F>
  DS_HD static void add_natural_of(const ConeParams<Real, kDim>& p, const Real* y, const Real* d, const F& f,
                                   NaturalResidual<Real>* residual) {
    const Real zero(0), one(1);
    if constexpr (kByRows) {
      const auto used = p.D > zero;
      Real l[kDim], x[kDim], t2 = zero;
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const Real mu = r == 0 ? one : p.mu[r - 1], R = scaled_regularization(p, r);
        const auto row_used = mask_and(used, p.dim > Real(r));
        l[r] = select(row_used, f[r] / select(mu > zero, mu, one), zero);
        x[r] = select(row_used, l[r] - (mu * (y[r] + d[r]) + R * l[r]) / residual->diagonal, zero);
        if (r > 0) t2 = fma(x[r], x[r], t2);
      }
      project(p, t2, x);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) residual->add(l[r], l[r] - x[r]);
    } else {
      const Real R = regularization(p);
      each_edge(p, [&](const Real& mu, const Real& D, int i, int) {
        const Real ye = fma(mu, y[i + 1], y[0]), de = fma(mu, d[i + 1], d[0]);
        residual->add_scalar(OneSided{}, D > zero, ye, de, R, OneSided::force(ye, D));
      });
    }
  }
  DS_HD void add_natural(NaturalResidual<Real>* residual) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      Real y[kDim], d[kDim];
      load(env.con_y(), slot, y);
      load(env.con_dy(), slot, d);
      add_natural_of(cone_params<kDim>(env, slot), y, d, rows_of_slot<kDim>(env.con_f(), slot), residual);
    }
  }

  // projected Gauss-Seidel on the dual, w = Z l kept: each contact's block over its own cone
  template <class F>
  DS_HD void sweep(const F& w) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      Real y[kDim], A[kTriangle<kDim>], l[kForces], df[kDim];
      contact_dots<kDim>(env, slot, w, y);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) y[r] = env.con_y0()[kDim * slot + r] + y[r];
      for (int k = 0; k < kTriangle<kDim>; k++) A[k] = env.con_A()[kTriangle<kDim> * slot + k];
      for (int k = 0; k < kForces; k++) l[k] = lambda()[kForces * slot + k];
      const auto p = cone_params<kDim>(env, slot);
      if constexpr (kByRows)
        block_by_rows(p, A, y, l, df);
      else
        block_by_edges(p, A, y, l, df);
      env.sync();
      if (env.lanes.rank() == 0)
        for (int k = 0; k < kForces; k++) lambda()[kForces * slot + k] = l[k];
      add_rows<kDim>(env, slot_support(env, slot), first_row(slot), df, w);
      env.sync();
    }
  }

  // the sum of f(i, R, y0) over the rows or edges in use, i the index of its force among all
  template <class F>
  DS_HD Real dual_sum(int begin, F f) const {
    const Real zero(0), one(1);
    return env.accumulate(env.ncon_max, [&](int slot, const Real& s) {
      const auto p = cone_params<kDim>(env, slot);
      const Real normal = env.con_y0()[kDim * slot];
      const int at = begin + kForces * slot;
      Real sum = s;
      if constexpr (kByRows) {
        sum = add_dual(sum, f, at, p.D, normal);
        for (int r = 1; r < kDim; r++) {
          // R_i mu_i^2 is one number for all tangents
          const auto rubs = mask_and(p.dim > Real(r), mask_and(p.mu[r - 1] > zero, p.cone_mu > zero));
          const Real ratio = select(rubs, p.mu[r - 1] / select(rubs, p.cone_mu, one), zero);
          sum = add_dual(sum, f, at + r, p.D * ratio * ratio, Real(env.con_y0()[kDim * slot + r]));
        }
      } else {
        each_edge(p, [&](const Real& mu, const Real& D, int i, int minus) {
          sum =
              add_dual(sum, f, at + edge_of(i, minus), D, fma(mu, env.con_y0()[kDim * slot + i + 1], normal));
        });
      }
      return sum;
    });
  }
  // w <- w + Z l, of forces l of rows or edges
  template <class L, class F>
  DS_HD void add_forces(const L& l, const F& w) const {
    for (int slot = 0; slot < env.ncon_max; slot++) {
      const int at = kForces * slot;
      Real f[kDim];
      if constexpr (kByRows) {
        DS_UNROLL
        for (int r = 0; r < kDim; r++) f[r] = l[at + r];
      } else {
        const auto p = cone_params<kDim>(env, slot);
        f[0] = Real(0);
        DS_UNROLL
        for (int i = 0; i < kDim - 1; i++) {
          const Real plus = l[at + edge_of(i, 0)], minus = l[at + edge_of(i, 1)];
          f[0] = f[0] + (plus + minus);
          f[i + 1] = p.mu[i] * (plus - minus);
        }
      }
      add_rows<kDim>(env, slot_support(env, slot), first_row(slot), f, w);
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Dense scalar rows: any J, one force, a law of their own. Kinds of them stand one behind the other.
//
// A kind is a struct with
//
//   count(env)           how many rows it has
//   law(env, g, first)   the law (scalar_law.h) of dense scalar row g, the kind's first being `first`
//   make(env, first)     writes for its rows g, from `first` on: row g of Z, whitened;
//                        dense_y0[g] = J qacc_smooth - aref;
//                        dense_D[g] = 1 / R, 0 where the row is not in use
//
// and of these what it needs:
//
//   kHoldsInImpacts      true where its rows keep their velocity in impacts (solver/impact.h)
//   kJoinsBranches       false where each of its rows reaches a dof and its ancestors alone, which M joins
//   add_pull(env, first, ten, f)
//                        f, and what its rows pull with on the length of tendon `ten`: what sensors feel of them
//   subtract_wrench(env, first, bodies, wrench)
//                        takes from *wrench what its rows do to some bodies from outside their joints, tendons apart
//                        (BodyRange and WrenchSum of sensors/wrench.h)
//   lost(env, g, first)  what the squared norm of whitened row g is at most where all of it is rounding (conditioning.h)
//
// and a name in the list of kinds.h; what the solver asks of a row follows from its law here. The host's append_rows of the
// kind (host/tables/dense_rows.cpp) says how many rows a model has, and in dense_support which dofs each reaches.
//
// solves    what the solver asks of dense scalar rows, whatever their kinds
// equation  z = D^-1/2 L^-T J'   (a row of Z, on the dofs of its support),   y = y0 + z'w,   grad <- grad - l z
// source    whiten.h for the rows; scalar_law.h for the laws
// deviation none
// reads     Z, dense_support, dense_y0, dense_D
// writes    as the solver asks dense_y, dy, dense_lambda, dense_h
// cost      of a product with J O(nv)
#pragma once

#include "kernels/rows/kinds/scalar_law.h"
#include "kernels/rows/whitened_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Kind>
DS_HD constexpr bool holds_in_impacts() {
  if constexpr (requires { Kind::kHoldsInImpacts; })
    return Kind::kHoldsInImpacts;
  else
    return false;
}

template <class Kind>
DS_HD constexpr bool joins_branches() {
  if constexpr (requires { Kind::kJoinsBranches; })
    return Kind::kJoinsBranches;
  else
    return true;
}

// the force of a solved dense scalar row
template <class E, class Law, class Real = typename E::Real>
DS_HD Real force_of_row(const E& env, const Law& law, int g) {
  const Real y = env.dense_y()[g], D = env.dense_D()[g];
  return law.force(y, D);
}

// kinds of dense scalar rows, in the order of their rows
template <class... Kinds>
struct KindList {
  // calls f(kind) with each, where there are tables and no environment yet
  template <class F>
  static void each_type(F f) {
    (f(Kinds{}), ...);
  }
  // calls f(kind, its first row)
  template <class E, class F>
  DS_HD static void each(const E& env, F f) {
    int first = 0;
    ((f(Kinds{}, first), first += Kinds::count(env)), ...);
  }
  // the first row of one of them
  template <class Kind, class E>
  DS_HD static int first_of(const E& env) {
    int first = 0;
    bool reached = false;
    ((reached = reached || kSameType<Kinds, Kind>, first += reached ? 0 : Kinds::count(env)), ...);
    return first;
  }
  // the first row that may join dofs of different branches: behind the kinds at the head of the list that do not
  template <class E>
  DS_HD static int first_joining(const E& env) {
    int first = 0;
    bool reached = false;
    ((reached = reached || joins_branches<Kinds>(), first += reached ? 0 : Kinds::count(env)), ...);
    return first;
  }
  // f(kind, its first row) of the kind that row g is of
  template <class E, class F>
  DS_HD static auto with_kind(const E& env, int g, F f) {
    return find<E, F, Kinds...>(env, 0, g, f);
  }
  // f(law) of row g
  template <class E, class F>
  DS_HD static auto with_law(const E& env, int g, F f) {
    return with_kind(env, g, [&](const auto& kind, int first) { return f(kind.law(env, g, first)); });
  }
  // these, and those of another list behind them
  template <class... Others>
  static KindList<Kinds..., Others...> joined(KindList<Others...>);

 private:
  template <class E, class F, class Kind, class... Rest>
  DS_HD static auto find(const E& env, int first, int g, const F& f) {
    if constexpr (sizeof...(Rest) > 0) {
      const int end = first + Kind::count(env);
      if (g >= end) return find<E, F, Rest...>(env, end, g, f);
    }
    return f(Kind{}, first);
  }
};

template <class Kinds, class E>
struct DenseScalarRows {
  using Real = typename E::Real;
  const E& env;

  // where they stand among the scalar rows: behind single-dof rows
  DS_HD int count() const { return env.t.n.ndense; }
  DS_HD int first() const { return rows_before(SingleDofKind::kEnd, env.t.n); }
  DS_HD auto lambda() const { return env.dense_lambda(); }
  DS_HD auto change() const { return env.dy().from(first()); }
  template <class F>
  DS_HD auto with_law(int g, F f) const {
    return Kinds::with_law(env, g, f);
  }
  DS_HD auto y0() const { return env.dense_y0(); }
  DS_HD auto y() const { return env.dense_y(); }
  DS_HD auto& weight(int g) const { return env.dense_D()[g]; }
  DS_HD typename E::Mask used(int g) const { return weight(g) > Real(0); }
  template <class F>
  DS_HD void each_dof(int g, F f) const {
    each_member(dense_support(env, g), env.t.n.nword, f);
  }
  DS_HD Real likely() const { return Real(0); }

  // y = y0 + Z'w
  template <class F>
  DS_HD void put_residuals(const F& w) const {
    for (int g = 0; g < count(); g++) {
      const Real x = dense_dot(env, g, w);
      if (env.lanes.rank() == 0) env.dense_y()[g] = env.dense_y0()[g] + x;
    }
  }
  // dy = Z'dw
  template <class F>
  DS_HD void put_changes(const F& dw) const {
    for (int g = 0; g < count(); g++) {
      const Real x = dense_dot(env, g, dw);
      if (env.lanes.rank() == 0) change()[g] = x;
    }
  }
  template <class F>
  DS_HD void lift(const F& w) const {
    for (int g = 0; g < count(); g++) {
      const Real x = dense_dot(env, g, w);
      if (env.lanes.rank() == 0) env.dense_y0()[g] = env.dense_y0()[g] + x;
    }
  }
  template <class F>
  DS_HD void each_residual(F f) const {
    env.each(count(), [&](int g) { f(env.dense_y()[g], change()[g]); });
  }

  DS_HD Real cost() const {
    return env.accumulate(count(), [&](int g, const Real& sum) {
      const Real y = env.dense_y()[g], D = env.dense_D()[g];
      return with_law(g, [&](const auto& law) { return law.add_cost(sum, y, D); });
    });
  }
  // force and curvature of each row; returns a number that changes when the active set does
  template <bool kCurvature>
  DS_HD Real put_laws() const {
    const auto l = lambda(), curvature = env.dense_h();
    return env.accumulate(count(), [&](int g, const Real& sum) {
      const Real y = env.dense_y()[g], D = env.dense_D()[g];
      return with_law(g, [&](const auto& law) {
        const Real h = law.curvature(y, D);
        l[g] = law.force(y, D, h);
        curvature[g] = h;
        const int index = law.kConditions == 1 ? g : count() + g;
        return law.add_conditions(sum, y, h, Condition::kDense, index);
      });
    });
  }
  // x <- x - Z l, or of rigid rows alone, or + the squares of the terms
  template <Terms kTerms = Terms::kAll, class F>
  DS_HD void subtract_forces(const typename E::Mask&, const F& x) const {
    for (int g = 0; g < count(); g++) {
      Real f = -lambda()[g];
      if constexpr (kTerms == Terms::kRigid)
        f = if_rigid(rigid_weight_of_dense_row(env, g), Real(env.dense_D()[g]), f);
      add_rows<1, kTerms>(env, dense_support(env, g), g, &f, x);
    }
  }
  DS_HD void add_along(const Real& alpha, Real* slope, Real* bend) const {
    for (int g = 0; g < count(); g++) {
      const Real d = change()[g], y0 = env.dense_y()[g], D = env.dense_D()[g];
      with_law(g, [&](const auto& law) { law.add_along(y0, d, alpha, D, slope, bend); });
    }
  }

  DS_HD void add_diagonal(MeanDiagonal<Real>* diagonal) const {
    const auto Z = env.Z();
    const int nv = env.t.n.nv;
    for (int g = 0; g < count(); g++) {
      const Real D = env.dense_D()[g];
      const Real a =
          env.accumulate(nv, [&](int d, const Real& s) { return fma(Z[g * nv + d], Z[g * nv + d], s); });
      diagonal->add(D > Real(0), a, Real(1) / select(D > Real(0), D, Real(1)));
      const Real l = lambda()[g];
      diagonal->stiff.add(a, D, a * l * l);
      if (env.t.o.has_rigid) diagonal->stiff.add_rigid(rigid_weight_of_dense_row(env, g), D, l);
    }
  }
  DS_HD void add_natural(NaturalResidual<Real>* residual) const {
    for (int g = 0; g < count(); g++) {
      const Real D = env.dense_D()[g], y = env.dense_y()[g], d = change()[g];
      const auto used = D > Real(0);
      const Real R = Real(1) / select(used, D, Real(1));
      with_law(g, [&](const auto& law) { residual->add_scalar(law, used, y, d, R, law.force(y, D)); });
    }
  }

  // projected Gauss-Seidel on the dual, w = Z l kept: l <- project(l - y / (A + R))
  template <class F>
  DS_HD void sweep(const F& w) const {
    const Real zero(0), one(1);
    const auto l = lambda(), Z = env.Z();
    const int nv = env.t.n.nv;
    for (int g = 0; g < count(); g++) {
      const Real D = env.dense_D()[g];
      const auto live = D > zero;
      if (!any(live)) continue;
      const Real R = one / select(live, D, one), before = l[g];
      const Real diag = env.accumulate_in(dense_support(env, g), nv, [&](int d, const Real& s) {
        return fma(Z[g * nv + d], Z[g * nv + d], s);
      });
      const Real y = env.dense_y0()[g] + dense_dot(env, g, w) + R * before;
      const Real free = before - y / (diag + R);
      const Real projected = with_law(g, [&](const auto& law) { return law.project(free); });
      const Real next = select(live, projected, zero);
      env.sync();
      if (env.lanes.rank() == 0) l[g] = next;
      const Real change = next - before;
      add_rows<1>(env, dense_support(env, g), g, &change, w);
      env.sync();
    }
  }

  // the sum of f(i, R, y0) over the rows in use, i the index of its force among all
  template <class F>
  DS_HD Real dual_sum(int at, F f) const {
    return env.accumulate(count(), [&](int g, const Real& sum) {
      return add_dual(sum, f, at + g, Real(env.dense_D()[g]), Real(env.dense_y0()[g]));
    });
  }
  // w <- w + Z l, of forces l; every lane has dofs of its own
  template <class L, class F>
  DS_HD void add_forces(const L& l, const F& w) const {
    for (int g = 0; g < count(); g++) {
      const Real f = l[g];
      add_rows<1>(env, dense_support(env, g), g, &f, w);
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

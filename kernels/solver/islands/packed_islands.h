// Islands of one tree side by side: those of the environments of a pack, in the order in which they come, a pack of them at
// a time. The same steps as solve_islands.h takes with each, on the same numbers in the same order, so that no bit tells
// which of the two has solved an island.
//
// Their rows: packed_rows.h; what they are solved in: packed_direction.h. What a mask leaves out keeps its numbers.
//
// solves    minimize over w   1/2 |w|^2 + s(y0 + Z'w)   for each island
// equation  that of newton.h
// source    solve_islands.h
// deviation as there
// reads     what IslandRows and IslandContacts leave
// writes    w, con_f, lim_y, dense_y, residual, iterations, unsolved
// cost      that of a direction a step for all of a pack, as many steps as the slowest needs
#pragma once

#include "kernels/contact/with_law.h"
#include "kernels/solver/islands/island_laws.h"
#include "kernels/solver/islands/row_space_sweeps.h"
#include "kernels/solver/judge.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kDim, bool kByRows, class E>
struct PackedIslands : IslandLaws<kDim, kByRows, PackedDirection<kDim, E>> {
  using Base = IslandLaws<kDim, kByRows, PackedDirection<kDim, E>>;
  using Base::env, Base::dofs, Base::kPack, Base::count;
  using Neighbours = typename Base::Neighbours;
  using Scalar = typename Base::Scalar;
  using Real = typename Base::Real;
  using Mask = typename Base::Mask;
  using Reals = typename Base::Reals;
  DS_HD PackedIslands(E& e, int bin) : Base(PackedDirection<kDim, E>(e, bin)) {}

  DS_HD void choose_start() const {
    apart(*this, [=](const auto& self) { self.choose_start_here(); });
  }
  DS_HD void choose_start_here() const {
    const auto w = this->w(), other = this->grad();
    put_other_start(other);
    this->put_costs(this->con_adr(), this->con_dy(), this->row_dy());
    const Real cost = Real(0.5) * this->dot(other, other) + this->parts(0);
    for (int k = 0; k < dofs; k++) w[k] = this->dw()[k];
    this->put_products(all_true<Real>(), w, true, this->con_y(), this->row_y());
    this->put_costs(this->con_adr(), this->con_y(), this->row_y());
    const Real warm = Real(0.5) * this->dot(w, w) + this->parts(0);
    const auto keep = warm < cost;
    for (int k = 0; k < dofs; k++) w[k] = select(keep, w[k], other[k]);
    each_y([&](Real& y, const Real& of_other, const Real&) { y = select(keep, y, of_other); });
    // values that no law gives, so that the first active set counts as a change
    for (int i = 0; i < this->contacts(); i++)
      for (int k = 0; k < kTriangle<kDim>; k++) this->con_h()[k * this->slots() + i] = Real(-1);
    for (int i = 0; i < this->rows(); i++) this->row_piece()[i] = Real(-1);
  }
  // w of the other start, and its y in dy
  DS_HD void put_other_start(const Reals& to) const {
    if (!this->among_rows) {
      for (int k = 0; k < dofs; k++) to[k] = Real(0);
      each_y([](const Real&, Real& other, const Real& y0) { other = y0; });
      return;
    }
    this->put_gram();
    const SweptPack<kDim, E> rows{*this};
    apart(RowSpaceSweeps<kDim, kByRows, SweptPack<kDim, E>>{rows},
          [=](const auto& self) { self.run(kRowSpaceSweeps); });
    for (int k = 0; k < dofs; k++) this->w()[k] = Real(0);
    this->put_gradient();
    this->negate_gradient(to);
  }
  DS_HD Neighbours all_contacts() const { return {0, this->contacts()}; }
  DS_HD Neighbours all_rows() const { return {0, this->rows()}; }
  template <class F>
  DS_HD void each_y(F f) const {
    Base::each_y(all_contacts(), all_rows(), f);
  }

  // the step length of each island of a mask, as IslandSolver finds it turn by turn
  DS_HD void line_search(const Mask& live, const Real& slope0, const Real& wd, const Real& dd) const {
    const Real zero(0), unbounded(kNoUpperEnd), enough = abs(slope0) * Real(kSlopeLeft<Scalar>);
    Real lo(0), hi = unbounded, alpha(1);
    auto searching = live;
    this->alpha()[0] = alpha;
    for (int turn = 0; turn < kLineSearchTurns; turn++) {
      this->put_along(this->con_adr());
      const Real slope = fma(alpha, dd, wd) + this->parts(0), bend = dd + this->parts(1);
      searching = mask_and(searching, abs(slope) > enough);
      if (!any(searching)) return;
      const auto past = slope > zero;
      hi = select(mask_and(searching, past), alpha, hi);
      lo = select(mask_and(searching, mask_not(past)), alpha, lo);
      const Real next = alpha - slope / bend;
      const Real middle = select(hi < unbounded, Real(0.5) * (lo + hi), Real(2) * alpha);
      alpha = select(searching, select(mask_and(next > lo, next < hi), next, middle), alpha);
      this->alpha()[0] = alpha;
    }
  }

  // adds the steps of each to `steps`
  DS_HD void newton(int cap, const Real& tolerance, Mask live, Real* steps) const {
    apart(*this, [=](const auto& self) { self.newton_here(cap, tolerance, live, steps); });
  }
  DS_HD void newton_here(int cap, const Real& tolerance, Mask live, Real* steps) const {
    const Real zero(0), one(1);
    const auto w = this->w(), dw = this->dw(), grad = this->grad();
    auto whole = all_false<Real>();
    for (int step = 0;; step++) {
      this->put_laws(this->con_adr());
      // a whole step onto the set it was computed for has landed on the minimum
      live = mask_and(live, mask_not(mask_and(whole, this->parts(0) == zero)));
      if (step == cap || !any(live)) return;
      this->put_gradient();
      const Real gg = this->dot(grad, grad);
      live = mask_and(live, gg > tolerance * tolerance * this->dot(w, w));
      if (!any(live)) return;
      this->direction();
      const Real slope = this->dot(grad, dw), wd = this->dot(w, dw), dd = this->dot(dw, dw);
      this->put_products(all_true<Real>(), dw, false, this->con_dy(), this->row_dy());
      line_search(live, slope, wd, dd);
      const Real alpha = this->alpha()[0];
      each_y([&](Real& y, const Real& dy, const Real&) { y = select(live, fma(alpha, dy, y), y); });
      for (int k = 0; k < dofs; k++) w[k] = select(live, fma(alpha, dw[k], w[k]), w[k]);
      *steps = *steps + select(live, one, zero);
      whole = abs(alpha - one) < Real(kWholeStep);
      live = mask_and(live, -slope > tolerance * tolerance * this->dot(w, w));
    }
  }

  DS_HD Mask are_right_by_bound() const {
    const Real ww = this->dot(this->w(), this->w());
    return is_small(this->dot(this->grad(), this->grad()), right_by_bound(ww));
  }
  DS_HD Mask have_arrived(const Real& least, bool pursued) const {
    const Real ww = this->dot(this->w(), this->w()), left = this->dot(this->dw(), this->dw());
    return is_arrived(ww, left, least, pursued);
  }
  // what rounding does to w, squared (judge.h)
  DS_HD Real rounding_squared() const {
    Real size(0);
    for (int l = 0; l < count; l++)
      set_lane(size, l,
               IslandEnv<E, false>(env, this->element[l]).add_smooth_squares(this->tree[l], Scalar(0)));
    return rounding_of(size, this->template asked_squared<Real>(all_contacts(), all_rows()));
  }
  // those of `present` whose acceleration is not right, after going on with those in doubt
  DS_HD Mask judge(int cap, const Real& tolerance, const Mask& present) const {
    return apart(*this, [=](const auto& self) { return self.judge_here(cap, tolerance, present); });
  }
  DS_HD Mask judge_here(int cap, const Real& tolerance, const Mask& present) const {
    this->put_gradient();
    auto doubtful = mask_and(present, mask_not(are_right_by_bound()));
    if (!any(doubtful)) return doubtful;
    const Real least = rounding_squared();
    for (int round = 0;; round++) {
      // rows anew from w: their y carry the rounding of all steps
      this->put_products(doubtful, this->w(), true, this->con_y(), this->row_y());
      this->put_laws(this->con_adr());
      this->put_gradient();
      doubtful = mask_and(doubtful, mask_not(are_right_by_bound()));
      if (any(doubtful)) {
        this->direction();
        doubtful = mask_and(doubtful, mask_not(have_arrived(least, round > 0)));
      }
      if (round == kPursuits || !any(doubtful)) return doubtful;
      Real ignored(0);
      newton(cap, pursuit_tolerance(tolerance), doubtful, &ignored);
    }
  }

  // those that are made of rounding (judge.h)
  DS_HD Mask are_made_of_rounding(const Real& right) const {
    this->put_laws(this->con_adr());
    this->put_errors();
    this->direction();
    return mask_not(is_small(this->dot(this->dw(), this->dw()), right));
  }
  // the natural residual of each; those whose forces make an acceleration out of rounding go into `wrong`
  DS_HD Real natural_residual(Mask* wrong) const {
    return apart(*this, [=](const auto& self) { return self.natural_residual_here(wrong); });
  }
  DS_HD Real natural_residual_here(Mask* wrong) const {
    this->put_gradient();
    this->negate_gradient(this->dw());
    this->put_products(all_true<Real>(), this->dw(), false, this->con_dy(), this->row_dy());
    this->put_diagonals(this->con_adr());
    const Real one(1), zero(0), number = this->parts(1);
    this->alpha()[0] = this->parts(0) / select(number > one, number, one);
    this->put_natural(this->con_adr());
    const Real size = this->parts(1), ww = this->dot(this->w(), this->w());
    const auto stiff = this->template stiff_terms<Real>(all_contacts(), all_rows());
    const Real residual = sqrt(this->parts(0)) / select(size > zero, sqrt(size), one);
    *wrong = mask_or(*wrong, is_softer_than_meant(ww, stiff));
    const auto doubtful = mask_and(in_doubt(ww, stiff), mask_not(*wrong));
    if (any(doubtful))
      *wrong = mask_or(*wrong, mask_and(doubtful, are_made_of_rounding(right_of_balance(ww, stiff))));
    return residual;
  }

  // w and forces back into the workspace, and what there is to say of each environment
  DS_HD void put_back(const Real& steps, const Mask& wrong, const Real& residual) const {
    apart(*this, [=](const auto& self) { self.put_back_here(steps, wrong, residual); });
  }
  DS_HD void put_back_here(const Real& steps, const Mask& wrong, const Real& residual) const {
    unsigned unsolved = 0;
    for (int l = 0; l < count; l++) {
      const int at = this->element[l], own = this->tree[l], first = env.t.tree_dof[own];
      const int nv = env.t.tree_dof[own + 1] - first;
      for (int k = 0; k < nv; k++) set_lane(env.w()[first + k], at, lane_of(this->w()[k], l));
      for (int i = 0; i < this->own_contacts[l]; i++)
        for (int r = 0; r < kDim; r++)
          set_lane(env.con_f()[kDim * this->slot[i][l] + r], at,
                   lane_of(this->con_f()[r * this->slots() + i], l));
      for (int i = 0; i < this->own_rows[l]; i++) {
        const Scalar y = lane_of(this->row_y()[i], l);
        with_scalar_row(env, this->source[i][l],
                        [&](const auto& kind, int row) { set_lane(kind.y()[row], at, y); });
      }
      note_steps(env, at, lane_of(steps, l));
      bool solved = !mask_bit(wrong, l);
      if (env.ends_call) {
        note_residual(env, at, lane_of(residual, l));
        solved = solved && lane_of(residual, l) < Scalar(kVast);
      }
      if (!solved) unsolved |= 1u << at;
    }
    env.unsolved = mask_or(env.unsolved, mask_of_word<Real>(unsolved));
  }

  DS_HD void solve() {
    const auto present = mask_of_word<Real>(count < 32 ? (1u << count) - 1u : ~0u);
    const Real of_laws = law_tolerance(env, false);
    Real tolerance(0), steps(0), residual(0);
    for (int l = 0; l < count; l++) set_lane(tolerance, l, lane_of(of_laws, this->element[l]));
    this->turn_rows();
    choose_start();
    newton(env.t.o.newton, tolerance, present, &steps);
    Mask wrong = judge(env.t.o.newton, tolerance, present);
    if (env.ends_call) residual = natural_residual(&wrong);
    put_back(steps, wrong, residual);
    count = 0;
  }
};

// the open packs of an environment's pack, by contacts and by what they are solved in
template <int kDim, bool kByRows, class E>
struct PackBins {
  PackedIslands<kDim, kByRows, E> packs[kPackBinCount];
  DS_HD explicit PackBins(E& env)
      : packs{{env, 0}, {env, 1}, {env, 2}, {env, 3}, {env, 4}, {env, 5}, {env, 6}} {}
  template <class From>
  DS_HD void add(const From& from, int island) {
    const int contacts = from.contacts_of(island);
    int bin = 0;
    while (contacts > kPackBins[bin].contacts || kPackBins[bin].among_rows != from.is_among_rows(island))
      bin++;
    auto& pack = packs[bin];
    if (!pack.has_room(contacts, from.rows_of(island) - kDim * contacts)) pack.solve();
    pack.take(from, island);
    if (pack.count == E::kPack) pack.solve();
  }
  // what is left over shares packs, with those of more contacts
  DS_HD void finish() {
    for (int bin = 0; bin < kPackBinCount; bin++) {
      auto& pack = packs[bin];
      for (int next = bin + 1; next < kPackBinCount && pack.count > 0; next++) {
        auto& larger = packs[next];
        if (larger.among_rows != pack.among_rows || larger.count == 0 ||
            larger.count + pack.count > E::kPack || !larger.has_room(pack.most_contacts, pack.most_rows))
          continue;
        for (int l = 0; l < pack.count; l++) larger.take_over(pack, l);
        pack.count = 0;
      }
      if (pack.count > 0) pack.solve();
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

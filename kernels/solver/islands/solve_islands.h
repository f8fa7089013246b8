// The contact dual of models with several trees, island by island: Newton on the primal, as newton.h does it for an
// environment that is one problem.
//
// An island starts from the acceleration of the last step or from that without constraints, whichever costs less, and takes
// its own steps, step lengths and tests; no row of another reaches it. All islands of an environment go side by side: their
// rows' laws in packs (island_laws.h), their factors one after the other, or a lane each. A tree that no row reaches keeps
// its w of zero, and so moves as if it were alone, to the bit.
//
// solves    minimize over w   1/2 |w|^2 + s(y0 + Z'w)   for each island
// equation  that of newton.h
// source    Todorov 2014 for the primal
// deviation none
// reads     what rows.h leaves; dw, the last acceleration whitened (solve.h)
// writes    w, con_f, lim_y, dense_y, the arena, residual, iterations, unsolved
// cost      linear in trees where each touches few; see README.md
#pragma once

#include "kernels/contact/with_law.h"
#include "kernels/solver/islands/island_contacts.h"
#include "kernels/solver/islands/island_laws.h"
#include "kernels/solver/islands/packed_islands.h"
#include "kernels/solver/islands/row_space_sweeps.h"
#include "kernels/solver/judge.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kDim, bool kByRows, class E, bool kOneEight>
struct IslandSolver : IslandLaws<kDim, kByRows, IslandRows<kDim, E, kOneEight>> {
  using Base = IslandLaws<kDim, kByRows, IslandRows<kDim, E, kOneEight>>;
  using Base::env, Base::at, Base::dofs, Base::padded, Base::begin;
  using Neighbours = typename Base::Neighbours;
  using Scalar = typename Base::Scalar;
  using Reals = typename Base::Reals;
  using Numbers = typename Base::Numbers;
  using Real = typename Base::Real;
  DS_HD explicit IslandSolver(const Base& base) : Base(base) {}

  // dw <- -H^-1 grad
  DS_HD void put_direction(int island) const {
    const IslandFactor<kDim, E, kOneEight> factor(*this);
    if constexpr (!kOneEight)
      if (this->is_among_rows(island)) return put_direction_among_rows(factor, island);
    factor.direction(island);
  }

  // Of each live island: the better of two starts, of which the last acceleration, whitened, stands in the pack's dw. The
  // other is w = 0, or what sweeps find where rows are few
  DS_HD void choose_start() const {
    apart(*this, [=](const auto& self) { self.choose_start_here(); });
  }
  DS_HD void choose_start_here() const {
    const auto w = this->w();
    const auto live = this->live();
    env.sync();
    // y of the other start stands in dy, its w in grad
    this->each_live([&](int island) { put_other_start(island); });
    env.sync();
    this->put_costs(live, this->con_dy(), this->row_dy());
    env.sync();
    this->each_live([&](int island) {
      this->lo()[island] =
          Scalar(0.5) * this->dot(island, this->grad(), this->grad()) + this->parts(island, 0);
      this->each_tree(island, [&](int tree) {
        const int first = env.t.tree_dof[tree];
        for (int k = 0; k < padded(tree); k++)
          w[begin(tree) + k] = k < dofs(tree) ? at(env.dw(), first + k) : Scalar(0);
      });
    });
    env.sync();
    this->put_products(live, w, true, this->con_y(), this->row_y());
    this->put_costs(live, this->con_y(), this->row_y());
    env.sync();
    this->each_live([&](int island) {
      const Scalar warm = Scalar(0.5) * this->dot(island, w, w) + this->parts(island, 0);
      if (warm < this->lo()[island]) return;
      this->each_eight(island, [&](int c) { Numbers(this->grad(), c).store(w, c); });
      each_y(island, [&](Scalar& y, const Scalar& other, const Scalar&) { y = other; });
    });
    // values that no law gives, so that the first active set counts as a change
    env.each(this->contacts(), [&](int i) { this->con_h()[i] = Scalar(-1); });
    env.each(this->rows(), [&](int i) { this->row_piece()[i] = Scalar(-1); });
  }
  DS_HD void put_other_start(int island) const {
    const auto w = this->grad();
    this->each_eight(island, [&](int c) { Numbers(Scalar(0)).store(w, c); });
    if constexpr (!kOneEight)
      if (this->is_among_rows(island)) {
        sweep_among_rows<kDim, kByRows>(IslandFactor<kDim, E, kOneEight>(*this), island);
        this->subtract_forces(island, w);
        this->negate(island, w, w);
        return;
      }
    each_y(island, [](const Scalar&, Scalar& other, const Scalar& y0) { other = y0; });
  }
  // likewise, for the rows of an island
  DS_HD Neighbours its_contacts(int island) const {
    return {this->con_adr()[island], this->con_adr()[island + 1]};
  }
  DS_HD Neighbours its_rows(int island) const {
    return {this->row_adr()[island], this->row_adr()[island + 1]};
  }
  template <class F>
  DS_HD void each_y(int island, F f) const {
    Base::each_y(its_contacts(island), its_rows(island), f);
  }

  DS_HD void put_gradient(int island) const {
    const auto w = this->w(), grad = this->grad();
    this->each_eight(island, [&](int c) { Numbers(w, c).store(grad, c); });
    this->subtract_forces(island, grad);
  }

  // direction, slope and the search's first numbers of an island; false where it has no direction, or no step that
  // would count is left: H >= 1, so that a step is at most the gradient
  DS_HD bool begin_step(int island, Scalar tolerance) const {
    put_gradient(island);
    // NaN has no direction: such an island is left as it is
    const Scalar gg = this->dot(island, this->grad(), this->grad());
    if (!(gg > tolerance * tolerance * this->dot(island, this->w(), this->w()))) return false;
    put_direction(island);
    this->slope()[island] = this->dot(island, this->grad(), this->dw());
    this->wd()[island] = this->dot(island, this->w(), this->dw());
    this->dd()[island] = this->dot(island, this->dw(), this->dw());
    this->alpha()[island] = Scalar(1);
    this->lo()[island] = Scalar(0);
    this->hi()[island] = Scalar(kNoUpperEnd);
    return true;
  }

  // one turn of an island's line search: Newton on the slope, inside a bracket that shrinks (newton.h). False once
  // the slope is small
  DS_HD bool search_on(int island) const {
    const Scalar alpha = this->alpha()[island];
    const Scalar slope = fma(alpha, this->dd()[island], this->wd()[island]) + this->parts(island, 0);
    const Scalar bend = this->dd()[island] + this->parts(island, 1);
    const Scalar enough = abs(this->slope()[island]) * Scalar(kSlopeLeft<Scalar>);
    if (!(abs(slope) > enough)) return false;
    Scalar& lo = this->lo()[island];
    Scalar& hi = this->hi()[island];
    (slope > Scalar(0) ? hi : lo) = alpha;
    const Scalar next = alpha - slope / bend;
    const Scalar middle = hi < Scalar(kNoUpperEnd) ? Scalar(0.5) * (lo + hi) : Scalar(2) * alpha;
    this->alpha()[island] = next > lo && next < hi ? next : middle;
    return true;
  }
  DS_HD void line_search() const {
    const auto searching = this->searching(), live = this->live();
    env.each(this->islands(), [&](int island) { searching[island] = live[island] > 0; });
    env.sync();
    for (int turn = 0; turn < kLineSearchTurns; turn++) {
      this->put_along(searching);
      env.sync();
      bool some = false;
      env.each(this->islands(), [&](int island) {
        if (searching[island] == 0) return;
        searching[island] = search_on(island);
        some |= searching[island] != 0;
      });
      env.sync();
      if (!env.lanes.any_lane(some)) return;
    }
  }

  // along the direction, as far as the search has found
  DS_HD void move() const {
    const auto live = this->live();
    const int slots = this->slots();
    env.each(this->contacts(), [&](int i) {
      const int island = this->con_island()[i];
      if (live[island] <= 0) return;
      const Scalar alpha = this->alpha()[island];
      for (int r = 0; r < kDim; r++) {
        Scalar& y = this->con_y()[r * slots + i];
        y = fma(alpha, this->con_dy()[r * slots + i], y);
      }
    });
    env.each(this->rows(), [&](int i) {
      const int island = this->row_island()[i];
      if (live[island] > 0)
        this->row_y()[i] = fma(this->alpha()[island], this->row_dy()[i], this->row_y()[i]);
    });
    this->each_live([&](int island) {
      this->each_eight(island, [&](int c) {
        Numbers s(this->w(), c);
        s.add(this->alpha()[island], Numbers(this->dw(), c));
        s.store(this->w(), c);
      });
    });
  }

  // Steps until every active set is stable, or every step negligible, or the cap is reached. It leaves the laws of all rows
  // at the y that it leaves. An island may stop at an unchanged set where its last step was whole
  DS_HD int newton(int cap, Scalar tolerance) const {
    return apart(*this, [=](const auto& self) { return self.newton_here(cap, tolerance); });
  }
  DS_HD int newton_here(int cap, Scalar tolerance) const {
    const auto live = this->live(), whole = this->is_whole(), moved = this->has_moved();
    env.each(this->islands(), [&](int island) {
      whole[island] = 0;
      moved[island] = live[island] != 0;
    });
    env.sync();
    int steps = 0;
    for (;; steps++) {
      this->put_laws(moved);
      env.sync();
      bool some = false;
      env.each(this->islands(), [&](int island) {
        if (live[island] <= 0) return;
        // a whole step onto the set it was computed for has landed on the minimum
        if (whole[island] != 0 && this->parts(island, 0) == Scalar(0)) live[island] = 0;
        some |= live[island] != 0;
      });
      if (steps == cap || !env.lanes.any_lane(some)) break;
      some = false;
      this->each_live([&](int island) {
        if (live[island] < 0) return;
        if (begin_step(island, tolerance))
          some = true;
        else
          live[island] = 0;
      });
      env.sync();
      if (!env.lanes.any_lane(some)) break;
      this->put_products(live, this->dw(), false, this->con_dy(), this->row_dy());
      line_search();
      move();
      env.sync();
      this->each_live([&](int island) {
        if (live[island] < 0) return;
        // the decrement is the squared M-norm of the step left over
        const Scalar ww = this->dot(island, this->w(), this->w());
        whole[island] = abs(this->alpha()[island] - Scalar(1)) < Scalar(kWholeStep);
        if (!(-this->slope()[island] > tolerance * tolerance * ww)) live[island] = 0;
        moved[island] = 1;
      });
      env.sync();
    }
    return steps;
  }

  // what rounding does to an island's w, squared (judge.h)
  DS_HD Scalar rounding_squared(int island) const {
    Scalar size(0);
    this->each_tree(island, [&](int tree) { size = this->add_smooth_squares(tree, size); });
    return rounding_of(size, this->template asked_squared<Scalar>(its_contacts(island), its_rows(island)));
  }
  // whether an island's acceleration is right by the bound of judge.h
  DS_HD bool is_right_by_bound(int island) const {
    put_gradient(island);
    const Scalar ww = this->dot(island, this->w(), this->w());
    return is_small(this->dot(island, this->grad(), this->grad()), right_by_bound(ww));
  }
  // and once a direction is there, by the step that is left
  DS_HD bool has_arrived(int island, bool pursued) const {
    const Scalar ww = this->dot(island, this->w(), this->w()),
                 left = this->dot(island, this->dw(), this->dw());
    return is_arrived(ww, left, rounding_squared(island), pursued);
  }

  // Judges every island (judge.h), after going on with those in doubt. Returns whether all are right
  DS_HD bool judge(int cap, Scalar tolerance) const {
    return apart(*this, [=](const auto& self) { return self.judge_here(cap, tolerance); });
  }
  DS_HD bool judge_here(int cap, Scalar tolerance) const {
    const auto live = this->live(), doubtful = this->doubtful();
    bool some = false;
    env.each(this->islands(), [&](int island) {
      doubtful[island] = live[island] < 0 || !is_right_by_bound(island);
      some |= doubtful[island] != 0;
    });
    for (int round = 0; env.lanes.any_lane(some); round++) {
      env.each(this->islands(), [&](int island) {
        if (live[island] >= 0) live[island] = doubtful[island] != 0;
      });
      env.sync();
      // rows anew from w: their y carry the rounding of all steps
      this->put_products(live, this->w(), true, this->con_y(), this->row_y());
      env.sync();
      this->put_laws(live);
      env.sync();
      some = false;
      env.each(this->islands(), [&](int island) {
        if (live[island] <= 0) return;
        bool right = is_right_by_bound(island);
        if (!right) {
          put_direction(island);
          right = has_arrived(island, round > 0);
        }
        doubtful[island] = !right;
        live[island] = doubtful[island] != 0;
        some |= doubtful[island] != 0;
      });
      env.sync();
      if (round == kPursuits || !env.lanes.any_lane(some)) break;
      newton(cap, pursuit_tolerance(tolerance));
    }
    some = false;
    env.each(this->islands(), [&](int island) { some |= doubtful[island] != 0; });
    return !env.lanes.any_lane(some);
  }

  // whether one in doubt is made of rounding (judge.h); lo: the squares of errors that are right
  DS_HD bool some_made_of_rounding() const {
    const auto live = this->live(), doubtful = this->doubtful();
    env.each(this->islands(), [&](int island) { live[island] = doubtful[island]; });
    env.sync();
    this->put_laws(live);
    env.sync();
    bool some = false;
    this->each_live([&](int island) {
      const auto grad = this->grad();
      this->each_eight(island, [&](int c) { Numbers(Scalar(0)).store(grad, c); });
      this->template subtract_forces<Terms::kSquares>(island, grad);
      this->each_tree(island, [&](int tree) {
        for (int k = 0; k < dofs(tree); k++)
          grad[begin(tree) + k] = rounding_of_terms(k, Scalar(grad[begin(tree) + k]));
      });
      if (env.t.o.has_rigid) this->template subtract_forces<Terms::kRigid>(island, grad);
      put_direction(island);
      some |= !is_small(this->dot(island, this->dw(), this->dw()), this->lo()[island]);
    });
    const bool moved = env.lanes.any_lane(some);
    env.sync();
    return moved;
  }
  // the largest natural residual of any island at the forces that are returned, and whether those of some make an
  // acceleration out of rounding
  DS_HD Scalar natural_residual(bool* rounded) const {
    return apart(*this, [=](const auto& self) { return self.natural_residual_here(rounded); });
  }
  DS_HD Scalar natural_residual_here(bool* rounded) const {
    const auto all = this->live(), doubtful = this->doubtful();
    env.each(this->islands(), [&](int island) { all[island] = 1; });
    this->each_live([&](int island) {
      put_gradient(island);
      this->negate(island, this->grad(), this->dw());
    });
    env.sync();
    this->put_products(all, this->dw(), false, this->con_dy(), this->row_dy());
    this->put_diagonals(all);
    env.sync();
    this->each_live([&](int island) {
      const Scalar count = this->parts(island, 1);
      this->alpha()[island] = this->parts(island, 0) / (count > Scalar(1) ? count : Scalar(1));
    });
    env.sync();
    this->put_natural(all);
    env.sync();
    bool some = false, doubt = false;
    this->each_live([&](int island) {
      const Scalar size = this->parts(island, 1), error = sqrt(this->parts(island, 0));
      const Scalar ww = this->dot(island, this->w(), this->w());
      const auto stiff = this->template stiff_terms<Scalar>(its_contacts(island), its_rows(island));
      some |= is_softer_than_meant(ww, stiff);
      doubtful[island] = in_doubt(ww, stiff);
      doubt |= doubtful[island] != 0;
      this->lo()[island] = right_of_balance(ww, stiff);
      this->slope()[island] = error / (size > Scalar(0) ? sqrt(size) : Scalar(1));
    });
    *rounded = env.lanes.any_lane(some);
    env.sync();
    if (!*rounded && env.lanes.any_lane(doubt)) *rounded = some_made_of_rounding();
    Scalar worst(0);
    for (int island = 0; island < this->islands(); island++) {
      const Scalar r = this->slope()[island];
      worst = r <= worst || worst != worst ? worst : r;  // NaN stays
    }
    return worst;
  }

  // w and contact forces back into the workspace; slots and trees that have none are zeros already
  DS_HD void put_back() const {
    apart(*this, [=](const auto& self) { self.put_back_here(); });
  }
  DS_HD void put_back_here() const {
    const int slots = this->slots();
    env.each(this->islands(), [&](int island) {
      this->each_tree(island, [&](int tree) {
        for (int k = 0; k < dofs(tree); k++)
          this->put(env.w(), env.t.tree_dof[tree] + k, this->w()[begin(tree) + k]);
      });
    });
    env.each(this->contacts(), [&](int i) {
      const int slot = this->con_slot()[i];
      for (int r = 0; r < kDim; r++) this->put(env.con_f(), kDim * slot + r, this->con_f()[r * slots + i]);
    });
    // what sensors read of scalar rows
    env.each(this->rows(), [&](int i) {
      with_scalar_row(env, this->row_source()[i],
                      [&](const auto& kind, int row) { this->put(kind.y(), row, this->row_y()[i]); });
    });
  }
};

// one environment; `packed` takes those of its islands that go into packs
template <int kDim, bool kByRows, bool kOneEight, class E, class Packed>
DS_STAGE void solve_element(E& env, int element, Packed& packed) {
  const IslandEnv<E, kOneEight> base(env, element);
  if (env.lanes.rank() == 0) Partition<E, kOneEight>(base).run();
  env.sync();
  const IslandRows<kDim, E, kOneEight> rows(base);
  rows.run();
  IslandContacts<kDim, E, kOneEight>(rows).run();
  if constexpr (IslandEnv<E, kOneEight>::kIntoPacks) {
    const auto head = base.head();
    const int own = head[kHeadOwn];
    for (int island = own; island < head[kHeadIslands]; island++) packed.add(rows, island);
    head[kHeadIslands] = own;
    head[kHeadContacts] = base.con_adr()[own];
    head[kHeadRows] = base.row_adr()[own];
    if (own == 0) return;
  }
  const IslandSolver<kDim, kByRows, E, kOneEight> solver{
      IslandLaws<kDim, kByRows, IslandRows<kDim, E, kOneEight>>(rows)};
  solver.choose_start();
  const auto tolerance = lane_of(law_tolerance(env, false), element);
  note_steps(env, element, typename E::Scalar(solver.newton(env.t.o.newton, tolerance)));
  bool solved = solver.judge(env.t.o.newton, tolerance);
  if (env.ends_call) {
    bool rounded = false;
    const auto residual = solver.natural_residual(&rounded);
    note_residual(env, element, residual);
    // a residual that is no number tells nothing right
    solved = solved && !rounded && residual < typename E::Scalar(kVast);
  }
  if (!solved) env.unsolved = mask_or(env.unsolved, mask_of_word<typename E::Real>(1u << element));
  solver.put_back();
  env.sync();
}

template <int kDim, bool kByRows, bool kOneEight, class E, class Packed>
DS_HD void solve_elements(E& env, Packed& packed) {
  for (int element = 0; element < E::kPack; element++)
    solve_element<kDim, kByRows, kOneEight>(env, element, packed);
}
struct NoPacks {};

// all environments of a pack; dw: the last acceleration, whitened
template <int kDim, bool kByRows, class E>
DS_FN void solve_islands(E& env) {
  using Real = typename E::Real;
  env.each(env.t.n.nv, [&](int i) { env.w()[i] = Real(0); });
  env.each(kDim * env.ncon_max, [&](int i) { env.con_f()[i] = Real(0); });
  const IslandEnv<E, false> first(env, 0);
  if (env.lanes.rank() == 0) find_rows_in_use(first);
  IslandBodies<E>{env}.run(first.body_eights(), first.body_users());
  put_contact_records<kDim>(env);
  env.iterations = Real(0);
  if (env.ends_call) env.residual = Real(0);
  [[maybe_unused]] NoPacks none;
  if (env.t.n.ntreepad == kEight) {
    solve_elements<kDim, kByRows, true>(env, none);
  } else if constexpr (E::kPack > 1) {
    PackBins<kDim, kByRows, E> packed(env);
    solve_elements<kDim, kByRows, false>(env, packed);
    packed.finish();
  } else {
    solve_elements<kDim, kByRows, false>(env, none);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

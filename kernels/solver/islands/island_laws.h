// Laws of the rows of many islands at once: cost, force and curvature of packs of contacts and of scalar rows.
//
// The elements of a pack are neighbours in the list, of one island or several. Each leaves its part of a sum in con_part or
// row_part; whoever has an island adds up its parts in order (IslandEnv::sum).
//
// solves    cost, force, curvature, slope along dw, and parts of the natural residual, of every row
// equation  those of rows/cone.h for contacts, of rows/kinds/scalar_law.h for scalar rows
// source    rows/cone.h, rows/kinds/scalar_law.h
// deviation none
// reads     con_D, con_dim, con_mu, con_y, con_dy, con_f, row_law, row_D, row_bound, row_y, row_dy, row_f, alpha
// writes    con_f, con_h, row_f, row_h, row_piece, con_part, row_part
// cost      O(contacts + rows) a call
#pragma once

#include "kernels/solver/islands/island_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// a scalar row by the number of its law
template <class Real>
struct AnyScalarLaw {
  Real number, D, bound, R;

  DS_HD AnyScalarLaw(const Real& law, const Real& weight, const Real& f)
      : number(law), D(weight), bound(f), R(Real(1) / select(weight > Real(0), weight, Real(1))) {}
  template <class F>
  DS_HD Real pick(F f) const {
    return ScalarLaws<Real>::pick(number, bound, R, f);
  }
  DS_HD Real cost(const Real& y) const {
    return pick([&](const auto& law) { return law.add_cost(Real(0), y, D); });
  }
  DS_HD Real curvature(const Real& y) const {
    return pick([&](const auto& law) { return law.curvature(y, D); });
  }
  DS_HD Real force(const Real& y, const Real& h) const {
    return pick([&](const auto& law) { return law.force(y, D, h); });
  }
  DS_HD Real piece(const Real& y, const Real& h) const {
    return pick([&](const auto& law) { return law.piece(y, h); });
  }
  DS_HD void add_along(const Real& y, const Real& d, const Real& alpha, Real* slope, Real* bend) const {
    const Real at = fma(alpha, d, y), h = curvature(at);
    *slope = fma(-force(at, h), d, *slope);
    *bend = fma(h * d, d, *bend);
  }
  DS_HD Real project(const Real& l) const {
    return pick([&](const auto& law) { return law.project(l); });
  }
};

// what the law of a contact depends on besides y, from the numbers of its run: number(run, i)
template <int kDim, class Rows, class Of>
DS_HD auto cone_params_of(const Rows& rows, int i, const Of& number) {
  using Number = decltype(number(rows.con_D(), i));
  ConeParams<Number, kDim> p;
  p.slot = 0;
  p.l1_cone = false;
  p.D = number(rows.con_D(), i);
  p.dim = number(rows.con_dim(), i);
  DS_UNROLL
  for (int k = 0; k < kDim - 1; k++) p.mu[k] = number(rows.con_mu(), k * rows.slots() + i);
  p.cone_mu = p.mu[0] / Number(sqrt(rows.env.t.o.impratio));
  return p;
}

// Rows: IslandRows, or PackedRows of packed_islands.h
template <int kDim, bool kByRows, class Rows>
struct IslandLaws : Rows {
  using Base = Rows;
  using Base::env, Base::load, Base::store;
  using Scalar = typename Base::Scalar;
  using Real = typename Base::Real;
  using Reals = typename Base::Reals;
  using Ints = typename Base::Ints;
  using Cones = Contacts<kDim, kByRows, typename Base::Environment>;
  DS_HD explicit IslandLaws(const Base& base) : Base(base) {}

  // f(y, its change along dw, y0) for contacts and scalar rows that follow each other
  struct Neighbours {
    int begin, end;
  };
  template <class F>
  DS_HD void each_y(Neighbours contacts, Neighbours rows, F f) const {
    for (int r = 0; r < kDim; r++)
      for (int i = contacts.begin; i < contacts.end; i++) {
        const int k = r * this->slots() + i;
        f(this->con_y()[k], this->con_dy()[k], this->con_y0()[k]);
      }
    for (int i = rows.begin; i < rows.end; i++) f(this->row_y()[i], this->row_dy()[i], this->row_y0()[i]);
  }
  // |sqrt(D) y0|^2 of contacts and scalar rows that follow each other
  template <class Number>
  DS_HD Number asked_squared(Neighbours contacts, Neighbours rows) const {
    Number sum(0);
    const auto add = [&](const Number& D, const Number& y) { sum = fma(D * y, y, sum); };
    for (int i = rows.begin; i < rows.end; i++) add(this->row_D()[i], this->row_y0()[i]);
    for (int i = contacts.begin; i < contacts.end; i++)
      for (int r = 0; r < kDim; r++) add(this->con_D()[i], this->con_y0()[r * this->slots() + i]);
    return sum;
  }
  // of those that follow each other; diagonals must be current
  template <class Number>
  DS_HD StiffTerms<Number> stiff_terms(Neighbours contacts, Neighbours rows) const {
    StiffTerms<Number> sum;
    const bool rigid = this->env.t.o.has_rigid;
    for (int i = rows.begin; i < rows.end; i++) {
      const Number a = this->row_h()[i], l = this->row_f()[i];
      sum.add(a, this->row_D()[i], a * l * l);
      if (rigid) sum.add_rigid(this->rigid_weight_of_row(i), Number(this->row_D()[i]), l);
    }
    for (int i = contacts.begin; i < contacts.end; i++) {
      Number terms(0);
      for (int r = 0; r < kDim; r++) {
        const Number l = this->con_f()[r * this->slots() + i];
        terms = fma(this->con_h()[(triangle(r) + r) * this->slots() + i] * l, l, terms);
      }
      sum.add(this->con_h()[i], this->con_D()[i], terms);
      if (rigid)
        sum.add_rigid(this->rigid_weight_of_contact(i), Number(this->con_D()[i]), Number(this->con_f()[i]));
    }
    return sum;
  }

  DS_HD ConeParams<Real, kDim> cone(int i) const {
    return cone_params_of<kDim>(*this, i, [this](const Reals& run, int k) -> Real { return load(run, k); });
  }
  DS_HD void load_rows(const Reals& run, int i, Real* x) const {
    const int slots = this->slots();
    DS_UNROLL
    for (int r = 0; r < kDim; r++) x[r] = load(run, r * slots + i);
  }
  DS_HD AnyScalarLaw<Real> law_of_row(int i) const {
    return {load(this->row_law(), i), load(this->row_D(), i), load(this->row_bound(), i)};
  }

  // the cost of the rows of each island in a set: parts in con_part, row_part
  DS_HD void put_costs(const Ints& set, const Reals& con_y, const Reals& row_y) const {
    apart(*this, [=](const auto& self) { self.put_costs_here(set, con_y, row_y); });
  }
  DS_HD void put_costs_here(const Ints& set, const Reals& con_y, const Reals& row_y) const {
    this->each_pack(this->con_adr(), set, [&](int i) {
      Real y[kDim];
      load_rows(con_y, i, y);
      ConeLaw<Real, kDim> law;
      cone_law<kByRows, false>(cone(i), y, &law);
      store(this->con_part(), i, law.cost);
    });
    this->each_pack(this->row_adr(), set,
                    [&](int i) { store(this->row_part(), i, law_of_row(i).cost(load(row_y, i))); });
  }

  // forces and curvatures at the present y; parts: how much of the active set is another than before
  DS_HD void put_laws(const Ints& set) const {
    apart(*this, [=](const auto& self) { self.put_laws_here(set); });
  }
  DS_HD void put_laws_here(const Ints& set) const {
    const int slots = this->slots();
    this->each_pack(this->con_adr(), set, [&](int i) {
      Real y[kDim];
      load_rows(this->con_y(), i, y);
      ConeLaw<Real, kDim> law;
      cone_law<kByRows, true>(cone(i), y, &law);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) store(this->con_f(), r * slots + i, law.force[r]);
      auto same = all_true<Real>();
      for (int k = 0; k < kTriangle<kDim>; k++) {
        const auto h = this->con_h().from(k * slots);
        same = mask_and(same, load(h, i) == law.curvature[k]);
        store(h, i, law.curvature[k]);
      }
      store(this->con_part(), i, select(same, Real(0), Real(1)));
    });
    this->each_pack(this->row_adr(), set, [&](int i) {
      const auto law = law_of_row(i);
      const Real y = load(this->row_y(), i), h = law.curvature(y), piece = law.piece(y, h);
      store(this->row_f(), i, law.force(y, h));
      store(this->row_h(), i, h);
      store(this->row_part(), i, select(load(this->row_piece(), i) == piece, Real(0), Real(1)));
      store(this->row_piece(), i, piece);
    });
  }

  // slope and curvature of the rows' cost along the direction, each island at its own step length
  DS_HD void put_along(const Ints& set) const {
    const int slots = this->slots(), scalars = this->scalars();
    this->each_pack(this->con_adr(), set, [&](int i) {
      const Real alpha = this->of_island(this->alpha(), this->con_island(), i);
      Real y[kDim], d[kDim], slope(0), bend(0);
      load_rows(this->con_y(), i, y);
      load_rows(this->con_dy(), i, d);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) y[r] = fma(alpha, d[r], y[r]);
      Cones::add_along_of(cone(i), y, d, &slope, &bend);
      store(this->con_part(), i, slope);
      store(this->con_part(), slots + i, bend);
    });
    this->each_pack(this->row_adr(), set, [&](int i) {
      Real slope(0), bend(0);
      law_of_row(i).add_along(load(this->row_y(), i), load(this->row_dy(), i),
                              this->of_island(this->alpha(), this->row_island(), i), &slope, &bend);
      store(this->row_part(), i, slope);
      store(this->row_part(), scalars + i, bend);
    });
  }
  // the diagonal of A + R over the rows in use, summed, and how many there are: parts; diagonal blocks of A in con_h,
  // the diagonal in row_h
  DS_HD void put_diagonals(const Ints& set) const {
    const int slots = this->slots(), scalars = this->scalars();
    env.each(this->contacts(), [&](int i) {
      for (int r = 0; r < kDim; r++)
        for (int k = 0; k <= r; k++) this->con_h()[(triangle(r) + k) * slots + i] = this->contact_A(i, r, k);
    });
    env.each(this->rows(), [&](int i) { this->row_h()[i] = this->row_A(i); });
    this->each_pack(this->con_adr(), set, [&](int i) {
      Real A[kTriangle<kDim>];
      DS_UNROLL
      for (int k = 0; k < kTriangle<kDim>; k++) A[k] = load(this->con_h(), k * slots + i);
      MeanDiagonal<Real> diagonal;
      Cones::add_diagonal_of(cone(i), A, &diagonal);
      store(this->con_part(), i, diagonal.sum);
      store(this->con_part(), slots + i, diagonal.count);
    });
    this->each_pack(this->row_adr(), set, [&](int i) {
      const auto law = law_of_row(i);
      MeanDiagonal<Real> diagonal;
      diagonal.add(law.D > Real(0), load(this->row_h(), i), law.R);
      store(this->row_part(), i, diagonal.sum);
      store(this->row_part(), scalars + i, diagonal.count);
    });
  }
  // the natural residual's parts: |l - P_K(l - y / a)|^2 and |l|^2, a by island in alpha
  DS_HD void put_natural(const Ints& set) const {
    const int slots = this->slots(), scalars = this->scalars();
    this->each_pack(this->con_adr(), set, [&](int i) {
      Real y[kDim], d[kDim], f[kDim];
      load_rows(this->con_y(), i, y);
      load_rows(this->con_dy(), i, d);
      load_rows(this->con_f(), i, f);
      NaturalResidual<Real> residual{this->of_island(this->alpha(), this->con_island(), i)};
      Cones::add_natural_of(cone(i), y, d, f, &residual);
      store(this->con_part(), i, residual.error);
      store(this->con_part(), slots + i, residual.size);
    });
    this->each_pack(this->row_adr(), set, [&](int i) {
      const auto law = law_of_row(i);
      NaturalResidual<Real> residual{this->of_island(this->alpha(), this->row_island(), i)};
      residual.add_scalar(law, law.D > Real(0), load(this->row_y(), i), load(this->row_dy(), i), law.R,
                          load(this->row_f(), i));
      store(this->row_part(), i, residual.error);
      store(this->row_part(), scalars + i, residual.size);
    });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

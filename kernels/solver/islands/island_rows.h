// The rows of one environment by islands, on the trees that they reach: the scalar rows that kinds/ has made, and products
// of all rows, the contacts' (island_contacts.h) among them.
//
// A scalar row's sign stands in its block.
//
// solves    the blocks, weights and laws of scalar rows; y = y0 + Z'w, dy = Z'dw, grad <- grad - Z f of all rows
// equation  those of rows/rows.h, a block of Z for each tree that a row reaches
// source    rows/rows.h; rows/conditioning.h for the largest weight
// deviation as there
// reads     Linv, Z, lim_y0, loss_y0, dense_y0, lim_D, dense_D; of the arena the lists of partition.h, con_z, con_f
// writes    of the arena row_*, entry_eights, and the arrays that its callers name
// cost      O(rows x dofs of a tree)
#pragma once

#include "kernels/rows/conditioning.h"
#include "kernels/solver/islands/island_bodies.h"
#include "kernels/solver/islands/partition.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the coefficients of friction that rows may have
template <int kDim>
constexpr int kFrictions = kDim == 3 ? 2 : 5;

template <int kDim, class E, bool kOneEight>
struct IslandRows : IslandEnv<E, kOneEight> {
  using Base = IslandEnv<E, kOneEight>;
  using Base::env, Base::at, Base::vec, Base::put, Base::dofs, Base::padded, Base::element;
  using Scalar = typename Base::Scalar;
  using Reals = typename Base::Reals;
  using Numbers = typename Base::Numbers;
  DS_HD explicit IslandRows(const Base& base) : Base(base) {}

  // whether an island is solved among its rows (island_row_space.h)
  DS_HD bool is_among_rows(int island) const { return this->row_space()[island] >= 0; }

  // row r of contact i on its first or second tree
  DS_HD Reals contact_row(int i, int side, int r) const {
    const int width = this->width();
    return this->con_z().from(static_cast<Index>((i * 2 + side) * kDim + r) * width);
  }
  DS_HD int tree_of_contact(int i, int side) const { return this->tree_of_slot(this->con_slot()[i], side); }
  // calls f(side, tree) for the trees of a contact
  template <class F>
  DS_HD void each_side(int i, F f) const {
    const int sides = tree_of_contact(i, 1) < 0 ? 1 : 2;
    DS_ROLLED
    for (int side = 0; side < sides; side++) f(side, tree_of_contact(i, side));
  }

  // the eights that its rows reach on one of them
  DS_HD Eights eights_of_contact(int i, int side) const {
    return {static_cast<unsigned>(this->con_eights()[kPairSides * i + side])};
  }
  DS_HD void set_eights_of_contact(int i, int side, Eights eights) const {
    this->con_eights()[kPairSides * i + side] = static_cast<int>(eights.set);
  }

  // calls f(side, c, begin) for the eights that the rows of a contact reach, from dof c of a tree on; the tree's dofs begin
  // with number `begin` of w and its like
  template <class F>
  DS_HD void each_contact_eight(int i, F f) const {
    each_side(i, [&](int side, int tree) {
      const Eights eights = eights_of_contact(i, side);
      const int begin = this->begin(tree);
      for (int c = 0; c < padded(tree); c += kEight)
        if (kOneEight || eights.has(c)) f(side, c, begin);
    });
  }

  // calls f(tree, its part of the row) for the entries of a scalar row
  template <class F>
  DS_HD void each_entry(int i, F f) const {
    for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++)
      f(this->entry_tree()[e], this->row_z().from(this->entry_z()[e]));
  }
  // entries of A = Z'Z: of two rows of a contact, and of a scalar row with itself
  DS_HD Scalar contact_A(int i, int r, int k) const {
    Numbers s(Scalar(0));
    each_contact_eight(i, [&](int side, int c, int) {
      s.add_product(Numbers(contact_row(i, side, r), c), Numbers(contact_row(i, side, k), c));
    });
    return s.fold();
  }
  DS_HD Scalar row_A(int i) const {
    Numbers s(Scalar(0));
    each_entry(i, [&](int tree, const Reals& z) {
      for (int c = 0; c < padded(tree); c += kEight) s.add_product(Numbers(z, c), Numbers(z, c));
    });
    return s.fold();
  }

  // D of rigid rows where a contact or a scalar row is (rows/rigid_weight.h)
  DS_HD Scalar rigid_weight_of_contact(int i) const {
    Scalar least(kNoRigidWeight);
    if (env.t.o.has_rigid) each_side(i, [&](int, int tree) { least = min(least, rigid_weight_of(tree)); });
    return least;
  }
  DS_HD Scalar rigid_weight_of_row(int i) const {
    Scalar least(kNoRigidWeight);
    if (env.t.o.has_rigid)
      each_entry(i, [&](int tree, const Reals&) { least = min(least, rigid_weight_of(tree)); });
    return least;
  }
  DS_HD Scalar rigid_weight_of(int tree) const { return lane_of(rigid_weight_of_tree(env, tree), element); }

  // the weight of a row of which A is the largest square, as the factors can hold it (rows/conditioning.h)
  template <class Number>
  DS_HD static Number capped(const Number& D, const Number& A, const Number& rigid) {
    return min(D, select(D < weight_without_inverse_mass<Number>(), stiffest<Number>() / A,
                         rigid_weight_for(rigid, A)));
  }

  // what a scalar row is made of: D, y0, its law
  DS_HD void make_row(int i) const {
    Scalar D(0), y0(0), bound(0);
    int number = 0;
    bool own_weight = false;
    with_scalar_row(env, this->row_source()[i], [&](const auto& kind, int k) {
      D = lane_of(kind.weight(k), element);
      y0 = at(kind.y0(), k);
      kind.with_law(k, [&](const auto& law) {
        bound = Scalar(lane_of(law.bound(), element));
        number = ScalarLaws<typename E::Real>::number_of(law);
        own_weight = law.kOwnWeight;
      });
      put_block(i, kind, k);
    });
    const Scalar A = row_A(i);
    this->row_D()[i] = own_weight || !(A > Scalar(0)) ? D : capped(D, A, rigid_weight_of_row(i));
    this->row_y0()[i] = y0;
    this->row_bound()[i] = bound;
    this->row_law()[i] = Scalar(number);
  }
  DS_HD Reals clear_entry(int e) const {
    const auto z = this->row_z().from(this->entry_z()[e]);
    for (int c = 0; c < padded(this->entry_tree()[e]); c += kEight) Numbers(Scalar(0)).store(z, c);
    return z;
  }
  template <class Kind>
  DS_HD void put_block(int i, const Kind& kind, int k) const {
    const auto& t = env.t;
    const Scalar sign = lane_of(kind.sign(k), element);
    const int e = this->row_entry()[i], first = t.tree_dof[this->entry_tree()[e]], dof = kind.dof(k);
    const int row = t.M_rowadr[dof];
    const auto z = clear_entry(e);
    unsigned eights = 0;
    for (int a = row; a < t.M_rowadr[dof + 1]; a++) {
      z[t.M_col[a] - first] = sign * at(env.Linv(), a);
      eights |= Eights::of_dof(t.M_col[a] - first).set;
    }
    this->entry_eights()[e] = static_cast<int>(eights);
  }
  DS_HD void put_block(int i, const DenseRows<E>&, int g) const {
    for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++) {
      const int tree = this->entry_tree()[e], first = env.t.tree_dof[tree];
      const auto z = clear_entry(e);
      this->entry_eights()[e] = ~0;
      for (int k = 0; k < dofs(tree); k++) z[k] = at(env.Z(), static_cast<Index>(g) * env.t.n.nv + first + k);
    }
  }
  DS_HD void make_row_room(int i) const {
    this->row_D()[i] = this->row_y0()[i] = this->row_bound()[i] = this->row_law()[i] = Scalar(0);
    this->row_y()[i] = this->row_dy()[i] = Scalar(0);
  }

  DS_HD void run() const {
    apart(*this, [=](const auto& self) { self.run_here(); });
  }
  DS_HD void run_here() const {
    const int rows = this->rows();
    env.each(Base::kPack > 1 ? with_island_room(rows) : rows, [&](int i) {
      if (i < rows)
        make_row(i);
      else
        make_row_room(i);
    });
  }

  // calls put_product(r, the product of row r of a contact with x)
  template <class F>
  DS_HD void contact_products(int i, const Reals& x, F put_product) const {
    Numbers s[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) s[r] = Numbers(Scalar(0));
    each_contact_eight(i, [&](int side, int c, int begin) {
      const Numbers v(x, begin + c);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) s[r].add_product(Numbers(contact_row(i, side, r), c), v);
    });
    DS_UNROLL
    for (int r = 0; r < kDim; r++) put_product(r, s[r].fold());
  }
  DS_HD Scalar row_product(int i, const Reals& x) const {
    Numbers s(Scalar(0));
    each_entry(i, [&](int tree, const Reals& z) {
      for (int c = 0; c < padded(tree); c += kEight)
        s.add_product(Numbers(z, c), Numbers(x, this->begin(tree) + c));
    });
    return s.fold();
  }
  // of the rows of islands in a set: out <- base + Z'x, or Z'x
  DS_HD void put_products(const typename Base::Ints& set, const Reals& x, bool lift, const Reals& con_out,
                          const Reals& row_out) const {
    apart(*this, [=](const auto& self) { self.put_products_here(set, x, lift, con_out, row_out); });
  }
  DS_HD void put_products_here(const typename Base::Ints& set, const Reals& x, bool lift,
                               const Reals& con_out, const Reals& row_out) const {
    const int slots = this->slots();
    env.each(this->contacts(), [&](int i) {
      if (set[this->con_island()[i]] <= 0) return;
      contact_products(i, x, [&](int r, Scalar s) {
        con_out[r * slots + i] = lift ? this->con_y0()[r * slots + i] + s : s;
      });
    });
    env.each(this->rows(), [&](int i) {
      if (set[this->row_island()[i]] <= 0) return;
      const Scalar s = row_product(i, x);
      row_out[i] = lift ? this->row_y0()[i] + s : s;
    });
  }
  // x <- x - Z f of the rows of an island, or of rigid ones alone, or x <- x + the squares of the terms
  template <Terms kTerms = Terms::kAll>
  DS_HD void subtract_forces(int island, const Reals& x) const {
    apart(*this, [=](const auto& self) { self.template subtract_forces_here<kTerms>(island, x); });
  }
  template <Terms kTerms>
  DS_HD static void add_term(Numbers* sum, Scalar f, const Numbers& z) {
    if constexpr (kTerms == Terms::kSquares) {
      const Numbers term = z.scaled(f);
      sum->add_product(term, term);
    } else {
      sum->add(f, z);
    }
  }
  template <Terms kTerms>
  DS_HD static Scalar wanted(Scalar of_tree, Scalar D, Scalar f) {
    return kTerms == Terms::kRigid ? if_rigid(of_tree, D, f) : f;
  }
  template <Terms kTerms>
  DS_HD void subtract_forces_here(int island, const Reals& x) const {
    const int slots = this->slots();
    for (int i = this->row_adr()[island]; i < this->row_adr()[island + 1]; i++) {
      const Scalar rigid = kTerms == Terms::kRigid ? rigid_weight_of_row(i) : Scalar(0);
      const Scalar f = wanted<kTerms>(rigid, this->row_D()[i], this->row_f()[i]);
      if (f == Scalar(0)) continue;
      each_entry(i, [&](int tree, const Reals& z) {
        const int begin = this->begin(tree);
        for (int c = 0; c < padded(tree); c += kEight) {
          Numbers s(x, begin + c);
          add_term<kTerms>(&s, -f, Numbers(z, c));
          s.store(x, begin + c);
        }
      });
    }
    for (int i = this->con_adr()[island]; i < this->con_adr()[island + 1]; i++) {
      Scalar f[kDim];
      bool some = false;
      const Scalar rigid = kTerms == Terms::kRigid ? rigid_weight_of_contact(i) : Scalar(0);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        f[r] = -wanted<kTerms>(rigid, this->con_D()[i], this->con_f()[r * slots + i]);
        some |= f[r] != Scalar(0);
      }
      if (!some) continue;
      each_contact_eight(i, [&](int side, int c, int begin) {
        Numbers s(x, begin + c);
        DS_UNROLL
        for (int r = 0; r < kDim; r++) add_term<kTerms>(&s, f[r], Numbers(contact_row(i, side, r), c));
        s.store(x, begin + c);
      });
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

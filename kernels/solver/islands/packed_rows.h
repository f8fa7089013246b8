// A pack of islands of one tree: its rows, by the names that IslandLaws asks for.
//
// An island's rows are copied to its element of the pack; those that have fewer contacts, rows or dofs than others there
// have zeros in place of them.
//
// solves    nothing: copies of rows, and y = y0 + Z'w, dy = Z'dw of all islands of the pack
// equation  those of island_rows.h, an element an island
// source    island_rows.h
// deviation none
// reads     what IslandRows and IslandContacts leave, dw
// writes    the arrays of island_pack.inl
// cost      O(rows x dofs) an island
#pragma once

#include "kernels/data/island_pack.h"
#include "kernels/solver/islands/island_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the rows of a pack of islands, by the names that IslandLaws asks for
template <int kDim, class E>
struct PackedRows {
  using Environment = E;
  using Scalar = typename E::Scalar;
  using Real = typename E::Real;
  using Mask = MaskOf<Real>;
  using Reals = Field<Real, 1>;
  // how many contacts or scalar rows there are; in place of a set of islands
  struct Ints {
    int count;
  };
  static constexpr int kPack = E::kPack;

  E& env;
  IslandPackSizes sizes;
  IslandPackLayout layout;
  Reals reals;
  bool among_rows;                                 // whether they are solved in the row space
  int count = 0;                                   // islands
  int dofs = 0, most_contacts = 0, most_rows = 0;  // of any of them
  int element[kPack], tree[kPack], own_contacts[kPack], own_rows[kPack];
  int slot[kPackedContacts][kPack], source[kPackedRows][kPack];

  DS_HD PackedRows(E& e, int bin)
      : env(e),
        sizes(island_pack_sizes(e.t.n, bin)),
        layout(island_pack_layout(sizes)),
        among_rows(kPackBins[bin].among_rows) {
    int* const behind_arena = e.pool + with_island_room(static_cast<int>(pool_words<Scalar>(e.t.n)));
    reals = Reals{reinterpret_cast<Real*>(behind_arena)}.from(island_pack_reals(e.t.n, bin));
  }

#define ISLAND_P(name, size, meaning) \
  DS_HD Reals name() const { return reals.from(layout.name); }
#include "kernels/data/island_pack.inl"

  DS_HD int slots() const { return sizes.c; }
  DS_HD int scalars() const { return sizes.r; }
  DS_HD int contacts() const { return most_contacts; }
  DS_HD int rows() const { return most_rows; }
  DS_HD Ints con_adr() const { return {most_contacts}; }
  DS_HD Ints row_adr() const { return {most_rows}; }
  DS_HD Ints con_island() const { return {0}; }
  DS_HD Ints row_island() const { return {0}; }
  template <class F>
  DS_HD void each_pack(Ints of, Ints, F f) const {
    for (int i = 0; i < of.count; i++) f(i);
  }
  DS_HD Real load(const Reals& run, int i) const { return run[i]; }
  DS_HD void store(const Reals& run, int i, const Real& x) const { run[i] = x; }
  DS_HD Real of_island(const Reals& run, Ints, int) const { return run[0]; }

  DS_HD Reals contact_row(int i, int r) const { return con_z().from((i * kDim + r) * sizes.d); }
  DS_HD Reals scalar_row(int i) const { return row_z().from(i * sizes.d); }

  // sums in the order of Eight and of SerialLanes::accumulate
  DS_HD Real dot(const Reals& a, const Reals& b) const {
    return SerialLanes::accumulate<Real>(dofs, [&](Index k, const Real& s) { return fma(a[k], b[k], s); });
  }
  DS_HD Real sum(const Reals& run, int n) const {
    return SerialLanes::accumulate<Real>(n, [&](Index i, const Real& s) { return s + run[i]; });
  }
  DS_HD Real parts(int which) const {
    return sum(row_part().from(which * scalars()), rows()) +
           sum(con_part().from(which * slots()), contacts());
  }
  DS_HD Real contact_A(int i, int r, int k) const { return dot(contact_row(i, r), contact_row(i, k)); }
  DS_HD Real row_A(int i) const { return dot(scalar_row(i), scalar_row(i)); }

  // out <- base + Z'x, or Z'x, of the islands of a mask
  DS_HD void put_products(const Mask& live, const Reals& x, bool lift, const Reals& con_out,
                          const Reals& row_out) const {
    apart(*this, [=](const auto& self) { self.put_products_here(live, x, lift, con_out, row_out); });
  }
  DS_HD void put_products_here(const Mask& live, const Reals& x, bool lift, const Reals& con_out,
                               const Reals& row_out) const {
    const auto put = [&](const Real& s, const Reals& base, const Reals& out, int i) {
      out[i] = select(live, lift ? base[i] + s : s, out[i]);
    };
    for (int i = 0; i < contacts(); i++)
      for (int r = 0; r < kDim; r++) put(dot(contact_row(i, r), x), con_y0(), con_out, r * slots() + i);
    for (int i = 0; i < rows(); i++) put(dot(scalar_row(i), x), row_y0(), row_out, i);
  }

  // D of rigid rows in each island (rows/rigid_weight.h)
  DS_HD Real rigid_weight() const {
    Real weight(kNoRigidWeight);
    if (env.t.o.has_rigid)
      for (int l = 0; l < count; l++)
        set_lane(weight, l, lane_of(rigid_weight_of_tree(env, tree[l]), element[l]));
    return weight;
  }
  DS_HD Real rigid_weight_of_contact(int) const { return rigid_weight(); }
  DS_HD Real rigid_weight_of_row(int) const { return rigid_weight(); }

  // numbers of a row that are read, whatever tree comes
  DS_HD int width() const {
    return with_island_room(env.t.n.ntreepad < kPackedDofs ? env.t.n.ntreepad : kPackedDofs);
  }
  // room for as many contacts and rows; new ones are none
  DS_HD void grow(int n, int ncon, int nrow) {
    const Real zero(0);
    const auto clear = [&](const Reals& row) {
      for (int k = 0; k < width(); k++) row[k] = zero;
    };
    if (count == 0) dofs = most_contacts = most_rows = 0;
    for (; dofs < n; dofs++) dw()[dofs] = zero;
    for (; most_contacts < ncon; most_contacts++) {
      const int i = most_contacts;
      for (int r = 0; r < kDim; r++) clear(contact_row(i, r));
      con_D()[i] = con_dim()[i] = zero;
      for (int k = 0; k < kFrictions<kDim>; k++) con_mu()[k * slots() + i] = zero;
      for (int r = 0; r < kDim; r++)
        con_y0()[r * slots() + i] = con_y()[r * slots() + i] = con_dy()[r * slots() + i] = zero;
    }
    for (; most_rows < nrow; most_rows++) {
      const int i = most_rows;
      clear(scalar_row(i));
      row_law()[i] = row_D()[i] = row_bound()[i] = row_y0()[i] = row_y()[i] = row_dy()[i] = zero;
    }
  }
  // Rows are copied as they lie, sixteen numbers of an element in a place that so many packs have in a row, and turned into
  // packs once all elements are there
  DS_HD Field<Scalar, 1> before_turn(const Reals& row, int c, int l) const {
    return {reinterpret_cast<Scalar*>(row.p + c) + l * kRecordRun};
  }
  // from a run of a tree's dofs, of those of its eights that hold some; zeros stand behind the last
  template <class From>
  DS_HD void copy(const Field<Scalar, 1>& run, Eights set, int n, const Reals& to) const {
    using Numbers = typename From::Numbers;
    for (int c = 0; c < n; c += kEight)
      if (set.has(c))
        Numbers(run, c).store(before_turn(to, c / kRecordRun * kRecordRun, count), c % kRecordRun);
  }
  DS_HD void turn(const Reals& row) const {
    for (int c = 0; c < dofs; c += kRecordRun) {
      Real x[kRecordRun];
      load_records([&](int l) { return before_turn(row, c, l); }, 0, x);
      DS_UNROLL
      for (int k = 0; k < kRecordRun; k++) row[c + k] = x[k];
    }
  }
  DS_HD void turn_rows() const {
    for (int i = 0; i < contacts(); i++)
      for (int r = 0; r < kDim; r++) turn(contact_row(i, r));
    for (int i = 0; i < rows(); i++) turn(scalar_row(i));
  }

  // begins the next element: an island of one tree with n dofs
  DS_HD void begin(int of, int its_tree, int n, int ncon, int nrow) {
    grow(n, ncon, nrow);
    element[count] = of, tree[count] = its_tree;
    own_contacts[count] = ncon, own_rows[count] = nrow;
  }
  // the numbers of its rows: of(run, i) is number i of a run of `from`, where its contacts and scalar rows begin with con and
  // row
  template <class From, class Of>
  DS_HD void take_numbers(const From& from, int con, int row, Of of) const {
    const auto take = [&](const auto& run, int i, const Reals& to, int k) {
      set_lane(to[k], count, of(run, i));
    };
    for (int i = 0; i < own_contacts[count]; i++) {
      const int c = con + i;
      for (int r = 0; r < kDim; r++) take(from.con_y0(), r * from.slots() + c, con_y0(), r * slots() + i);
      take(from.con_D(), c, con_D(), i);
      take(from.con_dim(), c, con_dim(), i);
      for (int k = 0; k < kFrictions<kDim>; k++)
        take(from.con_mu(), k * from.slots() + c, con_mu(), k * slots() + i);
    }
    for (int i = 0; i < own_rows[count]; i++) {
      const int c = row + i;
      take(from.row_law(), c, row_law(), i);
      take(from.row_D(), c, row_D(), i);
      take(from.row_bound(), c, row_bound(), i);
      take(from.row_y0(), c, row_y0(), i);
    }
  }

  // an island of an environment, in its arena, becomes the next element of the pack
  template <class From>
  DS_HD void take(const From& from, int island) {
    const int own = from.tree_list()[from.tree_adr()[island]], n = from.dofs(own);
    const int con = from.con_adr()[island], ncon = from.con_adr()[island + 1] - con;
    const int row = from.row_adr()[island], nrow = from.row_adr()[island + 1] - row;
    begin(from.element, own, n, ncon, nrow);
    const int first = env.t.tree_dof[own];
    for (int k = 0; k < n; k++) set_lane(dw()[k], count, from.at(env.dw(), first + k));
    for (int i = 0; i < ncon; i++) {
      const int c = con + i;
      slot[i][count] = from.con_slot()[c];
      const Eights eights = from.width() == kEight ? Eights{~0u} : from.eights_of_contact(c, 0);
      for (int r = 0; r < kDim; r++) copy<From>(from.contact_row(c, 0, r), eights, n, contact_row(i, r));
    }
    for (int i = 0; i < nrow; i++) {
      const int c = row + i, e = from.row_entry()[c];
      source[i][count] = from.row_source()[c];
      copy<From>(from.row_z().from(from.entry_z()[e]), Eights{static_cast<unsigned>(from.entry_eights()[e])},
                 n, scalar_row(i));
    }
    take_numbers(from, con, row, [](const auto& run, int i) { return run[i]; });
    count++;
  }

  // element l of another pack, before its rows are turned, becomes the next of this one
  DS_HD void take_over(const PackedRows& other, int l) {
    const int n = other.dofs, ncon = other.own_contacts[l], nrow = other.own_rows[l];
    begin(other.element[l], other.tree[l], n, ncon, nrow);
    const auto move_row = [&](const Reals& from, const Reals& to) {
      for (int c = 0; c < n; c += kRecordRun)
        for (int k = 0; k < kRecordRun; k++) before_turn(to, c, count)[k] = other.before_turn(from, c, l)[k];
    };
    for (int k = 0; k < n; k++) set_lane(dw()[k], count, lane_of(other.dw()[k], l));
    for (int i = 0; i < ncon; i++) {
      slot[i][count] = other.slot[i][l];
      for (int r = 0; r < kDim; r++) move_row(other.contact_row(i, r), contact_row(i, r));
    }
    for (int i = 0; i < nrow; i++) {
      source[i][count] = other.source[i][l];
      move_row(other.scalar_row(i), scalar_row(i));
    }
    take_numbers(other, 0, 0, [l](const auto& run, int i) { return lane_of(run[i], l); });
    count++;
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

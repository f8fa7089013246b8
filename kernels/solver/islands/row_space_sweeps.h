// Projected Gauss-Seidel on an island that is solved among its rows: where Newton's steps begin.
//
// Since A is there, y is kept in place of w: a sweep touches no dof. One island (SweptIsland) and a pack of them (SweptPack)
// take the same steps on the same numbers.
//
// solves    minimize over l in K   1/2 l'(A + R) l + l'y0,   approximately: so many sweeps
// equation  y = y0 + A l is kept
//             scalar rows   l <- project(l - (y + R l) / (A_ii + R))
//             contacts      rows/kinds/contact_block.h
//           each block c over its own set, then y <- y + A_c dl_c
// source    solver/pgs.h
// deviation none
// reads     A of island_row_space.h or packed_direction.h; *_y0, *_D, con_dim, con_mu, row_law, row_bound
// writes    *_f, the forces; *_dy, y; b, con_h (forces of edges)
// cost      O(rows^2) a sweep
#pragma once

#include "kernels/solver/islands/island_laws.h"
#include "kernels/solver/islands/island_row_space.h"
#include "kernels/solver/islands/packed_direction.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the rows of one island
template <int kDim, class E>
struct SweptIsland {
  const IslandRowSpace<kDim, E>& of;
  using Number = typename E::Scalar;
  using Numbers = typename IslandRowSpace<kDim, E>::Numbers;

  DS_HD int first_row() const { return of.first_row; }
  DS_HD int first_contact() const { return of.first_contact; }
  DS_HD int scalars() const { return of.scalars; }
  DS_HD int contacts() const { return of.blocks - of.scalars; }
  DS_HD int room() const { return of.width; }
  DS_HD auto y() const { return of.b; }
  DS_HD Number gram(int i, int j) const { return of.A[i * of.width + j]; }
  // y <- y + A dl, of rows `at` and the following
  template <int kRows>
  DS_HD void add(int at, const Number* dl) const {
    bool some = false;
    DS_UNROLL
    for (int r = 0; r < kRows; r++) some |= dl[r] != Number(0);
    if (!some) return;
    for (int c = 0; c < of.width; c += kEight) {
      Numbers next(y(), c);
      DS_UNROLL
      for (int r = 0; r < kRows; r++) next.add(dl[r], Numbers(of.A, (at + r) * of.width + c));
      next.store(y(), c);
    }
  }
};

// those of a pack of islands
template <int kDim, class E>
struct SweptPack {
  const PackedDirection<kDim, E>& of;
  using Number = typename E::Real;

  DS_HD int first_row() const { return 0; }
  DS_HD int first_contact() const { return 0; }
  DS_HD int scalars() const { return of.rows(); }
  DS_HD int contacts() const { return of.contacts(); }
  DS_HD int room() const { return of.all_rows(); }
  DS_HD auto y() const { return of.b(); }
  DS_HD Number gram(int i, int j) const { return of.gram(i, j); }
  template <int kRows>
  DS_HD void add(int at, const Number* dl) const {
    auto some = all_false<Number>();
    DS_UNROLL
    for (int r = 0; r < kRows; r++) some = mask_or(some, dl[r] != Number(0));
    if (!any(some)) return;
    for (int i = 0; i < room(); i++) {
      Number next = y()[i];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) next = fma(dl[r], gram(at + r, i), next);
      y()[i] = select(some, next, y()[i]);
    }
  }
};

// sweeps from zero forces (bench/experiments.md)
constexpr int kRowSpaceSweeps = 4;

template <int kDim, bool kByRows, class Swept>
struct RowSpaceSweeps {
  using Number = typename Swept::Number;
  static constexpr int kForces = kByRows ? kDim : kEdges<kDim>;
  static_assert(kForces <= kTriangle<kDim>);
  const Swept& rows;

  DS_HD auto y() const { return rows.y(); }
  DS_HD int place_of_contact(int i) const { return rows.scalars() + kDim * i; }

  // f(force, y0, dy, y) of every row
  template <class F>
  DS_HD void each(F f) const {
    const int slots = rows.of.slots();
    for (int i = 0; i < rows.scalars(); i++) {
      const int k = rows.first_row() + i;
      f(rows.of.row_f()[k], rows.of.row_y0()[k], rows.of.row_dy()[k], y()[i]);
    }
    for (int i = 0; i < rows.contacts(); i++)
      for (int r = 0; r < kDim; r++) {
        const int k = r * slots + rows.first_contact() + i;
        f(rows.of.con_f()[k], rows.of.con_y0()[k], rows.of.con_dy()[k], y()[place_of_contact(i) + r]);
      }
  }

  DS_HD void sweep_scalar_row(int i) const {
    const int k = rows.first_row() + i;
    const AnyScalarLaw<Number> law{rows.of.row_law()[k], rows.of.row_D()[k], rows.of.row_bound()[k]};
    const Number before = rows.of.row_f()[k];
    const Number free = before - (y()[i] + law.R * before) / (rows.gram(i, i) + law.R);
    const Number next = select(law.D > Number(0), law.project(free), Number(0)), change = next - before;
    rows.of.row_f()[k] = next;
    rows.template add<1>(i, &change);
  }
  DS_HD void sweep_contact(int i) const {
    const int k = rows.first_contact() + i, at = place_of_contact(i), slots = rows.of.slots();
    const auto edges = rows.of.con_h().from(k), force = rows.of.con_f().from(k);
    Number own[kDim], A[kTriangle<kDim>], l[kForces], change[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      own[r] = y()[at + r];
      DS_UNROLL
      for (int c = 0; c <= r; c++) A[triangle(r) + c] = rows.gram(at + r, at + c);
    }
    const auto forces = kByRows ? force : edges;
    DS_UNROLL
    for (int e = 0; e < kForces; e++) l[e] = forces[e * slots];
    const auto cone =
        cone_params_of<kDim>(rows.of, k, [](const auto& run, int j) -> Number { return run[j]; });
    if constexpr (kByRows)
      block_by_rows(cone, A, own, l, change);
    else
      block_by_edges(cone, A, own, l, change);
    DS_UNROLL
    for (int e = 0; e < kForces; e++) forces[e * slots] = l[e];
    if constexpr (!kByRows) DS_UNROLL
    for (int r = 0; r < kDim; r++) force[r * slots] = force[r * slots] + change[r];
    rows.template add<kDim>(at, change);
  }

  // from zero forces
  DS_HD void run(int sweeps) const {
    for (int i = 0; i < rows.room(); i++) y()[i] = Number(0);
    for (int i = 0; i < rows.contacts(); i++)
      for (int k = 0; k < kForces; k++)
        rows.of.con_h()[k * rows.of.slots() + rows.first_contact() + i] = Number(0);
    each([](auto& force, const auto& y0, const auto&, auto& y) {
      force = Number(0);
      y = y0;
    });
    for (int sweep = 0; sweep < sweeps; sweep++) {
      for (int i = 0; i < rows.scalars(); i++) sweep_scalar_row(i);
      for (int i = 0; i < rows.contacts(); i++) sweep_contact(i);
    }
    each([](const auto&, const auto&, auto& kept, const auto& y) { kept = y; });
  }
};

// A of an island, and forces of so many sweeps with their y
template <int kDim, bool kByRows, class E>
DS_HD void sweep_among_rows(const IslandFactor<kDim, E, false>& factor, int island) {
  apart(factor, [=](const auto& self) {
    const IslandRowSpace<kDim, E> space(self, island);
    space.put_gram();
    const SweptIsland<kDim, E> rows{space};
    RowSpaceSweeps<kDim, kByRows, SweptIsland<kDim, E>>{rows}.run(kRowSpaceSweeps);
  });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

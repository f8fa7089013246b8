// Newton's direction on an island of one tree that has few rows (island_pack.h), in the space of these.
//
// S stands in place of the tree's block of H, Y = Z G and b behind it; Y by dofs, so that packs run over its rows.
//
// solves    H dw = -grad
// equation  H = 1 + Z C Z',  C = G G'   (newton_rows.h)
//           dw = Z G b - grad,   S b = G'Z'grad,   S = 1 + G'Z'Z G
// source    Woodbury 1950
// deviation none
// reads     con_z, row_z, *_h, grad
// writes    H, dw
// cost      O(rows^2 x dofs + rows^3) a direction
#pragma once

#include "kernels/solver/block_root.h"
#include "kernels/solver/islands/factor.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// G of a contact's curvature h(k), its lower triangle by rows; false where that is nothing in any environment
template <int kDim, class Curvature, class Real>
DS_HD bool put_contact_root(const Curvature& h, Real* G) {
  bool pushes = false;
  DS_UNROLL
  for (int k = 0; k < kTriangle<kDim>; k++) pushes = pushes || any(h(k) != Real(0));
  if (pushes) block_root<false, kDim>([&](int i, int j) { return h(triangle(i) + j); }, G);
  return pushes;
}

// b <- what solves for it, by columns: which rows of an identity stand between those of an island, and so how many are
// before it, must not change a bit. One over its pivots stands on the diagonal of S
template <class Reals>
DS_HD void substitute_among_rows(const Reals& S, int stride, const Reals& b, int n) {
  for (int c = n - 1; c >= 0; c--) {
    b[c] = b[c] * S[c * stride + c];
    const auto less = -b[c];
    for (int r = 0; r < c; r++) b[r] = fma(S[r * stride + c], less, b[r]);
  }
}

template <int kDim, class E>
struct IslandRowSpace : IslandFactor<kDim, E, false> {
  using Base = IslandFactor<kDim, E, false>;
  using Base::env, Base::dofs, Base::begin;
  using Scalar = typename Base::Scalar;
  using Reals = typename Base::Reals;
  using Numbers = typename Base::Numbers;

  int island, tree, n, width;  // dofs; rows of the island, padded
  Reals S, Y, b;
  DS_HD IslandRowSpace(const Base& base, int i)
      : Base(base), island(i), tree(this->tree_list()[this->tree_adr()[i]]), n(dofs(tree)) {
    width = kEight * eights(this->rows_of(island));
    S = this->diagonal(tree);
    Y = S.from(width * width);
    b = Y.from(width * n);
  }

  // Y = Z G of the rows that push; zeros behind the last. Returns how many push
  DS_HD int put_roots() const {
    int rows = 0;
    for (int i = this->row_adr()[island]; i < this->row_adr()[island + 1]; i++) {
      const Scalar h = this->row_h()[i];
      if (h == Scalar(0)) continue;
      const int e = this->row_entry()[i];
      const Scalar root = sqrt(h);
      put_row(Eights{static_cast<unsigned>(this->entry_eights()[e])}, rows++, 1,
              [&](int k, Scalar* x) { x[0] = root * this->row_z()[this->entry_z()[e] + k]; });
    }
    for (int i = this->con_adr()[island]; i < this->con_adr()[island + 1]; i++) {
      Scalar G[kTriangle<kDim>];
      if (!put_contact_root<kDim>([&](int k) { return this->con_h()[k * this->slots() + i]; }, G)) continue;
      put_row(Eights{static_cast<unsigned>(this->con_eights()[2 * i])}, rows, kDim, [&](int k, Scalar* x) {
        DS_UNROLL
        for (int r = 0; r < kDim; r++) x[r] = this->contact_row(i, 0, r)[k];
        apply_transposed_root<false, kDim>(G, x);
      });
      rows += kDim;
    }
    for (int k = 0; k < n; k++)
      for (int r = rows; r < kEight * eights(rows); r++) Y[k * width + r] = Scalar(0);
    return rows;
  }
  // f(k, x): the numbers of so many rows at dof k, those of eights that they reach
  template <class F>
  DS_HD void put_row(Eights reached, int first, int rows, F f) const {
    for (int k = 0; k < n; k++) {
      Scalar x[kDim];
      DS_UNROLL
      for (int r = 0; r < kDim; r++) x[r] = Scalar(0);
      if (reached.has(k)) f(k, x);
      for (int r = 0; r < rows; r++) Y[k * width + first + r] = x[r];
    }
  }

  // S right of its diagonal, and b = G'Z'grad
  DS_HD void put_gram(int rows, int columns) const {
    const auto grad = this->grad().from(begin(tree));
    for (int i = 0; i < rows; i++) {
      const auto row = S.from(i * columns);
      for (int c = i / kEight * kEight; c < rows; c += kEight) {
        Numbers(Scalar(0)).store(row, c);
        if (c <= i) row[i] = Scalar(1);
        Numbers s(row, c);
        for (int k = 0; k < n; k++) s.add(Y[k * width + i], Numbers(Y, k * width + c));
        s.store(row, c);
      }
    }
    for (int c = 0; c < rows; c += kEight) {
      Numbers s(Scalar(0));
      for (int k = 0; k < n; k++) s.add(grad[k], Numbers(Y, k * width + c));
      s.store(b, c);
    }
  }

  DS_HD void direction() const {
    const auto dw = this->dw();
    this->negate(island, this->grad(), dw);
    const int rows = put_roots();
    const int columns = kEight * eights(rows);
    put_gram(rows, columns);
    typename Base::template Pivots<0> pivots(*this, this->tree_adr()[island], rows, columns, S, b);
    pivots.run();
    substitute_among_rows(S, columns, b, rows);
    for (int k = 0; k < n; k++) {
      Scalar s = dw[begin(tree) + k];
      for (int r = 0; r < rows; r++) s = fma(b[r], Y[k * width + r], s);
      dw[begin(tree) + k] = s;
    }
  }
};

template <int kDim, class E>
DS_HD void put_direction_among_rows(const IslandFactor<kDim, E, false>& factor, int island) {
  apart(factor, [=](const auto& self) { IslandRowSpace<kDim, E>(self, island).direction(); });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

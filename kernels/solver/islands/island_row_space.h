// Newton's direction on an island that has few rows (island_pack.h), in the space of these.
//
// S stands in H, and behind it A and Z, found once a step, b and G; Z by dofs, so that packs run over its rows.
//
// solves    H dw = -grad
// equation  H = 1 + Z C Z',  C = G G'   (newton_rows.h)
//           dw = Z G b - grad,   S b = G'Z'grad,   S = 1 + G'A G,   A = Z'Z
// source    Woodbury 1950
// deviation none
// reads     con_z, row_z, *_h, grad
// writes    H, dw
// cost      O(rows^3) a direction, O(rows^2 x dofs) once
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

// Back substitution: b <- x where R x = b, R the upper triangle of S, with one over its pivots on the diagonal. It goes by
// columns: rows of the identity between those of an island, which differ from pack to pack, then add exact zeros
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
  using Ints = typename Base::Ints;
  using Numbers = typename Base::Numbers;

  int island, n, width;  // dofs; rows, padded
  int first_row, first_contact, scalars, blocks;
  int count = 0;  // of the blocks that push
  Reals S, A, Z, b, roots;
  DS_HD IslandRowSpace(const Base& base, int i) : Base(base), island(i), n(0) {
    this->each_tree(island, [&](int tree) { n += dofs(tree); });
    width = kEight * eights(this->rows_of(island));
    first_row = this->row_adr()[island], first_contact = this->con_adr()[island];
    scalars = this->row_adr()[island + 1] - first_row;
    blocks = scalars + this->contacts_of(island);
    S = this->H().from(this->row_space()[island]);
    A = S.from(width * width);
    Z = A.from(width * width);
    b = Z.from(width * n);
    roots = b.from(width);
  }

  // where the dofs of a tree begin in Z
  DS_HD int first_dof(int tree) const {
    int first = 0;
    for (int k = this->tree_adr()[island]; this->tree_list()[k] != tree; k++)
      first += dofs(this->tree_list()[k]);
    return first;
  }
  // f(tree, c, rows): the eights that a block reaches, from dof c of a tree on, and the first of its rows on that tree
  template <class F>
  DS_HD void each_reached(int i, F f) const {
    const auto each_of = [&](int tree, Eights eights, const Reals& rows) {
      for (int c = 0; c < dofs(tree); c += kEight)
        if (eights.has(c)) f(tree, c, rows);
    };
    if (i < scalars) {
      for (int e = this->row_entry()[first_row + i]; e < this->row_entry()[first_row + i + 1]; e++)
        each_of(this->entry_tree()[e], Eights{static_cast<unsigned>(this->entry_eights()[e])},
                this->row_z().from(this->entry_z()[e]));
      return;
    }
    const int contact = first_contact + i - scalars;
    this->each_side(contact, [&](int side, int tree) {
      each_of(tree, this->eights_of_contact(contact, side), this->contact_row(contact, side, 0));
    });
  }

  // Z, and A = Z'Z, which is found right of its diagonal
  DS_HD void put_gram() const {
    for (int c = 0; c < n * width; c += kEight) Numbers(Scalar(0)).store(Z, c);
    for (int i = 0; i < blocks; i++)
      each_reached(i, [&](int tree, int c, const Reals& rows) {
        const auto to = Z.from((first_dof(tree) + c) * width + place(i));
        for (int r = 0; r < size(i); r++)
          for (int k = 0; k < kEight && c + k < dofs(tree); k++)
            to[k * width + r] = rows[r * env.t.n.ntreepad + c + k];
      });
    for (int i = 0; i < blocks; i++)
      if (i < scalars)
        put_gram_rows<1>(i);
      else
        put_gram_rows<kDim>(i);
    for (int r = kEight; r < this->rows_of(island); r++)
      for (int column = 0; column < r / kEight * kEight; column++)
        A[r * width + column] = A[column * width + r];
  }

  // rows of A of a block, right of its diagonal's eights. A CPU forms so many sums at once that none waits for another
  template <int kRows>
  DS_HD void put_gram_rows(int i) const {
    if constexpr (E::kPack == 1) {
      for (int r = place(i); r < place(i) + kRows; r++)
        for (int column = r / kEight * kEight; column < width; column += kEight)
          put_gram_tile<1, 1>(i, r, column);
    } else {
      constexpr int kWide = 4;
      int column = place(i) / kEight * kEight;
      for (; column + kWide * kEight <= width; column += kWide * kEight)
        put_gram_tile<kRows, kWide>(i, place(i), column);
      for (; column < width; column += kEight) put_gram_tile<kRows, 1>(i, place(i), column);
    }
  }
  // rows `row` and the following of block i, so many eights of columns
  template <int kRows, int kWide>
  DS_HD void put_gram_tile(int i, int row, int column) const {
    Numbers s[kRows][kWide];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) DS_UNROLL
    for (int k = 0; k < kWide; k++) s[r][k] = Numbers(Scalar(0));
    each_reached(i, [&](int tree, int c, const Reals&) {
      auto from = Z.from((first_dof(tree) + c) * width);
      for (int dof = c; dof < c + kEight && dof < dofs(tree); dof++, from = from.from(width)) {
        DS_UNROLL
        for (int k = 0; k < kWide; k++) {
          const Numbers x(from, column + kEight * k);
          DS_UNROLL
          for (int r = 0; r < kRows; r++) s[r][k].add(from[row + r], x);
        }
      }
    });
    DS_UNROLL
    for (int r = 0; r < kRows; r++) DS_UNROLL
    for (int k = 0; k < kWide; k++) s[r][k].store(A, (row + r) * width + column + kEight * k);
  }

  // block i is a scalar row, or a contact: its place in A, how many rows it has, where its root is
  DS_HD int place(int i) const { return i < scalars ? i : scalars + kDim * (i - scalars); }
  DS_HD int size(int i) const { return i < scalars ? 1 : kDim; }
  DS_HD Reals root(int i) const {
    return roots.from(i < scalars ? i : scalars + kTriangle<kDim> * (i - scalars));
  }
  // root of the curvature of a block
  DS_HD void put_root(int i) const {
    const auto put = root(i);
    if (i < scalars) {
      put[0] = sqrt(Scalar(this->row_h()[first_row + i]));
      return;
    }
    Scalar G[kTriangle<kDim>];
    const int contact = first_contact + i - scalars;
    const bool pushes =
        put_contact_root<kDim>([&](int k) { return this->con_h()[k * this->slots() + contact]; }, G);
    for (int k = 0; k < kTriangle<kDim>; k++) put[k] = pushes ? G[k] : Scalar(0);
  }
  // roots of all blocks, and the list of those that push: a root has a pivot then. Returns how many do
  DS_HD Ints pushing() const { return Base::pushing().from(first_row + first_contact); }
  DS_HD int find_pushing() const {
    const auto list = pushing();
    int count = 0;
    for (int i = 0; i < blocks; i++) {
      put_root(i);
      bool pushes = false;
      for (int k = 0; k < size(i); k++) pushes |= root(i)[triangle(k) + k] != Scalar(0);
      if (pushes) list[count++] = i;
    }
    return count;
  }
  // f<its rows>(i, its first row of S) of those blocks, from that one on in the list which has row `row`
  template <class F>
  DS_HD int each_pushing(int first, int row, F f) const {
    const auto list = pushing();
    for (int at = first; at < count; at++) {
      const int i = list[at];
      if (i < scalars)
        f.template operator()<1>(i, row);
      else
        f.template operator()<kDim>(i, row);
      row += size(i);
    }
    return row;
  }

  // S = 1 + G'A G right of its diagonal, of the block at a place of the list with those that do not come before it: first A
  // G, then packs of columns
  template <int kRows>
  DS_HD void put_beside(int at, int i, int row, int columns) const {
    each_pushing(at, row, [&]<int kColumns>(int j, int column) {
      const auto P = root(j);
      const auto entry = [&](int r, int q) -> Scalar { return A[(place(i) + r) * width + place(j) + q]; };
      DS_UNROLL
      for (int c = 0; c < kColumns; c++) {
        Scalar x[kRows];
        column_of_product<false, kRows>(entry, P, c, x);
        DS_UNROLL
        for (int r = 0; r < kRows; r++) S[(row + r) * columns + column + c] = x[r];
      }
    });
    Scalar G[kTriangle<kRows>];
    DS_UNROLL
    for (int k = 0; k < kTriangle<kRows>; k++) G[k] = root(i)[k];
    for (int c = row / kEight * kEight; c < columns; c += kEight) {
      Numbers x[kRows];
      DS_UNROLL
      for (int r = kRows - 1; r >= 0; r--) {
        x[r] = Numbers(Scalar(0));
        DS_UNROLL
        for (int k = 0; k <= r; k++) x[r].add(G[triangle(r) + k], Numbers(S, (row + k) * columns + c));
        x[r].store(S, (row + r) * columns + c);
      }
    }
    for (int r = 0; r < kRows; r++) {
      Scalar& pivot = S[(row + r) * columns + row + r];
      pivot = Scalar(1) + pivot;
    }
  }
  // b = G'Z'grad
  DS_HD void put_right_side(int columns) const {
    for (int c = 0; c < width; c += kEight) {
      Numbers s(Scalar(0));
      auto row = Z.from(c);
      this->each_tree(island, [&](int tree) {
        const auto grad = this->grad().from(begin(tree));
        for (int k = 0; k < dofs(tree); k++, row = row.from(width)) s.add(grad[k], Numbers(row, 0));
      });
      s.store(b, c);
    }
    const int rows = each_pushing(0, 0, [&]<int kRows>(int i, int row) {
      Scalar G[kTriangle<kRows>], x[kRows];
      for (int k = 0; k < kTriangle<kRows>; k++) G[k] = root(i)[k];
      for (int r = 0; r < kRows; r++) x[r] = b[place(i) + r];
      apply_transposed_root<false, kRows>(G, x);
      for (int r = 0; r < kRows; r++) b[row + r] = x[r];
    });
    for (int r = rows; r < columns; r++) b[r] = Scalar(0);
  }
  // dw <- dw + Z G b
  DS_HD void add_solution() const {
    const auto dw = this->dw();
    each_pushing(0, 0, [&]<int kRows>(int i, int row) {
      Scalar x[kRows];
      apply_root<false, kRows>(root(i), b.from(row), x);
      each_reached(i, [&](int tree, int c, const Reals& rows) {
        Numbers s(dw, begin(tree) + c);
        DS_UNROLL
        for (int r = 0; r < kRows; r++) s.add(x[r], Numbers(rows, r * env.t.n.ntreepad + c));
        s.store(dw, begin(tree) + c);
      });
    });
  }

  DS_HD void direction() {
    this->negate(island, this->grad(), this->dw());
    count = find_pushing();
    const int rows = each_pushing(0, 0, []<int kRows>(int, int) {});
    const int columns = kEight * eights(rows);
    for (int i = 0; i < rows; i++)
      for (int c = i / kEight * kEight; c < columns; c += kEight)
        Numbers(Scalar(0)).store(S, i * columns + c);
    int at = 0;
    each_pushing(0, 0, [&]<int kRows>(int i, int row) { put_beside<kRows>(at++, i, row, columns); });
    put_right_side(columns);
    typename Base::template Pivots<0> pivots(*this, this->tree_adr()[island], rows, columns, S, b);
    pivots.run();
    substitute_among_rows(S, columns, b, rows);
    add_solution();
  }
};

template <int kDim, class E>
DS_HD void put_direction_among_rows(const IslandFactor<kDim, E, false>& factor, int island) {
  apart(factor, [=](const auto& self) { IslandRowSpace<kDim, E>(self, island).direction(); });
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

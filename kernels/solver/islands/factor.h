// Newton's direction on an island: H dw = -grad by blocks of trees.
//
//   H = 1 + Z curvature(y) Z',   H_ab the rows of tree a, the columns of tree b, for a = b and for a eliminated before b
//   pivot r of tree a:   S_ij <- S_ij - S_ri S_rj / S_rr   for the unknowns i, j that follow
//
// The graph of the trees (partition.h) says which blocks there are; within a block all is dense, six or more wide, in
// eights. The right side is eliminated along, and the solution found from the last pivot to the first.
// Source: George & Liu 1981, block elimination on a quotient graph; L D L'. Deviations: none.
// Reads con_z, row_z, *_h, grad. Writes H, dw. Cost: O(sum over trees of dofs x (dofs of its neighbours)^2).
#pragma once

#include "kernels/solver/islands/island_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kDim, class E>
struct IslandFactor : IslandRows<kDim, E> {
  using Base = IslandRows<kDim, E>;
  using Base::env, Base::dofs, Base::padded, Base::begin, Base::contact_row, Base::tree_of_contact;
  using Scalar = typename Base::Scalar;
  using Reals = typename Base::Reals;
  using Numbers = typename Base::Numbers;
  DS_HD explicit IslandFactor(const Base& base) : Base(base) {}

  DS_HD Reals diagonal(int tree) const { return this->H().from(env.t.tree_H[tree]); }
  // calls f(later tree, its block) beside the diagonal in the rows of a place
  template <class F>
  DS_HD void each_column(int place, F f) const {
    for (int c = this->column_adr()[place]; c < this->column_adr()[place + 1]; c++)
      f(this->column_tree()[c], this->H().from(this->column_block()[c]));
  }

  DS_HD void begin_blocks(int island) const {
    for (int k = this->tree_adr()[island]; k < this->tree_adr()[island + 1]; k++) {
      const int tree = this->tree_list()[k], n = dofs(tree);
      const auto clear = [&](const Reals& block, int numbers) {
        for (int c = 0; c < numbers; c += kEight) Numbers(Scalar(0)).store(block, c);
      };
      clear(diagonal(tree), n * padded(tree));
      for (int r = 0; r < n; r++) diagonal(tree)[r * padded(tree) + r] = Scalar(1);
      each_column(k, [&](int other, const Reals& block) { clear(block, n * padded(other)); });
    }
  }

  // block <- block + za' g: za rows of one tree (kRows of them, n dofs), g of another
  template <int kRows>
  DS_HD static void add_outer(const Reals& block, int n, int width, const Reals* za, const Reals* zb,
                              const Scalar (*h)[kRows]) {
    for (int c = 0; c < width; c += kEight) {
      Numbers g[kRows];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) {
        g[r] = Numbers(Scalar(0));
        DS_UNROLL
        for (int k = 0; k < kRows; k++) g[r].add(h[r][k], Numbers(zb[k], c));
      }
      for (int a = 0; a < n; a++) {
        Numbers s(block, a * width + c);
        DS_UNROLL
        for (int r = 0; r < kRows; r++) s.add(za[r][a], g[r]);
        s.store(block, a * width + c);
      }
    }
  }

  DS_HD void add_contact(int i) const {
    const int slots = this->slots();
    Scalar h[kDim][kDim];
    bool some = false;
    DS_UNROLL
    for (int r = 0; r < kDim; r++) DS_UNROLL
    for (int k = 0; k <= r; k++) {
      h[r][k] = h[k][r] = this->con_h()[(triangle(r) + k) * slots + i];
      some |= h[r][k] != Scalar(0);
    }
    if (!some) return;
    Reals z[2][kDim];
    DS_UNROLL
    for (int side = 0; side < 2; side++) DS_UNROLL
    for (int r = 0; r < kDim; r++) z[side][r] = contact_row(i, side, r);
    this->each_side(i, [&](int side, int tree) {
      add_outer<kDim>(diagonal(tree), dofs(tree), padded(tree), z[side], z[side], h);
    });
    const int block = this->con_block()[i];
    if (block < 0) return;
    const int a = tree_of_contact(i, 0), b = tree_of_contact(i, 1);
    const auto place = this->tree_place();
    const bool forwards = place[a] < place[b];
    const int early = forwards ? a : b, late = forwards ? b : a;
    add_outer<kDim>(this->H().from(block), dofs(early), padded(late), z[forwards ? 0 : 1],
                    z[forwards ? 1 : 0], h);
  }

  DS_HD void add_row(int i) const {
    const Scalar h[1][1] = {{this->row_h()[i]}};
    if (h[0][0] == Scalar(0)) return;
    const auto place = this->tree_place();
    for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++) {
      const int tree = this->entry_tree()[e];
      const Reals z = this->row_z().from(this->entry_z()[e]);
      add_outer<1>(diagonal(tree), dofs(tree), padded(tree), &z, &z, h);
      each_column(place[tree], [&](int other, const Reals& block) {
        for (int f = this->row_entry()[i]; f < this->row_entry()[i + 1]; f++) {
          if (this->entry_tree()[f] != other) continue;
          const Reals w = this->row_z().from(this->entry_z()[f]);
          add_outer<1>(block, dofs(tree), padded(other), &z, &w, h);
        }
      });
    }
  }

  DS_HD void assemble(int island) const {
    begin_blocks(island);
    for (int i = this->row_adr()[island]; i < this->row_adr()[island + 1]; i++) add_row(i);
    for (int i = this->con_adr()[island]; i < this->con_adr()[island + 1]; i++) add_contact(i);
  }

  // rows a of `to` <- rows a - sum over pivots r of left[r][a] / pivot_r right[r]
  DS_HD static void update(const Reals& to, const Reals& left, int n, int left_width, const Reals& right,
                           int width, const Reals& diag, int pivots, int diag_width) {
    for (int a = 0; a < n; a++) {
      for (int c = 0; c < width; c += kEight) {
        Numbers s(to, a * width + c);
        for (int r = 0; r < pivots; r++) {
          // the diagonal holds one over the pivots once it is factored
          const Scalar m = left[r * left_width + a] * diag[r * diag_width + r];
          s.add(-m, Numbers(right, r * width + c));
        }
        s.store(to, a * width + c);
      }
    }
  }

  // the pivots of a tree: its own block, the blocks beside it, the right side; one over a pivot takes its place
  DS_HD void eliminate_tree(int place, const Reals& x) const {
    const int tree = this->tree_list()[place], n = dofs(tree), width = padded(tree);
    const auto S = diagonal(tree), b = x.from(begin(tree));
    for (int r = 0; r < n; r++) {
      const Scalar inverse = Scalar(1) / S[r * width + r];
      S[r * width + r] = inverse;
      for (int a = r + 1; a < n; a++) {
        const Scalar m = S[r * width + a] * inverse;
        if (m == Scalar(0)) continue;
        for (int c = a / kEight * kEight; c < width; c += kEight) {
          // of the row's own columns those before a are read no more
          Numbers s(S, a * width + c);
          s.add(-m, Numbers(S, r * width + c));
          s.store(S, a * width + c);
        }
        b[a] = fma(-m, b[r], b[a]);
        each_column(place, [&](int other, const Reals& block) {
          const int columns = padded(other);
          for (int c = 0; c < columns; c += kEight) {
            Numbers s(block, a * columns + c);
            s.add(-m, Numbers(block, r * columns + c));
            s.store(block, a * columns + c);
          }
        });
      }
    }
  }
  // what they take from the trees that follow
  DS_HD void update_neighbours(int place, const Reals& x) const {
    const int tree = this->tree_list()[place], n = dofs(tree), width = padded(tree);
    const auto S = diagonal(tree), b = x.from(begin(tree));
    const auto column = this->column_tree(), block = this->column_block();
    const int first = this->column_adr()[place], end = this->column_adr()[place + 1];
    for (int i = first; i < end; i++) {
      const int one = column[i], rows = dofs(one), one_width = padded(one);
      const auto left = this->H().from(block[i]);
      update(diagonal(one), left, rows, one_width, left, one_width, S, n, width);
      for (int r = 0; r < n; r++) {
        const Scalar m = b[r] * S[r * width + r];
        const auto y = x.from(begin(one));
        for (int c = 0; c < one_width; c += kEight) {
          Numbers s(y, c);
          s.add(-m, Numbers(left, r * one_width + c));
          s.store(y, c);
        }
      }
      // those of the neighbour's own columns that this tree has too, both by place
      int at = this->column_adr()[this->tree_place()[one]];
      for (int j = i + 1; j < end; j++) {
        while (column[at] != column[j]) at++;
        update(this->H().from(block[at]), left, rows, one_width, this->H().from(block[j]), padded(column[j]), S, n,
               width);
      }
    }
  }

  // x <- what solves for it, from the last pivot of a tree to its first
  DS_HD void substitute(int place, const Reals& x) const {
    const int tree = this->tree_list()[place], n = dofs(tree), width = padded(tree);
    const auto S = diagonal(tree), b = x.from(begin(tree));
    for (int r = n - 1; r >= 0; r--) {
      Numbers s(Scalar(0));
      each_column(place, [&](int other, const Reals& block) {
        const int columns = padded(other);
        for (int c = 0; c < columns; c += kEight)
          s.add_product(Numbers(block, r * columns + c), Numbers(x, begin(other) + c));
      });
      Scalar rest = b[r] - s.fold();
      for (int c = r + 1; c < n; c++) rest = fma(-S[r * width + c], b[c], rest);
      b[r] = rest * S[r * width + r];
    }
  }

  // dw <- -H^-1 grad
  DS_HD void direction(int island) const {
    const auto dw = this->dw(), grad = this->grad();
    this->each_tree(island, [&](int tree) {
      for (int c = begin(tree); c < begin(tree) + padded(tree); c += kEight) {
        Numbers s(Scalar(0));
        s.add(Scalar(-1), Numbers(grad, c));
        s.store(dw, c);
      }
    });
    assemble(island);
    const int first = this->tree_adr()[island], end = this->tree_adr()[island + 1];
    for (int k = first; k < end; k++) {
      eliminate_tree(k, dw);
      update_neighbours(k, dw);
    }
    for (int k = end - 1; k >= first; k--) substitute(k, dw);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

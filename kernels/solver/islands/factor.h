// Newton's direction on an island, by blocks of trees.
//
// The graph of the trees (partition.h) says which blocks there are; within a block all is dense, six or more wide, in
// eights. The right side is eliminated along, and the solution found from the last pivot to the first.
//
// solves    H dw = -grad
// equation  H = 1 + Z curvature(y) Z',   H_ab the rows of tree a, the columns of tree b, for a = b and for a eliminated
//           before b
//             pivot r of tree a:   S_ij <- S_ij - S_ri S_rj / S_rr   for the unknowns i, j that follow
// source    George & Liu 1981, block elimination on a quotient graph; L D L'
// deviation none
// reads     con_z, row_z, *_h, grad
// writes    H, dw
// cost      O(sum over trees of dofs x (dofs of its neighbours)^2)
#pragma once

#include "kernels/solver/islands/island_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kDim, class E, bool kOneEight>
struct IslandFactor : IslandRows<kDim, E, kOneEight> {
  using Base = IslandRows<kDim, E, kOneEight>;
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

  // rows of Z' on a tree, and the eights of its dofs beyond which they are zeros
  struct TreeRows {
    int tree;
    Eights eights;
    const Reals* z;
  };
  // block <- block + za' h zb of kRows rows on one tree and on another. kDiagonal: of one tree with itself, of which the
  // factor reads what stands right of the diagonal's eights
  template <int kRows, bool kDiagonal>
  DS_HD void add_outer(const Reals& block, const TreeRows& a_rows, const TreeRows& b_rows,
                       const Scalar (*h)[kRows]) const {
    const int n = dofs(a_rows.tree), width = padded(b_rows.tree);
    const Reals *const za = a_rows.z, *const zb = b_rows.z;
    for (int c = 0; c < width; c += kEight) {
      if (!kOneEight && !b_rows.eights.has(c)) continue;
      Numbers g[kRows];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) {
        g[r] = Numbers(Scalar(0));
        DS_UNROLL
        for (int k = 0; k < kRows; k++) g[r].add(h[r][k], Numbers(zb[k], c));
      }
      const int end = kDiagonal && c + kEight < n ? c + kEight : n;
      for (int first = 0; first < end; first += kEight) {
        if (!kOneEight && !a_rows.eights.has(first)) continue;
        for (int a = first; a < end && a < first + kEight; a++) {
          // most dofs of a large tree do not move a scalar row
          if (kRows == 1 && za[0][a] == Scalar(0)) continue;
          Numbers s(block, a * width + c);
          DS_UNROLL
          for (int r = 0; r < kRows; r++) s.add(za[r][a], g[r]);
          s.store(block, a * width + c);
        }
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
    Reals z[kPairSides][kDim];
    DS_UNROLL
    for (int side = 0; side < kPairSides; side++) DS_UNROLL
    for (int r = 0; r < kDim; r++) z[side][r] = contact_row(i, side, r);
    const auto rows = [&](int side, int tree) {
      return TreeRows{.tree = tree, .eights = this->eights_of_contact(i, side), .z = z[side]};
    };
    this->each_side(i, [&](int side, int tree) {
      const TreeRows own = rows(side, tree);
      add_outer<kDim, true>(diagonal(tree), own, own, h);
    });
    const int block = this->con_block()[i];
    if (block < 0) return;
    const int a = tree_of_contact(i, 0), b = tree_of_contact(i, 1);
    const auto place = this->tree_place();
    const bool forwards = place[a] < place[b];
    const int early = forwards ? a : b, late = forwards ? b : a;
    const int first = forwards ? 0 : 1, second = 1 - first;
    add_outer<kDim, false>(this->H().from(block), rows(first, early), rows(second, late), h);
  }

  DS_HD void add_row(int i) const {
    const Scalar h[1][1] = {{this->row_h()[i]}};
    if (h[0][0] == Scalar(0)) return;
    const auto place = this->tree_place();
    const auto rows = [&](int e, const Reals& z) {
      const auto eights = static_cast<unsigned>(this->entry_eights()[e]);
      return TreeRows{.tree = this->entry_tree()[e], .eights = {eights}, .z = &z};
    };
    for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++) {
      const int tree = this->entry_tree()[e];
      const Reals z = this->row_z().from(this->entry_z()[e]);
      const TreeRows own = rows(e, z);
      add_outer<1, true>(diagonal(tree), own, own, h);
      each_column(place[tree], [&](int other, const Reals& block) {
        for (int f = this->row_entry()[i]; f < this->row_entry()[i + 1]; f++) {
          if (this->entry_tree()[f] != other) continue;
          const Reals w = this->row_z().from(this->entry_z()[f]);
          add_outer<1, false>(block, own, rows(f, w), h);
        }
      });
    }
  }

  DS_HD void assemble(int island) const {
    begin_blocks(island);
    for (int i = this->row_adr()[island]; i < this->row_adr()[island + 1]; i++) add_row(i);
    for (int i = this->con_adr()[island]; i < this->con_adr()[island + 1]; i++) add_contact(i);
  }

  // The elimination of one tree. kDofs: its dofs, where they are known to be six or fewer than a block can hold in
  // registers, else 0: the same operations on each number either way
  template <int kDofs>
  struct Pivots {
    const IslandFactor& of;
    int place, tree, n, width;
    Reals S, b;
    Scalar known[kDofs > 0 ? kDofs* kDofs : 1];  // multipliers, once the tree is factored
    DS_HD Pivots(const IslandFactor& factor, int p, const Reals& x)
        : of(factor),
          place(p),
          tree(factor.tree_list()[p]),
          n(kDofs > 0 ? kDofs : factor.dofs(tree)),
          width(kDofs > 0 ? kEight : factor.padded(tree)),
          S(factor.diagonal(tree)),
          b(x.from(factor.begin(tree))) {}
    // of a matrix and a right side that stand elsewhere
    DS_HD Pivots(const IslandFactor& factor, int p, int rows, int columns, const Reals& matrix,
                 const Reals& right)
        : of(factor), place(p), tree(factor.tree_list()[p]), n(rows), width(columns), S(matrix), b(right) {}

    // S_ra over pivot r, which the diagonal holds inverted
    DS_HD Scalar multiplier(int r, int a) const {
      if constexpr (kDofs > 0)
        return known[r * kDofs + a];
      else
        return S[r * width + a] * S[r * width + r];
    }

    // row a of a block, 8 columns of it, loses its part of rows `from` to a - 1. A tree's parts that do not push on each
    // other have zeros between them
    DS_HD void reduce_row(const Reals& block, int columns, int from, int a, int c) const {
      Numbers row(block, a * columns + c);
      for (int r = from; r < a; r++) {
        const Scalar m = -multiplier(r, a);
        if (m != Scalar(0)) row.add(m, Numbers(block, r * columns + c));
      }
      row.store(block, a * columns + c);
    }
    // rows a of a block of n rows, 8 columns of it, lose their part of the rows before
    DS_HD void reduce_rows(const Reals& block, int columns, int c) const {
      if constexpr (kDofs > 0) {
        Numbers row[kDofs];
        DS_UNROLL
        for (int a = 0; a < kDofs; a++) {
          row[a] = Numbers(block, a * columns + c);
          DS_UNROLL
          for (int r = 0; r < a; r++) row[a].add(-multiplier(r, a), row[r]);
          row[a].store(block, a * columns + c);
        }
      } else {
        for (int a = 1; a < n; a++) reduce_row(block, columns, 0, a, c);
      }
    }
    // the tree's own block: one over a pivot takes the pivot's place once its row is done
    DS_HD void factor_diagonal() {
      if constexpr (kDofs > 0) {
        Scalar s[kDofs][kDofs];
        DS_UNROLL
        for (int a = 0; a < kDofs; a++) DS_UNROLL
        for (int c = a; c < kDofs; c++) s[a][c] = S[a * kEight + c];
        DS_UNROLL
        for (int r = 0; r < kDofs; r++) {
          const Scalar inverse = Scalar(1) / s[r][r];
          S[r * kEight + r] = inverse;
          DS_UNROLL
          for (int a = r + 1; a < kDofs; a++) {
            S[r * kEight + a] = s[r][a];
            const Scalar m = known[r * kDofs + a] = s[r][a] * inverse;
            DS_UNROLL
            for (int c = a; c < kDofs; c++) s[a][c] = fma(-m, s[r][c], s[a][c]);
          }
        }
      } else {
        for (int a = 0; a < n; a += kBlock) factor_rows(a, a + kBlock < n ? a + kBlock : n);
      }
    }
    // rows a to end - 1: first what the rows before take from all of them, then what they take from each other. Columns
    // before a row's own are read no more; that of a pivot must be left alone
    static constexpr int kBlock = 4;
    DS_HD void factor_rows(int begin, int end) const {
      const int first = begin / kEight * kEight;
      if (end - begin == kBlock && begin > 0) {
        for (int c = first; c < width; c += 2 * kEight)
          if (width - c > kEight)
            reduce_block<2>(begin, c);
          else
            reduce_block<1>(begin, c);
      }
      const int from = end - begin == kBlock ? begin : 0;
      for (int a = begin; a < end; a++) {
        for (int c = first; c < width; c += kEight) reduce_row(S, width, from, a, c);
        S[a * width + a] = Scalar(1) / S[a * width + a];
      }
    }
    template <int kParts>
    DS_HD void reduce_block(int a, int c) const {
      Numbers row[kBlock][kParts];
      DS_UNROLL
      for (int i = 0; i < kBlock; i++) DS_UNROLL
      for (int k = 0; k < kParts; k++) row[i][k] = Numbers(S, (a + i) * width + c + kEight * k);
      for (int r = 0; r < a; r++) {
        Scalar m[kBlock];
        bool some = false;
        DS_UNROLL
        for (int i = 0; i < kBlock; i++) {
          m[i] = -multiplier(r, a + i);
          some |= m[i] != Scalar(0);
        }
        if (!some) continue;
        DS_UNROLL
        for (int k = 0; k < kParts; k++) {
          const Numbers x(S, r * width + c + kEight * k);
          DS_UNROLL
          for (int i = 0; i < kBlock; i++) row[i][k].add(m[i], x);
        }
      }
      DS_UNROLL
      for (int i = 0; i < kBlock; i++) DS_UNROLL
      for (int k = 0; k < kParts; k++) row[i][k].store(S, (a + i) * width + c + kEight * k);
    }
    DS_HD void run() {
      factor_diagonal();
      of.each_column(place, [&](int other, const Reals& block) {
        const int columns = of.padded(other);
        for (int c = 0; c < columns; c += kEight) reduce_rows(block, columns, c);
      });
      if constexpr (kDofs > 0) {
        for (int a = 1; a < n; a++) {
          Scalar rest = b[a];
          for (int r = 0; r < a; r++) rest = fma(-multiplier(r, a), b[r], rest);
          b[a] = rest;
        }
      } else {
        // those of the pivot's own eight one by one: the row holds what is read no more before them
        for (int r = 0; r < n; r++) {
          const Scalar part = -(b[r] * S[r * width + r]);
          const int next = (r / kEight + 1) * kEight;
          for (int a = r + 1; a < n && a < next; a++) b[a] = fma(part, S[r * width + a], b[a]);
          for (int c = next; c < width; c += kEight) {
            Numbers y(b, c);
            y.add(part, Numbers(S, r * width + c));
            y.store(b, c);
          }
        }
      }
    }

    // `to`, 8 columns from c on, loses left' (1 / pivots) right
    DS_HD void update(const Reals& to, const Reals& left, int rows, int left_width, const Reals& right,
                      int right_width, int c) const {
      if constexpr (kDofs > 0) {
        Numbers scaled[kDofs];
        DS_UNROLL
        for (int r = 0; r < kDofs; r++)
          scaled[r] = Numbers(right, r * right_width + c).scaled(S[r * width + r]);
        for (int a = 0; a < rows; a++) {
          Numbers s(to, a * right_width + c);
          DS_UNROLL
          for (int r = 0; r < kDofs; r++) s.add(-left[r * left_width + a], scaled[r]);
          s.store(to, a * right_width + c);
        }
      } else {
        for (int a = 0; a < rows; a++) {
          Numbers s(to, a * right_width + c);
          for (int r = 0; r < n; r++)
            s.add(-left[r * left_width + a], Numbers(right, r * right_width + c).scaled(S[r * width + r]));
          s.store(to, a * right_width + c);
        }
      }
    }
    // what the tree takes from those that follow
    DS_HD void update_neighbours(const Reals& x) const {
      const auto column = of.column_tree(), block = of.column_block();
      const int first = of.column_adr()[place], end = of.column_adr()[place + 1];
      for (int i = first; i < end; i++) {
        const int one = column[i], rows = of.dofs(one), one_width = of.padded(one);
        const auto left = of.H().from(block[i]);
        const auto y = x.from(of.begin(one));
        for (int c = 0; c < one_width; c += kEight) {
          update(of.diagonal(one), left, rows, one_width, left, one_width, c);
          Numbers s(y, c);
          for (int r = 0; r < n; r++) s.add(-(b[r] * S[r * width + r]), Numbers(left, r * one_width + c));
          s.store(y, c);
        }
        // those of the neighbour's own columns that this tree has too, both by place
        int at = of.column_adr()[of.tree_place()[one]];
        for (int j = i + 1; j < end; j++) {
          while (column[at] != column[j]) at++;
          const int columns = of.padded(column[j]);
          for (int c = 0; c < columns; c += kEight)
            update(of.H().from(block[at]), left, rows, one_width, of.H().from(block[j]), columns, c);
        }
      }
    }
    // x <- what solves for it, from the last pivot of the tree to its first
    DS_HD void substitute(const Reals& x) const {
      if constexpr (kDofs > 0) {
        Numbers s[kDofs];
        DS_UNROLL
        for (int r = 0; r < kDofs; r++) s[r] = Numbers(Scalar(0));
        of.each_column(place, [&](int other, const Reals& block) {
          const int columns = of.padded(other);
          for (int c = 0; c < columns; c += kEight) {
            const Numbers y(x, of.begin(other) + c);
            DS_UNROLL
            for (int r = 0; r < kDofs; r++) s[r].add_product(Numbers(block, r * columns + c), y);
          }
        });
        Scalar found[kDofs];
        DS_UNROLL
        for (int r = 0; r < kDofs; r++) found[r] = b[r] - s[r].fold();
        DS_UNROLL
        for (int r = kDofs - 1; r >= 0; r--) {
          DS_UNROLL
          for (int c = r + 1; c < kDofs; c++) found[r] = fma(-S[r * kEight + c], found[c], found[r]);
          b[r] = found[r] = found[r] * S[r * kEight + r];
        }
      } else {
        for (int r = n - 1; r >= 0; r--) {
          Numbers s(Scalar(0));
          of.each_column(place, [&](int other, const Reals& block) {
            const int columns = of.padded(other);
            for (int c = 0; c < columns; c += kEight)
              s.add_product(Numbers(block, r * columns + c), Numbers(x, of.begin(other) + c));
          });
          const int next = (r / kEight + 1) * kEight;
          for (int c = next; c < width; c += kEight) s.add_product(Numbers(S, r * width + c), Numbers(b, c));
          Scalar rest = b[r] - s.fold();
          for (int c = r + 1; c < n && c < next; c++) rest = fma(-S[r * width + c], b[c], rest);
          b[r] = rest * S[r * width + r];
        }
      }
    }
  };
  // f(pivots of a place): those of a free body have code of their own
  template <class F>
  DS_HD void with_pivots(int place, const Reals& x, F f) const {
    if (dofs(this->tree_list()[place]) == 6) {
      Pivots<6> pivots(*this, place, x);
      f(pivots);
    } else {
      Pivots<0> pivots(*this, place, x);
      f(pivots);
    }
  }

  // dw <- -H^-1 grad
  DS_HD void direction(int island) const {
    apart(*this, [=](const auto& self) { self.direction_here(island); });
  }
  DS_HD void direction_here(int island) const {
    const auto dw = this->dw(), grad = this->grad();
    this->negate(island, grad, dw);
    assemble(island);
    const int first = this->tree_adr()[island], end = this->tree_adr()[island + 1];
    for (int k = first; k < end; k++)
      with_pivots(k, dw, [&](auto& pivots) {
        pivots.run();
        pivots.update_neighbours(dw);
      });
    for (int k = end - 1; k >= first; k--)
      with_pivots(k, dw, [&](const auto& pivots) { pivots.substitute(dw); });
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Newton's direction of a pack of islands of one tree.
//
// Rows that push on no island of the pack are left out; one that pushes on another island of it is a row of the identity.
//
// solves    grad, and H dw = -grad
// equation  H = 1 + Z C Z',   C the rows' curvature
//           where an island has few rows (island_pack.h), among these, with C = G G':
//             dw = Z G b - grad,   S b = G'Z'grad,   S = 1 + G'A G,   A = Z'Z
// source    solve_islands.h; Woodbury 1950
// deviation dense Cholesky in place of blocks, since there is one block
// reads     con_z, row_z, *_h, *_f, w
// writes    grad, dw; H, con_g, b, con_root, row_root
// cost      O(rows x dofs^2 + dofs^3), or O(rows^3) and O(rows^2 x dofs) once
#pragma once

#include "kernels/solver/islands/island_row_space.h"
#include "kernels/solver/islands/packed_rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int kDim, class E>
struct PackedDirection : PackedRows<kDim, E> {
  using Base = PackedRows<kDim, E>;
  using Base::dofs;
  using Real = typename Base::Real;
  using Reals = typename Base::Reals;
  DS_HD PackedDirection(E& e, int bin) : Base(e, bin) {}

  DS_HD void put_gradient() const {
    apart(*this, [=](const auto& self) { self.put_gradient_here(); });
  }
  DS_HD void put_gradient_here() const {
    const auto grad = this->grad();
    for (int k = 0; k < dofs; k++) grad[k] = this->w()[k];
    each_term([&](const Real&, const Real& f, const Reals& z) { subtract(f, z); });
  }
  // calls f(D, force, row)
  template <class F>
  DS_HD void each_term(F f) const {
    for (int i = 0; i < this->rows(); i++) f(this->row_D()[i], this->row_f()[i], this->scalar_row(i));
    for (int i = 0; i < this->contacts(); i++)
      for (int r = 0; r < kDim; r++)
        f(this->con_D()[i], this->con_f()[r * this->slots() + i], this->contact_row(i, r));
  }
  // grad <- what rounding and the softness of rigid rows may be of it (judge.h)
  DS_HD void put_errors() const {
    const auto grad = this->grad();
    for (int k = 0; k < dofs; k++) grad[k] = Real(0);
    each_term([&](const Real&, const Real& f, const Reals& z) { add_squares(f, z); });
    for (int k = 0; k < dofs; k++) grad[k] = rounding_of_terms(k, Real(grad[k]));
    if (!this->env.t.o.has_rigid) return;
    const Real rigid = this->rigid_weight();
    each_term([&](const Real& D, const Real& f, const Reals& z) { subtract(if_rigid(rigid, D, f), z); });
  }
  DS_HD void add_squares(const Real& f, const Reals& z) const {
    for (int k = 0; k < dofs; k++) {
      const Real term = z[k] * f;
      this->grad()[k] = fma(term, term, this->grad()[k]);
    }
  }
  DS_HD void subtract(const Real& f, const Reals& z) const {
    if (!any(f != Real(0))) return;
    const Real less = -f;
    for (int k = 0; k < dofs; k++) this->grad()[k] = fma(less, z[k], this->grad()[k]);
  }
  // to <- -grad
  DS_HD void negate_gradient(const Reals& to) const {
    for (int k = 0; k < dofs; k++) to[k] = fma(Real(-1), this->grad()[k], Real(0));
  }

  // H, right of the diagonal: 1 + Z curvature Z', in tiles that registers hold, of which there are 32 or 16. They run over
  // the dofs: nobody reads what is left of the diagonal and behind them
  static constexpr int kTall = 4, kWide = sizeof(Real) > 32 ? 6 : 3;
  static_assert(kTall <= kPackedRoom && kWide <= kPackedRoom);
  // of a multiple of the unit matrix
  DS_HD static void begin_tile(int a, int c, int diagonal, Real (&s)[kTall][kWide]) {
    DS_UNROLL
    for (int i = 0; i < kTall; i++) DS_UNROLL
    for (int k = 0; k < kWide; k++) s[i][k] = Real(a + i == c + k ? diagonal : 0);
  }
  DS_HD void put_tile(int a, int c, const Real (&s)[kTall][kWide], const Reals& to) const {
    DS_UNROLL
    for (int i = 0; i < kTall; i++) DS_UNROLL
    for (int k = 0; k < kWide; k++) to[(a + i) * this->sizes.d + c + k] = s[i][k];
  }
  DS_HD void assemble() const {
    const int d = this->sizes.d, slots = this->slots();
    bool contact_in_use[kPackedContacts], row_in_use[kPackedRows];
    for (int i = 0; i < this->rows(); i++) row_in_use[i] = any(this->row_h()[i] != Real(0));
    for (int i = 0; i < this->contacts(); i++) {
      bool& in_use = contact_in_use[i] = false;
      Real h[kDim][kDim];
      for (int r = 0; r < kDim; r++)
        for (int k = 0; k <= r; k++) {
          h[r][k] = h[k][r] = this->con_h()[(triangle(r) + k) * slots + i];
          in_use |= any(h[r][k] != Real(0));
        }
      if (!in_use) continue;
      const auto g = this->con_g().from(i * kDim * d);
      for (int c = 0; c < dofs; c++)
        for (int r = 0; r < kDim; r++) {
          Real s(0);
          for (int k = 0; k < kDim; k++) s = fma(h[r][k], this->contact_row(i, k)[c], s);
          g[r * d + c] = s;
        }
    }
    for (int a = 0; a < dofs; a += kTall)
      for (int c = a; c < dofs; c += kWide) assemble_tile(a, c, row_in_use, contact_in_use);
  }
  DS_HD void assemble_tile(int a, int c, const bool* row_in_use, const bool* contact_in_use) const {
    const int d = this->sizes.d;
    Real s[kTall][kWide], g[kWide];
    begin_tile(a, c, 1, s);
    const auto add = [&](const Reals& z) {
      DS_UNROLL
      for (int i = 0; i < kTall; i++) {
        const Real x = z[a + i];
        DS_UNROLL
        for (int k = 0; k < kWide; k++) s[i][k] = fma(x, g[k], s[i][k]);
      }
    };
    for (int i = 0; i < this->rows(); i++) {
      if (!row_in_use[i]) continue;
      const auto z = this->scalar_row(i);
      const Real h = this->row_h()[i];
      DS_UNROLL
      for (int k = 0; k < kWide; k++) g[k] = fma(h, z[c + k], Real(0));
      add(z);
    }
    for (int i = 0; i < this->contacts(); i++) {
      if (!contact_in_use[i]) continue;
      for (int r = 0; r < kDim; r++) {
        const auto from = this->con_g().from((i * kDim + r) * d + c);
        DS_UNROLL
        for (int k = 0; k < kWide; k++) g[k] = from[k];
        add(this->contact_row(i, r));
      }
    }
    put_tile(a, c, s, this->H());
  }
  // row a of the factor: what the rows before take from it; one over a pivot takes the pivot's place
  DS_HD void factor(int n) const {
    const int d = this->sizes.d;
    const auto H = this->H();
    Real multiplier[kPackedDofs];
    for (int a = 0; a < n; a++) {
      for (int r = 0; r < a; r++) multiplier[r] = -(H[r * d + a] * H[r * d + r]);
      for (int c = a; c < n; c += kRun)
        if (c + kRun <= n)
          reduce<kRun>(a, c, multiplier);
        else
          for (int k = c; k < n; k++) reduce<1>(a, k, multiplier);
      H[a * d + a] = Real(1) / H[a * d + a];
    }
  }
  static constexpr int kRun = 8;
  template <int kColumns>
  DS_HD void reduce(int a, int c, const Real* multiplier) const {
    const int d = this->sizes.d;
    const auto H = this->H();
    Real s[kColumns];
    DS_UNROLL
    for (int k = 0; k < kColumns; k++) s[k] = H[a * d + c + k];
    for (int r = 0; r < a; r++) DS_UNROLL
    for (int k = 0; k < kColumns; k++) s[k] = fma(multiplier[r], H[r * d + c + k], s[k]);
    DS_UNROLL
    for (int k = 0; k < kColumns; k++) H[a * d + c + k] = s[k];
  }
  // b <- L^-1 b
  DS_HD void substitute_forwards(const Reals& b, int n) const {
    const int d = this->sizes.d;
    const auto H = this->H();
    for (int r = 0; r < n; r++) {
      const Real part = -(b[r] * H[r * d + r]);
      for (int a = r + 1; a < n; a++) b[a] = fma(part, H[r * d + a], b[a]);
    }
  }
  // b <- L'^-1 D^-1 b, in the order of IslandFactor's Pivots
  DS_HD void substitute_backwards(const Reals& b, int n) const {
    const int d = this->sizes.d;
    const auto H = this->H();
    for (int r = n - 1; r >= 0; r--) {
      const int next = (r / kEight + 1) * kEight;
      Real rest = b[r];
      if (next < n) {
        const auto row = H.from(r * d + next), x = b.from(next);
        rest = rest - SerialLanes::accumulate<Real>(
                          n - next, [&](Index k, const Real& s) { return fma(row[k], x[k], s); });
      }
      for (int c = r + 1; c < n && c < next; c++) rest = fma(-H[r * d + c], b[c], rest);
      b[r] = rest * H[r * d + r];
    }
  }

  // whether islands of so many contacts and scalar rows may join these: A and S have room for the rows of all
  DS_HD bool has_room(int ncon, int nrow) const {
    if (!this->among_rows || this->count == 0) return true;
    const int most_con = ncon > this->most_contacts ? ncon : this->most_contacts;
    const int most_row = nrow > this->most_rows ? nrow : this->most_rows;
    const int rows = most_row + kDim * most_con;
    return rows <= kPackedDofs && rows + kTall + kWide <= this->sizes.d;
  }
  // row i of Z', scalar rows first; those behind the last are read, and no number that is used depends on them
  DS_HD Reals any_row(int i) const {
    return i < this->rows() ? this->scalar_row(i) : this->con_z().from((i - this->rows()) * this->sizes.d);
  }
  // A = Z'Z right of its diagonal
  DS_HD void put_gram() const {
    apart(*this, [=](const auto& self) { self.put_gram_here(); });
  }
  DS_HD int all_rows() const { return this->rows() + kDim * this->contacts(); }  // of contacts too
  DS_HD void put_gram_here() const {
    const int rows = all_rows();
    for (int a = 0; a < rows; a += kTall)
      for (int c = a; c < rows; c += kWide) put_gram_tile(a, c);
  }
  DS_HD void put_gram_tile(int a, int c) const {
    Real s[kTall][kWide];
    begin_tile(a, c, 0, s);
    Reals tall[kTall], wide[kWide];
    DS_UNROLL
    for (int i = 0; i < kTall; i++) tall[i] = any_row(a + i);
    DS_UNROLL
    for (int k = 0; k < kWide; k++) wide[k] = any_row(c + k);
    for (int at = 0; at < dofs; at++) {
      Real x[kWide];
      DS_UNROLL
      for (int k = 0; k < kWide; k++) x[k] = wide[k][at];
      DS_UNROLL
      for (int i = 0; i < kTall; i++) {
        const Real y = tall[i][at];
        DS_UNROLL
        for (int k = 0; k < kWide; k++) s[i][k] = fma(y, x[k], s[i][k]);
      }
    }
    put_tile(a, c, s, this->con_g());
  }
  // an entry of A
  DS_HD Real gram(int i, int j) const {
    const int d = this->sizes.d;
    return i > j ? this->con_g()[j * d + i] : this->con_g()[i * d + j];
  }

  // a scalar row, or a contact's: those that push on some island
  struct Block {
    int place, row;  // in A, in S
    Reals root;      // of its curvature
  };
  // roots of the curvatures: returns how many blocks push, and their rows
  DS_HD int put_roots(Block* blocks, int* rows) const {
    int count = 0;
    *rows = 0;
    for (int i = 0; i < this->rows(); i++) {
      if (!any(this->row_h()[i] != Real(0))) continue;
      this->row_root()[i] = sqrt(this->row_h()[i]);
      blocks[count++] = {i, *rows, this->row_root().from(i)};
      *rows += 1;
    }
    for (int i = 0; i < this->contacts(); i++) {
      Real G[kTriangle<kDim>];
      if (!put_contact_root<kDim>([&](int k) { return this->con_h()[k * this->slots() + i]; }, G)) continue;
      const auto root = this->con_root().from(kTriangle<kDim> * i);
      DS_UNROLL
      for (int k = 0; k < kTriangle<kDim>; k++) root[k] = G[k];
      blocks[count++] = {this->rows() + kDim * i, *rows, root};
      *rows += kDim;
    }
    return count;
  }
  // f(its rows, at compile time)
  template <class F>
  DS_HD void with_size(const Block& block, F f) const {
    if (block.place < this->rows())
      f.template operator()<1>();
    else
      f.template operator()<kDim>();
  }
  // S = 1 + G'A G right of its diagonal, of one block with another that does not come before it
  template <int kRows, int kColumns>
  DS_HD void put_beside(const Block& one, const Real* G, const Block& other, bool same) const {
    const int d = this->sizes.d;
    const auto S = this->H();
    put_block_between<false, kRows, kColumns>(
        G, other.root, [&](int r, int q) -> Real { return gram(one.place + r, other.place + q); },
        [&](int r, int c, const Real& x) {
          if (!same || r <= c) S[(one.row + r) * d + other.row + c] = same && r == c ? Real(1) + x : x;
        });
  }
  // and b = G'Z'grad, of a block
  template <int kRows>
  DS_HD void put_block(const Block* blocks, int at, int count) const {
    const Block& one = blocks[at];
    Real G[kTriangle<kRows>], x[kRows];
    DS_UNROLL
    for (int k = 0; k < kTriangle<kRows>; k++) G[k] = one.root[k];
    put_beside<kRows, kRows>(one, G, one, true);
    for (int j = at + 1; j < count; j++)
      with_size(blocks[j], [&]<int kColumns>() { put_beside<kRows, kColumns>(one, G, blocks[j], false); });
    const auto z = any_row(one.place);
    DS_UNROLL
    for (int r = 0; r < kRows; r++) x[r] = Real(0);
    for (int k = 0; k < dofs; k++) DS_UNROLL
    for (int r = 0; r < kRows; r++) x[r] = fma(this->grad()[k], z[r * this->sizes.d + k], x[r]);
    apply_transposed_root<false, kRows>(G, x);
    DS_UNROLL
    for (int r = 0; r < kRows; r++) this->b()[one.row + r] = x[r];
  }
  // dw <- dw + Z G b, of a block
  template <int kRows>
  DS_HD void add_block(const Block& block) const {
    Real x[kRows];
    apply_root<false, kRows>(block.root, this->b().from(block.row), x);
    const auto z = any_row(block.place), dw = this->dw();
    for (int k = 0; k < dofs; k++) {
      Real s = dw[k];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) s = fma(x[r], z[r * this->sizes.d + k], s);
      dw[k] = s;
    }
  }
  DS_HD void put_direction_among_rows() const {
    Block blocks[kPackedRows + kPackedContacts];
    int rows;
    const int count = put_roots(blocks, &rows);
    for (int i = 0; i < count; i++)
      with_size(blocks[i], [&]<int kRows>() { put_block<kRows>(blocks, i, count); });
    factor(rows);
    substitute_forwards(this->b(), rows);
    substitute_among_rows(this->H(), this->sizes.d, this->b(), rows);
    for (int i = 0; i < count; i++) with_size(blocks[i], [&]<int kRows>() { add_block<kRows>(blocks[i]); });
  }

  // dw <- -H^-1 grad
  DS_HD void direction() const {
    apart(*this, [=](const auto& self) { self.direction_here(); });
  }
  DS_HD void direction_here() const {
    negate_gradient(this->dw());
    if (this->among_rows) return put_direction_among_rows();
    assemble();
    factor(dofs);
    substitute_forwards(this->dw(), dofs);
    substitute_backwards(this->dw(), dofs);
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

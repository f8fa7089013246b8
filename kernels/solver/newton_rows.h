// Newton's direction in the space of the constraint rows, for environments with few of them.
//
// C, the rows' curvature, is block diagonal: one number a scalar row, a triangle a contact (cone.h). G is its root, upper
// triangular by blocks. A is formed once a step (row_space.h); S is formed from the rows that push, a row of blocks at a
// time, and factored (sparse_solve.h). A row of S that only another environment of the pack uses is a row of the
// identity.
//
// solves    H dw = -grad
// equation  H = 1 + Z C Z',  C = G G'
//           H^-1 = 1 - Z G S^-1 G'Z',   S = 1 + G'A G,   A = Z'Z
// source    Woodbury 1950; contact-space Newton after Todorov 2014
// deviation none
// reads     Z, dual_A, grad, con_h, single_h, dense_h
// writes    dual_root, dual_b, dual_S, Hinv, coefficient, dw
// cost      O(rows^3) a direction
#pragma once

#include "kernels/solver/block_root.h"
#include "kernels/solver/row_space.h"
#include "kernels/solver/sparse_solve.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// the rows that push on some environment, as blocks: one scalar row, or a contact's kDim
template <int kDim, bool kByRows, class E>
struct PushingBlocks {
  using Real = typename E::Real;
  using F = Field<Real, E::kStride>;
  static constexpr int kRoot = kTriangle<kDim>;
  E& env;
  const int ndense, behind, singles;  // where contacts begin, and single-dof rows; how many of these
  const int contacts;
  // G: of dense scalar rows, of contacts, of single-dof rows
  const F root, contact_root, single_root;
  const typename E::Words list;  // of each block its place in A, and its first row of S
  int blocks = 0, rows = 0;

  DS_HD explicit PushingBlocks(E& e)
      : env(e),
        ndense(e.t.n.ndense),
        behind(first_single<kDim>(e)),
        singles(e.nlocal_max),
        contacts(e.ncon_max < e.t.n.ncone ? e.ncon_max : e.t.n.ncone),
        root(e.dual_root()),
        contact_root(root.from(ndense)),
        single_root(root.from(ndense + kRoot * e.t.n.ncone)),
        list(block_list(e)) {}

  DS_HD int& place(int i) const { return list[2 * i]; }
  DS_HD int& row(int i) const { return list[2 * i + 1]; }
  // whether the block at a place is a contact
  DS_HD bool wide(int place) const { return place >= ndense && place < behind; }
  // the root of a scalar row's curvature
  DS_HD Real scale(int place) const { return place < ndense ? root[place] : single_root[place - behind]; }
  // that of a contact's
  DS_HD F root_at(int place) const { return contact_root.from(kRoot * ((place - ndense) / kDim)); }
  DS_HD void load_root(int place, Real* G) const {
    DS_UNROLL
    for (int k = 0; k < kRoot; k++) G[k] = contact_root[kRoot * ((place - ndense) / kDim) + k];
  }

  // roots of the curvatures of all rows, in the environments in `live`
  DS_HD void put_roots(const typename E::Mask& live) const {
    const Real zero(0);
    const auto con_h = env.con_h(), single_h = env.single_h(), dense_h = env.dense_h();
    env.each(ndense, [&](int g) { root[g] = select(live, sqrt(dense_h[g]), zero); });
    env.each(contacts, [&](int slot) {
      Real G[kRoot];
      const auto C = [&](int i, int j) { return select(live, con_h[kRoot * slot + triangle(i) + j], zero); };
      block_root<!kByRows, kDim>(C, G);
      DS_UNROLL
      for (int k = 0; k < kRoot; k++) contact_root[kRoot * slot + k] = G[k];
    });
    env.each(singles, [&](int p) { single_root[p] = zero; });
    env.sync();
    env.each(env.t.n.nsingle, [&](int u) {
      if (!in_set(single_rows_in_use(env), u)) return;
      const Real weight = sqrt(single_h[u]);
      each_place(env, u, live,
                 [&](int p, const auto& there) { single_root[p] = select(there, weight, single_root[p]); });
    });
    env.sync();
  }

  DS_HD void add(bool pushes, int place, int size) {
    if (!pushes) return;
    if (env.lanes.rank() == 0) {
      this->place(blocks) = place;
      row(blocks) = rows;
    }
    blocks++;
    rows += size;
  }
  // the blocks whose root is not zero in some environment
  DS_HD void find() {
    const Real zero(0);
    for (int g = 0; g < ndense; g++) add(any(root[g] > zero), g, 1);
    for (int slot = 0; slot < contacts; slot++) {
      bool pushes = false;
      for (int k = 0; k < kDim; k++)
        pushes = pushes || any(contact_root[kRoot * slot + triangle(k) + k] > zero);
      add(pushes, ndense + kDim * slot, kDim);
    }
    for (int p = 0; p < singles; p++) add(any(single_root[p] > zero), behind + p, 1);
    env.sync();
  }

  // x <- G'x of a contact
  DS_HD static void apply_transposed(const Real* G, Real* x) { apply_transposed_root<!kByRows, kDim>(G, x); }
  // b <- G b of block i
  DS_HD void apply_root(int i) const {
    const auto b = env.dual_b().from(row(i));
    if (!wide(place(i))) {
      b[0] = scale(place(i)) * b[0];
      return;
    }
    Real G[kRoot], x[kDim];
    load_root(place(i), G);
    dualstep::apply_root<!kByRows, kDim>(G, b, x);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) b[r] = x[r];
  }

  // Z'x of a block
  template <int kRows, class X>
  DS_HD void product(int place, const X& x, Real* out) const {
    DS_UNROLL
    for (int r = 0; r < kRows; r++) out[r] = Real(0);
    const auto z = rows_of<kRows>(env.Z(), row_at<kDim>(env, place), env.t.n.nv);
    each_member(Reach<kDim, E>{env, place}, env.t.n.nword, [&](Index d) {
      const Real value = x[d];
      DS_UNROLL
      for (int r = 0; r < kRows; r++) out[r] = fma(z[r][d], value, out[r]);
    });
  }

  // rows of a lower triangle, addressed as the registers allow
  DS_HD static auto block_rows(const F& lower, int first) {
    if constexpr (E::kPack > 1)
      return rows_of_triangle<kDim>(lower, first);
    else
      return TriangleRows<F>{lower, first};
  }

  // block i, a contact: its rows of S = 1 + G'A G and of b = G'Z'grad
  DS_HD void put_contact(int i) const {
    const int at = place(i), first = row(i);
    const auto b = env.dual_b(), A = env.dual_A();
    Real G[kRoot], v[kDim];
    load_root(at, G);
    product<kDim>(at, env.grad(), v);
    apply_transposed(G, v);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) b[first + r] = v[r];
    const auto a = block_rows(A, at), out = block_rows(env.dual_S(), first);
    for (int k = 0; k <= i; k++) {
      const Index other = place(k), column = row(k);
      if (!wide(static_cast<int>(other))) {
        Real x[kDim];
        const Real s = scale(static_cast<int>(other));
        DS_UNROLL
        for (int r = 0; r < kDim; r++) x[r] = s * a[r][other];
        apply_transposed(G, x);
        DS_UNROLL
        for (int r = 0; r < kDim; r++) out[r][column] = x[r];
        continue;
      }
      const auto P = root_at(static_cast<int>(other));
      if (E::kPack > 1 && k < i) {
        put_block_between<!kByRows, kDim, kDim>(
            G, P, [&](int r, int q) -> Real { return a[r][other + q]; },
            [&](int r, int c, const Real& x) { out[r][column + c] = x; });
        continue;
      }
      // of the block with itself the lower triangle
      put_block_between<!kByRows, kDim, kDim>(
          G, P,
          [&](int r, int q) -> Real {
            const int up = at + r, down = static_cast<int>(other) + q;
            return up > down ? A[triangle(up) + down] : A[triangle(down) + up];
          },
          [&](int r, int c, const Real& x) {
            if (k < i || c <= r) out[r][column + c] = k == i && c == r ? Real(1) + x : x;
          });
    }
  }
  // block i, a scalar row: likewise
  DS_HD void put_scalar(int i) const {
    const int at = place(i), first = row(i);
    const Real s = scale(at);
    const auto a = env.dual_A().from(triangle(at)), out = env.dual_S().from(triangle(first));
    Real v;
    product<1>(at, env.grad(), &v);
    env.dual_b()[first] = s * v;
    for (int k = 0; k <= i; k++) {
      const Index other = place(k), column = row(k);
      if (!wide(static_cast<int>(other))) {
        const Real x = s * scale(static_cast<int>(other)) * a[other];
        out[column] = k == i ? Real(1) + x : x;
        continue;
      }
      Real P[kRoot], x[kDim];
      load_root(static_cast<int>(other), P);
      DS_UNROLL
      for (int c = 0; c < kDim; c++) x[c] = s * a[other + c];
      apply_transposed(P, x);
      DS_UNROLL
      for (int c = 0; c < kDim; c++) out[column + c] = x[c];
    }
  }

  // x <- x + Z b of block i
  template <class X>
  DS_HD void add_rows_of(int i, const X& x) const {
    const int at = place(i);
    const auto b = env.dual_b().from(row(i));
    const Reach<kDim, E> support{env, at};
    if (wide(at)) {
      Real c[kDim];
      DS_UNROLL
      for (int r = 0; r < kDim; r++) c[r] = b[r];
      add_rows<kDim>(env, support, at, c, x);
    } else {
      const Real c = b[0];
      add_rows<1>(env, support, row_at<kDim>(env, at), &c, x);
    }
  }
};

// dw = -H^-1 grad for the environments in `live`, all of them small
template <int kDim, bool kByRows, class E>
DS_STAGE void row_space_direction(E& env, const typename E::Mask& live) {
  using Real = typename E::Real;
  const auto grad = env.grad(), dw = env.dw();
  PushingBlocks<kDim, kByRows, E> blocks(env);
  blocks.put_roots(live);
  blocks.find();
  // S = 1 + G'A G and b = G'Z'grad
  env.each(blocks.blocks, [&](int i) {
    if (blocks.wide(blocks.place(i)))
      blocks.put_contact(i);
    else
      blocks.put_scalar(i);
  });
  env.sync();
  solve_among_rows(env, blocks.rows);
  // b <- G b, then dw = Z b - grad
  env.each(blocks.blocks, [&](int i) { blocks.apply_root(i); });
  env.sync();
  env.each(env.t.n.nv, [&](int d) { dw[d] = select(live, Real(0) - grad[d], dw[d]); });
  for (int i = 0; i < blocks.blocks; i++) blocks.add_rows_of(i, dw);
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

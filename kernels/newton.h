// Newton on the primal, with an exact line search: the finish of the constraint solver.
//
//   f(w) = 1/2 |w|^2 + sum s(y0 + Z'w),   grad = w - Z force(y),   H = 1 + Z curvature(y) Z'
//
// Source: Todorov 2014 for the primal; the active-set view of it after the sweeps of pgs.h: for pyramids f is
// piecewise quadratic, and a full step onto an unchanged active set is exact. Rows Z reach only the ancestors
// of the bodies in touch, so H has the tree's sparsity, plus fill where a contact joins two branches; the set
// of entries is that of the whole pack (an entry more is an exact zero). H = L'DL as in factorize.h, leaves
// first. A converged environment is frozen by mask. Cost of a step: O(contacts nv^2 + fill).
#pragma once

#include "kernels/dual.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

DS_HD int bit_count(unsigned x) {
#if DS_DEVICE
  return __popc(x);
#else
  return __builtin_popcount(x);
#endif
}

// the words and lists behind the supports of the slots in the pool; pool_words (tables.h) says how many
template <class E>
DS_HD typename E::Words live_support(const E& env, int slot) {
  return env.words((env.t.n.ncon + slot) * env.t.n.nword);
}
// columns j < i of row i of H that can be nonzero
template <class E>
DS_HD typename E::Words pattern_row(const E& env, int i) {
  return env.words((2 * env.t.n.ncon + i) * env.t.n.nword);
}
// rows k > i of H that can be nonzero in column i
template <class E>
DS_HD typename E::Words pattern_column(const E& env, int i) {
  return env.words((2 * env.t.n.ncon + env.t.n.nv + i) * env.t.n.nword);
}
template <class E>
DS_HD typename E::Words column_list(const E& env) {
  return env.words((2 * env.t.n.ncon + 2 * env.t.n.nv) * env.t.n.nword);
}
template <class E>
DS_HD typename E::Words source_list(const E& env) {
  return column_list(env).from(env.t.n.nv);
}
template <class E>
DS_HD typename E::Words slot_list(const E& env) {
  return source_list(env).from(env.t.n.nrow + env.t.n.nv);
}

// the members of a set of dofs, highest first; returns how many
template <class Words>
DS_HD int list_set(const Words& words, int nword, const Words& out) {
  int n = 0;
  each_member_down(words, nword, [&](int i) { out[n++] = i; });
  return n;
}

// the pattern of H and of its factor, for the contacts of the environments in `live`. Columns are there after
// the next barrier
template <class E>
DS_STAGE void symbolic(E& env, const typename E::Mask& live) {
  const auto& t = env.t;
  const int nword = t.n.nword, nv = t.n.nv;
  env.each(nv, [&](int i) {
    const auto row = pattern_row(env, i), column = pattern_column(env, i);
    for (int k = 0; k < nword; k++) row[k] = column[k] = 0;
    for (int e = t.M_rowadr[i] + 1; e < t.M_rowadr[i + 1]; e++)
      row[t.M_col[e] >> 5] |= static_cast<int>(1u << (t.M_col[e] & 31));
  });
  env.sync();
  if (env.lanes.rank() == 0) {
    const auto add_below = [&](const auto& set, int i) {
      const auto row = pattern_row(env, i);
      for (int k = 0; k < (i >> 5); k++) row[k] |= set[k];
      row[i >> 5] |= static_cast<int>(static_cast<unsigned>(set[i >> 5]) & ((1u << (i & 31)) - 1u));
    };
    // the deepest dof of a set takes the whole of it; elimination passes it on
    const auto add_to_deepest = [&](const auto& set, int last) {
      for (int k = last; k >= 0; k--)
        if (set[k] != 0) {
          add_below(set, 32 * k + highest_bit(static_cast<unsigned>(set[k])));
          return;
        }
    };
    for (int g = t.n.nball; g < t.n.ngen; g++) add_to_deepest(general_support(env, g), nword - 1);
    for (int slot = 0; slot < env.ncon_max; slot++) {
      const auto set = live_support(env, slot);
      for (int k = 0; k < nword; k++) set[k] = 0;
      for (int l = 0; l < E::kPack; l++) {
        if (!mask_bit(live, l) || slot >= lane_of(env.ncon, l)) continue;
        const int pair = static_cast<int>(lane_of(env.con_pair()[slot], l)) / 8;
        for (int k = 0; k < nword; k++) set[k] |= t.pair_support[pair * nword + k];
      }
      add_to_deepest(set, nword - 1);
    }
    for (int i = nv - 1; i > 0; i--) add_to_deepest(pattern_row(env, i), i >> 5);
  }
  env.sync();
  const auto add = [&](int j, int k) { pattern_column(env, j)[k >> 5] |= static_cast<int>(1u << (k & 31)); };
  if constexpr (E::Lanes::kWidth == 1) {
    for (int k = nv - 1; k > 0; k--)
      each_member(pattern_row(env, k), (k >> 5) + 1, [&](int j) { add(j, k); });
  } else {
    env.each(nv, [&](int j) {
      for (int k = j + 1; k < nv; k++)
        if (in_set(pattern_row(env, k), j)) add(j, k);
    });
  }
}

// y = y0 + Z'w of every row in use
template <int kDim, class E>
DS_STAGE void residuals(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w();
  each_unit(env, [&](int u) {
    const Real x = unit_dot(env, t.unit_dof[u], w);
    if (env.lanes.rank() != 0) return;
    each_limit_of(env, u, [&](int s, int) { env.lim_y()[s] = env.lim_y0()[s] + (s & 1 ? -x : x); });
    each_loss_of(env, u, [&](int k) { env.loss_y()[k] = env.loss_y0()[k] + x; });
  });
  for (int g = 0; g < t.n.ngen; g++) {
    const Real x = general_dot(env, g, w);
    if (env.lanes.rank() == 0) env.gen_y()[g] = env.gen_y0()[g] + x;
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    Real x[kDim];
    contact_dots<kDim>(env, slot, w, x);
    if (env.lanes.rank() != 0) continue;
    DS_UNROLL
    for (int r = 0; r < kDim; r++) env.con_y()[kDim * slot + r] = env.con_y0()[kDim * slot + r] + x[r];
  }
  env.sync();
}

// the cost of the rows at the present y
template <int kDim, bool kElliptic, class E>
DS_STAGE typename E::Real row_cost(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real half(0.5), nil(0);
  Real cost = env.accumulate(2 * t.n.nlim, [&](int s, const Real& sum) {
    const Real D = env.lim_D()[s];
    const auto used = D > nil;
    if (!any(used)) return sum;
    const Real y = min(select(used, env.lim_y()[s], nil), nil);
    return fma(half * D * y, y, sum);
  });
  cost = cost + env.accumulate(t.n.nloss, [&](int k, const Real& sum) {
    const Real f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1), y = env.loss_y()[k],
               l = loss_force(y, f, R);
    return sum + select(abs(y) < R * f, half * y * y / R, abs(y) * f - half * R * f * f) + nil * l;
  });
  cost = cost + env.accumulate(t.n.ngen, [&](int g, const Real& sum) {
    const Real y = two_sided(env, g) ? env.gen_y()[g] : min(env.gen_y()[g], nil);
    return fma(half * env.gen_D()[g] * y, y, sum);
  });
  return cost + env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
    Real y[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) y[r] = env.con_y()[kDim * slot + r];
    ConeLaw<Real, kDim> law;
    cone_law<kElliptic, false>(cone_params<kDim>(env, slot), y, &law);
    return sum + law.cost;
  });
}

// forces, and curvatures where wanted, of every row at the present y; returns a number that changes when the
// active set does
template <int kDim, bool kElliptic, bool kCurvature, class E>
DS_STAGE typename E::Real row_laws(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Real nil(0), one(1);
  const auto unit_f = env.unit_f(), unit_h = env.unit_h(), gen_f = env.gen_lambda(), gen_h = env.gen_h();
  Real key = env.accumulate(t.n.nunit, [&](int u, const Real& sum) -> Real {
    if (!in_set(units_in_use(env), u)) return sum;
    Real force = nil, weight = nil, changed = nil;
    each_limit_of(env, u, [&](int s, int) {
      // of a side that this environment does not use, no number gets any further, be it infinite
      const Real D = env.lim_D()[s], y = select(D > nil, env.lim_y()[s], nil);
      const Real h = select(y < nil, D, nil);
      force = s & 1 ? fma(h, y, force) : fma(-h, y, force);
      weight = weight + h;
      changed = changed + select(h > nil, set_weight<Real>(Condition::kLimit, s), nil);
    });
    each_loss_of(env, u, [&](int k) {
      const Real y = env.loss_y()[k], f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1);
      const auto inside = abs(y) < R * f;
      force = force + loss_force(y, f, R);
      weight = weight + select(inside, one / R, nil);
      changed = changed + select(inside, set_weight<Real>(Condition::kLoss, 2 * k),
                                 select(y > nil, set_weight<Real>(Condition::kLoss, 2 * k + 1), nil));
    });
    unit_f[u] = force;
    unit_h[u] = weight;
    return sum + changed;
  });
  key = key + env.accumulate(t.n.ngen, [&](int g, const Real& sum) {
    const Real y = env.gen_y()[g], D = env.gen_D()[g];
    const Real h = two_sided(env, g) ? D : select(y < nil, D, nil);
    gen_f[g] = -(h * y);
    gen_h[g] = h;
    if (two_sided(env, g)) return sum;
    return sum + select(h > nil, set_weight<Real>(Condition::kGeneral, g), nil);
  });
  key = key + env.accumulate(env.ncon_max, [&](int slot, const Real& sum) {
    Real y[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) y[r] = env.con_y()[kDim * slot + r];
    ConeLaw<Real, kDim> law;
    cone_law<kElliptic, kCurvature>(cone_params<kDim>(env, slot), y, &law);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) env.con_f()[kDim * slot + r] = law.force[r];
    if (kCurvature)
      for (int k = 0; k < triangle(kDim); k++) env.con_h()[triangle(kDim) * slot + k] = law.curvature[k];
    return sum + law.key;
  });
  env.done();
  return key;
}

// grad = w - Z force
template <int kDim, class E>
DS_STAGE void gradient(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), grad = env.grad(), unit_f = env.unit_f();
  const auto gen_f = env.gen_lambda(), con_f = env.con_f();
  const int nv = t.n.nv;
  env.each(nv, [&](int i) { grad[i] = w[i]; });
  env.sync();
  each_unit(env, [&](int u) {
    const Real f = unit_f[u];
    if (any(f != Real(0))) unit_axpy(env, t.unit_dof[u], -f, grad);
  });
  for (int g = 0; g < t.n.ngen; g++) {
    const Real f = -gen_f[g];
    add_rows<1>(env, general_support(env, g), g, &f, grad);
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    Real f[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) f[r] = -con_f[kDim * slot + r];
    add_rows<kDim>(env, slot_support(env, slot), t.n.ngen + kDim * slot, f, grad);
  }
  env.sync();
}

// entries first .. first + kTile - 1 of a row of H: to(c) += sum over sources s in [begin, end) of
// coefficient[s] from(source[s], c), in registers
template <int kTile, class E, class From, class To>
DS_HD void accumulate_entries(const E& env, int first, int begin, int end, From from, To to) {
  using Real = typename E::Real;
  const auto coefficient = env.coefficient();
  const auto source = source_list(env);
  Real acc[kTile];
  DS_UNROLL
  for (int c = 0; c < kTile; c++) acc[c] = to(first + c);
  for (int s = begin; s < end; s++) {
    const Real x = coefficient[s];
    const int at = source[s];
    DS_UNROLL
    for (int c = 0; c < kTile; c++) acc[c] = fma(x, from(at, first + c), acc[c]);
  }
  DS_UNROLL
  for (int c = 0; c < kTile; c++) to(first + c) = acc[c];
}
// the same for entries 0 .. n - 1, shared out among the lanes
template <class E, class From, class To>
DS_HD void accumulate_row(const E& env, int n, int begin, int end, From from, To to) {
  constexpr int kTile = E::Lanes::kWidth == 1 ? 4 : 1;
  int c = env.lanes.rank() * kTile;
  for (; c + kTile <= n; c += env.lanes.width() * kTile)
    accumulate_entries<kTile>(env, c, begin, end, from, to);
  for (; c < n; c++) accumulate_entries<1>(env, c, begin, end, from, to);
}

// row i of H before any other row or contact has a part in it: one on the diagonal, zeros outside the pattern
// too, since rows above read them, and the unit rows of this dof and of those below it, on its ancestors
template <class E>
DS_HD void begin_row(E& env, const typename E::Mask& live, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto H = env.H(), Linv = env.Linv(), coefficient = env.coefficient(), unit_h = env.unit_h();
  const auto source = source_list(env);
  const int chain = t.M_rowadr[i], depth = t.M_rowadr[i + 1] - chain, row = triangle(i);
  int nunit = 0;
  each_unit(env, [&](int u) {
    const int dof = t.unit_dof[u], at = t.M_rowadr[dof + 1] - depth;
    if (at < t.M_rowadr[dof] || t.M_col[at] != i || !any(mask_and(live, unit_h[u] > Real(0)))) return;
    if (env.lanes.rank() == nunit % env.lanes.width()) {
      source[nunit] = at;
      coefficient[nunit] = unit_h[u] * Linv[at];
    }
    nunit++;
  });
  env.each(i + 1, [&](int j) { H[row + j] = Real(j == i ? 1 : 0); });
  env.sync();
  if (nunit == 0) return;
  accumulate_row(
      env, depth, 0, nunit, [&](int at, int a) -> Real { return Linv[at + a]; },
      [&](int a) -> Real& { return H[row + t.M_col[chain + a]]; });
  env.sync();
}

// rows of a contact that push on some environment in `live`
template <int kDim, class E>
DS_HD int live_rows(E& env, const typename E::Mask& live, int slot) {
  return any(mask_and(live, env.con_dim()[slot] > typename E::Real(1))) ? kDim : 1;
}
// row r of a contact's curvature times column i of its rows of Z
template <int kDim, bool kElliptic, class E>
DS_HD typename E::Real curved(E& env, int slot, int rows, int r, int i) {
  using Real = typename E::Real;
  const auto con_h = env.con_h(), Z = env.Z();
  const int nv = env.t.n.nv, first = env.t.n.ngen + kDim * slot;
  Real x(0);
  for (int c = 0; c < rows; c++) {
    // a pyramid's curvature is an arrow
    if (!kElliptic && r != c && r != 0 && c != 0) continue;
    x = fma(con_h[triangle(kDim) * slot + (r > c ? triangle(r) + c : triangle(c) + r)],
            Z[(first + c) * nv + i], x);
  }
  return x;
}

// row i of H = L'DL, and of the right side; `nslot` contacts push
template <int kDim, bool kElliptic, class E>
DS_HD void direction_row(E& env, const typename E::Mask& live, int nslot, int i) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto H = env.H(), dw = env.dw(), Z = env.Z(), inv = env.Hinv(), coefficient = env.coefficient();
  const int nv = t.n.nv, nword = t.n.nword, rank = env.lanes.rank(), width = env.lanes.width();
  const auto columns = column_list(env), source = source_list(env), slots = slot_list(env);
  const int row = triangle(i);
  // the columns of this row: the diagonal, then those of the pattern
  int n = 1;
  for (int w = 0; w <= (i >> 5); w++) n += bit_count(static_cast<unsigned>(pattern_row(env, i)[w]));
  if (rank == 0) {
    columns[0] = i;
    list_set(pattern_row(env, i), (i >> 5) + 1, columns.from(1));
  }
  begin_row(env, live, i);
  // dense constraint rows, then the rows of H that are done
  int nz = 0;
  for (int g = 0; g < t.n.ngen; g++) {
    if (!in_set(general_support(env, g), i)) continue;
    if (rank == nz % width) {
      source[nz] = g * nv;
      coefficient[nz] = env.gen_h()[g] * Z[g * nv + i];
    }
    nz++;
  }
  for (int k = 0; k < nslot; k++) {
    const int slot = slots[k];
    if (!in_set(live_support(env, slot), i)) continue;
    const int rows = live_rows<kDim>(env, live, slot);
    if (rank == nz % width)
      for (int r = 0; r < rows; r++) {
        source[nz + r] = (t.n.ngen + kDim * slot + r) * nv;
        coefficient[nz + r] = curved<kDim, kElliptic>(env, slot, rows, r, i);
      }
    nz += rows;
  }
  int nsource = nz;
  Real y = -env.grad()[i];
  each_member_down(pattern_column(env, i), nword, [&](int k) {
    const Real x = -(H[triangle(k) + i] * inv[k]);
    if (rank == nsource % width) {
      source[nsource] = triangle(k);
      coefficient[nsource] = x;
    }
    y = fma(x, dw[k], y);
    nsource++;
  });
  env.sync();
  const auto entry = [&](int c) -> Real& { return H[row + columns[c]]; };
  accumulate_row(
      env, n, 0, nz, [&](int at, int c) -> Real { return Z[at + columns[c]]; }, entry);
  accumulate_row(
      env, n, nz, nsource, [&](int at, int c) -> Real { return H[at + columns[c]]; }, entry);
  // column 0, the diagonal, is this lane's own work
  if (rank == 0) {
    inv[i] = Real(1) / H[row + i];
    dw[i] = y;
  }
  env.sync();
}

// the dofs that any of four sets has
template <class Words>
struct AnyOfFour {
  Words set[4];
  DS_HD unsigned operator[](int k) const {
    return static_cast<unsigned>(set[0][k] | set[1][k] | set[2][k] | set[3][k]);
  }
};

// the same for rows top .. top - 3, which share what they load; for packs, whose sums have room in registers.
// Entries are reduced in the order of direction_row: sources that reach only some of the rows add exact zeros
// to the others
template <int kDim, bool kElliptic, class E>
DS_HD void direction_rows_of_four(E& env, const typename E::Mask& live, int nslot, int top) {
  using Real = typename E::Real;
  constexpr int kRows = 4, kTile = 4;
  const auto& t = env.t;
  const auto H = env.H(), dw = env.dw(), Z = env.Z(), inv = env.Hinv(), coefficient = env.coefficient();
  const int nv = t.n.nv, nword = t.n.nword, last = top - kRows + 1;
  const auto columns = column_list(env), source = source_list(env), slots = slot_list(env);
  const auto reaches = [&](const auto& set) {
    return in_set(set, top) || in_set(set, top - 1) || in_set(set, top - 2) || in_set(set, last);
  };
  for (int r = 0; r < kRows; r++) begin_row(env, live, top - r);
  // entry (r, c), c >= r, among the columns of these rows, and the right side
  Real own[kRows][kRows], y[kRows], x[kRows], from[kRows];
  DS_UNROLL
  for (int r = 0; r < kRows; r++) {
    y[r] = -env.grad()[top - r];
    DS_UNROLL
    for (int c = r; c < kRows; c++) own[r][c] = H[triangle(top - r) + top - c];
  }
  int nsource = 0;
  const auto add = [&](int at, const auto& rows) {
    source[nsource] = at;
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      from[r] = rows[at + top - r];
      coefficient[kRows * nsource + r] = x[r];
    }
    DS_UNROLL
    for (int r = 0; r < kRows; r++) DS_UNROLL
    for (int c = r; c < kRows; c++) own[r][c] = fma(x[r], from[c], own[r][c]);
    nsource++;
  };
  for (int g = 0; g < t.n.ngen; g++) {
    if (!reaches(general_support(env, g))) continue;
    DS_UNROLL
    for (int r = 0; r < kRows; r++) x[r] = env.gen_h()[g] * Z[g * nv + top - r];
    add(g * nv, Z);
  }
  for (int k = 0; k < nslot; k++) {
    const int slot = slots[k];
    if (!reaches(live_support(env, slot))) continue;
    const int rows = live_rows<kDim>(env, live, slot);
    for (int row = 0; row < rows; row++) {
      DS_UNROLL
      for (int r = 0; r < kRows; r++) x[r] = curved<kDim, kElliptic>(env, slot, rows, row, top - r);
      add((t.n.ngen + kDim * slot + row) * nv, Z);
    }
  }
  const int nz = nsource;
  const AnyOfFour<typename E::Words> below{{pattern_column(env, top), pattern_column(env, top - 1),
                                            pattern_column(env, top - 2), pattern_column(env, last)}};
  each_member_down(below, nword, [&](int k) {
    if (k <= top) return;
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      x[r] = -(H[triangle(k) + top - r] * inv[k]);
      y[r] = fma(x[r], dw[k], y[r]);
    }
    add(triangle(k), H);
  });
  // these rows among themselves; below the diagonal `own` keeps what a row is weighted with in one after it
  DS_UNROLL
  for (int k = 0; k < kRows; k++) {
    const Real inverse = Real(1) / own[k][k];
    inv[top - k] = inverse;
    dw[top - k] = y[k];
    DS_UNROLL
    for (int r = k + 1; r < kRows; r++) {
      const Real m = own[r][k] = -(own[k][r] * inverse);
      y[r] = fma(m, y[k], y[r]);
      DS_UNROLL
      for (int c = r; c < kRows; c++) own[r][c] = fma(m, own[k][c], own[r][c]);
    }
    DS_UNROLL
    for (int c = k; c < kRows; c++) H[triangle(top - k) + top - c] = own[k][c];
  }
  // the other columns of their patterns, a few at a time
  int n = 0;
  const AnyOfFour<typename E::Words> before{
      {pattern_row(env, top), pattern_row(env, top - 1), pattern_row(env, top - 2), pattern_row(env, last)}};
  each_member_down(before, (last >> 5) + 1, [&](int j) {
    if (j < last) columns[n++] = j;
  });
  // a column less than a tile has is done twice
  if (n == 0) return;
  for (; n % kTile != 0; n++) columns[n] = columns[n - 1];
  for (int begin = 0; begin < n; begin += kTile) {
    const Index c0 = columns[begin], c1 = columns[begin + 1], c2 = columns[begin + 2],
                c3 = columns[begin + 3];
    Real sum[kRows][kTile];
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      const auto row = H.from(triangle(top - r));
      sum[r][0] = row[c0], sum[r][1] = row[c1], sum[r][2] = row[c2], sum[r][3] = row[c3];
    }
    const auto accumulate = [&](const auto& rows, Index s, Index end) {
      for (; s < end; s++) {
        const auto row = rows.from(source[s]);
        const auto weight = coefficient.from(kRows * s);
        const Real f0 = row[c0], f1 = row[c1], f2 = row[c2], f3 = row[c3];
        DS_UNROLL
        for (int r = 0; r < kRows; r++) {
          const Real m = weight[r];
          sum[r][0] = fma(m, f0, sum[r][0]);
          sum[r][1] = fma(m, f1, sum[r][1]);
          sum[r][2] = fma(m, f2, sum[r][2]);
          sum[r][3] = fma(m, f3, sum[r][3]);
        }
      }
    };
    accumulate(Z, 0, nz);
    accumulate(H, nz, nsource);
    DS_UNROLL
    for (int r = 0; r < kRows; r++) {
      DS_UNROLL
      for (int k = 0; k < r; k++) DS_UNROLL
      for (int c = 0; c < kTile; c++) sum[r][c] = fma(own[r][k], sum[k][c], sum[r][c]);
      const auto row = H.from(triangle(top - r));
      row[c0] = sum[r][0], row[c1] = sum[r][1], row[c2] = sum[r][2], row[c3] = sum[r][3];
    }
  }
}

// dw = -H^-1 grad for the environments in `live`
template <int kDim, bool kElliptic, class E>
DS_STAGE void newton_direction(E& env, const typename E::Mask& live) {
  using Real = typename E::Real;
  const auto H = env.H(), dw = env.dw(), inv = env.Hinv(), con_h = env.con_h();
  const int nv = env.t.n.nv, rank = env.lanes.rank();
  const auto slots = slot_list(env);
  // slots that push on some environment that still searches
  int nslot = 0;
  for (int slot = 0; slot < env.ncon_max; slot++)
    if (any(mask_and(live, con_h[triangle(kDim) * slot] > Real(0)))) {
      if (rank == 0) slots[nslot] = slot;
      nslot++;
    }
  symbolic(env, live);
  int i = nv - 1;
  if constexpr (E::kPack > 1)
    for (; i >= 3; i -= 4) direction_rows_of_four<kDim, kElliptic>(env, live, nslot, i);
  for (; i >= 0; i--) direction_row<kDim, kElliptic>(env, live, nslot, i);
  for (int k = 0; k < nv && rank == 0; k++) {
    const int row = triangle(k);
    Real s(0);
    each_member(pattern_row(env, k), (k >> 5) + 1, [&](Index j) { s = fma(H[row + j], dw[j], s); });
    dw[k] = (dw[k] - s) * inv[k];
  }
  env.sync();
}

// change of their y along dw
template <int kDim, class E>
DS_STAGE void direction_rows(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto dw = env.dw(), dy = env.dy();
  each_unit(env, [&](int u) {
    const Real x = unit_dot(env, t.unit_dof[u], dw);
    if (env.lanes.rank() != 0) return;
    each_limit_of(env, u, [&](int s, int) { dy[s] = s & 1 ? -x : x; });
    each_loss_of(env, u, [&](int k) { dy[2 * t.n.nlim + k] = x; });
  });
  for (int g = 0; g < t.n.ngen; g++) {
    const Real x = general_dot(env, g, dw);
    if (env.lanes.rank() == 0) dy[2 * t.n.nlim + t.n.nloss + g] = x;
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    Real x[kDim];
    contact_dots<kDim>(env, slot, dw, x);
    if (env.lanes.rank() != 0) continue;
    DS_UNROLL
    for (int r = 0; r < kDim; r++) env.con_dy()[kDim * slot + r] = x[r];
  }
  env.sync();
}

// slope and curvature of the cost at w + alpha dw
template <int kDim, bool kElliptic, class E>
DS_FN void along(E& env, const typename E::Real& alpha, const typename E::Real& wd,
                 const typename E::Real& dd, typename E::Real* slope, typename E::Real* bend) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto dy = env.dy();
  const Real nil(0);
  Real s = fma(alpha, dd, wd), b = dd;
  const auto half_line = [&](const Real& y0, const Real& d, const Real& D, Real* slope_of, Real* bend_of) {
    const auto used = D > nil;
    const Real step = select(used, d, nil), y = select(used, fma(alpha, d, y0), nil);
    const Real h = select(y < nil, D * step, nil);
    *slope_of = fma(h, y, *slope_of);
    *bend_of = fma(h, step, *bend_of);
  };
  each_limit(env, [&](int i, int) { half_line(env.lim_y()[i], dy[i], env.lim_D()[i], &s, &b); });
  for (int k = 0; k < t.n.nloss; k++) {
    const Real d = dy[2 * t.n.nlim + k], y = fma(alpha, d, env.loss_y()[k]);
    const Real f = env.loss_param(3 * k), R = env.loss_param(3 * k + 1);
    s = fma(-loss_force(y, f, R), d, s);
    b = b + select(abs(y) < R * f, d * d / R, nil);
  }
  for (int g = 0; g < t.n.ngen; g++) {
    const Real d = dy[2 * t.n.nlim + t.n.nloss + g], y0 = env.gen_y()[g], D = env.gen_D()[g];
    if (two_sided(env, g)) {
      s = fma(D * d, fma(alpha, d, y0), s);
      b = fma(D * d, d, b);
    } else {
      half_line(y0, d, D, &s, &b);
    }
  }
  for (int slot = 0; slot < env.ncon_max; slot++) {
    const auto p = cone_params<kDim>(env, slot);
    Real y[kDim], d[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      d[r] = env.con_dy()[kDim * slot + r];
      y[r] = fma(alpha, d[r], env.con_y()[kDim * slot + r]);
    }
    if constexpr (!kElliptic) {
      DS_UNROLL
      for (int i = 0; i < kDim - 1; i++)
        for (int minus = 0; minus < 2; minus++) {
          const Real mu = minus ? -p.mu[i] : p.mu[i], D = edge_D(p, i, minus);
          const Real ye = fma(mu, y[i + 1], y[0]), de = fma(mu, d[i + 1], d[0]);
          const Real h = select(ye < nil, D * de, nil);
          s = fma(h, ye, s);
          b = fma(h, de, b);
        }
    } else {
      cone_along(p, y, d, &s, &b);
    }
  }
  *slope = s;
  *bend = b;
}

// the minimum along dw: Newton on the slope, kept inside a bracket that shrinks
template <int kDim, bool kElliptic, class E>
DS_STAGE typename E::Real line_search(E& env, const typename E::Real& wd, const typename E::Real& dd,
                                      const typename E::Real& slope0, const typename E::Mask& live) {
  using Real = typename E::Real;
  const Real nil(0), one(1), huge(1e10);
  Real lo = nil, hi = huge, alpha = one;
  // a float cannot see a slope below its own rounding of the terms
  const Real enough = abs(slope0) * (sizeof(ScalarOf<Real>) == 4 ? Real(1e-3) : Real(1e-9));
  auto searching = live;
  for (int it = 0; it < 12; it++) {
    Real slope, bend;
    along<kDim, kElliptic>(env, alpha, wd, dd, &slope, &bend);
    searching = mask_and(searching, abs(slope) > enough);
    if (!any(searching)) break;
    const auto past = slope > nil;
    lo = select(mask_and(searching, mask_not(past)), alpha, lo);
    hi = select(mask_and(searching, past), alpha, hi);
    Real next = alpha - slope / bend;
    const Real middle = select(hi < huge, Real(0.5) * (lo + hi), Real(2) * alpha);
    next = select(mask_and(next > lo, next < hi), next, middle);
    alpha = select(searching, next, alpha);
  }
  return alpha;
}

// steps until the active set is stable, or the step is negligible, or the cap is reached; y must be current.
// Leaves the laws of all rows at the y that it leaves. Returns the environments of the `wanted` ones that did
// not converge; counts the steps of each.
template <int kDim, bool kElliptic, class E>
DS_STAGE typename E::Mask newton(E& env, int cap, const typename E::Real& tolerance,
                                 const typename E::Mask& wanted) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto w = env.w(), dw = env.dw(), grad = env.grad(), dy = env.dy();
  const int nv = t.n.nv;
  const Real nil(0), one(1);
  Real key_before(-1);
  auto live = wanted;
  for (int step = 0;; step++) {
    const Real key = row_laws<kDim, kElliptic, true>(env);
    // a full step onto the set it was computed for has landed on the minimum
    if constexpr (!kElliptic) live = mask_and(live, key != key_before);
    if (step == cap || !any(live)) break;
    gradient<kDim>(env);
    const Real gg = env.accumulate(nv, [&](int i, const Real& s) { return fma(grad[i], grad[i], s); });
    live = mask_and(live, gg > nil);  // NaN has no direction: such an environment is left as it is
    if (!any(live)) {
      env.done();
      break;
    }
    const auto many_rows = mask_and(live, mask_not(env.small)), few_rows = mask_and(live, env.small);
    if (any(many_rows)) newton_direction<kDim, kElliptic>(env, many_rows);
    if (any(few_rows)) dual_direction<kDim, kElliptic>(env, few_rows);
    using Sum = Sums<Real, 3>;
    const Sum dots = env.template accumulate<Sum>(nv, [&](int i, Sum s) {
      const Real d = dw[i];
      s.of[0] = fma(grad[i], d, s.of[0]);
      s.of[1] = fma(w[i], d, s.of[1]);
      s.of[2] = fma(d, d, s.of[2]);
      return s;
    });
    const Real slope0 = dots.of[0], wd = dots.of[1], dd = dots.of[2];
    direction_rows<kDim>(env);
    const Real alpha = line_search<kDim, kElliptic>(env, wd, dd, slope0, live);
    const Real move = select(live, alpha, nil);
    env.sync();
    env.each(nv, [&](int i) { w[i] = select(live, fma(move, dw[i], w[i]), w[i]); });
    env.each(t.n.nunit, [&](int u) {
      if (!in_set(units_in_use(env), u)) return;
      each_limit_of(env, u, [&](int s, int) {
        env.lim_y()[s] = select(live, fma(move, dy[s], env.lim_y()[s]), env.lim_y()[s]);
      });
    });
    env.each(t.n.nloss, [&](int k) {
      env.loss_y()[k] = select(live, fma(move, dy[2 * t.n.nlim + k], env.loss_y()[k]), env.loss_y()[k]);
    });
    env.each(t.n.ngen, [&](int g) {
      env.gen_y()[g] =
          select(live, fma(move, dy[2 * t.n.nlim + t.n.nloss + g], env.gen_y()[g]), env.gen_y()[g]);
    });
    env.each(kDim * env.ncon_max, [&](int c) {
      env.con_y()[c] = select(live, fma(move, env.con_dy()[c], env.con_y()[c]), env.con_y()[c]);
    });
    env.sync();
    const Real ww = env.accumulate(nv, [&](int i, const Real& s) { return fma(w[i], w[i], s); });
    env.iterations = env.iterations + select(live, one, nil);
    // the decrement is the squared M-norm of the step left over
    live = mask_and(live, -slope0 > tolerance * tolerance * ww);
    // only a full step may stop at an unchanged set
    key_before = select(abs(alpha - one) < Real(1e-3), key, Real(-1));
  }
  return live;
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Islands of one tree side by side: those of the environments of a pack, in the order in which they come, a pack of them
// at a time. The same steps as solve_islands.h takes with each, on the same numbers in the same order, so that no bit
// tells which of the two has solved an island.
//
// An island's rows are copied to its element of the pack; those that have fewer contacts, rows or dofs than others there
// have zeros in place of them, and ones on the diagonal of H. What a mask leaves out keeps its numbers.
// Source and deviations: solve_islands.h; dense Cholesky in place of blocks, since there is one block.
// Reads what IslandRows and IslandContacts leave. Writes w, con_f, lim_y, dense_y, residual, iterations, unsolved.
// Cost: O(rows x dofs^2 + dofs^3) a step for all of a pack, as many steps as the slowest needs.
#pragma once

#include "kernels/contact/with_law.h"
#include "kernels/data/island_pack.h"
#include "kernels/solver/islands/island_laws.h"
#include "kernels/solver/judge.h"

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
  int count = 0;                                   // islands
  int dofs = 0, most_contacts = 0, most_rows = 0;  // of any of them
  int element[kPack], tree[kPack], own_contacts[kPack], own_rows[kPack];
  int slot[kPackedContacts][kPack], source[kPackedRows][kPack];

  DS_HD PackedRows(E& e, int bin)
      : env(e), sizes(island_pack_sizes(e.t.n, bin)), layout(island_pack_layout(sizes)) {
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

  // room for as many contacts and rows; new ones are none
  DS_HD void grow(int n, int ncon, int nrow) {
    const Real zero(0);
    if (count == 0) dofs = most_contacts = most_rows = 0;
    for (; dofs < n; dofs++) dw()[dofs] = zero;
    for (; most_contacts < ncon; most_contacts++) {
      const int i = most_contacts;
      for (int k = 0; k < kDim * sizes.d; k++) con_z()[i * kDim * sizes.d + k] = zero;
      con_D()[i] = con_dim()[i] = zero;
      for (int k = 0; k < 5; k++) con_mu()[k * slots() + i] = zero;
      for (int r = 0; r < kDim; r++)
        con_y0()[r * slots() + i] = con_y()[r * slots() + i] = con_dy()[r * slots() + i] = zero;
    }
    for (; most_rows < nrow; most_rows++) {
      const int i = most_rows;
      for (int k = 0; k < sizes.d; k++) scalar_row(i)[k] = zero;
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
      for (int k = 0; k < 5; k++) take(from.con_mu(), k * from.slots() + c, con_mu(), k * slots() + i);
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
      const Eights eights{from.width() == kEight ? ~0u : static_cast<unsigned>(from.con_eights()[2 * c])};
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

template <int kDim, bool kElliptic, class E>
struct PackedIslands : IslandLaws<kDim, kElliptic, PackedRows<kDim, E>> {
  using Base = IslandLaws<kDim, kElliptic, PackedRows<kDim, E>>;
  using Base::env, Base::dofs, Base::kPack, Base::count;
  using Scalar = typename Base::Scalar;
  using Real = typename Base::Real;
  using Mask = typename Base::Mask;
  using Reals = typename Base::Reals;
  DS_HD PackedIslands(E& e, int bin) : Base(PackedRows<kDim, E>(e, bin)) {}

  DS_HD void choose_start() const {
    apart(*this, [=](const auto& self) { self.choose_start_here(); });
  }
  DS_HD void choose_start_here() const {
    const auto w = this->w();
    const Real zero(0);
    this->put_costs(this->con_adr(), this->con_y0(), this->row_y0());
    const Real cold = this->parts(0);
    for (int k = 0; k < dofs; k++) w[k] = this->dw()[k];
    this->put_products(all_true<Real>(), w, true, this->con_y(), this->row_y());
    this->put_costs(this->con_adr(), this->con_y(), this->row_y());
    const Real warm = Real(0.5) * this->dot(w, w) + this->parts(0);
    const auto keep = warm < cold;
    for (int k = 0; k < dofs; k++) w[k] = select(keep, w[k], zero);
    each_y([&](Real& y, const Real&, const Real& y0) { y = select(keep, y, y0); });
    // no curvature is what stands there: the first active set is another
    for (int i = 0; i < this->contacts(); i++)
      for (int k = 0; k < kTriangle<kDim>; k++) this->con_h()[k * this->slots() + i] = Real(-1);
    for (int i = 0; i < this->rows(); i++) this->row_piece()[i] = Real(-1);
  }
  // f(y, its change along dw, y0) for all rows
  template <class F>
  DS_HD void each_y(F f) const {
    for (int r = 0; r < kDim; r++)
      for (int i = 0; i < this->contacts(); i++) {
        const int k = r * this->slots() + i;
        f(this->con_y()[k], this->con_dy()[k], this->con_y0()[k]);
      }
    for (int i = 0; i < this->rows(); i++) f(this->row_y()[i], this->row_dy()[i], this->row_y0()[i]);
  }

  DS_HD void put_gradient() const {
    apart(*this, [=](const auto& self) { self.put_gradient_here(); });
  }
  DS_HD void put_gradient_here() const {
    const auto grad = this->grad();
    for (int k = 0; k < dofs; k++) grad[k] = this->w()[k];
    for (int i = 0; i < this->rows(); i++) subtract(this->row_f()[i], this->scalar_row(i));
    for (int i = 0; i < this->contacts(); i++)
      for (int r = 0; r < kDim; r++) subtract(this->con_f()[r * this->slots() + i], this->contact_row(i, r));
  }
  DS_HD void subtract(const Real& f, const Reals& z) const {
    if (!any(f != Real(0))) return;
    const Real less = -f;
    for (int k = 0; k < dofs; k++) this->grad()[k] = fma(less, z[k], this->grad()[k]);
  }
  DS_HD void negate_gradient() const {
    for (int k = 0; k < dofs; k++) this->dw()[k] = fma(Real(-1), this->grad()[k], Real(0));
  }

  // H, right of the diagonal: 1 + Z curvature Z', in tiles that registers hold, of which there are 32 or 16. They run over the dofs: nobody reads
  // what is left of the diagonal and behind them
  static constexpr int kTall = 4, kWide = sizeof(Real) > 32 ? 6 : 3;
  static_assert(kTall <= kPackedRoom && kWide <= kPackedRoom);
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
    DS_UNROLL
    for (int i = 0; i < kTall; i++) DS_UNROLL
    for (int k = 0; k < kWide; k++) s[i][k] = Real(a + i == c + k ? 1 : 0);
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
    DS_UNROLL
    for (int i = 0; i < kTall; i++) DS_UNROLL
    for (int k = 0; k < kWide; k++) this->H()[(a + i) * d + c + k] = s[i][k];
  }
  // row a of the factor: what the rows before take from it; one over a pivot takes the pivot's place
  DS_HD void factor() const {
    const int d = this->sizes.d;
    const auto H = this->H();
    Real multiplier[kPackedDofs];
    for (int a = 0; a < dofs; a++) {
      for (int r = 0; r < a; r++) multiplier[r] = -(H[r * d + a] * H[r * d + r]);
      for (int c = a; c < dofs; c += kRun)
        if (c + kRun <= dofs)
          reduce<kRun>(a, c, multiplier);
        else
          for (int k = c; k < dofs; k++) reduce<1>(a, k, multiplier);
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
  // dw <- -H^-1 grad, in the order of IslandFactor's Pivots
  DS_HD void direction() const {
    apart(*this, [=](const auto& self) { self.direction_here(); });
  }
  DS_HD void direction_here() const {
    const int d = this->sizes.d;
    const auto H = this->H(), b = this->dw();
    negate_gradient();
    assemble();
    factor();
    for (int r = 0; r < dofs; r++) {
      const Real part = -(b[r] * H[r * d + r]);
      for (int a = r + 1; a < dofs; a++) b[a] = fma(part, H[r * d + a], b[a]);
    }
    for (int r = dofs - 1; r >= 0; r--) {
      const int next = (r / kEight + 1) * kEight;
      Real rest = b[r];
      if (next < dofs) {
        const auto row = H.from(r * d + next), x = b.from(next);
        rest = rest - SerialLanes::accumulate<Real>(
                          dofs - next, [&](Index k, const Real& s) { return fma(row[k], x[k], s); });
      }
      for (int c = r + 1; c < dofs && c < next; c++) rest = fma(-H[r * d + c], b[c], rest);
      b[r] = rest * H[r * d + r];
    }
  }

  // the step length of each island of a mask, as IslandSolver finds it turn by turn
  DS_HD void line_search(const Mask& live, const Real& slope0, const Real& wd, const Real& dd) const {
    const Real zero(0), huge(1e10), enough = abs(slope0) * Real(sizeof(Scalar) == 4 ? 1e-3 : 1e-9);
    Real lo(0), hi = huge, alpha(1);
    auto searching = live;
    this->alpha()[0] = alpha;
    for (int turn = 0; turn < 12; turn++) {
      this->put_along(this->con_adr());
      const Real slope = fma(alpha, dd, wd) + this->parts(0), bend = dd + this->parts(1);
      searching = mask_and(searching, abs(slope) > enough);
      if (!any(searching)) return;
      const auto past = slope > zero;
      hi = select(mask_and(searching, past), alpha, hi);
      lo = select(mask_and(searching, mask_not(past)), alpha, lo);
      const Real next = alpha - slope / bend;
      const Real middle = select(hi < huge, Real(0.5) * (lo + hi), Real(2) * alpha);
      alpha = select(searching, select(mask_and(next > lo, next < hi), next, middle), alpha);
      this->alpha()[0] = alpha;
    }
  }

  // adds the steps of each to `steps`
  DS_HD void newton(int cap, const Real& tolerance, Mask live, Real* steps) const {
    apart(*this, [=](const auto& self) { self.newton_here(cap, tolerance, live, steps); });
  }
  DS_HD void newton_here(int cap, const Real& tolerance, Mask live, Real* steps) const {
    const Real zero(0), one(1);
    const auto w = this->w(), dw = this->dw(), grad = this->grad();
    auto whole = all_false<Real>();
    for (int step = 0;; step++) {
      this->put_laws(this->con_adr());
      // a whole step onto the set it was computed for has landed on the minimum
      live = mask_and(live, mask_not(mask_and(whole, this->parts(0) == zero)));
      if (step == cap || !any(live)) return;
      put_gradient();
      const Real gg = this->dot(grad, grad);
      live = mask_and(live, gg > tolerance * tolerance * this->dot(w, w));
      if (!any(live)) return;
      direction();
      const Real slope = this->dot(grad, dw), wd = this->dot(w, dw), dd = this->dot(dw, dw);
      this->put_products(all_true<Real>(), dw, false, this->con_dy(), this->row_dy());
      line_search(live, slope, wd, dd);
      const Real alpha = this->alpha()[0];
      each_y([&](Real& y, const Real& dy, const Real&) { y = select(live, fma(alpha, dy, y), y); });
      for (int k = 0; k < dofs; k++) w[k] = select(live, fma(alpha, dw[k], w[k]), w[k]);
      *steps = *steps + select(live, one, zero);
      whole = abs(alpha - one) < Real(1e-3);
      live = mask_and(live, -slope > tolerance * tolerance * this->dot(w, w));
    }
  }

  DS_HD Mask are_right(bool estimate, const Real& least) const {
    const Real ww = this->dot(this->w(), this->w());
    if (!estimate) return is_small(this->dot(this->grad(), this->grad()), right_by_bound(ww));
    const Real most = right_by_estimate(ww);
    return is_small(this->dot(this->dw(), this->dw()), select(most > least, most, least));
  }
  // what rounding does to w, squared (judge.h)
  DS_HD Real rounding_squared() const {
    Real size(0), asked(0);
    for (int l = 0; l < count; l++)
      set_lane(size, l,
               IslandEnv<E, false>(env, this->element[l]).add_smooth_squares(this->tree[l], Scalar(0)));
    for (int i = 0; i < this->rows(); i++) {
      const Real y = this->row_y0()[i];
      asked = fma(this->row_D()[i] * y, y, asked);
    }
    for (int i = 0; i < this->contacts(); i++)
      for (int r = 0; r < kDim; r++) {
        const Real y = this->con_y0()[r * this->slots() + i];
        asked = fma(this->con_D()[i] * y, y, asked);
      }
    return rounding_of(size, asked);
  }
  // those of `present` whose acceleration is not right, after going on with those in doubt
  DS_HD Mask judge(int cap, const Real& tolerance, const Mask& present) const {
    return apart(*this, [=](const auto& self) { return self.judge_here(cap, tolerance, present); });
  }
  DS_HD Mask judge_here(int cap, const Real& tolerance, const Mask& present) const {
    put_gradient();
    auto doubtful = mask_and(present, mask_not(are_right(false, Real(0))));
    if (!any(doubtful)) return doubtful;
    const Real least = rounding_squared();
    for (int round = 0;; round++) {
      // rows anew from w: their y carry the rounding of all steps
      this->put_products(doubtful, this->w(), true, this->con_y(), this->row_y());
      this->put_laws(this->con_adr());
      put_gradient();
      doubtful = mask_and(doubtful, mask_not(are_right(false, least)));
      if (any(doubtful)) {
        direction();
        doubtful = mask_and(doubtful, mask_not(are_right(true, least)));
      }
      if (round == 2 || !any(doubtful)) return doubtful;
      Real ignored(0);
      newton(cap, tolerance, doubtful, &ignored);
    }
  }

  DS_HD Real natural_residual() const {
    return apart(*this, [=](const auto& self) { return self.natural_residual_here(); });
  }
  DS_HD Real natural_residual_here() const {
    put_gradient();
    negate_gradient();
    this->put_products(all_true<Real>(), this->dw(), false, this->con_dy(), this->row_dy());
    this->put_diagonals(this->con_adr());
    const Real one(1), zero(0), number = this->parts(1);
    this->alpha()[0] = this->parts(0) / select(number > one, number, one);
    this->put_natural(this->con_adr());
    const Real size = this->parts(1);
    return sqrt(this->parts(0)) / select(size > zero, sqrt(size), one);
  }

  // w and forces back into the workspace, and what there is to say of each environment
  DS_HD void put_back(const Real& steps, const Mask& wrong, const Real& residual) const {
    apart(*this, [=](const auto& self) { self.put_back_here(steps, wrong, residual); });
  }
  DS_HD void put_back_here(const Real& steps, const Mask& wrong, const Real& residual) const {
    const auto& n = env.t.n;
    const int losses = 2 * n.nlim, dense = losses + n.nloss;
    unsigned unsolved = 0;
    for (int l = 0; l < count; l++) {
      const int at = this->element[l], own = this->tree[l], first = env.t.tree_dof[own];
      const int nv = env.t.tree_dof[own + 1] - first;
      for (int k = 0; k < nv; k++) set_lane(env.w()[first + k], at, lane_of(this->w()[k], l));
      for (int i = 0; i < this->own_contacts[l]; i++)
        for (int r = 0; r < kDim; r++)
          set_lane(env.con_f()[kDim * this->slot[i][l] + r], at,
                   lane_of(this->con_f()[r * this->slots() + i], l));
      for (int i = 0; i < this->own_rows[l]; i++) {
        const int source = this->source[i][l];
        const Scalar y = lane_of(this->row_y()[i], l);
        if (source < losses)
          set_lane(env.lim_y()[source], at, y);
        else if (source >= dense)
          set_lane(env.dense_y()[source - dense], at, y);
      }
      note_steps(env, at, lane_of(steps, l));
      bool solved = !mask_bit(wrong, l);
      if (env.ends_call) {
        note_residual(env, at, lane_of(residual, l));
        solved = solved && lane_of(residual, l) < Scalar(1e30);
      }
      if (!solved) unsolved |= 1u << at;
    }
    env.unsolved = mask_or(env.unsolved, mask_of_word<Real>(unsolved));
  }

  DS_HD void solve() {
    const auto present = mask_of_word<Real>(count < 32 ? (1u << count) - 1u : ~0u);
    const Real of_laws = law_tolerance(env, false);
    Real tolerance(0), steps(0), residual(0);
    for (int l = 0; l < count; l++) set_lane(tolerance, l, lane_of(of_laws, this->element[l]));
    this->turn_rows();
    choose_start();
    newton(env.t.o.newton, tolerance, present, &steps);
    const auto wrong = judge(env.t.o.newton, tolerance, present);
    if (env.ends_call) residual = natural_residual();
    put_back(steps, wrong, residual);
    count = 0;
  }
};

// the open packs of an environment's pack, by contacts
template <int kDim, bool kElliptic, class E>
struct PackBins {
  PackedIslands<kDim, kElliptic, E> packs[kPackBins];
  DS_HD explicit PackBins(E& env) : packs{{env, 0}, {env, 1}, {env, 2}, {env, 3}, {env, 4}} {}
  template <class From>
  DS_HD void add(const From& from, int island) {
    const int contacts = from.con_adr()[island + 1] - from.con_adr()[island];
    int bin = 0;
    while (contacts > kBinContacts[bin]) bin++;
    packs[bin].take(from, island);
    if (packs[bin].count == E::kPack) packs[bin].solve();
  }
  // what is left over shares packs, with those of more contacts
  DS_HD void finish() {
    for (int bin = 0; bin < kPackBins; bin++) {
      auto& pack = packs[bin];
      for (int next = bin + 1; next < kPackBins && pack.count > 0; next++) {
        auto& larger = packs[next];
        if (larger.count == 0 || larger.count + pack.count > E::kPack) continue;
        for (int l = 0; l < pack.count; l++) larger.take_over(pack, l);
        pack.count = 0;
      }
      if (pack.count > 0) pack.solve();
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

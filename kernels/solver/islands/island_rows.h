// The rows of one environment by islands: what kinds/ has made, and the contacts' rows, on the trees that they reach.
//
//   J_r = f_r' (S_2 - S_1),   aref as in rows/kinds/contact_rows.h,   f_r the wrench of a unit force (or moment) along
//   axis r,   Z = D^-1/2 L^-T J',   a block for each tree: kDim rows of the tree's dofs, padded to eights
//
// The whitened motion of a body, D^-1/2 L^-T S', serves all its contacts.
//
// Source and deviations: rows/rows.h, rows/kinds/contact_rows.h. A scalar row's sign stands in its block.
// Reads con_*, cdof, tree_com, qvel, qacc_smooth, LD, Dscale, Linv, Z, *_y0, *_D. Writes con_frame (t1) and of the
// arena con_z, con_y0, con_D, con_dim, con_mu, row_*. Cost: O(contacts x a tree's depth^2).
#pragma once

#include "kernels/rows/conditioning.h"
#include "kernels/solver/islands/partition.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// laws of scalar rows as a number, so that rows of several kinds stand side by side
enum ScalarLaw : int { kOneSided = 0, kTwoSided = 1, kHuber = 2 };
template <class Real>
struct ScalarLawOf {
  int law;
  Real bound;
};
DS_HD ScalarLawOf<float> plain_law(const OneSided&) { return {kOneSided, 0}; }
DS_HD ScalarLawOf<float> plain_law(const TwoSided&) { return {kTwoSided, 0}; }
template <class Real>
DS_HD ScalarLawOf<Real> plain_law(const Huber<Real>& law) {
  return {kHuber, law.f};
}

template <int kDim, class E>
struct IslandRows : IslandEnv<E> {
  using Base = IslandEnv<E>;
  using Base::env, Base::at, Base::vec, Base::put, Base::dofs, Base::padded, Base::element;
  using Scalar = typename Base::Scalar;
  using Reals = typename Base::Reals;
  using Numbers = typename Base::Numbers;
  DS_HD explicit IslandRows(const Base& base) : Base(base) {}

  // row r of contact i on its first or second tree
  DS_HD Reals contact_row(int i, int side, int r) const {
    const int width = env.t.n.ntreepad;
    return this->con_z().from(static_cast<Index>((i * 2 + side) * kDim + r) * width);
  }
  DS_HD int tree_of_contact(int i, int side) const {
    return this->con_tree()[2 * this->con_slot()[i] + side];
  }
  // calls f(side, tree) for the trees of a contact
  template <class F>
  DS_HD void each_side(int i, F f) const {
    f(0, tree_of_contact(i, 0));
    if (tree_of_contact(i, 1) >= 0) f(1, tree_of_contact(i, 1));
  }

  // calls f(tree, its part of the row) for the entries of a scalar row
  template <class F>
  DS_HD void each_entry(int i, F f) const {
    for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++)
      f(this->entry_tree()[e], this->row_z().from(this->entry_z()[e]));
  }
  // entries of A = Z'Z: of two rows of a contact, and of a scalar row with itself
  DS_HD Scalar contact_A(int i, int r, int k) const {
    Numbers s(Scalar(0));
    each_side(i, [&](int side, int tree) {
      for (int c = 0; c < padded(tree); c += kEight)
        s.add_product(Numbers(contact_row(i, side, r), c), Numbers(contact_row(i, side, k), c));
    });
    return s.fold();
  }
  DS_HD Scalar row_A(int i) const {
    Numbers s(Scalar(0));
    each_entry(i, [&](int tree, const Reals& z) {
      for (int c = 0; c < padded(tree); c += kEight) s.add_product(Numbers(z, c), Numbers(z, c));
    });
    return s.fold();
  }

  // The motion of a body that is touched, whitened: a wrench f on it is the whitened row (D^-1/2 L^-T S') f, S the
  // motions of the dofs that move it. Its velocity S qvel, and S qacc_smooth
  DS_HD void make_body(int body) const {
    const auto& t = env.t;
    const int last = t.body_dof[body], tree = this->tree_of_dof(last), first = t.tree_dof[tree];
    const int n = dofs(tree), width = t.n.ntreepad;
    const auto LD = env.LD();
    // dof by dof, its six numbers side by side; bodies of a tree take turns
    const auto T = this->whitening().from(static_cast<Index>(kEight * width) * tree);
    for (int k = 0; k < n; k++) Numbers(Scalar(0)).store(T, kEight * k);
    Numbers rate(Scalar(0));
    for (int e = t.M_rowadr[last]; e < t.M_rowadr[last + 1]; e++) {
      const int d = t.M_col[e], k = d - first;
      for (int c = 0; c < 6; c++) T[kEight * k + c] = at(env.cdof(), 6 * d + c);
      rate.add(at(env.qacc_smooth(), d), Numbers(T, kEight * k));
    }
    const auto speed = this->body_rate().from(16 * body);
    for (int c = 0; c < kEight; c++) speed[c] = c < 6 ? at(env.cvel(), 6 * body + c) : Scalar(0);
    rate.store(speed, kEight);
    // along the chain of the last dof, which all of them stand on
    for (int e = t.M_rowadr[last]; e < t.M_rowadr[last + 1]; e++) {
      const int d = t.M_col[e], k = d - first;
      const Numbers x(T, kEight * k);
      for (int a = t.M_rowadr[d] + 1; a < t.M_rowadr[d + 1]; a++) {
        const int above = kEight * (t.M_col[a] - first);
        Numbers y(T, above);
        y.add(-at(LD, a), x);
        y.store(T, above);
      }
      Numbers scaled(Scalar(0));
      scaled.add(at(env.Dscale(), d), x);
      scaled.store(T, kEight * k);
    }
    const auto out = this->body_motion().from(static_cast<Index>(6 * width) * body);
    for (int c = 0; c < 6; c++) {
      for (int k = n; k < padded(tree); k++) out[c * width + k] = Scalar(0);
      for (int k = 0; k < n; k++) out[c * width + k] = T[kEight * k + c];
      Numbers square(Scalar(0));
      for (int k = 0; k < padded(tree); k += kEight)
        square.add_product(Numbers(out, c * width + k), Numbers(out, c * width + k));
      this->body_scale()[6 * body + c] = square.fold();
    }
  }

  // what a contact's rows are made of, and what comes out beside them
  struct RowSums {
    Scalar dim, Bn, Bt;
    Scalar rate[kDim];  // J (B qvel + qacc_smooth)
    Scalar most[kDim];  // squares of what the rows could be, were nothing to cancel
  };
  // Rows of a contact on one of its bodies, added where the other body stands on the same tree
  DS_HD void add_body(int i, int body, Scalar sign, bool again, const Vec3<Scalar>& p,
                      const Vec3<Scalar>* axis, RowSums* sums) const {
    const auto& t = env.t;
    const Scalar dim = sums->dim, Bn = sums->Bn, Bt = sums->Bt;
    Scalar* const sum = sums->rate;
    const int tree = this->tree_of_dof(t.body_dof[body]), side = tree == tree_of_contact(i, 0) ? 0 : 1;
    const int width = t.n.ntreepad;
    const Vec3<Scalar> arm = p - vec(env.tree_com(), tree);
    // the wrench of each row about the tree's centre of mass
    Scalar f[kDim][6];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      const Vec3<Scalar> force = axis[r % 3] * (dim > Scalar(r) ? sign : Scalar(0)),
                         moment = cross(arm, force);
      const Vec3<Scalar> none{Scalar(0), Scalar(0), Scalar(0)};
      const Vec3<Scalar> ang = r < 3 ? moment : force, lin = r < 3 ? force : none;
      f[r][0] = ang.x, f[r][1] = ang.y, f[r][2] = ang.z;
      f[r][3] = lin.x, f[r][4] = lin.y, f[r][5] = lin.z;
    }
    const auto motion = this->body_motion().from(static_cast<Index>(6 * width) * body);
    for (int c = 0; c < padded(tree); c += kEight) {
      Numbers z[kDim];
      DS_UNROLL
      for (int r = 0; r < kDim; r++) z[r] = again ? Numbers(contact_row(i, side, r), c) : Numbers(Scalar(0));
      DS_UNROLL
      for (int k = 0; k < 6; k++) {
        const Numbers x(motion, k * width + c);
        DS_UNROLL
        for (int r = 0; r < kDim; r++) z[r].add(f[r][k], x);
      }
      DS_UNROLL
      for (int r = 0; r < kDim; r++) z[r].store(contact_row(i, side, r), c);
    }
    const auto rate = this->body_rate().from(16 * body);
    DS_UNROLL
    for (int k = 0; k < 6; k++) {
      const Scalar speed = rate[k], acceleration = rate[kEight + k];
      const Scalar normal = fma(Bn, speed, acceleration), tangent = fma(Bt, speed, acceleration);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) sum[r] = fma(f[r][k], r == 0 ? normal : tangent, sum[r]);
    }
    // an arm is as wrong as the places that it is between
    const Scalar reach = dot(arm, arm) + dot(p, p);
    DS_UNROLL
    for (int r = 0; r < kDim; r++)
      for (int k = 0; k < 6; k++) {
        const Scalar square = r < 3 && k < 3 ? reach : f[r][k] * f[r][k];
        sums->most[r] = fma(square, this->body_scale()[6 * body + k], sums->most[r]);
      }
  }

  // Rows that are rounding are zeros, and what is left has a weight that the factors can hold (rows/conditioning.h).
  // Returns that weight
  DS_HD Scalar condition(int i, Scalar D, const RowSums& sums) const {
    const Scalar rounding = RowScale<Scalar>::unit();
    Scalar largest(0);
    DS_UNROLL
    for (int r = 0; r < kDim; r++) {
      const Scalar A = contact_A(i, r, r);
      if (A > rounding * rounding * sums.most[r]) {
        largest = largest > A ? largest : A;
        continue;
      }
      each_side(i, [&](int side, int tree) {
        for (int c = 0; c < padded(tree); c += kEight) Numbers(Scalar(0)).store(contact_row(i, side, r), c);
      });
    }
    if (!(largest > Scalar(0))) return Scalar(0);
    return capped(D, largest);
  }
  DS_HD static Scalar capped(Scalar D, Scalar A) {
    const Scalar most =
        (D < weight_of_nothing<Scalar>() ? stiffest<Scalar>() : stiffest_without_weight<Scalar>()) / A;
    return D < most ? D : most;
  }

  DS_HD void make_contact(int i) const {
    const auto& t = env.t;
    const int slot = this->con_slot()[i], slots = this->slots(), pair = pair_of(env, slot, element);
    const auto frame = env.con_frame();
    const Vec3<Scalar> n = vec(frame, 2 * slot), p = vec(env.con_pos(), slot);
    Vec3<Scalar> axis[3] = {n, {0, 0, 0}, {0, 0, 0}};
    contact_frame(n, vec(frame, 2 * slot + 1), &axis[1], &axis[2]);
    put(frame, 6 * slot + 3, axis[1].x);
    put(frame, 6 * slot + 4, axis[1].y);
    put(frame, 6 * slot + 5, axis[1].z);
    RowSums sums{at(env.con_dim(), slot), at(env.con_Bn(), slot), at(env.con_Bt(), slot), {}, {}};
    const int a = t.geom_body[t.pair_geom[2 * pair]], b = t.geom_body[t.pair_geom[2 * pair + 1]];
    const bool moves_a = t.body_dof[a] >= 0, moves_b = t.body_dof[b] >= 0;
    if (moves_a) add_body(i, a, Scalar(-1), false, p, axis, &sums);
    if (moves_b) add_body(i, b, Scalar(1), moves_a && tree_of_contact(i, 1) < 0, p, axis, &sums);
    DS_UNROLL
    for (int r = 0; r < kDim; r++)
      this->con_y0()[r * slots + i] = r == 0 ? sums.rate[r] + at(env.con_kterm(), slot) : sums.rate[r];
    this->con_D()[i] = condition(i, at(env.con_D(), slot), sums);
    this->con_dim()[i] = sums.dim;
    for (int k = 0; k < 5; k++) this->con_mu()[k * slots + i] = at(env.con_mu(), 5 * slot + k);
  }
  // what stands behind the last contact, for packs: no contact
  DS_HD void make_room(int i) const {
    const int slots = this->slots();
    this->con_D()[i] = this->con_dim()[i] = Scalar(0);
    for (int k = 0; k < 5; k++) this->con_mu()[k * slots + i] = Scalar(0);
    for (int r = 0; r < kDim; r++)
      this->con_y0()[r * slots + i] = this->con_y()[r * slots + i] = this->con_dy()[r * slots + i] =
          Scalar(0);
  }

  // what a scalar row is made of: D, y0, its law
  DS_HD void make_row(int i) const {
    const auto& n = env.t.n;
    const int source = this->row_source()[i], losses = 2 * n.nlim, dense = losses + n.nloss;
    Scalar D, y0, bound(0);
    int law = kOneSided;
    if (source < losses) {
      const Limits<E> kind{env};
      D = at(env.lim_D(), source);
      y0 = at(env.lim_y0(), source);
      put_single(i, env.t.jnt_dofadr[env.t.lim_jnt[source / 2]], lane_of(kind.sign(source), element));
    } else if (source < dense) {
      const auto huber = FrictionLosses<E>{env}.law(source - losses);
      law = kHuber;
      bound = lane_of(huber.f, element);
      D = Scalar(1) / lane_of(huber.R, element);
      y0 = at(env.loss_y0(), source - losses);
      put_single(i, env.t.loss_dof[source - losses], Scalar(1));
    } else {
      const int g = source - dense;
      D = at(env.dense_D(), g);
      y0 = at(env.dense_y0(), g);
      law = DenseRows<E>{env}.with_law(g, [&](const auto& kind) {
        const auto plain = plain_law(kind);
        bound = Scalar(lane_of(plain.bound, element));
        return plain.law;
      });
      put_dense(i, g);
    }
    const Scalar A = row_A(i);
    this->row_D()[i] = law == kHuber || !(A > Scalar(0)) ? D : capped(D, A);
    this->row_y0()[i] = y0;
    this->row_bound()[i] = bound;
    this->row_law()[i] = Scalar(law);
  }
  DS_HD Reals clear_entry(int e) const {
    const auto z = this->row_z().from(this->entry_z()[e]);
    for (int c = 0; c < padded(this->entry_tree()[e]); c += kEight) Numbers(Scalar(0)).store(z, c);
    return z;
  }
  DS_HD void put_single(int i, int dof, Scalar sign) const {
    const auto& t = env.t;
    const int e = this->row_entry()[i], first = t.tree_dof[this->entry_tree()[e]], row = t.M_rowadr[dof];
    const auto z = clear_entry(e);
    for (int k = row; k < t.M_rowadr[dof + 1]; k++) z[t.M_col[k] - first] = sign * at(env.Linv(), k);
  }
  DS_HD void put_dense(int i, int g) const {
    for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++) {
      const int tree = this->entry_tree()[e], first = env.t.tree_dof[tree];
      const auto z = clear_entry(e);
      for (int k = 0; k < dofs(tree); k++) z[k] = at(env.Z(), static_cast<Index>(g) * env.t.n.nv + first + k);
    }
  }
  DS_HD void make_row_room(int i) const {
    this->row_D()[i] = this->row_y0()[i] = this->row_bound()[i] = this->row_law()[i] = Scalar(0);
    this->row_y()[i] = this->row_dy()[i] = Scalar(0);
  }

  DS_HD void run() const {
    const int contacts = this->contacts(), rows = this->rows();
    // bodies of one tree share the room in which they are whitened: a lane has whole trees
    env.each(env.t.n.ntree, [&](int tree) {
      for (int k = env.t.tree_adr[tree]; k < env.t.tree_adr[tree + 1]; k++)
        if (this->body_touched()[env.t.tree_body[k]] != 0) make_body(env.t.tree_body[k]);
    });
    env.sync();
    env.each(Base::kPack > 1 ? this->slots() : contacts, [&](int i) {
      if (i < contacts)
        make_contact(i);
      else if (i < with_island_room(contacts))
        make_room(i);
    });
    env.each(Base::kPack > 1 ? this->scalars() : rows, [&](int i) {
      if (i < rows)
        make_row(i);
      else if (i < with_island_room(rows))
        make_row_room(i);
    });
  }

  // calls put_product(r, the product of row r of a contact with x)
  template <class F>
  DS_HD void contact_products(int i, const Reals& x, F put_product) const {
    Numbers s[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) s[r] = Numbers(Scalar(0));
    each_side(i, [&](int side, int tree) {
      const int begin = this->begin(tree);
      for (int c = 0; c < padded(tree); c += kEight) {
        const Numbers v(x, begin + c);
        DS_UNROLL
        for (int r = 0; r < kDim; r++) s[r].add_product(Numbers(contact_row(i, side, r), c), v);
      }
    });
    DS_UNROLL
    for (int r = 0; r < kDim; r++) put_product(r, s[r].fold());
  }
  DS_HD Scalar row_product(int i, const Reals& x) const {
    Numbers s(Scalar(0));
    each_entry(i, [&](int tree, const Reals& z) {
      for (int c = 0; c < padded(tree); c += kEight)
        s.add_product(Numbers(z, c), Numbers(x, this->begin(tree) + c));
    });
    return s.fold();
  }
  // of the rows of islands in a set: out <- base + Z'x, or Z'x
  DS_HD void put_products(const typename Base::Ints& set, const Reals& x, bool lift, const Reals& con_out,
                          const Reals& row_out) const {
    const int slots = this->slots();
    env.each(this->contacts(), [&](int i) {
      if (set[this->con_island()[i]] <= 0) return;
      contact_products(i, x, [&](int r, Scalar s) {
        con_out[r * slots + i] = lift ? this->con_y0()[r * slots + i] + s : s;
      });
    });
    env.each(this->rows(), [&](int i) {
      if (set[this->row_island()[i]] <= 0) return;
      const Scalar s = row_product(i, x);
      row_out[i] = lift ? this->row_y0()[i] + s : s;
    });
  }
  // x <- x - Z f of the rows of an island
  DS_HD void subtract_forces(int island, const Reals& x) const {
    const int slots = this->slots();
    for (int i = this->row_adr()[island]; i < this->row_adr()[island + 1]; i++) {
      const Scalar f = this->row_f()[i];
      if (f == Scalar(0)) continue;
      each_entry(i, [&](int tree, const Reals& z) {
        const int begin = this->begin(tree);
        for (int c = 0; c < padded(tree); c += kEight) {
          Numbers s(x, begin + c);
          s.add(-f, Numbers(z, c));
          s.store(x, begin + c);
        }
      });
    }
    for (int i = this->con_adr()[island]; i < this->con_adr()[island + 1]; i++) {
      Scalar f[kDim];
      bool some = false;
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        f[r] = -this->con_f()[r * slots + i];
        some |= f[r] != Scalar(0);
      }
      if (!some) continue;
      each_side(i, [&](int side, int tree) {
        const int begin = this->begin(tree);
        for (int c = 0; c < padded(tree); c += kEight) {
          Numbers s(x, begin + c);
          DS_UNROLL
          for (int r = 0; r < kDim; r++) s.add(f[r], Numbers(contact_row(i, side, r), c));
          s.store(x, begin + c);
        }
      });
    }
  }
};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// The rows of one environment by islands: what kinds/ has made, and the contacts' rows, on the trees that they reach.
//
//   J_r = the axis' motion of the second body less the first's,   aref as in rows/kinds/contact_rows.h,
//   Z = D^-1/2 L^-T J', a block for each tree: kDim rows of the tree's dofs, padded to eights
//
// Source and deviations: rows/rows.h, rows/kinds/contact_rows.h. A scalar row's sign stands in its block.
// Reads con_*, cdof, tree_com, qvel, qacc_smooth, LD, Dscale, Linv, Z, *_y0, *_D. Writes con_frame (t1) and of the
// arena con_z, con_y0, con_D, con_dim, con_mu, row_*. Cost: O(contacts x a tree's depth^2).
#pragma once

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
  DS_HD int tree_of_contact(int i, int side) const { return this->con_tree()[2 * this->con_slot()[i] + side]; }
  // calls f(side, tree) for the trees of a contact
  template <class F>
  DS_HD void each_side(int i, F f) const {
    f(0, tree_of_contact(i, 0));
    if (tree_of_contact(i, 1) >= 0) f(1, tree_of_contact(i, 1));
  }

  // calls f(dof, sign) for the dofs that move one of two bodies against the other, from the leaves to the roots:
  // ancestors of both do not
  template <class F>
  DS_HD void each_dof_between(int a, int b, F f) const {
    const auto& t = env.t;
    const auto parent = [&](int d) {
      const int row = t.M_rowadr[d];
      return t.M_rowadr[d + 1] - row > 1 ? t.M_col[row + 1] : -1;
    };
    while (a != b) {
      if (a > b) {
        f(a, Scalar(-1));
        a = parent(a);
      } else {
        f(b, Scalar(1));
        b = parent(b);
      }
    }
  }

  // z <- D^-1/2 L^-T z on the dofs of a tree, for the rows of a block
  DS_HD void whiten_block(int i, int side, int tree) const {
    const auto& t = env.t;
    const int first = t.tree_dof[tree], n = dofs(tree);
    const auto LD = env.LD(), Dscale = env.Dscale();
    Reals z[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) z[r] = contact_row(i, side, r);
    for (int k = n - 1; k >= 0; k--) {
      Scalar x[kDim];
      bool some = false;
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        x[r] = z[r][k];
        some |= x[r] != Scalar(0);
      }
      if (!some) continue;
      const int row = t.M_rowadr[first + k], length = t.M_rowadr[first + k + 1] - row;
      const Scalar scale = at(Dscale, first + k);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) z[r][k] = x[r] * scale;
      for (int a = 1; a < length; a++) {
        const int above = t.M_col[row + a] - first;
        const Scalar l = at(LD, row + a);
        DS_UNROLL
        for (int r = 0; r < kDim; r++) z[r][above] = fma(-l, x[r], z[r][above]);
      }
    }
  }

  // J of a contact, and J qacc_smooth - aref
  DS_HD void put_jacobian(int i, const Vec3<Scalar>* axis) const {
    const auto& t = env.t;
    const int slot = this->con_slot()[i], pair = pair_of(env, slot, element);
    const Vec3<Scalar> p = vec(env.con_pos(), slot);
    const Scalar dim = at(env.con_dim(), slot);
    const auto kb = env.con_kb(), qvel = env.qvel(), qacc = env.qacc_smooth(), cdof = env.cdof();
    const Scalar Bn = at(kb, 3 * slot + 1), Bt = at(kb, 3 * slot + 2);
    const int first = tree_of_contact(i, 0);
    Scalar sum[kDim];
    DS_UNROLL
    for (int r = 0; r < kDim; r++) sum[r] = Scalar(0);
    const auto last = [&](int geom) { return t.body_dof[t.geom_body[geom]]; };
    each_dof_between(last(t.pair_geom[2 * pair]), last(t.pair_geom[2 * pair + 1]), [&](int d, Scalar sign) {
      const int tree = this->tree_of_dof(d), side = tree == first ? 0 : 1, k = d - t.tree_dof[tree];
      const Vec3<Scalar> ang = vec(cdof, 2 * d), lin = vec(cdof, 2 * d + 1);
      const Vec3<Scalar> v = lin + cross(ang, p - vec(env.tree_com(), tree));
      const Scalar speed = at(qvel, d), rate = at(qacc, d);
      DS_UNROLL
      for (int r = 0; r < kDim; r++) {
        const Scalar j = dim > Scalar(r) ? fma(sign, dot(axis[r % 3], r < 3 ? v : ang), Scalar(0)) : Scalar(0);
        contact_row(i, side, r)[k] = j;
        sum[r] = fma(j, fma(r == 0 ? Bn : Bt, speed, rate), sum[r]);
      }
    });
    const int slots = this->slots();
    DS_UNROLL
    for (int r = 0; r < kDim; r++)
      this->con_y0()[r * slots + i] = r == 0 ? sum[r] + at(kb, 3 * slot) : sum[r];
  }

  DS_HD void make_contact(int i) const {
    const int slot = this->con_slot()[i], slots = this->slots();
    const auto frame = env.con_frame();
    const Vec3<Scalar> n = vec(frame, 2 * slot);
    Vec3<Scalar> axis[3] = {n, {0, 0, 0}, {0, 0, 0}};
    contact_frame(n, vec(frame, 2 * slot + 1), &axis[1], &axis[2]);
    put(frame, 6 * slot + 3, axis[1].x);
    put(frame, 6 * slot + 4, axis[1].y);
    put(frame, 6 * slot + 5, axis[1].z);
    each_side(i, [&](int side, int tree) {
      DS_UNROLL
      for (int r = 0; r < kDim; r++)
        for (int c = 0; c < padded(tree); c += kEight) Numbers(Scalar(0)).store(contact_row(i, side, r), c);
    });
    put_jacobian(i, axis);
    each_side(i, [&](int side, int tree) { whiten_block(i, side, tree); });
    this->con_D()[i] = at(env.con_D(), slot);
    this->con_dim()[i] = at(env.con_dim(), slot);
    for (int k = 0; k < 5; k++) this->con_mu()[k * slots + i] = at(env.con_mu(), 5 * slot + k);
  }
  // what stands behind the last contact, for packs: no contact
  DS_HD void make_room(int i) const {
    const int slots = this->slots();
    this->con_D()[i] = this->con_dim()[i] = Scalar(0);
    for (int k = 0; k < 5; k++) this->con_mu()[k * slots + i] = Scalar(0);
    for (int r = 0; r < kDim; r++)
      this->con_y0()[r * slots + i] = this->con_y()[r * slots + i] = this->con_dy()[r * slots + i] = Scalar(0);
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
      law = DenseRows<E>{env}.with_law(g, [&](const auto& kind) { return plain_law(kind).law; });
      put_dense(i, g);
    }
    this->row_D()[i] = D;
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

  // out_r <- (add to it, where kAdd) the product of a contact's rows with x
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
    for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++) {
      const int tree = this->entry_tree()[e], begin = this->begin(tree);
      const auto z = this->row_z().from(this->entry_z()[e]);
      for (int c = 0; c < padded(tree); c += kEight) s.add_product(Numbers(z, c), Numbers(x, begin + c));
    }
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
      for (int e = this->row_entry()[i]; e < this->row_entry()[i + 1]; e++) {
        const int tree = this->entry_tree()[e], begin = this->begin(tree);
        const auto z = this->row_z().from(this->entry_z()[e]);
        for (int c = 0; c < padded(tree); c += kEight) {
          Numbers s(x, begin + c);
          s.add(-f, Numbers(z, c));
          s.store(x, begin + c);
        }
      }
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

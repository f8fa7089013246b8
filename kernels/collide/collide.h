// Contacts: bounding spheres, then the pair functions, then one slot a contact.
//
// solves    which of the candidate pairs touch, and where
// equation  a pair is close where |x_b - x_a| < r_a + r_b + margin, r the radii of bounding spheres; of a
//           plane with normal n where n.(x_b - x_a) < r_b + margin. Then the function of its kind (table.h)
// source    the files of the pairs; MuJoCo's for what a contact is
// deviation candidate pairs are fixed per model and sorted by kind, so that lanes run the same pair function.
//           Slots are filled in the order of the pairs (count, then write: no atomics). An environment that
//           runs out of slots keeps its deepest contacts, still in the order of pairs, and its overflow bit
//           is set; the others notice nothing. What depends on the pair (mixed friction, impedance,
//           stiffness) is evaluated here, where the pair is the same for a whole pack, and stored with the
//           contact
// reads     xpos, xquat
// writes    geom_xpos, geom_xmat, con_*, ncon, ncon_needed, ncon_max, overflow_bits
// cost      O(npair), and the pair functions of those that are close
#pragma once

#include "kernels/base/records.h"
#include "kernels/collide/kinds.h"
#include "kernels/collide/table.h"
#include "kernels/contact/with_law.h"
#include "kernels/rows/rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int... k>
struct IntList {};

// meshes have a hull, height fields a grid, others are their size
template <int kType, class Real>
struct ShapeOf {
  using Type = Shape<Real>;
};
template <class Real>
struct ShapeOf<kMesh, Real> {
  using Type = HullShape<Real>;
};
template <class Real>
struct ShapeOf<kHfield, Real> {
  using Type = FieldShape<Real>;
};

// the pair functions by kind
template <int kKind>
struct PairKindTraits;
#define DS_TRAITS(first, second, function, capacity)                                                       \
  template <>                                                                                              \
  struct PairKindTraits<pair_kind(first, second)> {                                                        \
    static constexpr int kCapacity = capacity;                                                             \
    static constexpr bool kFirstIsPlane = first == kPlane;                                                 \
    static constexpr int kFirst = first, kSecond = second;                                                 \
    template <class A, class B, class Real>                                                                \
    DS_HD static void collide(const A& a, const B& b, const Real& margin, Manifold<Real, capacity>* out) { \
      function(a, b, margin, out);                                                                         \
    }                                                                                                      \
  };
DS_PAIRS(DS_TRAITS)
#undef DS_TRAITS
#define DS_KIND(first, second, function, capacity) , pair_kind(first, second)
template <int kNone, int... k>
IntList<k...> without_first(IntList<kNone, k...>);
using PairKinds = decltype(without_first(IntList<-1 DS_PAIRS(DS_KIND)>{}));
#undef DS_KIND

template <class E>
DS_STAGE void geom_poses(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto xpos = env.xpos(), xquat = env.xquat(), gpos = env.geom_xpos(), gmat = env.geom_xmat();
  env.each(t.n.ngeom, [&](int g) {
    const int b = t.geom_body[g];
    const Quat<Real> q = xquat.quat(b);
    gpos.set(g, xpos.vec(b) + rotate(q, env.vec(t.geom_pos, g)));
    gmat.set(g, to_matrix(mul(q, env.quat(t.geom_quat, g))));
  });
  env.sync();
}

template <int kType, class E>
DS_HD typename ShapeOf<kType, typename E::Real>::Type geom_shape(const E& env, int g) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const Shape<Real> shape{env.geom_xpos().vec(g), env.geom_xmat().mat(g), env.vec(t.geom_size, g)};
  if constexpr (kType == kMesh) {
    const int h = t.geom_hull[g], point = t.hull_adr[h], face = t.hull_faceadr[h];
    return {shape,
            {t.hull_point.p + 3 * point, t.hull_normal.p + 3 * face, t.hull_corneradr + face, t.hull_corner,
             t.hull_adr[h + 1] - point, t.hull_faceadr[h + 1] - face},
            env.geom_rbound(g)};
  } else if constexpr (kType == kHfield) {
    return {shape, height_grid<typename E::Scalar>(t, t.geom_hull[g])};
  } else {
    return shape;
  }
}

// all numbers of one contact, for the environments of a pack
template <class Real>
struct ContactRecord {
  Real dist, D, kterm, Bn, Bt, dim, id;
  Vec3<Real> pos, normal, tangent;
  Real mu[5];
};

template <class E>
struct ContactWriter {
  using Real = typename E::Real;
  E& env;

  // a slot that no environment of the pack has used in this step yet: zeros, so that idle elements add
  // nothing
  DS_STAGE void open(int slot) const {
    const Real zero(0);
    each_of_slot(env, slot, [&](const auto& run, int width) {
      for (int k = 0; k < width; k++) run[k] = zero;
    });
  }

  // for the environments of a mask; a single environment writes for itself alone
  DS_STAGE void write(int slot, [[maybe_unused]] const typename E::Mask& here,
                      const ContactRecord<Real>& c) const {
    const auto put = [&](Real& x, const Real& v) {
      if constexpr (E::kPack == 1)
        x = v;
      else
        x = select(here, v, x);
    };
    put(env.con_dist()[slot], c.dist);
    put(env.con_D()[slot], c.D);
    put(env.con_dim()[slot], c.dim);
    put(env.con_pair()[slot], c.id);
    const auto pos = env.con_pos(), frame = env.con_frame(), mu = env.con_mu();
    put(pos[3 * slot], c.pos.x), put(pos[3 * slot + 1], c.pos.y), put(pos[3 * slot + 2], c.pos.z);
    put(frame[6 * slot], c.normal.x), put(frame[6 * slot + 1], c.normal.y),
        put(frame[6 * slot + 2], c.normal.z);
    put(frame[6 * slot + 3], c.tangent.x), put(frame[6 * slot + 4], c.tangent.y);
    put(frame[6 * slot + 5], c.tangent.z);
    put(env.con_kterm()[slot], c.kterm), put(env.con_Bn()[slot], c.Bn), put(env.con_Bt()[slot], c.Bt);
    for (int k = 0; k < 5; k++) put(mu[5 * slot + k], c.mu[k]);
  }

  // moves the contact of slot + 1 to slot, for one environment
  DS_FN void shift(int slot, int lane) const {
    each_of_slot(env, slot, [&](const auto& run, int width) {
      for (int k = 0; k < width; k++) set_lane(run[k], lane, lane_of(run[width + k], lane));
    });
  }

  // the contact of element `from` of a record, for one environment
  DS_FN void write_one(int slot, int lane, const ContactRecord<Real>& c, int from) const {
    const auto put = [&](const auto& run, int width, const Real* x) {
      for (int k = 0; k < width; k++) set_lane(run[width * slot + k], lane, lane_of(x[k], from));
    };
    const Vec3<Real>&p = c.pos, &n = c.normal, &t = c.tangent;
    const Real pos[3] = {p.x, p.y, p.z}, frame[6] = {n.x, n.y, n.z, t.x, t.y, t.z};
    put(env.con_dist(), 1, &c.dist), put(env.con_D(), 1, &c.D), put(env.con_dim(), 1, &c.dim);
    put(env.con_pair(), 1, &c.id), put(env.con_pos(), 3, pos), put(env.con_frame(), 6, frame);
    put(env.con_kterm(), 1, &c.kterm), put(env.con_Bn(), 1, &c.Bn), put(env.con_Bt(), 1, &c.Bt);
    put(env.con_mu(), 5, c.mu);
  }

  // with every slot taken: the shallowest contact goes (the later of equals), be it the new one, of element `from` of a
  // record
  DS_STAGE void replace_shallowest(int lane, const ContactRecord<Real>& c, int from) const {
    const int capacity = env.t.n.ncon;
    const auto dist = env.con_dist();
    int worst = 0;
    for (int slot = 1; slot < capacity; slot++)
      if (lane_of(dist[slot], lane) >= lane_of(dist[worst], lane)) worst = slot;
    if (!(lane_of(c.dist, from) < lane_of(dist[worst], lane))) return;
    for (int slot = worst; slot + 1 < capacity; slot++) shift(slot, lane);
    write_one(capacity - 1, lane, c, from);
  }
};

template <class E>
DS_STAGE void fill_record(const E& env, int pair, ContactRecord<typename E::Real>* c) {
  using Real = typename E::Real;
  const int dim = env.t.pair_dim[pair];
  c->dim = Real(dim);
  for (int k = 0; k < 5; k++) c->mu[k] = k < dim - 1 ? env.pair_friction(pair, k) : Real(0);
  record_by_law(env, pair, c);
}

// the contacts of one pair, each in the next slot of its environment
template <int K, class E>
DS_STAGE void place_contacts(E& env, int pair, const Manifold<typename E::Real, K>& m,
                             typename E::Int place) {
  using Real = typename E::Real;
  const ContactWriter<E> writer{env};
  DS_ROLLED
  for (int k = 0; k < K; k++) {
    if (!any(m.hit[k])) continue;
    ContactRecord<Real> c;
    c.dist = m.dist[k];
    c.pos = m.pos[k];
    c.normal = m.normal[k];
    c.tangent = m.tangent;
    c.id = Real(8 * pair + k);
    fill_record(env, pair, &c);
    // environments of one slot at a time
    for (unsigned waiting = mask_word(m.hit[k]); waiting != 0;) {
      const int lane = E::kPack == 1 ? 0 : bit_count_trailing(waiting), slot = lane_of(place, lane);
      if (slot < env.t.n.ncon) {
        if (E::Lanes::kWidth > 1 || slot >= env.ncon_max) {
          writer.open(slot);
          if (E::Lanes::kWidth == 1) env.ncon_max = slot + 1;
        }
        const unsigned here = waiting & word_where_equal(place, slot);
        writer.write(slot, mask_of_word<Real>(here), c);
        waiting &= ~here;
      } else {
        writer.replace_shallowest(lane, c, lane);
        waiting &= waiting - 1;
      }
    }
    place = place + select(m.hit[k], typename E::Int(1), typename E::Int(0));
  }
}

// the environments in which the bounding spheres of a pair touch
template <int kKind, class E>
DS_HD typename E::Mask are_near(const E& env, int pair, const typename E::Real& margin) {
  using Real = typename E::Real;
  const int a = env.t.pair_geom[2 * pair], b = env.t.pair_geom[2 * pair + 1];
  const Real reach = env.geom_rbound(b) + margin;
  const auto gpos = env.geom_xpos(), gmat = env.geom_xmat();
  const Vec3<Real> d = gpos.vec(b) - gpos.vec(a);
  if constexpr (PairKindTraits<kKind>::kFirstIsPlane) {
    return dot(Vec3<Real>{gmat[9 * a + 2], gmat[9 * a + 5], gmat[9 * a + 8]}, d) < reach;
  } else if constexpr (PairKindTraits<kKind>::kFirst == kHfield) {
    // the box from its base to its highest point; a thousandth of the sphere is more than what rounding could hide
    const auto* size = env.t.hfield_size.p + 4 * env.t.geom_hull[a];
    const Vec3<Real> p = rotate_transposed(gmat.mat(a), d);
    const Real far = reach * Real(1.001);
    const auto high = mask_and(p.z - far < Real(size[2]), -p.z - far < Real(size[3]));
    return mask_and(high, mask_and(abs(p.x) - far < Real(size[0]), abs(p.y) - far < Real(size[1])));
  } else {
    const Real sum = reach + env.geom_rbound(a);
    return dot(d, d) < sum * sum;
  }
}

template <int kKind>
constexpr bool kIteratedKind = is_iterated_kind(kKind);

// of the contacts of a pair the deepest, of equals the first
template <int K, class Real>
DS_STAGE void keep_deepest(Manifold<Real, K>* m) {
  for (int k = 1; k < K; k++) {
    const auto deeper = mask_and(m->hit[k], mask_or(mask_not(m->hit[0]), m->dist[k] < m->dist[0]));
    m->dist[0] = select(deeper, m->dist[k], m->dist[0]);
    m->pos[0] = select3(deeper, m->pos[k], m->pos[0]);
    m->normal[0] = select3(deeper, m->normal[k], m->normal[0]);
    m->hit[0] = mask_or(m->hit[0], m->hit[k]);
    m->hit[k] = all_false<Real>();
  }
}
// without the flag multiccd, where that is so for the kind
template <int kKind, int K, class E>
DS_FN void keep_one(const E& env, Manifold<typename E::Real, K>* m) {
  if constexpr (K > 1 && kIteratedKind<kKind>)
    if (disabled(env.t.o, kDisableMultiCcd)) keep_deepest(m);
}

// contacts of one kind of pair. Lanes take consecutive pairs; places follow from a scan of their counts.
template <int kKind, class E>
DS_STAGE void collide_kind(E& env) {
  using Real = typename E::Real;
  using Mask = typename E::Mask;
  using Kind = PairKindTraits<kKind>;
  constexpr int K = Kind::kCapacity;
  const auto& t = env.t;
  const int begin = t.pair_adr[kKind], end = t.pair_adr[kKind + 1], width = env.lanes.width();
  for (int base = begin; base < end; base += width) {
    const int pair = base + env.lanes.rank();
    Manifold<Real, K> m;
    // a lane that has no pair, or a far one, goes along with those that have
    if constexpr (E::Lanes::kWidth > 1) m = {};
    bool some = false;
    typename E::Int count(0);
    if (pair < end) {
      const int a = t.pair_geom[2 * pair], b = t.pair_geom[2 * pair + 1];
      const Real margin = env.pair_margin(pair);
      const Mask near = are_near<kKind>(env, pair, margin);
      if (any(near)) {
        const auto sa = geom_shape<Kind::kFirst>(env, a);
        const auto sb = geom_shape<Kind::kSecond>(env, b);
        Kind::collide(sa, sb, margin, &m);
        keep_one<kKind>(env, &m);
        for (int k = 0; k < K; k++) {
          m.hit[k] = mask_and(near, m.hit[k]);
          if (!any(m.hit[k])) continue;
          some = true;
          count = count + select(m.hit[k], typename E::Int(1), typename E::Int(0));
        }
      }
    }
    if (!env.lanes.any_lane(some)) continue;
    typename E::Int total(0);
    const typename E::Int before = env.lanes.exclusive_scan(count, &total);
    const typename E::Int wanted = env.ncon + total;
    const unsigned overflown = word_where_above(wanted, t.n.ncon);
    const bool full = overflown != 0;
    // turn by turn where an environment overflows, since a contact may then displace another lane's, or one
    // of an earlier round
    if (full) env.sync();
    for (int turn = 0; turn < (full ? width : 1); turn++) {
      if (some && (!full || turn == env.lanes.rank())) {
        place_contacts(env, pair, m, env.ncon + before);
      }
      if (full) env.sync();
    }
    env.overflow_bits = env.overflow_bits | overflown;
    env.ncon = at_most(wanted, t.n.ncon);
    env.ncon_needed = env.ncon_needed + total;
    if (E::Lanes::kWidth > 1) env.ncon_max = lane_of(env.ncon, 0);
  }
}

// --- scenes of many bodies, on a CPU --------------------------------------------------------------------------------
//
// Where a scene has many bodies, each environment of a pack is near at other pairs. So pairs that are near, each of one
// environment, go side by side through the function of their kind. They keep their order, and so do the contacts.

// record of a collidable geom for each environment: position, orientation, size
template <class E>
DS_HD auto geom_record(const E& env, int geom, int element) {
  return record_of<E>(env.geom_record(), geom, kRecordRun, element);
}
template <class E>
DS_FN void put_geom_records(E& env) {
  using Real = typename E::Real;
  const auto gpos = env.geom_xpos(), gmat = env.geom_xmat();
  for (int g = 0; g < env.t.n.ngeom; g++) {
    Real x[kRecordRun];
    for (int k = 0; k < 3; k++) x[k] = gpos[3 * g + k], x[12 + k] = env.param(env.t.geom_size, 3 * g + k);
    for (int k = 0; k < 9; k++) x[3 + k] = gmat[9 * g + k];
    x[15] = Real(0);
    store_records([&](int l) { return geom_record(env, g, l); }, 0, x);
  }
}

// whether a kind reads no more of either geom than such a record has
constexpr bool is_of_shape(int type) { return type != kMesh && type != kHfield; }
template <int kKind>
constexpr bool kOfShapes = is_of_shape(PairKindTraits<kKind>::kFirst) &&
                           is_of_shape(PairKindTraits<kKind>::kSecond);

// as many near pairs as a pack has elements: which, and in which environment
template <class E>
struct NearPairs {
  using Real = typename E::Real;
  static constexpr int kPack = E::kPack;
  int pair[kPack], element[kPack];
  int count = 0;

  DS_HD Shape<Real> shape(const E& env, int of) const {
    Real x[kRecordRun];
    load_records([&](int l) { return geom_record(env, env.t.pair_geom[2 * pair[l] + of], element[l]); }, 0,
                 x);
    return {{x[0], x[1], x[2]},
            {{x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11]}},
            {x[12], x[13], x[14]}};
  }
  // numbers of each pair: rows of `width` of a table
  struct Row {
    const typename E::Scalar* p;
    typename E::Int first;
    int step;
    DS_HD Real operator()(int k) const { return gather<Real>(p + k * step, first); }
  };
  DS_HD Row row(const E& env, const Param<typename E::Scalar>& a, int width) const {
    if (kKnownShared<StepTables<typename E::Scalar>> || a.env_stride == 0) {
      const auto first = [&](int l) { return width * pair[l]; };
      return {a.p, ints(first), 1};
    }
    const auto first = [&](int l) { return kPack * width * pair[l] + element[l]; };
    return {a.p + static_cast<long>(env.block) * a.env_stride, ints(first), kPack};
  }
  template <class F>
  DS_HD static typename E::Int ints(F f) {
    typename E::Int x(0);
    for (int l = 0; l < kPack; l++) set_lane(x, l, f(l));
    return x;
  }
};
// what record_by_law asks of the pairs, in the words of an environment
template <class E>
struct NearParameters {
  using Real = typename E::Real;
  const StepTables<typename E::Scalar>& t;
  Real margin, solimp[7], K, Bn, Bt, approx_A, R_scale;
  DS_HD NearParameters(const E& env, const NearPairs<E>& near) : t(env.t) {
    const auto diag = near.row(env, t.pair_diag, kWidth_pair_diag);
    const auto kbb = near.row(env, t.pair_kbb, kWidth_pair_kbb);
    const auto imp = near.row(env, t.pair_solimp, kWidth_pair_solimp);
    margin = near.row(env, t.pair_margin, 1)(0);
    for (int k = 0; k < 7; k++) solimp[k] = imp(k);
    K = kbb(kColumn_pair_K), Bn = kbb(kColumn_pair_Bn), Bt = kbb(kColumn_pair_Bt);
    approx_A = diag(kColumn_pair_approx_A), R_scale = diag(kColumn_pair_R_scale);
  }
  DS_HD const Real& pair_margin(int) const { return margin; }
  DS_HD const Real& pair_solimp(int, int k) const { return solimp[k]; }
  DS_HD const Real& pair_K(int) const { return K; }
  DS_HD const Real& pair_Bn(int) const { return Bn; }
  DS_HD const Real& pair_Bt(int) const { return Bt; }
  DS_HD const Real& pair_approx_A(int) const { return approx_A; }
  DS_HD const Real& pair_R_scale(int) const { return R_scale; }
};

// the contacts of near pairs, pair by pair in the next slots of its environment
template <int K, class E>
DS_FN void place_side_by_side(E& env, const NearPairs<E>& near, const Manifold<typename E::Real, K>& m) {
  using Real = typename E::Real;
  const ContactWriter<E> writer{env};
  const NearParameters<E> parameters(env, near);
  const auto& t = env.t;
  Real dim(0), mu[5], pair(0);
  for (int l = 0; l < E::kPack; l++) {
    set_lane(dim, l, static_cast<typename E::Scalar>(t.pair_dim[near.pair[l]]));
    set_lane(pair, l, static_cast<typename E::Scalar>(8 * near.pair[l]));
  }
  const auto friction = near.row(env, t.pair_friction, kWidth_pair_friction);
  for (int k = 0; k < 5; k++) mu[k] = select(dim > Real(k + 1), friction(k), Real(0));
  ContactRecord<Real> contacts[K];
  unsigned hits[K];
  for (int k = 0; k < K; k++) {
    hits[k] = mask_word(m.hit[k]);
    if (hits[k] == 0) continue;
    ContactRecord<Real>& c = contacts[k];
    c.dist = m.dist[k], c.pos = m.pos[k], c.normal = m.normal[k], c.tangent = m.tangent;
    c.id = pair + Real(k), c.dim = dim;
    for (int r = 0; r < 5; r++) c.mu[r] = mu[r];
    record_by_law(parameters, 0, &c);
  }
  for (int l = 0; l < near.count; l++) {
    const int element = near.element[l];
    int slot = lane_of(env.ncon, element), needed = lane_of(env.ncon_needed, element);
    for (int k = 0; k < K; k++) {
      if (!(hits[k] >> l & 1u)) continue;
      needed++;
      if (slot == t.n.ncon) {
        env.overflow_bits |= 1u << element;
        writer.replace_shallowest(element, contacts[k], l);
        continue;
      }
      if (slot >= env.ncon_max) {
        writer.open(slot);
        env.ncon_max = slot + 1;
      }
      writer.write_one(slot++, element, contacts[k], l);
    }
    set_lane(env.ncon, element, slot);
    set_lane(env.ncon_needed, element, needed);
  }
}

template <int kKind, class E>
DS_FN void collide_near(E& env, NearPairs<E>* near) {
  using Real = typename E::Real;
  using Kind = PairKindTraits<kKind>;
  if (near->count == 0) return;
  // elements that nobody needs do as the first does
  for (int l = near->count; l < E::kPack; l++)
    near->pair[l] = near->pair[0], near->element[l] = near->element[0];
  Manifold<Real, Kind::kCapacity> m;
  Kind::collide(near->shape(env, 0), near->shape(env, 1), near->row(env, env.t.pair_margin, 1)(0), &m);
  keep_one<kKind>(env, &m);
  unsigned hits = 0;
  const auto there = mask_of_word<Real>((near->count < 32 ? 1u << near->count : 0u) - 1u);
  for (int k = 0; k < Kind::kCapacity; k++) {
    m.hit[k] = mask_and(there, m.hit[k]);
    hits |= mask_word(m.hit[k]);
  }
  if (hits != 0) place_side_by_side(env, *near, m);
  near->count = 0;
}

// the environments in which the bounding sphere of a geom may reach a box
template <class E>
DS_HD typename E::Mask may_reach_box(const E& env, int box, int other, const typename E::Real& margin) {
  using Real = typename E::Real;
  const auto gpos = env.geom_xpos();
  const Vec3<Real> d = rotate_transposed(env.geom_xmat().mat(box), gpos.vec(other) - gpos.vec(box));
  const Vec3<Real> size = env.vec(env.t.geom_size, box);
  const auto beyond = [](const Real& x, const Real& half) { return max(abs(x) - half, Real(0)); };
  const Vec3<Real> gap{beyond(d.x, size.x), beyond(d.y, size.y), beyond(d.z, size.z)};
  // what rounding could hide is a thousandth of the sphere
  const Real reach = env.geom_rbound(other) * Real(1.001) + margin;
  return dot(gap, gap) < reach * reach;
}

// a ball about the geoms of each tree
template <class E>
DS_FN void put_tree_balls(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto gpos = env.geom_xpos();
  const auto ball = env.tree_ball();
  // geoms stand in the order of their bodies, and so of their trees
  for (int g = 0; g < t.n.ngeom;) {
    const int tree = t.body_tree[t.geom_body[g]], first = g;
    Vec3<Real> low = gpos.vec(g), high = low;
    for (; g < t.n.ngeom && t.body_tree[t.geom_body[g]] == tree; g++) {
      const Vec3<Real> p = gpos.vec(g);
      low = {min(low.x, p.x), min(low.y, p.y), min(low.z, p.z)};
      high = {max(high.x, p.x), max(high.y, p.y), max(high.z, p.z)};
    }
    if (tree < 0) continue;
    const Vec3<Real> centre = (low + high) * Real(0.5);
    Real radius(0);
    for (int k = first; k < g; k++) radius = max(radius, norm(gpos.vec(k) - centre) + env.geom_rbound(k));
    ball[4 * tree] = centre.x, ball[4 * tree + 1] = centre.y, ball[4 * tree + 2] = centre.z;
    ball[4 * tree + 3] = radius;
  }
}
// the environments in which some pair of a run may be near. What is between spheres is so for their kinds alone
template <class E>
DS_HD typename E::Mask may_reach_tree(const E& env, int run) {
  using Real = typename E::Real;
  const int geom = env.t.pair_geom[2 * env.t.run_pair[run]];
  const auto ball = env.tree_ball().from(4 * env.t.run_tree[run]);
  const Vec3<Real> d = env.geom_xpos().vec(geom) - Vec3<Real>{ball[0], ball[1], ball[2]};
  // what rounding could hide is a thousandth of the spheres
  const Real reach = (ball[3] + env.geom_rbound(geom)) * Real(1.001) + env.run_margin(run);
  return mask_not(dot(d, d) > reach * reach);
}

// calls f(first pair, one past the last) for those of a kind among which some may be near
template <int kKind, class E, class F>
DS_HD void each_near_run(E& env, F f) {
  using Kind = PairKindTraits<kKind>;
  const auto& t = env.t;
  if constexpr (!Kind::kFirstIsPlane && Kind::kFirst != kHfield)
    if (t.run_adr[kPairKinds] > 0) {
      for (int run = t.run_adr[kKind]; run < t.run_adr[kKind + 1]; run++)
        if (t.run_tree[run] < 0 || any(may_reach_tree(env, run))) f(t.run_pair[run], t.run_pair[run + 1]);
      return;
    }
  f(t.pair_adr[kKind], t.pair_adr[kKind + 1]);
}

template <int kKind, class E>
DS_HD void find_near(E& env, int begin, int end, NearPairs<E>* near) {
  using Kind = PairKindTraits<kKind>;
  for (int pair = begin; pair < end; pair++) {
    const auto margin = env.pair_margin(pair);
    auto touch = are_near<kKind>(env, pair, margin);
    if (!any(touch)) continue;
    const int a = env.t.pair_geom[2 * pair], b = env.t.pair_geom[2 * pair + 1];
    if constexpr (Kind::kSecond == kBox && Kind::kFirst != kPlane)
      touch = mask_and(touch, may_reach_box(env, b, a, margin));
    if constexpr (Kind::kFirst == kBox) touch = mask_and(touch, may_reach_box(env, a, b, margin));
    for (unsigned word = mask_word(touch); word != 0; word &= word - 1) {
      near->pair[near->count] = pair;
      near->element[near->count++] = bit_count_trailing(word);
      if (near->count == E::kPack) collide_near<kKind>(env, near);
    }
  }
}

template <int kKind, class E>
DS_STAGE void collide_side_by_side(E& env) {
  NearPairs<E> near;
  each_near_run<kKind>(env, [&](int begin, int end) { find_near<kKind>(env, begin, end, &near); });
  collide_near<kKind>(env, &near);
}

// whether these kernels have a kind. Generic kernels of a GPU leave out what is searched for, whose polytopes take a
// stack of 3 KB and a third more registers from every model; a specialised kernel has what its model has
template <class AnyTables, int kKind>
constexpr bool kKindCompiled = kKindPossible<AnyTables, kKind> && !(DS_FOR_GPU && is_searched_kind(kKind));
template <class AnyTables, int kKind>
requires requires { AnyTables::kKindPresent; }
constexpr bool kKindCompiled<AnyTables, kKind> = kKindPossible<AnyTables, kKind>;

template <int kKind, class E>
DS_HD void try_kind(E& env) {
  if constexpr (kKindCompiled<StepTables<typename E::Scalar>, kKind>) {
    if constexpr (E::kPack > 1 && kOfShapes<kKind>)
      if (env.t.n.nisland > 0) return collide_side_by_side<kKind>(env);
    collide_kind<kKind>(env);
  }
}

template <class E>
DS_FN void collide(E& env) {
  env.ncon = env.ncon_needed = typename E::Int(0);
  env.ncon_max = 0;
  if (env.t.n.npair > 0) {
    geom_poses(env);
    if constexpr (E::kPack > 1)
      if (env.t.n.nisland > 0) {
        put_geom_records(env);
        if (env.t.run_adr[kPairKinds] > 0) put_tree_balls(env);
      }
    // the kinds one after the other, in the order of the pair table
    [&]<int... kKind>(IntList<kKind...>) { (try_kind<kKind>(env), ...); }
    (PairKinds{});
  }
  env.done();
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

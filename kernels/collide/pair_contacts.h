// The contacts of candidate pairs, kind by kind: collide.h says what is solved.
//
// solves    poses of geoms; which pairs of a kind touch; a slot for each contact, and what stands in it
// equation  x_g = x_b + R_b geom_pos,  q_g = q_b * geom_quat
//           a pair is close as collide.h says; of a height field where the other's sphere meets the box of its heights
//           slot of a contact = ncon + those of earlier pairs of the round + those of its own pair before it
//           con_pair = contact_id(pair, k) of its k-th contact; friction, dimension and softness are the pair's
// source    MuJoCo's documentation, "Contact"; kernels/contact for D, kterm, Bn, Bt by the contact law
// deviation as collide.h
// reads     xpos, xquat, geom_xpos, geom_xmat
// writes    geom_xpos, geom_xmat (geom_poses); con_*, ncon, ncon_needed, ncon_max, overflow_bits
// cost      O(pairs of the kind), and the pair functions of those that are close; of a contact without a slot O(slots)
#pragma once

#include "kernels/collide/kinds.h"
#include "kernels/collide/table.h"
#include "kernels/contact/with_law.h"
#include "kernels/data/records.h"
#include "kernels/rows/rows.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <int... k>
struct IntList {};

// the pair functions by kind
template <int kKind>
struct PairKindTraits;
#define DS_TRAITS(first, second, function, capacity, traits)                                               \
  template <>                                                                                              \
  struct PairKindTraits<pair_kind(first, second)> {                                                        \
    static constexpr int kCapacity = capacity;                                                             \
    static constexpr int kFirst = first, kSecond = second;                                                 \
    static constexpr unsigned kTraits = traits;                                                            \
    template <class A, class B, class Real>                                                                \
    DS_HD static void collide(const A& a, const B& b, const Real& margin, Manifold<Real, capacity>* out) { \
      function(a, b, margin, out);                                                                         \
    }                                                                                                      \
  };
DS_PAIRS(DS_TRAITS)
#undef DS_TRAITS
#define DS_KIND(first, second, function, capacity, traits) , pair_kind(first, second)
template <int kNone, int... k>
IntList<k...> without_first(IntList<kNone, k...>);
using PairKinds = decltype(without_first(IntList<-1 DS_PAIRS(DS_KIND)>{}));
#undef DS_KIND
static_assert(max_pair_capacity() <= kManifoldContacts, "contact_id has room for the contacts of any pair");

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

template <int kType, class E, class Real = typename E::Real>
DS_HD typename ShapeHooks<kType>::template InWorld<Real> geom_shape(const E& env, int g) {
  const Shape<Real> shape{env.geom_xpos().vec(g), env.geom_xmat().mat(g), env.vec(env.t.geom_size, g)};
  // no copy of what is its size alone
  if constexpr (kSameType<typename ShapeHooks<kType>::template InWorld<Real>, Shape<Real>>)
    return shape;
  else
    return ShapeHooks<kType>::in_world(env, g, shape);
}

// all numbers of one contact, for the environments of a pack
template <class Real>
struct ContactRecord {
  Real dist, D, kterm, Bn, Bt, dim, id;
  Vec3<Real> pos, normal, tangent;
  Real mu[kFrictionNumbers];
};

// the numbers of one slot, by the names of its arrays
template <class E>
struct ContactSlot {
  const E& env;
  int slot;
#define SLOT(name, width, stage, meaning) \
  DS_HD auto name() const { return env.name().from((width)*slot); }
#include "kernels/data/fields.inl"
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
    const auto put_vec = [&](const auto& to, int first, const Vec3<Real>& v) {
      put(to[first], v.x), put(to[first + 1], v.y), put(to[first + 2], v.z);
    };
    put(env.con_dist()[slot], c.dist);
    put(env.con_D()[slot], c.D);
    put(env.con_dim()[slot], c.dim);
    put(env.con_pair()[slot], c.id);
    const ContactSlot<E> to{env, slot};
    const auto pos = to.con_pos(), frame = to.con_frame(), mu = to.con_mu();
    put_vec(pos, 0, c.pos), put_vec(frame, kFrameNormal, c.normal), put_vec(frame, kFrameTangent, c.tangent);
    put(env.con_kterm()[slot], c.kterm), put(env.con_Bn()[slot], c.Bn), put(env.con_Bt()[slot], c.Bt);
    for (int k = 0; k < kFrictionNumbers; k++) put(mu[k], c.mu[k]);
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
      for (int k = 0; k < width; k++) set_lane(run[k], lane, lane_of(x[k], from));
    };
    const ContactSlot<E> to{env, slot};
    const Vec3<Real>&p = c.pos, &n = c.normal, &t = c.tangent;
    const Real pos[3] = {p.x, p.y, p.z}, frame[kFrameNumbers] = {n.x, n.y, n.z, t.x, t.y, t.z};
    put(to.con_dist(), 1, &c.dist), put(to.con_D(), 1, &c.D), put(to.con_dim(), 1, &c.dim);
    put(to.con_pair(), 1, &c.id), put(to.con_pos(), 3, pos), put(to.con_frame(), kFrameNumbers, frame);
    put(to.con_kterm(), 1, &c.kterm), put(to.con_Bn(), 1, &c.Bn), put(to.con_Bt(), 1, &c.Bt);
    put(to.con_mu(), kFrictionNumbers, c.mu);
  }

  // with every slot taken, and one contact more, of element `from` of a record: of the pairs that have the most one
  // loses a contact, which one is that with the shallowest (the later of equals)
  DS_STAGE void replace_one(int lane, const ContactRecord<Real>& c, int from) const {
    const int capacity = env.t.n.ncon;
    const KeptContacts kept{env, lane, c, from};
    int begin = 0, most = 0, shallowest = 0;
    // those of a pair stand together, and the new one belongs to the last
    for (int first = 0, end = 0; first <= capacity; first = end) {
      int own = first;
      for (; end <= capacity && kept.pair(end) == kept.pair(first); end++)
        if (kept.dist(end) >= kept.dist(own)) own = end;
      if (end - first < most || (end - first == most && !(kept.dist(own) >= kept.dist(shallowest)))) continue;
      begin = first, most = end - first, shallowest = own;
    }
    const int victim = kept.least_missed(begin, begin + most);
    if (victim == capacity) return;
    for (int slot = victim; slot + 1 < capacity; slot++) shift(slot, lane);
    write_one(capacity - 1, lane, c, from);
  }

 private:
  // the contacts of one environment, and behind them one that has no slot
  struct KeptContacts {
    const E& env;
    int lane;
    const ContactRecord<Real>& more;
    int from;

    using Scalar = typename E::Scalar;
    DS_HD bool has_slot(int k) const { return k < env.t.n.ncon; }
    DS_HD Scalar dist(int k) const {
      return has_slot(k) ? lane_of(env.con_dist()[k], lane) : lane_of(more.dist, from);
    }
    DS_HD int pair(int k) const {
      const Scalar id = has_slot(k) ? lane_of(env.con_pair()[k], lane) : lane_of(more.id, from);
      return pair_of_id(static_cast<int>(id));
    }
    DS_HD Scalar square_between(int i, int j) const {
      Scalar sum = 0;
      for (int axis = 0; axis < 3; axis++) {
        const Scalar d = position(i, axis) - position(j, axis);
        sum = sum + d * d;
      }
      return sum;
    }
    DS_HD Scalar position(int k, int axis) const {
      if (has_slot(k)) return lane_of(env.con_pos().vec_run(k)[axis], lane);
      return lane_of(axis == 0 ? more.pos.x : axis == 1 ? more.pos.y : more.pos.z, from);
    }
    // of a pair's contacts that which is nearest to the deepest; of equals the shallowest, and the later. What the rest of
    // them span stays wide, so that a body that stood on many points stands on two
    DS_FN int least_missed(int first, int end) const {
      int deepest = first, nearest = first;
      for (int k = first + 1; k < end; k++)
        if (dist(k) < dist(deepest)) deepest = k;
      Scalar least = -1;
      for (int k = first; k < end; k++) {
        if (k == deepest) continue;
        const Scalar square = square_between(k, deepest);
        if (least < 0 || square < least || (square == least && dist(k) >= dist(nearest))) {
          least = square;
          nearest = k;
        }
      }
      return nearest;
    }
  };
};

template <class E>
DS_STAGE void fill_record(const E& env, int pair, ContactRecord<typename E::Real>* c) {
  using Real = typename E::Real;
  const int dim = env.t.pair_dim[pair];
  c->dim = Real(dim);
  for (int k = 0; k < kFrictionNumbers; k++) c->mu[k] = k < dim - 1 ? env.pair_friction(pair, k) : Real(0);
  record_by_law(env, pair, c);
}

// the contacts of one pair, each in the next slot of its environment
template <int K, class E>
DS_STAGE void put_contacts(E& env, int pair, const Manifold<typename E::Real, K>& m, typename E::Int next) {
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
    c.id = Real(contact_id(pair, k));
    fill_record(env, pair, &c);
    // environments of one slot at a time
    for (unsigned waiting = mask_word(m.hit[k]); waiting != 0;) {
      const int lane = E::kPack == 1 ? 0 : bit_count_trailing(waiting), slot = lane_of(next, lane);
      if (slot < env.t.n.ncon) {
        if (E::Lanes::kWidth > 1 || slot >= env.ncon_max) {
          writer.open(slot);
          if (E::Lanes::kWidth == 1) env.ncon_max = slot + 1;
        }
        const unsigned here = waiting & word_where_equal(next, slot);
        writer.write(slot, mask_of_word<Real>(here), c);
        waiting &= ~here;
      } else {
        writer.replace_one(lane, c, lane);
        waiting &= waiting - 1;
      }
    }
    next = next + select(m.hit[k], typename E::Int(1), typename E::Int(0));
  }
}

// by this part of its longest half side a box is wider: more than what rounding could hide
constexpr double kWiderBox = 1e-3;
// whether the boxes about two geoms may be no farther apart than the margin: not along any axis of either (the six face
// axes of Gottschalk, Lin & Manocha 1996)
template <int kFirst, int kSecond, class E>
DS_FN typename E::Mask boxes_may_meet(const E& env, int a, int b, const typename E::Real& margin) {
  using Real = typename E::Real;
  const AxesBox<Real> one = ShapeHooks<kFirst>::box_about(env, a),
                      other = ShapeHooks<kSecond>::box_about(env, b);
  const Mat3<Real> A = env.geom_xmat().mat(a), B = env.geom_xmat().mat(b);
  const Vec3<Real> d =
      (env.geom_xpos().vec(b) - env.geom_xpos().vec(a)) + (rotate(B, other.centre) - rotate(A, one.centre));
  const auto widen = [](const Vec3<Real>& half, Real(&out)[3]) {
    const Real slack = max(half.x, max(half.y, half.z)) * Real(kWiderBox);
    out[0] = half.x + slack, out[1] = half.y + slack, out[2] = half.z + slack;
  };
  Real half_a[3], half_b[3];
  widen(one.half, half_a);
  widen(other.half, half_b);
  Real gap_b[3], most(-kVast);
  DS_UNROLL
  for (int j = 0; j < 3; j++) gap_b[j] = abs(dot(d, column(B, j))) - half_b[j];
  DS_UNROLL
  for (int i = 0; i < 3; i++) {
    const Vec3<Real> axis = column(A, i);
    Real gap = abs(dot(d, axis)) - half_a[i];
    DS_UNROLL
    for (int j = 0; j < 3; j++) {
      const Real share = abs(dot(axis, column(B, j)));
      gap = gap - share * half_b[j];
      gap_b[j] = gap_b[j] - share * half_a[i];
    }
    most = max(most, gap);
  }
  DS_UNROLL
  for (int j = 0; j < 3; j++) most = max(most, gap_b[j]);
  return mask_not(most > margin);
}
// kinds of which a search is dearer than that
template <int kKind>
constexpr bool kAskBoxes = !kShapeIs<PairKindTraits<kKind>::kFirst, kShapeSurface> &&
                           (kShapeIs<PairKindTraits<kKind>::kFirst, kShapeHull> ||
                            kShapeIs<PairKindTraits<kKind>::kSecond, kShapeHull>);

// the environments in which the bounding spheres of a pair touch, and the boxes of those with a hull
template <int kKind, class E>
DS_HD typename E::Mask are_near(const E& env, int pair, const typename E::Real& margin) {
  using Real = typename E::Real;
  using Kind = PairKindTraits<kKind>;
  const int a = geom_of_pair(env.t, pair, 0), b = geom_of_pair(env.t, pair, 1);
  const Real reach = env.geom_rbound(b) + margin;
  const auto gpos = env.geom_xpos();
  const auto near = ShapeHooks<Kind::kFirst>::may_reach(env, a, gpos.vec(b) - gpos.vec(a), reach);
  if constexpr (kAskBoxes<kKind>)
    if (any(near)) return mask_and(near, boxes_may_meet<Kind::kFirst, Kind::kSecond>(env, a, b, margin));
  return near;
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

// contacts of one kind of pair. Lanes take consecutive pairs; slots follow from a scan of their counts.
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
      const int a = geom_of_pair(t, pair, 0), b = geom_of_pair(t, pair, 1);
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
        put_contacts(env, pair, m, env.ncon + before);
      }
      if (full) env.sync();
    }
    env.overflow_bits = env.overflow_bits | overflown;
    env.ncon = at_most(wanted, t.n.ncon);
    env.ncon_needed = env.ncon_needed + total;
    if (E::Lanes::kWidth > 1) env.ncon_max = lane_of(env.ncon, 0);
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Scenes of many bodies and shapes that are searched for, on a CPU. Each environment of a pack is near at other pairs there. So
// pairs that are near, each of one environment, go side by side through the function of their kind. They keep their order, and
// so do the contacts.
//
// solves    as collide.h
// equation  a box about spheres of centres x_i and radii r_i:  low = min(x_i - r_i),  high = max(x_i + r_i)
//           two of them may meet where  max over axes of max(low_a - high_b, low_b - high_a) <= margin
//           a sphere may reach a box geom of half sizes s where  |max(|R'(x_b - x_a)| - s, 0)| < r_b + margin
//           radii are a thousandth larger than what they bound, and boxes wider by what rounding could hide
// source    Ericson 2005, chapter 4 (bounding volumes)
// deviation of many candidate pairs it is first asked whether boxes about their trees meet, then, by ranges of pairs, whether
//           the one about a body meets the one about the other tree; what is left out is what bounding spheres leave out
// reads     geom_xpos, geom_xmat
// writes    geom_record, body_box, tree_box, trees_near, tree_meets; con_*, ncon, ncon_needed, ncon_max, overflow_bits
// cost      O(pairs of trees + ranges + pairs of those that may be near), and the pair functions of those that are
#pragma once

#include "kernels/collide/pair_contacts.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// records of a collidable geom, one for each environment: position, orientation, size
enum GeomRecord : int {
  kGeomPos = 0,
  kGeomRot = kGeomPos + kVecNumbers,
  kGeomSize = kGeomRot + kMatNumbers,
  kGeomEnd = kGeomSize + kVecNumbers
};
template <class E>
DS_HD auto geom_records(const E& env, int geom) {
  return records_of<E>(env.geom_record(), geom, kRecordRun);
}
template <class E>
DS_FN void put_geom_records(E& env) {
  using Real = typename E::Real;
  const auto gpos = env.geom_xpos(), gmat = env.geom_xmat();
  for (int g = 0; g < env.t.n.ngeom; g++) {
    Real x[kRecordRun];
    const auto pos = gpos.vec_run(g), rot = gmat.mat_run(g);
    const Vec3<Real> size = env.vec(env.t.geom_size, g);
    for (int k = 0; k < kVecNumbers; k++) x[kGeomPos + k] = pos[k];
    for (int k = 0; k < kMatNumbers; k++) x[kGeomRot + k] = rot[k];
    x[kGeomSize] = size.x, x[kGeomSize + 1] = size.y, x[kGeomSize + 2] = size.z;
    for (int k = kGeomEnd; k < kRecordRun; k++) x[k] = Real(0);
    store_records(geom_records(env, g), 0, x);
  }
}

// Whether pairs of a kind may stand side by side, each of another environment. Not with a height field, nor of a plane and
// a hull: their functions take one grid, or the points of one hull, for all elements of a pack
template <int kKind>
constexpr bool kStandSideBySide = !kShapeIs<PairKindTraits<kKind>::kFirst, kShapeGrid> &&
                                  (PairKindTraits<kKind>::kTraits & kPairOfOneHull) == 0;

// as many near pairs as a pack has elements: which, and in which environment
template <class E>
struct NearPairs {
  using Real = typename E::Real;
  static constexpr int kPack = E::kPack;
  int pair[kPack], element[kPack];
  int count = 0;

  DS_HD int geom(const E& env, int l, int of) const { return geom_of_pair(env.t, pair[l], of); }
  DS_HD bool of_one_pair() const {
    for (int l = 1; l < kPack; l++)
      if (pair[l] != pair[0]) return false;
    return true;
  }
  // numbers of each pair, or of something else: rows of `width` of a table
  struct Row {
    const typename E::Scalar* p;
    typename E::Int first;
    int step;
    DS_HD Real operator()(int k) const { return gather<Real>(p + k * step, first); }
  };
  template <class RowOf>
  DS_HD Row rows(const E& env, const Param<typename E::Scalar>& a, int width, RowOf row_of) const {
    if (kKnownShared<StepTables<typename E::Scalar>> || a.env_stride == 0) {
      const auto first = [&](int l) { return width * row_of(l); };
      return {a.p, ints(first), 1};
    }
    const auto first = [&](int l) { return kPack * width * row_of(l) + element[l]; };
    return {a.p + static_cast<long>(env.block) * a.env_stride, ints(first), kPack};
  }
  DS_HD Row row(const E& env, const Param<typename E::Scalar>& a, int width) const {
    return rows(env, a, width, [&](int l) { return pair[l]; });
  }
  template <class F>
  DS_HD static typename E::Int ints(F f) {
    typename E::Int x(0);
    for (int l = 0; l < kPack; l++) set_lane(x, l, f(l));
    return x;
  }
};

// one geom of each near pair, as its pair function takes it
template <int kType, class E>
struct NearGeom {
  using Real = typename E::Real;
  using Scalar = typename E::Scalar;
  typename ShapeHooks<kType>::template InWorld<Real> shape;

  DS_FN NearGeom(const E& env, const NearPairs<E>& near, int of) {
    if (env.t.n.nisland > 0)
      read_records(env, near, of);
    else
      read_poses(env, near, of);
    gathered.fill(env, near, of, &shape);
  }
  // `shape` may refer to `gathered`
  NearGeom(const NearGeom&) = delete;
  NearGeom& operator=(const NearGeom&) = delete;

 private:
  [[no_unique_address]] typename ShapeHooks<kType>::template Gathered<E> gathered;

  DS_FN void read_records(const E& env, const NearPairs<E>& near, int of) {
    Real x[kRecordRun];
    load_records([&](int l) { return geom_records(env, near.geom(env, l, of))(near.element[l]); }, 0, x);
    const auto vec = [&](int first) { return Vec3<Real>{x[first], x[first + 1], x[first + 2]}; };
    shape.pos = vec(kGeomPos);
    DS_UNROLL
    for (int k = 0; k < kMatNumbers; k++) shape.rot.m[k] = x[kGeomRot + k];
    shape.size = vec(kGeomSize);
  }
  DS_FN void read_poses(const E& env, const NearPairs<E>& near, int of) {
    const auto gpos = env.geom_xpos(), gmat = env.geom_xmat();
    Scalar x[kGeomSize][E::kPack];
    for (int l = 0; l < E::kPack; l++) {
      const int g = near.geom(env, l, of), element = near.element[l];
      const auto pos = gpos.vec_run(g), rot = gmat.mat_run(g);
      for (int k = 0; k < kVecNumbers; k++) x[kGeomPos + k][l] = lane_of(pos[k], element);
      for (int k = 0; k < kMatNumbers; k++) x[kGeomRot + k][l] = lane_of(rot[k], element);
    }
    const auto number = [&](int k) { return load_pack<Real>(x[k]); };
    shape.pos = {number(kGeomPos), number(kGeomPos + 1), number(kGeomPos + 2)};
    for (int k = 0; k < kMatNumbers; k++) shape.rot.m[k] = number(kGeomRot + k);
    const auto size =
        near.rows(env, env.t.geom_size, kVecNumbers, [&](int l) { return near.geom(env, l, of); });
    shape.size = {size(0), size(1), size(2)};
  }
};

// what record_by_law asks of the pairs, in the words of an environment
template <class E>
struct NearParameters {
  using Real = typename E::Real;
  const StepTables<typename E::Scalar>& t;
  Real margin, solimp[kWidth_pair_solimp], K, Bn, Bt, stiffest, approx_A, R_scale;
  DS_HD NearParameters(const E& env, const NearPairs<E>& near) : t(env.t) {
    const auto diag = near.row(env, t.pair_diag, kWidth_pair_diag);
    const auto kbb = near.row(env, t.pair_kbb, kWidth_pair_kbb);
    const auto imp = near.row(env, t.pair_solimp, kWidth_pair_solimp);
    margin = near.row(env, t.pair_margin, 1)(0);
    for (int k = 0; k < kWidth_pair_solimp; k++) solimp[k] = imp(k);
    K = kbb(kColumn_pair_K), Bn = kbb(kColumn_pair_Bn), Bt = kbb(kColumn_pair_Bt);
    stiffest = kbb(kColumn_pair_stiffest);
    approx_A = diag(kColumn_pair_approx_A), R_scale = diag(kColumn_pair_R_scale);
  }
  DS_HD const Real& pair_margin(int) const { return margin; }
  DS_HD const Real& pair_solimp(int, int k) const { return solimp[k]; }
  DS_HD const Real& pair_K(int) const { return K; }
  DS_HD const Real& pair_Bn(int) const { return Bn; }
  DS_HD const Real& pair_Bt(int) const { return Bt; }
  DS_HD const Real& pair_stiffest(int) const { return stiffest; }
  DS_HD const Real& pair_approx_A(int) const { return approx_A; }
  DS_HD const Real& pair_R_scale(int) const { return R_scale; }
};

// the contacts of near pairs, pair by pair in the next slots of its environment
template <int K, class E>
DS_FN void put_side_by_side(E& env, const NearPairs<E>& near, const Manifold<typename E::Real, K>& m) {
  using Real = typename E::Real;
  const ContactWriter<E> writer{env};
  const NearParameters<E> parameters(env, near);
  const auto& t = env.t;
  Real dim(0), mu[kFrictionNumbers], pair(0);
  for (int l = 0; l < E::kPack; l++) {
    set_lane(dim, l, static_cast<typename E::Scalar>(t.pair_dim[near.pair[l]]));
    set_lane(pair, l, static_cast<typename E::Scalar>(contact_id(near.pair[l], 0)));
  }
  const auto friction = near.row(env, t.pair_friction, kWidth_pair_friction);
  for (int k = 0; k < kFrictionNumbers; k++) mu[k] = select(dim > Real(k + 1), friction(k), Real(0));
  ContactRecord<Real> contacts[K];
  unsigned hits[K];
  for (int k = 0; k < K; k++) {
    hits[k] = mask_word(m.hit[k]);
    if (hits[k] == 0) continue;
    ContactRecord<Real>& c = contacts[k];
    c.dist = m.dist[k], c.pos = m.pos[k], c.normal = m.normal[k], c.tangent = m.tangent;
    c.id = pair + Real(k), c.dim = dim;
    for (int r = 0; r < kFrictionNumbers; r++) c.mu[r] = mu[r];
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
        writer.replace_one(element, contacts[k], l);
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

// [m]: where the second geom of a pair that nobody needs is put
constexpr double kFarAway = 1e9;
template <int kKind, class E>
DS_FN void collide_near(E& env, NearPairs<E>* near) {
  using Real = typename E::Real;
  using Kind = PairKindTraits<kKind>;
  if (near->count == 0) return;
  // elements that nobody needs have the first one's pair, far apart: no search goes on for them
  for (int l = near->count; l < E::kPack; l++)
    near->pair[l] = near->pair[0], near->element[l] = near->element[0];
  const auto there = mask_of_word<Real>((near->count < 32 ? 1u << near->count : 0u) - 1u);
  Manifold<Real, Kind::kCapacity> m;
  const NearGeom<Kind::kFirst, E> first(env, *near, 0);
  NearGeom<Kind::kSecond, E> second(env, *near, 1);
  second.shape.pos.x = select(there, second.shape.pos.x, Real(kFarAway));
  Kind::collide(first.shape, second.shape, near->row(env, env.t.pair_margin, 1)(0), &m);
  keep_one<kKind>(env, &m);
  unsigned hits = 0;
  for (int k = 0; k < Kind::kCapacity; k++) {
    m.hit[k] = mask_and(there, m.hit[k]);
    hits |= mask_word(m.hit[k]);
  }
  if (hits != 0) put_side_by_side(env, *near, m);
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
  const Real reach = env.geom_rbound(other) * Real(kWiderSphere) + margin;
  return dot(gap, gap) < reach * reach;
}

// boxes in the workspace: the least corner of each, then the greatest
enum BoxNumber : int { kBoxLow = 0, kBoxHigh = kBoxLow + kVecNumbers, kBoxNumbers = kBoxHigh + kVecNumbers };
template <class Boxes>
DS_HD Boxes box_of(const Boxes& boxes, int i) {
  return boxes.from(kBoxNumbers * i);
}
// of a coordinate: more than what the sums and differences of a bound round off, a unit in the last place each
template <class Real>
constexpr double kPositionRounding = kSingle<Real> ? 4e-7 : 8e-16;
// A box about bounding spheres. It is wider by more than what rounding could hide
template <class E>
struct SphereBox {
  using Real = typename E::Real;
  Real low[3], high[3];

  DS_HD void clear() {
    for (int k = 0; k < 3; k++) low[k] = Real(kVast), high[k] = Real(-kVast);
  }
  DS_HD void add(const E& env, int geom) {
    const Real radius = env.geom_rbound(geom) * Real(kWiderSphere), rounding(kPositionRounding<Real>);
    const auto centre = env.geom_xpos().vec_run(geom);
    for (int k = 0; k < 3; k++) {
      const Real x = centre[k], reach = fma(abs(x), rounding, radius);
      low[k] = min(low[k], x - reach);
      high[k] = max(high[k], x + reach);
    }
  }
  DS_HD void add(const SphereBox& other) {
    for (int k = 0; k < 3; k++) low[k] = min(low[k], other.low[k]), high[k] = max(high[k], other.high[k]);
  }
  DS_HD void store(const Field<Real, E::kStride>& to) const {
    for (int k = 0; k < 3; k++) to[kBoxLow + k] = low[k], to[kBoxHigh + k] = high[k];
  }
};
// the environments in which two such boxes are no farther apart than a margin
template <class E>
DS_HD typename E::Mask may_meet(const Field<typename E::Real, E::kStride>& a,
                                const Field<typename E::Real, E::kStride>& b,
                                const typename E::Real& margin) {
  using Real = typename E::Real;
  Real gap = max(a[kBoxLow] - b[kBoxHigh], b[kBoxLow] - a[kBoxHigh]);
  for (int k = 1; k < 3; k++)
    gap = max(gap, max(a[kBoxLow + k] - b[kBoxHigh + k], b[kBoxLow + k] - a[kBoxHigh + k]));
  return mask_not(gap > margin);
}

// boxes of bodies and trees, and which pairs of trees may be near in some environment of the pack
template <class E>
DS_FN void find_near_trees(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  // geoms stand in the order of their bodies, and so of their trees
  for (int g = 0; g < t.n.ngeom;) {
    const int tree = t.body_tree[t.geom_body[g]];
    SphereBox<E> whole;
    whole.clear();
    while (g < t.n.ngeom && t.body_tree[t.geom_body[g]] == tree) {
      const int body = t.geom_body[g];
      SphereBox<E> part;
      part.clear();
      for (; g < t.n.ngeom && t.geom_body[g] == body; g++) part.add(env, g);
      part.store(box_of(env.body_box(), body));
      whole.add(part);
    }
    if (tree < 0) continue;
    whole.store(box_of(env.tree_box(), tree));
    env.tree_meets()[tree] = Real(0);
  }
  for (int k = 0; k < t.n.ntreepair; k++) {
    const int tree1 = t.tree_pair_tree1[k], tree2 = t.tree_pair_tree2[k];
    const auto box = [&](int tree) { return box_of(env.tree_box(), tree); };
    const bool near = any(may_meet<E>(box(tree1), box(tree2), env.tree_pair_margin(k)));
    env.trees_near()[k] = Real(near ? 1 : 0);
    if (near) env.tree_meets()[tree1] = env.tree_meets()[tree2] = Real(1);
  }
}
// Whether some pair of a range may be near in some environment of the pack
template <class E>
DS_HD bool may_be_near(const E& env, int range) {
  const int trees = env.t.pair_range_trees[range];
  if (trees < 0) return true;
  if (!(lane_of(env.trees_near()[trees], 0) > 0)) return false;
  const auto body = box_of(env.body_box(), env.t.pair_range_body[range]);
  const auto tree = box_of(env.tree_box(), env.t.tree_pair_tree2[trees]);
  return any(may_meet<E>(body, tree, env.tree_pair_margin(trees)));
}

// calls f(first pair, one past the last) for those of a kind among which some may be near. What is between spheres is so for
// their kinds alone
template <int kKind, class E, class F>
DS_HD void each_near_range(E& env, F f) {
  using Kind = PairKindTraits<kKind>;
  const auto& t = env.t;
  if constexpr (!kShapeIs<Kind::kFirst, kShapeSurface>)
    if (t.n.nisland > 0 && t.pair_range_adr[kPairKinds] > 0) {
      for (int range = t.pair_range_adr[kKind]; range < t.pair_range_adr[kKind + 1];) {
        if (may_be_near(env, range)) f(t.pair_range_begin[range], t.pair_range_begin[range + 1]);
        // those of a tree that meets no other are passed over
        const int tree = t.body_tree[t.pair_range_body[range]];
        range = tree < 0 || lane_of(env.tree_meets()[tree], 0) > 0 ? range + 1 : t.pair_range_next[range];
      }
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
    const int a = geom_of_pair(env.t, pair, 0), b = geom_of_pair(env.t, pair, 1);
    if constexpr (kShapeIs<Kind::kSecond, kShapeOwnBox> && !kShapeIs<Kind::kFirst, kShapeUnbounded>)
      touch = mask_and(touch, may_reach_box(env, b, a, margin));
    if constexpr (kShapeIs<Kind::kFirst, kShapeOwnBox> && !kAskBoxes<kKind>)
      touch = mask_and(touch, may_reach_box(env, a, b, margin));
    each_element<typename E::Real>(mask_word(touch), [&](int l) {
      near->pair[near->count] = pair;
      near->element[near->count++] = l;
      if (near->count == E::kPack) collide_near<kKind>(env, near);
    });
  }
}

template <int kKind, class E>
DS_STAGE void collide_side_by_side(E& env) {
  NearPairs<E> near;
  each_near_range<kKind>(env, [&](int begin, int end) { find_near<kKind>(env, begin, end, &near); });
  collide_near<kKind>(env, &near);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

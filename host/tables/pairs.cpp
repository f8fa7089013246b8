// Candidate pairs of geoms, and the parameters of their contacts.
//
// A pair is a candidate where MuJoCo's filters let its geoms touch and some dof moves one of them against the
// other. Order: by kind, so that a kind's pairs run through one function; within a kind by bodies, explicit
// pairs first, then by geoms, as MuJoCo lists its contacts. Parameters are mixed as MuJoCo's documentation,
// "Contact parameters", says: priority, solmix, maximum friction and dimension; explicit pairs bring their
// own; the override flag beats all. With contact_parameters = spring_damper, friction has no floor and the margin is
// the option's. Cost: O(nbody^2 + ngeom^2 + npair nv), once.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>

#include "host/interruption.h"
#include "host/model/contact_law.h"
#include "host/model/element_rows.h"
#include "host/model/unsupported.h"
#include "host/tables/dof_sets.h"
#include "host/tables/named_rows.h"
#include "host/tables/softness.h"
#include "host/tables/tables.h"
#include "kernels/collide/kinds.h"
#include "kernels/data/shapes.h"
#include "kernels/data/views.h"

namespace dualstep {
namespace {

struct Candidate {
  int kind;
  int explicit_pair;     // in the model's list; npair where the geoms' own parameters hold
  int geom1, geom2;      // in the order of the pair function
  int mujoco_order = 0;  // among all, as MuJoCo lists its contacts
};

// of those that move the body; -1 where none does
int last_dof(const Model& m, int body) {
  while (body > 0 && m.body_dofnum[body] == 0) body = m.body_parentid[body];
  return body > 0 ? m.body_dofadr[body] + m.body_dofnum[body] - 1 : -1;
}

void add_candidate(const Model& m, int geom1, int geom2, int explicit_pair, std::vector<Candidate>* out) {
  if (m.geom_type[geom1] > m.geom_type[geom2]) std::swap(geom1, geom2);
  const int kind = pair_kind(m.geom_type[geom1], m.geom_type[geom2]);
  if (kind >= 0) out->push_back({kind, explicit_pair, geom1, geom2});
}

// those of two bodies, in MuJoCo's order. `listed` are the explicit pairs between them
void find_between(const Model& m, int body1, int body2, std::span<const int> listed,
                  const std::vector<int>& exclusions, std::vector<Candidate>* found) {
  found->clear();
  std::set<std::pair<int, int>> taken;
  for (const int pair : listed) {
    const int geom1 = m.pair_geom1[pair], geom2 = m.pair_geom2[pair];
    taken.insert(std::minmax(geom1, geom2));
    if (may_collide_as_pair(m, geom1, geom2)) add_candidate(m, geom1, geom2, pair, found);
  }
  if (!bodies_may_collide(m, body1, body2) ||
      std::binary_search(exclusions.begin(), exclusions.end(), exclusion(body1, body2)))
    return;
  for (int i = 0; i < m.body_geomnum[body1]; ++i) {
    for (int j = 0; j < m.body_geomnum[body2]; ++j) {
      const int geom1 = m.body_geomadr[body1] + i, geom2 = m.body_geomadr[body2] + j;
      if (masks_let_through(m, geom1, geom2) && may_collide_as_pair(m, geom1, geom2) &&
          !taken.count(std::minmax(geom1, geom2)))
        add_candidate(m, geom1, geom2, m.npair, found);
    }
  }
  std::sort(found->begin(), found->end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.explicit_pair, a.geom1, a.geom2) < std::tie(b.explicit_pair, b.geom1, b.geom2);
  });
}

// all, kind after kind
std::vector<Candidate> find_candidates(const Model& m) {
  std::vector<int> exclusions = m.exclude_signature;
  std::sort(exclusions.begin(), exclusions.end());
  std::map<std::pair<int, int>, std::vector<int>> listed;
  for (int i = 0; i < m.npair; ++i)
    listed[std::minmax(m.geom_bodyid[m.pair_geom1[i]], m.geom_bodyid[m.pair_geom2[i]])].push_back(i);
  std::vector<int> last(m.nbody);
  for (int body = 0; body < m.nbody; ++body) last[body] = last_dof(m, body);
  std::vector<std::vector<Candidate>> of_kind(kPairKinds);
  std::vector<Candidate> here;
  int count = 0;
  auto next = listed.begin();
  for (int body1 = 0; body1 < m.nbody; ++body1) {
    for (int body2 = body1; body2 < m.nbody; ++body2) {
      stop_if_told();
      std::span<const int> pairs;
      if (next != listed.end() && next->first == std::pair(body1, body2)) pairs = (next++)->second;
      // the same dofs move both
      if (last[body1] == last[body2]) continue;
      find_between(m, body1, body2, pairs, exclusions, &here);
      for (Candidate& c : here) {
        c.mujoco_order = count++;
        of_kind[c.kind].push_back(c);
      }
    }
  }
  std::vector<Candidate> found;
  found.reserve(count);
  for (const std::vector<Candidate>& kind : of_kind) {
    stop_if_told();
    found.insert(found.end(), kind.begin(), kind.end());
  }
  return found;
}

// for every dof: what it moves of the two bodies
std::vector<int> signs_of(const Model& m, int body1, int body2) {
  std::vector<int> sign(m.nv, 0);
  const auto add = [&](int body, int amount) {
    for (int dof = last_dof(m, body); dof >= 0; dof = m.dof_parentid[dof]) sign[dof] += amount;
  };
  add(body1, -1);
  add(body2, +1);
  return sign;
}

struct PairParameters {
  int dim;
  double margin;
  std::array<double, 5> friction, solimp;
  std::array<double, 2> solref, solref_tangent;
};

// share of the first of two geoms of the same priority
double mix_factor(double solmix1, double solmix2) {
  const bool weighs1 = solmix1 >= kTiny, weighs2 = solmix2 >= kTiny;
  if (weighs1 && weighs2) return solmix1 / (solmix1 + solmix2);
  return weighs1 ? 1 : weighs2 ? 0 : 0.5;
}

// the parameters that two geoms give their contacts
PairParameters mix_geoms(const Model& m, int geom1, int geom2) {
  PairParameters p;
  p.margin = m.geom_margin[geom1] + m.geom_margin[geom2];
  p.solref_tangent = {0, 0};
  double mix = mix_factor(m.geom_solmix[geom1], m.geom_solmix[geom2]);
  const int priority1 = m.geom_priority[geom1], priority2 = m.geom_priority[geom2];
  const bool equal = priority1 == priority2;
  if (!equal) mix = priority1 > priority2 ? 1 : 0;
  const int chosen = priority1 >= priority2 ? geom1 : geom2;

  p.dim = equal ? std::max(m.geom_condim[geom1], m.geom_condim[geom2]) : m.geom_condim[chosen];
  const auto friction1 = row::geom_friction(m, geom1), friction2 = row::geom_friction(m, geom2);
  double friction[3];
  for (int i = 0; i < 3; ++i) {
    // MuJoCo's priority counts in MuJoCo's own contacts alone
    friction[i] = equal || !law_has(m.opt, kLawMujocoMargins) ? std::max(friction1[i], friction2[i])
                                                              : row::geom_friction(m, chosen)[i];
  }
  p.friction = {friction[0], friction[0], friction[1], friction[2], friction[2]};
  const auto mixed = [&](double a, double b) {
    return mix == 1 ? a : mix == 0 ? b : mix * a + (1 - mix) * b;
  };
  const auto solimp1 = row::geom_solimp(m, geom1), solimp2 = row::geom_solimp(m, geom2);
  for (int i = 0; i < 5; ++i) p.solimp[i] = mixed(solimp1[i], solimp2[i]);
  // references in stiffness and damping are not mixed: the stiffer one holds
  const auto ref1 = row::geom_solref(m, geom1), ref2 = row::geom_solref(m, geom2);
  const bool direct = equal && !(ref1[0] > 0 && ref2[0] > 0);
  for (int i = 0; i < 2; ++i) p.solref[i] = direct ? std::min(ref1[i], ref2[i]) : mixed(ref1[i], ref2[i]);
  return p;
}

// [m] added to the margins of laws without MuJoCo's, so that what just touches has rows
constexpr double kTouchMargin = 1e-12;
PairParameters parameters_of(const Model& m, const Candidate& c) {
  PairParameters p;
  const int i = c.explicit_pair;
  if (i < m.npair) {
    p.dim = m.pair_dim[i];
    p.margin = m.pair_margin[i];
    std::ranges::copy(row::pair_friction(m, i), p.friction.begin());
    std::ranges::copy(row::pair_solimp(m, i), p.solimp.begin());
    std::ranges::copy(row::pair_solref(m, i), p.solref.begin());
    std::ranges::copy(row::pair_solreffriction(m, i), p.solref_tangent.begin());
  } else {
    p = mix_geoms(m, c.geom1, c.geom2);
  }
  if (m.opt.enabled(kEnableOverride)) {
    p.margin = m.opt.o_margin;
    p.friction = m.opt.o_friction;
    p.solimp = m.opt.o_solimp;
    p.solref = p.solref_tangent = m.opt.o_solref;
  }
  if (law_has(m.opt, kLawMujocoMargins)) {
    for (double& mu : p.friction) mu = std::max(mu, kMinFriction);
  } else {
    if (m.opt.contact_margin > 0 || m.opt.contact_parameters == ContactParameters::kSpringDamper)
      p.margin = m.opt.contact_margin;
    p.margin += kTouchMargin;
  }
  return p;
}

void add_parameters(const Model& m, const Candidate& c, TableStore* t) {
  const PairParameters p = parameters_of(m, c);
  const Impedance imp = make_impedance(p.solimp);
  const Softness normal = make_softness(p.solref, imp.dmax, m.opt);
  const bool by_rows = weighs_rows(m.opt);
  double tangent_B = normal.B;
  // tangent rows may have a damping of their own; the edges of a pyramid are all alike
  const std::array<double, 2> ref = usable_reference(p.solref_tangent, {0, 0}, m.opt);
  if (by_rows && (ref[0] != 0 || ref[1] != 0)) tangent_B = softness_of(ref, imp.dmax).B;

  const int body1 = m.geom_bodyid[c.geom1], body2 = m.geom_bodyid[c.geom2];
  const double tran = translation_weight(m, body1) + translation_weight(m, body2);
  const double mu1 = p.friction[0], mu = mu1 / std::sqrt(std::max(kTiny, m.opt.impratio));
  // the edges of a pyramid share one R, such that its friction is as soft as the elliptic cone's
  const bool pyramid = !by_rows && p.dim > 1;

  const auto bounce = m.pair_restitution.find(std::minmax(c.geom1, c.geom2));
  t->pair_restitution.push_back(bounce == m.pair_restitution.end() ? m.opt.restitution : bounce->second);
  t->pair_dim.push_back(p.dim);
  t->pair_margin.push_back(p.margin);
  append(pair_friction_row{.pair_friction = p.friction}, &t->pair_friction);
  append(pair_solimp_row{.pair_solimp = imp.table}, &t->pair_solimp);
  append(
      pair_kbb_row{
          .pair_K = normal.K, .pair_Bn = normal.B, .pair_Bt = tangent_B, .pair_stiffest = normal.stiffest},
      &t->pair_kbb);
  append(pair_diag_row{.pair_approx_A = pyramid ? tran + mu1 * mu1 * tran : tran,
                       .pair_R_scale = pyramid ? 2 * mu * mu : 1},
         &t->pair_diag);
}

// the velocities of a geom's surface, in its body's frame
geom_surface_row surface_of(const Model& m, int g) {
  const auto given = row::geom_surfacevel(m, g), pos = row::geom_pos(m, g), quat = row::geom_quat(m, g);
  const Quat<double> turn{quat[0], quat[1], quat[2], quat[3]};
  const Vec3<double> ang = rotate(turn, Vec3<double>{given[3], given[4], given[5]});
  const Vec3<double> lin = rotate(turn, Vec3<double>{given[0], given[1], given[2]}) -
                           cross(ang, Vec3<double>{pos[0], pos[1], pos[2]});
  return {.surface_lin = {lin.x, lin.y, lin.z}, .surface_ang = {ang.x, ang.y, ang.z}};
}

// of geoms that can collide, where any of them has one
void add_surfaces(const Model& m, TableStore* t) {
  const auto moves = [&](int g) { return surface_moves(m, g); };
  if (std::none_of(t->geom_id.begin(), t->geom_id.end(), moves)) return;
  for (const int g : t->geom_id) append(surface_of(m, g), &t->geom_surface);
}

// geoms of the pairs, renumbered to those that can collide
void add_geoms(const Model& m, const std::vector<Candidate>& pairs, TableStore* t) {
  std::vector<int> place(m.ngeom, -1);
  for (const Candidate& c : pairs) place[c.geom1] = place[c.geom2] = 0;
  const auto add = [](std::span<const double> row, std::vector<double>* to) {
    to->insert(to->end(), row.begin(), row.end());
  };
  for (int g = 0; g < m.ngeom; ++g) {
    if (place[g] < 0) continue;
    place[g] = static_cast<int>(t->geom_id.size());
    t->geom_id.push_back(g);
    t->geom_body.push_back(m.geom_bodyid[g]);
    add(row::geom_pos(m, g), &t->geom_pos);
    add(row::geom_quat(m, g), &t->geom_quat);
    add(row::geom_size(m, g), &t->geom_size);
    t->geom_rbound.push_back(shape_is(m.geom_type[g], kShapeUnbounded) ? 0 : m.geom_rbound[g]);
  }
  add_surfaces(m, t);
  for (const Candidate& c : pairs) {
    stop_if_told();
    t->pair_geom1.push_back(place[c.geom1]);
    t->pair_geom2.push_back(place[c.geom2]);
  }
  if (!solves_islands(m, *t)) return;
  const auto add_moved = [&](int geom, std::vector<int>* bodies, std::vector<int>* trees) {
    const int body = m.geom_bodyid[geom], tree = t->body_tree[body];
    bodies->push_back(tree < 0 ? 0 : body);
    trees->push_back(tree);
  };
  for (const Candidate& c : pairs) {
    stop_if_told();
    add_moved(c.geom1, &t->pair_body1, &t->pair_tree1);
    add_moved(c.geom2, &t->pair_body2, &t->pair_tree2);
  }
}

// Ranges of pairs between a body and another tree: packs first ask whether these may be near. None where there are few
// pairs
void build_ranges(const Model& m, TableStore* t) {
  constexpr size_t kManyPairs = 512;
  t->pair_range_adr.assign(kPairKinds + 1, 0);
  if (!solves_islands(m, *t) || t->pair_margin.size() < kManyPairs) return;
  std::map<std::pair<int, int>, int> number;
  const auto trees_of = [&](int body1, int body2, double margin) {
    const int tree1 = t->body_tree[body1], tree2 = t->body_tree[body2];
    if (tree1 < 0 || tree2 < 0 || tree1 == tree2) return -1;
    const auto [found, added] =
        number.try_emplace({tree1, tree2}, static_cast<int>(t->tree_pair_margin.size()));
    if (added) {
      t->tree_pair_tree1.push_back(tree1);
      t->tree_pair_tree2.push_back(tree2);
      t->tree_pair_margin.push_back(margin);
    }
    double& most = t->tree_pair_margin[found->second];
    most = std::max(most, margin);
    return found->second;
  };
  for (int kind = 0; kind < kPairKinds; ++kind) {
    for (int pair = t->pair_adr[kind]; pair < t->pair_adr[kind + 1]; ++pair) {
      stop_if_told();
      const auto [body1, body2] =
          std::minmax(t->geom_body[geom_of_pair(*t, pair, 0)], t->geom_body[geom_of_pair(*t, pair, 1)]);
      const int trees = trees_of(body1, body2, t->pair_margin[pair]);
      if (pair == t->pair_adr[kind] || t->pair_range_trees.back() != trees ||
          t->pair_range_body.back() != body1) {
        t->pair_range_begin.push_back(pair);
        t->pair_range_body.push_back(body1);
        t->pair_range_trees.push_back(trees);
      }
    }
    const int end = t->pair_range_adr[kind + 1] = static_cast<int>(t->pair_range_body.size());
    t->pair_range_next.resize(end, end);
    for (int range = end - 2; range >= t->pair_range_adr[kind]; --range) {
      const bool other =
          t->pair_range_body[range + 1] != t->pair_range_body[range] || t->pair_range_trees[range + 1] < 0;
      t->pair_range_next[range] = other ? range + 1 : t->pair_range_next[range + 1];
    }
  }
  t->pair_range_begin.push_back(static_cast<int>(t->pair_margin.size()));
  // trees of few geoms, whose boxes save nothing
  constexpr size_t kPairsOfRange = 4;
  if (t->pair_range_body.size() * kPairsOfRange > t->pair_margin.size()) {
    t->pair_range_begin.clear(), t->pair_range_body.clear(), t->pair_range_trees.clear(),
        t->pair_range_next.clear();
    t->tree_pair_tree1.clear(), t->tree_pair_tree2.clear(), t->tree_pair_margin.clear();
    t->pair_range_adr.assign(kPairKinds + 1, 0);
  }
}

}  // namespace

void build_pairs(const Model& m, TableStore* t) {
  const std::vector<Candidate> pairs = find_candidates(m);
  t->pair_adr.assign(kPairKinds + 1, 0);
  for (const Candidate& c : pairs) {
    stop_if_told();
    add_parameters(m, c, t);
    t->pair_order.push_back(c.mujoco_order);
    ++t->pair_adr[c.kind + 1];
    if (solves_islands(m, *t)) continue;  // which follow the tree from the bodies in touch
    const std::vector<int> sign = signs_of(m, m.geom_bodyid[c.geom1], m.geom_bodyid[c.geom2]);
    t->pair_sign.insert(t->pair_sign.end(), sign.begin(), sign.end());
    // the whitened rows of a contact reach the ancestors of every dof that it moves
    const std::vector<int> support = support_of(m, sign);
    t->pair_support.insert(t->pair_support.end(), support.begin(), support.end());
  }
  std::partial_sum(t->pair_adr.begin(), t->pair_adr.end(), t->pair_adr.begin());
  add_geoms(m, pairs, t);
  build_ranges(m, t);
}

}  // namespace dualstep

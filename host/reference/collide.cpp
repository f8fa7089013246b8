// Contacts of a pose.
//
// solves    which pairs of geoms are tested, in which order, and with which parameters
// equation  pairs come body by body, in the order of (lower id, higher id). Within two bodies explicit pairs stand
//           first, then all pairs of their geoms that the bit masks let through, in the order of geom ids once the
//           geom of the lower type stands first
// source    this is MuJoCo's order
// deviation there is no broadphase: MuJoCo's only leaves out pairs that cannot touch
// reads     geom_xpos, geom_xmat
// writes    contacts
// cost      all pairs of bodies
#include "host/reference/collide.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "host/interruption.h"
#include "host/model/element_rows.h"
#include "host/reference/constraint.h"
#include "host/reference/contact_model.h"
#include "host/reference/shapes/shapes.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

namespace {

struct Candidate {
  int geom1, geom2;   // geom1 has the lower type
  int explicit_pair;  // -1: from the masks
};

Candidate candidate(const Model& m, int g1, int g2, int explicit_pair) {
  if (m.geom_type[g1] > m.geom_type[g2]) std::swap(g1, g2);
  return Candidate{g1, g2, explicit_pair};
}

// may two bodies touch at all: not fixed to each other, not both without freedom, not parent and child (the
// world and what is fixed to it is nobody's parent)
bool bodies_may_touch(const Model& m, int b1, int b2) {
  const int weld1 = m.body_weldid[b1], weld2 = m.body_weldid[b2];
  if (weld1 == weld2) return false;
  if (m.body_dofnum[weld1] == 0 && m.body_dofnum[weld2] == 0) return false;
  if (!m.opt.disabled(kDisableFilterParent) && weld1 != 0 && weld2 != 0) {
    const int parent1 = m.body_weldid[m.body_parentid[weld1]],
              parent2 = m.body_weldid[m.body_parentid[weld2]];
    if (weld1 == parent2 || weld2 == parent1) return false;
  }
  const int signature = (b1 << 16) + b2;
  return std::find(m.exclude_signature.begin(), m.exclude_signature.end(), signature) ==
         m.exclude_signature.end();
}

bool masks_allow(const Model& m, int g1, int g2) {
  return (m.geom_contype[g1] & m.geom_conaffinity[g2]) != 0 ||
         (m.geom_contype[g2] & m.geom_conaffinity[g1]) != 0;
}

std::vector<Candidate> candidates(const Model& m) {
  // explicit pairs by bodies
  using Key = std::pair<int, int>;
  std::vector<std::pair<Key, int>> pairs;
  for (int k = 0; k < m.npair; k++) {
    const int b1 = m.geom_bodyid[m.pair_geom1[k]], b2 = m.geom_bodyid[m.pair_geom2[k]];
    pairs.emplace_back(Key(std::min(b1, b2), std::max(b1, b2)), k);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });

  std::vector<Candidate> result;
  size_t next = 0;
  for (int b1 = 0; b1 < m.nbody; b1++) {
    stop_if_told();
    for (int b2 = b1; b2 < m.nbody; b2++) {
      const size_t explicit_begin = result.size();
      for (; next < pairs.size() && pairs[next].first == Key(b1, b2); next++) {
        const int k = pairs[next].second;
        result.push_back(candidate(m, m.pair_geom1[k], m.pair_geom2[k], k));
      }
      const size_t explicit_end = result.size();
      if (b1 == b2 || !bodies_may_touch(m, b1, b2)) continue;

      for (int i = 0; i < m.body_geomnum[b1]; i++) {
        for (int j = 0; j < m.body_geomnum[b2]; j++) {
          const Candidate c = candidate(m, m.body_geomadr[b1] + i, m.body_geomadr[b2] + j, -1);
          if (!masks_allow(m, c.geom1, c.geom2)) continue;
          const bool is_explicit = std::any_of(
              result.begin() + explicit_begin, result.begin() + explicit_end, [&](const Candidate& e) {
                return std::minmax(e.geom1, e.geom2) == std::minmax(c.geom1, c.geom2);
              });
          if (!is_explicit) result.push_back(c);
        }
      }
      std::stable_sort(result.begin() + explicit_end, result.end(),
                       [](const Candidate& a, const Candidate& b) {
                         return std::tie(a.geom1, a.geom2) < std::tie(b.geom1, b.geom2);
                       });
    }
  }
  return result;
}

// bounding spheres farther apart than the margin; not all shapes have one
bool out_of_reach(const Model& m, const Data& d, const Candidate& c, double margin) {
  const double r1 = m.geom_rbound[c.geom1], r2 = m.geom_rbound[c.geom2];
  const Vector3d between = d.geom_xpos[c.geom2] - d.geom_xpos[c.geom1];
  if (r1 > 0 && r2 > 0) return between.norm() > r1 + r2 + margin;
  return r2 > 0 && shape_hooks(m.geom_type[c.geom1]).beyond(d.geom_xmat[c.geom1], between, r2, margin);
}

// parameters that all contacts of a pair share; the geom with the higher priority decides, equals are mixed
Contact parameters(const Model& m, const Candidate& c) {
  Contact contact;
  contact.geom1 = c.geom1;
  contact.geom2 = c.geom2;
  const int k = c.explicit_pair, g1 = c.geom1, g2 = c.geom2;
  const auto friction1 = row::geom_friction(m, g1), friction2 = row::geom_friction(m, g2);
  if (k >= 0) {
    contact.dim = m.pair_dim[k];
    contact.includemargin = m.pair_margin[k];
    std::ranges::copy(row::pair_solref(m, k), contact.solref);
    std::ranges::copy(row::pair_solreffriction(m, k), contact.solreffriction);
    std::ranges::copy(row::pair_solimp(m, k), contact.solimp);
    std::ranges::copy(row::pair_friction(m, k), contact.friction.data());
  } else {
    contact.includemargin = m.geom_margin[g1] + m.geom_margin[g2];
    // weight of the first geom
    double mix = 0.5;
    const bool equal = m.geom_priority[g1] == m.geom_priority[g2];
    if (!equal) {
      mix = m.geom_priority[g1] > m.geom_priority[g2] ? 1 : 0;
    } else {
      const double w1 = m.geom_solmix[g1], w2 = m.geom_solmix[g2];
      if (w1 >= kMinVal && w2 >= kMinVal) mix = w1 / (w1 + w2);
      if (w1 >= kMinVal && w2 < kMinVal) mix = 1;
      if (w1 < kMinVal && w2 >= kMinVal) mix = 0;
    }
    auto mixed = [&](double x1, double x2) { return mix * x1 + (1 - mix) * x2; };
    const auto solref1 = row::geom_solref(m, g1), solref2 = row::geom_solref(m, g2);
    const auto solimp1 = row::geom_solimp(m, g1), solimp2 = row::geom_solimp(m, g2);
    contact.dim = equal ? std::max(m.geom_condim[g1], m.geom_condim[g2])
                        : (mix == 1 ? m.geom_condim[g1] : m.geom_condim[g2]);
    // direct references (negative) are not averaged
    const bool direct = equal && (solref1[0] <= 0 || solref2[0] <= 0);
    for (int i = 0; i < 2; i++)
      contact.solref[i] = direct ? std::min(solref1[i], solref2[i]) : mixed(solref1[i], solref2[i]);
    for (int i = 0; i < 5; i++) contact.solimp[i] = mixed(solimp1[i], solimp2[i]);
    double friction[3];
    for (int i = 0; i < 3; i++)
      friction[i] = equal ? std::max(friction1[i], friction2[i]) : mixed(friction1[i], friction2[i]);
    contact.friction << friction[0], friction[0], friction[1], friction[2], friction[2];
  }
  if (m.opt.enabled(kEnableOverride)) {
    contact.includemargin = m.opt.o_margin;
    for (int i = 0; i < 2; i++) contact.solref[i] = contact.solreffriction[i] = m.opt.o_solref[i];
    for (int i = 0; i < 5; i++) contact.solimp[i] = m.opt.o_solimp[i];
    for (int i = 0; i < 5; i++) contact.friction[i] = m.opt.o_friction[i];
  }
  if (mujoco_contacts(m.opt)) {
    contact.friction = contact.friction.cwiseMax(kMinMu);
    return contact;
  }
  // elsewhere the larger coefficient counts as it stands
  if (k < 0 && !m.opt.enabled(kEnableOverride)) {
    double friction[3];
    for (int i = 0; i < 3; i++) friction[i] = std::max(friction1[i], friction2[i]);
    contact.friction << friction[0], friction[0], friction[1], friction[2], friction[2];
  }
  contact.includemargin = contact_margin(m.opt, contact.includemargin);
  return contact;
}

}  // namespace

Shape shape_of(const Model& m, const Data& d, int geom) {
  return Shape{m.geom_type[geom], d.geom_xpos[geom], d.geom_xmat[geom], vec3(m.geom_size, geom),
               Hull{&m, m.geom_dataid[geom]}};
}

Vector3d unit_or_x(const Vector3d& v, double* length) {
  const double norm = v.norm();
  if (length) *length = norm;
  return norm < kMinVal ? Vector3d(1, 0, 0) : Vector3d(v / norm);
}

Matrix3d contact_frame(const Touch& touch) {
  const Vector3d n = unit_or_x(touch.normal);
  Vector3d t = touch.tangent;
  if (t.squaredNorm() < 0.25) t = std::abs(n.y()) < 0.5 ? Vector3d::UnitY() : Vector3d::UnitZ();
  t = unit_or_x(t - n * n.dot(t));
  Matrix3d frame;
  frame << n.transpose(), t.transpose(), n.cross(t).transpose();
  return frame;
}

void collide(const Model& m, Data* d) {
  d->contacts.clear();
  if (m.opt.disabled(kDisableConstraint) || m.opt.disabled(kDisableContact)) return;
  for (const Candidate& c : candidates(m)) {
    stop_if_told();
    Contact contact = parameters(m, c);
    // within the gap a contact is seen but has no rows
    const bool own = mujoco_contacts(m.opt);
    const double gap = !own                   ? 0
                       : c.explicit_pair >= 0 ? m.pair_gap[c.explicit_pair]
                                              : m.geom_gap[c.geom1] + m.geom_gap[c.geom2];
    const double margin = contact.includemargin + gap;
    if (out_of_reach(m, *d, c, margin)) continue;
    Touches touches = collide_shapes(shape_of(m, *d, c.geom1), shape_of(m, *d, c.geom2), margin);
    // without this flag what MuJoCo finds by iteration has one contact
    if (m.opt.disabled(kDisableMultiCcd) && touches.size() > 1 &&
        is_iterated(m.geom_type[c.geom1], m.geom_type[c.geom2]))
      touches.resize(1);
    for (const Touch& touch : touches) {
      contact.dist = touch.dist;
      contact.pos = touch.pos;
      contact.frame = contact_frame(touch);
      d->contacts.push_back(contact);
    }
  }
}

}  // namespace dualstep::reference

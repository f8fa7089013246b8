#include "host/batch/derive.h"

#include <algorithm>
#include <cmath>

#include "host/interruption.h"
#include "host/model/actuator_kinds.h"
#include "host/model/actuator_loads.h"
#include "host/model/element_rows.h"
#include "host/reference/stages.h"
#include "kernels/data/shapes.h"

namespace dualstep {
namespace {

// mass of each body and all that it carries; parents have lower ids than their children
void subtree_mass(Model* m) {
  m->body_subtreemass = m->body_mass;
  for (int b = m->nbody - 1; b > 0; --b) m->body_subtreemass[m->body_parentid[b]] += m->body_subtreemass[b];
}

// radius of the sphere about a geom's centre that holds it; 0 where there is none (planes)
double bounding_radius(int type, std::span<const double> size, double given) {
  using std::hypot;
  const auto largest = [](double a, double b, double c) { return std::max({a, b, c}); };
  const double x = size[0], y = size[1], z = size[2];
#define DS_RADIUS(shape, word, sizes, touches, radius, ...) \
  if (type == shape) return radius;
  DS_SHAPES(DS_RADIUS)
#undef DS_RADIUS
  return given;
}

// what M and the Jacobians at qpos0 depend on
const std::set<std::string> kInertial = {
    "body_pos", "body_quat",    "body_ipos", "body_iquat", "body_mass",       "body_inertia",     "jnt_pos",
    "jnt_axis", "dof_armature", "qpos0",     "wrap_prm",   "tendon_armature", "actuator_armature"};
// and what paths of tendons do beside
const std::set<std::string> kPaths = {"site_pos", "geom_pos", "geom_quat", "geom_size"};
// and what muscles do
const std::set<std::string> kMoments = {"actuator_gear", "actuator_cranklength", "site_pos", "site_quat"};
constexpr double kTinyMass = 1e-15;

bool only_slides(const Model& m, int body) { return m.body_simple[body] == 2; }
double inverse_mass(const Model& m, int body) { return 1 / std::max(kTinyMass, m.body_mass[body]); }

void body_weights(Model* m, const reference::Data& d) {
  using namespace reference;
  MatrixXd translation, rotation;
  for (int b = 1; b < m->nbody; ++b) {
    stop_if_told();
    const auto weight = row::body_invweight0(*m, b);
    weight[0] = weight[1] = 0;
    if (m->body_dofnum[m->body_weldid[b]] == 0) continue;
    if (only_slides(*m, b)) {
      weight[0] = inverse_mass(*m, b);
      continue;
    }
    point_jacobian(*m, d, b, d.xipos[b], &translation, &rotation);
    weight[0] = (translation * d.M_llt.solve(translation.transpose())).trace() / 3;
    weight[1] = (rotation * d.M_llt.solve(rotation.transpose())).trace() / 3;
  }
}

void dof_weights(Model* m, const reference::Data& d) {
  const reference::VectorXd diagonal = d.M_llt.inverse_diagonal();
  for (int j = 0; j < m->njnt; ++j) {
    double* weight = &m->dof_invweight0[m->jnt_dofadr[j]];
    const auto alike = [&](int first) {
      const double mean = diagonal.segment(m->jnt_dofadr[j] + first, 3).mean();
      std::fill_n(weight + first, 3, mean);
    };
    if (only_slides(*m, m->jnt_bodyid[j])) {
      weight[0] = inverse_mass(*m, m->jnt_bodyid[j]);
    } else if (m->jnt_type[j] == kBall) {
      alike(0);
    } else if (m->jnt_type[j] == kFree) {
      alike(0);
      alike(3);
    } else {
      weight[0] = diagonal[m->jnt_dofadr[j]];
    }
  }
}

void tendon_weights(Model* m, const reference::Data& d) {
  for (int t = 0; t < m->ntendon; ++t) {
    stop_if_told();
    const reference::VectorXd moment = d.ten_J.row(t);
    m->tendon_length0[t] = d.ten_length[t];
    m->tendon_invweight0[t] = moment.dot(d.M_llt.solve(moment));
  }
}

// what an actuator's unit of force accelerates
void actuator_weights(Model* m, reference::Data* d) {
  reference::transmission(*m, d);
  for (int a = 0; a < m->nactuator; ++a) {
    stop_if_told();
    const reference::VectorXd moment = d->actuator_moment.row(a);
    m->actuator_length0[a] = d->actuator_length[a];
    m->actuator_acc0[a] = d->M_llt.solve(moment).norm();
  }
}

reference::Data poses_at_qpos0(const Model& m) {
  reference::Data d = reference::make_data(m);
  d.qpos = Eigen::Map<const reference::VectorXd>(m.qpos0.data(), m.nq);
  reference::kinematics(m, &d);
  return d;
}

void inverse_weights(Model* m, bool moments_alone) {
  reference::Data d = poses_at_qpos0(*m);
  reference::center_of_mass(*m, &d);
  reference::tendons(*m, &d);
  loaded(*m, [&](const Model& with) { reference::mass_matrix(with, &d); });
  if (!moments_alone) {
    body_weights(m, d);
    dof_weights(m, d);
  }
  tendon_weights(m, d);
  if (any_is_muscle(*m)) actuator_weights(m, &d);
}

// where bodies stand at qpos0
const std::set<std::string> kPoses = {"body_pos", "body_quat", "jnt_pos", "jnt_axis", "qpos0"};

bool connects_bodies(const Model& m, int i) {
  return m.eq_type[i] == kEqConnect && m.eq_objtype[i] == kObjBody;
}
bool any_connects_bodies(const Model& m) {
  for (int i = 0; i < m.neq; ++i)
    if (connects_bodies(m, i)) return true;
  return false;
}

// of a connect between bodies the point of the second that the anchor of the first lies on at qpos0
void connected_points(Model* m) {
  const reference::Data d = poses_at_qpos0(*m);
  for (int i = 0; i < m->neq; ++i) {
    if (!connects_bodies(*m, i)) continue;
    const int body1 = m->eq_obj1id[i], body2 = m->eq_obj2id[i];
    const auto anchors = row::eq_data(*m, i);
    const reference::Vector3d own(anchors[0], anchors[1], anchors[2]);
    const reference::Vector3d point = d.xpos[body1] + d.xmat[body1] * own;
    const reference::Vector3d other = d.xmat[body2].transpose() * (point - d.xpos[body2]);
    for (int k = 0; k < 3; ++k) anchors[3 + k] = other[k];
  }
}

}  // namespace

void derive_constants(Model* model, const std::set<std::string>& changed) {
  if (changed.count("body_mass")) subtree_mass(model);
  if (changed.count("geom_size"))
    for (int g = 0; g < model->ngeom; ++g)
      model->geom_rbound[g] =
          bounding_radius(model->geom_type[g], row::geom_size(*model, g), model->geom_rbound[g]);
  const auto touches = [&](const std::set<std::string>& names) {
    return std::any_of(changed.begin(), changed.end(),
                       [&](const std::string& n) { return names.count(n) > 0; });
  };
  if (any_connects_bodies(*model) && touches(kPoses) && !changed.count("eq_data")) connected_points(model);
  const bool inertial = touches(kInertial) || (has_actuator_loads(*model) && changed.count("actuator_gear")),
             paths = model->ntendon > 0 && touches(kPaths),
             moments = any_is_muscle(*model) && touches(kMoments);
  if ((inertial || paths || moments) && model->nv > 0) inverse_weights(model, !inertial);
}

}  // namespace dualstep

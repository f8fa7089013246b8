// Values that no simulation should be started with; MuJoCo's compiler accepts many of them.
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "host/interruption.h"
#include "host/model/actuator_kinds.h"
#include "host/model/actuator_loads.h"
#include "host/model/element_rows.h"
#include "host/model/model_fields.h"
#include "host/model/motors.h"
#include "host/model/options_table.h"
#include "host/model/unsupported.h"
#include "kernels/data/shapes.h"

namespace dualstep {
namespace {

// positions beyond this are what MuJoCo itself calls a diverged state; the rest must have finite squares in
// float
constexpr double kMaxLength = 1e10, kMaxValue = 1e18;

const std::set<std::string> kLengths = {"body_pos", "body_ipos",   "body_mass",    "body_inertia",
                                        "jnt_pos",  "geom_size",   "geom_pos",     "site_pos",
                                        "qpos0",    "qpos_spring", "dof_armature", "key_qpos",
                                        "key_qvel", "key_mpos",    "mesh_vert",    "hfield_size"};
const std::set<std::string> kNotNegative = {
    "body_mass",      "body_inertia",        "dof_frictionloss",  "dof_armature",    "dof_damping",
    "geom_friction",  "geom_solmix",         "geom_size",         "geom_gap",        "pair_friction",
    "pair_gap",       "tendon_frictionloss", "tendon_damping",    "geom_rbound",     "tendon_armature",
    "actuator_delay", "actuator_damping",    "actuator_armature", "body_invweight0", "dof_invweight0",
    "sensor_cutoff",  "hfield_size",         "hfield_data"};
const std::set<std::string> kUnitQuaternions = {"body_quat", "body_iquat", "geom_quat", "site_quat"};
// no part of the physics
const std::set<std::string> kNotPhysics = {"numeric_data", "geom_rgba", "geom_aabb", "geom_rbound",
                                           "site_size"};

std::string show(double v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

// the element that a row of a field belongs to
std::string owner(const Model& m, const std::string& field, int row) {
  const std::string prefix = field.substr(0, field.find('_'));
  if (prefix == "dof") return element_name(m, "jnt", m.dof_jntid[row]);
  if (prefix == "qpos0" || prefix == "qpos") {
    for (int j = m.njnt - 1; j >= 0; --j) {
      if (m.jnt_qposadr[j] <= row) return element_name(m, "jnt", j);
    }
  }
  if (field == "actuator_ctrlrange") row = actuator_of_control(m, row);
  for (const char* kind :
       {"body", "jnt", "geom", "site", "pair", "eq", "tendon", "actuator", "sensor", "key", "hfield"}) {
    if (prefix == kind) return element_name(m, kind, row);
  }
  return prefix + " " + std::to_string(row);
}

void check_arrays(const Model& m, std::vector<Problem>* problems) {
  for_each_field(m, [&](const std::string& name, const auto& values, int rows, int cols, double) {
    if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::vector<double>>) {
      if (rows == 0 || values.empty() || kNotPhysics.count(name)) return;
      if (cols < 0) cols = static_cast<int>(values.size()) / rows;
      const double bound = kLengths.count(name) ? kMaxLength : kMaxValue;
      for (int r = 0; r < rows; ++r) {
        stop_if_told();
        for (int c = 0; c < cols; ++c) {
          const double v = values[static_cast<size_t>(r) * cols + c];
          std::string reason;
          if (!std::isfinite(v)) {
            reason = "must be finite";
          } else if (std::abs(v) > bound) {
            reason = "must be at most " + show(bound) + " in magnitude";
          } else if (v < 0 && kNotNegative.count(name)) {
            reason = "must not be negative";
          } else {
            continue;
          }
          const std::string entry = cols > 1 ? "entry " + std::to_string(c) + " " : "";
          problems->push_back({name, owner(m, name, r), entry + "is " + show(v) + ", " + reason});
          break;
        }
        if (kUnitQuaternions.count(name)) {
          const double* q = &values[static_cast<size_t>(r) * 4];
          const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
          if (std::isfinite(norm) && std::abs(norm - 1) > 1e-6) {
            problems->push_back({name, owner(m, name, r), "has norm " + show(norm) + ", must be 1"});
          }
        }
      }
    }
  });
}

void check_joints(const Model& m, std::vector<Problem>* problems) {
  for (int j = 0; j < m.njnt; ++j) {
    const auto [lower, upper] = bounds(row::jnt_range(m, j));
    if (m.jnt_limited[j] && lower > upper) {
      problems->push_back({"jnt_range", element_name(m, "jnt", j),
                           "is " + show(lower) + " to " + show(upper) + ", must rise"});
    }
    if (m.jnt_type[j] != kSlide && m.jnt_type[j] != kHinge) continue;
    const auto a = row::jnt_axis(m, j);
    const double norm = std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    if (std::isfinite(norm) && std::abs(norm - 1) > 1e-6) {
      problems->push_back({"jnt_axis", element_name(m, "jnt", j), "has norm " + show(norm) + ", must be 1"});
    }
  }
  // mass that each body carries: without any, and without armature, the mass matrix is singular
  std::vector<double> carried = m.body_mass;
  const std::vector<double> armature = loaded(m, [](const Model& with) { return with.dof_armature; });
  for (int b = m.nbody - 1; b > 0; --b) carried[m.body_parentid[b]] += carried[b];
  for (int d = 0; d < m.nv; ++d) {
    const int body = m.dof_bodyid[d];
    if (carried[body] == 0 && armature[d] == 0) {
      problems->push_back({"body_mass", element_name(m, "body", body),
                           "it moves, but neither it nor what it carries has mass"});
      break;
    }
  }
}

void check_geoms(const Model& m, std::vector<Problem>* problems) {
  auto condim = [&](const char* kind, int id, int dim) {
    if (dim == 1 || dim == 3 || dim == 4 || dim == 6) return;
    problems->push_back(
        {"condim", element_name(m, kind, id), "is " + std::to_string(dim) + ", must be 1, 3, 4 or 6"});
  };
  for (int g = 0; g < m.ngeom; ++g) {
    condim("geom", g, m.geom_condim[g]);
    for (int k = 0; k < shape_row(m.geom_type[g]).sizes; ++k) {
      if (row::geom_size(m, g)[k] == 0) {
        problems->push_back({"geom_size", element_name(m, "geom", g),
                             "entry " + std::to_string(k) + " is 0, must be positive"});
      }
    }
  }
  for (int i = 0; i < m.npair; ++i) condim("pair", i, m.pair_dim[i]);
}

}  // namespace

void find_invalid(const Model& m, std::vector<Problem>* problems) {
  for (const auto& [name, reason] : invalid_options(m.opt)) problems->push_back({name, "option", reason});
  check_joints(m, problems);  // before what would follow from a mass of zero
  check_arrays(m, problems);
  check_geoms(m, problems);
  for (int a = 0; a < m.nactuator; ++a)
    if (is_motor(m, a)) motor_kind(m, a).check(m, a, problems);
}

}  // namespace dualstep

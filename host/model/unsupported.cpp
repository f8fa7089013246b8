// Refusals: every feature that would change the physics and is not simulated, by element and reason.
#include "host/model/unsupported.h"

#include <algorithm>
#include <sstream>

#include "host/model/actuator_kinds.h"
#include "host/model/contact_law.h"
#include "host/model/element_rows.h"
#include "host/model/motors.h"
#include "host/model/sensor_types.h"
#include "kernels/data/shapes.h"

namespace dualstep {
namespace {

// enumerations of MuJoCo 4.0.0, for messages
std::string word(const std::vector<const char*>& words, int value) {
  if (value >= 0 && value < static_cast<int>(words.size())) return words[value];
  return "number " + std::to_string(value);
}
const std::vector<const char*> kEqWords = {"connect", "weld",     "joint",      "tendon",
                                           "flex",    "flexvert", "flexstrain", "distance"};

bool any_nonzero(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return v != 0; });
}

// MuJoCo has no collider for surfaces without thickness against each other
bool shapes_collide(int type1, int type2) {
  return !(shape_is(type1, kShapeSurface) && shape_is(type2, kShapeSurface));
}

bool in_pair(const Model& m, int geom1, int geom2) {
  for (int i = 0; i < m.npair; ++i) {
    if ((m.pair_geom1[i] == geom1 && m.pair_geom2[i] == geom2) ||
        (m.pair_geom1[i] == geom2 && m.pair_geom2[i] == geom1)) {
      return true;
    }
  }
  return false;
}

struct Report {
  const Model& m;
  std::vector<Problem>* problems;
  void operator()(const std::string& feature, const std::string& kind, int id, const std::string& reason,
                  const std::string& detail = "") const {
    problems->push_back({feature, element_name(m, kind, id), reason, detail});
  }
};

// contacts that are no rows of a step, or not rows alone, see the velocities of bodies
bool ignores_surfaces(const ContactModelTraits& model) { return model.springs || model.impacts; }
bool surfaces_ignored(const Options& o) {
  return ignores_surfaces(contact_models()[static_cast<int>(o.contact_model)]) ||
         o.scheme == Scheme::kEventDriven || o.integrator == Integrator::kVariational;
}
std::string why_surfaces_are_ignored() {
  std::string words;
  for (const ContactModelTraits& model : contact_models())
    if (ignores_surfaces(model)) words += std::string(model.word) + ", ";
  return "surfaces do not move under " + words + "event_driven and variational";
}

void refuse_geoms(const Model& m, const Report& refuse) {
  const bool medium = m.opt.density > 0 || m.opt.viscosity > 0;
  for (int g = 0; g < m.ngeom; ++g) {
    const int type = m.geom_type[g];
    const bool sticks = m.geom_adhesion[g] != 0;
    const bool stops = surface_moves(m, g) && surfaces_ignored(m.opt);
    if (!reference_collides(type) || sticks || stops) {
      const std::string touches = touched_by(m, g);
      const bool collides = !touches.empty();
      if (collides && !reference_collides(type)) {
        refuse(geom_word(type) + " collision", "geom", g,
               "only planes, height fields, spheres, capsules, ellipsoids, cylinders, boxes and convex "
               "meshes collide "
               "here",
               touches);
      }
      if (collides && stops) refuse("surface velocity", "geom", g, why_surfaces_are_ignored(), touches);
      if (collides && sticks) refuse("adhesion", "geom", g, "contacts only push here", touches);
    }
    if (medium && has_fluid_ellipsoid(m, g) && m.opt.integrator == Integrator::kDiscrete) {
      refuse("ellipsoid fluid model under discrete", "geom", g,
             "forces of the medium on ellipsoids are integrated by Euler, RK4, implicit and implicitfast");
    }
    if (m.geom_plugin[g] >= 0) refuse("plugin", "geom", g, "plugins are not run");
  }
  for (int i = 0; i < m.npair; ++i) {
    if (m.pair_adhesion[i] != 0) refuse("adhesion", "pair", i, "contacts only push here");
  }
}

void refuse_joints(const Model& m, const Report& refuse) {
  for (int j = 0; j < m.njnt; ++j) {
    if (any_nonzero(row::jnt_stiffnesspoly(m, j))) {
      refuse("polynomial stiffness", "jnt", j, "only linear springs are simulated");
    }
    if (m.jnt_springyield[j] != 0) refuse("spring yield", "jnt", j, "springs do not yield here");
  }
  for (int d = 0; d < m.nv; ++d) {
    if (any_nonzero(row::dof_dampingpoly(m, d)) && (d == 0 || m.dof_jntid[d] != m.dof_jntid[d - 1])) {
      refuse("polynomial damping", "jnt", m.dof_jntid[d], "only linear damping is simulated");
    }
  }
  for (int b = 0; b < m.nbody; ++b) {
    if (m.body_plugin[b] >= 0) refuse("plugin", "body", b, "plugins are not run");
  }
}

// the kind of an actuator by its row, where it is not simulated
template <class Row, std::size_t kRows>
void refuse_kind(const Row (&rows)[kRows], int code, const std::string& what, const std::string& beside,
                 int a, const Report& refuse) {
  const Row row = row_of_code(rows, code);
  if (row.simulated) return;
  std::string all;
  for (const Row& other : rows)
    if (other.simulated) all += (all.empty() ? "" : ", ") + std::string(other.word);
  refuse(what + (row.word ? row.word : "number " + std::to_string(code)), "actuator", a,
         "simulated are " + all + beside);
}

// "dcmotor and pid"
std::string words_of_motors() {
  std::string words;
  for (const MotorRow& motor : kMotorRows) words += (words.empty() ? "" : " and ") + std::string(motor.word);
  return words;
}

// whether the force depends on the velocity by a gain or bias, and its first three parameters
bool by_velocity(const ForceRow& row, std::span<const double> prm) {
  return (row.traits & kForceByMotion) != 0 || ((row.traits & kForceAffine) != 0 && prm[2] != 0);
}

void refuse_actuators(const Model& m, const Report& refuse) {
  for (int a = 0; a < m.nactuator; ++a) {
    if (m.actuator_plugin[a] >= 0) {
      refuse("plugin", "actuator", a, "plugins are not run");
      continue;
    }
    refuse_kind(kTransmissionRows, m.actuator_trntype[a], "transmission ", "", a, refuse);
    if (acts_by_contacts(m, a) && (by_velocity(gain_of(m, a), row::actuator_gainprm(m, a)) ||
                                   by_velocity(bias_of(m, a), row::actuator_biasprm(m, a)))) {
      refuse("adhesion by velocity", "actuator", a,
             "the force on a body does not depend on its velocity here");
    }
    const bool motor = is_motor(m, a);
    static const std::string motors = words_of_motors(), beside = ", and those of " + motors;
    if (motor) {
      refuse_motor(m, a, refuse.problems);
    } else {
      refuse_kind(kDynamicsRows, m.actuator_dyntype[a], "activation dynamics ", beside, a, refuse);
      refuse_kind(kGainRows, m.actuator_gaintype[a], "gain ", beside, a, refuse);
      refuse_kind(kBiasRows, m.actuator_biastype[a], "bias ", beside, a, refuse);
    }
    if (m.actuator_delay[a] != 0 && kept_samples(m, a) < 1)
      refuse("actuator delay without samples", "actuator", a, "controls are kept sample by sample");
    if (m.actuator_ctrlnum[a] != 1 && !motor) {
      refuse("several inputs", "actuator", a,
             "it has " + std::to_string(m.actuator_ctrlnum[a]) + " controls; only those of " + motors +
                 " are simulated");
    }
    if (m.actuator_outnum[a] != 1) {
      refuse("several outputs", "actuator", a,
             "it has " + std::to_string(m.actuator_outnum[a]) + " forces, and one is simulated");
    }
    if (m.actuator_actnum[a] > 1 && !motor) {
      refuse(
          "several activations", "actuator", a,
          "it has " + std::to_string(m.actuator_actnum[a]) + "; only those of " + motors + " are simulated");
    }
    if (any_nonzero(row::actuator_dampingpoly(m, a)))
      refuse("polynomial damping", "actuator", a, "only linear damping is simulated");
  }
}

void refuse_tendons(const Model& m, const Report& refuse) {
  for (int t = 0; t < m.ntendon; ++t) {
    if (!m.opt.disabled(kDisableSpring) && any_nonzero(row::tendon_stiffnesspoly(m, t)))
      refuse("polynomial stiffness", "tendon", t, "only linear springs are simulated");
    if (!m.opt.disabled(kDisableDamper) && any_nonzero(row::tendon_dampingpoly(m, t)))
      refuse("polynomial damping", "tendon", t, "only linear damping is simulated");
    if (m.tendon_springyield[t] != 0) refuse("spring yield", "tendon", t, "springs do not yield here");
  }
}

void refuse_equalities(const Model& m, const Report& refuse) {
  if (m.opt.disabled(kDisableEquality) || m.opt.disabled(kDisableConstraint)) return;
  for (int e = 0; e < m.neq; ++e) {
    const int type = m.eq_type[e];
    // one that starts inactive stays so: nothing here switches it on
    if (!m.eq_active0[e] || (type >= kEqConnect && type <= kEqTendon)) continue;
    refuse("equality " + word(kEqWords, type), "eq", e,
           "only connect, weld, joint and tendon equalities are simulated");
  }
}

// whether a ray may meet a geom that it cannot be cast at
bool rays_may_meet_unseen_shapes(const Model& m) {
  for (int g = 0; g < m.ngeom; ++g)
    if (shape_is(m.geom_type[g], kShapeUnseen) && is_visible(m, g)) return true;
  return false;
}

// the first geom that a sensor of distances cannot measure to, -1 where there is none
int unmeasured_geom(const Model& m, int sensor) {
  for (const MeasuredGeoms& of : measured_geoms(m, sensor))
    for (int g = of.first; g < of.end; ++g)
      if (shape_is(m.geom_type[g], kShapeUntouched | kShapeGrid)) return g;
  return -1;
}

void refuse_sensors(const Model& m, const Report& refuse) {
  constexpr int kWithoutVelocities = kContactLinVel - 1;
  if (m.opt.disabled(kDisableSensor)) return;
  for (int s = 0; s < m.nsensor; ++s) {
    const int type = m.sensor_type[s], data = sensor_parameter(m, s, kSensorData);
    const SensorTypeRow& row = sensor_type_row(type);
    if (!row.simulated) {
      refuse("sensor " + (row.word ? row.word : "number " + std::to_string(type)), "sensor", s,
             "sensors of this type are not computed");
    } else if (row.object == SensorObject::kContacts && data & ~kWithoutVelocities) {
      refuse("contact sensor of velocities", "sensor", s, "contacts have no velocity here");
    } else if (row.object == SensorObject::kRays && m.sensor_objtype[s] != kObjCamera &&
               rays_may_meet_unseen_shapes(m)) {
      refuse("rangefinder before signed distance fields", "sensor", s, "rays do not meet them");
    } else if (row.object == SensorObject::kMeasured) {
      const int geom = unmeasured_geom(m, s);
      if (geom >= 0)
        refuse("distance to a " + geom_word(m.geom_type[geom]), "sensor", s,
               "planes and convex shapes are measured", "of " + element_name(m, "geom", geom));
    } else if (type == kActuatorVel && acts_by_contacts(m, m.sensor_objid[s])) {
      refuse("sensor actuatorvel of adhesion", "sensor", s, "an actuator on a body has no velocity here");
    } else if (m.sensor_objtype[s] == kObjCamera || m.sensor_reftype[s] == kObjCamera) {
      refuse("sensor of a camera", "sensor", s, "cameras have no frame here");
    } else if (row.object == SensorObject::kFramed) {
      for (const int of :
           {m.sensor_objtype[s], m.sensor_refid[s] == -1 ? int{kObjBody} : m.sensor_reftype[s]})
        if (of != kObjBody && of != kObjXBody && of != kObjGeom && of != kObjSite)
          refuse("sensor of object type " + std::to_string(of), "sensor", s,
                 "only bodies, geoms and sites have a frame here");
    }
    if (m.sensor_delay[s] != 0 || any_nonzero(row::sensor_interval(m, s))) {
      refuse("sensor delay", "sensor", s, "sensors report the present here");
    }
  }
}

void refuse_options(const Model& m, const Report& refuse) {
  auto flag = [&](const std::string& name, const std::string& reason) {
    refuse.problems->push_back({"flag " + name, "option", reason});
  };
  if (m.opt.enabled(kEnableSleep)) flag("sleep", "trees neither sleep here nor begin asleep");
  if (m.opt.enabled(kEnableDiagExact))
    flag("diagexact", "the regularizer uses the diagonal that the model file fixes");
  if (m.opt.enabled(kEnableSpeculative))
    flag("speculative", "contacts are found where the bodies are, not where they go");
  if (m.opt.enableflags & ~kEnableAll)
    flag("enable " + std::to_string(m.opt.enableflags & ~kEnableAll), "unknown bits");
  if (m.opt.disableflags & ~kDisableAll) {
    flag("disable " + std::to_string(m.opt.disableflags & ~kDisableAll), "unknown bits");
  }
}

std::string count(size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

}  // namespace

int actuator_of_control(const Model& m, int control) {
  for (int a = 0; a < m.nactuator; ++a)
    if (control >= m.actuator_ctrladr[a] && control - m.actuator_ctrladr[a] < m.actuator_ctrlnum[a]) return a;
  return -1;
}

std::vector<int> kept_controls(const Model& m) {
  std::vector<int> first = {0};
  for (int a = 0; a < m.nactuator; ++a)
    for (int k = 0; k < m.actuator_ctrlnum[a]; ++k)
      first.push_back(first.back() + (m.actuator_delay[a] > 0 ? kept_samples(m, a) : 0));
  return first;
}

std::string element_name(const Model& m, const std::string& kind, int id) {
  std::string label = kind;
  if (kind == "jnt") label = "joint";
  if (kind == "eq") label = "equality";
  if (kind == "key") label = "keyframe";
  const std::string name = m.name_of(kind, id), unnamed = kind + " " + std::to_string(id);
  if (name != unnamed) return label + " '" + name + "'";
  std::string text = label + " " + std::to_string(id);
  // an id, or a body, that contradicts another array has no owner to name
  const auto at = [id](const std::vector<int>& values) {
    return id >= 0 && id < static_cast<int>(values.size()) ? values[id] : -1;
  };
  int body = -1;
  if (kind == "geom") body = at(m.geom_bodyid);
  if (kind == "jnt") body = at(m.jnt_bodyid);
  if (kind == "site") body = at(m.site_bodyid);
  if (body >= 0) text += " of " + element_name(m, "body", body);
  const int eq = kind == "eq" ? at(m.eq_type) : -1;
  if (eq == kEqConnect || eq == kEqWeld || eq == kEqJoint) {
    const bool sites = eq != kEqJoint && m.eq_objtype[id] == kObjSite;
    text += " of " + element_name(m, eq == kEqJoint ? "jnt" : sites ? "site" : "body", m.eq_obj1id[id]);
  }
  return text;
}

bool casts_rays(const Model& m) {
  return std::any_of(m.sensor_type.begin(), m.sensor_type.end(),
                     [](int type) { return sensor_type_row(type).object == SensorObject::kRays; });
}

std::vector<MeasuredGeoms> measured_geoms(const Model& m, int s) {
  if (sensor_type_row(m.sensor_type[s]).object != SensorObject::kMeasured) return {};
  const auto geoms = [&](int object, int id) {
    const int first = object == kObjBody ? m.body_geomadr[id] : id;
    return MeasuredGeoms{first, first + (object == kObjBody ? m.body_geomnum[id] : 1)};
  };
  return {geoms(m.sensor_objtype[s], m.sensor_objid[s]), geoms(m.sensor_reftype[s], m.sensor_refid[s])};
}

bool may_collide_as_pair(const Model& m, int geom1, int geom2) {
  if (m.opt.disabled(kDisableContact) || m.opt.disabled(kDisableConstraint)) return false;
  return shapes_collide(m.geom_type[geom1], m.geom_type[geom2]);
}

bool masks_let_through(const Model& m, int geom1, int geom2) {
  return (m.geom_contype[geom1] & m.geom_conaffinity[geom2]) != 0 ||
         (m.geom_contype[geom2] & m.geom_conaffinity[geom1]) != 0;
}

int exclusion(int body1, int body2) { return (std::min(body1, body2) << 16) + std::max(body1, body2); }

bool may_collide(const Model& m, int geom1, int geom2) {
  if (!may_collide_as_pair(m, geom1, geom2)) return false;
  // explicit pairs override every filter
  if (in_pair(m, geom1, geom2)) return true;
  const int body1 = m.geom_bodyid[geom1], body2 = m.geom_bodyid[geom2];
  return masks_let_through(m, geom1, geom2) && bodies_may_collide(m, body1, body2) &&
         std::find(m.exclude_signature.begin(), m.exclude_signature.end(), exclusion(body1, body2)) ==
             m.exclude_signature.end();
}

bool bodies_may_collide(const Model& m, int body1, int body2) {
  // bodies welded together never touch, nor do two that cannot move
  const int weld1 = m.body_weldid[body1], weld2 = m.body_weldid[body2];
  if (weld1 == weld2 || (m.body_dofnum[weld1] == 0 && m.body_dofnum[weld2] == 0)) return false;
  // parent and child do not, unless the parent is the world
  const int parent1 = m.body_weldid[m.body_parentid[weld1]], parent2 = m.body_weldid[m.body_parentid[weld2]];
  const bool filtered = !m.opt.disabled(kDisableFilterParent) && weld1 != 0 && weld2 != 0;
  return !(filtered && (weld1 == parent2 || weld2 == parent1));
}

void find_unsupported(const Model& m, std::vector<Problem>* problems) {
  const Report refuse{m, problems};
  refuse_options(m, refuse);
  refuse_joints(m, refuse);
  refuse_geoms(m, refuse);
  refuse_equalities(m, refuse);
  refuse_tendons(m, refuse);
  refuse_actuators(m, refuse);
  refuse_sensors(m, refuse);
}

std::optional<Integrator> integrator_of(double number) {
  for (int i = kEuler; i <= kDiscrete; ++i)
    if (number == i) return static_cast<Integrator>(i);
  return std::nullopt;
}

void find_unsupported_raw(const RawModel& raw, std::vector<Problem>* problems) {
  auto option = [&](const char* name) {
    const auto it = raw.option.find(name);
    return it == raw.option.end() || it->second.empty() ? 0.0 : it->second[0];
  };
  auto size = [&](const char* name) {
    const auto it = raw.sizes.find(name);
    return it == raw.sizes.end() ? 0L : it->second;
  };
  if (const double given = option("integrator"); !integrator_of(given)) {
    std::ostringstream number;
    number << given;
    problems->push_back({"integrator " + number.str(), "option",
                         "only Euler, RK4, implicit, implicitfast and discrete are simulated"});
  }
  if (size("nflex") > 0)
    problems->push_back({"flex", count(size("nflex"), "flex object"), "bodies are rigid here"});
  if (size("nplugin") > 0) {
    problems->push_back({"plugin", count(size("nplugin"), "plugin instance"), "plugins are not run"});
  }
}

void check_kernels(const Model& m) {
  std::vector<Problem> problems;
  const std::string reason = "a Batch does not simulate it; a Reference does";
  const bool gaps = std::any_of(m.geom_gap.begin(), m.geom_gap.end(), [](double x) { return x != 0; }) ||
                    std::any_of(m.pair_gap.begin(), m.pair_gap.end(), [](double x) { return x != 0; });
  for (int a = 0; a < m.nactuator; ++a)
    if (gaps && acts_by_contacts(m, a))
      problems.push_back({"adhesion across a gap", element_name(m, "actuator", a), reason});

  for (const Model::Prescribed& p : m.prescribed)
    problems.push_back({"prescribed velocity", element_name(m, "jnt", p.joint), reason});
  refuse_contact_law(m, &problems);
  const Options& o = m.opt;
  const std::string element = "option";
  if (o.equality_alpha >= 0 && m.neq > 0) problems.push_back({"equality_alpha", element, reason});
  const bool own = law_has(o, kLawMujocoMargins) && o.contact_parameters != ContactParameters::kSpringDamper;
  if (o.integrator == Integrator::kDiscrete && (!own || o.desaxce))
    problems.push_back({"integrator = discrete", element, kDiscreteTakes});
  if (o.integrator == Integrator::kVariational)
    problems.push_back({"integrator = variational", element, reason});
  if (o.scheme != Scheme::kTimeStepping) problems.push_back({"scheme = event_driven", element, reason});
  throw_problems(problems, {});
}

}  // namespace dualstep

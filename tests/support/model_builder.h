// A model body by body, without MuJoCo's compiler: for tests in C++.
//
//   ModelBuilder b;
//   const int arm = b.body(0, {0, 0, 1}, 0.5);
//   b.joint(arm, {.type = kHinge, .axis = {0, 1, 0}, .range = {-1, 1}});
//   b.geom(arm, {.type = kCapsule, .size = {0.05, 0.2}});
//   Model m = b.build();
//
// Bodies in the order of a walk through the tree, children after parents; joints and geoms of a body
// together. Inertias are those of a ball of the body's radius of gyration; invweight0 is one over the moving
// mass or moment, not MuJoCo's: it only scales how soft contacts are.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "host/model/model.h"
#include "kernels/data/actuators.h"

namespace dualstep {

using Three = std::array<double, 3>;

struct JointSpec {
  int type = kHinge;
  Three axis{0, 0, 1}, pos{0, 0, 0};
  std::array<double, 2> range{0, 0};  // a limit where they differ
  double damping = 0, stiffness = 0, friction_loss = 0, armature = 0;
  std::array<double, 2> force{0, 0};  // a limit of the actuators' force where they differ
  bool carried = false;               // gravity compensation acts through the joint's actuators
};
struct GeomSpec {
  int type = kSphere;
  Three size{0.1, 0, 0}, pos{0, 0, 0};
  int condim = 3, group = 1;  // contype and conaffinity
  Three friction{1, 0.005, 0.0001};
};
struct TendonSpec {
  std::array<double, 2> range{0, 0}, force{0, 0};  // limits where they differ
  double stiffness = 0, damping = 0, armature = 0, friction_loss = 0;
};
struct ActuatorSpec {
  int joint = 0;
  double gear = 1;
  int dyn = kDynNone;
  double kp = 0, kv = 0;  // of a position servo; a motor where both are 0
  int trn = kTrnJoint;    // or of a tendon or a site, whose id is `joint`
  int other = -1;         // the second site
  bool muscle = false;
  double delay = 0;  // of its controls, which have four samples and are lines between them
  int inputs = 0;    // ControlInput of a DC motor with every activation; no motor where there are none
};

class ModelBuilder {
 public:
  std::map<std::string, std::vector<double>> option = {{"timestep", {0.004}}};

  ModelBuilder() { body(-1, {0, 0, 0}, 0); }

  int body(int parent, const Three& pos, double mass, double gyration = 0.1, double gravcomp = 0) {
    const int id = count("nbody")++;
    ints("body_parentid", {parent < 0 ? 0 : parent});
    ints("body_mocapid", {-1});
    reals("body_pos", pos);
    reals("body_quat", kUnit);
    reals("body_ipos", {0.01, 0.02, -0.03});
    reals("body_iquat", kUnit);
    reals("body_mass", {mass});
    const double moment = mass * gyration * gyration;
    reals("body_inertia", {moment, 1.1 * moment, 0.9 * moment});
    reals("body_gravcomp", {gravcomp});
    reals("body_invweight0", {mass > 0 ? 1 / mass : 0, mass > 0 ? 1 / moment : 0});
    for (const char* what : {"jnt", "dof", "geom"}) {
      ints(std::string("body_") + what + "num", {0});
      ints(std::string("body_") + what + "adr", {-1});
    }
    return id;
  }

  // a body whose centre of mass no joint moves
  void without_weight(int body) { raw_.reals["body_invweight0"][2 * body] = 0; }

  // a body that the user moves
  int mocap_body(const Three& pos) {
    const int id = body(0, pos, 0);
    raw_.ints["body_mocapid"][id] = static_cast<int>(count("nmocap")++);
    return id;
  }

  int joint(int body, const JointSpec& s) {
    const int id = count("njnt")++, positions = s.type == kFree ? 7 : s.type == kBall ? 4 : 1;
    const int dofs = s.type == kFree ? 6 : s.type == kBall ? 3 : 1;
    belongs("jnt", body, id);
    ints("jnt_type", {s.type});
    ints("jnt_qposadr", {static_cast<int>(count("nq"))});
    ints("jnt_dofadr", {static_cast<int>(count("nv"))});
    ints("jnt_bodyid", {body});
    ints("jnt_limited", {s.range[0] != s.range[1]});
    ints("jnt_actgravcomp", {s.carried});
    ints("jnt_actfrclimited", {s.force[0] != s.force[1]});
    reals("jnt_actfrcrange", s.force);
    reals("jnt_axis", s.axis);
    reals("jnt_pos", s.pos);
    reals("jnt_range", s.range);
    reals("jnt_stiffness", {s.stiffness});
    reals("jnt_solref", kSolref);
    reals("jnt_solimp", kSolimp);
    std::vector<double> start(positions, 0);
    if (s.type == kFree) std::copy_n(&raw_.reals["body_pos"][3 * body], 3, start.begin());
    if (s.type <= kBall) start[positions - 4] = 1;
    reals("qpos0", start);
    reals("qpos_spring", start);
    count("nq") += positions;
    for (int k = 0; k < dofs; k++) {
      const int dof = static_cast<int>(count("nv")++);
      belongs("dof", body, dof);
      ints("dof_bodyid", {body});
      ints("dof_jntid", {id});
      ints("dof_parentid", {last_dof_above(body, dof)});
      reals("dof_damping", {s.damping});
      reals("dof_armature", {s.armature});
      reals("dof_frictionloss", {s.friction_loss});
      const bool turns = s.type == kHinge || s.type == kBall || (s.type == kFree && k > 2);
      reals("dof_invweight0", {raw_.reals["body_invweight0"][2 * body + turns]});
      reals("dof_solref", kSolref);
      reals("dof_solimp", kSolimp);
    }
    return id;
  }

  int geom(int body, const GeomSpec& s) {
    const int id = count("ngeom")++;
    belongs("geom", body, id);
    ints("geom_type", {s.type});
    ints("geom_bodyid", {body});
    ints("geom_contype", {s.group});
    ints("geom_conaffinity", {s.group});
    ints("geom_condim", {s.condim});
    reals("geom_size", s.size);
    reals("geom_pos", s.pos);
    reals("geom_quat", kUnit);
    reals("geom_friction", s.friction);
    reals("geom_solref", kSolref);
    reals("geom_solimp", kSolimp);
    const Three& r = s.size;
    reals("geom_rbound", {s.type == kPlane     ? 0
                          : s.type == kSphere  ? r[0]
                          : s.type == kCapsule ? r[0] + r[1]
                                               : std::hypot(r[0], r[1], r[2])});
    return id;
  }

  int site(int body, const Three& pos) {
    ints("site_bodyid", {body});
    ints("site_type", {kSphere});
    reals("site_size", Three{0.01, 0.01, 0.01});
    reals("site_pos", pos);
    reals("site_quat", kUnit);
    return static_cast<int>(count("nsite")++);
  }

  // pairs (WrapType, id), and a number for each: a coefficient, a divisor, a side site
  int tendon(const std::vector<std::array<int, 2>>& path, const std::vector<double>& prm,
             const TendonSpec& s) {
    ints("tendon_adr", {static_cast<int>(count("nwrap"))});
    ints("tendon_num", {static_cast<int>(path.size())});
    count("nwrap") += static_cast<long>(path.size());
    for (const auto& [type, id] : path) {
      ints("wrap_type", {type});
      ints("wrap_objid", {id});
    }
    reals("wrap_prm", prm);
    ints("tendon_limited", {s.range[0] != s.range[1]});
    ints("tendon_actfrclimited", {s.force[0] != s.force[1]});
    reals("tendon_range", s.range);
    reals("tendon_actfrcrange", s.force);
    reals("tendon_margin", {0.01});
    reals("tendon_stiffness", {s.stiffness});
    reals("tendon_damping", {s.damping});
    reals("tendon_armature", {s.armature});
    reals("tendon_frictionloss", {s.friction_loss});
    reals("tendon_lengthspring", std::array<double, 2>{0.1, 0.2});
    reals("tendon_length0", {0.3});
    reals("tendon_invweight0", {2});
    for (const char* what : {"lim", "fri"}) {
      reals(std::string("tendon_solref_") + what, kSolref);
      reals(std::string("tendon_solimp_") + what, kSolimp);
    }
    return static_cast<int>(count("ntendon")++);
  }

  void couple_tendons(int one, int two) {
    count("neq")++;
    ints("eq_type", {kEqTendon});
    ints("eq_obj1id", {one});
    ints("eq_obj2id", {two});
    ints("eq_objtype", {kObjBody});
    ints("eq_active0", {1});
    reals("eq_solref", kSolref);
    reals("eq_solimp", kSolimp);
    const std::vector<double> polynomial{0, 0.5, 0.1, 0, 0}, unused(6, 0);
    reals("eq_data", polynomial);
    reals("eq_data", unused);
  }

  void actuator(const ActuatorSpec& s) {
    if (s.inputs != 0) return motor(s);
    const int id = count("nactuator")++;
    const bool servo = s.kp != 0 || s.kv != 0;
    controls(s, 1, id % 2);
    ints("actuator_trntype", {s.trn});
    ints("actuator_trnid", {s.joint, s.other});
    ints("actuator_gaintype", {s.muscle ? kGainMuscle : kGainFixed});
    ints("actuator_dyntype", {s.dyn});
    ints("actuator_biastype", {s.muscle ? kBiasMuscle : servo ? kBiasAffine : kBiasNone});
    ints("actuator_actadr", {s.dyn == kDynNone ? -1 : static_cast<int>(count("na"))});
    ints("actuator_actnum", {s.dyn != kDynNone});
    ints("actuator_actearly", {0});
    ints("actuator_forcelimited", {servo});
    if (s.dyn != kDynNone) count("na")++;
    const std::vector<double> muscle = parameters({{kMuscleRange, 0.75},
                                                   {kMuscleRange + 1, 1.05},
                                                   {kMuscleForce, 20},
                                                   {kMuscleScale, 1},
                                                   {kMuscleLmin, 0.5},
                                                   {kMuscleLmax, 1.6},
                                                   {kMuscleVmax, 1.5},
                                                   {kMuscleFpmax, 1.3},
                                                   {kMuscleFvmax, 1.2}});
    // the constant, and factors of the length and of the velocity
    const auto affine = [](double constant, double length, double velocity) {
      return parameters({{0, constant}, {1, length}, {2, velocity}});
    };
    const double time_constant = 0.05;
    reals("actuator_dynprm",
          s.muscle ? parameters({{kMuscleDynRise, 0.01}, {kMuscleDynFall, 0.04}, {kMuscleDynSmooth, 0.2}})
                   : parameters({{0, time_constant}}));
    reals("actuator_gainprm", s.muscle ? muscle : affine(servo ? s.kp : 1, 0, 0));
    reals("actuator_biasprm", s.muscle ? muscle : affine(0, -s.kp, -s.kv));
    way(s);
  }

  void sensor(int type, int object, int id, int dim, const std::vector<int>& prm = {0, 0, 0}, int from = -1) {
    count("nsensor")++;
    ints("sensor_type", {type});
    ints("sensor_objtype", {object});
    ints("sensor_objid", {id});
    ints("sensor_reftype", {from < 0 ? 0 : object});
    ints("sensor_refid", {from});
    ints("sensor_intprm", prm);
    ints("sensor_dim", {dim});
    ints("sensor_adr", {static_cast<int>(count("nsensordata"))});
    reals("sensor_cutoff", {type == kGyro ? 0.5 : 0});
    count("nsensordata") += dim;
  }
  // a sensor of every type, on sites, bodies and what they have
  void every_sensor() {
    const int bodies = static_cast<int>(count("nbody"));
    for (int b = 1; b < bodies; b += 2) {
      const int site = static_cast<int>(count("nsite")++);
      ints("site_bodyid", {b});
      ints("site_type", {b % 4 == 1 ? kBox : kCapsule});
      reals("site_size", Three{0.2, 0.1, 0.15});
      reals("site_pos", Three{0.01, 0, 0.02});
      reals("site_quat", kUnit);
      sensor(kTouch, kObjSite, site, 1);
      for (int type = kAccelerometer; type <= kMagnetometer; type++) sensor(type, kObjSite, site, 3);
    }
    for (int b = 1; b < bodies; b += 3) {
      for (int type = kFramePos; type <= kFrameAngAcc; type++) {
        const int dim = type == kFrameQuat ? 4 : 3;
        sensor(type, b % 2 ? kObjBody : kObjXBody, b, dim, {0, 0, 0}, type < kFrameLinAcc ? b - 1 : -1);
      }
      for (int type = kSubtreeCom; type <= kSubtreeAngMom; type++) sensor(type, kObjBody, b, 3);
      for (int reduction = kReduceNone; reduction <= kReduceNetForce; reduction++)
        sensor(kContactSensor, kObjXBody, b, reduction == kReduceNetForce ? 17 : 34,
               {127, reduction, reduction == kReduceNetForce ? 1 : 2});
    }
    for (int j = 0; j < count("njnt"); j++) {
      const int type = raw_.ints["jnt_type"][j];
      if (type == kBall) sensor(kBallQuat, 0, j, 4), sensor(kBallAngVel, 0, j, 3);
      for (const int reading : {kJointPos, kJointVel, kJointActFrc})
        if (type > kBall) sensor(reading, 0, j, 1);
      for (int limit = kJointLimitPos; limit <= kJointLimitFrc; limit++)
        if (raw_.ints["jnt_limited"][j]) sensor(limit, 0, j, 1);
    }
    for (int a = 0; a < count("nactuator"); a++)
      for (int type = kActuatorPos; type <= kActuatorFrc; type++) sensor(type, 0, a, 1);
    for (int t = 0; t < count("ntendon"); t++) {
      for (const int type : {kTendonPos, kTendonVel, kTendonActFrc}) sensor(type, 0, t, 1);
      for (int type = kTendonLimitPos; type <= kTendonLimitFrc; type++) sensor(type, 0, t, 1);
    }
    for (int type = kPotential; type <= kClock; type++) sensor(type, 0, -1, 1);
  }

  Model build() {
    for (const std::string& name : model_size_names()) raw_.sizes.try_emplace(name, 0);
    const long n = raw_.sizes["nbody"];
    const std::vector<int>& parent = raw_.ints["body_parentid"];
    std::vector<int> root(n, 0), weld(n, 0);
    std::vector<double> subtree = raw_.reals["body_mass"];
    for (int b = 1; b < n; b++) {
      root[b] = parent[b] == 0 ? b : root[parent[b]];
      weld[b] = raw_.ints["body_jntnum"][b] > 0 ? b : weld[parent[b]];
    }
    for (long b = n - 1; b > 0; b--) subtree[parent[b]] += subtree[b];
    raw_.ints["body_rootid"] = root;
    raw_.ints["body_weldid"] = weld;
    raw_.reals["body_subtreemass"] = subtree;
    raw_.option = option;
    return load_model(raw_);
  }

 private:
  // n controls
  void controls(const ActuatorSpec& s, int n, int limited) {
    ints("actuator_ctrladr", {static_cast<int>(count("nu"))});
    ints("actuator_ctrlnum", {n});
    ints("actuator_ctrlspec", {s.inputs});
    ints("actuator_history", {s.delay > 0 ? 4 : 0, 1});
    reals("actuator_delay", {s.delay});
    count("nu") += n;
    for (int k = 0; k < n; k++) {
      ints("actuator_ctrllimited", {limited});
      reals("actuator_ctrlrange", {-0.8, 0.8});
    }
  }
  void way(const ActuatorSpec& s) {
    reals("actuator_lengthrange", {-0.3, 0.4});
    reals("actuator_cranklength", {0.3});
    reals("actuator_acc0", {1});
    reals("actuator_forcerange", {-5, 5});
    const double turn = s.trn == kTrnSite ? 0.1 : 0;
    const Three force{s.gear, 0, 0}, torque{turn, -turn, 0};
    reals("actuator_gear", force);
    reals("actuator_gear", torque);
  }
  void motor(const ActuatorSpec& s) {
    count("nactuator")++;
    int n = 0;
    for (const int bit : {kInputPos, kInputVel, kInputForce, kInputVoltage}) n += (s.inputs & bit) != 0;
    const bool integral = (s.inputs & kInputPos) != 0,
               slew = (s.inputs & (kInputVoltage | kInputNone)) != s.inputs;
    controls(s, n, 1);
    const int states = 3 + integral + slew;
    ints("actuator_trntype", {s.trn});
    ints("actuator_trnid", {s.joint, s.other});
    ints("actuator_dyntype", {kDynDCMotor});
    ints("actuator_gaintype", {kGainDCMotor});
    ints("actuator_biastype", {kBiasDCMotor});
    ints("actuator_actadr", {static_cast<int>(count("na"))});
    ints("actuator_actnum", {states});
    ints("actuator_actearly", {1});
    ints("actuator_forcelimited", {1});
    count("na") += states;
    reals("actuator_dynprm", parameters({{kMotorDynTimeConstant, 0.01},
                                         {kMotorDynCurrentRate, 200},
                                         {kMotorDynHeatResistance, 4},
                                         {kMotorDynHeatCapacity, 2},
                                         {kMotorDynAmbient, 20},
                                         {kMotorDynBristle, 10},
                                         {kMotorDynBristleDamping, 0.2},
                                         {kMotorDynSlew, slew ? 5 : 0},
                                         {kMotorDynIntegralBound, 0.3}}));
    const double kp = slew ? 2 : 0;
    reals("actuator_gainprm", parameters({{kMotorGainResistance, 2},
                                          {kMotorGainConstant, 0.4},
                                          {kMotorGainTemperatureSlope, 0.004},
                                          {kMotorGainReference, 25},
                                          {kMotorGainKp, kp},
                                          {kMotorGainKi, integral ? 1 : 0},
                                          {kMotorGainKd, kp / 10},
                                          {kMotorGainVoltage, slew ? 6 : 0}}));
    reals("actuator_biasprm", parameters({{kMotorBiasCogging, 0.1},
                                          {kMotorBiasCoggingPoles, 6},
                                          {kMotorBiasCoggingPhase, 0.3},
                                          {kMotorBiasCoulomb, 0.1},
                                          {kMotorBiasStatic, 0.2},
                                          {kMotorBiasStribeck, 0.5}}));
    way(s);
  }

  static inline const std::vector<double> kUnit{1, 0, 0, 0}, kSolref{0.02, 1},
      kSolimp{0.9, 0.95, 0.001, 0.5, 2};

  long& count(const char* name) { return raw_.sizes[name]; }
  void ints(const std::string& name, const std::vector<int>& row) {
    raw_.ints[name].insert(raw_.ints[name].end(), row.begin(), row.end());
  }
  template <class Row>
  void reals(const std::string& name, const Row& row) {
    raw_.reals[name].insert(raw_.reals[name].end(), row.begin(), row.end());
  }
  void reals(const std::string& name, std::initializer_list<double> row) {
    reals(name, std::vector<double>(row));
  }
  void belongs(const std::string& what, int body, int id) {
    if (raw_.ints["body_" + what + "num"][body]++ == 0) raw_.ints["body_" + what + "adr"][body] = id;
  }
  // the dof before this one on the way to the root
  int last_dof_above(int body, int dof) {
    if (dof > raw_.ints["body_dofadr"][body]) return dof - 1;
    for (int b = raw_.ints["body_parentid"][body]; b > 0; b = raw_.ints["body_parentid"][b])
      if (raw_.ints["body_dofnum"][b] > 0)
        return raw_.ints["body_dofadr"][b] + raw_.ints["body_dofnum"][b] - 1;
    return -1;
  }
  // a row of an actuator's parameters: those that are named, and zeros
  static std::vector<double> parameters(const std::map<int, double>& named) {
    std::vector<double> row(10, 0);
    for (const auto& [place, value] : named) row[place] = value;
    return row;
  }

  RawModel raw_;
};

}  // namespace dualstep

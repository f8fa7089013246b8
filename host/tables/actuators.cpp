// Tables of actuators: which dofs each acts on, its dynamics and forces, and what of a muscle only parameters decide.
#include <algorithm>
#include <cmath>
#include <map>

#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/model/motors.h"
#include "host/model/unsupported.h"
#include "host/tables/named_rows.h"
#include "host/tables/tables.h"

namespace dualstep {
namespace {

constexpr double kTiny = 1e-15;

// the first `keep` entries of each of `rows` rows
std::vector<double> columns(const std::vector<double>& values, int rows, int keep) {
  std::vector<double> out;
  for (int i = 0; i < rows; ++i) {
    const auto first = row::of_array(values, rows, -1, i).first(keep);
    out.insert(out.end(), first.begin(), first.end());
  }
  return out;
}

// the site that an actuator is seen from, or its slider; -1 where it has none
int second_object(const Model& m, int a) {
  return transmission_of(m, a).second != kNoSecond ? second_transmission_id(m, a) : -1;
}

// the dofs that move the sites of an actuator, and which of them. To a site that is seen from another
// those that move both do nothing
std::map<int, int> movers(const Model& m, int a) {
  std::map<int, int> side;
  const auto add = [&](int site, int bit) {
    for (int b = m.site_bodyid[site]; b > 0; b = m.body_parentid[b])
      for (int k = 0; k < m.body_dofnum[b]; ++k) side[m.body_dofadr[b] + k] |= bit;
  };
  add(transmission_id(m, a), kFirstSide);
  if (second_object(m, a) >= 0) add(second_object(m, a), kSecondSide);
  if (transmission_of(m, a).traits & kActsBetween)
    for (auto it = side.begin(); it != side.end();)
      it = it->second == kBothSides ? side.erase(it) : std::next(it);
  return side;
}

// whether MuJoCo takes the setpoint of an actuator as an angle: that of a position servo on a ball joint, or on the
// turn of a site
bool on_circle(const Model& m, int a) {
  const ForceRow gain = gain_of(m, a), bias = bias_of(m, a);
  const bool servo = gain.traits == 0 && bias.traits == kForceAffine &&
                     (dynamics_of(m, a).traits & kDrivesAngles) != 0 &&
                     row::actuator_gainprm(m, a)[0] == -row::actuator_biasprm(m, a)[1];
  if (!is_angular_servo(m, a) && (!servo || is_motor(m, a))) return false;
  if (acts_on(m, a, kOnJoint) && m.jnt_type[transmission_id(m, a)] == kBall) return true;
  const auto gear = row::actuator_gear(m, a);
  const bool turns = (transmission_of(m, a).traits & kActsAsTurn) && second_object(m, a) >= 0 &&
                     gear[0] == 0 && gear[1] == 0 && gear[2] == 0;
  // a turn without gear has no period
  return turns && (gear[3] != 0 || gear[4] != 0 || gear[5] != 0);
}

int act_flags(const Model& m, int a) {
  const int group = m.actuator_group[a];
  const bool off = group >= 0 && group <= 30 && (m.opt.disableactuator & (1 << group)) != 0;
  return (m.actuator_forcelimited[a] && actuates(m) ? kForceLimited : 0) |
         (m.actuator_actlimited[a] ? kActLimited : 0) | (m.actuator_actearly[a] ? kActEarly : 0) |
         (off ? kActDisabled : 0) | (on_circle(m, a) ? kActCircle : 0);
}

// a muscle by one row of its parameters
struct Muscle {
  double force, per_length, offset, lmin, lmax, vmax, fpmax, fvmax;

  Muscle(const Model& m, int a, std::span<const double> prm) {
    const Bounds lengths = bounds(row::actuator_lengthrange(m, a)),
                 range = bounds(prm.subspan(kMuscleRange, 2));
    force = prm[kMuscleForce];
    if (force < 0) force = prm[kMuscleScale] / std::max(kTiny, m.actuator_acc0[a]);
    const double L0 =
        std::max(kTiny, (lengths.upper - lengths.lower) / std::max(kTiny, range.upper - range.lower));
    per_length = 1 / L0;
    offset = range.lower - lengths.lower / L0;
    lmin = prm[kMuscleLmin], lmax = prm[kMuscleLmax], vmax = prm[kMuscleVmax];
    fpmax = prm[kMuscleFpmax], fvmax = prm[kMuscleFvmax];
  }
};
double inverse(double x) { return 1 / std::max(kTiny, x); }

void build_muscles(const Model& m, TableStore* t) {
  const bool any = any_is_muscle(m);
  for (int a = 0; a < m.nactuator && any; ++a) {
    act_muscle_row row;
    if (is_muscle(m, a)) {
      const Muscle g(m, a, row::actuator_gainprm(m, a)), b(m, a, row::actuator_biasprm(m, a));
      row = {.muscle_peak = g.force,
             .muscle_per_length = g.per_length,
             .muscle_offset = g.offset,
             .muscle_per_speed = inverse(g.vmax / g.per_length),
             .muscle_lmin = g.lmin,
             .muscle_lmax = g.lmax,
             .muscle_rise = inverse(0.5 * (1 - g.lmin)),
             .muscle_fall = inverse(0.5 * (g.lmax - 1)),
             .muscle_fvmax = g.fvmax,
             .muscle_stretch = inverse(g.fvmax - 1),
             .passive_peak = b.force * b.fpmax,
             .passive_per_length = b.per_length,
             .passive_offset = b.offset,
             .passive_knee = 0.5 * (1 + b.lmax),
             .passive_fall = inverse(0.5 * (b.lmax - 1))};
    }
    append(row, &t->act_muscle);
  }
}

// of the time between two samples: what is as near to one is that, within rounding
constexpr double kOnSample = 1e-9;
// shares of n samples, oldest first, in what lies `back` steps before the newest; MuJoCo's orders: hold, line, cubic
std::vector<double> delay_weights(int n, int order, double back) {
  std::vector<double> w(n, 0.0);
  const double at = std::clamp(n - 1 - back, 0.0, n - 1.0), nearest = std::round(at);
  if (std::abs(at - nearest) < kOnSample) {
    w[static_cast<int>(nearest)] = 1;
    return w;
  }
  const int lo = static_cast<int>(at);
  const double s = at - lo;
  if (order == 0) {
    w[lo] = 1;
  } else if (order == 1) {
    w[lo] = 1 - s;
    w[lo + 1] = s;
  } else {
    const double s2 = s * s, s3 = s2 * s, slope_lo = (s3 - 2 * s2 + s) / 2, slope_hi = (s3 - s2) / 2;
    w[lo] = 2 * s3 - 3 * s2 + 1;
    w[lo + 1] = 3 * s2 - 2 * s3;
    // slopes by the neighbours' difference; none at the ends
    if (lo > 0) w[lo + 1] += slope_lo, w[lo - 1] -= slope_lo;
    if (lo + 2 < n) w[lo + 2] += slope_hi, w[lo] -= slope_hi;
  }
  return w;
}

void build_delays(const Model& m, TableStore* t) {
  t->ctrl_delay_adr = kept_controls(m);
  t->n.nctrlhist = t->ctrl_delay_adr.back();
  // shares of a step at which controls act
  std::vector<double> nodes{0};
  if (m.opt.integrator == Integrator::kRk4) nodes = {0, 0.5, 1};
  for (const double node : nodes) {
    for (int k = 0; k < m.nu; ++k) {
      const int n = t->ctrl_delay_adr[k + 1] - t->ctrl_delay_adr[k];
      if (n == 0) continue;
      // the newest sample is that of the step before
      const int a = actuator_of_control(m, k);
      const std::vector<double> w =
          delay_weights(n, delay_order(m, a), m.actuator_delay[a] / m.opt.timestep - 1 - node);
      t->ctrl_delay_weight.insert(t->ctrl_delay_weight.end(), w.begin(), w.end());
    }
  }
}

// inputs of a motor, and the activations that its parameters give it
int motor_bits(const Model& m, int a) {
  if (!is_motor(m, a)) return 0;
  int bits = m.actuator_ctrlspec[a];
  int bit = kMotorSlew;
  for (const bool there : motor_kind(m, a).activations(m, a)) {
    if (there) bits |= bit;
    bit <<= 1;
  }
  return bits;
}

act_dcmotor_row dcmotor_row(const Model& m, int a) {
  const auto gain = row::actuator_gainprm(m, a), dynamics = row::actuator_dynprm(m, a),
             bias = row::actuator_biasprm(m, a);
  return {.motor_resistance = gain[kMotorGainResistance],
          .motor_constant = gain[kMotorGainConstant],
          .motor_temperature_slope = gain[kMotorGainTemperatureSlope],
          .motor_reference = gain[kMotorGainReference],
          .motor_kp = gain[kMotorGainKp],
          .motor_kd = gain[kMotorGainKd],
          .motor_voltage = gain[kMotorGainVoltage],
          .motor_time_constant = dynamics[kMotorDynTimeConstant],
          .motor_current_rate = dynamics[kMotorDynCurrentRate],
          .motor_heat_resistance = dynamics[kMotorDynHeatResistance],
          .motor_heat_capacity = dynamics[kMotorDynHeatCapacity],
          .motor_ambient = dynamics[kMotorDynAmbient],
          .motor_bristle = dynamics[kMotorDynBristle],
          .motor_bristle_damping = dynamics[kMotorDynBristleDamping],
          .motor_cogging = bias[kMotorBiasCogging],
          .motor_cogging_poles = bias[kMotorBiasCoggingPoles],
          .motor_cogging_phase = bias[kMotorBiasCoggingPhase],
          .motor_coulomb = bias[kMotorBiasCoulomb],
          .motor_static = bias[kMotorBiasStatic],
          .motor_stribeck = bias[kMotorBiasStribeck]};
}
void build_motors(const Model& m, TableStore* t) {
  for (int a = 0; a < m.nactuator; ++a)
    if (is_motor(m, a)) t->n.nmotor = m.nactuator;
  for (int a = 0; a < t->n.nmotor; ++a) {
    append(is_dcmotor(m, a) ? dcmotor_row(m, a) : act_dcmotor_row{}, &t->act_dcmotor);
    act_setpoint_row followed;
    if (is_motor(m, a)) {
      const SetPointParameters p = motor_kind(m, a).set_points(m, a);
      followed = {.setpoint_slew = p.slew,
                  .setpoint_integral_bound = p.integral_bound,
                  .setpoint_integral_gain = p.integral_gain};
    }
    append(followed, &t->act_setpoint);
  }
}

// the dofs of the moment of an actuator; of one on sites they are a list of its own
void put_moment(const Model& m, int a, TableStore* t, PairLists* dofs) {
  const int id = transmission_id(m, a);
  int component = 0;
  const auto acts = [&](int dof) { (*dofs)[dof].emplace_back(a, component++); };
  switch (transmission_of(m, a).object) {
    case kOnJoint: {
      const int type = m.jnt_type[id], width = type == kFree ? 6 : type == kBall ? 3 : 1;
      for (int k = 0; k < width; ++k) acts(m.jnt_dofadr[id] + k);
      break;
    }
    case kOnTendon:
      for (int e = t->ten_adr[id]; e < t->ten_adr[id + 1]; ++e) acts(t->ten_dof[e]);
      break;
    case kOnSite:
      t->n.nsitetrn = m.nactuator;
      for (const auto& [dof, side] : movers(m, a)) {
        t->trn_dof.push_back(dof);
        t->trn_side.push_back(side);
        acts(dof);
      }
      break;
    case kOnBody:  // contacts decide
    case kOnNothing:
      break;
  }
}

}  // namespace

void build_actuation(const Model& m, TableStore* t) {
  PairLists dofs(m.nv);  // actuators, and which component of their moment it is
  t->trn_adr = {0};
  for (int a = 0; a < m.nactuator; ++a) {
    t->act_trn.push_back(m.actuator_trntype[a]);
    t->act_id.push_back(transmission_id(m, a));
    t->act_ref.push_back(second_object(m, a));
    t->act_adr.push_back(m.actuator_actnum[a] > 0 ? m.actuator_actadr[a] : -1);
    t->act_num.push_back(m.actuator_actnum[a]);
    t->act_ctrl.push_back(m.actuator_ctrladr[a]);
    t->act_flags.push_back(act_flags(m, a));
    t->act_motor.push_back(motor_bits(m, a));
    put_moment(m, a, t, &dofs);
    t->trn_adr.push_back(static_cast<int>(t->trn_dof.size()));
  }
  put_lists(dofs, &t->dof_act_adr, &t->dof_act, &t->dof_act_component);
  t->act_dyn = m.actuator_dyntype;
  t->act_gain = m.actuator_gaintype;
  t->act_bias = m.actuator_biastype;
  t->act_gainprm = columns(m.actuator_gainprm, m.nactuator, 3);
  t->act_biasprm = columns(m.actuator_biasprm, m.nactuator, 3);
  t->act_dynprm = columns(m.actuator_dynprm, m.nactuator, 3);
  build_muscles(m, t);
  build_motors(m, t);
  build_delays(m, t);
  t->ctrl_limited = m.actuator_ctrllimited;
  t->act_ctrlrange = m.actuator_ctrlrange;
  t->act_forcerange = m.actuator_forcerange;
  t->act_actrange = m.actuator_actrange;
  t->act_gear = m.actuator_gear;
  t->act_rod = m.actuator_cranklength;
}

}  // namespace dualstep

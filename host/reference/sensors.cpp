// Sensors: what a robot would measure, in MuJoCo's conventions.
//
// solves    sensordata
// equation  accelerations and joint reactions come from one recursion after the constraint solve:
//             cacc_i = cacc_parent + dS/dt qvel + S qacc (world: -gravity, so accelerometers feel it),
//             cfrc_int_i = I cacc + v x* I v - cfrc_ext + sum of children's cfrc_int
// source    Featherstone 2008, section 5.3; MuJoCo's documentation, "Sensor"
// deviation none known
// reads     everything before it
// writes    cacc, cfrc_int, cfrc_ext, sensordata
// cost      O(nbody + nsensor)
#include <algorithm>

#include "host/model/element_rows.h"
#include "host/model/unsupported.h"
#include "host/reference/contact_sensor.h"
#include "host/reference/impedance.h"
#include "host/reference/shapes/shapes.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// a frame fixed to a body
struct Frame {
  int body;
  Vector3d pos;
  Matrix3d rot;
  Quaterniond quat;
};

Frame frame_of(const Model& m, const Data& d, int type, int id) {
  switch (type) {
    case kObjBody:
      return {id, d.xipos[id], d.ximat[id], d.xquat[id] * quat(m.body_iquat, id)};
    case kObjGeom: {
      const int body = m.geom_bodyid[id];
      return {body, d.geom_xpos[id], d.geom_xmat[id], d.xquat[body] * quat(m.geom_quat, id)};
    }
    case kObjSite: {
      const int body = m.site_bodyid[id];
      return {body, d.site_xpos[id], d.site_xmat[id], d.xquat[body] * quat(m.site_quat, id)};
    }
    default:
      return {id, d.xpos[id], d.xmat[id], d.xquat[id]};
  }
}

// velocity of a frame in world axes; and its acceleration, gravity subtracted
Vector6d frame_velocity(const Model& m, const Data& d, const Frame& f) {
  return shift_motion(d.cvel[f.body], spatial_origin(m, d, f.body), f.pos);
}
Vector6d frame_acceleration(const Model& m, const Data& d, const Frame& f) {
  Vector6d a = shift_motion(d.cacc[f.body], spatial_origin(m, d, f.body), f.pos);
  const Vector6d v = frame_velocity(m, d, f);
  // from a spatial acceleration to that of the material point, Featherstone 2008, section 2.11
  a.tail<3>() += angular(v).cross(linear(v));
  return a;
}

// normal forces of the contacts of a site's body whose ray from the contact into the body meets the site
double touch(const Model& m, const Data& d, int site) {
  const int body = m.site_bodyid[site];
  double sum = 0;
  for (const Contact& c : d.contacts) {
    const int body1 = m.geom_bodyid[c.geom1], body2 = m.geom_bodyid[c.geom2];
    if (c.efc_address < 0 || (body != body1 && body != body2) || c.force[0] <= 0) continue;
    Vector3d ray = c.frame.row(0).transpose();
    if (body == body2) ray = -ray;
    const Matrix3d& R = d.site_xmat[site];
    const Shape volume{m.site_type[site], d.site_xpos[site], R, vec3(m.site_size, site)};
    const double hit =
        hooks_of(volume).ray(volume, R.transpose() * (c.pos - d.site_xpos[site]), R.transpose() * ray).t;
    if (hit >= 0) sum += c.force[0];
  }
  return sum;
}

// of the first limit row of a joint or tendon
double limit_reading(const Data& d, bool tendon, int type, int id) {
  for (int r = 0; r < d.nefc(); ++r) {
    if (d.efc_type[r] != RowType::kLimit || d.efc_id[r] != id || d.of_tendon(r) != tendon) continue;
    if (type == kJointLimitPos || type == kTendonLimitPos) return d.efc_pos[r] - d.efc_margin[r];
    return type == kJointLimitVel || type == kTendonLimitVel ? d.efc_vel[r] : d.efc_force[r];
  }
  return 0;
}

Vector3d frame_position_sensor(int type, const Frame& f, const Frame* ref) {
  if (type == kFramePos) return ref ? Vector3d(ref->rot.transpose() * (f.pos - ref->pos)) : f.pos;
  const Vector3d axis = f.rot.col(type - kFrameXAxis);
  return ref ? Vector3d(ref->rot.transpose() * axis) : axis;
}

Vector3d frame_velocity_sensor(const Model& m, const Data& d, int type, const Frame& f, const Frame* ref) {
  Vector6d v = frame_velocity(m, d, f);
  if (ref) {
    // as seen from the moving reference
    v = rotate_into(ref->rot, v - shift_motion(frame_velocity(m, d, *ref), ref->pos, f.pos));
  }
  return type == kFrameLinVel ? linear(v) : angular(v);
}

VectorXd scalar(double x) { return VectorXd::Constant(1, x); }

// of a geom, along a ray of the world
RayHit ray_geom(const Model& m, const Data& d, int g, const Vector3d& origin, const Vector3d& direction) {
  const Matrix3d& R = d.geom_xmat[g];
  const Vector3d p = R.transpose() * (origin - d.geom_xpos[g]), v = R.transpose() * direction;
  const Shape shape = shape_of(m, d, g);
  RayHit hit = hooks_of(shape).ray(shape, p, v);
  hit.normal = R * hit.normal;
  return hit;
}

// along the z axis of a site to the nearest visible geom of another body
VectorXd rangefinder(const Model& m, const Data& d, int s) {
  const int site = m.sensor_objid[s], data = sensor_parameter(m, s, kSensorData);
  const Vector3d axis = d.site_xmat[site].col(2), origin = d.site_xpos[site];
  RayHit nearest;
  for (int g = 0; g < m.ngeom; ++g) {
    if (!is_visible(m, g) || m.geom_bodyid[g] == m.site_bodyid[site]) continue;
    const RayHit hit = ray_geom(m, d, g, origin, axis);
    if (hit.t >= 0 && (nearest.t < 0 || hit.t < nearest.t)) nearest = hit;
  }
  const double distance = nearest.t;
  const bool met = distance >= 0;
  VectorXd out = VectorXd::Zero(m.sensor_dim[s]);
  int next = 0;
  const auto put = [&](const Vector3d& v) { out.segment<3>(next) = v, next += 3; };
  if (data & kRayDist) out[next++] = distance;
  if (data & kRayDir) put(met ? axis : Vector3d(Vector3d::Zero()));
  if (data & kRayOrigin) put(origin);
  if (data & kRayPoint) put(met ? Vector3d(origin + distance * axis) : Vector3d(Vector3d::Zero()));
  if (data & kRayNormal) put(nearest.normal);
  if (data & kRayDepth) out[next++] = distance;
  return out;
}

// over the pairs of geoms of two things the least distance below the cutoff, the first of equals
VectorXd distance_sensor(const Model& m, const Data& d, int s) {
  double dist = m.sensor_cutoff[s];
  Vector3d from = Vector3d::Zero(), to = Vector3d::Zero();
  const std::vector<MeasuredGeoms> of = measured_geoms(m, s);
  for (int g1 = of[0].first; g1 < of[0].end; ++g1) {
    for (int g2 = of[1].first; g2 < of[1].end; ++g2) {
      const bool turned = m.geom_type[g1] > m.geom_type[g2];
      const int first = turned ? g2 : g1, second = turned ? g1 : g2;
      if (shape_hooks(m.geom_type[second]).surface()) continue;
      const ClosestPair pair = closest_points(shape_of(m, d, first), shape_of(m, d, second), dist);
      if (pair.dist >= dist) continue;
      dist = pair.dist;
      from = turned ? pair.on_second : pair.on_first;
      to = turned ? pair.on_first : pair.on_second;
    }
  }
  if (m.sensor_type[s] == kGeomDist) return VectorXd::Constant(1, dist);
  if (m.sensor_type[s] == kGeomNormal) return Vector3d((to - from).normalized());
  VectorXd out(6);
  out << from, to;
  return out;
}

// of a sensor that measures in a frame
VectorXd reading_of_frame(const Model& m, const Data& d, int s) {
  const int type = m.sensor_type[s], id = m.sensor_objid[s], refid = m.sensor_refid[s];
  const bool inertial = type <= kTorque;
  const Frame f = frame_of(m, d, inertial ? kObjSite : m.sensor_objtype[s], id);
  const Frame reference = refid >= 0 ? frame_of(m, d, m.sensor_reftype[s], refid) : f;
  const Frame* ref = refid >= 0 ? &reference : nullptr;
  switch (type) {
    case kGyro:
      return f.rot.transpose() * angular(frame_velocity(m, d, f));
    case kVelocimeter:
      return f.rot.transpose() * linear(frame_velocity(m, d, f));
    case kAccelerometer:
      return f.rot.transpose() * linear(frame_acceleration(m, d, f));
    case kForce:
    case kTorque: {
      const Vector6d wrench =
          rotate_into(f.rot, shift_force(d.cfrc_int[f.body], spatial_origin(m, d, f.body), f.pos));
      return type == kForce ? linear(wrench) : angular(wrench);
    }
    case kFrameQuat: {
      const Quaterniond q = ref ? ref->quat.conjugate() * f.quat : f.quat;
      return Eigen::Vector4d(q.w(), q.x(), q.y(), q.z());
    }
    case kFrameLinVel:
    case kFrameAngVel:
      return frame_velocity_sensor(m, d, type, f, ref);
    case kFrameLinAcc:
      return linear(frame_acceleration(m, d, f));
    case kFrameAngAcc:
      return angular(frame_acceleration(m, d, f));
    default:
      return frame_position_sensor(type, f, ref);
  }
}

// the reading of one sensor, before its cutoff
VectorXd reading(const Model& m, const Data& d, int s) {
  const int type = m.sensor_type[s], id = m.sensor_objid[s], refid = m.sensor_refid[s];
  switch (type) {
    case kTouch:
      return scalar(touch(m, d, id));
    case kContactSensor:
      return contact_sensor(m, d, s);
    case kRangefinder:
      return rangefinder(m, d, s);
    case kInsideSite:
      return scalar(inside_site(m, d, refid, frame_of(m, d, m.sensor_objtype[s], id).pos));
    case kGeomDist:
    case kGeomNormal:
    case kGeomFromTo:
      return distance_sensor(m, d, s);
    case kMagnetometer:
      return d.site_xmat[id].transpose() * Vector3d(m.opt.magnetic[0], m.opt.magnetic[1], m.opt.magnetic[2]);
    case kJointPos:
      return scalar(d.qpos[m.jnt_qposadr[id]]);
    case kJointVel:
      return scalar(d.qvel[m.jnt_dofadr[id]]);
    case kActuatorPos:
      return scalar(d.actuator_length[id]);
    case kActuatorVel:
      return scalar(d.actuator_velocity[id]);
    case kActuatorFrc:
      return scalar(d.actuator_force[id]);
    case kJointActFrc:
      return scalar(d.qfrc_actuator[m.jnt_dofadr[id]]);
    case kBallQuat: {
      const Quaterniond q = unit_quat(&d.qpos[m.jnt_qposadr[id]]);
      return Eigen::Vector4d(q.w(), q.x(), q.y(), q.z());
    }
    case kBallAngVel:
      return d.qvel.segment<3>(m.jnt_dofadr[id]);
    case kJointLimitPos:
    case kJointLimitVel:
    case kJointLimitFrc:
      return scalar(limit_reading(d, false, type, id));
    case kTendonLimitPos:
    case kTendonLimitVel:
    case kTendonLimitFrc:
      return scalar(limit_reading(d, true, type, id));
    case kTendonPos:
      return scalar(d.ten_length[id]);
    case kTendonVel:
      return scalar(d.ten_velocity[id]);
    case kTendonActFrc:
      return scalar(tendon_actuator_force(m, d, id));
    case kSubtreeCom:
      return d.subtree_com[id];
    case kSubtreeLinVel:
      return d.subtree_linvel[id];
    case kSubtreeAngMom:
      return d.subtree_angmom[id];
    case kPotential:
      return scalar(d.energy[0]);
    case kKinetic:
      return scalar(d.energy[1]);
    case kClock:
      return scalar(d.time);
    default:
      return reading_of_frame(m, d, s);
  }
}

// directions and orientations know no cutoff, a touch sensor only from above
void cut_off(const Model& m, int s, Eigen::Ref<VectorXd> data) {
  const int type = m.sensor_type[s];
  const double cutoff = m.sensor_cutoff[s];
  const bool oriented = type == kBallQuat || (type >= kFrameQuat && type <= kFrameZAxis);
  // a contact sensor has none
  if (cutoff <= 0 || oriented || type == kContactSensor || type == kGeomNormal || type == kGeomFromTo) return;
  data = data.cwiseMin(cutoff);
  if (type != kTouch && type != kInsideSite) data = data.cwiseMax(-cutoff);
}

// the wrench of connect and weld constraints on their two bodies
void add_equality_forces(const Model& m, Data* d) {
  for (int r = 0; r < d->nefc() && d->efc_type[r] == RowType::kEquality;) {
    const int eq = d->efc_id[r], type = m.eq_type[eq];
    if (type != kEqConnect && type != kEqWeld) {
      ++r;
      continue;
    }
    const EqualityFrames e = equality_frames(m, *d, eq);
    const Vector3d force = d->efc_force.segment<3>(r);
    Vector3d torque = Vector3d::Zero();
    if (type == kEqWeld) {
      // the rows measure the vector part of q2* q1, whose rate is 1/2 q2* w q1: the torque is its transpose
      for (int k = 0; k < 3; ++k) {
        const Vector3d axis = Vector3d::Unit(k);
        const Quaterniond w(0, axis.x(), axis.y(), axis.z());
        const Vector3d rate = 0.5 * e.torquescale * (e.quat2.conjugate() * (w * e.quat1)).vec();
        torque[k] = rate.dot(d->efc_force.segment<3>(r + 3));
      }
    }
    const Vector6d wrench = spatial(torque, force);
    if (e.body1 > 0) d->cfrc_ext[e.body1] += shift_force(wrench, e.point1, spatial_origin(m, *d, e.body1));
    if (e.body2 > 0) d->cfrc_ext[e.body2] -= shift_force(wrench, e.point2, spatial_origin(m, *d, e.body2));
    r += type == kEqWeld ? 6 : 3;
  }
}

}  // namespace

void body_accelerations(const Model& m, Data* d) {
  // what acts on each body from outside: the user, contacts, loops
  for (int i = 0; i < m.nbody; ++i) {
    const Vector3d force = d->xfrc_applied.row(i).head<3>(), torque = d->xfrc_applied.row(i).tail<3>();
    d->cfrc_ext[i] = shift_force(spatial(torque, force), d->xipos[i], spatial_origin(m, *d, i));
  }
  d->cfrc_ext[0].setZero();
  for (const Contact& c : d->contacts) {
    if (c.efc_address < 0) continue;
    const Vector6d wrench =
        spatial(c.frame.transpose() * c.force.tail<3>(), c.frame.transpose() * c.force.head<3>());
    const int body1 = m.geom_bodyid[c.geom1], body2 = m.geom_bodyid[c.geom2];
    if (body1 > 0) d->cfrc_ext[body1] -= shift_force(wrench, c.pos, spatial_origin(m, *d, body1));
    if (body2 > 0) d->cfrc_ext[body2] += shift_force(wrench, c.pos, spatial_origin(m, *d, body2));
  }
  add_equality_forces(m, d);
  add_tendon_wrenches(m, d);

  // outward accelerations, inward reactions
  d->cacc[0] = spatial(Vector3d::Zero(), -gravity(m));
  d->cfrc_int[0].setZero();
  for (int i = 1; i < m.nbody; ++i) {
    d->cacc[i] = d->cacc[m.body_parentid[i]];
    for (int c = m.body_dofadr[i]; c < m.body_dofadr[i] + m.body_dofnum[i]; ++c) {
      d->cacc[i] += d->cdof_dot.col(c) * d->qvel[c] + d->cdof.col(c) * d->qacc[c];
    }
    d->cfrc_int[i] =
        d->cinert[i] * d->cacc[i] + cross_force(d->cvel[i], d->cinert[i] * d->cvel[i]) - d->cfrc_ext[i];
  }
  for (int i = m.nbody - 1; i > 0; --i) d->cfrc_int[m.body_parentid[i]] += d->cfrc_int[i];
}

void sensors(const Model& m, Data* d) {
  if (m.opt.disabled(kDisableSensor)) return;
  for (int s = 0; s < m.nsensor; ++s) {
    auto data = d->sensordata.segment(m.sensor_adr[s], m.sensor_dim[s]);
    data = reading(m, *d, s);
    cut_off(m, s, data);
  }
}

}  // namespace dualstep::reference

// Contact sensors.
//
// solves    which contacts lie between two things, and what they are like
// equation  a thing is a geom, a body, a body's subtree, or what is inside a site's volume; none means anything. A
//           contact that matches the other way round is read from the other side: normal and first tangent turn,
//           and the force of the first thing on the second has components (f0, f1, -f2) there. Slots are filled in
//           the order of contacts, by distance or by force; or one slot has the net force at the centroid of the
//           forces, in world axes
// source    MuJoCo's documentation, "contact sensor"
// reads     contacts and their forces
// cost      O(ncon log ncon)
#include "host/reference/contact_sensor.h"

#include <algorithm>
#include <vector>

#include "host/model/element_rows.h"
#include "host/reference/shapes/shapes.h"
#include "host/reference/spatial.h"

namespace dualstep::reference {

namespace {

// a contact as the sensor sees it, and the net of several
struct Reading {
  Vector3d force, torque, pos, normal, tangent;  // force and torque in the contact's frame
  double dist;
};

bool matches(const Model& m, const Data& d, const Contact& c, int geom, int type, int id) {
  switch (type) {
    case kObjUnknown:
      return true;
    case kObjGeom:
      return geom == id;
    case kObjBody:
      return m.geom_bodyid[geom] == id;
    case kObjXBody: {
      int body = m.geom_bodyid[geom];
      while (body > id) body = m.body_parentid[body];
      return body == id;
    }
    default:
      return inside_site(m, d, id, c.pos);
  }
}

Reading seen_from(const Contact& c, bool other_side) {
  const double turn = other_side ? -1 : 1;
  Reading r;
  r.force = c.force.head<3>();
  r.torque = c.force.tail<3>();
  r.force.z() *= turn;
  r.torque.z() *= turn;
  r.normal = turn * c.frame.row(0).transpose();
  r.tangent = turn * c.frame.row(1).transpose();
  r.pos = c.pos;
  r.dist = c.dist;
  return r;
}

// the wrench of all of them, at the centroid weighted by their forces
Reading net(const std::vector<Reading>& all) {
  const Vector3d zero = Vector3d::Zero();
  Reading sum{.force = zero,
              .torque = zero,
              .pos = zero,
              .normal = Vector3d::UnitX(),
              .tangent = Vector3d::UnitY(),
              .dist = 0};
  double weight = 0;
  for (const Reading& r : all) {
    sum.pos += r.force.norm() * r.pos;
    weight += r.force.norm();
  }
  if (weight > kTiny) sum.pos /= weight;
  for (const Reading& r : all) {
    Matrix3d axes;
    axes << r.normal, r.tangent, r.normal.cross(r.tangent);
    sum.force += axes * r.force;
    sum.torque += axes * r.torque + (r.pos - sum.pos).cross(axes * r.force);
  }
  return sum;
}

}  // namespace

bool inside_site(const Model& m, const Data& d, int site, const Vector3d& point) {
  const Vector3d p = d.site_xmat[site].transpose() * (point - d.site_xpos[site]);
  return shape_hooks(m.site_type[site]).holds(vec3(m.site_size, site), p);
}

VectorXd contact_sensor(const Model& m, const Data& d, int s) {
  const int data = sensor_parameter(m, s, kSensorData), reduction = sensor_parameter(m, s, kSensorReduction),
            slots = sensor_parameter(m, s, kSensorSlots);
  const int type1 = m.sensor_objtype[s], id1 = m.sensor_objid[s], type2 = m.sensor_reftype[s],
            id2 = m.sensor_refid[s];
  std::vector<Reading> found;
  for (const Contact& c : d.contacts) {
    const bool direct = matches(m, d, c, c.geom1, type1, id1) && matches(m, d, c, c.geom2, type2, id2);
    const bool reverse = matches(m, d, c, c.geom2, type1, id1) && matches(m, d, c, c.geom1, type2, id2);
    if (direct || reverse) found.push_back(seen_from(c, !direct));
  }
  const double count = static_cast<double>(found.size());
  const auto by = [&](const auto& less) { std::stable_sort(found.begin(), found.end(), less); };
  if (reduction == kReduceMinDist) by([](const Reading& a, const Reading& b) { return a.dist < b.dist; });
  if (reduction == kReduceMaxForce)
    by([](const Reading& a, const Reading& b) { return a.force.norm() > b.force.norm(); });
  if (reduction == kReduceNetForce && !found.empty()) found = {net(found)};

  VectorXd result = VectorXd::Zero(m.sensor_dim[s]);
  int next = 0;
  const auto put = [&](int bit, const Vector3d& v) {
    if (data & bit) result.segment<3>(next) = v, next += 3;
  };
  for (int k = 0; k < slots && k < static_cast<int>(found.size()); ++k) {
    const Reading& r = found[k];
    if (data & kContactFound) result[next++] = count;
    put(kContactForce, r.force);
    put(kContactTorque, r.torque);
    if (data & kContactDist) result[next++] = r.dist;
    put(kContactPos, r.pos);
    put(kContactNormal, r.normal);
    put(kContactTangent, r.tangent);
  }
  return result;
}

}  // namespace dualstep::reference

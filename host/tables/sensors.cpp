// Tables of sensors: what each reads, and which contacts count for those that look at contacts.
#include <algorithm>

#include "host/model/contact_law.h"
#include "host/model/element_rows.h"
#include "host/model/sensor_types.h"
#include "host/model/unsupported.h"
#include "host/tables/tables.h"
#include "kernels/data/shapes.h"
#include "kernels/sensors/kinds.h"

namespace dualstep {
namespace {

// a body, or one that it carries
bool carries(const Model& m, int root, int body) {
  while (body > root) body = m.body_parentid[body];
  return body == root;
}

// whether a geom is, or belongs to, what a contact sensor names; no object is anything, and where a contact is says
// whether it counts for a site
bool belongs(const Model& m, int geom, int type, int id) {
  const int body = m.geom_bodyid[geom];
  if (type == kObjGeom) return geom == id;
  if (type == kObjBody) return body == id;
  return type != kObjXBody || carries(m, id, body);
}

// SideBits of sensor_pairs: from which of its geoms the sensor sees a pair's contacts
int seen_from(const Model& m, int s, int geom1, int geom2) {
  const int id = m.sensor_objid[s];
  const SensorContacts contacts = sensor_type_row(m.sensor_type[s]).contacts;
  const auto sides = [](bool first, bool second) { return first * kFirstSide | second * kSecondSide; };
  if (contacts == SensorContacts::kOfBoth) {
    const auto is = [&](int first, int second) {
      return belongs(m, first, m.sensor_objtype[s], id) &&
             belongs(m, second, m.sensor_reftype[s], m.sensor_refid[s]);
    };
    return sides(is(geom1, geom2), is(geom2, geom1));
  }
  const int body = m.site_bodyid[id], body1 = m.geom_bodyid[geom1], body2 = m.geom_bodyid[geom2];
  if (contacts == SensorContacts::kOfBody) return sides(body == body1, body == body2);
  const bool has1 = body1 > 0 && carries(m, body, body1), has2 = body2 > 0 && carries(m, body, body2);
  return sides(has1 && !has2, has2 && !has1);
}

void add_pairs(const Model& m, int s, TableStore* t) {
  const size_t pairs = t->pair_dim.size();
  t->sensor_pairadr.push_back(pairs > 0 ? static_cast<int>(t->sensor_pairs.size() / pairs) : 0);
  for (size_t p = 0; p < pairs; ++p)
    t->sensor_pairs.push_back(
        seen_from(m, s, t->geom_id[geom_of_pair(*t, p, 0)], t->geom_id[geom_of_pair(*t, p, 1)]));
}

// triangles of the meshes, where rangefinders ask for them; geoms of one mesh share its
void add_triangles(const Model& m, TableStore* t) {
  const bool wanted = casts_rays(m);
  std::vector<int> first(m.nmesh, -1);
  for (int g = 0; g < m.ngeom; ++g) {
    const int mesh = wanted && shape_is(m.geom_type[g], kShapeHull) ? m.geom_dataid[g] : -1;
    if (mesh < 0) {
      t->allgeom_triangleadr.push_back(0);
      t->allgeom_trianglenum.push_back(0);
      continue;
    }
    if (first[mesh] < 0) {
      first[mesh] = static_cast<int>(t->ray_triangle.size() / 9);
      for (const Triangle& triangle : mesh_triangles(m, mesh))
        t->ray_triangle.insert(t->ray_triangle.end(), triangle.begin(), triangle.end());
    }
    t->allgeom_triangleadr.push_back(first[mesh]);
    t->allgeom_trianglenum.push_back(m.mesh_facenum[mesh]);
  }
}

// the limit of a joint among those of its kind, -1 where it has none
int place_of(const std::vector<int>& all, int id) {
  const auto found = std::find(all.begin(), all.end(), id);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

int limit_of(const Model& m, const TableStore& t, int joint) {
  const std::vector<int>& all = m.jnt_type[joint] == kBall ? t.ball_jnt : t.lim_jnt;
  return place_of(all, joint);
}

}  // namespace

std::vector<Triangle> mesh_triangles(const Model& m, int mesh) {
  std::vector<Triangle> triangles(m.mesh_facenum[mesh]);
  for (int f = 0; f < m.mesh_facenum[mesh]; ++f)
    for (int k = 0; k < 3; ++k) {
      const int vertex = m.mesh_vertadr[mesh] + row::mesh_face(m, m.mesh_faceadr[mesh] + f)[k];
      std::ranges::copy(row::mesh_vert(m, vertex), &triangles[f][3 * k]);
    }
  return triangles;
}

void build_sensors(const Model& m, TableStore* t) {
  add_triangles(m, t);
  for (int b = 0; b < m.nbody; ++b) {
    int up = b, end = b + 1;
    while (up > 0 && m.body_dofnum[up] == 0) up = m.body_parentid[up];
    t->body_lastdof.push_back(up > 0 ? m.body_dofadr[up] + m.body_dofnum[up] - 1 : -1);
    while (end < m.nbody && m.body_parentid[end] >= b) ++end;
    t->body_end.push_back(end);
  }
  t->site_type = m.site_type;
  t->site_size = m.site_size;
  for (int s = 0; s < m.nsensor; ++s) {
    const int type = m.sensor_type[s], id = m.sensor_objid[s];
    const SensorTypeRow& row = sensor_type_row(type);
    // of inertial sensors MuJoCo does not say that they are on sites
    const bool on_site = row.object == SensorObject::kSite || row.object == SensorObject::kRays,
               from_site = row.reference == SensorReference::kSite;
    t->sensor_type.push_back(type);
    t->sensor_objtype.push_back(on_site ? int{kObjSite} : m.sensor_objtype[s]);
    t->sensor_objid.push_back(id);
    t->sensor_reftype.push_back(from_site ? int{kObjSite} : m.sensor_reftype[s]);
    t->sensor_refid.push_back(m.sensor_refid[s]);
    t->sensor_adr.push_back(m.sensor_adr[s]);
    t->sensor_cut.push_back(row.cut);
    t->sensor_data.push_back(sensor_parameter(m, s, kSensorData));
    t->sensor_reduction.push_back(sensor_parameter(m, s, kSensorReduction));
    t->sensor_slots.push_back(sensor_parameter(m, s, kSensorSlots));
    t->sensor_limit.push_back(row.object == SensorObject::kLimitOfJoint    ? limit_of(m, *t, id)
                              : row.object == SensorObject::kLimitOfTendon ? place_of(t->tenlim_ten, id)
                                                                           : -1);
    std::vector<MeasuredGeoms> of = measured_geoms(m, s);
    of.resize(2);
    t->sensor_geomadr1.push_back(of[0].first);
    t->sensor_geomend1.push_back(of[0].end);
    t->sensor_geomadr2.push_back(of[1].first);
    t->sensor_geomend2.push_back(of[1].end);
    if (row.contacts != SensorContacts::kNone)
      add_pairs(m, s, t);
    else
      t->sensor_pairadr.push_back(-1);
  }
  t->sensor_adr.push_back(m.nsensordata);
  t->sensor_cutoff = m.sensor_cutoff;
}

int sensor_kinds(const Model& m) {
  if (m.nsensordata == 0) return 0;
  constexpr int kWanted = 1 << 30;  // of no kind: what is switched off reads zero
  int bits = kWanted;
  if (!m.opt.disabled(kDisableSensor)) {
    for (const int type : m.sensor_type) bits |= AllSensors::bits(type);
  }
  return bits;
}

bool sensors_in_step(const Model& m) {
  if (m.opt.disabled(kDisableSensor)) return true;
  const auto nonzero = [](double x) { return x != 0; };
  const bool gaps =
      law_has(m.opt, kLawMujocoMargins) && (std::any_of(m.geom_gap.begin(), m.geom_gap.end(), nonzero) ||
                                            std::any_of(m.pair_gap.begin(), m.pair_gap.end(), nonzero));
  for (int s = 0; s < m.nsensor; ++s) {
    const int type = m.sensor_type[s];
    if (sensor_type_row(type).object == SensorObject::kContacts && gaps) return false;
    if (type == kTorque && m.site_bodyid[m.sensor_objid[s]] == 0) return false;
    if (AllSensors::bits(type) == 0) return false;
  }
  return true;
}

}  // namespace dualstep

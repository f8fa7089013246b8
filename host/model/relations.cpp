#include "host/model/relations.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>

#include "host/interruption.h"
#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/model/model_fields.h"
#include "host/model/motors.h"
#include "host/model/sensor_types.h"
#include "host/model/unsupported.h"
#include "kernels/data/shapes.h"

namespace dualstep {
namespace {

// entries that no element owns, or two do: no index is so
constexpr long kNobody = -2;

// what an entry may hold: a range, and a few values beside it
struct Wanted {
  long low = 0, end = 0;
  std::array<long, 6> more = {};  // and `count` single values
  int count = 0;
  bool free = false;

  bool holds(long value) const {
    return free || (value >= low && value < end) ||
           std::find(more.begin(), more.begin() + count, value) != more.begin() + count;
  }
  std::string text() const {
    std::string words;
    const auto add = [&](const std::string& word) { words += (words.empty() ? "" : " or ") + word; };
    for (int k = 0; k < count; ++k) add(std::to_string(more[k]));
    if (end == low + 1) add(std::to_string(low));
    if (end > low + 1) add("from " + std::to_string(low) + " to " + std::to_string(end - 1));
    return words;
  }
};

Wanted from(long low, long end) { return {low, std::max(low, end)}; }
Wanted below(long end) { return from(0, end); }
Wanted nothing() { return {}; }
Wanted exactly(long value) { return value == kNobody ? nothing() : from(value, value + 1); }
Wanted one_of(std::initializer_list<int> values) {
  Wanted wanted;
  for (const int value : values) wanted.more.at(wanted.count++) = value;
  return wanted;
}
Wanted either(int a, int b) { return one_of({a, b}); }
Wanted or_none(Wanted wanted) {
  wanted.more.at(wanted.count++) = -1;
  return wanted;
}
Wanted anything() {
  Wanted wanted;
  wanted.free = true;
  return wanted;
}
// where `count` entries of `end` may begin; a wrong count is a matter of its own row
Wanted span(long count, long end) { return count <= 0 ? anything() : below(end - count + 1); }

// a joint with one position
Wanted scalar_joint(const Model& m, int id) {
  const bool scalar = id >= 0 && id < m.njnt && (m.jnt_type[id] == kHinge || m.jnt_type[id] == kSlide);
  return scalar ? below(m.njnt) : nothing();
}

// ids by what their neighbours say that they are -----------------------------------------------------------

Wanted equality_object(const Model& m, int eq, int id, bool second) {
  switch (m.eq_type[eq]) {
    case kEqConnect:
    case kEqWeld:
      return below(m.eq_objtype[eq] == kObjSite ? m.nsite : m.nbody);
    case kEqJoint:
      return second && id == -1 ? anything() : scalar_joint(m, id);
    case kEqTendon:
      return second ? from(-1, m.ntendon) : below(m.ntendon);
    default:
      return anything();
  }
}

// what may stand at a place of a path that begins at `begin`: joints, or sites with a geom or pulleys between them
Wanted path_type(const Model& m, int begin, int wrap) {
  if (m.wrap_type[begin] == kWrapJoint) return exactly(kWrapJoint);
  const auto is_site = [&](int at) { return at >= begin && at < m.nwrap && m.wrap_type[at] == kWrapSite; };
  const bool between_sites = is_site(wrap - 1) && is_site(wrap + 1);
  return from(kWrapPulley, between_sites ? kWrapCylinder + 1 : kWrapSite + 1);
}

Wanted path_object(const Model& m, int wrap) {
  switch (m.wrap_type[wrap]) {
    case kWrapJoint:
      return scalar_joint(m, m.wrap_objid[wrap]);
    case kWrapSite:
      return below(m.nsite);
    case kWrapSphere:
    case kWrapCylinder: {
      // a side site is stored as a number, -1 where there is none
      const double side = m.wrap_prm[wrap];
      return side > -2 && side < m.nsite - 0.5 ? below(m.ngeom) : nothing();
    }
    default:
      return anything();
  }
}

Wanted transmission_object(const Model& m, int entry) {
  const TransmissionRow row = transmission_of(m, entry / 2);
  const bool second = entry % 2 == 1;
  if (!row.simulated || (second && row.second == kNoSecond)) return anything();
  const long end = row.object == kOnJoint    ? m.njnt
                   : row.object == kOnTendon ? m.ntendon
                   : row.object == kOnSite   ? m.nsite
                                             : m.nbody;
  return from(second && row.second == kMayHaveSecond ? -1 : 0, end);
}

// how many elements of an object type there are, of those that have a frame here; -1 of others
int objects(const Model& m, int type) {
  return type == kObjBody || type == kObjXBody ? m.nbody
         : type == kObjGeom                    ? m.ngeom
         : type == kObjSite                    ? m.nsite
                                               : -1;
}

bool is_measured(int object) { return object == kObjGeom || object == kObjBody; }

// a contact sensor takes all that is there for no object
Wanted sensor_object_type(int sensor_type) {
  constexpr int kEndOfTypes = 100;  // MuJoCo's, of elements that a model has, are below
  return sensor_type_row(sensor_type).object == SensorObject::kContacts
             ? one_of({kObjUnknown, kObjBody, kObjXBody, kObjGeom, kObjSite})
             : below(kEndOfTypes);
}

Wanted sensor_object(const Model& m, int s) {
  const int id = m.sensor_objid[s], of = m.sensor_objtype[s], end = objects(m, of);
  switch (sensor_type_row(m.sensor_type[s]).object) {
    case SensorObject::kSite:
      return below(m.nsite);
    case SensorObject::kScalarJoint:
      return scalar_joint(m, id);
    case SensorObject::kBall:
      return id >= 0 && id < m.njnt && m.jnt_type[id] == kBall ? below(m.njnt) : nothing();
    case SensorObject::kLimitOfJoint:
      return below(m.njnt);
    case SensorObject::kTendon:
    case SensorObject::kLimitOfTendon:
      return below(m.ntendon);
    case SensorObject::kActuator:
      return below(m.nactuator);
    case SensorObject::kBody:
      return below(m.nbody);
    case SensorObject::kRays:
      return of == kObjSite ? below(m.nsite) : of == kObjCamera ? anything() : nothing();
    case SensorObject::kMeasured:
      return is_measured(of) ? below(end) : nothing();
    case SensorObject::kFramed:
    case SensorObject::kContacts:
      return end < 0 ? anything() : below(end);
    case SensorObject::kNothing:
      break;
  }
  return anything();
}

Wanted sensor_reference(const Model& m, int s) {
  const SensorTypeRow& row = sensor_type_row(m.sensor_type[s]);
  const int from_what = m.sensor_reftype[s], end = objects(m, from_what);
  switch (row.reference) {
    case SensorReference::kSite:
      return below(m.nsite);
    case SensorReference::kMeasured:
      return is_measured(from_what) ? below(end) : nothing();
    case SensorReference::kContacts:
      return end < 0 ? anything() : below(end);
    case SensorReference::kFrameOrNothing:
      return end < 0 ? anything() : from(-1, end);
    case SensorReference::kNothing:
      break;
  }
  return row.simulated ? exactly(-1) : anything();
}

Wanted sensor_width(const Model& m, int s) {
  const int readings = sensor_type_row(m.sensor_type[s]).readings;
  // of an actuator with several outputs, which is refused by them; what the sensor is of is looked at later
  const int a = m.sensor_objid[s];
  if (m.sensor_type[s] == kActuatorFrc && a >= 0 && a < m.nactuator && m.actuator_outnum[a] > 0 &&
      m.actuator_outnum[a] <= m.nsensordata)
    return either(1, m.actuator_outnum[a]);
  return readings > 0 ? exactly(readings) : below(m.nsensordata + 1L);
}

bool sensor_parameters_fit(const Model& m, int entry) {
  const int width = static_cast<int>(m.sensor_intprm.size()) / m.nsensor, s = entry / width;
  const SensorTypeRow& row = sensor_type_row(m.sensor_type[s]);
  if (!row.has_parameters()) return true;
  if (width < kSensorNumbers) return false;
  const int data = sensor_parameter(m, s, kSensorData), reduction = sensor_parameter(m, s, kSensorReduction),
            slots = sensor_parameter(m, s, kSensorSlots);
  // a camera has a ray for each pixel
  if (row.object == SensorObject::kRays)
    return m.sensor_objtype[s] == kObjCamera || ray_numbers(data) == m.sensor_dim[s];
  return slots >= 0 && reduction >= 0 && reduction <= kReduceNetForce &&
         static_cast<long>(contact_numbers(data)) * slots == m.sensor_dim[s];
}

// what follows from arrays that hold ---------------------------------------------------------------------------

struct Facts {
  // stage 0: of arrays that may hold anything
  std::vector<int> joints, geoms;             // by body, those that say they are its
  std::vector<long> first_joint, first_geom;  // by body, behind those of the bodies before
  std::vector<long> owner_of_joint, owner_of_geom;
  std::vector<int> mocaps_before;  // by body
  std::vector<long> first_wrap, first_activation, first_control, first_reading;
  long mocaps = 0, wraps = 0, activations = 0, controls = 0, readings = 0, names = 1;
  // stage 1
  std::vector<int> root, weld, dofs;
  std::vector<long> first_dof;
  std::vector<int> joint_qpos, joint_dof, joint_of_dof, parent_of_dof, begin_of_path;
  long positions = 0, velocities = 0;
};

std::vector<int> count_owned(const std::vector<int>& owner, int nbody) {
  std::vector<int> count(nbody, 0);
  for (const int b : owner)
    if (b >= 0 && b < nbody) ++count[b];
  return count;
}

// sums of what stands before each; *total is that of all
std::vector<long> sums(const std::vector<int>& counts, long* total = nullptr) {
  std::vector<long> before;
  long sum = 0;
  for (const int count : counts) {
    before.push_back(sum);
    sum += count;
  }
  if (total) *total = sum;
  return before;
}

// who spans each of n entries
std::vector<long> owners(const std::vector<int>& adr, const std::vector<int>& num, int n) {
  std::vector<long> owner(n, kNobody);
  long looked = 0;
  for (size_t b = 0; b < adr.size(); ++b) {
    if (num[b] <= 0 || adr[b] < 0) continue;
    const long end = std::min<long>(n, static_cast<long>(adr[b]) + num[b]);
    for (long k = adr[b]; k < end; ++k) {
      // spans that overlap this often hold for no entry anyway
      if (++looked > 2L * n) return owner;
      owner[k] = owner[k] == kNobody ? static_cast<long>(b) : kNobody;
    }
  }
  return owner;
}

Facts look_at_counts(const Model& m) {
  Facts f;
  f.joints = count_owned(m.jnt_bodyid, m.nbody);
  f.geoms = count_owned(m.geom_bodyid, m.nbody);
  f.first_joint = sums(m.body_jntnum);
  f.first_geom = sums(m.body_geomnum);
  f.owner_of_joint = owners(m.body_jntadr, m.body_jntnum, m.njnt);
  f.owner_of_geom = owners(m.body_geomadr, m.body_geomnum, m.ngeom);
  for (int b = 0; b < m.nbody; ++b) {
    f.mocaps_before.push_back(static_cast<int>(f.mocaps));
    f.mocaps += m.body_mocapid[b] >= 0;
  }
  f.first_wrap = sums(m.tendon_num, &f.wraps);
  f.first_activation = sums(m.actuator_actnum, &f.activations);
  f.first_control = sums(m.actuator_ctrlnum, &f.controls);
  f.first_reading = sums(m.sensor_dim, &f.readings);
  f.names = std::max<long>(1, static_cast<long>(m.names.size()));
  return f;
}

void look_at_dofs(const Model& m, Facts* f) {
  for (int b = 0; b < m.nbody; ++b) {
    // the nearest body below with dofs
    int below = m.body_parentid[b];
    while (below > 0 && f->dofs[below] == 0) below = m.body_parentid[below];
    const long before = b > 0 && below > 0 ? f->first_dof[below] + f->dofs[below] - 1 : -1;
    for (int k = 0; k < f->dofs[b]; ++k)
      f->parent_of_dof.push_back(static_cast<int>(k == 0 ? before : f->first_dof[b] + k - 1));
  }
}

// counts and owners hold: joints and geoms stand in the order of their bodies
void look_at_trees(const Model& m, Facts* f) {
  f->dofs.assign(m.nbody, 0);
  for (int b = 0; b < m.nbody; ++b) {
    const int parent = m.body_parentid[b];
    f->root.push_back(b == 0 || parent == 0 ? b : f->root[parent]);
    f->weld.push_back(b == 0 || m.body_jntnum[b] > 0 || m.body_mocapid[b] >= 0 ? b : f->weld[parent]);
  }
  for (int j = 0; j < m.njnt; ++j) {
    const int type = m.jnt_type[j], dofs = type == kFree ? 6 : type == kBall ? 3 : 1;
    f->joint_qpos.push_back(static_cast<int>(f->positions));
    f->joint_dof.push_back(static_cast<int>(f->velocities));
    f->positions += type == kFree ? 7 : type == kBall ? 4 : 1;
    f->velocities += dofs;
    f->dofs[m.jnt_bodyid[j]] += dofs;
    f->joint_of_dof.insert(f->joint_of_dof.end(), dofs, j);
  }
  f->first_dof = sums(f->dofs);
  look_at_dofs(m, f);
  for (int t = 0; t < m.ntendon; ++t)
    f->begin_of_path.insert(f->begin_of_path.end(), m.tendon_num[t], m.tendon_adr[t]);
}

// the table ----------------------------------------------------------------------------------------------------

struct Row {
  int stage;
  RelationKind kind;
  const char* field;
  const char* meaning;
  std::vector<int> Model::*values;
  Wanted (*wanted)(const Model& m, const Facts& f, int i);
};

const std::vector<Row>& rows() {
  constexpr RelationKind kExact = RelationKind::kExact, kRange = RelationKind::kRange,
                         kFree = RelationKind::kFree;
#define RELATION(stage, kind, name, meaning, rule)                                                          \
  {stage,                                                                                                   \
   kind,                                                                                                    \
   #name,                                                                                                   \
   meaning,                                                                                                 \
   &Model::name,                                                                                            \
   []([[maybe_unused]] const Model& m, [[maybe_unused]] const Facts& f, [[maybe_unused]] int i) -> Wanted { \
     return rule;                                                                                           \
   }},
  static const std::vector<Row> table = {
#include "host/model/relations.inl"
  };
#undef RELATION
  return table;
}

std::string element_of(const Model& m, const std::string& field, int i) {
  std::string kind = field.substr(0, field.find('_'));
  if (kind == "name") kind = field.substr(5, field.size() - 8);
  if (field == "actuator_trnid" || field == "actuator_history") i /= 2;
  if (field == "actuator_ctrllimited") i = actuator_of_control(m, i);
  if (field == "sensor_intprm") i /= std::max<int>(1, static_cast<int>(m.sensor_intprm.size()) / m.nsensor);
  const bool of_rows = field == "mesh_graph" || field.rfind("mesh_poly", 0) == 0;
  for (const char* known : {"body", "jnt", "geom", "site", "pair", "eq", "tendon", "actuator", "sensor",
                            "mesh", "hfield", "key", "numeric", "text"})
    if (kind == known && !of_rows) return element_name(m, kind, i);
  if (kind == "dof") {
    const int joint = m.dof_jntid[i];
    const std::string of = joint >= 0 && joint < m.njnt ? " of " + element_name(m, "jnt", joint) : "";
    return "dof " + std::to_string(i) + of;
  }
  return (of_rows ? "entry" : kind) + " " + std::to_string(i);
}

void look_at_rows(const Model& m, const Facts& f, int stage, std::vector<Problem>* problems) {
  for (const Row& row : rows()) {
    if (row.stage != stage || row.kind == RelationKind::kFree) continue;
    const std::vector<int>& values = m.*row.values;
    for (int i = 0; i < static_cast<int>(values.size()); ++i) {
      stop_if_told();
      const Wanted wanted = row.wanted(m, f, i);
      if (wanted.holds(values[i])) continue;
      const std::string text = wanted.text();
      problems->push_back({row.field, element_of(m, row.field, i),
                           "is " + std::to_string(values[i]) + ", must be " +
                               (text.empty() ? row.meaning : text + " (" + row.meaning + ")")});
    }
  }
}

struct Total {
  const char* size;
  long is, must;
  const char* meaning;
};
void look_at_totals(std::initializer_list<Total> totals, std::vector<Problem>* problems) {
  for (const Total& t : totals)
    if (t.is != t.must)
      problems->push_back(
          {t.size, "size",
           "is " + std::to_string(t.is) + ", must be " + std::to_string(t.must) + " (" + t.meaning + ")"});
}

// arrays whose width the file decides, as wide as their readers go
void look_at_widths(const Model& m, std::vector<Problem>* problems) {
  const auto look = [&](const char* name, size_t entries, int count, long least, bool exactly) {
    const long width = count > 0 ? static_cast<long>(entries) / count : least;
    if (exactly ? width != least : width < least)
      problems->push_back({name, "array",
                           "has rows of " + std::to_string(width) + ", must have " +
                               (exactly ? "" : "at least ") + std::to_string(least)});
  };
  look("eq_data", m.eq_data.size(), m.neq, 11, false);
  const auto tells = [](int type) { return sensor_type_row(type).has_parameters(); };
  if (std::any_of(m.sensor_type.begin(), m.sensor_type.end(), tells))
    look("sensor_intprm", m.sensor_intprm.size(), m.nsensor, kSensorNumbers, false);
  look("key_mpos", m.key_mpos.size(), m.nkey, 3L * m.nmocap, true);
  look("key_mquat", m.key_mquat.size(), m.nkey, 4L * m.nmocap, true);
}

}  // namespace

std::vector<Relation> model_relations() {
  std::vector<Relation> relations;
  for (const Row& row : rows()) relations.push_back({row.field, row.kind, row.meaning});
  return relations;
}

void find_contradictions(const Model& m, std::vector<Problem>* problems) {
  const size_t before = problems->size();
  Facts facts = look_at_counts(m);
  look_at_widths(m, problems);
  look_at_totals({{"nmocap", m.nmocap, facts.mocaps, "bodies with a mocapid"},
                  {"nwrap", m.nwrap, facts.wraps, "the sum of tendon_num"},
                  {"nu", m.nu, facts.controls, "the sum of actuator_ctrlnum"},
                  {"na", m.na, facts.activations, "the sum of actuator_actnum"},
                  {"nsensordata", m.nsensordata, facts.readings, "the sum of sensor_dim"}},
                 problems);
  look_at_rows(m, facts, 0, problems);
  if (problems->size() > before) return;
  look_at_trees(m, &facts);
  look_at_totals({{"nq", m.nq, facts.positions, "the positions of all joints"},
                  {"nv", m.nv, facts.velocities, "the dofs of all joints"}},
                 problems);
  if (problems->size() > before) return;
  look_at_rows(m, facts, 1, problems);
  if (problems->size() > before) return;
  look_at_rows(m, facts, 2, problems);
  if (problems->size() > before) return;
  find_surface_contradictions(m, problems);
}

}  // namespace dualstep

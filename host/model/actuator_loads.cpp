#include "host/model/actuator_loads.h"

#include <algorithm>

#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"

namespace dualstep {

bool has_actuator_loads(const Model& m) {
  const auto any = [](const std::vector<double>& values) {
    return std::any_of(values.begin(), values.end(), [](double x) { return x != 0; });
  };
  return any(m.actuator_damping) || any(m.actuator_armature);
}

Model with_actuator_loads(const Model& m) {
  Model out = m;
  for (int a = 0; a < m.nactuator; ++a) {
    const int id = transmission_id(m, a);
    const double gear = scalar_gear(m, a), damping = m.actuator_damping[a] * gear * gear,
                 armature = m.actuator_armature[a] * gear * gear;
    if (acts_on(m, a, kOnTendon)) {
      out.tendon_damping[id] += damping;
      out.tendon_armature[id] += armature;
    }
    for (int i = 0; i < m.nv && acts_on(m, a, kOnJoint); ++i) {
      if (m.dof_jntid[i] != id) continue;
      out.dof_damping[i] += damping;
      out.dof_armature[i] += armature;
    }
  }
  return out;
}

}  // namespace dualstep

// What a batch cannot do of the integrator discrete. The inertia of its step has an entry for every two dofs of a tendon or
// actuator with slopes; the kernels' factor has them for dofs of one branch alone (kernels/smooth/factorize.h).
#include <algorithm>

#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/model/unsupported.h"
#include "host/tables/tables.h"

namespace dualstep {

namespace {

// whether M has an entry for every two of these dofs, rising: those of one branch follow from each other
bool on_one_branch(const TableStore& t, const std::vector<int>& dofs) {
  for (size_t i = 0; i + 1 < dofs.size(); ++i) {
    const auto row = t.M_col.begin() + t.M_rowadr[dofs[i + 1]],
               end = t.M_col.begin() + t.M_rowadr[dofs[i + 1] + 1];
    if (std::find(row, end, dofs[i]) == end) return false;
  }
  return true;
}

// whether the force of an actuator depends on where it is, or on how fast
bool has_slopes(const Model& m, int a) {
  const unsigned by_bias = bias_of(m, a).traits;
  if (is_motor(m, a) || gain_of(m, a).traits != 0 || (by_bias & kForceByMotion) != 0) return true;
  const auto bias = row::actuator_biasprm(m, a);
  return (by_bias & kForceAffine) != 0 && (bias[1] != 0 || bias[2] != 0);
}

}  // namespace

void refuse_discrete(const Model& m, const TableStore& t) {
  if (m.opt.integrator != Integrator::kDiscrete) return;
  std::vector<Problem> problems;
  const std::string reason =
      "under the integrator discrete a Batch takes springs, dampers and servos along one branch of the tree; "
      "a Reference takes any";
  const auto crosses = [&](int ten) {
    const auto dofs = t.ten_dof.begin();
    return !on_one_branch(t, {dofs + t.ten_adr[ten], dofs + t.ten_adr[ten + 1]});
  };
  for (int ten = 0; ten < m.ntendon; ++ten)
    if ((m.tendon_stiffness[ten] != 0 || m.tendon_damping[ten] != 0) && crosses(ten))
      problems.push_back({"tendon across branches", element_name(m, "tendon", ten), reason});
  for (int a = 0; a < m.nactuator; ++a) {
    if (!has_slopes(m, a)) continue;
    std::vector<int> dofs;
    for (int e = t.trn_adr[a]; e < t.trn_adr[a + 1]; ++e) dofs.push_back(t.trn_dof[e]);
    const bool apart = acts_on(m, a, kOnTendon) ? crosses(transmission_id(m, a)) : !on_one_branch(t, dofs);
    if (apart) problems.push_back({"actuator across branches", element_name(m, "actuator", a), reason});
  }
  throw_problems(problems, {});
}

}  // namespace dualstep

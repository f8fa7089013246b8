// Constants of a model that follow from others, as MuJoCo's compiler derives them: recomputed where the
// parameters of one environment differ from the model's.
#pragma once

#include <set>
#include <string>

#include "host/model.h"

namespace dualstep {

// body_subtreemass, geom_rbound, body_invweight0, dof_invweight0, tendon_invweight0: those that depend on an
// array named in `changed`; all others stay as they are
void derive_constants(Model* model, const std::set<std::string>& changed);

}  // namespace dualstep

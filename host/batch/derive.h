// Constants of a model that follow from others: recomputed where the parameters of one environment differ
// from the model's.
//
//   body_subtreemass   mass of the body and all that it carries
//   geom_rbound        radius of a sphere about the geom's centre that holds it
//   body_invweight0    at qpos0, J M^-1 J' for J the Jacobian of the body's centre of mass: a third of the trace
//                      of its translational, and of its rotational, block
//   dof_invweight0     at qpos0, the diagonal of M^-1, averaged over the three axes of a ball joint, and over
//                      each half of a free joint
//   tendon_length0, tendon_invweight0   at qpos0, the length L, and J M^-1 J' with J = dL/dq
//   actuator_length0, actuator_acc0   of models with muscles, at qpos0, the length, and |M^-1 m| with m its moment
//
// The definitions are MuJoCo's (documentation of mjModel), so that a model compiled with the same values has
// the same constants. Bodies that only slide (body_simple 2) have 1 / mass and 0 there, and so have they here.
#pragma once

#include <set>
#include <string>

#include "host/model/model.h"

namespace dualstep {

// those constants that depend on an array named in `changed`; all others stay as they are
void derive_constants(Model* model, const std::set<std::string>& changed);

}  // namespace dualstep

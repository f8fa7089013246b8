// MuJoCo's softness as a law of a whole step: from phi = 0 whatever the margin, and on the inertia of the
// step.
//
// solves    softness and weight of a contact's rows; impacts go before them (solver/impact.h)
// equation  that of mujoco.h with r = dist
// source    Todorov 2014; MuJoCo's documentation, "Solver parameters"
// deviation from mujoco.h: a margin only says how early a row appears
// reads     pair_solimp, pair_diag, pair_kbb
// writes    a contact's record
// cost      O(1) a contact
#pragma once

#include "kernels/contact/mujoco.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// record_by_law (with_law.h) gives its softness
struct SoftLaw : ContactLaw {};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

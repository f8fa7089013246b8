// Constraint rows, whitened: what the solver works on.
//
// Single precision sees a well-scaled problem in whitened rows, and M is not needed again. Z has entries only on the
// ancestors of the bodies in touch. A row of a limit or of friction loss is one dof's: Linv holds it on the dof's
// ancestors alone.
//
// solves    the rows of a step: Z, and y0 and D of each
// equation  minimize over l in K   1/2 l'(A + R) l + l' b,   A = J M^-1 J',   b = J qacc_smooth - aref
//           aref = -B J v - K imp (dist - margin),           R = (1 - imp)/imp diag   (MuJoCo's solref and solimp)
//           each row of J is replaced by
//             Z = D^-1/2 L^-T J',   so that   A = Z'Z
//             w = D^1/2 L (qacc - qacc_smooth),   |w| = |qacc - qacc_smooth|_M
// source    Todorov 2014 ("Convex and analytically-invertible dynamics with contacts and constraints"); MuJoCo's
//           documentation, "Solver parameters", for the impedance
// deviation those of each kind (kinds/kinds.h)
// reads     LD, Dscale, cdof, con_*, qpos, qvel, qacc_smooth
// writes    Linv, Z, lim_*, loss_*, dense_*, con_y0
// cost      O(contacts (nv + nM))
#pragma once

#include "kernels/rows/kinds/kinds.h"
#include "kernels/rows/surface_velocity.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// weights and residuals of limits and friction losses; which dofs need a row follows from the weights
template <class E>
DS_STAGE void limit_rows(E& env) {
  each_single_kind(env, [](const auto& kind) { kind.make(); });
}

template <int kDim, class E>
DS_FN void rows(E& env) {
  limit_rows(env);
  env.sync();
  find_single_rows(env);
  env.sync_block();
  single_rows(env);
  env.sync_block();
  DenseKinds::each(env, [&](const auto& kind, int first) { kind.make(env, first); });
  env.done();
  if (surfaces_move(env)) surface_velocities(env);
  if (env.t.n.nisland == 0) contact_rows<kDim>(env);  // else by solver/islands
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

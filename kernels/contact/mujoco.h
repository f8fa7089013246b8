// MuJoCo's law: soft rows whose impedance grows with the penetration.
//
// solves    softness and weight of a contact's rows
// equation  aref = -B J v - K imp r,  r = dist - margin on the normal,  else 0
//           R = (1 - imp) / imp diag,  D = 1 / R
// source    Todorov 2014; MuJoCo's documentation, "Solver parameters"
// deviation none
// reads     pair_margin, pair_solimp, pair_diag, pair_kbb
// writes    a contact's record
// cost      O(1) a contact
#pragma once

#include "kernels/contact/law.h"
#include "kernels/rows/step_end.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// softness at a distance r
template <class E, class Record>
DS_FN void impedance_record(const E& env, int pair, const typename E::Real& r, Record* c) {
  using Real = typename E::Real;
  const Real imp = impedance(r, [&](int k) { return env.pair_solimp(pair, k); });
  const Real R = regularizer(imp, env.pair_approx_A(pair)) * env.pair_R_scale(pair);
  const auto end = row_end(env, imp, Real(env.pair_K(pair)), Real(env.pair_Bn(pair)),
                           [&] { return Real(env.pair_stiffest(pair)); });
  c->D = end.weight / max(R, Real(kMinVal));
  c->kterm = end.K * r;
  c->Bn = end.B;
  // the edges of a pyramid have the normal's position, the rows of a cone have none
  const bool edges = env.t.o.integrator == kDiscrete && env.t.o.weights == kWeighsEdges;
  c->Bt = edges ? end.B : row_end(env, Real(env.pair_Bt(pair))).B;
}

// record_by_law (with_law.h) gives its softness
struct MujocoLaw : ContactLaw {};

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

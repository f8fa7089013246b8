// the maximum dissipation principle on a disc (or ball).
//
// solves    continuous  b = argmin v_t'b, |b| <= mu N;
//           over a step  v' = u + A b with v' + s b/|b| = 0, 0 <= s _|_ mu N - |b| >= 0
// equation  continuous  b = -mu N v_t/|v_t|;
//           over a step  min 1/2 b'Ab + b'u on the disc: stick b = -A^+ u where it fits,
//                        else b = -(A + nu I)^-1 u with |b| = mu N, s = nu mu N
// source    lecture notes on the maximum dissipation principle (SOCP form); Stewart 2000; Nocedal & Wright, section 4.3
// deviation the velocity in the conditions is the one at the end of the step but is not differentiated
//           through: doing so doubles the quadratic term and halves sticking impulses; the norm is the
//           2-norm and the bound an inequality
// reads     v_t or u (d) [m/s], A (d,d) symmetric positive semidefinite [1/kg], mu N [N or N s] >= 0
// writes    impulse (d); v' (d) and s = |v'| of a slide, 0 of a stick
// cost      O(d^3) and a few Newton steps
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

Vector maximum_dissipation(const Vector& v_t, double mu_n);

struct DissipationStep {
  Vector impulse;
  Vector v_next;
  double speed;
};

DissipationStep maximum_dissipation_step(const Matrix& A, const Vector& u, double mu_impulse);

}  // namespace dualstep::formulations

// time stepping with Coulomb friction as one linear complementarity problem.
//
// solves    v' = v_free + M^-1 (n'c + D'beta) for normal and friction impulses
// equation  0 <= phi/h + n v' _|_ c >= 0,  0 <= s e + D v' _|_ beta >= 0,  0 <= mu c - e'beta _|_ s >= 0;
//           D holds nd directions cos(t_k) t1 + sin(t_k) t2, t_k = 2 pi k / nd; s is the sliding speed
// source    Stewart & Trinkle 1996; Anitescu & Potra 1997; Tedrake, Underactuated Robotics, multi-body appendix
// deviation none; phi/h is not capped. With nd = 4 friction may fall to mu / sqrt 2 and need not oppose the sliding
// reads     M (nv,nv), J (3c,nv) rows n, t1, t2, phi (c) [m], mu (c), v_free (nv), h [s], nd even
// writes    v', the normal impulses, the tangent impulses along t1, t2, the LCP's residual; throws Infeasible
// cost      O(nv^3) and one LCP of c (nd + 2) unknowns
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

struct StewartTrinkleStep {
  Vector v_next;
  Vector normal;
  Matrix tangent;  // (contacts, 2)
  double residual;
};

StewartTrinkleStep stewart_trinkle(const Matrix& M, const Matrix& J, const Vector& phi, const Vector& mu,
                                   const Vector& v_free, double h, int directions);

// the same with any normal term: gap stands for phi/h + n v_free
StewartTrinkleStep coulomb_lcp(const Matrix& M, const Matrix& J, const Vector& gap, const Vector& mu,
                               const Vector& v_free, int directions);

}  // namespace dualstep::formulations

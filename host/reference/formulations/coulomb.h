// Coulomb's law with Signorini's condition on the rows of the contact dual.
//
// solves    y = G f + b with limits 0 <= y _|_ f >= 0, interval and free rows as in the dual, and for every
//           contact 0 <= y_n _|_ f_n >= 0, f_t the most dissipative point of the section mu f_n of its cone
// equation  pyramidal  one LCP: f_t = sum beta_k (mu d_k), 0 <= s + (mu d_k)'y_t _|_ beta_k >= 0,
//                      0 <= f_n - sum beta _|_ s >= 0
//           elliptic   x = P(x - D^-1 (z + |z_t| e_n)), z = E'y in the cone's own coordinates: semismooth Newton
// source    de Saxce & Feng 1998; Stewart & Trinkle 1996; Alart & Curnier 1991; Acary et al. 2011
// deviation Newton starts where the caller stands, then at the LCP's answer on finer and finer polygons
// reads     G (r,r) = A + R, b (r), the rows
// writes    the force; says whether it was found
// cost      one LCP; O(r^3) a Newton step
#pragma once

#include "host/reference/formulations/cone_program.h"
#include "host/reference/formulations/contact_dual.h"

namespace dualstep::formulations {

// the LCP on friction pyramids; false where Lemke's method finds no answer
bool coulomb_on_pyramids(const Matrix& G, const Vector& b, const ContactDualRows& rows, Vector& force);

// Newton on round cones in the coordinates of `program`, from x; the defect left over relative to the
// problem's size
double coulomb_newton(const ConeProgram& program, int limit, Vector& x, int& steps);

}  // namespace dualstep::formulations

// least squares over the non-negative orthant.
//
// solves    min |B x - c|,  x >= 0
// equation  active set: grow the set of positive unknowns by the steepest one, step back to the boundary when one
//           turns negative
// source    Lawson & Hanson 1974, Solving Least Squares Problems, ch. 23
// deviation none
// reads     B (m,n), c (m)
// cost      a least squares solve per change of the set
#pragma once

#include "host/reference/formulations/linear_algebra.h"

namespace dualstep::formulations {

Vector nonneg_least_squares(const Matrix& B, const Vector& c);

}  // namespace dualstep::formulations

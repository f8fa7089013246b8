// see frictionless.h

#include "host/reference/formulations/frictionless.h"

#include "host/reference/formulations/lemke.h"

namespace dualstep::formulations {

ImpulseStep frictionless_step(const Matrix& M, const Matrix& n, const Vector& phi, const Vector& v_free,
                              double h) {
  const MassFactor mass(M);
  const Matrix W = mass.whiten(n.transpose());
  ImpulseStep out;
  out.impulse = solve_lcp(W.transpose() * W, phi / h + n * v_free).z;
  out.v_next = v_free + mass.solve(Vector(n.transpose() * out.impulse));
  return out;
}

}  // namespace dualstep::formulations

// The mass matrix by composite rigid bodies.
//
// solves    M and its Cholesky factor
// equation  I^c_i = I_i + sum of children's I^c,   M_ij = S_i' I^c_body(i) S_j for j an ancestor of i or i itself,
//           with armature on the diagonal, and of tendons armature J'J between dofs of one branch, as in MuJoCo
// source    Featherstone 2008, section 6.2
// reads     cinert, cdof
// writes    M, M_llt
// cost      O(nv depth), then a dense Cholesky factorization of each kinematic tree
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

void mass_matrix(const Model& m, Data* d) {
  // composite inertias, children before parents; each tree has its own origin, so the world takes no part
  std::vector<Matrix6d> composite = d->cinert;
  for (int i = m.nbody - 1; i > 0; --i) {
    if (m.body_parentid[i] > 0) composite[m.body_parentid[i]] += composite[i];
  }

  // entries between dofs of different branches stay zero
  for (int i = 0; i < m.nv; ++i) {
    const Vector6d force = composite[m.dof_bodyid[i]] * d->cdof.col(i);
    for (int j = i; j >= 0; j = m.dof_parentid[j]) d->M(i, j) = d->M(j, i) = d->cdof.col(j).dot(force);
    d->M(i, i) += m.dof_armature[i];
  }
  if (tendons_have_inertia(m)) add_tendon_inertia(m, *d, &d->M);
  d->M_llt.compute(d->M);
}

}  // namespace dualstep::reference

// see stewart_trinkle.h

#include "host/reference/formulations/stewart_trinkle.h"

#include <cmath>
#include <numbers>

#include "host/reference/formulations/lemke.h"

namespace dualstep::formulations {

StewartTrinkleStep coulomb_lcp(const Matrix& M, const Matrix& J, const Vector& gap, const Vector& mu,
                               const Vector& v_free, int directions) {
  const MassFactor mass(M);
  const Eigen::Index contacts = mu.size(), nd = directions;

  // F turns (c, beta) into rows of J: normal first, then the polygon of directions
  Matrix F = Matrix::Zero(3 * contacts, contacts * (1 + nd));
  for (Eigen::Index i = 0; i < contacts; ++i) {
    F(3 * i, i) = 1;
    for (Eigen::Index k = 0; k < nd; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(nd);
      F(3 * i + 1, contacts + i * nd + k) = std::cos(angle);
      F(3 * i + 2, contacts + i * nd + k) = std::sin(angle);
    }
  }
  const Matrix W = mass.whiten(Matrix(J.transpose() * F));

  // unknowns: c (contacts), beta (contacts nd), sliding speed (contacts)
  const Eigen::Index forces = F.cols(), size = forces + contacts;
  Matrix L = Matrix::Zero(size, size);
  L.topLeftCorner(forces, forces) = W.transpose() * W;
  Vector q = Vector::Zero(size);
  q.head(forces) = F.transpose() * (J * v_free);
  q.head(contacts) = gap;
  for (Eigen::Index i = 0; i < contacts; ++i) {
    L.block(contacts + i * nd, forces + i, nd, 1).setOnes();
    L.block(forces + i, contacts + i * nd, 1, nd).setConstant(-1);
    L(forces + i, i) = mu(i);
  }

  const LcpSolution lcp = solve_lcp(L, q);
  const Vector rows = F * lcp.z.head(forces);
  StewartTrinkleStep out;
  out.normal = lcp.z.head(contacts);
  out.tangent.resize(contacts, 2);
  for (Eigen::Index i = 0; i < contacts; ++i) out.tangent.row(i) = rows.segment(3 * i + 1, 2).transpose();
  out.v_next = v_free + mass.solve(Vector(J.transpose() * rows));
  out.residual = lcp.residual;
  return out;
}

StewartTrinkleStep stewart_trinkle(const Matrix& M, const Matrix& J, const Vector& phi, const Vector& mu,
                                   const Vector& v_free, double h, int directions) {
  Vector gap(phi.size());
  for (Eigen::Index i = 0; i < phi.size(); ++i) gap(i) = phi(i) / h + J.row(3 * i).dot(v_free);
  return coulomb_lcp(M, J, gap, mu, v_free, directions);
}

}  // namespace dualstep::formulations

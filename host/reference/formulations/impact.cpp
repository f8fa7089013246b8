// see impact.h

#include "host/reference/formulations/impact.h"

#include <cmath>

#include "host/reference/formulations/contact_dual.h"
#include "host/reference/formulations/lemke.h"
#include "host/reference/formulations/stewart_trinkle.h"

namespace dualstep::formulations {
namespace {

struct Contacts {
  const Matrix& M;
  const Matrix& J;
  const Vector& v;
  const Vector& mu;
  MassFactor mass;
  Matrix W;  // L^-1 J'
  Vector u;  // J v
};

Vector normal_impulses(const Contacts& c, const Vector& e) {
  const Eigen::Index k = e.size();
  Matrix Wn(c.W.rows(), k);
  Vector q(k);
  for (Eigen::Index i = 0; i < k; ++i) {
    Wn.col(i) = c.W.col(3 * i);
    q(i) = (1 + e(i)) * c.u(3 * i);
  }
  const Vector z = solve_lcp(Wn.transpose() * Wn, q).z;
  Vector out = Vector::Zero(3 * k);
  for (Eigen::Index i = 0; i < k; ++i) out(3 * i) = z(i);
  return out;
}

// diag(1+e, 1, 1) u
Vector restored(const Contacts& c, const Vector& e) {
  Vector out = c.u;
  for (Eigen::Index i = 0; i < e.size(); ++i) out(3 * i) *= 1 + e(i);
  return out;
}

Vector impulses(const Contacts& c, const Vector& e, const ImpactOptions& options) {
  if (c.mu.size() == 0 || c.mu.maxCoeff() == 0) return normal_impulses(c, e);
  const Vector wanted = restored(c, e);
  if (std::isinf(c.mu.minCoeff())) {
    bool closing = false;
    for (Eigen::Index i = 0; i < e.size(); ++i) closing = closing || c.u(3 * i) < 0;
    return closing ? Vector(-DelassusInverse(c.W).solve(wanted)) : Vector(Vector::Zero(c.u.size()));
  }
  if (options.law == ImpactLaw::kConvex) {
    ContactDualRows rows;
    for (Eigen::Index i = 0; i < e.size(); ++i) rows.mu.push_back({c.mu(i), c.mu(i)});
    return contact_dual(c.W.transpose() * c.W, wanted, Vector::Zero(c.u.size()), rows).force;
  }
  Vector gap(e.size());
  for (Eigen::Index i = 0; i < e.size(); ++i) gap(i) = wanted(3 * i);
  const StewartTrinkleStep step = coulomb_lcp(c.M, c.J, gap, c.mu, c.v, options.directions);
  Vector out(c.u.size());
  for (Eigen::Index i = 0; i < e.size(); ++i)
    out.segment(3 * i, 3) << step.normal(i), step.tangent(i, 0), step.tangent(i, 1);
  return out;
}

// T+ - T- = L'u + 1/2 |W L|^2, without the difference of two energies
double energy_gain(const Contacts& c, const Vector& impulse) {
  return impulse.dot(c.u) + 0.5 * (c.W * impulse).squaredNorm();
}

}  // namespace

ImpactResult impact(const Matrix& M, const Matrix& J, const Vector& v, const Vector& mu,
                    const Vector& restitution, const ImpactOptions& options) {
  MassFactor mass(M);
  const Matrix W = mass.whiten(J.transpose());
  const Contacts contacts{.M = M, .J = J, .v = v, .mu = mu, .mass = mass, .W = W, .u = J * v};

  ImpactResult out;
  out.restitution_scale = 1;
  out.impulse = impulses(contacts, restitution, options);
  const double allowed = 1e-12 * v.dot(M * v);
  if (options.limit_energy && energy_gain(contacts, out.impulse) > allowed) {
    double low = 0, high = 1;
    Vector kept = impulses(contacts, Vector::Zero(restitution.size()), options);
    for (int i = 0; i < 52; ++i) {
      const double scale = 0.5 * (low + high);
      const Vector trial = impulses(contacts, scale * restitution, options);
      if (energy_gain(contacts, trial) > 0) {
        high = scale;
      } else {
        low = scale;
        kept = trial;
      }
    }
    out.impulse = kept;
    out.restitution_scale = low;
  }
  out.v_next = v + mass.solve(Vector(J.transpose() * out.impulse));
  return out;
}

}  // namespace dualstep::formulations

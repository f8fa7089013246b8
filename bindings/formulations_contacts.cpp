// entry points of complementarity problems, time stepping, impacts and the contact dual

#include <pybind11/stl.h>

#include "bindings/formulations_arrays.h"
#include "host/reference/formulations/anitescu.h"
#include "host/reference/formulations/contact_dual.h"
#include "host/reference/formulations/frictionless.h"
#include "host/reference/formulations/impact.h"
#include "host/reference/formulations/lemke.h"
#include "host/reference/formulations/stewart_trinkle.h"

namespace dualstep::bindings {
namespace {

py::tuple lcp(Array M_, Array q_) {
  const In M(M_), q(q_);
  Out z(q.batch(), q.rows()), w(q.batch(), q.rows());
  each(q.batch(), [&](py::ssize_t i) {
    const auto out = formulations::solve_lcp(M.matrix(i), q.vector(i));
    z.set(i, out.z), w.set(i, out.w);
  });
  return py::make_tuple(z.take(), w.take());
}

py::tuple frictionless_step(Array M_, Array n_, Array phi_, Array v_free_, Array h_) {
  const In M(M_), n(n_), phi(phi_), v_free(v_free_), h(h_);
  Out v_next(M.batch(), M.rows()), impulse(M.batch(), n.rows());
  each(M.batch(), [&](py::ssize_t i) {
    const auto out = formulations::frictionless_step(M.matrix(i), n.matrix(i), phi.vector(i),
                                                     v_free.vector(i), h.number(i));
    v_next.set(i, out.v_next), impulse.set(i, out.impulse);
  });
  return py::make_tuple(v_next.take(), impulse.take());
}

py::tuple stewart_trinkle(Array M_, Array J_, Array phi_, Array mu_, Array v_free_, Array h_,
                          int directions) {
  const In M(M_), J(J_), phi(phi_), mu(mu_), v_free(v_free_), h(h_);
  const py::ssize_t B = M.batch(), contacts = phi.rows();
  Out v_next(B, M.rows()), normal(B, contacts), tangent(B, contacts, 2), residual(B);
  each(B, [&](py::ssize_t i) {
    const auto out = formulations::stewart_trinkle(M.matrix(i), J.matrix(i), phi.vector(i), mu.vector(i),
                                                   v_free.vector(i), h.number(i), directions);
    v_next.set(i, out.v_next), normal.set(i, out.normal), tangent.set(i, out.tangent);
    residual.set(i, out.residual);
  });
  return py::make_tuple(v_next.take(), normal.take(), tangent.take(), residual.take());
}

py::tuple anitescu(Array M_, Array J_, Array phi_, Array mu_, Array v_free_, Array h_, int directions) {
  const In M(M_), J(J_), phi(phi_), mu(mu_), v_free(v_free_), h(h_);
  Out v_next(M.batch(), M.rows()), impulse(M.batch(), J.rows());
  each(M.batch(), [&](py::ssize_t i) {
    const auto out = formulations::anitescu(M.matrix(i), J.matrix(i), phi.vector(i), mu.vector(i),
                                            v_free.vector(i), h.number(i), directions);
    v_next.set(i, out.v_next), impulse.set(i, out.impulse);
  });
  return py::make_tuple(v_next.take(), impulse.take());
}

// the third value is how far the restitution was scaled down to keep the energy
py::tuple impact(Array M_, Array J_, Array v_, Array mu_, Array restitution_, bool convex, int directions,
                 bool limit_energy) {
  const In M(M_), J(J_), v(v_), mu(mu_), restitution(restitution_);
  const formulations::ImpactOptions options{
      .law = convex ? formulations::ImpactLaw::kConvex : formulations::ImpactLaw::kLcp,
      .directions = directions,
      .limit_energy = limit_energy};
  Out v_next(M.batch(), M.rows()), impulse(M.batch(), J.rows()), scale(M.batch());
  each(M.batch(), [&](py::ssize_t i) {
    const auto out = formulations::impact(M.matrix(i), J.matrix(i), v.vector(i), mu.vector(i),
                                          restitution.vector(i), options);
    v_next.set(i, out.v_next), impulse.set(i, out.impulse), scale.set(i, out.restitution_scale);
  });
  return py::make_tuple(v_next.take(), impulse.take(), scale.take());
}

// mu (B, sum of dims - 1): the coefficients of the contacts, one after another
py::tuple contact_dual(Array A_, Array b_, Array R_, Array mu_, Array friction_loss_, std::vector<int> dims,
                       int equality, int limits, bool pyramidal, int directions, bool desaxce) {
  const In A(A_), b(b_), R(R_), mu(mu_), friction_loss(friction_loss_);
  const py::ssize_t B = b.batch();
  Out force(B, b.rows()), objective(B), residual(B);
  py::array_t<std::int64_t> iterations(B);
  each(B, [&](py::ssize_t i) {
    formulations::ContactDualRows rows;
    rows.equality = equality;
    rows.limits = limits;
    rows.cone = pyramidal ? formulations::FrictionCone::kPyramidal : formulations::FrictionCone::kElliptic;
    rows.directions = directions;
    rows.desaxce = desaxce;
    const Vector loss = friction_loss.vector(i), coefficients = mu.vector(i);
    rows.friction_loss.assign(loss.data(), loss.data() + loss.size());
    const double* next = coefficients.data();
    for (int d : dims) {
      rows.mu.emplace_back(next, next + d - 1);
      next += d - 1;
    }
    const auto out = formulations::contact_dual(A.matrix(i), b.vector(i), R.vector(i), rows);
    force.set(i, out.force), objective.set(i, out.objective), residual.set(i, out.residual);
    iterations.mutable_at(i) = out.iterations;
  });
  return py::make_tuple(force.take(), objective.take(), residual.take(), iterations);
}

}  // namespace

void bind_contacts(py::module_& m) {
  m.def("lcp", lcp);
  m.def("frictionless_step", frictionless_step);
  m.def("stewart_trinkle", stewart_trinkle);
  m.def("anitescu", anitescu);
  m.def("impact", impact);
  m.def("contact_dual", contact_dual);
}

}  // namespace dualstep::bindings

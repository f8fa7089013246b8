// entry points of the formulations without inequalities, and of joint limits

#include <optional>

#include "bindings/formulations_arrays.h"
#include "host/reference/formulations/double_pendulum.h"
#include "host/reference/formulations/equality.h"
#include "host/reference/formulations/gauss.h"
#include "host/reference/formulations/implicit_damping.h"
#include "host/reference/formulations/limits.h"
#include "host/reference/formulations/projected.h"
#include "host/reference/formulations/quaternion.h"

namespace dualstep::bindings {
namespace {

// material (B, 5): m1, m2, l1, l2, g
py::tuple double_pendulum(Array material_, Array q_, Array v_) {
  const In material(material_), q(q_), v(v_);
  const py::ssize_t B = q.batch();
  Out M(B, 2, 2), Cv(B, 2), tau_g(B, 2), kinetic(B), potential(B);
  each(B, [&](py::ssize_t i) {
    const Vector p = material.vector(i);
    const auto out = formulations::double_pendulum(p(0), p(1), p(2), p(3), q.vector(i), v.vector(i), p(4));
    M.set(i, out.M), Cv.set(i, out.Cv), tau_g.set(i, out.tau_g);
    kinetic.set(i, out.kinetic), potential.set(i, out.potential);
  });
  return py::make_tuple(M.take(), Cv.take(), tau_g.take(), kinetic.take(), potential.take());
}

// the second value counts the zero quaternions read as the identity
py::tuple quaternion_rate(Array quat_, Array omega_) {
  const In quat(quat_), omega(omega_);
  Out rate(quat.batch(), 4);
  int replaced = 0;
  each(quat.batch(), [&](py::ssize_t i) {
    bool flag = false;
    rate.set(i, formulations::quaternion_rate(quat.vector(i), omega.vector(i), flag));
    replaced += flag;
  });
  return py::make_tuple(rate.take(), replaced);
}

py::tuple quaternion_integrate(Array quat_, Array omega_, Array h_) {
  const In quat(quat_), omega(omega_), h(h_);
  Out next(quat.batch(), 4);
  int replaced = 0;
  each(quat.batch(), [&](py::ssize_t i) {
    bool flag = false;
    next.set(i, formulations::quaternion_integrate(quat.vector(i), omega.vector(i), h.number(i), flag));
    replaced += flag;
  });
  return py::make_tuple(next.take(), replaced);
}

py::tuple equality_dynamics(Array M_, Array tau_, Array J_, Array Jdot_v_, Array c_, Array c_dot_,
                            Array alpha_) {
  const In M(M_), tau(tau_), J(J_), Jdot_v(Jdot_v_), c(c_), c_dot(c_dot_), alpha(alpha_);
  Out qacc(M.batch(), M.rows()), force(M.batch(), J.rows()), inconsistency(M.batch());
  each(M.batch(), [&](py::ssize_t i) {
    const auto out =
        formulations::equality_dynamics(M.matrix(i), tau.vector(i), J.matrix(i), Jdot_v.vector(i),
                                        c.vector(i), c_dot.vector(i), alpha.number(i));
    qacc.set(i, out.qacc), force.set(i, out.force), inconsistency.set(i, out.inconsistency);
  });
  return py::make_tuple(qacc.take(), force.take(), inconsistency.take());
}

py::tuple velocity_equality_dynamics(Array M_, Array tau_, Array G_, Array drift_, Array psi_, Array alpha_) {
  const In M(M_), tau(tau_), G(G_), drift(drift_), psi(psi_), alpha(alpha_);
  Out qacc(M.batch(), M.rows()), force(M.batch(), G.rows()), inconsistency(M.batch());
  each(M.batch(), [&](py::ssize_t i) {
    const auto out = formulations::velocity_equality_dynamics(
        M.matrix(i), tau.vector(i), G.matrix(i), drift.vector(i), psi.vector(i), alpha.number(i));
    qacc.set(i, out.qacc), force.set(i, out.force), inconsistency.set(i, out.inconsistency);
  });
  return py::make_tuple(qacc.take(), force.take(), inconsistency.take());
}

py::tuple gauss(Array M_, Array tau_, Array J_, Array Jdot_v_) {
  const In M(M_), tau(tau_), J(J_), Jdot_v(Jdot_v_);
  const py::ssize_t B = M.batch();
  Out qacc(B, M.rows()), force(B, J.rows()), primal(B), dual(B), inconsistency(B);
  each(B, [&](py::ssize_t i) {
    const auto out = formulations::gauss(M.matrix(i), tau.vector(i), J.matrix(i), Jdot_v.vector(i));
    qacc.set(i, out.qacc), force.set(i, out.force), primal.set(i, out.primal), dual.set(i, out.dual);
    inconsistency.set(i, out.inconsistency);
  });
  return py::make_tuple(qacc.take(), force.take(), primal.take(), dual.take(), inconsistency.take());
}

py::tuple projected_dynamics(Array M_, Array tau_, Array J_, Array Jdot_v_) {
  const In M(M_), tau(tau_), J(J_), Jdot_v(Jdot_v_);
  const py::ssize_t B = M.batch(), nv = M.rows(), k = J.rows();
  Out qacc(B, nv), force(B, k), inertia(B, k, k), projector(B, nv, nv);
  each(B, [&](py::ssize_t i) {
    const auto out =
        formulations::projected_dynamics(M.matrix(i), tau.vector(i), J.matrix(i), Jdot_v.vector(i));
    qacc.set(i, out.qacc), force.set(i, out.force);
    inertia.set(i, out.contact_inertia), projector.set(i, out.projector);
  });
  return py::make_tuple(qacc.take(), force.take(), inertia.take(), projector.take());
}

py::tuple plastic_impact(Array M_, Array J_, Array v_) {
  const In M(M_), J(J_), v(v_);
  Out v_next(M.batch(), M.rows()), impulse(M.batch(), J.rows()), loss(M.batch());
  each(M.batch(), [&](py::ssize_t i) {
    const auto out = formulations::plastic_impact(M.matrix(i), J.matrix(i), v.vector(i));
    v_next.set(i, out.v_next), impulse.set(i, out.impulse), loss.set(i, out.energy_loss);
  });
  return py::make_tuple(v_next.take(), impulse.take(), loss.take());
}

// epsilon is read only where `stabilised`
py::tuple limit_dynamics(Array M_, Array tau_, Array J_, Array Jdot_v_, Array v_, Array phi_, Array epsilon_,
                         bool stabilised) {
  const In M(M_), tau(tau_), J(J_), Jdot_v(Jdot_v_), v(v_), phi(phi_), epsilon(epsilon_);
  const py::ssize_t B = M.batch(), k = J.rows();
  Out qacc(B, M.rows()), force(B, k);
  py::array_t<bool> active({B, k});
  each(B, [&](py::ssize_t i) {
    const std::optional<double> e = stabilised ? std::optional(epsilon.number(i)) : std::nullopt;
    const auto out = formulations::limit_dynamics(M.matrix(i), tau.vector(i), J.matrix(i), Jdot_v.vector(i),
                                                  v.vector(i), phi.vector(i), e);
    qacc.set(i, out.qacc), force.set(i, out.force);
    for (py::ssize_t r = 0; r < k; ++r) active.mutable_at(i, r) = out.active[static_cast<size_t>(r)] != 0;
  });
  return py::make_tuple(qacc.take(), force.take(), active);
}

py::tuple implicit_joint_step(Array M_, Array D_, Array K_, Array rest_, Array q_, Array v_, Array tau_,
                              Array h_) {
  const In M(M_), D(D_), K(K_), rest(rest_), q(q_), v(v_), tau(tau_), h(h_);
  Out q_next(M.batch(), M.rows()), v_next(M.batch(), M.rows());
  each(M.batch(), [&](py::ssize_t i) {
    const auto out = formulations::implicit_joint_step(
        {.M = M.matrix(i), .D = D.matrix(i), .K = K.matrix(i), .rest = rest.vector(i)}, q.vector(i),
        v.vector(i), tau.vector(i), h.number(i));
    q_next.set(i, out.q_next), v_next.set(i, out.v_next);
  });
  return py::make_tuple(q_next.take(), v_next.take());
}

}  // namespace

void bind_smooth(py::module_& m) {
  m.def("double_pendulum", double_pendulum);
  m.def("quaternion_rate", quaternion_rate);
  m.def("quaternion_integrate", quaternion_integrate);
  m.def("equality_dynamics", equality_dynamics);
  m.def("velocity_equality_dynamics", velocity_equality_dynamics);
  m.def("gauss", gauss);
  m.def("projected_dynamics", projected_dynamics);
  m.def("plastic_impact", plastic_impact);
  m.def("limit_dynamics", limit_dynamics);
  m.def("implicit_joint_step", implicit_joint_step);
}

}  // namespace dualstep::bindings

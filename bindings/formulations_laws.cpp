// entry points of the laws on numbers, and of the maximum dissipation principle

#include "bindings/formulations_arrays.h"
#include "host/reference/formulations/compliant.h"
#include "host/reference/formulations/coulomb_1d.h"
#include "host/reference/formulations/implicit_damping.h"
#include "host/reference/formulations/maximum_dissipation.h"
#include "host/reference/formulations/pressure_field.h"
#include "host/reference/formulations/soft_anchor.h"

namespace dualstep::bindings {
namespace {

// arguments (B, 5): depth, rate, stiffness, damping, exponent
Array compliant_normal(Array arguments_, bool hunt_crossley) {
  const In arguments(arguments_);
  Out force(arguments.batch());
  each(arguments.batch(), [&](py::ssize_t i) {
    const Vector a = arguments.vector(i);
    force.set(i, hunt_crossley ? formulations::compliant_hunt_crossley(a(0), a(1), a(2), a(3), a(4))
                               : formulations::compliant_linear(a(0), a(1), a(2), a(3)));
  });
  return force.take();
}

// arguments (B, 3): speed ratio, mu_s, mu_d
Array regularized_friction(Array arguments_, bool stribeck) {
  const In arguments(arguments_);
  Out coefficient(arguments.batch());
  each(arguments.batch(), [&](py::ssize_t i) {
    const Vector a = arguments.vector(i);
    coefficient.set(i, stribeck ? formulations::friction_stribeck(a(0), a(1), a(2))
                                : formulations::friction_piecewise(a(0), a(2)));
  });
  return coefficient.take();
}

// arguments (B, 10): z, z', x, x', anchor, kz, dz, kx, dx, mu
py::tuple soft_anchor(Array arguments_, bool slide) {
  const In arguments(arguments_);
  const py::ssize_t B = arguments.batch();
  Out f_z(B), f_x(B), anchor(B);
  each(B, [&](py::ssize_t i) {
    const Vector a = arguments.vector(i);
    const auto out =
        formulations::soft_anchor(a(0), a(1), a(2), a(3), a(4), {a(5), a(6), a(7), a(8), a(9)}, slide);
    f_z.set(i, out.f_z), f_x.set(i, out.f_x), anchor.set(i, out.anchor);
  });
  return py::make_tuple(f_z.take(), f_x.take(), anchor.take());
}

// arguments (B, 6): m, v, u, h, mu, g
py::tuple coulomb_1d(Array arguments_) {
  const In arguments(arguments_);
  Out force(arguments.batch()), v_next(arguments.batch());
  each(arguments.batch(), [&](py::ssize_t i) {
    const Vector a = arguments.vector(i);
    const auto out = formulations::coulomb_1d(a(0), a(1), a(2), a(3), a(4), a(5));
    force.set(i, out.force), v_next.set(i, out.v_next);
  });
  return py::make_tuple(force.take(), v_next.take());
}

// arguments (B, 8): m, q, v, u, h, damping, epsilon, kappa
py::tuple todorov_scalar(Array arguments_) {
  const In arguments(arguments_);
  Out force(arguments.batch()), v_next(arguments.batch());
  each(arguments.batch(), [&](py::ssize_t i) {
    const Vector a = arguments.vector(i);
    const formulations::RelaxedCart cart{.m = a(0), .damping = a(5), .epsilon = a(6), .kappa = a(7)};
    const double q = a(1), v = a(2), u = a(3), h = a(4);
    const auto out = formulations::todorov_scalar(cart, q, v, u, h);
    force.set(i, out.force), v_next.set(i, out.v_next);
  });
  return py::make_tuple(force.take(), v_next.take());
}

Array maximum_dissipation(Array v_t_, Array mu_n_) {
  const In v_t(v_t_), mu_n(mu_n_);
  Out impulse(v_t.batch(), v_t.rows());
  each(v_t.batch(), [&](py::ssize_t i) {
    impulse.set(i, formulations::maximum_dissipation(v_t.vector(i), mu_n.number(i)));
  });
  return impulse.take();
}

py::tuple maximum_dissipation_step(Array A_, Array u_, Array mu_) {
  const In A(A_), u(u_), mu(mu_);
  Out impulse(A.batch(), u.rows()), v_next(A.batch(), u.rows()), speed(A.batch());
  each(A.batch(), [&](py::ssize_t i) {
    const auto out = formulations::maximum_dissipation_step(A.matrix(i), u.vector(i), mu.number(i));
    impulse.set(i, out.impulse), v_next.set(i, out.v_next), speed.set(i, out.speed);
  });
  return py::make_tuple(impulse.take(), v_next.take(), speed.take());
}

// arguments (B, 3): modulus, radius, depth
py::tuple pressure_field_sphere(Array arguments_) {
  const In arguments(arguments_);
  const py::ssize_t B = arguments.batch();
  Out force(B), patch(B), peak(B);
  each(B, [&](py::ssize_t i) {
    const Vector a = arguments.vector(i);
    const auto out = formulations::pressure_field_sphere(a(0), a(1), a(2));
    force.set(i, out.force), patch.set(i, out.patch_radius), peak.set(i, out.peak_pressure);
  });
  return py::make_tuple(force.take(), patch.take(), peak.take());
}

// arguments (B, 6): modulus, thickness, half_x, half_y, depth, tilt
py::tuple pressure_field_box(Array arguments_) {
  const In arguments(arguments_);
  Out force(arguments.batch()), moment(arguments.batch());
  each(arguments.batch(), [&](py::ssize_t i) {
    const Vector a = arguments.vector(i);
    const auto out = formulations::pressure_field_box(a(0), a(1), a(2), a(3), a(4), a(5));
    force.set(i, out.force), moment.set(i, out.moment);
  });
  return py::make_tuple(force.take(), moment.take());
}

}  // namespace

void bind_laws(py::module_& m) {
  m.def("compliant_normal", compliant_normal);
  m.def("regularized_friction", regularized_friction);
  m.def("soft_anchor", soft_anchor);
  m.def("coulomb_1d", coulomb_1d);
  m.def("todorov_scalar", todorov_scalar);
  m.def("maximum_dissipation", maximum_dissipation);
  m.def("maximum_dissipation_step", maximum_dissipation_step);
  m.def("pressure_field_sphere", pressure_field_sphere);
  m.def("pressure_field_box", pressure_field_box);
}

}  // namespace dualstep::bindings

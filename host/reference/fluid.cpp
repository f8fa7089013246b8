// Forces of a medium on ellipsoids.
//
// solves    the wrench on each geom that a medium sees as an ellipsoid, and its derivative by the geom's velocity
// equation  in the geom's axes, s its half axes, w and u its velocities against the wind, p = rho m u and l = rho I w the momenta
//           of the virtual mass and inertia:
//             added mass   f = p x w,  t = p x u + l x w
//             Magnus       f = c rho V w x u
//             Kutta        f = c rho cos(a) A (n x u) x u,  n the squared areas across the axes times u,
//                          A the area of the shadow along u, a the angle between u and the surface's normal there
//             drag         f = -(3 pi eta D + rho |u| (blunt A + slender (A_max - A))) u
//                          t = -(pi eta D^3 + rho |T w|) w,  T = angular I_i + slender (I_max - I_i)
//           the derivative is that of the complex step, exact to rounding
// source    MuJoCo's documentation, "Fluid forces"; Squire & Trapp 1998 for the complex step
// deviation none known
// reads     geom_xpos, geom_xmat, cvel
// writes    qfrc_fluid
// cost      O(geoms of a body x depth), of the derivative O(geoms x depth^2)
#include <algorithm>
#include <complex>

#include "host/model/element_rows.h"
#include "host/reference/shapes/shapes.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

template <class T>
using Vec3 = Eigen::Matrix<T, 3, 1>;
template <class T>
using Vec6 = Eigen::Matrix<T, 6, 1>;

double real_part(double x) { return x; }
double real_part(const std::complex<double>& x) { return x.real(); }
// products without conjugates: what follows is analytic
template <class T>
T product(const Vec3<T>& a, const Vec3<T>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
template <class T>
Vec3<T> cross(const Vec3<T>& a, const Vec3<T>& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
template <class T>
T length(const Vec3<T>& a) {
  using std::sqrt;
  return real_part(product(a, a)) > 0 ? T(sqrt(product(a, a))) : T(0);
}
// torque and force in the geom's axes
template <class T>
Vec6<T> wrench(const Model& m, int geom, const Vec6<T>& velocity) {
  using std::sqrt;
  const auto given = row::geom_fluid(m, geom);
  const double share = given[0], blunt = given[1], slender = given[2], angular = given[3], kutta = given[4],
               magnus = given[5];
  const double rho = m.opt.density, eta = m.opt.viscosity;
  const Vector3d s = shape_hooks(m.geom_type[geom]).half_axes(vec3(m.geom_size, geom));
  const Vec3<T> w = velocity.template head<3>(), u = velocity.template tail<3>();

  Vec3<T> p, l;
  for (int k = 0; k < 3; ++k) p[k] = rho * given[6 + k] * u[k], l[k] = rho * given[9 + k] * w[k];
  Vec3<T> torque = cross(p, u) + cross(l, w), force = cross(p, w);

  const double volume = 4. / 3 * kPi * s[0] * s[1] * s[2];
  force += T(magnus * rho * volume) * cross(w, u);

  Vec3<T> n;
  for (int k = 0; k < 3; ++k) n[k] = std::pow(s[(k + 1) % 3] * s[(k + 2) % 3], 2) * u[k];
  const T nn = product(n, n), nu = product(n, u), speed = length(u);
  T shadow(0);
  if (real_part(nn) > 0) {
    shadow = kPi * sqrt(nn / nu);
    const T cosine = nu / (speed * nn);
    force += kutta * rho * cosine * shadow * cross(cross(n, u), u);
  }

  Vector3d sorted = s;
  std::sort(sorted.begin(), sorted.end());
  const double diameter = 2. / 3 * (s[0] + s[1] + s[2]), most = kPi * sorted[1] * sorted[2];
  const double most_moment = 8. / 15 * kPi * sorted[1] * std::pow(sorted[2], 4);
  Vec3<T> turning;
  for (int k = 0; k < 3; ++k) {
    const double own = 8. / 15 * kPi * s[k] * std::pow(std::max(s[(k + 1) % 3], s[(k + 2) % 3]), 4);
    turning[k] = (angular * own + slender * (most_moment - own)) * w[k];
  }
  force -= (3 * kPi * eta * diameter + rho * speed * (blunt * shadow + slender * (most - shadow))) * u;
  torque -= (kPi * eta * std::pow(diameter, 3) + rho * length(turning)) * w;

  Vec6<T> both;
  both << torque, force;
  return share * both;
}

Vector6d geom_velocity(const Model& m, const Data& d, int geom) {
  const int body = m.geom_bodyid[geom];
  Vector6d v = shift_motion(d.cvel[body], spatial_origin(m, d, body), d.geom_xpos[geom]);
  v.tail<3>() -= Vector3d(m.opt.wind[0], m.opt.wind[1], m.opt.wind[2]);
  return rotate_into(d.geom_xmat[geom], v);
}

template <class F>
void each_ellipsoid(const Model& m, int body, F f) {
  for (int g = 0; g < m.ngeom; ++g)
    if (m.geom_bodyid[g] == body && has_fluid_ellipsoid(m, g)) f(g);
}

}  // namespace

bool has_fluid_ellipsoids(const Model& m, int body) {
  bool any = false;
  each_ellipsoid(m, body, [&](int) { any = true; });
  return any;
}

void add_ellipsoid_fluid(const Model& m, int body, Data* d) {
  each_ellipsoid(m, body, [&](int g) {
    const Vector6d f = wrench<double>(m, g, geom_velocity(m, *d, g));
    const Matrix3d& R = d->geom_xmat[g];
    d->qfrc_fluid += project_wrench(m, *d, body, d->geom_xpos[g], R * linear(f), R * angular(f));
  });
}

MatrixXd ellipsoid_fluid_slope(const Model& m, const Data& d, int body, bool symmetric) {
  MatrixXd slope = MatrixXd::Zero(m.nv, m.nv);
  each_ellipsoid(m, body, [&](int g) {
    using Complex = std::complex<double>;
    constexpr double kStep = 1e-30;
    const Vector6d velocity = geom_velocity(m, d, g);
    Matrix6d B;
    for (int k = 0; k < 6; ++k) {
      Vec6<Complex> moved = velocity.cast<Complex>();
      moved[k] += Complex(0, kStep);
      B.col(k) = wrench<Complex>(m, g, moved).imag() / kStep;
    }
    if (symmetric) B = 0.5 * (B + B.transpose()).eval();
    MatrixXd jacp, jacr, J(6, m.nv);
    point_jacobian(m, d, body, d.geom_xpos[g], &jacp, &jacr);
    J << d.geom_xmat[g].transpose() * jacr, d.geom_xmat[g].transpose() * jacp;
    slope += J.transpose() * B * J;
  });
  return slope;
}

}  // namespace dualstep::reference

// Forces of a medium on bodies that move through it.
//
// solves    the force on a body, and its derivative by the body's velocity
// equation  box, with the body's inertia, w and u its velocities in its own frame:
//             torque_k = -(viscous + quadratic_k |w_k|) w_k,   force_k = -(viscous + quadratic_k |u_k|) u_k
//           ellipsoid about a geom, w and u the velocities in the geom's frame, p and l the momenta of the medium that moves along:
//             torque = p x u + l x w - (viscous + |T w|) w
//             force  = p x w + magnus w x u + lift (n x u) x u - (viscous + |u| drag) u
//             n = E u, E the squared areas across the axes over the largest a^2;   shadow = pi a sqrt(n'n / n'u)
//             drag = blunt shadow + slender (largest shadow - shadow),   lift = kutta (n'u / n'n) shadow / |u|
//           derivative of the latter: `by`, the columns of its 6 x 6 matrix B
// source    MuJoCo's documentation, "Fluid forces"; Andersen, Pesavento & Wang 2005 for the terms
// deviation none. n, and the areas in it, are relative, so that those of small shapes are no less than a float holds
// reads     xpos, xquat, xipos, tree_com, cvel
// writes    its arguments
// cost      of a box 60 operations; of an ellipsoid 150, and 300 of its derivative for each dof that moves it
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// with springs and dampers both switched off MuJoCo has no passive force of any kind
template <class Options>
DS_HD bool medium_acts(const Options& o) {
  return o.has_fluid && !(disabled(o, kDisableSpring) && disabled(o, kDisableDamper));
}

// velocities against the medium at a point, in the frame in which its shape is given
template <class Real>
struct Flow {
  Mat3<Real> frame;
  Vec3<Real> centre, w, u;
};
template <class E, class Real = typename E::Real>
DS_HD Flow<Real> flow_at(const E& env, int b, const Vec3<Real>& centre, const Quat<Real>& axes) {
  const auto& t = env.t;
  const Spatial<Real> v = env.cvel().spatial(b);
  const Vec3<Real> arm = centre - env.tree_com().vec(t.body_tree[b]);
  const Vec3<Real> wind{Real(t.o.wind[0]), Real(t.o.wind[1]), Real(t.o.wind[2])};
  const Mat3<Real> r = to_matrix(axes);
  return {r, centre, rotate_transposed(r, v.ang), rotate_transposed(r, v.lin + cross(v.ang, arm) - wind)};
}
template <class E, class Real = typename E::Real>
DS_HD Flow<Real> flow_past_box(const E& env, int b) {
  return flow_at(env, b, env.xipos().vec(b), mul(env.xquat().quat(b), env.quat(env.t.body_iquat, b)));
}
template <class E, class Real = typename E::Real>
DS_HD Flow<Real> flow_past_geom(const E& env, int b, int geom) {
  const auto& t = env.t;
  const Quat<Real> q = env.xquat().quat(b);
  return flow_at(env, b, env.xpos().vec(b) + rotate(q, env.vec(t.allgeom_pos, geom)),
                 mul(q, env.quat(t.allgeom_quat, geom)));
}
// a wrench in a flow's frame, at its centre, as a spatial force about the tree's centre of mass
template <class E, class Real = typename E::Real>
DS_HD Spatial<Real> at_tree_centre(const E& env, int b, const Flow<Real>& flow, const Spatial<Real>& f) {
  const Vec3<Real> force = rotate(flow.frame, f.lin);
  const Vec3<Real> arm = flow.centre - env.tree_com().vec(env.t.body_tree[b]);
  return {rotate(flow.frame, f.ang) + cross(arm, force), force};
}
// how dof i moves a point of body b, in a flow's frame
template <class E, class Real = typename E::Real>
DS_HD Spatial<Real> motion_in(const E& env, int b, const Flow<Real>& flow, int i) {
  const Vec3<Real> arm = flow.centre - env.tree_com().vec(env.t.body_tree[b]);
  const Spatial<Real> s = env.cdof().spatial(i);
  return {rotate_transposed(flow.frame, s.ang), rotate_transposed(flow.frame, s.lin + cross(s.ang, arm))};
}

// f(velocity, quadratic, viscous coefficient) about and along each of the box's axes
template <class E, class F, class Real = typename E::Real>
DS_HD Spatial<Real> of_each_axis(const E& env, int b, const Flow<Real>& flow, F f) {
  const Real turning = env.fluid_viscous_torque(b), moving = env.fluid_viscous_force(b);
  return {{f(flow.w.x, env.fluid_quadratic_torque(b, 0), turning),
           f(flow.w.y, env.fluid_quadratic_torque(b, 1), turning),
           f(flow.w.z, env.fluid_quadratic_torque(b, 2), turning)},
          {f(flow.u.x, env.fluid_quadratic_force(b, 0), moving),
           f(flow.u.y, env.fluid_quadratic_force(b, 1), moving),
           f(flow.u.z, env.fluid_quadratic_force(b, 2), moving)}};
}
// the force on the inertia box of body b, about its tree's centre of mass
template <class E, class Real = typename E::Real>
DS_FN Spatial<Real> box_force(const E& env, int b) {
  const Flow<Real> flow = flow_past_box(env, b);
  return at_tree_centre(
      env, b, flow, of_each_axis(env, b, flow, [](const Real& x, const Real& quadratic, const Real& viscous) {
        return -(x * fma(quadratic, abs(x), viscous));
      }));
}

template <class Real>
DS_HD Vec3<Real> times(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}

// ellipsoid k of the medium in a flow
template <class E, class Real = typename E::Real>
struct EllipsoidFlow {
  const E& env;
  int k;
  Vec3<Real> w, u, n, along, turning;  // along: E; turning: the diagonal of T
  Vec3<Real> mass, inertia;            // of the medium that moves along
  Real nu, nn, speed, whirl, shadow, drag, lift;

  DS_HD EllipsoidFlow(const E& e, int ellipsoid, const Flow<Real>& flow)
      : env(e), k(ellipsoid), w(flow.w), u(flow.u) {
    const auto vec = [&](auto of) { return Vec3<Real>{of(0), of(1), of(2)}; };
    along = vec([&](int i) { return env.ellipsoid_along(k, i); });
    turning = vec([&](int i) { return env.ellipsoid_quadratic_torque(k, i); });
    mass = vec([&](int i) { return env.ellipsoid_mass(k, i); });
    inertia = vec([&](int i) { return env.ellipsoid_inertia(k, i); });
    n = times(along, u);
    nu = dot(n, u), nn = dot(n, n);
    speed = sqrt(dot(u, u));
    const Vec3<Real> torque = times(turning, w);
    whirl = sqrt(dot(torque, torque));
    shadow = env.ellipsoid_area(k) * sqrt(nn / max(nu, Real(kFiniteInverse)));
    drag = fma(env.ellipsoid_blunt(k), shadow, env.ellipsoid_slender(k));
    lift = env.ellipsoid_kutta(k) * shadow * nu / max(speed * nn, Real(kFiniteInverse));
  }
  DS_HD Spatial<Real> force() const {
    const Vec3<Real> p = times(mass, u), l = times(inertia, w);
    const Real slow = fma(speed, drag, env.ellipsoid_viscous_force(k)),
               turn = env.ellipsoid_viscous_torque(k) + whirl;
    return {cross(p, u) + cross(l, w) - w * turn,
            cross(p, w) + cross(w, u) * env.ellipsoid_magnus(k) + cross(cross(n, u), u) * lift - u * slow};
  }

  // column i of B: by w.x, w.y, w.z, u.x, u.y, u.z
  DS_HD Spatial<Real> by(int i) const {
    const Real two(2), tiny(kFiniteInverse);
    const Vec3<Real> e{Real(i % 3 == 0), Real(i % 3 == 1), Real(i % 3 == 2)};
    if (i < 3) {
      const Real square = dot(times(turning, w), times(turning, e)), slope = square / max(whirl, tiny);
      const Real turn = env.ellipsoid_viscous_torque(k) + whirl;
      return {cross(times(inertia, e), w) + cross(times(inertia, w), e) - e * turn - w * slope,
              cross(times(mass, u), e) + cross(e, u) * env.ellipsoid_magnus(k)};
    }
    const Vec3<Real> dn = times(along, e), p = times(mass, u), dp = times(mass, e);
    const Real dnu = two * dot(dn, u) / max(nu, tiny), dnn = two * dot(dn, n) / max(nn, tiny);
    const Real dspeed = dot(u, e) / max(speed, tiny);
    const Real dshadow = Real(0.5) * shadow * (dnn - dnu);
    const Real dlift = lift * (fma(Real(-0.5), dnn, Real(0.5) * dnu) - dspeed / max(speed, tiny));
    const Real slow = fma(speed, drag, env.ellipsoid_viscous_force(k));
    const Real dslow = fma(dspeed, drag, speed * env.ellipsoid_blunt(k) * dshadow);
    const Vec3<Real> c = cross(n, u), dc = cross(dn, u) + cross(n, e);
    return {cross(dp, u) + cross(p, e), cross(dp, w) + cross(w, e) * env.ellipsoid_magnus(k) +
                                            (cross(dc, u) + cross(c, e)) * lift + cross(c, u) * dlift -
                                            e * slow - u * dslow};
  }
};

// whether a medium sees ellipsoids in place of the inertia box of body b
template <class E>
DS_HD bool has_ellipsoids(const E& env, int b) {
  if constexpr (!kCompiledFor<StepTables<typename E::Scalar>, &Sizes::nfluid>) return false;
  return env.t.n.nfluid > 0 && env.t.fluid_adr[b] < env.t.fluid_adr[b + 1];
}
template <class AnyTables>
DS_HD bool is_moved_by(const AnyTables& t, int b, int dof) {
  while (b > t.dof_body[dof]) b = t.body_parent[b];
  return b == t.dof_body[dof];
}

// the forces on the ellipsoids of body b, about its tree's centre of mass
template <class E, class Real = typename E::Real>
DS_STAGE Spatial<Real> ellipsoid_forces(const E& env, int b) {
  const auto& t = env.t;
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  Spatial<Real> sum{zero, zero};
  for (int k = t.fluid_adr[b]; k < t.fluid_adr[b + 1]; k++) {
    const Flow<Real> flow = flow_past_geom(env, b, t.fluid_geom[k]);
    sum = sum + at_tree_centre(env, b, flow, EllipsoidFlow<E>(env, k, flow).force());
  }
  return sum;
}

// calls f(flow, y, z) for the ellipsoids of the bodies that dof i moves: y = (B + B')/2 s, z = (B' - B)/2 s, s how it moves them
template <class E, class F, class Real = typename E::Real>
DS_HD void each_ellipsoid_slope(const E& env, int i, F f) {
  const auto& t = env.t;
  for (int b = 1; b < t.n.nbody; b++) {
    if (!has_ellipsoids(env, b) || !is_moved_by(t, b, i)) continue;
    for (int k = t.fluid_adr[b]; k < t.fluid_adr[b + 1]; k++) {
      const Flow<Real> flow = flow_past_geom(env, b, t.fluid_geom[k]);
      const Spatial<Real> s = motion_in(env, b, flow, i);
      const EllipsoidFlow<E> of(env, k, flow);
      const Real x[kSpatialNumbers] = {s.ang.x, s.ang.y, s.ang.z, s.lin.x, s.lin.y, s.lin.z}, zero(0);
      Spatial<Real> product{{zero, zero, zero}, {zero, zero, zero}};
      Real transposed[kSpatialNumbers];
      for (int c = 0; c < kSpatialNumbers; c++) {
        const Spatial<Real> column = of.by(c);
        product = axpy(column, x[c], product);
        transposed[c] = dot(column, s);
      }
      const Spatial<Real> other{{transposed[0], transposed[1], transposed[2]},
                                {transposed[3], transposed[4], transposed[5]}};
      const Real half(0.5);
      f(b, flow, (product + other) * half, axpy(product, Real(-1), other) * half);
    }
  }
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

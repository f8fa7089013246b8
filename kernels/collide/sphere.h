// A sphere against sphere, capsule, cylinder and box.
//
// solves    one contact, from the sphere to the nearest point of the other shape, or along the shortest way
//           out of it where the centre is inside
// equation  p the nearest point of the other shape to the centre c, or d the length of the shortest way out:
//             outside:  normal = (p - c) / |p - c|,  dist = |p - c| - r
//             inside:   normal against the way out,  dist = -d - r
// source    MuJoCo's, for the ways out and for ties
// deviation none
// reads     its arguments
// writes    a Manifold
// cost      25, 32, 120 and 70 operations
#pragma once

#include "kernels/collide/ball_contact.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
DS_FN void sphere_sphere(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                         Manifold<Real, 1>* out) {
  const Vec3<Real> delta = b.pos - a.pos;
  const Real squared = dot(delta, delta);
  const auto near = within_reach(squared, margin + a.size.x + b.size.x);
  if (!any(near)) return clear(out);
  const TwoBalls<Real> balls{
      .c1 = a.pos, .delta = delta, .length_squared = squared, .r1 = a.size.x, .r2 = b.size.x};
  ball_contact(a, b, balls, 0, out);
  out->hit[0] = near;
  out->tangent = {Real(0), Real(0), Real(0)};
}

template <class Real>
DS_FN void sphere_capsule(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                          Manifold<Real, 1>* out) {
  const Vec3<Real> axis = z_axis(b), between = b.pos - a.pos;
  // nearest point of the capsule's segment: b.pos + x axis
  const Real x = clamp(-dot(between, axis), -b.size.y, b.size.y);
  const Vec3<Real> delta = axpy(axis, x, between);
  const Real squared = dot(delta, delta);
  const auto near = within_reach(squared, margin + a.size.x + b.size.x);
  if (!any(near)) return clear(out);
  const TwoBalls<Real> balls{
      .c1 = a.pos, .delta = delta, .length_squared = squared, .r1 = a.size.x, .r2 = b.size.x};
  ball_contact(a, b, balls, 0, out);
  out->hit[0] = near;
  out->tangent = {Real(0), Real(0), Real(0)};
}

// The nearest feature is the side (beside the axis), a cap (over the disk) or the rim; inside, the nearer of
// side and cap. The side is a ball of the cylinder's radius on its axis, the rim a ball of radius zero.
template <class Real>
DS_FN void sphere_cylinder(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                           Manifold<Real, 1>* out) {
  const Real r1 = a.size.x, radius = b.size.x, half = b.size.y, zero(0);
  const Vec3<Real> axis = z_axis(b), from = a.pos - b.pos;
  const Real x = dot(axis, from), height = abs(x);
  const Vec3<Real> across = axpy(axis, -x, from);
  const Real across_squared = dot(across, across), across_length = sqrt(across_squared);
  const Real over_side = across_length - radius, over_cap = height - half;

  const auto beside = height < half, above = across_squared < radius * radius;
  const auto inside = mask_and(beside, above);
  const auto cap_nearer = over_cap > over_side;
  const auto on_side = mask_and(beside, mask_not(mask_and(inside, cap_nearer)));
  const auto on_cap = mask_and(above, mask_not(mask_and(inside, mask_not(cap_nearer))));

  // from the centre to the nearest point of the side's axis, or of the rim; then height over the cap
  const Vec3<Real> up = axis * select(x > zero, Real(1), Real(-1));
  const Real no_rim = select(across_length > Real(kNoLength), across_length, Real(1));
  const Vec3<Real> to_rim = across * (-over_side / no_rim) - up * over_cap;
  const Vec3<Real> delta = select3(on_side, -across, to_rim);
  const Real squared = select(on_side, across_squared, dot(delta, delta));
  const Real r2 = select(on_side, radius, zero);
  Real length;
  const Vec3<Real> ball = ball_normal(a, b, delta, squared, &length);
  const Real dist = select(on_cap, over_cap, length - r2) - r1;
  const Vec3<Real> normal = select3(on_cap, -up, ball);

  out->dist[0] = dist;
  out->normal[0] = normal;
  out->pos[0] = axpy(normal, fma(dist, Real(0.5), r1), a.pos);
  out->hit[0] = dist < margin;
  out->tangent = {zero, zero, zero};
}

// one contact of a sphere with a box, centre and result in the box's frame: what sphere_box and capsule_box
// share
template <class Real>
struct BoxTouch {
  Real dist;
  Vec3<Real> pos, normal;
};

template <class Real>
DS_FN BoxTouch<Real> ball_in_box_frame(const Vec3<Real>& c, const Real& radius, const Vec3<Real>& half) {
  const Real zero(0), one(1);
  const Vec3<Real> nearest{clamp(c.x, -half.x, half.x), clamp(c.y, -half.y, half.y),
                           clamp(c.z, -half.z, half.z)};
  const Vec3<Real> delta = nearest - c;
  const Real length = norm(delta);
  const auto inside = length <= Real(kNoLength);
  Vec3<Real> normal = delta * (one / select(inside, one, length));
  Real gap = length;
  if (any(inside)) {
    // the nearest face; the first one where several are equally near
    const Vec3<Real> depth{half.x - abs(c.x), half.y - abs(c.y), half.z - abs(c.z)};
    const Vec3<Real> back{select(c.x > zero, -one, one), select(c.y > zero, -one, one),
                          select(c.z > zero, -one, one)};
    const auto y_first = depth.y < depth.x;
    const Real best_xy = select(y_first, depth.y, depth.x);
    const auto z_first = depth.z < best_xy;
    const Vec3<Real> face{select(mask_or(y_first, z_first), zero, back.x),
                          select(mask_and(y_first, mask_not(z_first)), back.y, zero),
                          select(z_first, back.z, zero)};
    normal = select3(inside, face, normal);
    gap = select(inside, -select(z_first, depth.z, best_xy), gap);
  }
  const Real dist = gap - radius;
  return {dist, axpy(normal, fma(dist, Real(0.5), radius), c), normal};
}

template <class Real>
DS_FN void sphere_box(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                      Manifold<Real, 1>* out) {
  const Vec3<Real> centre = rotate_transposed(b.rot, a.pos - b.pos);
  const auto t = ball_in_box_frame(centre, a.size.x, b.size);
  out->dist[0] = t.dist;
  out->normal[0] = rotate(b.rot, t.normal);
  out->pos[0] = b.pos + rotate(b.rot, t.pos);
  out->hit[0] = t.dist < margin;
  out->tangent = {Real(0), Real(0), Real(0)};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// A plane (through its centre, normal along its z axis, infinite) against sphere, capsule, cylinder and box.
//
// solves    the lowest points of the other shape
// equation  the distance of a point p is n.(p - p0); the points are the sphere's lowest, the capsule's two
//           ends, four of the cylinder's rims, the box's four lower corners
// source    MuJoCo's order of the contacts
// deviation none
// reads     its arguments
// writes    a Manifold
// cost      13, 33, 90 and 110 operations
#pragma once

#include "kernels/collide/ball_contact.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

template <class Real>
DS_FN void plane_sphere(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                        Manifold<Real, 1>* out) {
  const Vec3<Real> n = z_axis(a);
  const Real r = b.size.x, dist = dot(b.pos - a.pos, n) - r;
  out->dist[0] = dist;
  out->normal[0] = n;
  out->pos[0] = axpy(n, -fma(dist, Real(0.5), r), b.pos);
  out->hit[0] = dist < margin;
  out->tangent = {Real(0), Real(0), Real(0)};
}

// sine between the plane's normal and the axis of what stands upright
template <class Real>
constexpr double kUprightSlope = kSingle<Real> ? 1e-6 : kNoLength;

// slot 0: the end along +z; slot 1: the other. t1 should lie along the capsule; of one that stands upright along x, as in
// MuJoCo
template <class Real>
DS_FN void plane_capsule(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                         Manifold<Real, 2>* out) {
  const Vec3<Real> n = z_axis(a), axis = z_axis(b);
  const Real r = b.size.x, half = b.size.y;
  const Real centre = dot(b.pos - a.pos, n) - r, rise = dot(axis, n) * half;
  const Vec3<Real> reach = axis * half;
  for (int k = 0; k < 2; k++) {
    const Real dist = k == 0 ? centre + rise : centre - rise;
    out->dist[k] = dist;
    out->normal[k] = n;
    out->pos[k] = axpy(n, -fma(dist, Real(0.5), r), k == 0 ? b.pos + reach : b.pos - reach);
    out->hit[k] = dist < margin;
  }
  const Real zero(0), one(1);
  const Vec3<Real> level = axis - n * dot(axis, n);
  const auto upright = dot(level, level) <= Real(kUprightSlope<Real> * kUprightSlope<Real>);
  out->tangent = select3(upright, Vec3<Real>{one, zero, zero}, axis);
}

// slot 0: the lowest point of the lower rim; slot 1: the one above it on the upper rim; slots 2 and 3: on the
// lower rim, 120 degrees to either side of the first, so that an upright cylinder stands on a triangle
template <class Real>
DS_FN void plane_cylinder(const Shape<Real>& a, const Shape<Real>& b, const Real& margin,
                          Manifold<Real, 4>* out) {
  const Vec3<Real> n = z_axis(a), x = column(b.rot, 0), y = column(b.rot, 1), z = z_axis(b);
  const Real r = b.size.x, half = b.size.y;
  const Real nx = dot(n, x), ny = dot(n, y), nz = dot(n, z);
  const Real centre = dot(b.pos - a.pos, n);

  // steepest descent across the axis; upright, the direction is noise, and x does as well
  const Real slope = sqrt(fma(nx, nx, ny * ny));
  const auto upright = slope < Real(kUprightSlope<Real>);
  const Real inv = Real(1) / select(upright, Real(1), slope);
  const Real cx = select(upright, Real(1), -nx * inv), cy = select(upright, Real(0), -ny * inv);
  const auto points_up = nz > Real(0);
  const Vec3<Real> down = axpy(x, cx, y * cy), left = axpy(y, cx, x * -cy),
                   side = select3(points_up, left, -left);
  const Real drop = r * fma(cx, nx, cy * ny);  // n . (r down), never positive
  const Real lift = abs(nz) * half;            // n . (centre - lower cap)
  const Vec3<Real> to_cap = z * select(points_up, -half, half);
  const Vec3<Real> low = b.pos + to_cap, high = b.pos - to_cap;
  const Vec3<Real> forward = down * r, sideways = side * (r * Real(kSin60));
  const Vec3<Real> back = axpy(down, r * Real(-0.5), low);

  const Real dist[4] = {centre - lift + drop, centre + lift + drop, centre - lift - drop * Real(0.5),
                        centre - lift - drop * Real(0.5)};
  const Vec3<Real> on_body[4] = {low + forward, high + forward, back + sideways, back - sideways};
  for (int k = 0; k < 4; k++) {
    out->dist[k] = dist[k];
    out->normal[k] = n;
    out->pos[k] = axpy(n, dist[k] * Real(-0.5), on_body[k]);
    out->hit[k] = dist[k] < margin;
  }
  out->tangent = {Real(0), Real(0), Real(0)};
}

// Of two opposite corners one is not above the centre: four candidates, in the order of their corner numbers
// (bit 0: +x, bit 1: +y, bit 2: +z). Those below 4 come first and rise, their opposites from 7 downwards
// follow, so the list is built from corner 3 | 4 outwards.
template <class Real>
DS_FN void plane_box(const Shape<Real>& a, const Shape<Real>& b, const Real& margin, Manifold<Real, 4>* out) {
  const Vec3<Real> n = z_axis(a);
  const Vec3<Real> ux = column(b.rot, 0) * b.size.x, uy = column(b.rot, 1) * b.size.y,
                   uz = column(b.rot, 2) * b.size.z;
  const Real centre = dot(b.pos - a.pos, n);
  const Real hx = dot(n, ux), hy = dot(n, uy), hz = dot(n, uz);

  Real height[4];
  Vec3<Real> corner[4];
  for (int i = 3; i >= 0; i--) {
    const Real h = ((i & 1 ? hx : -hx) + (i & 2 ? hy : -hy)) - hz;
    const auto lower = h <= Real(0);
    const Vec3<Real> c = ((i & 1 ? ux : -ux) + (i & 2 ? uy : -uy)) - uz;
    const Real own_height = select(lower, h, -h);
    const Vec3<Real> own_corner = select3(lower, c, -c);
    const int held = 3 - i;
    // in front of those already listed, or behind them
    height[held] = own_height;
    corner[held] = own_corner;
    for (int j = held; j > 0; j--) {
      height[j] = select(lower, height[j - 1], height[j]);
      corner[j] = select3(lower, corner[j - 1], corner[j]);
    }
    if (held > 0) {
      height[0] = select(lower, own_height, height[0]);
      corner[0] = select3(lower, own_corner, corner[0]);
    }
  }
  for (int k = 0; k < 4; k++) {
    const Real dist = centre + height[k];
    out->dist[k] = dist;
    out->normal[k] = n;
    out->pos[k] = axpy(n, dist * Real(-0.5), b.pos + corner[k]);
    out->hit[k] = dist < margin;
  }
  out->tangent = {Real(0), Real(0), Real(0)};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

// Box against box: the separating axis with the least overlap, then the face seen along it cut out of the
// other box's face, or the nearest points of two edges.
//
// solves    up to 8 contacts of two faces, or one of two edges
// equation  R the axes of box 2 in the frame of box 1, p its centre there; along a unit axis n
//             separation(n) = |n.p| - sum_k s1_k |n_k| - sum_k s2_k |(R'n)_k|
//           and the boxes are apart by its maximum over 3 + 3 face normals and 9 products e_i x R_j
// source    Gottschalk, Lin & Manocha 1996; axes, preferences and order of contacts are MuJoCo's
// deviation products are compared by their squares, num = x|x| and den = |e_i x R_j|^2, so that no axis needs
//           a root or a division. A face wins ties, and against an edge axis within 8 degrees that is not 5%
//           better, since it gives several contacts
// reads     its arguments
// writes    a Manifold
// cost      100 operations while no pack is within reach of its faces, 350 for all axes; then 150 for an edge
//           contact (600 where a corner is ambiguous), 350 for a face, 300 more a direction in which it is
//           cut, 200 to merge corners after a cut
#pragma once

#include "kernels/collide/ball_contact.h"
#include "kernels/collide/polygon.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// both boxes seen from the first: what the axis test finds
template <class Real>
struct BoxAxes {
  Real rot[9];          // box 2's axes as columns
  Real p21[3], p12[3];  // centre of box 2 in frame 1, of box 1 in frame 2
  Real s1[3], s2[3];
  Real face, face_separation;  // 0..2: axis of box 1; 3..5: of box 2
  Real edge;                   // 3 i + j; -1: none better than the face
  Real edge_axis[3];           // e_i x R_j in frame 1, not normalized
  Real edge_square;            // its squared length
  MaskOf<Real> touching;
};

// the entry of x at a per-element index with masks at0, at1 (and else 2)
template <class Real>
DS_HD Real pick3(const MaskOf<Real>& at0, const MaskOf<Real>& at1, const Real& x0, const Real& x1,
                 const Real& x2) {
  return select(at0, x0, select(at1, x1, x2));
}

// of all half axes: rounding must not part boxes that touch
template <class Real>
constexpr double kTouchRounding = kSingle<Real> ? 1e-6 : 1e-13;
// squared sine between edges that count as parallel
template <class Real>
constexpr double kParallelEdges = kSingle<Real> ? 1e-7 : 1e-16;
// of a separation: an edge axis is worse by this before it is compared, so that faces win ties
constexpr double kEdgeHandicap = 1e-6;
// cosine between an edge axis and the best face's that are close, and by what share of the face's separation the edge
// must then be better
constexpr double kCloseCosine = 0.99, kClearlyBetter = 0.05;

template <class Real>
DS_STAGE void find_axis(const Shape<Real>& a, const Shape<Real>& b, const Real& margin, BoxAxes<Real>* x) {
  const Real zero(0);
  const Vec3<Real> d = b.pos - a.pos, p21 = rotate_transposed(a.rot, d), p12 = -rotate_transposed(b.rot, d);
  for (int i = 0; i < 3; i++) {
    const Vec3<Real> row = rotate_transposed(b.rot, column(a.rot, i));
    x->rot[3 * i] = row.x;
    x->rot[3 * i + 1] = row.y;
    x->rot[3 * i + 2] = row.z;
  }
  x->p21[0] = p21.x, x->p21[1] = p21.y, x->p21[2] = p21.z;
  x->p12[0] = p12.x, x->p12[1] = p12.y, x->p12[2] = p12.z;
  x->s1[0] = a.size.x, x->s1[1] = a.size.y, x->s1[2] = a.size.z;
  x->s2[0] = b.size.x, x->s2[1] = b.size.y, x->s2[2] = b.size.z;
  const Real *R = x->rot, *s1 = x->s1, *s2 = x->s2;
  const Real slack(kTouchRounding<Real>);
  const Real apart = fma(slack, ((s1[0] + s1[1]) + s1[2]) + ((s2[0] + s2[1]) + s2[2]), margin);

  x->touching = zero <= zero;
  for (int f = 0; f < 6; f++) {
    const int i = f % 3, step = f < 3 ? 1 : 3, start = f < 3 ? 3 * i : i;
    const Real *own = f < 3 ? s1 : s2, *other = f < 3 ? s2 : s1, *p = f < 3 ? x->p21 : x->p12;
    const Real reach = fma(abs(R[start + 2 * step]), other[2],
                           fma(abs(R[start + step]), other[1], abs(R[start]) * other[0]));
    const Real separation = abs(p[i]) - own[i] - reach;
    x->touching = mask_and(x->touching, separation <= apart);
    const auto better = f == 0 ? zero <= zero : separation > x->face_separation;
    x->face_separation = f == 0 ? separation : select(better, separation, x->face_separation);
    x->face = f == 0 ? zero : select(better, Real(f), x->face);
  }
  x->edge = Real(-1);
  x->edge_square = Real(1);
  for (int k = 0; k < 3; k++) x->edge_axis[k] = zero;
  if (!any(x->touching)) return;

  const Real face_num = x->face_separation * abs(x->face_separation), apart_num = apart * apart;
  Real num = face_num, den(1);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const Real u1 = -R[3 * i2 + j], u2 = R[3 * i1 + j];
      const Real square = fma(u1, u1, u2 * u2);
      const auto parallel = square < Real(kParallelEdges<Real>);
      const Real w1 = fma(u1, R[3 * i1 + j1], u2 * R[3 * i2 + j1]),
                 w2 = fma(u1, R[3 * i1 + j2], u2 * R[3 * i2 + j2]);
      const Real reach = fma(s2[j2], abs(w2), fma(s2[j1], abs(w1), fma(s1[i2], abs(u2), s1[i1] * abs(u1))));
      const Real separation = abs(fma(u1, x->p21[i1], u2 * x->p21[i2])) - reach;
      const Real own_num = separation * abs(separation);
      x->touching = mask_and(x->touching, mask_or(parallel, own_num <= apart_num * square));
      const Real handicap = select(separation > zero, Real((1 - kEdgeHandicap) * (1 - kEdgeHandicap)),
                                   Real((1 + kEdgeHandicap) * (1 + kEdgeHandicap)));
      const auto better = mask_and(mask_and(mask_not(parallel), own_num * handicap * den > num * square),
                                   own_num > face_num * square);
      num = select(better, own_num, num);
      den = select(better, square, den);
      x->edge = select(better, Real(3 * i + j), x->edge);
      x->edge_axis[i] = select(better, zero, x->edge_axis[i]);
      x->edge_axis[i1] = select(better, u1, x->edge_axis[i1]);
      x->edge_axis[i2] = select(better, u2, x->edge_axis[i2]);
    }
  }
  x->edge_square = den;
  const auto edge = x->edge >= zero;
  if (!any(edge)) return;

  // an edge axis close to the best face's must be clearly better
  Real along_face(0);
  for (int f = 0; f < 6; f++) {
    const Real* e = x->edge_axis;
    const int c = f % 3;
    const Real along = f < 3 ? e[c] : fma(e[2], R[6 + c], fma(e[1], R[3 + c], e[0] * R[c]));
    along_face = select(x->face == Real(f), along, along_face);
  }
  const Real needed =
      fma(Real(kClearlyBetter), abs(x->face_separation), x->face_separation) + Real(kNoLength);
  const auto alias = mask_and(along_face * along_face > Real(kCloseCosine * kCloseCosine) * den,
                              num < needed * abs(needed) * den);
  x->edge = select(alias, Real(-1), x->edge);
}

// which of the two edges run through their other corners, as bits: the second box's is tried before the first's
enum OtherCorner : int { kOtherSecond = 1, kOtherFirst = 2, kCornerVariants = 4 };

// a component of the edge axis that does not say on which side a corner is
template <class Real>
constexpr double kAmbiguousSide = kSingle<Real> ? 1e-5 : 1e-9;

// nearest points of the two edges that meet along the edge axis: one contact, halfway between them
template <class Real>
DS_STAGE void edge_contact(const BoxAxes<Real>& x, Real* dist, Vec3<Real>* pos, Vec3<Real>* normal) {
  const Real zero(0), one(1), *R = x.rot;
  const auto row1 = x.edge >= Real(3), row2 = x.edge >= Real(6);
  const Real j = x.edge - select(row2, Real(6), select(row1, Real(3), zero));
  const MaskOf<Real> own[3] = {mask_not(row1), mask_and(row1, mask_not(row2)), row2};
  const MaskOf<Real> other[3] = {j<Real(0.5), mask_and(j > Real(0.5), j < Real(1.5)), j> Real(1.5)};

  // unit axis from box 1 to box 2, in both frames
  const Real* e = x.edge_axis;
  const Real towards = fma(e[2], x.p21[2], fma(e[1], x.p21[1], e[0] * x.p21[0]));
  const Real scale = select(towards < zero, -one, one) / sqrt(x.edge_square);
  const Real n1[3] = {e[0] * scale, e[1] * scale, e[2] * scale};
  Real n2[3], direction[3], half1 = zero, half2 = zero;
  for (int k = 0; k < 3; k++) {
    n2[k] = fma(n1[2], R[6 + k], fma(n1[1], R[3 + k], n1[0] * R[k]));
    direction[k] = pick3(other[0], other[1], R[3 * k], R[3 * k + 1], R[3 * k + 2]);
    half1 = select(own[k], x.s1[k], half1);
    half2 = select(other[k], x.s2[k], half2);
  }
  const Real cosine = pick3(own[0], own[1], direction[0], direction[1], direction[2]);

  // corners through which the edges run; a component of the axis near zero does not say on which side
  const Real ambiguous(kAmbiguousSide<Real>);
  Real c1[3], c2[3], best = zero;
  MaskOf<Real> flip1[3], flip2[3];
  auto unsure1 = zero < zero, unsure2 = unsure1;
  for (int k = 0; k < 3; k++) {
    c1[k] = select(own[k], zero, select(n1[k] >= zero, x.s1[k], -x.s1[k]));
    c2[k] = select(other[k], zero, select(n2[k] >= zero, -x.s2[k], x.s2[k]));
    flip1[k] = mask_and(abs(n1[k]) < ambiguous, mask_not(own[k]));
    flip2[k] = mask_and(abs(n2[k]) < ambiguous, mask_not(other[k]));
    unsure1 = mask_or(unsure1, flip1[k]);
    unsure2 = mask_or(unsure2, flip2[k]);
  }
  Real gap[3] = {zero, zero, zero}, middle[3] = {zero, zero, zero};
  for (int variant = 0; variant < kCornerVariants; variant++) {
    auto allowed = zero <= zero;
    if (variant & kOtherSecond) allowed = mask_and(allowed, unsure2);
    if (variant & kOtherFirst) allowed = mask_and(allowed, unsure1);
    if (variant > 0 && !any(allowed)) continue;
    Real v1[3], v2[3], between[3];
    for (int k = 0; k < 3; k++) {
      v1[k] = variant & kOtherFirst ? select(flip1[k], -c1[k], c1[k]) : c1[k];
      v2[k] = variant & kOtherSecond ? select(flip2[k], -c2[k], c2[k]) : c2[k];
    }
    for (int k = 0; k < 3; k++)
      between[k] = fma(R[3 * k + 2], v2[2], fma(R[3 * k + 1], v2[1], R[3 * k] * v2[0])) + x.p21[k] - v1[k];
    const Real along1 = pick3(own[0], own[1], between[0], between[1], between[2]);
    const Real along2 =
        fma(direction[2], between[2], fma(direction[1], between[1], direction[0] * between[0]));
    // closest points of two lines, each end cut re-solving the other
    Real s = clamp(fma(-cosine, along2, along1) / x.edge_square, -half1, half1);
    const Real t = clamp(fma(cosine, s, -along2), -half2, half2);
    s = clamp(fma(cosine, t, along1), -half1, half1);
    Real square = zero, trial_gap[3], trial_middle[3];
    for (int k = 0; k < 3; k++) {
      const Real w1 = v1[k] + select(own[k], s, zero);
      trial_gap[k] = fma(t, direction[k], between[k]) - select(own[k], s, zero);
      trial_middle[k] = fma(Real(0.5), trial_gap[k], w1);
      square = fma(trial_gap[k], trial_gap[k], square);
    }
    const auto better = variant == 0 ? allowed : mask_and(allowed, square < best);
    best = variant == 0 ? square : select(better, square, best);
    for (int k = 0; k < 3; k++) {
      gap[k] = select(better, trial_gap[k], gap[k]);
      middle[k] = select(better, trial_middle[k], middle[k]);
    }
  }
  *dist = fma(gap[2], n1[2], fma(gap[1], n1[1], gap[0] * n1[0]));
  *pos = {middle[0], middle[1], middle[2]};
  *normal = {n1[0], n1[1], n1[2]};
}

// of the face's squared size: the squared distance of corners that are one
template <class Real>
constexpr double kSameCorner = kSingle<Real> ? 1e-10 : 1e-14;
// which corners of the patch are contacts: within the margin, and each once where a cut made it twice
template <class Real>
DS_HD void mark_corners(const Polygon<Real, 8>& patch, const Real* s, const MaskOf<Real>& cut,
                        const Real& margin, Manifold<Real, 8>* out) {
  const Real zero(0);
  const Real same = Real(kSameCorner<Real>) * fma(s[0], s[0], s[1] * s[1]);
  for (int k = 0; k < 8; k++) out->hit[k] = mask_and(Real(k) < patch.count, patch.w[k] < margin);
  if (any(cut)) {
    for (int k = 1; k < 8; k++) {
      auto twice = zero < zero;
      for (int q = 0; q < k; q++) {
        const Real du = patch.u[k] - patch.u[q], dv = patch.v[k] - patch.v[q];
        twice = mask_or(twice, mask_and(out->hit[q], fma(du, du, dv * dv) < same));
      }
      out->hit[k] = mask_and(out->hit[k], mask_not(mask_and(cut, twice)));
    }
  }
}

// the incident face cut to the reference face; fills all slots. Reference axes are put in the order
// (along the face, along the face, normal), the incident box's as (normal, along, along)
template <class Real>
DS_STAGE void face_contacts(const Shape<Real>& a, const Shape<Real>& b, const BoxAxes<Real>& x,
                            const Real& margin, Manifold<Real, 8>* out) {
  const Real zero(0), one(1);
  const auto first = x.face < Real(3);
  const Real axis = select(first, x.face, x.face - Real(3));
  const auto at0 = axis < Real(0.5), at1 = mask_and(axis > Real(0.5), axis < Real(1.5));
  const auto turn = [&](const Real& x0, const Real& x1, const Real& x2, Real* y) {
    y[0] = pick3(at0, at1, x1, x2, x0);
    y[1] = pick3(at0, at1, x2, x0, x1);
    y[2] = pick3(at0, at1, x0, x1, x2);
  };
  Real R[3][3], p[3], s[3], inc[3];  // R[c][r]: component r of incident axis c
  for (int c = 0; c < 3; c++)
    turn(select(first, x.rot[c], x.rot[3 * c]), select(first, x.rot[3 + c], x.rot[3 * c + 1]),
         select(first, x.rot[6 + c], x.rot[3 * c + 2]), R[c]);
  turn(select(first, x.p21[0], x.p12[0]), select(first, x.p21[1], x.p12[1]),
       select(first, x.p21[2], x.p12[2]), p);
  turn(select(first, x.s1[0], x.s2[0]), select(first, x.s1[1], x.s2[1]), select(first, x.s1[2], x.s2[2]), s);
  for (int r = 0; r < 3; r++) inc[r] = select(first, x.s2[r], x.s1[r]);
  const Real up = select(p[2] >= zero, one, -one);

  // the incident face looks most against the normal
  const Real z0 = abs(R[0][2]), z1 = abs(R[1][2]), z2 = abs(R[2][2]);
  const auto not0 = z1 > z0;
  const auto last = z2 > select(not0, z1, z0);
  const auto in0 = mask_and(mask_not(not0), mask_not(last)), in1 = mask_and(not0, mask_not(last));
  const Real half_n = pick3(in0, in1, inc[0], inc[1], inc[2]),
             half_u = pick3(in0, in1, inc[1], inc[2], inc[0]),
             half_v = pick3(in0, in1, inc[2], inc[0], inc[1]);
  Real n[3], u[3], v[3];
  for (int r = 0; r < 3; r++) {
    n[r] = pick3(in0, in1, R[0][r], R[1][r], R[2][r]);
    u[r] = pick3(in0, in1, R[1][r], R[2][r], R[0][r]) * half_u;
    v[r] = pick3(in0, in1, R[2][r], R[0][r], R[1][r]) * half_v;
  }
  const Real facing = select(up * n[2] > zero, -half_n, half_n);
  const Real cx = fma(facing, n[0], p[0]), cy = fma(facing, n[1], p[1]);
  const Real cz = fma(up, fma(facing, n[2], p[2]), -s[2]), uz = u[2] * up, vz = v[2] * up;

  Polygon<Real, 4> quad;
  quad.count = Real(4);
  for (int k = 0; k < 4; k++) {
    const bool minus_u = k == 1 || k == 2, minus_v = k >= 2;
    quad.u[k] = (minus_u ? cx - u[0] : cx + u[0]) + (minus_v ? -v[0] : v[0]);
    quad.v[k] = (minus_u ? cy - u[1] : cy + u[1]) + (minus_v ? -v[1] : v[1]);
    quad.w[k] = (minus_u ? cz - uz : cz + uz) + (minus_v ? -vz : vz);
  }
  auto cut = zero < zero;
  Polygon<Real, 6> strip, turned;
  Polygon<Real, 8> patch;
  cut_by_slab(quad, s[0], &strip, &cut);
  for (int k = 0; k < 6; k++) {
    turned.u[k] = strip.v[k];
    turned.v[k] = strip.u[k];
    turned.w[k] = strip.w[k];
  }
  turned.count = strip.count;
  cut_by_slab(turned, s[1], &patch, &cut);

  mark_corners(patch, s, cut, margin, out);

  // back to the world; only now, so that the cuts have registers for their corners
  Real frame[3][3];
  for (int r = 0; r < 3; r++)
    turn(select(first, a.rot.m[3 * r], b.rot.m[3 * r]), select(first, a.rot.m[3 * r + 1], b.rot.m[3 * r + 1]),
         select(first, a.rot.m[3 * r + 2], b.rot.m[3 * r + 2]), frame[r]);
  const Vec3<Real> centre = select3(first, a.pos, b.pos);
  const Real outwards = select(first, up, -up);
  const Vec3<Real> ex{frame[0][0], frame[1][0], frame[2][0]}, ey{frame[0][1], frame[1][1], frame[2][1]},
      ez{frame[0][2], frame[1][2], frame[2][2]};
  const Vec3<Real> normal = ez * outwards, face_centre = axpy(ez, up * s[2], centre),
                   half_up = ez * (up * Real(0.5));
  for (int k = 0; k < 8; k++) {
    out->dist[k] = patch.w[k];
    out->normal[k] = normal;
    out->pos[k] = axpy(half_up, patch.w[k], axpy(ey, patch.u[k], axpy(ex, patch.v[k], face_centre)));
  }
}

template <class Real>
DS_FN void box_box(const Shape<Real>& a, const Shape<Real>& b, const Real& margin, Manifold<Real, 8>* out) {
  const Real zero(0);
  BoxAxes<Real> x;
  find_axis(a, b, margin, &x);
  if (!any(x.touching)) return clear(out);

  const auto edge = x.edge >= zero;
  if (any(mask_and(x.touching, mask_not(edge))))
    face_contacts(a, b, x, margin, out);
  else
    clear(out);
  for (int k = 0; k < 8; k++) out->hit[k] = mask_and(out->hit[k], mask_and(x.touching, mask_not(edge)));
  if (any(mask_and(x.touching, edge))) {
    Real dist;
    Vec3<Real> pos, normal;
    edge_contact(x, &dist, &pos, &normal);
    out->dist[0] = select(edge, dist, out->dist[0]);
    out->pos[0] = select3(edge, a.pos + rotate(a.rot, pos), out->pos[0]);
    out->normal[0] = select3(edge, rotate(a.rot, normal), out->normal[0]);
    out->hit[0] = mask_or(out->hit[0], mask_and(mask_and(x.touching, edge), dist < margin));
  }
  out->tangent = {zero, zero, zero};
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

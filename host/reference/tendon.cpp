// Tendons: length, moment dL/dq, and what moves with them.
//
// solves    length and moment
// equation  fixed    L = sum c_k q_k
//           spatial  from site to site, around a geom where the way through it is barred, divided by the pulley's
//                    divisor; moment of a straight piece from x to y of unit direction u: u' (J_y - J_x)
//           wrapping in the plane that holds the centre (sphere) or stands on the axis (cylinder), in polar angles:
//                    the tangent point of an end at distance R lies acos(r / R) from it. The shorter of the two ways;
//                    but where the line through centre and side site parts the ends, the way around the side site.
//                    With the side site inside, the string bounces off the inner wall with equal angles
// source    MuJoCo's documentation, "Tendons", "Spatial tendons"
// deviation the search inside goes on to rounding, where MuJoCo's ends at 1e-6 or so
// reads     poses, qpos
// writes    ten_length, ten_J
// cost      O(path nv)
#include <algorithm>
#include <cmath>

#include "host/model/actuator_kinds.h"
#include "host/model/element_rows.h"
#include "host/reference/constraint.h"
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

using Eigen::Vector2d;

// where a string touches a circle
struct Arc {
  bool touches = false;
  Vector2d first, last;
  double length = 0;
};

double turn(const Vector2d& a, const Vector2d& b) { return a.x() * b.y() - a.y() * b.x(); }
double polar(const Vector2d& a) { return std::atan2(a.y(), a.x()); }
Vector2d on_circle(double r, double angle) { return r * Vector2d(std::cos(angle), std::sin(angle)); }

bool segments_cross(const Vector2d& a, const Vector2d& b, const Vector2d& c, const Vector2d& d) {
  const double det = turn(b - a, d - c);
  if (std::abs(det) < kTiny) return false;
  const double s = turn(c - a, d - c) / det, t = turn(c - a, b - a) / det;
  return s >= 0 && s <= 1 && t >= 0 && t <= 1;
}

// the point of the segment nearest to the origin
Vector2d nearest(const Vector2d& p, const Vector2d& q) {
  const Vector2d d = q - p;
  return p + std::clamp(-p.dot(d) / d.squaredNorm(), 0.0, 1.0) * d;
}

Arc outside(const Vector2d& p, const Vector2d& q, const Vector2d* side, double r) {
  Arc arc;
  if (p.norm() < r || q.norm() < r || r < kTiny || (q - p).squaredNorm() < kTiny) return arc;
  const Vector2d near = nearest(p, q);
  const bool barred = near.norm() <= r;
  // whether the line through the centre and the side site parts the ends
  const bool parted = side && turn(*side, p) * turn(*side, q) < 0;
  if (!barred && (!parted || side->dot(near) >= 0)) return arc;
  double best = 0;
  for (const int sense : {-1, 1}) {
    const double from = polar(p) + sense * std::acos(r / p.norm()),
                 to = polar(q) - sense * std::acos(r / q.norm());
    const Vector2d a = on_circle(r, from), b = on_circle(r, to);
    // the angle from a to b in the sense of this way, within one turn
    double angle = std::fmod(sense * (to - from), 2 * kPi);
    if (angle < 0) angle += 2 * kPi;
    const bool crossed = !side && segments_cross(p, a, q, b);
    const double cost = parted ? turn(*side, p) * sense : side ? angle : crossed ? 1e4 : (a - b).norm();
    if (sense == 1 && cost > best) continue;
    best = cost;
    arc = {!crossed, a, b, r * angle};
  }
  return arc;
}

Arc inside(const Vector2d& p, const Vector2d& q, double r) {
  Arc arc;
  if (p.norm() <= r || q.norm() <= r || r < kTiny) return arc;
  const Vector2d d = q - p;
  const double along = -p.dot(d);
  if (d.squaredNorm() > kTiny && along > 0 && along < d.squaredNorm() && nearest(p, q).norm() <= r)
    return arc;
  const double angle = std::abs(std::atan2(turn(p, q), p.dot(q)));
  if (std::cos(angle) < -1 + kTiny) return arc;
  arc.touches = true;
  arc.first = arc.last = r * (p + q).normalized();
  // the angle t between the string and the radius where it meets the wall
  const double A = r / p.norm(), B = r / q.norm();
  const auto miss = [&](double t) {
    return std::asin(A * std::sin(t)) + std::asin(B * std::sin(t)) - 2 * t + angle;
  };
  const auto slope = [](double k, double t) {
    return k * std::cos(t) / std::sqrt(1 - std::pow(k * std::sin(t), 2));
  };
  if (std::cos(angle) > 1 - kTiny) return arc;
  // where it grazes the wall, rounding may leave a root beyond a right angle
  double t = kPi / 2;
  for (int i = 0; i < 20 && miss(t) < -1e-15; ++i) {
    const double next = t - miss(t) / (slope(A, t) + slope(B, t) - 2);
    if (!(next < t)) break;
    t = next;
  }
  const bool left = turn(p, q) > 0;
  const double bend = t - std::asin((left ? A : B) * std::sin(t));
  arc.first = arc.last = on_circle(r, polar(left ? p : q) + bend);
  return arc;
}

// the string around geom g from x to y: touches, the two points, the length between them
struct Wrapped {
  bool touches = false;
  Vector3d first, last;
  double length = 0;
};
Wrapped wrap(const Model& m, const Data& d, int g, int side_site, const Vector3d& x, const Vector3d& y) {
  const double r = row::geom_size(m, g)[0];
  const bool sphere = m.geom_type[g] == kSphere;
  const auto local = [&](const Vector3d& point) -> Vector3d {
    return d.geom_xmat[g].transpose() * (point - d.geom_xpos[g]);
  };
  const Vector3d p = local(x), q = local(y);
  if (p.norm() < kTiny || q.norm() < kTiny) return {};
  Vector3d u = Vector3d::UnitX(), v = Vector3d::UnitY();
  if (sphere) {
    u = p.normalized();
    Vector3d normal = p.cross(q);
    if (normal.norm() < kTiny) {
      int most;
      u.cwiseAbs().maxCoeff(&most);
      Vector3d other = Vector3d::Ones();
      other[most] = 0;
      normal = u.cross(other);
    }
    v = normal.cross(u).normalized();
  }
  const auto flat = [&](const Vector3d& point) { return Vector2d(point.dot(u), point.dot(v)); };
  Arc arc;
  if (side_site < 0) {
    arc = outside(flat(p), flat(q), nullptr, r);
  } else {
    const Vector3d s = local(d.site_xpos[side_site]);
    const Vector2d side = flat(s);
    arc = s.norm() < r ? inside(flat(p), flat(q), r) : outside(flat(p), flat(q), &side, r);
  }
  if (!arc.touches) return {};
  Vector3d first = u * arc.first.x() + v * arc.first.y(), last = u * arc.last.x() + v * arc.last.y();
  double length = arc.length;
  if (!sphere) {
    const double before = (flat(p) - arc.first).norm(), after = (flat(q) - arc.last).norm();
    const double climb = (q.z() - p.z()) / (before + length + after);
    first.z() = p.z() + climb * before;
    last.z() = p.z() + climb * (before + length);
    length = std::hypot(length, climb * length);
  }
  const auto world = [&](const Vector3d& point) -> Vector3d {
    return d.geom_xpos[g] + d.geom_xmat[g] * point;
  };
  return {true, world(first), world(last), length};
}

// a walk over the straight pieces of a spatial tendon: f(body, point, body, point, divisor), and g(length on a geom,
// divisor)
template <class Piece, class OnGeom>
void walk(const Model& m, const Data& d, int ten, Piece piece, OnGeom on_geom) {
  const int end = m.tendon_adr[ten] + m.tendon_num[ten];
  double divisor = 1;
  int from = -1, around = -1;
  for (int w = m.tendon_adr[ten]; w < end; ++w) {
    const int id = m.wrap_objid[w];
    if (m.wrap_type[w] == kWrapPulley) {
      divisor = m.wrap_prm[w];
      from = around = -1;
    } else if (m.wrap_type[w] == kWrapSite) {
      if (from >= 0) {
        const Vector3d x = d.site_xpos[from], y = d.site_xpos[id];
        const int body = m.site_bodyid[from], next = m.site_bodyid[id];
        Wrapped s;
        if (around >= 0)
          s = wrap(m, d, m.wrap_objid[around], static_cast<int>(std::round(m.wrap_prm[around])), x, y);
        if (s.touches) {
          const int geom_body = m.geom_bodyid[m.wrap_objid[around]];
          piece(body, x, geom_body, s.first, divisor);
          on_geom(s.length, divisor);
          piece(geom_body, s.last, next, y, divisor);
        } else {
          piece(body, x, next, y, divisor);
        }
      }
      from = id;
      around = -1;
    } else {
      around = w;
    }
  }
}

}  // namespace

void tendons(const Model& m, Data* d) {
  d->ten_length = VectorXd::Zero(m.ntendon);
  d->ten_J = RowMatrixXd::Zero(m.ntendon, m.nv);
  MatrixXd near, far, unused;
  for (int t = 0; t < m.ntendon; ++t) {
    for (int w = m.tendon_adr[t]; w < m.tendon_adr[t] + m.tendon_num[t]; ++w) {
      if (m.wrap_type[w] != kWrapJoint) continue;
      const int joint = m.wrap_objid[w];
      d->ten_length[t] += m.wrap_prm[w] * d->qpos[m.jnt_qposadr[joint]];
      d->ten_J(t, m.jnt_dofadr[joint]) += m.wrap_prm[w];
    }
    if (m.wrap_type[m.tendon_adr[t]] == kWrapJoint) continue;
    walk(
        m, *d, t,
        [&](int body, const Vector3d& x, int next, const Vector3d& y, double divisor) {
          d->ten_length[t] += (y - x).norm() / divisor;
          if (body == next) return;
          Vector3d u = y - x;
          u = u.norm() < kTiny ? Vector3d(Vector3d::UnitX()) : Vector3d(u.normalized());
          point_jacobian(m, *d, body, x, &near, &unused);
          point_jacobian(m, *d, next, y, &far, &unused);
          d->ten_J.row(t) += u.transpose() * (far - near) / divisor;
        },
        [&](double length, double divisor) { d->ten_length[t] += length / divisor; });
  }
}

// dJ/dt v of a tendon through sites alone: the second derivative of its length at zero joint acceleration
double tendon_bias_acceleration(const Model& m, const Data& d, int ten) {
  double sum = 0;
  if (m.wrap_type[m.tendon_adr[ten]] == kWrapJoint) return 0;
  walk(
      m, d, ten,
      [&](int body, const Vector3d& x, int next, const Vector3d& y, double divisor) {
        if (body == next) return;
        MatrixXd near, far, unused;
        point_jacobian(m, d, body, x, &near, &unused);
        point_jacobian(m, d, next, y, &far, &unused);
        Vector3d ax, ay, turning;
        bias_acceleration(m, d, body, x, &ax, &turning);
        bias_acceleration(m, d, next, y, &ay, &turning);
        const Vector3d v = (far - near) * d.qvel, u = (y - x).normalized();
        sum += (u.dot(ay - ax) + u.cross(v).squaredNorm() / (y - x).norm()) / divisor;
      },
      [](double, double) {});
  return sum;
}

void add_on_branches(const Model& m, double scale, const VectorXd& J, BlockMatrix* to) {
  for (int i = 0; i < m.nv; ++i) {
    for (int j = J[i] != 0 ? i : -1; j >= 0; j = m.dof_parentid[j]) {
      const double entry = scale * (J[i] * J[j]);
      (*to)(i, j) += entry;
      if (i != j) (*to)(j, i) += entry;
    }
  }
}

bool tendons_have_inertia(const Model& m) {
  return std::any_of(m.tendon_armature.begin(), m.tendon_armature.end(), [](double a) { return a != 0; });
}
void add_tendon_inertia(const Model& m, const Data& d, BlockMatrix* M) {
  for (int t = 0; t < m.ntendon; ++t)
    if (m.tendon_armature[t] != 0) add_on_branches(m, m.tendon_armature[t], d.ten_J.row(t), M);
}
VectorXd tendon_bias(const Model& m, const Data& d) {
  VectorXd bias = VectorXd::Zero(m.nv);
  for (int t = 0; t < m.ntendon; ++t) {
    if (m.tendon_armature[t] == 0) continue;
    bias += m.tendon_armature[t] * tendon_bias_acceleration(m, d, t) * d.ten_J.row(t).transpose();
  }
  return bias;
}

// how far a tendon is beyond the range in which its spring is relaxed
double tendon_stretch(const Model& m, const Data& d, int ten) {
  const double length = d.ten_length[ten];
  const auto [shortest, longest] = bounds(row::tendon_lengthspring(m, ten));
  return length - std::clamp(length, shortest, longest);
}

double tendon_force(const Model& m, const Data& d, int ten) {
  const VectorXd J = d.ten_J.row(ten);
  double f = 0;
  if (m.tendon_armature[ten] != 0)
    f -= m.tendon_armature[ten] * (J.dot(d.qacc) + tendon_bias_acceleration(m, d, ten));
  if (!m.opt.disabled(kDisableSpring)) f -= m.tendon_stiffness[ten] * tendon_stretch(m, d, ten);
  if (!m.opt.disabled(kDisableDamper)) f -= m.tendon_damping[ten] * d.ten_velocity[ten];
  for (int i = 0; i < m.nactuator; ++i)
    if (acts_on_tendon(m, i, ten)) f += scalar_gear(m, i) * d.actuator_force[i];
  for (int r = 0; r < d.nefc(); ++r) {
    const int id = d.efc_id[r];
    if (d.of_tendon(r) && id == ten) {
      // the row is J of the tendon, or less that at an upper limit
      const bool upper = d.efc_type[r] == RowType::kLimit && d.efc_J.row(r).dot(J) < 0;
      f += upper ? -d.efc_force[r] : d.efc_force[r];
    }
    if (d.efc_type[r] != RowType::kEquality || m.eq_type[id] != kEqTendon) continue;
    if (m.eq_obj1id[id] == ten) f += d.efc_force[r];
    if (m.eq_obj2id[id] == ten) {
      const auto c = row::eq_data(m, id);
      const double x = d.ten_length[ten] - m.tendon_length0[ten];
      f -= d.efc_force[r] * (c[1] + 2 * c[2] * x + 3 * c[3] * x * x + 4 * c[4] * x * x * x);
    }
  }
  return f;
}

void add_tendon_wrenches(const Model& m, Data* d) {
  for (int t = 0; t < m.ntendon; ++t) {
    if (m.wrap_type[m.tendon_adr[t]] == kWrapJoint) continue;
    const double f = tendon_force(m, *d, t);
    walk(
        m, *d, t,
        [&](int body, const Vector3d& x, int next, const Vector3d& y, double divisor) {
          const Vector3d pull = f / divisor * (y - x).normalized();
          const auto add = [&](int b, const Vector3d& force, const Vector3d& at) {
            if (b > 0)
              d->cfrc_ext[b] += shift_force(spatial(Vector3d::Zero(), force), at, spatial_origin(m, *d, b));
          };
          if (body == next) return;
          add(body, -pull, x);
          add(next, pull, y);
        },
        [](double, double) {});
  }
}

}  // namespace dualstep::reference

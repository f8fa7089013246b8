// Contact forces as functions of the state: compliant and soft_anchor.
//
// solves    nothing. x = -phi > 0 is the depth, u = J v the relative velocity in the contact's frame
// equation  compliant    f_n = max(0, k x + c x') or k x^p max(0, 1 + d x');
//                        f_t = -g u_t, g = min(mu(s) f_n / |u_t|, bound), s = |u_t| / v_s, and likewise for
//                        spin and rolling with their coefficients, s = mu_i |u_i| / v_s; mu(s) Stribeck's
//                        quintic from mu_s to mu_d, or mu_d min(1, s); mu_s is the pair's coefficient,
//                        mu_d = mu_s dynamic_friction_ratio
//           soft_anchor  f_n = max(0, k x + c x'); trial f_t = -k_t s - d_t u_t with s the stretch; cut to the
//                        circle mu f_n; where cut, s = -(f_t + d_t u_t) / k_t. s is zero at the first touch,
//                        and from step to step s <- (I - n n')s + h u_t with the new contact's u_t; spin and
//                        rolling as in compliant
// source    Hunt & Crossley 1975; Stribeck's curve as in Drake's user guide; lecture notes on soft contact in
//           excess coordinates (friction adjust and slide); Tedrake, Underactuated Robotics, multi-body appendix
// deviation bound = 1 / (h n lambda): n the number of frictional terms of the state, lambda the largest eigenvalue
//           of the term's block of J M^-1 J'. With it no friction, nor all together, reverses a sliding velocity
//           within a step. The anchor is kept as a stretch, not as a point, so that rolling does not load it
// reads     contacts, qvel, M_hat_llt, anchors
// writes    Contact::force, next_anchors
// cost      O(contacts nv^2)
#include <algorithm>
#include <cmath>

#include "host/interruption.h"
#include "host/reference/contact_matching.h"
#include "host/reference/contact_model.h"
#include "host/reference/formulations/compliant.h"

namespace dualstep::reference {

namespace {

namespace fm = dualstep::formulations;

// one contact in touch
struct Touching {
  Contact* contact;
  MatrixXd J;  // (6, nv)
  Eigen::Matrix<double, 6, 1> u;
};

// a part of friction that saturates on its own: sliding, spin, rolling
struct FrictionTerm {
  int touching, start, size;
  double mu, inverse_mass;
};

double normal_force(const Options& o, const Touching& t) {
  const double depth = -t.contact->dist, rate = -t.u[0];
  if (!contact_form(o).anchored && o.compliant_law == CompliantLaw::kHuntCrossley)
    return fm::compliant_hunt_crossley(depth, rate, o.stiffness, o.damping, o.exponent);
  return fm::compliant_linear(depth, rate, o.stiffness, o.damping);
}

double coefficient(const Options& o, double speed_ratio, double mu) {
  const double mu_d = mu * o.dynamic_friction_ratio;
  return o.friction_law == FrictionLaw::kPiecewise ? fm::friction_piecewise(speed_ratio, mu_d)
                                                   : fm::friction_stribeck(speed_ratio, mu, mu_d);
}

// the stretch of each touching contact at this step's start
std::vector<Vector3d> stretches(const Model& m, const Data& d, const std::vector<Touching>& touching) {
  std::vector<ContactMark> now, before;
  for (const Touching& t : touching) now.push_back(mark_of(m, d, *t.contact));
  for (const Anchor& a : d.anchors) before.push_back({a.geom1, a.geom2, a.local, 0});
  const std::vector<int> match = match_contacts(now, before);
  std::vector<Vector3d> out(touching.size(), Vector3d::Zero());
  for (size_t i = 0; i < touching.size(); ++i) {
    if (match[i] < 0) continue;
    const Matrix3d& frame = touching[i].contact->frame;
    const Vector3d n = frame.row(0), kept = d.anchors[match[i]].stretch;
    out[i] = kept - n * n.dot(kept) +
             m.opt.timestep * (frame.bottomRows<2>().transpose() * touching[i].u.segment<2>(1));
  }
  return out;
}

// the anchored spring of one contact; returns the stretch it leaves
Vector3d anchored_friction(const Options& o, const Vector3d& stretch, Touching* t) {
  Contact& c = *t->contact;
  const auto tangents = c.frame.bottomRows<2>();
  const Eigen::Vector2d slid = tangents * stretch, speed = t->u.segment<2>(1);
  Eigen::Vector2d force = -o.tangent_stiffness * slid - o.tangent_damping * speed;
  const double limit = c.friction[0] * c.force[0], size = force.norm();
  Vector3d left = stretch;
  if (size > limit) {
    force *= limit / size;
    if (o.tangent_stiffness > 0)
      left = tangents.transpose() * (-(force + o.tangent_damping * speed) / o.tangent_stiffness);
  }
  c.force.segment<2>(1) = force;
  return left;
}

}  // namespace

VectorXd explicit_contacts(const Model& m, Data* d) {
  const Options& o = m.opt;
  const bool anchored = contact_form(o).anchored;
  std::vector<Touching> touching;
  for (Contact& c : d->contacts) {
    if (c.dist >= 0) continue;
    stop_if_told();
    const MatrixXd J = contact_jacobian(m, *d, c);
    if (J.isZero(0)) continue;
    touching.push_back({&c, J, J * d->qvel});
  }
  for (Touching& t : touching) t.contact->force[0] = normal_force(o, t);

  d->next_anchors.clear();
  if (anchored) {
    const std::vector<Vector3d> stretch = stretches(m, *d, touching);
    for (size_t i = 0; i < touching.size(); ++i) {
      Touching& t = touching[i];
      const bool rubs = t.contact->dim > 1;
      const Vector3d left = rubs ? anchored_friction(o, stretch[i], &t) : Vector3d(Vector3d::Zero());
      const ContactMark mark = mark_of(m, *d, *t.contact);
      d->next_anchors.push_back({mark.geom1, mark.geom2, mark.local, left});
    }
  }

  std::vector<FrictionTerm> terms;
  for (size_t i = 0; i < touching.size(); ++i) {
    stop_if_told();
    const Contact& c = *touching[i].contact;
    const auto add = [&](int start, int size, double mu) {
      const MatrixXd J = touching[i].J.middleRows(start, size);
      const MatrixXd A = J * d->M_hat_llt.solve(J.transpose());
      const double largest =
          size == 1 ? A(0, 0) : 0.5 * (A(0, 0) + A(1, 1)) + std::hypot(0.5 * (A(0, 0) - A(1, 1)), A(0, 1));
      if (largest > 0 && mu > 0) terms.push_back({static_cast<int>(i), start, size, mu, largest});
    };
    if (c.dim >= 3 && !anchored) add(1, 2, c.friction[0]);
    if (c.dim >= 4) add(3, 1, c.friction[2]);
    if (c.dim == 6) add(4, 2, c.friction[3]);
  }
  for (const FrictionTerm& term : terms) {
    Touching& t = touching[term.touching];
    const VectorXd u = t.u.segment(term.start, term.size);
    const double speed = u.norm();
    if (speed == 0) continue;
    // turning counts by the speed at which its moment does work
    const double ratio = (term.start == 1 ? speed : term.mu * speed) / o.stiction_speed;
    const double wanted =
        coefficient(o, ratio, std::min(term.mu, kInfiniteFriction)) * t.contact->force[0] / speed;
    const double bound = 1 / (o.timestep * static_cast<double>(terms.size()) * term.inverse_mass);
    t.contact->force.segment(term.start, term.size) = -std::min(wanted, bound) * u;
  }

  VectorXd push = VectorXd::Zero(m.nv);
  for (const Touching& t : touching) push += t.J.transpose() * t.contact->force;
  return push;
}

}  // namespace dualstep::reference

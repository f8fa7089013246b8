// Forward dynamics by articulated bodies, without constraints.
//
// solves    qacc with M qacc + bias = tau
// equation  inward   U = I^A S, D = S'U + armature, u = tau - S'p^A,
//                    I^A_parent += I^A - U D^-1 U',  p^A_parent += p^A + (I^A - U D^-1 U') c + U D^-1 u
//           outward  a' = a_parent + c, qacc = D^-1 (u - U'a'), a = a' + S qacc,  with c = dS/dt qvel,
//                    a_world = -gravity
// source    Featherstone 2008, section 7.3
// deviation a body with several joints is a chain of links, massless but for the last
// reads     cinert, cdof, cdof_dot, cvel, qvel
// cost      O(nv)
#include "host/reference/spatial.h"
#include "host/reference/stages.h"

namespace dualstep::reference {

namespace {

// one joint with what it carries, or a body without joints
struct Link {
  int parent, dof, ndof;  // parent link, -1 for the world
  Matrix6d inertia = Matrix6d::Zero();
  Vector6d bias_force = Vector6d::Zero(), drift = Vector6d::Zero(), acceleration = Vector6d::Zero();
  MatrixXd U, D_inverse;
  VectorXd u;
};

std::vector<Link> links_of(const Model& m, const Data& d) {
  std::vector<Link> links;
  std::vector<int> last(m.nbody, -1);  // last link of each body
  for (int i = 1; i < m.nbody; ++i) {
    int parent = last[m.body_parentid[i]];
    for (int k = 0; k < std::max(1, m.body_jntnum[i]); ++k) {
      Link link;
      link.parent = parent;
      link.dof = m.body_jntnum[i] > 0 ? m.jnt_dofadr[m.body_jntadr[i] + k] : 0;
      link.ndof = m.body_jntnum[i] > 0 ? dof_count(m.jnt_type[m.body_jntadr[i] + k]) : 0;
      for (int c = link.dof; c < link.dof + link.ndof; ++c) link.drift += d.cdof_dot.col(c) * d.qvel[c];
      parent = static_cast<int>(links.size());
      links.push_back(link);
    }
    last[i] = parent;
    links.back().inertia = d.cinert[i];
    links.back().bias_force = cross_force(d.cvel[i], d.cinert[i] * d.cvel[i]);
  }
  return links;
}

}  // namespace

VectorXd aba(const Model& m, const Data& d, const VectorXd& tau) {
  std::vector<Link> links = links_of(m, d);
  for (auto link = links.rbegin(); link != links.rend(); ++link) {
    const MatrixXd S = d.cdof.middleCols(link->dof, link->ndof);
    Matrix6d inertia = link->inertia;
    Vector6d force = link->bias_force;
    if (link->ndof > 0) {
      link->U = link->inertia * S;
      MatrixXd D = S.transpose() * link->U;
      for (int c = 0; c < link->ndof; ++c) D(c, c) += m.dof_armature[link->dof + c];
      link->D_inverse = D.llt().solve(MatrixXd::Identity(link->ndof, link->ndof));
      link->u = tau.segment(link->dof, link->ndof) - S.transpose() * link->bias_force;
      inertia -= link->U * link->D_inverse * link->U.transpose();
      force += link->U * (link->D_inverse * link->u);
    }
    if (link->parent < 0) continue;
    links[link->parent].inertia += inertia;
    links[link->parent].bias_force += force + inertia * link->drift;
  }

  VectorXd qacc(m.nv);
  const Vector6d world = spatial(Vector3d::Zero(), -gravity(m));
  for (Link& link : links) {
    link.acceleration = (link.parent < 0 ? world : links[link.parent].acceleration) + link.drift;
    if (link.ndof == 0) continue;
    const VectorXd joint = link.D_inverse * (link.u - link.U.transpose() * link.acceleration);
    qacc.segment(link.dof, link.ndof) = joint;
    link.acceleration += d.cdof.middleCols(link.dof, link.ndof) * joint;
  }
  return qacc;
}

}  // namespace dualstep::reference

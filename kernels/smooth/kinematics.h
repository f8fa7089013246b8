// Positions of bodies, joints, centres of mass, and the joint motions S.
//
// solves    where every body and joint is, for the positions of the joints
// equation  parent to body, then each joint j of the body in order, with anchor p_j and axis a_j there:
//             x = x_p + R_p body_pos,  q = q_p * body_quat
//             slide:  x += a_j (qpos - qpos0)
//             hinge:  q = q * (cos t/2, axis sin t/2),  t = qpos - qpos0,  and x so that p_j stays
//             ball:   q = q * qpos,  and x so that p_j stays
//             free:   x, q = qpos
//           motion of a dof with axis a through p, about the tree's centre of mass c:
//             S = (a, a x (c - p)) of a rotation,  (0, a) of a translation
// source    Featherstone 2008, section 4.4
// deviation none; spatial quantities are in world axes about the tree's centre of mass, the choice that keeps
//           single precision accurate far from the origin
// reads     qpos, poses of mocap bodies
// writes    xpos, xquat, xipos, xanchor, xaxis, tree_com, cdof
// cost      O(nbody + nv), level by level of the tree
#pragma once

#include "kernels/data/views.h"

namespace dualstep {
inline namespace DUALSTEP_ISA {

// body frames from the positions of the joints, and where kMotion what else the joints' motions follow from;
// mocap(i) gives the pose of mocap body i
template <bool kMotion, class E, class Mocap>
DS_FN void body_frames(E& env, Mocap mocap) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto qpos = env.qpos(), xpos = env.xpos(), xquat = env.xquat(), xipos = env.xipos();
  const auto xanchor = env.xanchor(), xaxis = env.xaxis();
  if (env.lanes.rank() == 0) {
    xpos.set(0, Vec3<Real>{Real(0), Real(0), Real(0)});
    xquat.set(0, Quat<Real>{Real(1), Real(0), Real(0), Real(0)});
    if (kMotion) xipos.set(0, Vec3<Real>{Real(0), Real(0), Real(0)});
  }
  env.sync();
  for (int level = 0; level < t.n.nlevel; level++) {
    for (int k = t.level_adr[level] + env.lanes.rank(); k < t.level_adr[level + 1]; k += env.lanes.width()) {
      const int b = t.level_body[k], parent = t.body_parent[b];
      const int first = t.body_jntadr[b], count = t.body_jntnum[b];
      Vec3<Real> pos;
      Quat<Real> quat;
      if (count == 1 && t.jnt_type[first] == kFree) {
        const int adr = t.jnt_qposadr[first];
        pos = qpos.vec_at(adr);
        quat = normalize(qpos.quat_at(adr + 3));
        if (kMotion) {
          xanchor.set(first, pos);
          xaxis.set(first, Vec3<Real>{Real(0), Real(0), Real(1)});
        }
      } else {
        if (t.body_mocap[b] >= 0) {
          const MocapPose<Real> pose = mocap(t.body_mocap[b]);
          pos = pose.pos;
          quat = normalize(pose.quat);
        } else {
          const Quat<Real> up = xquat.quat(parent);
          pos = xpos.vec(parent) + rotate(up, env.vec(t.body_pos, b));
          quat = mul(up, env.quat(t.body_quat, b));
        }
        for (int j = first; j < first + count; j++) {
          const int adr = t.jnt_qposadr[j];
          const Vec3<Real> local = env.vec(t.jnt_pos, j), axis = env.vec(t.jnt_axis, j);
          const Vec3<Real> anchor = pos + rotate(quat, local);
          const Vec3<Real> world_axis = rotate(quat, axis);
          if (kMotion) {
            xanchor.set(j, anchor);
            xaxis.set(j, world_axis);
          }
          if (t.jnt_type[j] == kSlide) {
            pos = axpy(world_axis, qpos[adr] - env.qpos0(adr), pos);
          } else {
            if (t.jnt_type[j] == kBall) {
              quat = mul(quat, normalize(qpos.quat_at(adr)));
            } else {
              Real s, c;
              sincos((qpos[adr] - env.qpos0(adr)) * Real(0.5), &s, &c);
              quat = mul(quat, Quat<Real>{c, axis.x * s, axis.y * s, axis.z * s});
            }
            pos = anchor - rotate(quat, local);
          }
        }
        quat = normalize(quat);
      }
      xpos.set(b, pos);
      xquat.set(b, quat);
      if (kMotion) xipos.set(b, pos + rotate(quat, env.vec(t.body_ipos, b)));
    }
    env.sync();
  }
}

template <class E>
DS_FN void tree_centres(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto xipos = env.xipos(), com = env.tree_com();
  for (int k = 0; k < t.n.ntree; k++) {
    const int* bodies = t.tree_body + t.tree_adr[k];
    const int n = t.tree_adr[k + 1] - t.tree_adr[k];
    Real sum[3];
    for (int axis = 0; axis < 3; axis++)
      sum[axis] = env.accumulate(n, [&](int i, const Real& s) {
        return fma(env.body_mass(bodies[i]), xipos[3 * bodies[i] + axis], s);
      });
    const Real inv = env.tree_invmass(k);
    if (env.lanes.rank() == 0) com.set(k, Vec3<Real>{sum[0] * inv, sum[1] * inv, sum[2] * inv});
  }
  env.sync();
}

// S of every dof, as (angular, linear) velocity of the point of the tree's centre of mass
template <class E>
DS_FN void joint_motions(E& env) {
  using Real = typename E::Real;
  const auto& t = env.t;
  const auto xpos = env.xpos(), xquat = env.xquat(), xanchor = env.xanchor(), xaxis = env.xaxis();
  const auto cdof = env.cdof(), com = env.tree_com();
  const Vec3<Real> zero{Real(0), Real(0), Real(0)};
  env.each(t.n.njnt, [&](int j) {
    const int b = t.jnt_body[j], dof = t.jnt_dofadr[j];
    const Vec3<Real> centre = com.vec(t.body_tree[b]);
    if (t.jnt_type[j] == kHinge) {
      const Vec3<Real> axis = xaxis.vec(j);
      cdof.set(dof, Spatial<Real>{axis, cross(axis, centre - xanchor.vec(j))});
    } else if (t.jnt_type[j] == kSlide) {
      cdof.set(dof, Spatial<Real>{zero, xaxis.vec(j)});
    } else {
      const bool free = t.jnt_type[j] == kFree;
      const int rot = free ? dof + 3 : dof;
      if (free) {
        const Real one(1);
        cdof.set(dof, Spatial<Real>{zero, {one, zero.x, zero.x}});
        cdof.set(dof + 1, Spatial<Real>{zero, {zero.x, one, zero.x}});
        cdof.set(dof + 2, Spatial<Real>{zero, {zero.x, zero.x, one}});
      }
      const Vec3<Real> arm = centre - (free ? xpos.vec(b) : xanchor.vec(j));
      const Mat3<Real> r = to_matrix(xquat.quat(b));
      for (int k = 0; k < 3; k++) {
        const Vec3<Real> axis = column(r, k);
        cdof.set(rot + k, Spatial<Real>{axis, cross(axis, arm)});
      }
    }
  });
  env.done();
}

template <class E, class Mocap>
DS_STAGE void kinematics(E& env, Mocap mocap) {
  body_frames<true>(env, mocap);
  tree_centres(env);
  joint_motions(env);
}

}  // namespace DUALSTEP_ISA
}  // namespace dualstep

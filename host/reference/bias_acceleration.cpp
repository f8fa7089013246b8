// Accelerations that the motion has by itself.
//
// solves    (dJ/dt) v of points and bodies
// equation  outwards along the bodies from the world, joint by joint, in world axes, with all second derivatives
//           of the coordinates zero. A joint turns or shifts the frame that it carries against the one that
//           carries it; its axis moves with the latter:
//             hinge, ball   w += w_joint, alpha += w x w_joint, about the anchor
//             slide         v += v_joint, a += 2 w x v_joint
// source    Featherstone 2008, recursive Newton-Euler without gravity
// reads     xanchor, xaxis, xpos, xmat, qvel
// cost      the joints between a body and the world
#include <vector>

#include "host/reference/constraint.h"

namespace dualstep::reference {

namespace {

// motion of a rigid frame: its angular part, and that of its point at `at`
struct FrameMotion {
  Vector3d w = Vector3d::Zero(), alpha = Vector3d::Zero();
  Vector3d at = Vector3d::Zero(), v = Vector3d::Zero(), a = Vector3d::Zero();

  // the same motion, told at another point
  void move_to(const Vector3d& point) {
    const Vector3d r = point - at;
    a += alpha.cross(r) + w.cross(w.cross(r));
    v += w.cross(r);
    at = point;
  }
  void turn(const Vector3d& relative) {
    alpha += w.cross(relative);
    w += relative;
  }
  void shift(const Vector3d& relative) {
    a += 2 * w.cross(relative);
    v += relative;
  }
};

FrameMotion motion_of(const Model& m, const Data& d, int body) {
  std::vector<int> path;
  for (int b = body; b > 0; b = m.body_parentid[b]) path.push_back(b);
  FrameMotion f;
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    for (int k = 0; k < m.body_jntnum[*it]; k++) {
      const int j = m.body_jntadr[*it] + k, dof = m.jnt_dofadr[j];
      f.move_to(d.xanchor[j]);
      switch (m.jnt_type[j]) {
        case kFree:
          f.shift(d.qvel.segment<3>(dof));
          f.turn(d.xmat[*it] * d.qvel.segment<3>(dof + 3));
          break;
        case kBall:
          f.turn(d.xmat[*it] * d.qvel.segment<3>(dof));
          break;
        case kSlide:
          f.shift(d.xaxis[j] * d.qvel[dof]);
          break;
        default:
          f.turn(d.xaxis[j] * d.qvel[dof]);
      }
    }
  }
  return f;
}

}  // namespace

void bias_acceleration(const Model& m, const Data& d, int body, const Vector3d& point, Vector3d* linear,
                       Vector3d* angular) {
  FrameMotion f = motion_of(m, d, body);
  f.move_to(point);
  *linear = f.a;
  *angular = f.alpha;
}

Vector3d angular_velocity(const Model& m, const Data& d, int body) { return motion_of(m, d, body).w; }

}  // namespace dualstep::reference

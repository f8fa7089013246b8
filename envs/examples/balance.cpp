// a pole that is held up, with the cart near a place
#include "task.h"

struct Balance : dualstep::Task {
  double target = 0.0;
  static constexpr int observations = 4, normals = 2, uniforms = 0;

  DUALSTEP_DEVICE void reset(const Env& s, const Start& start) const {
    for (int i = 0; i < 2; ++i) start.qpos[i] = static_cast<Real>(0.1 * s.normal[i]);
  }
  DUALSTEP_DEVICE void observe(const Env& s, Real* out) const {
    for (int i = 0; i < 2; ++i) out[i] = s.qpos[i], out[2 + i] = s.qvel[i];
  }
  DUALSTEP_DEVICE Real reward(const Env& s) const {
    const Real away = s.qpos[0] - static_cast<Real>(target);
    return 1 - (away < 0 ? -away : away);
  }
  DUALSTEP_DEVICE bool terminated(const Env& s) const { return s.qpos[1] > 1 || s.qpos[1] < -1; }
};

DUALSTEP_TASK(Balance, target)

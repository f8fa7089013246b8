"""MyoReach: a finger of five muscles brings its tip to a target.

The task is MyoSuite's `myoFingerReachRandom` (Caggiano et al. 2022, "MyoSuite: A contact-rich simulation suite for
musculoskeletal motor control"): its observations, reward, end of episodes, targets and what an action is to a muscle.
Its model comes with the package myo-sim, which is looked for when the task is made and never imported.

Targets are places where the tip is in some configuration within the limits of the joints, as many as `TARGETS`, drawn
once when the task is made and the same in every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import TOLERANCE, Task, View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.packages import MYO_SIM, package_file
from dualstep.model import Model

_FILE = "models/legacy/finger/myofinger_v0.xml"
TARGETS = 4096
# where targets may be [m]
BOX = np.array([[0.1, -0.1, 0.1], [0.27, 0.1, 0.3]])
NEAR, FAR = 0.0125, 0.35
# steps before an episode may end for the target's distance
PATIENCE = 2


def build(strength: float) -> Model:
    """The finger, with muscles of that share of their strength."""
    import mujoco

    compiled = mujoco.MjModel.from_xml_path(str(package_file("myo_sim", _FILE, MYO_SIM)))
    # of a muscle, MuJoCo's third parameter is its largest force, and where that is negative the fourth makes it
    for parameters in (compiled.actuator_gainprm, compiled.actuator_biasprm):
        parameters[:, 2:4] *= np.where(parameters[:, 2:4] > 0, strength, 1.0)
    model = Model.from_mujoco(compiled)
    model.opt.tolerance = TOLERANCE
    return model


def reachable(mj_model: Any, site: int, count: int) -> np.ndarray:
    """(count, 3) places of a site in configurations within the limits of the joints, of those in the box."""
    import mujoco

    rng, data = np.random.default_rng(0), mujoco.MjData(mj_model)
    low, high = mj_model.jnt_range.T
    found: list[np.ndarray] = []
    while len(found) < count:
        data.qpos[:] = rng.uniform(low, high)
        mujoco.mj_kinematics(mj_model, data)
        place = data.site_xpos[site].copy()
        if (place >= BOX[0]).all() and (place <= BOX[1]).all():
            found.append(place)
    return np.array(found)


class MyoReach(Task):
    """A finger of five muscles that brings its tip to a target, which may be anywhere it can reach.

    `strength`: of the muscles, as a share; MyoSuite's tired and aged ones have half. `target`: the place of all targets
    [m], in place of drawn ones; MyoSuite's `myoFingerReachFixed` has (0.2, 0.05, 0.2). `effort_weight`: of the mean
    activation, which MyoSuite does not pay for."""

    def __init__(
        self,
        frame_skip: int = 10,
        strength: float = 1.0,
        target: tuple[float, float, float] | None = None,
        reach_weight: float = 1.0,
        bonus_weight: float = 4.0,
        penalty_weight: float = 50.0,
        effort_weight: float = 0.0,
    ) -> None:
        if target is not None and np.shape(target) != (3,):
            raise ValueError(f"target {target!r} is given, and three numbers or None are wanted")
        super().__init__(build(strength), frame_skip)
        self.strength, self.target = strength, target
        self.reach_weight, self.bonus_weight, self.penalty_weight = reach_weight, bonus_weight, penalty_weight
        self.effort_weight = effort_weight
        self.check_options()
        m = self.model
        self.tip = m.id_of("site", "IFtip")
        if self.tip < 0:
            raise ImportError(f"the finger of myo-sim lacks the site IFtip, which version 0.2 has: {MYO_SIM}")
        self.targets = reachable(m.mj_model, self.tip, TARGETS) if target is None else np.array([target], float)
        self.memory = {"target": 3, "steps": 1}
        self.camera = {"lookat": (0.1, 0.0, 0.25), "distance": 0.8, "azimuth": 120.0, "elevation": -15.0}

    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        one = np.ones(self.model.nu, np.float32)
        return -one, one

    def control(self, s: View, action: Any) -> Any:
        # 0 is a muscle at rest, nearly
        return 1 / (1 + s.xp.exp(-5 * (s.xp.clip(action, -1, 1) - 0.5)))

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        chosen = s.arrays.real(draw.uniform(0, len(self.targets), 1)[:, 0], np.int64)
        s.keep("target", s.table(self.targets, float)[chosen])
        return {}

    def events(self, s: View, draw: Draws) -> dict[str, Any]:
        s.keep("steps", s.recall("steps") + 1)
        return {}

    def to_target(self, s: View) -> Any:
        return s.recall("target") - s.site_xpos[:, self.tip]

    def away(self, s: View) -> Any:
        return s.once("away", lambda: length(s.xp, self.to_target(s)))

    def observe(self, s: View) -> Any:
        parts = [s.qpos, self.dt * s.qvel, s.site_xpos[:, self.tip], self.to_target(s), s.act]
        return s.xp.concatenate(parts, axis=1)

    def terminated(self, s: View) -> Any:
        return (self.away(s) > FAR) & (s.recall("steps")[:, 0] >= PATIENCE)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        away = self.away(s)
        paid = {
            "reward_reach": -self.reach_weight * away,
            "reward_bonus": self.bonus_weight * (1.0 * (away < 2 * NEAR) + 1.0 * (away < NEAR)),
            "reward_penalty": -self.penalty_weight * self.terminated(s),
            "reward_effort": -self.effort_weight * s.act.mean(axis=1),
        }
        return sum(paid.values()), paid

    def info(self, s: View) -> dict[str, Any]:
        away = self.away(s)
        return {"reach_error": away, "success": s.arrays.real(away < NEAR, s.sim.dtype)}

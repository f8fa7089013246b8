"""HandReorient: a Shadow hand turns a cube in its palm to one orientation after another.

The hand is that of gymnasium-robotics (Plappert et al. 2018, "Multi-Goal Reinforcement Learning: Challenging Robotics
Environments and Request for Research"), looked for when the task is made, and the task that of OpenAI (2018, "Learning
Dexterous In-Hand Manipulation"): when the cube is as the goal says, within `reached` radians, the next goal is drawn;
where it falls the episode ends. The reward pays for getting nearer, as theirs, and for being near, as those of Isaac
Gym (Makoviychuk et al. 2021) and MuJoCo Playground (Zakka et al. 2025), whose observations these are too: a policy
sees noisy joints and a noisy cube, and a critic the truth.

An action moves the targets of the twenty actuators from where they were. Deviations from the published model: the
timestep is 5 ms in place of 2; touch sensors, the looks, the forearm's hull and the second cube, which showed the goal,
are not simulated. The goal stands beside the hand as a mocap body.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.randomize import Vary
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import length, squares
from dualstep.envs.tasks.packages import GYMNASIUM_ROBOTICS, package_file, without_looks
from dualstep.envs.tasks.rotations import about_vertical, angle, anyhow, columns, inverse, product
from dualstep.model import Model

_FILE = "envs/assets/hand/manipulate_block.xml"
GOALS = ("any", "vertical")
TIPS = [f"robot0:S_{finger}tip" for finger in ("ff", "mf", "rf", "lf", "th")]
# of the actuators' ranges, where episodes begin: a cup
CUP = 0.5
# from the palm, where the cube rests; where it has fallen [m]
OVER_PALM, FALLEN = np.array([0.0, -0.09, 0.03]), -0.06

# what the terms of the reward are multiplied with
WEIGHTS = {
    "nearer": 5.0, "near": 0.2, "place": 0.2, "reached": 5.0, "dropped": 20.0, "action_rate": 0.002, "effort": 0.01,
}  # fmt: skip
# of joints [rad], of the cube's place [m], of its orientation [of a quaternion]
NOISE = {"joint": 0.02, "place": 0.005, "orientation": 0.03}


def build() -> tuple[Model, Any]:
    """The hand with a cube, and the `mujoco.MjModel` of the same that has its looks too."""
    import mujoco

    scene = mujoco.MjSpec.from_file(str(package_file("gymnasium_robotics", _FILE, GYMNASIUM_ROBOTICS)))
    scene.delete(scene.body("target"))
    scene.delete(scene.geom("object_hidden"))
    for sensor in list(scene.sensors):
        scene.delete(sensor)
    # the joints have the same limits; a tendon that couples two is kept
    for tendon in [t for t in scene.tendons if not re.fullmatch(r".*J1c", t.name)]:
        scene.delete(tendon)
    goal = scene.worldbody.add_body(name="goal", mocap=True, pos=[1.12, 0.87, 0.2])
    shown = goal.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.025] * 3, contype=0, conaffinity=0)
    shown.material = "material:target"
    scene.option.timestep = 0.005
    scene.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return without_looks(scene, ["floor0"])


class HandReorient(Task):
    """A Shadow hand that turns a cube in its palm to one goal after another; episodes end where it falls.

    `goals`: "any" orientation, or "vertical", one that a turn about the vertical leads to. `reached`: within which a
    goal is reached [rad]. `action_scale`: of the actuators' half ranges, how far an action of 1 moves a target in a
    step. `noise`: whether a policy sees any."""

    camera = {"lookat": (1.02, 0.9, 0.17), "distance": 0.55, "azimuth": 60.0, "elevation": -35.0}
    randomization = (
        Vary("geom_friction", 0.7, 1.3, of="object", axes=(0,), when="start"),
        Vary("body_mass", 0.7, 1.3, of="object", when="start"),
    )

    def __init__(
        self,
        frame_skip: int = 8,
        goals: str = "any",
        reached: float = 0.4,
        action_scale: float = 0.2,
        noise: bool = True,
        nearer_weight: float = WEIGHTS["nearer"],
        near_weight: float = WEIGHTS["near"],
        place_weight: float = WEIGHTS["place"],
        reached_weight: float = WEIGHTS["reached"],
        dropped_weight: float = WEIGHTS["dropped"],
        action_rate_weight: float = WEIGHTS["action_rate"],
        effort_weight: float = WEIGHTS["effort"],
    ) -> None:
        if goals not in GOALS:
            raise ValueError(f"goals {goals!r} is given, and one of {', '.join(map(repr, GOALS))} is wanted")
        model, self.looks = build()
        super().__init__(model, frame_skip)
        self.goals, self.reached, self.action_scale, self.noisy = goals, reached, action_scale, noise
        self.nearer_weight, self.near_weight, self.place_weight = nearer_weight, near_weight, place_weight
        self.reached_weight, self.dropped_weight = reached_weight, dropped_weight
        self.action_rate_weight, self.effort_weight = action_rate_weight, effort_weight
        self.check_options()
        m = self.model
        self.low, self.high = np.asarray(m.actuator_ctrlrange, float).reshape(-1, 2).T.copy()
        self.half = (self.high - self.low) / 2
        self.cup = self.low + CUP * (self.high - self.low)
        # the joints of the hand, then the cube's; the last joint of a finger follows the one before it
        self.count, self.moved = m.njnt - 1, np.asarray(m.actuator_trnid)[:, 0]
        assert m.nq == self.count + 7 and m.name_of("joint", self.count) == "object:joint"
        self.stance = np.zeros(self.count)
        self.stance[self.moved] = self.cup
        for joint in range(self.count):
            if joint not in self.moved:
                self.stance[joint] = self.stance[joint - 1]
        self.place = np.asarray(m.body_pos)[m.id_of("body", "object")].copy()
        self.palm = m.id_of("body", "robot0:palm")
        self.tips = [m.id_of("site", name) for name in TIPS]
        if min(self.palm, *self.tips) < 0:
            raise ImportError(f"the hand of gymnasium-robotics lacks parts that version 1.4 has: {GYMNASIUM_ROBOTICS}")
        actions = len(self.low)
        self.memory = {
            "target": actions, "action": actions, "rate": actions, "goal": 4, "away": 1, "count": 1,
            "noise": self.count + 7,
        }  # fmt: skip
        self.noise_size = self.noisy * np.concatenate(
            [np.full(self.count, NOISE["joint"]), np.full(3, NOISE["place"]), np.full(4, NOISE["orientation"])]
        )

    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        one = np.ones(len(self.low), np.float32)
        return -one, one

    def control(self, s: View, action: Any) -> Any:
        action = s.xp.clip(action, -1, 1)
        s.keep("rate", action - s.recall("action"))
        s.keep("action", action)
        target = s.recall("target") + self.action_scale * s.table(self.half) * action
        target = s.xp.clip(target, s.table(self.low), s.table(self.high))
        s.keep("target", target)
        return target

    # episodes ----------------------------------------------------------------------------------------------

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        off = draw.uniform(-0.1, 0.1, len(self.cup)) * s.table(self.half, float)
        target = s.table(self.cup, float) + off
        joints = s.table(self.stance, float) + draw.uniform(-0.02, 0.02, self.count)
        place = s.table(self.place, float) + draw.uniform(-0.005, 0.005, 3)
        turn = anyhow(xp, draw) if self.goals == "any" else about_vertical(xp, draw.uniform(-math.pi, math.pi, 1))
        s.keep("target", target)
        s.keep("noise", self._noise(s, draw))
        goal = self._goal(s, draw)
        s.keep("goal", goal)
        s.keep("away", angle(xp, product(xp, turn, inverse(xp, goal)))[:, None])
        return {"qpos": xp.concatenate([joints, place, turn], axis=1), "mocap_quat": goal[:, None]}

    def _goal(self, s: View, draw: Draws) -> Any:
        xp = s.xp
        return anyhow(xp, draw) if self.goals == "any" else about_vertical(xp, draw.uniform(-math.pi, math.pi, 1))

    def _noise(self, s: View, draw: Draws) -> Any:
        return s.table(self.noise_size, float) * draw.normal(self.count + 7)

    def events(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        fresh = self._goal(s, draw)
        s.keep("noise", self._noise(s, draw))
        there = self.is_there(s)[:, None]
        s.keep("count", s.recall("count") + there)
        goal = xp.where(there, fresh, s.recall("goal"))
        s.keep("goal", goal)
        s.keep("away", angle(xp, product(xp, s.qpos[:, -4:], inverse(xp, s.recall("goal"))))[:, None])
        return {"mocap_quat": goal[:, None]}

    def away(self, s: View) -> Any:
        """(rows,) what is left to turn [rad]."""
        q = s.qpos[:, -4:]
        return angle(s.xp, product(s.xp, q, inverse(s.xp, s.recall("goal"))))

    def is_there(self, s: View) -> Any:
        return s.once("there", lambda: self.away(s) < self.reached)

    def terminated(self, s: View) -> Any:
        return self.to_palm(s)[:, 2] < FALLEN

    # what is seen ------------------------------------------------------------------------------------------

    def to_palm(self, s: View) -> Any:
        return s.qpos[:, -7:-4] - s.xpos[:, self.palm]

    def observe(self, s: View) -> Any:
        xp = s.xp
        noise, goal = s.recall("noise"), s.recall("goal")
        true = s.qpos[:, -4:]
        seen = true + noise[:, -4:]
        seen = seen / length(xp, seen)[:, None]
        joints = s.qpos[:, : self.count]
        shown = s.recall("target"), s.recall("action")
        policy = [
            joints + noise[:, : self.count] - s.table(self.stance), self.to_palm(s) + noise[:, -7:-4],
            columns(xp, seen), columns(xp, product(xp, seen, inverse(xp, goal))), *shown,
        ]  # fmt: skip
        tips = s.site_xpos[:, self.tips] - s.qpos[:, None, -7:-4]
        critic = [
            joints - s.table(self.stance), self.to_palm(s), columns(xp, true),
            columns(xp, product(xp, true, inverse(xp, goal))), *shown, 0.1 * s.qvel,
            tips.reshape(-1, 3 * len(self.tips)),
        ]  # fmt: skip
        return {"policy": xp.concatenate(policy, axis=1), "critic": xp.concatenate(critic, axis=1)}

    # what it is worth --------------------------------------------------------------------------------------

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp = s.xp
        away = self.away(s)
        off = length(xp, self.to_palm(s) - s.table(OVER_PALM))
        paid = {
            "reward_nearer": self.nearer_weight * (s.recall("away")[:, 0] - away),
            "reward_near": self.near_weight * (1 - away / math.pi),
            "reward_place": -self.place_weight * xp.clip(off - 0.03, 0, None) / 0.05,
            "reward_reached": self.reached_weight * self.is_there(s),
            "reward_dropped": -self.dropped_weight * self.terminated(s),
            "reward_action_rate": -self.action_rate_weight * squares(xp, s.recall("rate")),
            "reward_effort": -self.effort_weight * squares(xp, s.actuator_force),
        }
        return sum(paid.values()), paid

    def info(self, s: View) -> dict[str, Any]:
        return {"rotation_error": self.away(s), "goals_reached": s.recall("count")[:, 0]}

"""Dog: a body of 73 joints and 38 actuators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.rotations import about_vertical
from dualstep.envs.tasks.suite.common import (
    SuiteTask, compiled, cross, every_row, flat, named, place, read, rotation, row_z, tolerance, with_sensors, within,
    without,
)  # fmt: skip

UPRIGHT = math.cos(math.radians(30))
STANDING = 0.9
"""of the heights of torso and pelvis in the model's own pose"""


class Stand(SuiteTask):
    """dm_control dog-stand: paid for the heights of torso and pelvis, for being upright, and for weight on the paws."""

    felt = ("accelerometer", "foot_L", "foot_R", "hand_L", "hand_R", "palm_L", "palm_R", "sole_L", "sole_R")
    sensors = ("velocimeter", "gyro", "torso_linvel")
    speed = 0.0
    """m/s that is paid for in full"""

    ball = False

    def __init__(self) -> None:
        import mujoco

        side = 10 if self.ball else 15 * (self.speed or 1)
        root = read("dog.xml")
        named(root, "geom", "floor").set("size", f"{side:g} {side:g} .1")
        if not self.ball:
            without(root, "body", ["ball"])
            without(root, "geom", ["target", "wall_px", "wall_nx", "wall_py", "wall_ny"])
            without(root, "camera", ["ball", "head"])
        for option in root.findall("option"):
            # there are none here
            option.attrib.pop("noslip_iterations", None)
        with_sensors(root, (*self.felt, *self.sensors))
        super().__init__(compiled(root, "dog_assets"), 0.015)
        m = self.model
        self.skull, self.torso, self.pelvis = self.ids("body", "skull", "torso", "pelvis")
        self.hinge_qpos, self.hinge_qvel = self.hinges()
        data = mujoco.MjData(m.mj_model)
        mujoco.mj_forward(m.mj_model, data)
        self.heights = [STANDING * float(data.xpos[body][2]) for body in (self.torso, self.pelvis)]
        self.weight = -float(m.mj_model.opt.gravity[2]) * float(m.mj_model.body_subtreemass[self.torso])
        self.low, self.high = np.array(m.actuator_ctrlrange, float).T.copy()
        self.memory = {**self.memory, "first": len(self._felt)}

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp, m = s.xp, self.model
        half, push = draw.uniform(0, math.pi, 1), 2 * draw.normal(3)
        start = s.constant("qpos0")[None] + 0 * half
        turn = about_vertical(xp, 2 * half)
        rest = 0 * half + xp.zeros_like(start[:, 6 : m.nv])
        state = {
            "qpos": xp.concatenate([start[:, :3], turn, start[:, 7:]], axis=1),
            "qvel": xp.concatenate([push[:, :2], 0 * push, push[:, 2:], rest], axis=1),
        }
        self.throw(s, draw, state)
        low, high = (s.table(bound, float) for bound in (self.low, self.high))
        # what is felt first is felt without actuators
        place(s, state, every_row(half))
        s.keep("first", s._of(s.sim.sensordata)[:, self._felt])
        return {**state, "act": draw.uniform(low, high, m.na)}

    def throw(self, s: View, draw: Draws, state: dict[str, Any]) -> None:
        """Where there is a ball, how it begins."""

    def feels(self, s: View) -> Any:
        if s.fresh is None:
            return s.recall("felt")
        return s.xp.where(s.fresh[:, None], s.recall("first"), s.recall("felt"))

    def velocity(self, s: View) -> Any:
        """(rows, 3) of the centre of mass, in the torso's axes."""
        axes = rotation(s.xp, s.xquat[:, self.torso])
        return within(s.xp, axes, self.sensed(s, "torso_linvel")[:, None])[:, 0]

    def frames(self, s: View) -> Any:
        """(rows, 3, 3) heights of the axes of skull, torso and pelvis."""
        return row_z(s.xp, s.xquat[:, [self.skull, self.torso, self.pelvis]])

    def observe(self, s: View) -> Any:
        felt = self.feels(s)
        parts = [
            s.qpos[:, self.hinge_qpos], s.qvel[:, self.hinge_qvel], s.xpos[:, [self.torso, self.pelvis], 2],
            flat(self.frames(s)), self.velocity(s), felt[:, :3], self.sensed(s, "velocimeter"),
            self.sensed(s, "gyro"), felt[:, 3:15], felt[:, 15:], s.act,
        ]  # fmt: skip
        return s.xp.concatenate(parts, axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp, frames = s.xp, self.frames(s)
        touch = self.feels(s)[:, 15:].sum(axis=1)
        up = tolerance(xp, frames[:, :, 2], UPRIGHT, math.inf, 1 + UPRIGHT, 0, "linear")
        terms = {
            name: tolerance(xp, s.xpos[:, body, 2], height, math.inf, height)
            for name, body, height in zip(("torso", "pelvis"), (self.torso, self.pelvis), self.heights, strict=True)
        }
        terms["upright"] = up[:, 0] * up[:, 1] * up[:, 2]
        terms["touch"] = tolerance(xp, touch, self.weight, math.inf, self.weight, 0.9, "linear")
        if self.speed:
            margin = max(1.0, self.speed)
            moving = tolerance(xp, self.velocity(s)[:, 0], self.speed, 2 * self.speed, margin, 0, "linear")
            terms["moving"] = (4 * moving + 1) / 5
        terms.update(self.more(s))
        return math.prod(terms.values()), terms

    def more(self, s: View) -> dict[str, Any]:
        """Further factors of the reward."""
        return {}


class Walk(Stand):
    """dm_control dog-walk: paid for standing and for going forwards at 1 m/s."""

    speed = 1.0


class Trot(Stand):
    """dm_control dog-trot: paid for standing and for going forwards at 3 m/s."""

    speed = 3.0


class Run(Stand):
    """dm_control dog-run: paid for standing and for going forwards at 9 m/s."""

    speed = 9.0


class Fetch(Stand):
    """dm_control dog-fetch: paid for standing, for having its mouth at a ball, and for bringing that to the middle."""

    ball = True

    def __init__(self) -> None:
        super().__init__()
        m = self.model
        floor, self.ball_geom, self.target = self.ids("geom", "floor", "ball", "target")
        self.head, self.upper, self.lower = self.ids("site", "head", "upper_bite", "lower_bite")
        self.head_body, self.ball_body = int(m.site_bodyid[self.head]), self.ids("body", "ball")[0]
        self.root = int(m.body_rootid[self.head_body])
        self.ball_qpos, self.ball_qvel = self.qpos_of("ball_root")[0], self.qvel_of("ball_root")[0]
        self.arena = float(m.geom_size[floor][0])
        self.bite, self.radius = float(m.site_size[self.upper][0]), float(m.geom_size[self.target][0])
        self.gravity = -float(m.mj_model.opt.gravity[2])

    def throw(self, s: View, draw: Draws, state: dict[str, Any]) -> None:
        """From a place on a circle, up and towards the middle."""
        xp, at, dof = s.xp, self.ball_qpos, self.ball_qvel
        angle, up, speed = draw.uniform(0, 2 * math.pi, 1), draw.uniform(0, 3, 1), draw.uniform(0, 5, 1)
        direction = xp.concatenate([xp.sin(angle), xp.cos(angle)], axis=1)
        where = xp.concatenate([0.75 * self.arena * direction, 0.05 + 0 * angle], axis=1)
        # as high as its kinetic energy
        rise = xp.sqrt(2 * self.gravity * up)
        velocity = xp.concatenate([speed * (0.05 * draw.normal(2) - direction), rise], axis=1)
        qpos, qvel = state["qpos"], state["qvel"]
        state["qpos"] = xp.concatenate([qpos[:, :at], where, qpos[:, at + 3 :]], axis=1)
        state["qvel"] = xp.concatenate([qvel[:, :dof], velocity, qvel[:, dof + 3 :]], axis=1)

    def velocity_at(self, s: View, body: int, root: int, point: Any) -> Any:
        """(rows, 3) of a point of a body, in the world's axes."""
        spin, linear = s.cvel[:, body, :3], s.cvel[:, body, 3:]
        return linear + cross(spin, point - s.subtree_com[:, root])

    def to_target(self, s: View) -> Any:
        return length(s.xp, s.geom_xpos[:, self.ball_geom] - s.geom_xpos[:, self.target])

    def observe(self, s: View) -> Any:
        xp, head, ball = s.xp, s.site_xpos[:, self.head], s.geom_xpos[:, self.ball_geom]
        of_ball = self.velocity_at(s, self.ball_body, self.ball_body, ball)
        relative = of_ball - self.velocity_at(s, self.head_body, self.root, head)
        axes = s.site_xmat[:, self.head].reshape(-1, 3, 3)
        vectors = xp.stack([ball - head, relative, s.geom_xpos[:, self.target] - head], axis=1)
        return xp.concatenate([super().observe(s), flat(within(xp, axes, vectors))], axis=1)

    def more(self, s: View) -> dict[str, Any]:
        xp, ball, to_target = s.xp, s.geom_xpos[:, self.ball_geom], self.to_target(s)
        bites = [length(xp, ball - s.site_xpos[:, site]) for site in (self.upper, self.lower)]
        reach = (6 * tolerance(xp, (bites[0] + bites[1]) / 2, 0, self.bite, 2, shape="reciprocal") + 1) / 7
        there = tolerance(xp, to_target, 0, self.radius, self.arena, shape="reciprocal")
        # where it has brought the ball it may let go of it
        let_go = to_target < 2 * self.radius
        return {"reach": xp.where(let_go, xp.ones_like(reach), reach), "fetch": (there + 1) / 2}

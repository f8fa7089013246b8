"""Quadruped: a body on four legs of three actuators each."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.rotations import about_vertical
from dualstep.envs.tasks.suite.common import (
    SuiteTask, compiled, every_row, flat, named, read, rotation, tolerance, touching, unit, upright, with_sensors,
    within, without,
)  # fmt: skip

FEET = ("front_left", "front_right", "back_right", "back_left")
STEPS_UP = 1000
"""of a centimetre, until it touches nothing"""


class Quadruped(SuiteTask):
    felt = ("imu_accel", *(f"force_toe_{foot}" for foot in FEET), *(f"torque_toe_{foot}" for foot in FEET))
    sensors = ("imu_gyro", "velocimeter")
    floor: float | None = None
    """m: half of its side, where it is not the model's"""
    ball = False

    def __init__(self) -> None:
        root = read("quadruped.xml")
        if self.floor is not None:
            named(root, "geom", "floor").set("size", f"{self.floor} {self.floor} .5")
        without(root, "geom", ["terrain"])
        if not self.ball:
            without(root, "geom", ["wall_px", "wall_py", "wall_nx", "wall_ny"])
            without(root, "body", ["ball"])
            without(root, "site", ["target"])
        with_sensors(root, (*self.felt, *self.sensors))
        super().__init__(compiled(root), 0.02)
        self.torso = self.ids("body", "torso")[0]
        self.hinge_qpos, self.hinge_qvel = self.hinges()

    def lifted(self, s: View, place: Any, quat: Any) -> Any:
        """(rows, nq) the lowest of heights of whole centimetres in which nothing touches."""
        xp = s.xp
        rest = s.constant("qpos0")[None, 7:] + 0 * quat[:, :1]

        def at(height: Any) -> Any:
            return xp.concatenate([place, height, quat, rest], axis=1)

        height = 0 * quat[:, :1]
        again = touching(s, {"qpos": at(height)}, every_row(quat))
        for _ in range(STEPS_UP):
            if not bool(again.any()):
                return at(height)
            height = xp.where(again[:, None], height + 0.01, height)
            again = touching(s, {"qpos": at(height)}, again)
        raise RuntimeError(f"a quadruped touches something at all heights up to {STEPS_UP // 100} m")

    def axes(self, s: View) -> Any:
        return s.once("axes", lambda: rotation(s.xp, s.xquat[:, self.torso]))

    def observe(self, s: View) -> Any:
        felt = self.feels(s)
        parts = [
            s.qpos[:, self.hinge_qpos], s.qvel[:, self.hinge_qvel], s.act, self.sensed(s, "velocimeter"),
            upright(s.xquat[:, self.torso])[:, None], felt[:, :3], self.sensed(s, "imu_gyro"),
            s.xp.arcsinh(felt[:, 3:]),
        ]  # fmt: skip
        return s.xp.concatenate(parts, axis=1)

    def up(self, s: View) -> Any:
        return tolerance(s.xp, upright(s.xquat[:, self.torso]), 1, math.inf, 2, 0, "linear")


class Walk(Quadruped):
    """dm_control quadruped-walk: paid for being upright and for going forwards at 0.5 m/s or more."""

    floor = 10.0
    speed = 0.5

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        quat = unit(s.xp, draw.normal(4))
        return {"qpos": self.lifted(s, 0 * quat[:, :2], quat)}

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        up, speed = self.up(s), self.sensed(s, "velocimeter")[:, 0]
        moving = tolerance(s.xp, speed, self.speed, math.inf, self.speed, 0.5, "linear")
        return up * moving, {"upright": up, "speed": speed}


class Run(Walk):
    """dm_control quadruped-run: paid for being upright and for going forwards at 5 m/s or more."""

    floor = 100.0
    speed = 5.0


class Fetch(Quadruped):
    """dm_control quadruped-fetch: paid for coming to a ball, and more for bringing it to the middle."""

    ball = True

    def __init__(self) -> None:
        super().__init__()
        m = self.model
        floor, ball = self.ids("geom", "floor", "ball")
        self.workspace, self.target = self.ids("site", "workspace", "target")
        self.ball_body = self.ids("body", "ball")[0]
        self.ball_qpos, self.ball_qvel = self.qpos_of("ball_root")[0], self.qvel_of("ball_root")[0]
        self.spawn = 0.9 * float(m.geom_size[floor][0])
        self.arena = float(m.geom_size[floor][0]) * 2**0.5
        self.near_ball = float(m.site_size[self.workspace][0] + m.geom_size[ball][0])
        self.near_target = float(m.site_size[self.target][0])

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp, at, dof = s.xp, self.ball_qpos, self.ball_qvel
        half = draw.uniform(0, math.pi, 1)
        quat = about_vertical(xp, 2 * half)
        places = draw.uniform(-self.spawn, self.spawn, 4)
        qpos = self.lifted(s, places[:, :2], quat)
        qpos = xp.concatenate([qpos[:, :at], places[:, 2:], 2 + 0 * half, qpos[:, at + 3 :]], axis=1)
        rest = 0 * half + xp.zeros_like(s.constant("qpos0")[None, : self.model.nv])
        qvel = xp.concatenate([rest[:, :dof], 5 * draw.normal(2), rest[:, dof + 2 :]], axis=1)
        return {"qpos": qpos, "qvel": qvel}

    def observe(self, s: View) -> Any:
        xp, dof, torso = s.xp, self.ball_qvel, s.xpos[:, self.torso]
        ball = xp.stack(
            [
                s.xpos[:, self.ball_body] - torso,
                s.qvel[:, dof : dof + 3] - s.qvel[:, :3],
                s.qvel[:, dof + 3 : dof + 6],
                s.site_xpos[:, self.target] - torso,
            ],
            axis=1,
        )
        return xp.concatenate([super().observe(s), flat(within(xp, self.axes(s), ball))], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp, ball = s.xp, s.xpos[:, self.ball_body, :2]
        to_ball = length(xp, s.site_xpos[:, self.workspace, :2] - ball)
        to_target = length(xp, s.site_xpos[:, self.target, :2] - ball)
        reach = tolerance(xp, to_ball, 0, self.near_ball, self.arena, 0, "linear")
        fetch = tolerance(xp, to_target, 0, self.near_target, self.arena, 0, "linear")
        up = self.up(s)
        return up * reach * (0.5 + 0.5 * fetch), {"upright": up, "reach": reach, "fetch": fetch}

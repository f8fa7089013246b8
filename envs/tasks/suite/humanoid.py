"""Humanoid: a body of 21 joints."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.suite.common import (
    SuiteTask, anywhere, apart, compiled, flat, joint_bounds, read, rotation, row_z, small_control, tolerance,
    with_sensors, within,
)  # fmt: skip


class Stand(SuiteTask):
    """dm_control humanoid-stand: paid for the height of the head, for being upright and still, with small controls."""

    file, step = "humanoid.xml", 0.025
    torso = "torso"
    sensors = ("torso_subtreelinvel",)
    limbs = ("left_hand", "left_foot", "right_hand", "right_foot")
    up = 2
    """which of the torso's axes points up"""
    speed = 0.0
    """m/s that is paid for in full"""
    pure_state = False

    def __init__(self) -> None:
        root = read(self.file)
        with_sensors(root, self.sensors)
        super().__init__(compiled(root), self.step)
        self.middle, self.head, *self.ends = self.ids("body", self.torso, "head", *self.limbs)
        self.bounds = joint_bounds(self.model)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return apart(s, lambda: {"qpos": anywhere(s, draw, self.bounds, (3,))})

    def observe(self, s: View) -> Any:
        if self.pure_state:
            return s.xp.concatenate([s.qpos, s.qvel], axis=1)
        place, quat = s.xpos[:, [self.middle]], s.xquat[:, self.middle]
        ends = within(s.xp, rotation(s.xp, quat), s.xpos[:, self.ends] - place)
        parts = [
            s.qpos[:, 7:], s.xpos[:, self.head, 2:], flat(ends), row_z(s.xp, quat), self.sensed(s, self.sensors[0]),
            s.qvel,
        ]  # fmt: skip
        return s.xp.concatenate(parts, axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp, velocity = s.xp, self.sensed(s, self.sensors[0])[:, :2]
        terms = {
            "standing": tolerance(xp, s.xpos[:, self.head, 2], 1.4, math.inf, 0.35),
            "upright": tolerance(xp, row_z(xp, s.xquat[:, self.middle])[:, self.up], 0.9, math.inf, 1.9, 0, "linear"),
            "small_control": small_control(s),
        }
        if self.speed:
            moving = tolerance(xp, length(xp, velocity), self.speed, math.inf, self.speed, 0, "linear")
            terms["moving"] = (5 * moving + 1) / 6
        else:
            terms["still"] = tolerance(xp, velocity, margin=2).mean(axis=1)
        return math.prod(terms.values()), terms


class Walk(Stand):
    """dm_control humanoid-walk: paid for standing and for going at 1 m/s or more."""

    speed = 1.0


class Run(Stand):
    """dm_control humanoid-run: paid for standing and for going at 10 m/s or more."""

    speed = 10.0


class RunPureState(Run):
    """dm_control humanoid-run_pure_state: the same, seen as positions and velocities of the joints."""

    pure_state = True

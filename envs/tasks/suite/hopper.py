"""Hopper: a planar body on one leg."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import (
    SuiteTask, anywhere, compiled, joint_bounds, read, small_control, tolerance,
)  # fmt: skip


class Stand(SuiteTask):
    """dm_control hopper-stand: paid for standing, with small controls."""

    felt = ("touch_toe", "touch_heel")
    sensors: tuple[str, ...] = ("torso_subtreelinvel",)

    def __init__(self) -> None:
        super().__init__(compiled(read("hopper.xml")), 0.02)
        self.torso, self.foot = self.ids("body", "torso", "foot")
        self.bounds = joint_bounds(self.model)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return {"qpos": anywhere(s, draw, self.bounds)}

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos[:, 1:], s.qvel, s.xp.log1p(self.feels(s))], axis=1)

    def standing(self, s: View) -> Any:
        height = s.xipos[:, self.torso, 2] - s.xipos[:, self.foot, 2]
        return tolerance(s.xp, height, 0.6, 2)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        standing, small = self.standing(s), small_control(s)
        return standing * small, {"standing": standing, "small_control": small}


class Hop(Stand):
    """dm_control hopper-hop: paid for standing and for going at 2 m/s or more."""

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        standing, speed = self.standing(s), self.sensed(s, "torso_subtreelinvel")[:, 0]
        hopping = tolerance(s.xp, speed, 2, math.inf, 1, 0.5, "linear")
        return standing * hopping, {"standing": standing, "speed": speed}

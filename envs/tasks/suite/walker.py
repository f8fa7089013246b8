"""Walker: a planar body on two legs."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import (
    SuiteTask, anywhere, compiled, flat, joint_bounds, read, tolerance, upright,
)  # fmt: skip


class Stand(SuiteTask):
    """dm_control walker-stand: paid for the height of the torso and for holding it upright."""

    sensors = ("torso_subtreelinvel",)
    speed = 0.0
    """m/s that is paid for in full"""

    def __init__(self) -> None:
        super().__init__(compiled(read("walker.xml")), 0.025)
        self.torso = self.ids("body", "torso")[0]
        self.bounds = joint_bounds(self.model)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return {"qpos": anywhere(s, draw, self.bounds)}

    def observe(self, s: View) -> Any:
        w, x, y, z = (s.xquat[:, 1:, i] for i in range(4))
        # of each body, how far its x axis points along the world's, and its z axis
        turns = s.xp.stack([1 - 2 * (y * y + z * z), 2 * (x * z + w * y)], axis=-1)
        return s.xp.concatenate([flat(turns), s.xpos[:, self.torso, 2:], s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        standing = tolerance(s.xp, s.xpos[:, self.torso, 2], 1.2, math.inf, 0.6)
        up = (1 + upright(s.xquat[:, self.torso])) / 2
        stand = (3 * standing + up) / 4
        terms = {"standing": standing, "upright": up}
        if not self.speed:
            return stand, terms
        forwards = self.sensed(s, "torso_subtreelinvel")[:, 0]
        moving = tolerance(s.xp, forwards, self.speed, math.inf, self.speed / 2, 0.5, "linear")
        return stand * (5 * moving + 1) / 6, {**terms, "speed": forwards}


class Walk(Stand):
    """dm_control walker-walk: paid for standing and for going at 1 m/s or more."""

    speed = 1.0


class Run(Stand):
    """dm_control walker-run: paid for standing and for going at 8 m/s or more."""

    speed = 8.0

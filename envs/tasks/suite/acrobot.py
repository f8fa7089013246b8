"""Acrobot: two links that hang, with a motor between them alone."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import SuiteTask, compiled, read, tolerance


class Swingup(SuiteTask):
    """dm_control acrobot-swingup: paid for bringing the tip to a target above."""

    derived = anew = False
    margin = 1.0

    def __init__(self) -> None:
        super().__init__(compiled(read("acrobot.xml")))
        tip, target = self.ids("site", "tip", "target")
        shoulder, elbow = self.ids("body", "upper_arm", "lower_arm")
        m = self.model
        # both links stand along z where their joints are 0
        self.lengths = float(m.body_pos[elbow][2]), float(m.site_pos[tip][2])
        self.target = float(m.site_pos[target][2] - m.body_pos[shoulder][2])
        self.radius = float(m.site_size[target][0])

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return {"qpos": draw.uniform(-math.pi, math.pi, 2)}

    def angles(self, s: View) -> Any:
        """(rows, 2) of each link from upright."""
        return s.xp.cumsum(s.qpos, axis=1)

    def observe(self, s: View) -> Any:
        angles = self.angles(s)
        return s.xp.concatenate([s.xp.sin(angles), s.xp.cos(angles), s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp, angles, (first, second) = s.xp, self.angles(s), self.lengths
        along = first * xp.sin(angles[:, 0]) + second * xp.sin(angles[:, 1])
        up = first * xp.cos(angles[:, 0]) + second * xp.cos(angles[:, 1]) - self.target
        away = xp.sqrt(along * along + up * up)
        return tolerance(xp, away, 0, self.radius, self.margin), {"distance": away}


class SwingupSparse(Swingup):
    """dm_control acrobot-swingup_sparse: the same, paid within the target alone."""

    margin = 0.0

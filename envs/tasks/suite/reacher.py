"""Reacher: a planar arm of two links that brings its finger to a target."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.suite.common import (
    SuiteTask, anywhere, compiled, joint_bounds, movable, named, read, tolerance,
)  # fmt: skip


class Reacher(SuiteTask):
    derived = anew = False
    size = 0.05
    """m: radius of the target"""

    def __init__(self) -> None:
        root = read("reacher.xml")
        named(root, "geom", "target").set("size", str(self.size))
        movable(root, "geom", "target")
        super().__init__(compiled(root))
        hand, finger = self.ids("body", "hand", "finger")
        # links along x where joints are 0
        self.lengths = float(self.model.body_pos[hand][0]), float(self.model.body_pos[finger][0])
        self.reach = float(self.model.geom_size[self.ids("geom", "finger")[0]][0]) + self.size
        self.bounds = joint_bounds(self.model)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp, qpos = s.xp, anywhere(s, draw, self.bounds)
        angle, radius = draw.uniform(0, 2 * math.pi, 1), draw.uniform(0.05, 0.2, 1)
        height = s.mocap_pos[:, 0, 2:] + 0 * radius
        target = xp.concatenate([radius * xp.sin(angle), radius * xp.cos(angle), height], axis=1)
        return {"qpos": qpos, "mocap_pos": target[:, None]}

    def to_target(self, s: View) -> Any:
        xp, (first, second) = s.xp, self.lengths
        shoulder, wrist = s.qpos[:, 0], s.qpos[:, 0] + s.qpos[:, 1]
        x = first * xp.cos(shoulder) + second * xp.cos(wrist)
        y = first * xp.sin(shoulder) + second * xp.sin(wrist)
        return s.mocap_pos[:, 0, :2] - xp.stack([x, y], axis=-1)

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos, self.to_target(s), s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        away = length(s.xp, self.to_target(s))
        return tolerance(s.xp, away, 0, self.reach), {"distance": away}


class Easy(Reacher):
    """dm_control reacher-easy: paid while the finger is on a target of 5 cm."""


class Hard(Reacher):
    """dm_control reacher-hard: paid while the finger is on a target of 1.5 cm."""

    size = 0.015

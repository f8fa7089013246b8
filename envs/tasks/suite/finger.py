"""Finger: two links that turn a body on a hinge, by touching it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.suite.common import (
    SuiteTask, anywhere, apart, compiled, joint_bounds, movable, named, read, with_sensors,
)  # fmt: skip


class Finger(SuiteTask):
    felt = ("touchtop", "touchbottom")
    anew = False
    damping: float | None = None
    """of the hinge, where the task has another than the model"""
    size: float | None = None
    """m: radius of a target, where there is one"""

    def __init__(self) -> None:
        root = read("finger.xml")
        with_sensors(root, self.felt)
        if self.damping is not None:
            named(root, "joint", "hinge").set("damping", str(self.damping))
        if self.size is not None:
            named(root, "site", "target").set("size", str(self.size))
        movable(root, "site", "target")
        super().__init__(compiled(root), 0.02)
        m = self.model
        self.spinner = np.array(m.body_pos[self.ids("body", "spinner")[0]])
        # the tip stands along z where the hinge is 0
        self.tip_height = float(m.site_pos[self.ids("site", "tip")[0]][2])
        self.target_height = float(m.geom_size[self.ids("geom", "cap1")[0]].sum())
        self.bounds = joint_bounds(m)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return apart(s, lambda: {"qpos": anywhere(s, draw, self.bounds)})

    def tip(self, s: View) -> Any:
        """(rows, 2) along x and z from the hinge, which turns about -y."""
        turned = s.qpos[:, 2]
        return self.tip_height * s.xp.stack([-s.xp.sin(turned), s.xp.cos(turned)], axis=-1)

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos[:, :2], self.tip(s), s.qvel, s.xp.log1p(self.feels(s))], axis=1)


class Spin(Finger):
    """dm_control finger-spin: paid while the body turns by 15 rad/s or more."""

    damping = 0.03

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        return 1.0 * (s.qvel[:, 2] <= -15), {}


class TurnEasy(Finger):
    """dm_control finger-turn_easy: paid while the body's tip is within 7 cm of where an episode wants it."""

    size = 0.07

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        angle = draw.uniform(-math.pi, math.pi, 1)
        parts = [s.xp.sin(angle), 0 * angle, s.xp.cos(angle)]
        target = self.target_height * s.xp.concatenate(parts, axis=1) + s.table(self.spinner, float)
        return {**super().reset(s, draw), "mocap_pos": target[:, None]}

    def target(self, s: View) -> Any:
        """(rows, 2) along x and z from the hinge."""
        away = s.mocap_pos[:, 0] - s.table(self.spinner)
        return s.xp.stack([away[:, 0], away[:, 2]], axis=-1)

    def distance(self, s: View) -> Any:
        assert self.size is not None
        return length(s.xp, self.target(s) - self.tip(s)) - self.size

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([super().observe(s), self.target(s), self.distance(s)[:, None]], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        distance = self.distance(s)
        return 1.0 * (distance <= 0), {"distance": distance}


class TurnHard(TurnEasy):
    """dm_control finger-turn_hard: the same, within 3 cm."""

    size = 0.03

"""Stacker: a planar arm that stacks boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import apart, compiled, named, read, tolerance, without
from dualstep.envs.tasks.suite.planar_arm import PlanarArm

BOXES = 4


class Stack2(PlanarArm):
    """dm_control stacker-stack_2: two boxes, paid for one at a target, and for letting go of it."""

    boxes = 2

    def __init__(self, fully_observable: bool = True) -> None:
        self.fully_observable = fully_observable
        root = read("stacker.xml")
        without(root, "body", [f"box{i}" for i in range(self.boxes, BOXES)])
        named(root, "body", "target").set("mocap", "true")
        names = [f"box{i}" for i in range(self.boxes)]
        super().__init__(compiled(root), [f"{name}_{axis}" for name in names for axis in "xyz"])
        self.bodies = self.ids("body", *names)
        self.target, self.grasp, *self.sites = self.ids("site", "target", "grasp", *names)
        self.size = float(self.model.geom_size[self.ids("geom", "target")[0]][0])
        # x, z and y of each box, as they stand in the model
        self.box_low = np.tile([0.1, 0.0, 0.0], self.boxes)
        self.box_high = np.tile([0.3, 0.7, 2 * math.pi], self.boxes)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp, n = s.xp, self.boxes

        def one() -> dict[str, Any]:
            arm, target = self.arm(s, draw), draw.uniform(0, 1, 2)
            height = self.size * (2 * xp.floor(n * target[:, :1]) + 1)
            across = 0.74 * target[:, 1:] - 0.37
            things = draw.uniform(s.table(self.box_low, float), s.table(self.box_high, float), 3 * n)
            where = xp.concatenate([across, s.mocap_pos[:, 0, 1:2] + 0 * across, height], axis=1)
            return {"qpos": self.configuration(s, arm, things), "mocap_pos": where[:, None]}

        return apart(s, one)

    def observe(self, s: View) -> Any:
        parts = self.observe_arm(s)
        if self.fully_observable:
            where = s.mocap_pos[:, 0]
            parts += [
                self.poses(s, [self.hand]), self.poses(s, self.bodies), s.qvel[:, self.thing_dofs], where[:, :1],
                where[:, 2:],
            ]  # fmt: skip
        return s.xp.concatenate(parts, axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        away = s.xp.stack([self.distance(s, site, self.target) for site in self.sites], axis=-1)
        close = tolerance(s.xp, s.xp.amin(away, axis=1), margin=2 * self.size)
        let_go = tolerance(s.xp, self.distance(s, self.grasp, self.target), 0.1, math.inf, 0.01)
        return close * let_go, {"close": close, "let_go": let_go}


class Stack4(Stack2):
    """dm_control stacker-stack_4: the same with four boxes."""

    boxes = 4

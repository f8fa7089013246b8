"""Fish: a body with a tail and two fins in a medium."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.suite.common import (
    SuiteTask, compiled, movable, read, rotation, tolerance, unit, upright, with_sensors, within,
)  # fmt: skip

# m: where targets are
LEAST, MOST = np.array([-0.4, -0.4, 0.1]), np.array([0.4, 0.4, 0.3])


class Fish(SuiteTask):
    derived = anew = False

    def __init__(self) -> None:
        root = read("fish.xml")
        with_sensors(root, ())
        movable(root, "geom", "target")
        super().__init__(compiled(root), 0.04)
        m = self.model
        mouth, target = self.ids("geom", "mouth", "target")
        self.mouth = np.array(m.geom_pos[mouth])
        self.mouth_axes = np.asarray(rotation(np, np.array(m.geom_quat[mouth])))
        self.reach = float(m.geom_size[mouth][0] + m.geom_size[target][0])

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        quat, joints = unit(s.xp, draw.normal(4)), draw.uniform(-0.2, 0.2, self.model.nq - 7)
        place = s.constant("qpos0")[None, :3] + 0 * joints[:, :1]
        return {"qpos": s.xp.concatenate([place, quat, joints], axis=1)}

    def up(self, s: View) -> Any:
        return upright(s.qpos[:, 3:7])


class Upright(Fish):
    """dm_control fish-upright: paid for holding itself upright."""

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos[:, 7:], self.up(s)[:, None], s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        return tolerance(s.xp, self.up(s), 1, 1, 1), {}


class Swim(Fish):
    """dm_control fish-swim: paid for having its mouth at a target, and for being upright."""

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        low, high = (s.table(bound, float) for bound in (LEAST, MOST))
        return {**super().reset(s, draw), "mocap_pos": draw.uniform(low, high, 3)[:, None]}

    def to_target(self, s: View) -> Any:
        """(rows, 3) from the mouth, in its axes."""
        away = (s.mocap_pos[:, 0] - s.qpos[:, :3])[:, None]
        away = within(s.xp, rotation(s.xp, s.qpos[:, 3:7]), away)[:, 0] - s.table(self.mouth)
        return away @ s.table(self.mouth_axes)

    def observe(self, s: View) -> Any:
        parts = [s.qpos[:, 7:], self.up(s)[:, None], self.to_target(s), s.qvel]
        return s.xp.concatenate(parts, axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        away, up = length(s.xp, self.to_target(s)), (self.up(s) + 1) / 2
        there = tolerance(s.xp, away, 0, self.reach, 2 * self.reach)
        return (7 * there + up) / 8, {"distance": away, "upright": up}

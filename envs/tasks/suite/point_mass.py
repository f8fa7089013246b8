"""Point mass: a ball in a plane that two motors bring to the middle."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.suite.common import (
    SuiteTask, anywhere, compiled, joint_bounds, named, read, small_control, tolerance, unit,
)  # fmt: skip


class Easy(SuiteTask):
    """dm_control point_mass-easy: motors along x and y, paid for coming to the middle."""

    derived = anew = False

    def __init__(self) -> None:
        super().__init__(compiled(self.changed(read("point_mass.xml"))))
        target = self.ids("geom", "target")[0]
        self.target = np.array(self.model.geom_pos[target][:2])
        self.radius = float(self.model.geom_size[target][0])
        self.bounds = joint_bounds(self.model)

    def changed(self, root: Any) -> Any:
        return root

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return {"qpos": anywhere(s, draw, self.bounds)}

    def asked(self, s: View) -> Any:
        """(rows, 2) what the motors were asked for."""
        return s.ctrl

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        away = length(s.xp, s.table(self.target) - s.qpos)
        near = tolerance(s.xp, away, 0, self.radius, self.radius)
        small = small_control(s, self.asked(s))
        return near * small, {"distance": away, "small_control": small}


class Hard(Easy):
    """dm_control point_mass-hard: motors along two directions that each episode draws.

    The suite writes the directions into the tendons. Here they turn the controls into forces along x and y, which the
    limits of the model's controls would cut: limits are those of the action.
    """

    memory = {"directions": 4, "asked": 2}

    def changed(self, root: Any) -> Any:
        for motor in ("t1", "t2"):
            named(root, "motor", motor).set("ctrllimited", "false")
        return root

    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return -np.ones(2, np.float32), np.ones(2, np.float32)

    def control(self, s: View, action: Any) -> Any:
        s.keep("asked", action)
        given, directions = s.xp.clip(action, -1, 1), s.recall("directions")
        return given[:, :1] * directions[:, :2] + given[:, 1:] * directions[:, 2:]

    def asked(self, s: View) -> Any:
        return s.recall("asked")

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        first = unit(xp, draw.normal(2))
        second = unit(xp, draw.normal(2))
        parallel = abs((first * second).sum(axis=1)) > 0.9
        while bool(parallel.any()):
            second = xp.where(parallel[:, None], unit(xp, draw.normal(2)), second)
            parallel = abs((first * second).sum(axis=1)) > 0.9
        s.keep("directions", xp.concatenate([first, second], axis=1))
        return super().reset(s, draw)

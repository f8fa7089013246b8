"""Pendulum: a pole on a motor that is too weak to lift it at once."""

from __future__ import annotations

import math
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import SuiteTask, compiled, read, tolerance

UPRIGHT = math.cos(math.radians(8))


class Swingup(SuiteTask):
    """dm_control pendulum-swingup: paid while the pole is within 8 degrees of upright."""

    derived = anew = False

    def __init__(self) -> None:
        super().__init__(compiled(read("pendulum.xml")))

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return {"qpos": draw.uniform(-math.pi, math.pi, 1)}

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.xp.cos(s.qpos), s.xp.sin(s.qpos), s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        return tolerance(s.xp, s.xp.cos(s.qpos[:, 0]), UPRIGHT, 1), {}

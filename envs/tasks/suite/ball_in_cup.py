"""Ball in cup: a ball on a string that a cup catches."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import SuiteTask, apart, compiled, read


class Catch(SuiteTask):
    """dm_control ball_in_cup-catch: paid while the ball is in the cup."""

    def __init__(self) -> None:
        super().__init__(compiled(read("ball_in_cup.xml")), 0.02)
        self.target, self.ball = self.ids("site", "target")[0], self.ids("body", "ball")[0]
        size = self.model.site_size[self.target] - self.model.geom_size[self.ids("geom", "ball")[0]][0]
        self.size = float(size[0]), float(size[2])

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        def one() -> dict[str, Any]:
            ball = s.xp.concatenate([draw.uniform(-0.2, 0.2, 1), draw.uniform(0.2, 0.5, 1)], axis=1)
            return {"qpos": s.xp.concatenate([0 * ball, ball], axis=1)}

        return apart(s, one)

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        away = abs(s.site_xpos[:, self.target] - s.xpos[:, self.ball])
        return 1.0 * ((away[:, 0] < self.size[0]) & (away[:, 2] < self.size[1])), {}

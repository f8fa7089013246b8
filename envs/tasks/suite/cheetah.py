"""Cheetah: a planar runner."""

from __future__ import annotations

import math
from typing import Any

from dualstep.batch import Batch
from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.suite.common import SuiteTask, anywhere, compiled, joint_bounds, read, tolerance

SETTLING = 200
"""timesteps without controls from the drawn configuration to where an episode begins"""


class Run(SuiteTask):
    """dm_control cheetah-run: paid for speed, in full at 10 m/s."""

    sensors = ("torso_subtreelinvel",)

    def __init__(self) -> None:
        super().__init__(compiled(read("cheetah.xml")))
        self.bounds = joint_bounds(self.model)
        self.bounds[0][2] = self.bounds[1][2] = 0
        self._settling: dict[Any, Batch] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_settling": {}}

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        qpos = anywhere(s, draw, self.bounds)
        return self.settled(s, qpos)

    def settled(self, s: View, qpos: Any) -> dict[str, Any]:
        """What becomes of these rows, each with its own parameters, in a batch of their own."""
        count, sim = qpos.shape[0], s.sim
        room = 1 << (count - 1).bit_length()
        key = (room, sim.device, sim.dtype.name)
        if key not in self._settling:
            self._settling[key] = Batch(sim.model, room, sim.device, sim.dtype, rk4_outputs="last")
        apart = self._settling[key]
        s.arrays.follow(apart)
        apart.reset()
        rows = s.rows if s.arrays.on_host else s.rows.cpu().numpy()
        apart.load(sim.save(rows), range(count))
        s.arrays.native(apart.qpos)[:count] = s.arrays.real(qpos, sim.dtype)
        apart.step(SETTLING)
        found = {name: s.arrays.copy(s.arrays.native(getattr(apart, name))[:count]) for name in ("qpos", "qvel")}
        return found

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos[:, 1:], s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        speed = self.sensed(s, "torso_subtreelinvel")[:, 0]
        return tolerance(s.xp, speed, 10, math.inf, 10, 0, "linear"), {"speed": speed}

"""Environments of a bare model, which is no task: nothing is rewarded, nothing ends."""

from __future__ import annotations

from typing import Any

from dualstep.envs.task import Task, View
from dualstep.envs.vector import BatchEnv
from dualstep.model import Model


class Plain(Task):
    derived = False
    rewarded = False

    def __init__(self, model: Model) -> None:
        # as many timesteps as a picture takes
        super().__init__(model, max(1, round(1 / 60 / float(model.opt.timestep))))

    def reset(self, s: View, draw: Any) -> dict[str, Any]:
        return {}

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        return s.arrays.zeros((s.qpos.shape[0],), s.sim.dtype), {}


def plain_env(model: Model, num_envs: int, device: str, seed: int) -> BatchEnv:
    return BatchEnv(Plain(model), num_envs, device=device, seed=seed, nonfinite="clamp")

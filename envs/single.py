"""One environment of a task as a `gymnasium.Env`: a batch of one, numpy in and out."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.vector import AutoresetMode

from dualstep.envs.groups import each_group
from dualstep.envs.making import make_batch_env


class SingleEnv(Env):
    """Has the Batch as `unwrapped.sim` and the task as `unwrapped.task`. Options are those of `dualstep.envs.make`."""

    def __init__(self, name: str, **options: Any) -> None:
        for fixed in ("output", "autoreset_mode", "num_envs"):
            if fixed in options:
                raise TypeError(
                    f"{fixed} is an option of vector environments: gymnasium.make_vec, or dualstep.envs.make"
                )
        options = {"max_episode_steps": None, "num_threads": 1, **options}
        self._batch = make_batch_env(name, 1, {**options, "output": "numpy", "autoreset_mode": AutoresetMode.DISABLED})
        self.metadata = {key: value for key, value in self._batch.metadata.items() if key != "autoreset_mode"}
        self.render_mode = self._batch.render_mode
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space
        self.task = self._batch.task
        self.sim = self._batch.sim

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        observation, info = self._batch.reset(seed=seed)
        return each_group(observation, _row), _first(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        # as with Gymnasium's own, an episode that ended may be gone on with
        self._batch.forget_ends()
        observation, reward, terminated, truncated, info = self._batch.step(np.asarray(action)[None])
        return each_group(observation, _row), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _first(info)

    def render(self) -> Any:
        frames = self._batch.render()
        return None if frames is None else frames[0]

    def close(self) -> None:
        self._batch.close()

    def __getstate__(self) -> dict[str, Any]:
        # both are the batch's
        return {name: value for name, value in self.__dict__.items() if name not in ("task", "sim")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.task, self.sim = self._batch.task, self._batch.sim


def _row(array: Any) -> Any:
    return array[0]


def _first(info: dict[str, Any]) -> dict[str, Any]:
    return {name: values[0] for name, values in info.items() if not name.startswith("_")}

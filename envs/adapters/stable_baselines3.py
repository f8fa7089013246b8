"""Stable-Baselines3 (2.x): its own `VecEnv`, numpy only.

    from dualstep.envs.adapters.stable_baselines3 import SB3Env
    PPO("MlpPolicy", SB3Env("Hopper", num_envs=64)).learn(1_000_000)

It wants a dict an environment at every step: those that go on share one that is empty, since filling 64 takes 4 to 18 %
of the time of a step; those that end have the reward's terms and all else that the step told of them. Groups of
observations are a dict of arrays, for "MultiInputPolicy".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dualstep.envs import make
from dualstep.envs.arrays import require

require("gymnasium", "sb3")
require("stable_baselines3", "sb3")
from dualstep.envs.groups import each_group  # noqa: E402
from dualstep.envs.vector import BatchEnv  # noqa: E402

from stable_baselines3.common.vec_env import VecEnv  # noqa: E402


# what is asked of one environment, and a batch has for each under another name
SINGLE = {"action_space": "single_action_space", "observation_space": "single_observation_space"}


def _last_info(info: dict[str, Any], i: int) -> dict[str, Any]:
    """What a step told of environment i, whose episode it ended."""
    told = {**info, **info["final_info"]}
    names = [name for name in told if not name.startswith("_") and name not in ("final_obs", "final_info")]
    return {name: told[name][i] for name in names if told["_" + name][i]}


class SB3Env(VecEnv):
    """`env`: a task's name, with options of `dualstep.envs.make`, or a BatchEnv with numpy outputs, same-step."""

    def __init__(self, env: BatchEnv | str, num_envs: int = 1, **options: Any) -> None:
        if isinstance(env, str):
            env = make(env, num_envs, **{**options, "output": "numpy", "autoreset_mode": "SameStep"})
        elif options:
            raise TypeError(f"options {', '.join(options)} are of an environment that is already made")
        if env.output != "numpy" or env.autoreset_mode.name != "SAME_STEP":
            raise ValueError(
                f"an environment with output {env.output!r} and autoreset_mode {env.autoreset_mode.name} is given, "
                f"and Stable-Baselines3 wants 'numpy' and SAME_STEP"
            )
        self.env = env
        self.render_mode = env.render_mode
        self._actions: np.ndarray | None = None
        self._nothing: dict[str, Any] = {}
        self._returns = np.zeros(env.num_envs)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> np.ndarray:
        seeds = self._seeds if any(seed is not None for seed in self._seeds) else None
        observation, self.reset_infos = self.env.reset(seed=seeds)[0], [self._nothing] * self.num_envs
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        lengths = self.env.elapsed + 1
        observation, reward, terminated, truncated, info = self.env.step(self._actions)
        done = terminated | truncated
        infos = [self._nothing] * self.num_envs
        self._returns += reward
        for i in np.flatnonzero(done).tolist():
            infos[i] = {
                **_last_info(info, i),
                "terminal_observation": each_group(info["final_obs"], lambda array, i=i: array[i]),
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
                # what SB3's Monitor would tell
                "episode": {"r": float(self._returns[i]), "l": int(lengths[i])},
            }
        self._returns[done] = 0
        return observation, reward.astype(np.float32), done, infos

    def close(self) -> None:
        self.env.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        return self.env.render() or [None] * self.num_envs

    def _rows(self, indices: None | int | Iterable[int]) -> list[int]:
        return list(self._get_indices(indices))

    def get_attr(self, attr_name: str, indices: None | int | Iterable[int] = None) -> list[Any]:
        name = SINGLE.get(attr_name, attr_name)
        return [getattr(self.env, name) for _ in self._rows(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: None | int | Iterable[int] = None) -> None:
        if len(self._rows(indices)) != self.num_envs:
            raise ValueError("attributes are of all environments together: indices cannot be given")
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: None | int | Iterable[int] = None, **method_kwargs: Any
    ) -> list[Any]:
        result = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [result for _ in self._rows(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: None | int | Iterable[int] = None) -> list[bool]:
        return [isinstance(self, wrapper_class) for _ in self._rows(indices)]

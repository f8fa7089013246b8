"""rsl_rl (5.x): a `VecEnv`, TensorDict observations, time-outs apart from failures.

    from dualstep.envs.adapters.rsl_rl import RslRlEnv
    runner = OnPolicyRunner(RslRlEnv("Ant", num_envs=4096), train_cfg, log_dir)

Groups of observations are the task's: "policy" for the actor, "critic", where there is one, for the critic
(`obs_groups`). rsl_rl never calls reset(): the constructor does. It writes `episode_length_buf`, which is the count of
steps that the time limit is held against. Policies are unbounded: -1 to 1 spans the range of the actuator, and what
is beyond is clipped; where the task sets no bounds, an action is what the policy says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualstep.envs import make
from dualstep.envs.arrays import require

require("gymnasium", "train")
require("rsl_rl", "train")
from dualstep.envs.vector import BatchEnv  # noqa: E402

import torch  # noqa: E402
from rsl_rl.env import VecEnv  # noqa: E402
from tensordict import TensorDict  # noqa: E402

NEVER = 2**31 - 1


def unit_range(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half width of the range of an action; where it has no bounds, 0 and 1."""
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    return ((low + high) / 2).astype(np.float32), ((high - low) / 2).astype(np.float32)


class RslRlEnv(VecEnv):
    """`env`: a task's name, with options of `dualstep.envs.make`, or a BatchEnv with output="torch".

    `group`: what the actor sees: one of the task's groups, or the name that an observation without groups gets.
    `log`: whether `extras["log"]` has the means of what rewards are made of, for rsl_rl's logger.
    """

    device: torch.device
    max_episode_length: int

    def __init__(
        self,
        env: BatchEnv | str,
        num_envs: int = 4096,
        *,
        seed: int | None = None,
        group: str = "policy",
        clip: float | None = 1.0,
        log: bool = True,
        **options: Any,
    ) -> None:
        if isinstance(env, str):
            options = {"nonfinite": "clamp", **options, "output": "torch"}
            env = make(env, num_envs, autoreset_mode="SameStep", **options)
        elif options:
            raise TypeError(f"options {', '.join(options)} are of an environment that is already made")
        if env.output != "torch" or env.autoreset_mode.name != "SAME_STEP":
            raise ValueError(
                f"an environment with output {env.output!r} and autoreset_mode {env.autoreset_mode.name} is given, "
                f"and rsl_rl wants 'torch' and SAME_STEP"
            )
        if env.groups and group not in env.groups:
            raise ValueError(f"group {group!r} is given, and {type(env.task).__name__} has: {', '.join(env.groups)}")
        self.env = env
        # rsl_rl's curiosity asks it of `unwrapped`
        env.step_dt = env.task.dt  # pyright: ignore[reportAttributeAccessIssue]
        self.num_envs = env.num_envs
        self.num_actions = env.single_action_space.shape[0]
        self.max_episode_length = env.max_episode_steps or NEVER  # pyright: ignore[reportIncompatibleVariableOverride]
        self.device = torch.device("cpu" if env.on_host else env.sim.device)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.cfg = {"task": type(env.task).__name__, "num_envs": env.num_envs, "device": str(self.device)}
        self.group = group
        self.clip = clip
        self.log = log
        low, high = env.single_action_space.low, env.single_action_space.high
        middle, half = unit_range(low, high)
        self._bounded = torch.from_numpy(np.isfinite(low) & np.isfinite(high)).to(self.device)
        self._middle = torch.from_numpy(middle).to(self.device)
        self._half = torch.from_numpy(half).to(self.device)
        self.observation, _ = env.reset(seed=seed)

    @property
    def unwrapped(self) -> BatchEnv:
        return self.env

    @property
    def episode_length_buf(self) -> torch.Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        return torch.as_tensor(self.env.elapsed)

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.env.elapsed = steps

    def restart(self, seed: int | None = None) -> None:
        """Begins new episodes everywhere."""
        self.observation, _ = self.env.reset(seed=seed)

    def grouped(self, observation: torch.Tensor | dict[str, torch.Tensor]) -> TensorDict:
        """An observation as rsl_rl takes it: the groups of the task, or one that is called `group`."""
        groups = observation if isinstance(observation, dict) else {self.group: observation}
        rows = len(next(iter(groups.values())))
        return TensorDict(dict(groups), batch_size=[rows], device=self.device)

    @property
    def obs_groups(self) -> dict[str, list[str]]:
        """What the actor and the critic see, for rsl_rl's settings: `group`, and "critic" where the task has that."""
        critic = "critic" if "critic" in self.env.groups else self.group
        return {"actor": [self.group], "critic": [critic]}

    def get_observations(self) -> TensorDict:
        return self.grouped(self.observation)

    def to_action(self, given: torch.Tensor) -> torch.Tensor:
        """From what a policy gives to the units of the task."""
        if self.clip is not None:
            given = torch.where(self._bounded, torch.clamp(given, -self.clip, self.clip), given)
        return self._middle + self._half * given

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        lengths = self.episode_length_buf + 1
        self.observation, reward, terminated, truncated, info = self.env.step(self.to_action(actions.detach()))
        extras: dict[str, Any] = {"time_outs": truncated & ~terminated, "lengths": lengths}
        if self.log:
            log = {f"/{name}": value.mean() for name, value in info.items() if name.startswith("reward_")}
            log["/diverged"] = float(self.env.diverged_count)
            extras["log"] = log
        return self.get_observations(), reward, (terminated | truncated).long(), extras

    def close(self) -> None:
        self.env.close()

"""skrl (2.x): wrapped as it wraps Isaac Lab, so that torch tensors stay where they are.

    from dualstep.envs.adapters.skrl import skrl_env
    env = skrl_env("Ant", num_envs=1024)

skrl's own wrapper for Gymnasium works too, by copies through numpy: `wrap_env(gymnasium.make_vec(...))`.
"""

from __future__ import annotations

from typing import Any

from dualstep.envs import make
from dualstep.envs.arrays import require

require("gymnasium", "skrl")
require("skrl", "skrl")
from dualstep.envs.vector import BatchEnv  # noqa: E402

import torch  # noqa: E402
from gymnasium import spaces  # noqa: E402
from skrl.envs.wrappers.torch import wrap_env  # noqa: E402


class IsaacLike:
    """What skrl reads of an Isaac Lab environment: groups of observations, and a device."""

    def __init__(self, env: BatchEnv) -> None:
        self.env = env
        self.num_envs = env.num_envs
        self.device = torch.device("cpu" if env.on_host else env.sim.device)
        # a group "critic" is the state that skrl's asymmetric learners ask for
        space: spaces.Space[Any] = env.single_observation_space
        named = space if isinstance(space, spaces.Dict) else spaces.Dict({"policy": space})
        self.single_observation_space = named
        self.observation_space = self.single_observation_space["policy"]
        self.single_action_space = self.action_space = env.single_action_space
        self.state_space = None
        self.render_mode = env.render_mode

    @property
    def unwrapped(self) -> IsaacLike:
        return self

    @property
    def sim(self) -> Any:
        return self.env.sim

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return observation if self.env.groups else {"policy": observation}, info

    def step(self, actions: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(actions)
        return observation if self.env.groups else {"policy": observation}, reward, terminated, truncated, info

    def render(self) -> Any:
        return self.env.render()

    def close(self) -> None:
        self.env.close()


def skrl_env(env: BatchEnv | str, num_envs: int = 1024, **options: Any) -> Any:
    """A skrl environment, same-step. `env`: a task's name, with options of `dualstep.envs.make`, or a BatchEnv with
    output="torch"."""
    if isinstance(env, str):
        env = make(env, num_envs, **{**options, "output": "torch", "autoreset_mode": "SameStep"})
    elif options:
        raise TypeError(f"options {', '.join(options)} are of an environment that is already made")
    if env.output != "torch" or env.autoreset_mode.name != "SAME_STEP":
        raise ValueError(
            f"an environment with output {env.output!r} and autoreset_mode {env.autoreset_mode.name} is given, "
            f"and skrl wants 'torch' and SAME_STEP"
        )
    return wrap_env(IsaacLike(env), wrapper="isaaclab-single-agent", verbose=False)

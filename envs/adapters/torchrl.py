"""torchrl: its `GymWrapper` takes a vector environment as it is; here it gets torch arrays, without a copy.

    from dualstep.envs.adapters.torchrl import torchrl_env
    env = torchrl_env("HalfCheetah", num_envs=64)
    data = env.rollout(100, policy, break_when_any_done=False)
"""

from __future__ import annotations

from typing import Any

from dualstep.envs import make
from dualstep.envs.arrays import require

require("gymnasium", "torchrl")
require("torchrl", "torchrl")
from dualstep.envs.vector import BatchEnv  # noqa: E402

import torch  # noqa: E402
from torchrl.envs import GymWrapper  # noqa: E402


class _Wrapper(GymWrapper):
    """Beside what torchrl's own does for numpy arrays: tensors, and groups of observations."""

    def _output_transform(  # pyright: ignore[reportIncompatibleVariableOverride]: torchrl has one a version of Gymnasium
        self, step_outputs_tuple: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        *seen, info = step_outputs_tuple
        if isinstance(info.get("final_obs"), dict):
            # where `terminal_obs_reader` looks for every key but "observation"
            info = {**info, "final_info": {**info["final_info"], **info["final_obs"]}}
            del info["final_obs"]
        observation, *numbers, info = super()._output_transform((*seen, info))
        # reward and flags are (num_envs, 1) in the specifications, and tensors are taken there as they are
        return observation, *(array[:, None] for array in numbers), info


def torchrl_env(
    env: BatchEnv | str, num_envs: int = 64, *, autoreset_mode: str | None = None, **options: Any
) -> GymWrapper:
    """A torchrl environment of batch size [num_envs]. `env`: a task's name, with options of `dualstep.envs.make` (and
    autoreset_mode "SameStep", which is the default, or "Disabled"), or a BatchEnv with output="torch"."""
    if isinstance(env, str):
        env = make(env, num_envs, **{**options, "output": "torch", "autoreset_mode": autoreset_mode or "SameStep"})
    elif options or autoreset_mode is not None:
        names = [*options, *(["autoreset_mode"] if autoreset_mode is not None else [])]
        raise TypeError(f"options {', '.join(names)} are of an environment that is already made")
    if env.output != "torch":
        raise ValueError(f"an environment with output {env.output!r} is given, and torchrl_env wants 'torch'")
    device = torch.device("cpu" if env.on_host else env.sim.device)
    return _Wrapper(env, device=device)

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
import torch  # noqa: E402
from torchrl.envs import GymWrapper  # noqa: E402


def torchrl_env(name: str, num_envs: int = 64, *, autoreset_mode: str = "SameStep", **options: Any) -> GymWrapper:
    """A torchrl environment of batch size [num_envs]; autoreset_mode is "SameStep" or "Disabled"."""
    env = make(name, num_envs, **{**options, "output": "torch", "autoreset_mode": autoreset_mode})
    device = torch.device("cpu" if env.on_host else env.sim.device)
    return GymWrapper(env, device=device)

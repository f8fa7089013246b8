"""What a policy is worth: episodes without exploration, here and in Gymnasium's own environment on MuJoCo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dualstep.envs import make
from dualstep.envs.groups import policy_group

Policy = Callable[[torch.Tensor], torch.Tensor]


def returns_here(
    task: str, policy: Policy, episodes: int, *, seed: int, device: str = "auto", num_threads: int = 0, **options: Any
) -> np.ndarray:
    """(episodes,) returns of as many environments, each for one episode."""
    env = make(task, episodes, device=device, num_threads=num_threads, output="torch", nonfinite="clamp", **options)
    observation, _ = env.reset(seed=seed)
    total = torch.zeros(episodes, device=policy_group(observation).device)
    alive = torch.ones_like(total)
    while bool(alive.any()):
        observation, reward, terminated, truncated, _ = env.step(policy(policy_group(observation).float()))
        total += alive * reward
        alive *= ~(terminated | truncated)
    env.close()
    return total.cpu().numpy()


def returns_in_gymnasium(task: str, policy: Policy, episodes: int, *, seed: int, **options: Any) -> np.ndarray:
    """(episodes,) returns of Gymnasium's v5 environment of the same name."""
    import gymnasium

    env = gymnasium.make(f"{task}-v5", **options)
    returns = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed + episode)
        total, over = 0.0, False
        while not over:
            action = policy(torch.as_tensor(observation, dtype=torch.float32)[None])[0].cpu().numpy()
            observation, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            over = terminated or truncated
        returns.append(total)
    env.close()
    return np.array(returns)

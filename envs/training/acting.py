"""A learned policy that acts."""

from __future__ import annotations

from typing import Any

import torch


class Acting:
    """From observations (N, n), of the group "policy" where there are groups, to actions in the task's own units."""

    def __init__(self, network: Any, env: Any) -> None:
        self.network = network
        self.env = env

    def __call__(self, observation: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return self.env.to_action(self.network(self.env.grouped(observation)))

    def restart(self, over: torch.Tensor | None = None) -> None:
        """Forgets what a recurrent network knows of the environments that begin anew; of all where none are named."""
        if self.network.is_recurrent:
            with torch.inference_mode():
                self.network.reset(None if over is None else over.cpu())


def follow(env: Any, policy: Any) -> None:
    """Has a policy that remembers forget, whenever episodes of the environments end or begin anew."""
    restart = getattr(policy, "restart", None)
    if restart is None:
        return
    reset, step = env.reset, env.step

    def reset_both(*args: Any, **options: Any) -> Any:
        restart()
        return reset(*args, **options)

    def step_both(action: Any) -> Any:
        found = step(action)
        restart(torch.as_tensor(found[2]) | torch.as_tensor(found[3]))
        return found

    env.reset, env.step = reset_both, step_both

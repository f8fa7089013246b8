"""A learned policy that acts."""

from __future__ import annotations

from typing import Any

import torch

from dualstep.envs.groups import each_group, policy_group


class Acting:
    """From observations (N, n) to actions in the task's own units. `groups`: what an actor sees of a task with groups
    where that is more, or another, than its `env.group`; then a dict of these is wanted."""

    def __init__(self, network: Any, env: Any) -> None:
        self.network = network
        self.env = env
        self.groups: list[str] | None = None if network.obs_groups == [env.group] else list(network.obs_groups)

    def __call__(self, observation: torch.Tensor | dict[str, torch.Tensor]) -> torch.Tensor:
        with torch.inference_mode():
            return self.env.to_action(self.network(self.env.grouped(observation)))

    def restart(self, over: torch.Tensor | None = None) -> None:
        """Forgets what a recurrent network knows of the environments that begin anew; of all where none are named."""
        if self.network.is_recurrent:
            with torch.inference_mode():
                self.network.reset(None if over is None else over.cpu())


def seen(policy: Any, observation: Any) -> Any:
    """What a policy is given of an observation: the groups that it names, or the one that policies see, as float32."""
    names = getattr(policy, "groups", None)
    some = policy_group(observation) if names is None else {name: observation[name] for name in names}
    return each_group(some, lambda array: array.float())


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

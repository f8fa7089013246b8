"""The actor of SAC without the library that trained it: layers and tanh onto the range of actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "elu": torch.nn.functional.elu}


def policy_of(actor: dict[str, Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """From observations (N, n) to actions, in the task's own units: the mean of what the actor would draw."""
    layers = [(actor[f"weight_{i}"], actor[f"bias_{i}"]) for i in range(sum(k.startswith("weight_") for k in actor))]
    activation, low, high = ACTIVATIONS[actor["activation"]], actor["low"], actor["high"]

    def act(observation: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            x = observation
            for i, (weight, bias) in enumerate(layers):
                x = torch.nn.functional.linear(x, weight.to(x.device), bias.to(x.device))
                if i + 1 < len(layers):
                    x = activation(x)
            return (low + 0.5 * (torch.tanh(x).cpu() + 1) * (high - low)).to(observation.device)

    return act

"""Weights that are no numbers: found after each iteration, before they are saved, and where they are read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


class WeightsError(RuntimeError):
    """A training whose weights became NaN or infinite."""


def finite(weights: Any) -> bool:
    """Whether all of what an algorithm saves are numbers: tensors in dicts and lists, those of optimizers apart."""
    flags = [tensor.isfinite().all() for tensor in _tensors(weights)]
    return not flags or bool(torch.stack(flags).all())


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for name, entry in value.items():
            if "optimizer" not in str(name):
                yield from _tensors(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _tensors(entry)


def check(learner: Any, iteration: int) -> None:
    """WeightsError where the learner's weights are no numbers after that iteration, on any of its processes."""
    if learner.agree(not finite(learner.weights())):
        rate = f"learning_rate {learner.settings.learning_rate:g}"
        raise WeightsError(f"the policy's weights are no numbers after iteration {iteration} ({rate})")


@contextlib.contextmanager
def explained(learner: Any) -> Iterator[None]:
    """What torch refuses because weights are no numbers, as when it draws actions with them, is a WeightsError."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if isinstance(error, WeightsError) or learner.world > 1 or finite(learner.weights()):
            raise
        check(learner, learner.iteration + 1)

"""How a step is launched on a GPU, chosen by trying: `lane_choice` with dualstep's batches."""

from __future__ import annotations

from collections.abc import Callable

from dualstep import lane_choice
from dualstep.batch import Batch
from dualstep.lane_choice import CHOICES, PARTS, Lanes, remembered_lanes
from dualstep.model import Model

__all__ = ["CHOICES", "PARTS", "Lanes", "remembered_lanes", "seconds_of_step", "ticks_of_parts", "tune_lanes"]


def seconds_of_step(model: Model, num_envs: int, device: str, lanes: Lanes) -> float:
    """Seconds of a timestep of the batch under random actions: the median of a few calls of five."""
    return lane_choice.seconds_of_step(Batch, model, num_envs, device, lanes)


def ticks_of_parts(model: Model, num_envs: int, device: str, lanes: int) -> list[int]:
    """How long each part of a step takes with so many threads; empty where steps are not launched in parts."""
    return lane_choice.ticks_of_parts(Batch, model, num_envs, device, lanes)


def tune_lanes(
    model: Model,
    num_envs: int,
    device: str = "cuda",
    timer: Callable[[Model, int, str, Lanes], float] = seconds_of_step,
    parts: Callable[[Model, int, str, int], list[int]] = ticks_of_parts,
) -> Lanes:
    """The fastest way to launch a step on this device, for `Batch(..., lanes=...)`: 1, 8 or 32 threads an environment,
    or as many for each of its parts.

    The first time it steps a batch of each; the choice is kept beside the machine code of steps (DUALSTEP_CACHE_DIR),
    and taken from there afterwards. On "cpu" there are no such threads: ValueError.
    """
    return lane_choice.choose(Batch, model, num_envs, device, timer, parts)

"""How many threads torch gets: waiting threads of OpenMP take a whole processor each, and small networks gain nothing.

A run on two cores that are shared took 59 seconds of processor and 90 of wall clock with torch's own choice, and 7 and
11 with one thread (Hopper, 40,000 steps). What a thread costs is saved from about 1e8 multiplications a mini-batch on.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from dualstep.envs.training.settings import Settings

import torch

WORK_OF_A_THREAD = 1e8


def wanted_threads(settings: Settings, observations: int, actions: int) -> int:
    """Of torch, for updates of these sizes: at most as many as it has."""
    sizes = (observations, *settings.hidden, actions)
    weights = sum(a * b for a, b in zip(sizes, sizes[1:], strict=False))
    rows = settings.num_envs * settings.num_steps / settings.mini_batches
    return max(1, min(torch.get_num_threads(), int(rows * weights / WORK_OF_A_THREAD)))


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Within it torch has so many, unless OMP_NUM_THREADS says how many it has."""
    before = torch.get_num_threads()
    if not os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)

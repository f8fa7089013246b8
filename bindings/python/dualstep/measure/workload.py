"""The workload: random actions from all parts of an episode, and the arrays of a batch on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dualstep import _core
from dualstep.batch import Batch
from dualstep.model import Model

# what the next step depends on
STATE = tuple(name for name, role, *_ in _core.batch_fields() if role == "state")
# what of it MuJoCo's simulators have by the same names; qacc_warmstart is where the next solve starts
MUJOCO_STATE = ("qpos", "qvel", "act", "qacc_warmstart")


def host(array: Any) -> np.ndarray:
    """A copy of a batch's array in the host's memory, wherever the batch lives."""
    return np.array(array.numpy() if hasattr(array, "numpy") else array)


@dataclass
class States:
    """States of some environments, each (count, ...)."""

    arrays: dict[str, np.ndarray]

    @classmethod
    def of(cls, batch: Batch, count: int | None = None) -> States:
        """A copy of the first `count` environments' states."""
        return cls({name: host(getattr(batch, name))[:count] for name in STATE})

    @classmethod
    def join(cls, parts: list[States]) -> States:
        return cls({name: np.concatenate([part.arrays[name] for part in parts]) for name in parts[0].arrays})

    def __len__(self) -> int:
        return len(self.arrays["qpos"])

    def take(self, index: np.ndarray) -> States:
        return States({name: array[index] for name, array in self.arrays.items()})

    def put(self, batch: Batch) -> None:
        """Sets all environments of the batch; what their former states left in `status` is cleared."""
        for name, array in self.arrays.items():
            setattr(batch, name, array.astype(batch.dtype))
        batch.clear_status()


class Controls:
    """Controls drawn uniformly from a share of their ranges; of -1 to 1 where an actuator has none."""

    def __init__(self, model: Model, rng: np.random.Generator, effort: float = 1.0) -> None:
        limited = np.asarray(model.actuator_ctrllimited, bool).reshape(model.nu, 1)
        ranges = np.where(limited, np.asarray(model.actuator_ctrlrange).reshape(model.nu, 2), (-1.0, 1.0))
        self._low, self._high = effort * ranges.T
        self._rng = rng

    def draw(self, *shape: int, dtype: Any = np.float32) -> np.ndarray:
        """(*shape, nu)"""
        return self._rng.uniform(self._low, self._high, (*shape, self._low.size)).astype(dtype)


@dataclass
class Episode:
    """Episodes from the reset state under random actions."""

    states: States
    """of every environment, every time that the actions changed"""
    film: np.ndarray
    """(frames, environments, nq): configurations of a few environments, evenly over the episode"""
    times: np.ndarray
    """(frames,) [s]"""


def play(batch: Batch, controls: Controls, substeps: int, seconds: float, rng: np.random.Generator,
         frames: int = 6, filmed: int = 3) -> Episode:
    """Runs every environment of the batch through `seconds` of simulated time from a slightly noisy reset."""
    batch.reset()
    batch.clear_status()
    noise = rng.uniform(-0.01, 0.01, host(batch.qvel).shape)
    batch.qvel = noise.astype(batch.dtype)
    rounds = max(frames, round(seconds / (batch.model.opt.timestep * substeps)))
    wanted = np.linspace(0, rounds - 1, frames).round().astype(int)
    states, film = [], []
    for k in range(rounds):
        batch.ctrl = controls.draw(batch.num_envs, dtype=batch.dtype)
        batch.step(substeps)
        states.append(States.of(batch))
        if k in wanted:
            film.append(states[-1].arrays["qpos"][:filmed].astype(float))
    times = (wanted + 1) * substeps * batch.model.opt.timestep
    return Episode(States.join(states), np.array(film), times)

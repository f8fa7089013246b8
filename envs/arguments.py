"""What environments are given, in their own terms: modes of auto-reset, seeds, a task's memory and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import error
from gymnasium.vector import AutoresetMode

if TYPE_CHECKING:
    from dualstep.envs.task import Task


def mode_of(given: AutoresetMode | str) -> AutoresetMode:
    if isinstance(given, AutoresetMode):
        return given
    for mode in AutoresetMode:
        if given in (mode.value, mode.name):
            return mode
    names = ", ".join(f"'{mode.name}'" for mode in AutoresetMode)
    wanted = f"a gymnasium.vector.AutoresetMode or the name of one: {names}"
    raise ValueError(f"autoreset_mode {given!r} is given, and it must be {wanted}")


def seed_of(given: Any) -> int | None:
    """As Gymnasium's own environments take seeds, and refuse them."""
    if given is None:
        return None
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise error.Error(f"Seed must be a python integer, actual type: {type(given)}")
    if given < 0:
        raise error.Error(f"Seed must be greater or equal to zero, actual value: {given}")
    return int(given)


def seeds_of(given: Any, count: int) -> list[int | None]:
    """One for each of `count` environments: they count up from a single one."""
    if np.ndim(given) == 0:
        first = seed_of(given)
        return [None if first is None else first + i for i in range(count)]
    values = [seed_of(value) for value in (given.tolist() if hasattr(given, "tolist") else given)]
    if len(values) != count:
        raise ValueError(f"{len(values)} seeds are given, and there are {count} environments")
    return values


def nonfinite_of(given: Any) -> str:
    if given not in ("refuse", "clamp"):
        raise ValueError(f"nonfinite {given!r} is given, and it must be 'refuse' or 'clamp'")
    return given


def _size(given: Any) -> bool:
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool) and int(given) >= 0


def memory_of(task: Task) -> dict[str, tuple[int, ...]]:
    """The shapes of what a task keeps of an environment, by name."""
    who, given = f"{type(task).__name__}.memory", task.memory
    if not isinstance(given, Mapping):
        raise TypeError(f"{who} is {given!r}, and a dict of shapes by name is wanted")
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in given.items():
        if not isinstance(name, str):
            raise TypeError(f"{who} has {name!r}, and names are wanted there, each with a shape")
        sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        if not all(map(_size, sizes)):
            wanted = "an integer of 0 or more, or a tuple of such, is wanted"
            raise ValueError(f"{who}[{name!r}] is {shape!r}, and {wanted}")
        found[name] = tuple(map(int, sizes))
    return found


def bounds_of(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest action of a task, (k,) each."""
    who, given = f"{type(task).__name__}.action_bounds()", task.action_bounds()
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"{who} is {type(given).__name__}, and a pair is wanted: the least and the largest action")
    found = []
    for i, bound in enumerate(given):
        array = np.asarray(bound)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{who}[{i}] has dtype {array.dtype}, and numbers are wanted")
        found.append(array.astype(np.float32))
    low, high = found
    if low.ndim != 1 or low.shape != high.shape:
        raise ValueError(f"{who} has shapes {low.shape} and {high.shape}, and (k,) twice is wanted")
    if not (low <= high).all():
        where = int(np.flatnonzero(~(low <= high))[0])
        raise ValueError(f"{who} has {low[where]} and {high[where]} at {where}, and the least one first is wanted")
    return low, high

"""Groups of observations: what a policy sees, and what only its critic is told, as a dict of arrays by name.

Inside, all groups of an environment are one array, side by side; users get them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

POLICY = "policy"


def policy_group(observation: Any) -> Any:
    """What a policy acts on: its group, or the observation where there are no groups."""
    return observation[POLICY] if isinstance(observation, dict) else observation


def each_group(observation: Any, change: Callable[[Any], Any]) -> Any:
    """A function of arrays, of every group."""
    if isinstance(observation, dict):
        return {name: change(array) for name, array in observation.items()}
    return change(observation)


class Groups:
    """The groups of one task, as it first gave them; none where it gives an array."""

    def __init__(self) -> None:
        self.columns: dict[str, slice] | None = None
        self._known = False

    def join(self, who: str, given: Any, count: int, arrays: Any, dtype: Any) -> Any:
        """One array of what a task's observe() gave of `count` environments."""
        names = list(given) if isinstance(given, dict) else None
        if not self._known:
            self._begin(who, given, names)
        if names != (None if self.columns is None else list(self.columns)):
            was = "an array" if self.columns is None else f"groups {', '.join(self.columns)}"
            now = "an array" if names is None else f"groups {', '.join(map(str, names))}"
            raise ValueError(f"{who} gave {was} before, and gives {now}")
        if names is None:
            return given
        assert self.columns is not None
        for name, array in given.items():
            width = self.columns[name].stop - self.columns[name].start
            if tuple(array.shape[1:]) != (width,):
                raise ValueError(f"{who}[{name!r}] has shape {tuple(array.shape)}, and (rows, {width}) is wanted")
            if len(array) != count:
                raise ValueError(f"{who}[{name!r}] has {len(array)} rows, and {count} are wanted")
        return arrays.xp.concatenate([arrays.real(array, dtype) for array in given.values()], axis=1)

    def _begin(self, who: str, given: Any, names: list[Any] | None) -> None:
        if names is not None:
            if POLICY not in names:
                raise ValueError(
                    f"{who} gives groups {', '.join(map(repr, names)) or 'of no name'}, and one must be 'policy'"
                )
            self.columns, first = {}, 0
            for name, array in given.items():
                if not (
                    isinstance(name, str)
                    and hasattr(array, "shape")
                    and hasattr(array, "dtype")
                    and len(array.shape) == 2
                ):
                    raise TypeError(
                        f"{who}[{name!r}] is {type(array).__name__}, and an array of shape (rows, n) is wanted"
                    )
                self.columns[name] = slice(first, first + int(array.shape[1]))
                first += int(array.shape[1])
        self._known = True

    @property
    def widths(self) -> dict[str, int]:
        """Numbers of each group; nothing where there are none."""
        return {name: part.stop - part.start for name, part in (self.columns or {}).items()}

    def split(self, joined: Any, arrays: Any) -> Any:
        """The groups apart, or the one array, in memory of their own."""
        if self.columns is None:
            return arrays.copy(joined)
        return {name: arrays.copy(joined[:, part]) for name, part in self.columns.items()}

    def space(self, width: int, dtype: Any) -> spaces.Box | spaces.Dict:
        """Of one environment."""
        boxes: dict[str, spaces.Space] = {
            name: spaces.Box(-np.inf, np.inf, (n,), dtype=dtype) for name, n in self.widths.items()
        }
        return spaces.Dict(boxes) if boxes else spaces.Box(-np.inf, np.inf, (width,), dtype=dtype)

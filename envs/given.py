"""What a task's functions give: looked at, and refused by the name of the function where it is not what is wanted."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dualstep.envs.task import Task, whole_dtype

if TYPE_CHECKING:
    from dualstep.envs.arrays import HostArrays, TorchArrays

Look = Callable[[str, Any], Any]
"""what is made of an array that a function gave, by the function's name and that array"""


class Given:
    """`nonfinite`: numbers that are not finite are refused ("refuse"), or 0 and counted in `counts` ("clamp")."""

    def __init__(self, task: Task, arrays: HostArrays | TorchArrays, nonfinite: str) -> None:
        self._task = type(task).__name__
        self._arrays = arrays
        self._checked: set[str] = set()
        self.nonfinite = nonfinite
        self.counts: dict[str, int] = {}

    def array(self, what: str, given: Any, shape: tuple[int | str, ...], kinds: str = "biuf") -> Any:
        """An array that the task gave; refused where it has not this shape (a word stands for any size) and kind. All
        of that is looked at once, and later on the number of rows."""
        if what in self._checked and getattr(given, "shape", ())[:1] == shape[:1]:
            return given
        who, wanted = f"{self._task}.{what}", "(" + ", ".join(map(str, shape)) + ",)"[len(shape) > 1 :]
        if not (hasattr(given, "shape") and hasattr(given, "dtype")):
            raise TypeError(f"{who} is {type(given).__name__}, and an array of shape {wanted} is wanted")
        found = tuple(given.shape)
        if shape[-1] == "...":
            found, shape = found[: len(shape) - 1], shape[:-1]
        if len(found) != len(shape) or any(a != b for a, b in zip(found, shape, strict=True) if not isinstance(b, str)):
            raise ValueError(f"{who} has shape {tuple(given.shape)}, and {wanted} is wanted")
        if whole_dtype(given).kind not in kinds:
            wanted = "booleans" if kinds == "b" else "numbers"
            raise TypeError(f"{who} has dtype {given.dtype}, and {wanted} are wanted")
        self._checked.add(what)
        return given

    def mapping(self, what: str, given: Any) -> dict[str, Any]:
        """A dict of arrays by name."""
        if not isinstance(given, dict):
            raise TypeError(f"{self._task}.{what} is {type(given).__name__}, and a dict of arrays by name is wanted")
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"{self._task}.{what} has {name!r}, and names are wanted there, each with an array")
        return given

    def finite(
        self, what: str, given: Any, *, rows: Any = None, excused: Callable[[], Any] | None = None
    ) -> Any:
        """The array, where that is finite; else refused, or 0 and counted.

        `rows`: the environments that it is of, all unless given. `excused`: (rows,) true where numbers that are not
        finite are 0 and nothing is said, since the simulation diverged there.
        """
        finite = self._arrays.xp.isfinite(given)
        if bool(finite.all()):
            return given
        bad = ~(finite if len(given.shape) == 1 else finite.reshape(len(given), -1).all(axis=1))
        if excused is not None:
            bad = bad & ~excused()
        count = int(bad.sum())
        if count and self.nonfinite == "refuse":
            first = self._arrays.rows(bad)[:10]
            first = (first if rows is None else rows[first]).tolist()
            raise ValueError(
                f"{self._task}.{what} is not finite in {count} of {len(bad)} environments: {first}"
                f"{', ...' if count > 10 else ''}"
            )
        if count:
            self.counts[what] = self.counts.get(what, 0) + count
        return self.zeroed(what, given)

    def as_it_is(self, what: str, given: Any) -> Any:
        return given

    def zeroed(self, what: str, given: Any) -> Any:
        """The array with 0 where it is not finite; `all_finite` is to be asked of it."""
        xp = self._arrays.xp
        return xp.where(xp.isfinite(given), given, xp.zeros_like(given))

    def all_finite(
        self, given: Mapping[str, Any], *, rows: Any = None, excused: Callable[[], Any] | None = None
    ) -> dict[str, Any]:
        """`finite` of several arrays: one question where they are, since a device answers each of them late."""
        xp = self._arrays.xp
        real = [array for array in given.values() if whole_dtype(array).kind == "f"]
        # many are of one number each
        small = [array for array in real if len(array.shape) == 1]
        joined = [xp.concatenate(small)] if small else []
        joined += [array for array in real if len(array.shape) > 1]
        if bool(functools.reduce(operator.and_, (xp.isfinite(array).all() for array in joined))):
            return dict(given)
        return {what: self.finite(what, array, rows=rows, excused=excused) for what, array in given.items()}

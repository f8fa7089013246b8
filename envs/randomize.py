"""Domain randomization: parameters of the model that differ between environments.

A `Vary` says which entries of which of MuJoCo's model arrays, by what distribution, and when they are drawn:

    value = default * x   ("scale"),   default + x   ("add"),   x   ("set"),       x drawn

always from the model's own value, so that nothing accumulates. What follows from a parameter is derived anew by
`Batch.set_parameter`: subtree masses, inverse weights and with them the scaling of constraints. A mass brings the
inertia of its body with it, as if the density had changed. Draws depend on the environment's seed alone ("start"),
on that and its episode ("reset"), or also on the moment (an interval of seconds), as all draws do (draws.py); where
the user asks for them, also on how often he did so in this episode.

Cost: some 0.2 ms of the host for each environment and parameter that is drawn.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import numbers
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep._names import actuators_of_controls
from dualstep.envs.draws import Draws

if TYPE_CHECKING:
    from dualstep.batch import Batch
    from dualstep.envs.arrays import HostArrays, TorchArrays

# the purpose, in its draws, of the first parameter where the user asks for them: beyond those of events and resets
_ASKED = 2**15
OPERATIONS = ("scale", "add", "set")
DISTRIBUTIONS = ("uniform", "log_uniform", "normal")
# what the rows of a parameter are, by the first word of its name
_OBJECTS = {"body": "body", "geom": "geom", "site": "site", "jnt": "joint", "actuator": "actuator", "tendon": "tendon"}


def _finite(*given: Any) -> bool:
    return all(isinstance(value, numbers.Real) and math.isfinite(value) for value in given)


@dataclasses.dataclass(frozen=True)
class Vary:
    """One parameter by one distribution. `low`, `high`: bounds, or mean and standard deviation where it is normal.

    `of`: a regular expression that the names of the bodies, geoms, joints ... must match as a whole; rows of dof_...
    are those of the joint. `axes`: columns, all unless given. `together`: one draw for all entries of an environment.
    `when`: "start" (once, with the seed), "reset" (every episode), or (least, most) seconds between events.
    """

    parameter: str
    low: float
    high: float
    operation: str = "scale"
    distribution: str = "uniform"
    of: str = ".*"
    axes: tuple[int, ...] | None = None
    together: bool = False
    when: str | tuple[float, float] = "reset"

    def __post_init__(self) -> None:
        def refuse(what: str, wanted: str) -> None:
            raise ValueError(f"randomize: {self.parameter}: {what} is given, and {wanted} is wanted")

        for name in ("parameter", "of"):
            if not isinstance(getattr(self, name), str):
                refuse(f"{name} {getattr(self, name)!r}", "a text")
        try:
            re.compile(self.of)
        except re.error as error:
            refuse(f"of {self.of!r} ({error})", "a regular expression")
        if self.operation not in OPERATIONS:
            refuse(f"operation {self.operation!r}", "one of " + ", ".join(map(repr, OPERATIONS)))
        if self.distribution not in DISTRIBUTIONS:
            refuse(f"distribution {self.distribution!r}", "one of " + ", ".join(map(repr, DISTRIBUTIONS)))
        if not _finite(self.low, self.high):
            refuse(f"low {self.low!r}, high {self.high!r}", "two finite numbers")
        if self.distribution != "normal" and self.low > self.high:
            refuse(f"low {self.low}, high {self.high}", "low <= high")
        if self.distribution == "normal" and self.high < 0:
            refuse(f"a standard deviation (high) of {self.high}", "none below 0")
        if self.distribution == "log_uniform" and self.low <= 0:
            refuse(f"low {self.low} of a log_uniform distribution", "a positive one")
        if isinstance(self.when, (tuple, list)):
            if len(self.when) != 2 or not _finite(*self.when) or not 0 < self.when[0] <= self.when[1]:
                refuse(f"when {self.when!r}", "(least, most) seconds")
            object.__setattr__(self, "when", tuple(self.when))
        elif self.when not in ("start", "reset"):
            refuse(f"when {self.when!r}", "'start', 'reset' or (least, most) seconds")
        if self.axes is not None:
            whole = isinstance(self.axes, (tuple, list)) and all(type(axis) is int for axis in self.axes)
            if not whole or not self.axes or len(set(self.axes)) < len(self.axes):
                refuse(f"axes {self.axes!r}", "a tuple of different integers")
            object.__setattr__(self, "axes", tuple(self.axes))

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def _vary(given: Vary | dict[str, Any]) -> Vary:
    if isinstance(given, Vary):
        return given
    known = [field.name for field in dataclasses.fields(Vary)]
    if not isinstance(given, dict) or "parameter" not in given:
        raise ValueError(f"randomize: {given!r} is given, and a Vary, or a dict with its fields, is wanted")
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or known
            raise ValueError(f"randomize: there is no '{name}'; near it are: {', '.join(near)}")
    for name in ("low", "high"):
        if name not in given:
            raise ValueError(f"randomize: {given!r} is given, and '{name}' is wanted too")
    return Vary(**given)


class _Entries:
    """The entries of a parameter that a Vary is about, in the flat array of one environment."""

    def __init__(self, vary: Vary, sim: Batch) -> None:
        self.vary = vary
        self.name = vary.parameter
        default = sim.get_parameter(self.name, [0])[0]
        index = np.arange(default.size).reshape(default.shape)
        if vary.of != ".*":
            rows = _named(vary, sim, len(default) if default.ndim else 0)
            index = index[rows]
        if vary.axes is not None:
            width = index.shape[-1] if index.ndim > 1 or default.ndim == 1 and vary.of == ".*" else 0
            if not all(0 <= axis < width for axis in vary.axes):
                raise ValueError(f"randomize: {self.name}: axes {vary.axes} are given, of {width}")
            index = index[..., list(vary.axes)]
        self.index = index.reshape(-1)
        self.default = default.reshape(-1)[self.index]

    def values(self, draw: Draws) -> np.ndarray:
        """(rows, entries)"""
        vary, count = self.vary, 1 if self.vary.together else len(self.index)
        if vary.distribution == "normal":
            x = vary.low + vary.high * draw.normal(count)
        elif vary.distribution == "uniform":
            x = draw.uniform(vary.low, vary.high, count)
        else:
            x = draw.uniform(math.log(vary.low), math.log(vary.high), count)
        x = np.asarray(x if isinstance(x, np.ndarray) else x.cpu())
        x = np.exp(x) if vary.distribution == "log_uniform" else x
        return {"scale": self.default * x, "add": self.default + x, "set": x + 0 * self.default}[vary.operation]


def _named(vary: Vary, sim: Batch, count: int) -> list[int]:
    kind = vary.parameter.partition("_")[0]
    model = sim.model
    if kind == "dof":
        joints = [model.name_of("joint", int(joint)) for joint in model.dof_jntid]
    elif vary.parameter == "actuator_ctrlrange":
        # a row a control
        joints = [model.name_of("actuator", int(a)) for a in actuators_of_controls(model)]
    elif kind in _OBJECTS:
        joints = [model.name_of(_OBJECTS[kind], i) for i in range(count)]
    else:
        raise ValueError(f"randomize: {vary.parameter} has no names, and of={vary.of!r} is given")
    rows = [i for i, name in enumerate(joints) if re.fullmatch(vary.of, name or "")]
    if not rows:
        named = ", ".join(repr(name) for name in joints[:20] if name)
        raise ValueError(f"randomize: {vary.parameter}: no name matches {vary.of!r}; there are: {named}")
    return rows


class Randomizer:
    """The parameters of a batch, as the Varys say, drawn when their time comes."""

    def __init__(
        self, given: Sequence[Vary | dict[str, Any]], sim: Batch, arrays: HostArrays | TorchArrays, dt: float
    ) -> None:
        if isinstance(given, (Vary, dict, str)) or not isinstance(given, Iterable):
            raise TypeError(f"randomize: {given!r} is given, and a list of such is wanted: [Vary(...), ...]")
        self._sim, self._arrays, self._dt = sim, arrays, dt
        self._all = [_Entries(_vary(one), sim) for one in given]
        self.described = [entries.vary.as_dict() for entries in self._all]
        taken: dict[str, set[int]] = {}
        for entries in self._all:
            names = [entries.name] + (["body_inertia"] if entries.name == "body_mass" else [])
            for name in names:
                index = set(entries.index.tolist())
                if name != entries.name:
                    index = {3 * body + axis for body in index for axis in range(3)}
                if index & taken.setdefault(name, set()):
                    raise ValueError(f"randomize: {name}: an entry is drawn twice")
                taken[name] |= index
        self._timed = [i for i, entries in enumerate(self._all) if isinstance(entries.vary.when, tuple)]
        # the steps since the beginning of the episode at which each timed one is due
        self._due = np.zeros((sim.num_envs, len(self._timed)), np.int64)
        # how often the user asked in the episode
        self._asked = np.zeros(sim.num_envs, np.int64)

    def _draw(self, i: int, seeds: Any, episodes: Any, moments: Any = None) -> Draws:
        # purposes from 1 on: the task itself draws with 0
        return Draws(self._arrays, seeds, episodes, moments, purpose=1 + i)

    def _set(self, i: int, rows: np.ndarray, draw: Draws) -> None:
        entries = self._all[i]
        values = entries.values(draw)
        whole = self._sim.get_parameter(entries.name, rows)
        whole.reshape(len(rows), -1)[:, entries.index] = values
        if not np.isfinite(whole).all():
            raise ValueError(f"randomize: {entries.name}: a value that is not finite was drawn")
        self._sim.set_parameter(entries.name, whole, rows)
        if entries.name == "body_mass":
            # the same shape and another density
            ratio = np.divide(values, entries.default, out=np.ones_like(values), where=entries.default > 0)
            default = np.asarray(self._sim.model.body_inertia)[entries.index]
            inertia = self._sim.get_parameter("body_inertia", rows)
            inertia[:, entries.index] = default * ratio[..., None]
            self._sim.set_parameter("body_inertia", inertia, rows)

    def _schedule(self, rows: np.ndarray, draw: Draws, k: int, now: Any) -> None:
        least, most = self._all[self._timed[k]].vary.when
        seconds = draw.uniform(least, most, 1)
        seconds = np.asarray(seconds if isinstance(seconds, np.ndarray) else seconds.cpu())[:, 0]
        self._due[rows, k] = now + np.maximum(1, np.rint(seconds / self._dt)).astype(np.int64)

    def begin(self, rows: np.ndarray, seeds: Any, episodes: Any) -> None:
        """New episodes of these environments; what is drawn once is drawn in their first."""
        self._asked[rows] = 0
        if not self._all:
            return
        first = np.asarray(episodes if self._arrays.on_host else episodes.cpu()) == 0
        for i, entries in enumerate(self._all):
            chosen = rows[first] if entries.vary.when == "start" else rows
            if not len(chosen):
                continue
            mask = self._arrays.from_host(first if entries.vary.when == "start" else first | True)
            draw = self._draw(i, seeds[mask], episodes[mask])
            self._set(i, chosen, draw)
            if i in self._timed:
                self._schedule(chosen, draw, self._timed.index(i), 0)

    def go_on(self, seeds: np.ndarray, episodes: np.ndarray, elapsed: Any) -> None:
        """Draws what is due now."""
        if not self._timed:
            return
        now = np.asarray(elapsed if self._arrays.on_host else elapsed.cpu())
        take = self._arrays.from_host
        for k, i in enumerate(self._timed):
            rows = np.flatnonzero(self._due[:, k] <= now)
            if len(rows):
                draw = self._draw(i, take(seeds[rows]), take(episodes[rows]), take(now[rows]))
                self._set(i, rows, draw)
                self._schedule(rows, draw, k, now[rows])

    def now(self, rows: np.ndarray, seeds: np.ndarray, episodes: np.ndarray, elapsed: Any) -> None:
        """Draws everything anew for these environments, whenever it would be due, and however often at one moment."""
        moments = np.asarray(elapsed if self._arrays.on_host else elapsed.cpu())
        of = [self._arrays.from_host(array[rows]) for array in (seeds, episodes, moments)]
        asked = self._arrays.from_host(self._asked[rows])
        for i in range(len(self._all)):
            self._set(i, rows, Draws(self._arrays, *of, purpose=_ASKED + i, passed=asked))
        self._asked[rows] += 1

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that last, themselves."""
        return {"due": self._due, "asked": self._asked}

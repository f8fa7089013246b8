"""What a name stands for, and names that are near the one that was asked for: for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

from dualstep import _core
from dualstep._arrays import text


def near(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names that are near, the nearest first; upper and lower case are alike."""
    lower: dict[str, str] = {}
    for word in known:
        lower.setdefault(word.lower(), word)
    return [lower[word] for word in difflib.get_close_matches(name.lower(), lower, n=count, cutoff=0.6)]


def hint(name: str, known: Iterable[str]) -> str:
    """What a message ends with: '; did you mean ...?', or nothing where no name is near."""
    found = near(name, known)
    return f"; did you mean '{found[0]}'?" if found else ""


def actuators_of_controls(model: Any) -> np.ndarray:
    """The actuator of each control of a Model or MjModel, (nu,)."""
    return np.repeat(np.arange(model.nactuator), model.actuator_ctrlnum)


def public(owner: object) -> list[str]:
    return [word for word in dir(owner) if not word.startswith("_")]


def missing(owner: object, what: str, name: str) -> AttributeError:
    """The error for an attribute that is not there."""
    known = () if name.startswith("_") else public(owner)
    return AttributeError(f"{what} has no '{name}'" + hint(name, known), name=name, obj=None)


def _get_option(options: Any, name: str) -> Any:
    raise missing(options, "a model.opt", name)


def _set_option(options: Any, name: str, value: Any) -> None:
    if not hasattr(type(options), name):
        raise AttributeError(f"a model.opt has no '{name}' to set{hint(name, public(options))}")
    object.__setattr__(options, name, value)


# the class is compiled: these two are called where it has no such option
_core.Options.__getattr__ = _get_option  # type: ignore[attr-defined]
_core.Options.__setattr__ = _set_option  # type: ignore[method-assign]


def sensor_columns(model: Any, name: str) -> slice:
    """Where the readings of a sensor stand in `sensordata`."""
    found = model.id_of("sensor", text("sensor", name))
    if found < 0:
        names = [model.name_of("sensor", i) for i in range(model.nsensor)]
        listed = f"; near it are: {', '.join(near(name, names, 3))}" if near(name, names) else ""
        listed = listed or f"; its sensors are: {', '.join(names) or 'none'}"
        raise ValueError(f"the model has no sensor '{name}'{listed}")
    first = int(model.sensor_adr[found])
    return slice(first, first + int(model.sensor_dim[found]))

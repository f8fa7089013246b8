"""Trajectories of a batch that is there: controls in, arrays over time out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep import _arrays
from dualstep._names import hint, public

if TYPE_CHECKING:
    from dualstep.batch import Batch


def _checked(sim: Batch, outputs: Sequence[str]) -> list[str]:
    if isinstance(outputs, str):
        raise TypeError(f"outputs {outputs!r} is given, and a sequence of names is wanted: ({outputs!r},)")
    for name in outputs:
        # an attribute of the class, so that nothing is computed only to be looked at
        if (
            not isinstance(name, str)
            or name.startswith("_")
            or not isinstance(getattr(type(sim), name, None), property)
        ):
            arrays = [word for word in public(sim) if isinstance(getattr(type(sim), word, None), property)]
            raise ValueError(f"outputs name '{name}', and a batch has no such array{hint(str(name), arrays)}")
    return list(outputs)


def rollout_of(sim: Batch, ctrl: Any, nsubsteps: int, outputs: Sequence[str]) -> dict[str, np.ndarray]:
    """What `Batch.rollout` gives."""
    names = _checked(sim, outputs)
    nsubsteps = _arrays.substeps(nsubsteps)
    shape = (sim.num_envs, sim.model.nu)
    given = np.asarray(_arrays.on_host("ctrl", ctrl))
    if given.ndim != 3 or given.shape[1:] != shape or given.dtype.kind not in "iuf":
        raise ValueError(
            f"ctrl: an array of shape {given.shape} and dtype {given.dtype} is given, and numbers of shape "
            f"(T, {shape[0]}, {shape[1]}) are wanted"
        )
    given = given.astype(sim.dtype, copy=False)
    now = {name: getattr(sim, name) for name in names}
    for name, array in now.items():
        if not (hasattr(array, "shape") and tuple(array.shape[:1]) == shape[:1]):
            raise ValueError(f"outputs name '{name}', which is no array over environments")
    found = {name: np.empty((len(given), *array.shape), array.dtype) for name, array in now.items()}
    # arrays of a batch are live: looked up once, they show every step
    live = [(found[name], array, name) for name, array in now.items()]
    on_host, step, controls = isinstance(sim.ctrl, np.ndarray), sim.step, sim.ctrl
    for t, row in enumerate(given):
        if on_host:
            controls[...] = row
        else:
            sim.ctrl = row
        step(nsubsteps)
        for into, array, name in live:
            # of sensors that the reference computes there is a new array each time
            into[t] = _arrays.host(getattr(sim, name) if name == "sensordata" else array)
    return found

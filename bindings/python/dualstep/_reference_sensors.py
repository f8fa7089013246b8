"""Sensors that the step does not compute: each environment is copied into a reference, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dualstep import _core
from dualstep._arrays import host
from dualstep.reference import Reference

if TYPE_CHECKING:
    from dualstep.batch import Batch


def readings(sim: Batch) -> np.ndarray:
    """(N, nsensordata) of the last evaluation, as exact as the state is; a clock shows the present time."""
    core = sim._core
    out = np.zeros((sim.num_envs, sim.model.nsensordata), sim.dtype)
    if out.size == 0:
        return out
    state = {name: host(core.last(name)) for name, role, *_ in _core.batch_fields() if role == "state"}
    geoms = geoms_of_pairs(sim)
    own = bool(core.own_tables())
    reference, time = None, host(sim.time)
    for env in range(sim.num_envs):
        if reference is None or own:
            reference = Reference(core.environment_model(env))
        put(reference, {name: array[env] for name, array in state.items()}, geoms)
        reference.time = float(time[env])
        reference.forward()
        out[env] = reference.sensordata
    return out


def geoms_of_pairs(sim: Batch) -> np.ndarray:
    """(pairs, 2) the geoms of the pairs that anchors name."""
    core = sim._core
    pairs = np.stack([np.ravel(core.integers(name)) for name in ("pair_geom1", "pair_geom2")], 1)
    return np.ravel(core.integers("geom_id"))[pairs]


def put(reference: Reference, state: dict[str, np.ndarray], geoms: np.ndarray) -> None:
    """Sets the reference to the state of one environment: anchors, and the arrays that a reference takes
    (host/reference/arrays.inl). It finds by itself where its solver starts, and knows nothing of the others."""
    for name, array in state.items():
        if reference._core.writable(name):
            getattr(reference, name)[...] = array.reshape(getattr(reference, name).shape)
    kept = [(*map(int, geoms[int(a[0]) - 1]), a[1:4], a[4:7]) for a in state["anchors"] if a[0] > 0]
    reference._core.set_anchors(kept)

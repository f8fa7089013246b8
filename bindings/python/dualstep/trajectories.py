"""Trajectories in one call: initial states and controls in, arrays over time out, by a batch that is made for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dualstep import _arrays, _core
from dualstep._names import hint
from dualstep._rollout import rollout_of
from dualstep.batch import Batch
from dualstep.model import Model

_GIVEN = ("qpos", "qvel", "ctrl")  # as arguments of their own


def _starts(sim: Batch, start: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of `start`, (N, ...) and in the batch's precision."""
    names = [name for name, role, *_ in _core.batch_fields() if role == "state" and name not in _GIVEN]
    found = {}
    for name, values in start.items():
        if name not in names:
            known = f"arrays of the state are wanted: {', '.join(names)}{hint(str(name), names)}"
            raise ValueError(f"start names {name!r}, and {known}")
        wanted, given = tuple(getattr(sim, name).shape), np.asarray(_arrays.on_host(name, values))
        if given.dtype.kind not in "iuf" or tuple(given.shape) not in (wanted, wanted[1:]):
            one = f"an array of shape {given.shape} and dtype {given.dtype}"
            raise ValueError(f"start: {name} is {one}, and numbers of shape {wanted} or {wanted[1:]} are wanted")
        found[name] = np.broadcast_to(given.astype(sim.dtype), wanted)
    return found


def rollout(
    model: Model,
    qpos: Any,
    qvel: Any,
    ctrl: Any,
    parameters: Mapping[str, Any] | None = None,
    device: str = "auto",
    *,
    nsubsteps: int = 1,
    outputs: Sequence[str] = ("qpos", "qvel"),
    dtype: Any = "float32",
    num_threads: int = 0,
    start: Mapping[str, Any] | None = None,
) -> dict[str, np.ndarray]:
    """Trajectories of N environments from initial states (N, nq), (N, nv) under controls (T, N, nu).

    `parameters`: arrays of the model by MuJoCo's name, (N, ...) or one for all, as `Batch.set_parameter` takes them.
    `start`: further arrays of the state by name, (N, ...) or one for all: act, mocap_pos, mocap_quat, xfrc_applied,
    qacc_warmstart and others; those left out are as a reset leaves them.
    Returns {name: (T, N, ...)} for each of `outputs`, on the host; row t is of the end of step t, which holds its
    control for `nsubsteps`.
    """
    if not isinstance(model, Model):
        raise TypeError(f"model: a {type(model).__name__} is given, and a dualstep.Model is wanted")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise TypeError(f"parameters: a {type(parameters).__name__} is given, and a dict of arrays by name is wanted")
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(f"start: a {type(start).__name__} is given, and a dict of arrays by name is wanted")
    positions, velocities = (np.asarray(_arrays.on_host(name, x)) for name, x in (("qpos", qpos), ("qvel", qvel)))
    for name, array, width in (("qpos", positions, model.nq), ("qvel", velocities, model.nv)):
        if array.ndim != 2 or array.shape[1] != width or array.dtype.kind not in "iuf":
            given = f"an array of shape {array.shape} and dtype {array.dtype}"
            raise ValueError(f"{name}: {given} is given, and numbers of shape (N, {width}) are wanted")
    if len(positions) != len(velocities):
        raise ValueError(f"qpos is of {len(positions)} environments, and qvel of {len(velocities)}")
    with Batch(model, len(positions), device, dtype, num_threads) as sim:
        for name, values in (parameters or {}).items():
            sim.set_parameter(name, values)
        for name, values in _starts(sim, start or {}).items():
            setattr(sim, name, np.ascontiguousarray(values))
        sim.qpos, sim.qvel = positions.astype(sim.dtype), velocities.astype(sim.dtype)
        return rollout_of(sim, ctrl, nsubsteps, outputs)

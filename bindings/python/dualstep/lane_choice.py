"""How a step is launched on a GPU: chosen by trying, remembered on disk. No choice changes a bit.

A step is one launch with W threads an environment throughout, or one launch a part (smooth, collide, rows, solve,
integrate), each with the W that suits it.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dualstep import _core
from dualstep.model import Model

CHOICES = (1, 8, 32)
Lanes = int | tuple[int, ...]
# makes a batch of (model, num_envs, device): the class dualstep.Batch, which stands above this module
MakeBatch = Callable[..., Any]

# the stages that the parts go by where a device times them, in the order of the parts
PARTS = ("kinematics", "collide", "rows", "newton", "integrate")


def _run(
    make: MakeBatch, model: Model, num_envs: int, device: str, lanes: Lanes, calls: int
) -> Iterator[tuple[_core.Batch, float]]:
    """Steps a batch under random actions; the batch, and the seconds of a timestep, after every call of five."""
    rng = np.random.default_rng(0)
    low, high = np.where(np.asarray(model.actuator_ctrllimited, bool)[:, None], model.actuator_ctrlrange, (-1.0, 1.0)).T
    with make(model, num_envs, device, lanes=lanes) as batch:
        for _ in range(calls):
            batch.ctrl = rng.uniform(low, high, (num_envs, model.nu)).astype(batch.dtype)
            batch.wait()
            began = time.perf_counter()
            batch.step(5)
            batch.wait()
            yield batch._core, (time.perf_counter() - began) / 5


def seconds_of_step(make: MakeBatch, model: Model, num_envs: int, device: str, lanes: Lanes) -> float:
    """Seconds of a timestep of the batch under random actions: the median of a few calls of five."""
    # the first calls load and fill; the last ones have the contacts of a fallen robot
    return float(np.median([seconds for _, seconds in _run(make, model, num_envs, device, lanes, 8)][3:]))


def ticks_of_parts(make: MakeBatch, model: Model, num_envs: int, device: str, lanes: int) -> list[int]:
    """How long each part of a step takes with so many threads; empty where steps are not launched in parts."""
    ticks: dict[str, int] = {}
    for i, (core, _) in enumerate(_run(make, model, num_envs, device, (lanes,) * len(PARTS), 6)):
        if i == 2:
            core.time_stages(True)
        ticks = core.stage_ticks()
    return [ticks[part] for part in PARTS] if ticks else []


def _where(description: str) -> str:
    """The device alone, of what a batch says of how it runs."""
    return ", ".join(description.split(", ")[:2]) if description.startswith("cuda") else description.split(", ")[0]


def _file(model: Model, num_envs: int, description: str) -> Path | None:
    """Where the choice is kept: by everything that the time follows from."""
    folder = _core.specialization_cache()
    if not folder:
        return None
    # batches of about the same size take the same time
    size = num_envs.bit_length()
    sources = json.dumps(_core.kernel_sources(), sort_keys=True)
    program, compiler = _core.specialized_program(model), _core.describe_specialization()
    key = "\0".join([program, sources, _where(description), str(size), compiler])
    return Path(folder) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.lanes"


def _allowed(lanes: object) -> Lanes | None:
    if isinstance(lanes, int):
        return lanes if lanes in CHOICES else None
    if isinstance(lanes, list) and len(lanes) == len(PARTS) and all(n in CHOICES for n in lanes):
        return tuple(lanes)
    return None


def remembered_lanes(model: Model, num_envs: int, description: str) -> Lanes | None:
    """What `tune_lanes` chose before, for a batch that describes itself so; None where it was never asked."""
    path = _file(model, num_envs, description)
    try:
        return None if path is None else _allowed(json.loads(path.read_text())["lanes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing or damaged: as if it were the first time


def _probe(make: MakeBatch, model: Model, device: str) -> tuple[str, str]:
    """The device as it is called here, and what a batch on it says of how it runs."""
    with make(model, 1, device) as probe:
        return probe.device, probe.description


def choose(
    make: MakeBatch,
    model: Model,
    num_envs: int,
    device: str,
    timer: Callable[[Model, int, str, Lanes], float],
    parts: Callable[[Model, int, str, int], list[int]],
) -> Lanes:
    """The fastest way to launch a step on this device: remembered, or tried with each number of threads."""
    where, description = _probe(make, model, device)
    if not where.startswith(("cuda", "emulated")):
        raise ValueError(f"device '{device}' is given, which is '{where}' here, and only threads of 'cuda' "
                         "and 'emulated' can be chosen")  # fmt: skip
    kept = remembered_lanes(model, num_envs, description)
    if kept is not None:
        return kept
    times: dict[Lanes, float] = {}
    by_part: list[list[int]] = []
    no_room: MemoryError | None = None
    for lanes in CHOICES:
        by_part.append([])
        try:
            times[lanes] = timer(model, num_envs, device, lanes)
            by_part[-1] = parts(model, num_envs, device, lanes)
        except ValueError as error:
            # a build may have fewer
            if "this build has" not in str(error):
                raise
        except MemoryError as error:
            # in parts, all environments have a workspace: what does not fit is no choice
            no_room = error
    if all(by_part):
        fastest = tuple(CHOICES[int(np.argmin(ticks))] for ticks in zip(*by_part))
        try:
            times[fastest] = timer(model, num_envs, device, fastest)
        except MemoryError:
            pass
    if not times and no_room is not None:
        raise no_room
    best = min(times, key=times.__getitem__)
    path = _file(model, num_envs, description)
    if path is not None:
        tried = [{"lanes": lanes, "seconds": seconds} for lanes, seconds in times.items()]
        _write(path, json.dumps({"lanes": best, "tried": tried, "device": description, "num_envs": num_envs}))
    return best


def tuned_lanes(make: MakeBatch, model: Model, num_envs: int, device: str) -> Lanes | None:
    """`choose` where the choice is one of speed: on a GPU; elsewhere None."""
    where = _probe(make, model, device)[0]
    if not where.startswith("cuda"):
        return None
    return choose(make, model, num_envs, where, partial(seconds_of_step, make), partial(ticks_of_parts, make))


def _write(path: Path, text: str) -> None:
    """Under another name first, so that nobody reads half of it; without a place to write, nothing is kept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(name, path)
    except OSError:
        return

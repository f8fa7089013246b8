"""How many threads share an environment: chosen by trying, remembered on disk. No choice changes a bit."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dualstep import _core
from dualstep.batch import Batch
from dualstep.model import Model

CHOICES = (1, 8, 32)


def seconds_of_step(model: Model, num_envs: int, device: str, lanes: int) -> float:
    """Seconds of a timestep of the batch under random actions: the median of a few calls of five."""
    rng = np.random.default_rng(0)
    low, high = np.where(np.asarray(model.actuator_ctrllimited, bool)[:, None], model.actuator_ctrlrange, (-1.0, 1.0)).T
    with Batch(model, num_envs, device, lanes=lanes) as batch:
        times = []
        for _ in range(8):
            batch.ctrl = rng.uniform(low, high, (num_envs, model.nu)).astype(batch.dtype)
            batch.wait()
            began = time.perf_counter()
            batch.step(5)
            batch.wait()
            times.append((time.perf_counter() - began) / 5)
    # the first calls load and fill; the last ones have the contacts of a fallen robot
    return float(np.median(times[3:]))


def _file(model: Model, num_envs: int, description: str) -> Path | None:
    """Where the choice is kept: by everything that the time follows from."""
    folder = _core.specialization_cache()
    if not folder:
        return None
    # batches of about the same size take the same time
    size = num_envs.bit_length()
    sources = json.dumps(_core.kernel_sources(), sort_keys=True)
    program, compiler = _core.specialized_program(model), _core.describe_specialization()
    key = "\0".join([program, sources, description, str(size), compiler])
    return Path(folder) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.lanes"


def tune_lanes(model: Model, num_envs: int, device: str = "cuda",
               timer: Callable[[Model, int, str, int], float] = seconds_of_step) -> int:
    """The fastest of 1, 8 and 32 threads an environment, for `Batch(..., lanes=...)`, on this device.

    The first time it steps a batch of each; the choice is kept beside the machine code of steps (DUALSTEP_CACHE_DIR),
    and taken from there afterwards. On "cpu" there are no such threads: ValueError.
    """
    with Batch(model, 1, device) as probe:
        if not (probe.device.startswith("cuda") or probe.device == "emulated"):
            raise ValueError(f"device '{device}' is given, which is '{probe.device}' here, and only threads of 'cuda' "
                             "and 'emulated' can be chosen")  # fmt: skip
        where = probe.description
    path = _file(model, num_envs, where)
    if path is not None:
        try:
            kept = json.loads(path.read_text())["lanes"]
            if kept in CHOICES:
                return kept
        except (OSError, ValueError, KeyError, TypeError):
            pass  # missing or damaged: as if it were the first time
    times: dict[int, float] = {}
    for lanes in CHOICES:
        try:
            times[lanes] = timer(model, num_envs, device, lanes)
        except ValueError as error:
            # a build may have fewer
            if "this build has" not in str(error):
                raise
    best = min(times, key=times.__getitem__)
    if path is not None:
        _write(path, json.dumps({"lanes": best, "seconds": times, "device": where, "num_envs": num_envs}))
    return best


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

"""What a batch takes of memory, and what there is: compared before anything is allocated."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from dualstep import _core

# a batch that is surely below this is made without a look
SMALL = 64 << 20


def environment_bytes(model: _core.Model, dtype: Any = np.float32) -> dict[str, int]:
    """Bytes of one environment.

    "state": what every batch keeps, the state twice; "outputs": all of them; "largest": of the state's arrays.
    """
    options = _core.BatchOptions()
    options.num_envs, options.device, options.num_threads = 1, "cpu", 1
    options.float64 = np.dtype(dtype) == np.float64
    batch = _core.Batch(model, options)
    kept = {"state": 0, "outputs": 0, "largest": 0}
    for name, role, *_ in _core.batch_fields():
        size = batch.view(name).nbytes
        kept["largest"] = max(kept["largest"], size if role == "state" else 0)
        kept["outputs" if role == "output" else "state"] += size * (2 if role == "state" else 1)
    return kept


def available() -> int | None:
    """Bytes that this process may still take, by the machine and by its control group; None where that is not known."""
    found: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024 * int(line.split()[1]))
    except OSError:
        pass
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            most = Path(limit).read_text().strip()
            if most != "max":
                # of what is in use, the files that are cached can go
                stat = dict(line.split() for line in Path(used).with_name("memory.stat").read_text().splitlines())
                cached = int(stat.get("inactive_file", stat.get("total_inactive_file", 0)))
                found.append(max(0, int(most) - int(Path(used).read_text()) + cached))
        except (OSError, ValueError):
            continue
    return min(found) if found else None


def check_reference(model: _core.Model) -> None:
    """MemoryError where a reference would take more than there is: what it works with is dense."""
    if os.environ.get("DUALSTEP_NO_MEMORY_CHECK"):
        return
    # M and what a step adds to it, the factors of both, and two more while they are made
    wanted = 6 * 8 * model.nv**2
    there = available() if wanted > SMALL else None
    if there is not None and wanted > there:
        raise MemoryError(
            f"a Reference of {model.nv:,} degrees of freedom takes {shown(wanted)} for matrices of (nv, nv), "
            f"and {shown(there)} is free: a Batch takes models of this size"
        )


def shown(size: float) -> str:
    """12.3 GB"""
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    power = min(int(math.log(max(size, 1), 1000)), len(units) - 1)
    return f"{size / 1000**power:.3g} {units[power]}"


def check(model: _core.Model, num_envs: int, device: str, dtype: Any) -> None:
    """MemoryError where a batch on the host would take more than there is."""
    if device.startswith("cuda") or os.environ.get("DUALSTEP_NO_MEMORY_CHECK"):
        return
    # more than the arrays of any model of this size
    widths = 16 * (model.nq + model.nv + model.nu + model.na + 4) + 8 * 6 * model.nbody + 1024
    if 8 * widths * num_envs < SMALL or (device == "auto" and _core.cuda_device_present()):
        return
    found = environment_bytes(model, dtype)
    # an array is filled from a copy of it
    each = found["state"] + found["largest"]
    wanted, there = each * num_envs, available()
    if there is None or wanted <= there:
        return
    most = int(0.8 * there / each)
    raise MemoryError(
        f"{num_envs:,} environments of {model.nbody - 1:,} bodies take {shown(wanted)} ({shown(each)} each), "
        f"and {shown(there)} is free: "
        f"at most {most:,} fit with room for outputs"
    )

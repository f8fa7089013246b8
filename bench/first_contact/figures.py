"""Steps per second of a model on a GPU, and whether its bits are the CPU's: a line of JSON for each size.

    figures.py MODEL LANES SIZES [once]      # humanoid 8 '[512, 8192]'; once: a few steps, for a profiler or a sanitizer
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time

import numpy as np

import dualstep as ds
from dualstep.cli.common import find_model
from dualstep.measure.receipt import commit
from dualstep.measure.sweep import Plan, Workload, episode
from dualstep.measure.workload import States, host

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUBSTEPS = 5
COMPARED = 64  # first environments, and as many last ones
KEPT = ("qpos", "qvel", "status")


def load(name: str) -> ds.Model:
    """Of bench/models, of those that prepare.sh saved, or of Gymnasium."""
    saved = pathlib.Path(os.environ.get("MODELS_FOLDER", "")) / f"{name}.mjb"
    if saved.is_file():
        import mujoco

        return ds.Model.from_mujoco(mujoco.MjModel.from_binary_path(str(saved)))
    own = ROOT / "bench" / "models" / f"{name}.xml"
    return ds.Model.from_mjcf(own if own.exists() else find_model(name))


def rates(sim: ds.Batch, states: States, ctrl: np.ndarray, blocks: int, calls: int) -> list[float]:
    """Steps per second of blocks that all begin in the same states."""
    found = []
    for _ in range(blocks):
        states.put(sim)
        sim.ctrl = ctrl.astype(sim.dtype)
        sim.wait()
        began = time.perf_counter()
        for _ in range(calls):
            sim.step(SUBSTEPS)
        sim.wait()
        found.append(SUBSTEPS * calls * sim.num_envs / (time.perf_counter() - began))
    return found


def same_bits(sim: ds.Batch, model: ds.Model, states: States, ctrl: np.ndarray, calls: int) -> bool:
    all_envs = np.arange(sim.num_envs)
    some = np.union1d(all_envs[:COMPARED], all_envs[-COMPARED:])
    with ds.Batch(model, len(some), "cpu") as cpu:
        States({name: array[some] for name, array in states.arrays.items()}).put(cpu)
        cpu.ctrl = ctrl[some].astype(cpu.dtype)
        for _ in range(calls):
            cpu.step(SUBSTEPS)
        return all(host(getattr(sim, k))[some].tobytes() == host(getattr(cpu, k)).tobytes() for k in KEPT)


def main() -> int:
    name, lanes, sizes, once = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]), len(sys.argv) > 4
    model, plan = load(name), Plan()
    fast = once or bool(os.environ.get("FAST"))
    pool = episode(model, plan, seconds=0.2 if fast else 2.0)
    blocks, calls = (2, 1) if fast else (7, 4)
    different = 0
    for n in sizes:
        work = Workload(model, "random", plan, pool)
        states, ctrl = work.states(n), work.controls(n)
        with ds.Batch(model, n, "cuda", lanes=lanes) as sim:
            found = rates(sim, states, ctrl, blocks, calls)
            same = same_bits(sim, model, states, ctrl, calls)
            line = {
                "model": name, "lanes": lanes, "n": n, "same_bits": same, "median": round(float(np.median(found[1:]))),
                "rates": [round(rate) for rate in found], "how": sim.description, "commit": commit(ROOT),
                "choices": {k: v for k, v in os.environ.items() if k.startswith("DUALSTEP_") and "DIR" not in k},
            }  # fmt: skip
        different += not same
        print(json.dumps(line), flush=True)
        if not once:
            with open(os.path.join(os.environ.get("OUT", "/tmp"), "figures.jsonl"), "a") as out:
                out.write(json.dumps(line) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

"""Steps per second over batch sizes, as MuJoCo Warp's own benchmark takes them, with what the figures are worth.

Two workloads:
    keyframe  every environment starts at keyframe 0; controls are those of the keyframe plus noise, an
              Ornstein-Uhlenbeck process of 0.01 of the range at 0.1 s (the defaults of mjwarp-testspeed, but uniform
              numbers of NumPy instead of a Halton sequence); a call is one timestep
    random    environments are put again and again into states from all parts of an episode; random actions, each held
              for some timesteps, which are one call

A call is timed from its launch until the device is done; controls and states are put in place before, untimed. After
every block of calls the accelerations of some environments are compared with the converged solution of their step, and
environments that diverged, overflowed or did not converge are counted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dualstep.batch import Batch
from dualstep.measure.accuracy import TARGET, Unchecked
from dualstep.measure.sides import Side
from dualstep.measure.throughput import middle, spread
from dualstep.measure.workload import Controls, States, play
from dualstep.model import Model

WORKLOADS = ("keyframe", "random")
NOISE, NOISE_SECONDS = 0.01, 0.1


@dataclass
class Plan:
    """How long and how carefully a point of a sweep is measured."""

    seconds: float = 3.0
    """of timed calls"""
    calls: int = 20
    """of a block, at least; as many as fill its time, but not thousands"""
    blocks: int = 15
    substeps: int = 5
    """timesteps that a random action is held for"""
    samples: int = 64
    """environments whose error is measured, each block"""
    seed: int = 0


@dataclass
class Workload:
    """Where environments start, and their controls. The same numbers for every side."""

    model: Model
    name: str
    plan: Plan
    pool: States
    """of an episode"""
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.plan.seed)
        self._controls = Controls(self.model, self.rng)
        m = self.model.mj_model
        keyed = m.nkey > 0
        with Batch(self.model, 1, "cpu", "float64") as batch:
            reset = {name: array[0] for name, array in States.of(batch).arrays.items()}
        self._start = reset | {
            "qpos": m.key_qpos[0] if keyed else m.qpos0,
            "qvel": m.key_qvel[0] if keyed else np.zeros(m.nv),
            "act": m.key_act[0] if keyed else np.zeros(m.na),
            "qacc_warmstart": np.zeros(m.nv),
        }
        self._centre = m.key_ctrl[0].copy() if keyed else np.zeros(m.nu)
        limited = np.asarray(m.actuator_ctrllimited, bool)
        self._low = np.where(limited, m.actuator_ctrlrange[:, 0], -np.inf)
        self._high = np.where(limited, m.actuator_ctrlrange[:, 1], np.inf)
        self._half = np.where(limited, (m.actuator_ctrlrange[:, 1] - m.actuator_ctrlrange[:, 0]) / 2, 1.0)
        self._ctrl: np.ndarray | None = None

    @property
    def substeps(self) -> int:
        return 1 if self.name == "keyframe" else self.plan.substeps

    def states(self, num_envs: int) -> States:
        """Where a block begins; a block of the first workload goes on where the last one ended."""
        if self.name == "random":
            return self.pool.take(self.rng.integers(len(self.pool), size=num_envs))
        return States({name: np.repeat(array[None], num_envs, axis=0) for name, array in self._start.items()})

    def controls(self, num_envs: int) -> np.ndarray:
        if self.name == "random":
            return self._controls.draw(num_envs)
        if self._ctrl is None:
            self._ctrl = np.tile(self._centre, (num_envs, 1))
        rate = np.exp(-self.model.opt.timestep / NOISE_SECONDS)
        noise = NOISE * np.sqrt(1 - rate**2) * self._half * self.rng.uniform(-1, 1, self._ctrl.shape)
        ctrl = np.clip(rate * self._ctrl + (1 - rate) * self._centre + noise, self._low, self._high)
        self._ctrl = ctrl
        return ctrl.astype(np.float32)


def episode(model: Model, plan: Plan, seconds: float = 2.0, count: int = 32) -> States:
    """States of all parts of an episode, from the CPU whatever is measured: the same for every side."""
    rng = np.random.default_rng(plan.seed)
    with Batch(model, count, "cpu") as batch:
        states = play(batch, Controls(model, rng), plan.substeps, seconds, rng).states
    good = np.isfinite(states.arrays["qpos"]).all(axis=1) & np.isfinite(states.arrays["qvel"]).all(axis=1)
    return states.take(np.flatnonzero(good))


def capacities(model: Model, pool: States) -> tuple[int, int]:
    """Contacts and rows of a world that hold every state of an episode twice over, for peers that want to know."""
    import mujoco

    mj_model = model.mj_model
    data = mujoco.MjData(mj_model)
    contacts = rows = 0
    for i in range(0, len(pool), max(1, len(pool) // 200)):
        data.qpos[:], data.qvel[:] = pool.arrays["qpos"][i], pool.arrays["qvel"][i]
        mujoco.mj_forward(mj_model, data)
        contacts, rows = max(contacts, data.ncon), max(rows, data.nefc)
    return max(16, 2 * contacts), max(32, 2 * rows)


def measure(side: Side, workload: Workload, num_envs: int) -> dict[str, Any]:
    """The figures of one point, as plain numbers. Raises Unchecked where they could not be checked."""
    plan, substeps = workload.plan, workload.substeps
    samples = min(plan.samples, num_envs)
    rates: list[float] = []
    errors: list[np.ndarray] = []
    counts = {"diverged": 0, "overflowed": 0, "unconverged": 0}
    for block in range(plan.blocks):
        if block == 0 or workload.name == "random":
            side.put(workload.states(num_envs))
        # warms up, and says how long a call takes
        once = min(_call(side, workload, num_envs, substeps) for _ in range(2))
        calls = max(plan.calls, min(500, round(plan.seconds / plan.blocks / once)))
        spent = sum(_call(side, workload, num_envs, substeps) for _ in range(calls))
        rates.append(calls * substeps * num_envs / spent)
        before = side.states(samples)
        ctrl = workload.controls(num_envs)
        side.control(ctrl)
        errors.append(side.errors(before, ctrl[:samples], side.accelerations(samples)))
        for name, count in side.counts().items():
            counts[name] = -1 if count < 0 else counts[name] + count
    side.check()
    found = np.concatenate(errors)
    if not np.isfinite(found).all():
        raise Unchecked("an error is not finite")
    accuracy = {**spread(found), "samples": samples * plan.blocks, "constrained": int(found.size)}
    accuracy["met"] = bool(not found.size or (accuracy["median"] <= TARGET[0] and accuracy["p95"] <= TARGET[1]))
    return {
        "side": side.name,
        "version": side.version,
        "runs_on": side.runs_on,
        "workload": workload.name,
        "num_envs": num_envs,
        "steps_per_second": middle(rates),
        "accuracy": accuracy,
        "counts": {**counts, "of": num_envs * plan.blocks},
    }


def _call(side: Side, workload: Workload, num_envs: int, substeps: int) -> float:
    """Seconds from the launch until the device is done."""
    side.control(workload.controls(num_envs))
    side.wait()
    began = time.perf_counter()
    side.step(substeps)
    side.wait()
    return time.perf_counter() - began

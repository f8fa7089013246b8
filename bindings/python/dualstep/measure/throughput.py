"""Steps per second of a batch under random actions, interleaved with a peer, and the accuracy of those same steps.

A measurement is a row of blocks. Each block puts both sides into the same states, drawn from all parts of an
episode, gives both the same actions, and times first one, then the other; figures are medians over the blocks, so
that what else the machine does falls on both. The states at a block's end are one step later compared with the
converged solution of that step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dualstep.batch import Batch, Status
from dualstep.measure.accuracy import TARGET, Converged, Unchecked
from dualstep.measure.peer import Peer
from dualstep.measure.workload import Controls, Episode, States, host, play
from dualstep.model import Model


@dataclass
class Settings:
    num_envs: int = 4096
    device: str = "auto"
    dtype: str = "float32"
    num_threads: int = 0
    substeps: int = 5
    """timesteps that an action is held for"""
    seed: int = 0
    seconds: float = 20.0
    """of the timed part, both sides together"""
    episode: float = 2.0
    """simulated time that the states are drawn from [s]"""
    samples: int = 64
    """environments whose accuracy is measured, each block"""
    peer: bool = True
    effort: float = 1.0
    """of the controls: 1 draws from their whole ranges, 0 leaves them at zero"""


@dataclass
class Blocks:
    """What was timed: one entry a block."""

    wall: list[float] = field(default_factory=list)
    """steps per second"""
    core: list[float] = field(default_factory=list)
    """steps per second of processor time"""

    def add(self, steps: int, wall: float, processor: float) -> None:
        self.wall.append(steps / wall)
        self.core.append(steps / max(processor, 1e-9))


@dataclass
class Measurement:
    model: dict[str, Any]
    settings: dict[str, Any]
    runs_on: str
    blocks: Blocks
    errors: np.ndarray
    """of the states with an active constraint"""
    residuals: np.ndarray
    iterations: float
    contacts: float
    status: dict[str, int]
    """environments that a bit of `status` was set for, summed over the blocks"""
    environments: int
    """how many they were of"""
    sampled: int
    converged: dict[str, Any]
    episode: Episode
    stages: dict[str, float]
    """share of the processor's ticks that each stage of a step took, largest first; empty on other devices"""
    peer_version: str | None = None
    peer_envs: int = 0
    peer_blocks: Blocks | None = None
    peer_errors: np.ndarray | None = None

    def accurate(self) -> bool:
        """Whether the accuracy is what a benchmark's settings promise."""
        return not self.errors.size or all(
            np.quantile(self.errors, q) <= bound for q, bound in zip((0.5, 0.95), TARGET, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, as plain numbers."""
        out: dict[str, Any] = {
            "model": self.model,
            "settings": self.settings,
            "runs_on": self.runs_on,
            "steps_per_second": middle(self.blocks.wall),
            # a device that is no CPU leaves the processor idle
            "steps_per_core_second": middle(self.blocks.core) if self.runs_on.startswith("cpu") else None,
            "accuracy": {
                **spread(self.errors),
                "samples": self.sampled,
                "constrained": int(self.errors.size),
                "target": {"median": TARGET[0], "p95": TARGET[1]},
                "met": self.accurate(),
                "converged": self.converged,
            },
            "residual": spread(self.residuals),
            "iterations": self.iterations,
            "contacts": self.contacts,
            "status": {**self.status, "of": self.environments},
            "stages": self.stages,
            "peer": None,
        }
        if self.peer_blocks is not None and self.peer_errors is not None:
            out["peer"] = {
                "name": "mujoco.batch",
                "version": self.peer_version,
                "num_envs": self.peer_envs,
                "steps_per_second": middle(self.peer_blocks.wall),
                "steps_per_core_second": middle(self.peer_blocks.core),
                "accuracy": spread(self.peer_errors),
                "ratio": middle(np.array(self.blocks.wall) / np.array(self.peer_blocks.wall)),
                "core_ratio": middle(np.array(self.blocks.core) / np.array(self.peer_blocks.core))
                if self.runs_on.startswith("cpu")
                else None,
            }
        return out


def middle(values: Any) -> dict[str, float]:
    """Median and quartiles."""
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    return {"median": float(median), "low": float(low), "high": float(high), "blocks": len(values)}


def spread(values: np.ndarray) -> dict[str, float | None]:
    """Quantiles; None where there are no values."""
    names = {"median": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: float(np.quantile(values, q)) if len(values) else None for name, q in names.items()}


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds, and seconds of processor time of all threads."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


class _Bench:
    """Both sides, and what they are given."""

    BLOCKS = 15
    POOL = 32

    def __init__(self, model: Model, settings: Settings) -> None:
        self.model, self.settings = model, settings
        self.rng = np.random.default_rng(settings.seed)
        self.controls = Controls(model, self.rng, settings.effort)
        self.batch = Batch(
            model,
            settings.num_envs,
            settings.device,
            settings.dtype,
            settings.num_threads,
            settings.seed,
            lanes="tuned",
        )
        self.peer = Peer(model, min(settings.num_envs, 1024), settings.num_threads) if settings.peer else None
        self.samples = min(settings.samples, settings.num_envs)
        self.converged = Converged(model, self.samples)

    def episode(self) -> Episode:
        """The states to draw from: a few environments from the reset state on."""
        s = self.settings
        count = min(self.POOL, s.num_envs)
        with Batch(self.model, count, s.device, s.dtype, s.num_threads) as batch:
            return play(batch, self.controls, s.substeps, s.episode, self.rng)

    def step(self, controls: np.ndarray) -> None:
        batch, substeps = self.batch, self.settings.substeps
        for ctrl in controls:
            batch.ctrl = ctrl
            batch.step(substeps)
        # waits for a device that runs by itself
        host(batch.status)

    def length(self, step: Callable[[np.ndarray], None], num_envs: int, block: float) -> int:
        """How many changes of action fill the time of a block."""
        once = timed(lambda: step(self.draw(1, num_envs)))[0]
        return max(1, round(block / once))

    def draw(self, times: int, num_envs: int) -> np.ndarray:
        return self.controls.draw(times, num_envs, dtype=self.batch.dtype)


def measure(model: Model, settings: Settings, name: str = "model",
            progress: Callable[[float, str], None] = lambda done, note: None) -> Measurement:
    """Measures a model. Raises Unchecked where the accuracy of the figures could not be established."""
    bench = _Bench(model, settings)
    batch, peer, rng, substeps = bench.batch, bench.peer, bench.rng, settings.substeps
    progress(0.0, "states of an episode")
    episode = bench.episode()
    pool = episode.states
    block_seconds = settings.seconds / (2 if peer else 1) / bench.BLOCKS

    def start(side: Batch | Peer, states: States) -> None:
        side_is_ours = isinstance(side, Batch)
        states.put(side) if side_is_ours else side.put(states)

    blocks, peer_blocks = Blocks(), Blocks()
    errors, peer_errors, residuals, iterations, contacts = [], [], [], [], []
    bits = {str(bit.name): 0 for bit in Status}
    times = peer_times = 0
    for k in range(bench.BLOCKS):
        states = pool.take(rng.integers(len(pool), size=settings.num_envs))
        start(batch, states)
        # the first actions warm both up, untimed
        bench.step(bench.draw(1, settings.num_envs))
        times = times or bench.length(bench.step, settings.num_envs, block_seconds)
        actions = bench.draw(times, settings.num_envs)
        blocks.add(times * settings.num_envs * substeps, *timed(lambda: bench.step(actions)))
        if peer:
            start(peer, states.take(np.arange(peer.count)))
            peer.step(bench.draw(1, peer.count), substeps)
            peer_times = peer_times or bench.length(lambda c: peer.step(c, substeps), peer.count, block_seconds)
            actions = bench.draw(peer_times, peer.count)
            peer_blocks.add(
                peer_times * peer.count * substeps, *timed(lambda: peer.step(actions, substeps))
            )
        residuals.append(host(batch.residual))
        iterations.append(host(batch.iterations).mean())
        # the number alone: contacts() would have every later step write positions, frames and forces too
        contacts.append(host(batch._view("contact_count")).mean())
        found = _sample(bench)
        errors.append(found[0])
        if peer:
            peer_errors.append(found[1])
        status = host(batch.status)
        for bit in Status:
            bits[str(bit.name)] += int(np.count_nonzero(status & bit))
        speed = np.median(blocks.wall)
        progress((k + 1) / bench.BLOCKS, f"{speed:,.0f} steps/s" + _ratio(blocks, peer_blocks))

    stages = _stages(bench, times)
    bench.converged.demand()
    errors = np.concatenate(errors)
    if not np.isfinite(errors).all():
        raise Unchecked("an error is not finite")
    return Measurement(
        model={"name": name, "nq": model.nq, "nv": model.nv, "nu": model.nu, "timestep": model.opt.timestep,
               "integrator": model.opt.integrator, "cone": model.opt.cone, "solver": model.opt.solver},
        settings=asdict(settings),
        runs_on=batch.description,
        blocks=blocks,
        errors=errors,
        residuals=np.concatenate(residuals),
        iterations=float(np.mean(iterations)),
        contacts=float(np.mean(contacts)),
        status=bits,
        environments=settings.num_envs * bench.BLOCKS,
        sampled=bench.converged.solved,
        converged={
            "untrusted": bench.converged.untrusted,
            "residual": bench.converged.worst_residual,
            "states_checked_by_reference": bench.converged.checked,
            "reference_disagreement": bench.converged.worst_disagreement,
        },
        episode=episode,
        stages=stages,
        peer_version=peer.version if peer else None,
        peer_envs=peer.count if peer else 0,
        peer_blocks=peer_blocks if peer else None,
        peer_errors=np.concatenate(peer_errors) if peer else None,
    )


def check(model: Model, settings: Settings) -> Converged:
    """Solves steps of an episode to convergence, and compares them with the reference; nothing is timed.

    Raises Unchecked where they disagree, or where there is no reference of this model to compare with.
    """
    bench = _Bench(model, settings)
    if not bench.converged.has_reference:
        raise Unchecked("there is no reference of this model, or none in this build")
    states = bench.episode().states
    states.take(bench.rng.integers(len(states), size=settings.num_envs)).put(bench.batch)
    bench.step(bench.draw(1, settings.num_envs))
    _sample(bench)
    bench.converged.demand()
    return bench.converged


def _stages(bench: _Bench, times: int) -> dict[str, float]:
    """Where the time of one more block goes. Apart from the timed ones: reading the clock costs a little."""
    core = bench.batch._core
    core.time_stages(True)
    bench.step(bench.draw(times, bench.settings.num_envs))
    ticks = core.stage_ticks()
    core.time_stages(False)
    whole = sum(ticks.values())
    return {name: count / whole for name, count in sorted(ticks.items(), key=lambda item: -item[1]) if count}


def _ratio(blocks: Blocks, peer_blocks: Blocks) -> str:
    if not peer_blocks.wall:
        return ""
    return f", {np.median(np.array(blocks.wall) / np.array(peer_blocks.wall)):.2f} x mujoco.batch"


def _sample(bench: _Bench) -> tuple[np.ndarray, np.ndarray]:
    """One more step as the rollout takes it, compared with its converged solution; the peer at the same states."""
    batch, n = bench.batch, bench.samples
    states = States.of(batch, n)
    ctrl = host(batch.ctrl)[:n]
    batch.step(1)
    ours = bench.converged.error(states, ctrl, host(batch.qacc)[:n])
    theirs = np.empty(0)
    if bench.peer:
        finite = np.isfinite(states.arrays["qpos"]).all(axis=1) & np.isfinite(states.arrays["qvel"]).all(axis=1)
        theirs = bench.peer.error(states.take(np.flatnonzero(finite)), ctrl[finite])
    return ours, theirs

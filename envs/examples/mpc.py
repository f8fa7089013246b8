"""Predictive sampling by rollouts of a batch: swings Gymnasium's pole up and balances it, and has its walker walk.

    python -m dualstep.envs.examples.mpc --samples 256 --horizon 0.8
    python -m dualstep.envs.examples.mpc walker

A plan is a control at each of a few knots, with straight lines between them. At every step the plan of the step before,
moved on in time, and `samples` - 1 noisy copies of it are rolled out from the present state; the cheapest is kept. See
Howell et al. 2022, Predictive Sampling: Real-time Behaviour Synthesis with MuJoCo.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import dualstep as ds
from dualstep.cli.common import not_negative, positive, positive_number

Cost = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Planner:
    """`cost(qpos, qvel, ctrl)` of arrays (T, N, ...) is (T, N), to be small; its sum over a plan is what counts."""

    def __init__(self, model: ds.Model, cost: Cost, *, samples: int = 256, horizon: float = 0.8, period: float = 0.02,
                 knots: int = 6, noise: float = 0.3, num_threads: int = 0, seed: int = 0) -> None:  # fmt: skip
        for name, value in {"samples": samples, "horizon": horizon, "period": period, "knots": knots}.items():
            if not value > 0:
                raise ValueError(f"{name} {value} is given, and it must be positive")
        self.nsubsteps = max(1, round(period / model.opt.timestep))
        self._steps = max(1, round(horizon / (self.nsubsteps * model.opt.timestep)))
        self._sim = ds.Batch(model, samples, num_threads=num_threads)
        self._cost, self._rng = cost, np.random.default_rng(seed)
        self._low, self._high = np.asarray(model.actuator_ctrlrange).reshape(-1, 2).T
        # some samples stay near the plan, to hold still, and some go far, to find another
        scale = noise * np.geomspace(0.1, 2.0, samples)
        self._size = scale[:, None, None] * (self._high - self._low) / 2
        self._plan = np.zeros((knots, model.nu))
        # what a knot counts for at each step
        at = np.linspace(0, knots - 1, self._steps)
        self._weights = np.maximum(0, 1 - abs(at[:, None] - np.arange(knots)))
        self._shift = np.minimum(np.arange(knots) + (knots - 1) / max(self._steps - 1, 1), knots - 1)

    @property
    def steps_per_plan(self) -> int:
        return self._steps * self.nsubsteps * self._sim.num_envs

    def plan(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """The control for now, (nu,), from the state that is there."""
        knots = np.arange(len(self._plan))
        moved = np.stack([np.interp(self._shift, knots, column) for column in self._plan.T], axis=1)
        drawn = moved + self._size * self._rng.standard_normal((self._sim.num_envs, *moved.shape))
        drawn[0] = moved
        plans = np.clip(drawn, self._low, self._high)
        ctrl = np.einsum("tk,nku->tnu", self._weights, plans)
        sim = self._sim
        sim.reset()
        sim.qpos[:], sim.qvel[:] = qpos, qvel
        found = sim.rollout(ctrl, self.nsubsteps)
        total = self._cost(found["qpos"], found["qvel"], ctrl).sum(axis=0)
        # a rollout that diverged is no plan
        self._plan = plans[int(np.argmin(np.where(np.isfinite(total), total, np.inf)))]
        return self._plan[0]


def pendulum() -> tuple[ds.Model, Cost]:
    """Gymnasium's pole on a cart, whose hinge goes all the way round, and what it costs not to stand in the middle."""
    import mujoco

    from dualstep._models import path_of

    spec = mujoco.MjSpec.from_file(str(path_of("inverted_pendulum")))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0

    def cost(qpos: np.ndarray, qvel: np.ndarray, ctrl: np.ndarray) -> np.ndarray:
        angle = qpos[..., 1]
        return (1 - np.cos(angle)) + 0.5 * qpos[..., 0] ** 2 + 0.01 * qvel[..., 1] ** 2 + 1e-3 * ctrl[..., 0] ** 2

    return ds.Model.from_mujoco(spec.compile()), cost


def walker(speed: float = 1.0) -> tuple[ds.Model, Cost]:
    """Gymnasium's planar walker, in steps of 5 ms, and what it costs not to go forward upright at `speed`, in m/s."""
    import mujoco

    from dualstep._models import path_of

    spec = mujoco.MjSpec.from_file(str(path_of("walker2d")))
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    spec.option.timestep = 0.005

    def cost(qpos: np.ndarray, qvel: np.ndarray, ctrl: np.ndarray) -> np.ndarray:
        height, pitch = qpos[..., 1], qpos[..., 2]
        crouched, fallen = np.minimum(height - 1.1, 0), height < 0.9
        leaning = 2 * pitch**2 + 0.05 * qvel[..., 2] ** 2
        return abs(qvel[..., 0] - speed) + 60 * crouched**2 + 10 * fallen + leaning + 0.02 * (ctrl**2).sum(axis=-1)

    return ds.Model.from_mujoco(spec.compile()), cost


class Robot(NamedTuple):
    """What is planned for, where it starts, and what there is to say of a motion (T, nq) with so many rows a second."""

    problem: Callable[[], tuple[ds.Model, Cost]]
    start: dict[int, float]
    describe: Callable[[np.ndarray, int], dict[str, float]]
    noise: float


def describe_pendulum(qpos: np.ndarray, second: int) -> dict[str, float]:
    angle = abs((qpos[-second:, 1] + np.pi) % (2 * np.pi) - np.pi)
    return {"largest angle in the last second, rad": float(angle.max())}


def describe_walker(qpos: np.ndarray, second: int) -> dict[str, float]:
    return {"distance, m": float(qpos[-1, 0]), "least height, m": float(qpos[:, 1].min())}


ROBOTS = {
    "pendulum": Robot(pendulum, {1: np.pi}, describe_pendulum, noise=0.3),
    "walker": Robot(walker, {}, describe_walker, noise=0.6),
}


def run(robot: str, samples: int, horizon: float, seconds: float, seed: int, num_threads: int = 0) -> dict[str, float]:
    """What there is to say of its motion; plans a second, those that keep up with its clock, steps of the model."""
    problem, start, describe, noise = ROBOTS[robot]
    model, cost = problem()
    planner = Planner(model, cost, samples=samples, horizon=horizon, noise=noise, num_threads=num_threads, seed=seed)
    plant = ds.Batch(model, 1, num_threads=1, dtype="float64")
    for number, value in start.items():
        plant.qpos[:, number] = value
    period = planner.nsubsteps * model.opt.timestep
    motion, spent = [], 0.0
    for _ in range(max(1, round(seconds / period))):
        began = time.perf_counter()
        control = planner.plan(plant.qpos[0], plant.qvel[0])
        spent += time.perf_counter() - began
        plant.ctrl[:] = control
        plant.step(planner.nsubsteps)
        motion.append(plant.qpos[0].copy())
    plans = len(motion) / spent
    return {**describe(np.stack(motion), max(1, round(1 / period))), "plans_per_second": plans,
            "needed_per_second": 1 / period, "steps_per_second": plans * planner.steps_per_plan}  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("robot", nargs="?", choices=ROBOTS, default="pendulum")
    parser.add_argument("--samples", type=positive, default=256)
    parser.add_argument("--horizon", type=positive_number, default=0.8, help="seconds that a plan looks ahead")
    parser.add_argument("--seconds", type=positive_number, default=6.0)
    parser.add_argument("--seed", type=not_negative, default=0)
    args = parser.parse_args(argv)
    found = run(args.robot, args.samples, args.horizon, args.seconds, args.seed)
    plans, needed, steps = (found.pop(name) for name in ("plans_per_second", "needed_per_second", "steps_per_second"))
    for what, value in found.items():
        print(f"{what}: {value:.3f}")
    print(f"{plans:.0f} plans a second, where {needed:.0f} are needed to keep up: {steps:,.0f} steps a second")


if __name__ == "__main__":
    main()

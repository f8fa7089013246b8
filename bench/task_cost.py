"""What the functions of a task cost beside its physics, and what is around both.

    python bench/task_cost.py                # all tasks, as many environments as their training has, on one thread
    python bench/task_cost.py Humanoid Ant   # some of them

Random actions of a tenth of the range; the environments have run for a while and reset as they do in a training. "functions"
are those that a task is made of (reset, observe, reward, ...), "physics" the batch's steps; "rest" is what the environments do
themselves: spaces, episodes, random draws, forward kinematics where an episode begins.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dualstep as ds
from dualstep.envs import registry
from dualstep.envs.training.settings import settings_of

FUNCTIONS = ("control", "events", "reset", "observe", "reward", "terminated", "track", "info")
ROUNDS, STEPS = 7, 40


class Clock:
    """Seconds spent in functions that do not call each other."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self.seconds += time.perf_counter() - began

        return timed


def measure(task: str) -> tuple[int, float, float, float]:
    """Environments, microseconds of a step of one environment in physics, functions, rest: medians over rounds."""
    count = settings_of(task).num_envs
    env = ds.envs.make(task, count, device="cpu", num_threads=1, nonfinite="clamp")
    functions, physics = Clock(), Clock()
    for name in FUNCTIONS:
        setattr(env.task, name, functions.around(getattr(env.task, name)))
    env._advance = physics.around(env._advance)  # pyright: ignore[reportAttributeAccessIssue]
    rng = np.random.default_rng(0)
    bounds = np.clip(env.single_action_space.high, 0, 1)
    env.reset(seed=0)
    found = []
    for repeat in range(ROUNDS + 1):
        actions = 0.1 * bounds * rng.uniform(-1, 1, (STEPS, count, bounds.size)).astype(np.float32)
        functions.seconds = physics.seconds = 0.0
        began = time.perf_counter()
        for action in actions:
            env.step(action)
        whole = time.perf_counter() - began
        if repeat > 0:  # the first one warms up
            found.append((physics.seconds, functions.seconds, whole - physics.seconds - functions.seconds))
    env.close()
    medians = [1e6 * statistics.median(column) / (STEPS * count) for column in zip(*found, strict=True)]
    return count, medians[0], medians[1], medians[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    given = parser.parse_args()
    print("| task | environments | physics [us] | functions [us] | rest [us] | functions / physics |")
    print("|---|---|---|---|---|---|")
    for task in given.tasks or registry.names():
        try:
            count, physics, functions, rest = measure(task)
        except ImportError as error:
            print(f"| {task} | not measured: {error} | | | | |")
            continue
        print(f"| {task} | {count} | {physics:.2f} | {functions:.2f} | {rest:.2f} | {functions / physics:.2f} |", flush=True)


if __name__ == "__main__":
    main()

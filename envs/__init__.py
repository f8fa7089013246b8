"""Reinforcement learning tasks over batches: `make` gives a `gymnasium.vector.VectorEnv`.

Importing dualstep registers each task with Gymnasium: `gymnasium.make_vec("dualstep/Ant-v0", num_envs=64)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualstep.envs.registry import names, register_task, tell_gymnasium

if TYPE_CHECKING:
    from dualstep.envs.compiled import cpp_task
    from dualstep.envs.draws import Draws
    from dualstep.envs.randomize import Vary
    from dualstep.envs.single import SingleEnv
    from dualstep.envs.task import Task, View
    from dualstep.envs.vector import BatchEnv

__all__ = [
    "BatchEnv", "Draws", "SingleEnv", "Task", "Vary", "View", "cpp_task", "make", "make_single", "names",
    "register_task",
]  # fmt: skip

_HOMES = {
    "BatchEnv": "vector", "SingleEnv": "single", "Task": "task", "View": "task", "Draws": "draws", "Vary": "randomize",
    "cpp_task": "compiled",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # gymnasium is needed from here on, and not before
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    from dualstep.envs.arrays import require

    require("gymnasium", "envs")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def make(name: str, num_envs: int = 1, **options: Any) -> BatchEnv:
    """A vector environment of a task: "Ant", "Ant-v0" and "dualstep/Ant-v0" are the same.

    `options` are those of the task (for Gymnasium's tasks, the keyword arguments of their v5 classes) and those of
    `BatchEnv`: device, dtype, num_threads, lanes, seed, output, autoreset_mode, max_episode_steps, nonfinite,
    randomize, render_mode, contact (a law of contact, options of the model, or several: `envs/contact.py`).
    """
    from dualstep.envs.arrays import require

    require("gymnasium", "envs")
    from dualstep.envs.making import make_batch_env

    return make_batch_env(name, num_envs, options)


def make_single(name: str, **options: Any) -> SingleEnv:
    """One environment, as a `gymnasium.Env`; without a time limit of its own, since `gymnasium.make` adds one."""
    from dualstep.envs.arrays import require

    require("gymnasium", "envs")
    from dualstep.envs.randomize import Vary
    from dualstep.envs.single import SingleEnv

    return SingleEnv(name, **options)


tell_gymnasium()

"""The tasks by name, and their registration with Gymnasium."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from typing import Any, NamedTuple

_NAMESPACE = "dualstep"
_VERSION = "v0"


class Entry(NamedTuple):
    task: str | type
    """a subclass of Task, or "module:class" that is imported when it is asked for"""
    max_episode_steps: int | None
    reward_threshold: float | None = None


_entries: dict[str, Entry] = {
    "Go1Joystick": Entry("dualstep.envs.tasks.unitree:Go1", 1000),
    "G1Joystick": Entry("dualstep.envs.tasks.unitree:G1Robot", 1000),
    "Ant": Entry("dualstep.envs.tasks.ant:Ant", 1000, 6000.0),
    "HalfCheetah": Entry("dualstep.envs.tasks.half_cheetah:HalfCheetah", 1000, 4800.0),
    "Hopper": Entry("dualstep.envs.tasks.hopper:Hopper", 1000, 3800.0),
    "Humanoid": Entry("dualstep.envs.tasks.humanoid:Humanoid", 1000),
    "HumanoidStandup": Entry("dualstep.envs.tasks.humanoid:HumanoidStandup", 1000),
    "InvertedDoublePendulum": Entry("dualstep.envs.tasks.pendulums:InvertedDoublePendulum", 1000, 9100.0),
    "InvertedPendulum": Entry("dualstep.envs.tasks.pendulums:InvertedPendulum", 1000, 950.0),
    "Pusher": Entry("dualstep.envs.tasks.arms:Pusher", 100, 0.0),
    "Reacher": Entry("dualstep.envs.tasks.arms:Reacher", 50, -3.75),
    "Swimmer": Entry("dualstep.envs.tasks.swimmer:Swimmer", 1000, 360.0),
    "Walker2d": Entry("dualstep.envs.tasks.walker2d:Walker2d", 1000),
}


def names() -> list[str]:
    """The names of the tasks."""
    return sorted(_entries)


def short_name(name: str) -> str:
    """"dualstep/Ant-v0" and "Ant-v0" are "Ant"."""
    return name.removeprefix(_NAMESPACE + "/").removesuffix("-" + _VERSION)


def find(name: str) -> tuple[str, Entry]:
    """The task of this name; where there is none, ValueError lists the near ones."""
    short = short_name(name) if isinstance(name, str) else repr(name)
    if short in _entries:
        return short, _entries[short]
    lower = {known.lower(): known for known in _entries}
    near = [lower[word] for word in difflib.get_close_matches(short.lower(), lower, n=3, cutoff=0.5)]
    hint = f"near it are: {', '.join(near)}" if near else f"the tasks are: {', '.join(names())}"
    raise ValueError(f"there is no task '{name}'; {hint}")


def task_class(entry: Entry) -> type:
    if isinstance(entry.task, type):
        return entry.task
    module, _, attribute = entry.task.partition(":")
    return getattr(importlib.import_module(module), attribute)


def register_task(
    name: str,
    task: str | type,
    max_episode_steps: int | None = 1000,
    reward_threshold: float | None = None,
) -> None:
    """Makes a task known by a name: to `make`, and to Gymnasium as "dualstep/<name>-v0"."""
    _entries[name] = Entry(task, max_episode_steps, reward_threshold)
    _tell_gymnasium(name)


def _tell_gymnasium(name: str) -> None:
    if importlib.util.find_spec("gymnasium") is None:
        return
    import gymnasium

    entry = _entries[name]
    spec: dict[str, Any] = {
        "id": f"{_NAMESPACE}/{name}-{_VERSION}",
        "entry_point": "dualstep.envs:make_single",
        "vector_entry_point": "dualstep.envs:make",
        "max_episode_steps": entry.max_episode_steps,
        "reward_threshold": entry.reward_threshold,
        "kwargs": {"name": name},
    }
    gymnasium.registry.pop(spec["id"], None)
    gymnasium.register(**spec)


def tell_gymnasium() -> None:
    """Registers every task with Gymnasium, where that is installed."""
    for name in _entries:
        _tell_gymnasium(name)

"""The tasks by name, and their registration with Gymnasium."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import numbers
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_NAMESPACE = "dualstep"
_VERSION = "v0"


class Entry(NamedTuple):
    task: str | type
    """a subclass of Task, or "module:class" that is imported when it is asked for"""
    max_episode_steps: int | None
    reward_threshold: float | None = None
    source: str | None = None
    """what `find` took it from: "module:class" or "path/to/file.py:class"; None where it is known by its name alone"""
    family: str = "your own"
    """where tasks are listed, those that come from one place are together"""
    suite: tuple[str, str] | None = None
    """domain and task of dm_control's suite"""


GYMNASIUM, ROBOTS, SUITE = FAMILIES = "Gymnasium's", "robots, with models of other packages", "dm_control's suite"

_entries: dict[str, Entry] = {
    "Go1Joystick": Entry("dualstep.envs.tasks.unitree:Go1", 1000, family=ROBOTS),
    "G1Joystick": Entry("dualstep.envs.tasks.unitree:G1Robot", 1000, family=ROBOTS),
    "Ant": Entry("dualstep.envs.tasks.ant:Ant", 1000, 6000.0, family=GYMNASIUM),
    "HandReorient": Entry("dualstep.envs.tasks.hand:HandReorient", 400, family=ROBOTS),
    "MyoReach": Entry("dualstep.envs.tasks.muscles:MyoReach", 100, family=ROBOTS),
    "PandaLift": Entry("dualstep.envs.tasks.panda:PandaLift", 200, family=ROBOTS),
    "HalfCheetah": Entry("dualstep.envs.tasks.half_cheetah:HalfCheetah", 1000, 4800.0, family=GYMNASIUM),
    "Hopper": Entry("dualstep.envs.tasks.hopper:Hopper", 1000, 3800.0, family=GYMNASIUM),
    "Humanoid": Entry("dualstep.envs.tasks.humanoid:Humanoid", 1000, family=GYMNASIUM),
    "HumanoidStandup": Entry("dualstep.envs.tasks.humanoid:HumanoidStandup", 1000, family=GYMNASIUM),
    "InvertedDoublePendulum": Entry(
        "dualstep.envs.tasks.pendulums:InvertedDoublePendulum", 1000, 9100.0, family=GYMNASIUM
    ),
    "InvertedPendulum": Entry("dualstep.envs.tasks.pendulums:InvertedPendulum", 1000, 950.0, family=GYMNASIUM),
    "Pusher": Entry("dualstep.envs.tasks.arms:Pusher", 100, 0.0, family=GYMNASIUM),
    "Reacher": Entry("dualstep.envs.tasks.arms:Reacher", 50, -3.75, family=GYMNASIUM),
    "Swimmer": Entry("dualstep.envs.tasks.swimmer:Swimmer", 1000, 360.0, family=GYMNASIUM),
    "Walker2d": Entry("dualstep.envs.tasks.walker2d:Walker2d", 1000, family=GYMNASIUM),
}

# dm_control's suite, by domain: a file of envs/tasks/suite
_SUITE = {
    "acrobot": ("swingup", "swingup_sparse"),
    "ball_in_cup": ("catch",),
    "cartpole": ("balance", "balance_sparse", "swingup", "swingup_sparse", "two_poles", "three_poles"),
    "cheetah": ("run",),
    "dog": ("stand", "walk", "trot", "run", "fetch"),
    "finger": ("spin", "turn_easy", "turn_hard"),
    "fish": ("upright", "swim"),
    "hopper": ("stand", "hop"),
    "humanoid": ("stand", "walk", "run", "run_pure_state"),
    "humanoid_CMU": ("stand", "walk", "run"),
    "lqr": ("lqr_2_1", "lqr_6_2"),
    "manipulator": ("bring_ball", "bring_peg", "insert_ball", "insert_peg"),
    "pendulum": ("swingup",),
    "point_mass": ("easy", "hard"),
    "quadruped": ("walk", "run", "fetch"),
    "reacher": ("easy", "hard"),
    "stacker": ("stack_2", "stack_4"),
    "swimmer": ("swimmer6", "swimmer15"),
    "walker": ("stand", "walk", "run"),
}


def _suite() -> dict[str, Entry]:
    """("cartpole", "two_poles") is CartpoleTwoPoles; ("swimmer", "swimmer6") is Swimmer6."""

    def camel(words: str) -> str:
        return "".join(word[:1].upper() + word[1:] for word in words.split("_"))

    found = {}
    for domain, tasks in _SUITE.items():
        for task in tasks:
            name = camel(task if task.startswith(domain) else f"{domain}_{task}")
            place = f"dualstep.envs.tasks.suite.{domain.lower()}:{camel(task)}"
            steps = None if domain == "lqr" else 1000
            found[name] = Entry(place, steps, family=SUITE, suite=(domain, task))
    return found


_entries.update(_suite())
_BUILT_IN = frozenset(_entries)


def names() -> list[str]:
    """The names of the tasks."""
    return sorted(_entries)


def short_name(name: str) -> str:
    """"dualstep/Ant-v0" and "Ant-v0" are "Ant"."""
    return name.removeprefix(_NAMESPACE + "/").removesuffix("-" + _VERSION)


def find(name: str) -> tuple[str, Entry]:
    """The task of this name; where there is none, ValueError lists the near ones.

    "module:class" and "path/to/file.py:class" are imported, and known by the name of the class from then on.
    """
    short = short_name(name) if isinstance(name, str) else repr(name)
    if isinstance(name, str) and ":" in short:
        return _load(short)
    if short in _entries:
        return short, _entries[short]
    lower = {known.lower(): known for known in _entries}
    if short.lower() in lower:
        return find(lower[short.lower()])
    near = [lower[word] for word in difflib.get_close_matches(short.lower(), lower, n=3, cutoff=0.5)]
    others = ", ".join(known for known in names() if _entries[known].family != SUITE)
    hint = f"near it are: {', '.join(near)}" if near else f"the tasks are: {others}, and {SUITE} (dualstep tasks)"
    raise ValueError(f"there is no task '{name}'; {hint}")


def task_class(entry: Entry) -> type:
    if isinstance(entry.task, type):
        return entry.task
    module, _, attribute = entry.task.partition(":")
    return _class(entry.task, getattr(importlib.import_module(module), attribute))


def _class(name: str, given: Any) -> type:
    from dualstep.envs.task import Task

    if not (isinstance(given, type) and issubclass(given, Task)):
        what = given.__name__ if isinstance(given, type) else f"an object of {type(given).__name__}"
        raise TypeError(f"task '{name}' is {what}, and a subclass of dualstep.envs.Task, or 'module:class', is wanted")
    return given


@functools.cache
def _file(path: Path) -> ModuleType:
    """A file of Python, imported under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"dualstep_task_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"'{path}' is given, and a file of Python (.py) is wanted")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load(source: str) -> tuple[str, Entry]:
    place, _, name = source.rpartition(":")
    path = Path(place).expanduser()
    is_file = path.suffix == ".py" or len(path.parts) > 1
    if is_file:
        path = path.resolve()
        if not path.is_file():
            raise ValueError(f"there is no file '{path}', out of which the task '{name}' is wanted")
        # to be found again from anywhere
        source = f"{path}:{name}"
    elif os.getcwd() not in sys.path:
        # as with `python -m`, but after all else
        sys.path.append(os.getcwd())
    try:
        module = _file(path) if is_file else importlib.import_module(place)
    except Exception as error:
        raise ValueError(f"'{place}' cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise ValueError(f"'{place}' has no '{name}', which is wanted as a task")
    task = _class(source, getattr(module, name))
    # the file may have registered it, with its time limit
    name = next((known for known, entry in _entries.items() if entry.task is task), name)
    if name not in _entries:
        register_task(name, task)
    elif _entries[name].task is not task:
        raise ValueError(f"there is another task '{name}', and '{source}' wants a name of its own")
    _entries[name] = _entries[name]._replace(source=source)
    return name, _entries[name]


def limit_of(given: Any) -> int | None:
    """Where episodes are truncated."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, numbers.Integral) or given <= 0:
        raise ValueError(f"max_episode_steps {given!r} is given, and it must be a positive integer or None")
    return int(given)


def register_task(
    name: str,
    task: str | type,
    max_episode_steps: int | None = 1000,
    reward_threshold: float | None = None,
) -> None:
    """Makes a task known by a name: to `make`, and to Gymnasium as "dualstep/<name>-v0".

    A name that was registered before is of this task from then on; ValueError where it is that of a task that comes
    with the package, or none that Gymnasium takes.
    """
    if not isinstance(task, str):
        _class(name, task)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name) or short_name(name) != name:
        wanted = f"letters, digits, '_', '.' and '-' are wanted, without '-{_VERSION}'"
        raise ValueError(f"the name {name!r} of a task is given, and {wanted}")
    if name in _BUILT_IN:
        given = task if isinstance(task, str) else task.__name__
        raise ValueError(f"there is another task '{name}', and {given} wants a name of its own")
    _entries[name] = Entry(task, limit_of(max_episode_steps), reward_threshold)
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

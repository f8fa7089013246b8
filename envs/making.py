"""Environments by name: which option is the environment's, the renderer's, the task's."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, cast

from dualstep.envs import contact, motors, registry
from dualstep.envs.delays import DELAYS, make_delayed
from dualstep.envs.task import Task
from dualstep.envs.vector import BatchEnv

# those of any task, beside its own
TASK_OPTIONS = (*DELAYS, motors.OPTION)
_ENV_OPTIONS = (
    "device",
    "dtype",
    "num_threads",
    "lanes",
    "seed",
    "output",
    "autoreset_mode",
    "max_episode_steps",
    "nonfinite",
    "randomize",
    "render_mode",
    "contact",
)
RENDER_OPTIONS = (
    "width",
    "height",
    "camera_id",
    "camera_name",
    "default_camera_config",
    "max_geom",
    "visual_options",
    "render_envs",
)


def refuse_unknown(
    task: str, given: Iterable[str], known: Sequence[str], more: Sequence[str], rare: Sequence[str] = ()
) -> None:
    """TypeError in Python's own words, which some callers look for, where a name is none of these; `rare` are only told
    where they are near."""
    for name in given:
        if name not in (*known, *more):
            near = difflib.get_close_matches(name, [*known, *more, *rare], n=3)
            hint = f"near it are: {', '.join(near)}" if near else f"there are: {', '.join([*known, *more])}"
            raise TypeError(f"{task} got an unexpected keyword argument '{name}'; {hint}")


def make_task(name: str, options: dict[str, Any]) -> Task:
    """The task of this name; an option that it does not know is refused, with the near ones."""
    short, entry = registry.find(name)
    cls = registry.task_class(entry)
    own = cls.options()
    refuse_unknown(short, options, own, (*TASK_OPTIONS, *_ENV_OPTIONS), RENDER_OPTIONS)
    more = {name: options[name] for name in TASK_OPTIONS if name in options and name not in own}
    motor = more.pop(motors.OPTION, None)
    rest = {name: value for name, value in options.items() if name in own or name not in TASK_OPTIONS}
    task = make_delayed(cls, rest, **more)
    if motor is not None:
        motors.apply(task, motor)
    return task


def make_batch_env(name: str, num_envs: int, options: dict[str, Any]) -> BatchEnv:
    """Options sorted: those of the environment, of the renderer, and the rest, which are the task's."""
    _, entry = registry.find(name)
    own = {key: options[key] for key in _ENV_OPTIONS if key in options}
    render = {key: options[key] for key in RENDER_OPTIONS if key in options}
    rest = {key: value for key, value in options.items() if key not in own and key not in render}
    own.setdefault("max_episode_steps", entry.max_episode_steps)
    law, seed = own.pop("contact", None), own.pop("seed", None)

    def made(law: contact.Contact | None, count: int, seed: Any) -> BatchEnv:
        task = make_task(name, rest)
        if law is not None:
            contact.apply(task, law)
        return BatchEnv(task, count, seed=seed, render_options=render, **own)

    laws = contact.several(law)
    if laws is None:
        return made(law, num_envs, seed)
    if len(laws) == 1:
        return made(laws[0], num_envs, seed)
    from dualstep.envs.mixed import MixedEnv

    # it has what learners use of a BatchEnv
    return cast(BatchEnv, MixedEnv(made, laws, num_envs, seed))

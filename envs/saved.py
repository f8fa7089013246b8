"""States of environments that were saved: what is in them, and whether they are of this environment.

A state is looked at as a whole before anything of it is taken, so that one that is refused changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dualstep.envs.task import Task, whole_dtype

# the arrays of an environment that its future depends on, beside those of its batch, its task and its parameters
OWN = ("seeds", "episodes", "elapsed", "fresh", "pending", "observed")
# states without it are taken too
OPTIONS = "options"


def _plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_plain(entry) for entry in value)
    return value is None or isinstance(value, (bool, int, float, str))


def options_of(task: Task, **more: Any) -> dict[str, Any]:
    """What must be the same where a state goes on: the task, and those of its options that it keeps as they are."""
    own = {name: getattr(task, name, None) for name in task.options()}
    found = {"task": type(task).__name__, "frame_skip": task.frame_skip, **own, **more}
    # tuples as lists, which is what they are read as
    return json.loads(json.dumps({name: value for name, value in found.items() if _plain(value)}))


def _lasting(env: Any) -> dict[str, Any]:
    """The arrays that the future depends on, beside those of the batch, by their names in a state."""
    own = {name: getattr(env, "_" + name) for name in OWN}
    own.update({"memory_" + name: array for name, array in env._memory.items()})
    return {**own, **{"vary_" + name: array for name, array in env._randomizer.state().items()}}


def state_of(env: Any) -> dict[str, np.ndarray]:
    """What `BatchEnv.state` gives."""
    env._arrays.follow(env.sim)
    lasting = _lasting(env) if env._tracked is None else {**_lasting(env), "tracked": env._tracked}
    found = {n: np.array(array if isinstance(array, np.ndarray) else array.cpu()) for n, array in lasting.items()}
    found["sim"] = np.frombuffer(env.sim.save(), np.uint8)
    found["diverged_count"] = np.array(env.diverged_count, np.int64)
    found[OPTIONS] = np.frombuffer(json.dumps(env._options).encode(), np.uint8)
    return found


def missing(env: Any, found: Mapping[str, Any]) -> set[str]:
    """The arrays that a state of this environment, or of several as one, has, and this one not; what older versions
    saved may lack some."""
    return {name for name in env.state().keys() - found.keys() if name.rpartition("/")[2] != OPTIONS}


def check(env: Any, found: Any) -> None:
    """Refuses, with ValueError, what is no state of such an environment. The batch looks at its part where it loads."""
    env._arrays.follow(env.sim)
    wanted: dict[str, Any] = {n: (tuple(array.shape), whole_dtype(array)) for n, array in _lasting(env).items()}
    wanted.update(sim=((None,), np.uint8), diverged_count=((), np.int64))
    tracked = env.task.track(env._view()) if env.task.derived else None
    if tracked is not None and isinstance(found, Mapping) and ("tracked" in found or _begun(found.get("episodes"))):
        wanted["tracked"] = (tuple(tracked.shape), whole_dtype(tracked))
    _refuse(found, wanted, env._options)


def _begun(episodes: Any) -> bool:
    """Whether there was a reset."""
    return isinstance(episodes, np.ndarray) and episodes.dtype.kind == "i" and bool((episodes >= 0).any())


def take(env: Any, found: Mapping[str, Any]) -> None:
    """Goes on with a state that was looked at, and whose part for the batch was loaded."""
    for name, array in _lasting(env).items():
        array[...] = found[name] if isinstance(array, np.ndarray) else env._arrays.from_host(found[name])
    env.diverged_count = int(found["diverged_count"])
    env._remember()
    if "tracked" in found:
        # outputs were those of the last step's inside, which are not evaluated again
        env._tracked[...] = env._arrays.from_host(found["tracked"])


def _same_options(given: Any, wanted: dict[str, Any]) -> None:
    try:
        options = json.loads(np.asarray(given, np.uint8).tobytes())
        options.items()
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"state: '{OPTIONS}' is damaged, and what state() gave is wanted") from None
    for name, value in options.items():
        # not a number is the same as itself
        if name in wanted and wanted[name] != value and json.dumps(wanted[name]) != json.dumps(value):
            raise ValueError(f"state: one with {name} {value!r} is given, and this environment has {wanted[name]!r}")


def _refuse(given: Any, wanted: Mapping[str, tuple[tuple[int | None, ...], Any]], options: dict[str, Any]) -> None:
    """Refuses a state that has not these arrays, by name with shape (None stands for any size) and dtype, and no
    others; or that tells of other options."""
    if not isinstance(given, Mapping):
        raise ValueError(f"state: {type(given).__name__} is given, and the dict that state() gave is wanted")
    seeds, (num_envs, *_) = given.get("seeds"), wanted["seeds"][0]
    if isinstance(seeds, np.ndarray) and seeds.ndim == 1 and len(seeds) != num_envs:
        raise ValueError(f"a state of {len(seeds)} environments is given, and there are {num_envs}")
    if OPTIONS in given:
        _same_options(given[OPTIONS], options)
    for name, (shape, dtype) in wanted.items():
        form = f"an array of shape {_shape(shape)} and dtype {np.dtype(dtype)} is wanted"
        if name not in given:
            raise ValueError(f"state: '{name}' is missing, and {form}")
        array = given[name]
        if not isinstance(array, np.ndarray):
            raise ValueError(f"state: '{name}' is {type(array).__name__}, and {form}")
        fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        if not fits or array.dtype != np.dtype(dtype):
            raise ValueError(f"state: '{name}' has shape {array.shape} and dtype {array.dtype}, and {form}")
    for name in given:
        if name not in wanted and name != OPTIONS:
            raise ValueError(f"state: {name!r} is given, and this environment has: {', '.join(wanted)}")


def _shape(shape: tuple[int | None, ...]) -> str:
    sizes = ", ".join("n" if size is None else str(size) for size in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"

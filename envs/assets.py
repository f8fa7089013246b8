"""Files of models that tasks name: where they are, and those that a checkpoint brings along."""

from __future__ import annotations

import importlib.util
import inspect
import os
from pathlib import Path
from typing import Any

from dualstep import _loading
from dualstep.model import Model

# by task and the name that it gives: the compiled model, as a checkpoint kept it
_kept: dict[tuple[type, str], bytes] = {}


def _gymnasium() -> Path:
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or spec.origin is None:
        raise ImportError("gymnasium is not installed: pip install 'dualstep[envs]' brings it")
    return Path(spec.origin).parent / "envs" / "mujoco" / "assets"


def find_asset(name: str, task: type | None = None) -> str:
    """The path of a model file: from the current folder, from that of the task's own file, or among Gymnasium's."""
    given = Path(os.path.expanduser(name))
    places = [Path.cwd()]
    if task is not None:
        try:
            places.append(Path(inspect.getfile(task)).resolve().parent)
        except (OSError, TypeError):
            pass
    for place in places:
        if (place / given).is_file():
            return str(place / given)
    if name.startswith((".", "/", "~")) or given.is_absolute():
        where = "" if given.is_absolute() else f" in {' or in '.join(map(str, dict.fromkeys(places)))}"
        raise FileNotFoundError(f"there is no model file '{name}'{where}")
    theirs = _gymnasium() / name
    if not theirs.is_file():
        where = " or in ".join(map(str, dict.fromkeys(places)))
        raise FileNotFoundError(f"there is no model file '{name}' in {where}, and Gymnasium has none of that name")
    return str(theirs)


def load(name: str, task: type) -> tuple[Model, bool]:
    """The model that a task names, and whether it is of a file of the user's own."""
    stored = _kept.get((task, name))
    try:
        if stored is not None:
            return Model.from_mujoco(_decode(stored)), True
        path = find_asset(name, task)
    except ValueError as unread:
        # another version of MuJoCo wrote it: its file may be there
        try:
            path = find_asset(name, task)
        except FileNotFoundError as missing:
            raise ValueError(f"{unread}; and {missing}") from None
    try:
        own = not Path(path).is_relative_to(_gymnasium())
    except ImportError:
        own = True
    return Model.from_mjcf(path), own


def keep(task: type, name: str, stored: bytes) -> None:
    """From now on this task finds the model here, and not in a file."""
    _kept[(task, name)] = stored


def encode(mj_model: Any) -> bytes:
    """A compiled model, meshes and all, as MuJoCo writes it."""
    import mujoco
    import numpy as np

    buffer = np.empty(mujoco.mj_sizeModel(mj_model), np.uint8)
    mujoco.mj_saveModel(mj_model, None, buffer)
    return buffer.tobytes()


def _decode(stored: bytes) -> Any:
    import mujoco

    try:
        # MuJoCo's reader trusts its files, and a checkpoint may be anybody's: a child tries it first
        return _loading.in_child("binary", stored)
    except (ValueError, mujoco.FatalError) as error:
        raise ValueError(
            f"the model in the checkpoint cannot be read by MuJoCo {mujoco.__version__}: {error}"
        ) from None

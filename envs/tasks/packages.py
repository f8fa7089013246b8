"""Models that packages of others bring: looked for when a task is made, and the package never imported."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from dualstep.envs.task import TOLERANCE
from dualstep.model import Model

GYMNASIUM_ROBOTICS = "pip install --no-deps 'gymnasium-robotics>=1.4,<2'"
MYO_SIM = "pip install --no-deps 'myo-sim>=0.2,<0.3'"


def package_folder(package: str, missed: str, install: str) -> Path:
    """Where an installed package is; ImportError that says what to install where it is not there. `missed` begins it:
    "the model g1.xml comes"."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"{missed} with {package}, which is not installed: {install}")
    return Path(next(iter(spec.submodule_search_locations)))


def package_file(package: str, path: str, install: str) -> Path:
    """Where an installed package keeps a file; ImportError that says what to install where it is not there."""
    name = path.rsplit("/", 1)[-1]
    found = package_folder(package, f"the model {name} comes", install) / path
    if not found.exists():
        raise ImportError(f"{package} is installed and has no {name} where it is looked for: {install}")
    return found


def included(path: Path) -> str:
    """An element of MJCF that includes the file."""
    return f"<include file={quoteattr(str(path))}/>"


def without_looks(scene: Any, unmet: Sequence[str] = ()) -> tuple[Model, Any]:
    """The model of a `mujoco.MjSpec` without its meshes, with which nothing collides, and without geoms of these names,
    which a batch need not carry; and the `mujoco.MjModel` of all of it."""
    import mujoco

    looks = scene.compile()
    for geom in [geom for geom in scene.geoms if geom.type == mujoco.mjtGeom.mjGEOM_MESH or geom.name in unmet]:
        scene.delete(geom)
    for mesh in list(scene.meshes):
        scene.delete(mesh)
    model = Model.from_mujoco(scene.compile())
    model.opt.tolerance = TOLERANCE
    return model, looks

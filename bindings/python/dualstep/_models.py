"""Models by name: those that the package ships, and those of Gymnasium where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from dualstep._arrays import text
from dualstep._names import near

HERE = Path(__file__).parent / "models"


def shipped_models() -> dict[str, Path]:
    """By name: MuJoCo's benchmark models, and small scenes."""
    return {path.stem: path for path in sorted(HERE.glob("**/*.xml"))}


def gymnasium_models() -> dict[str, Path]:
    """The models of Gymnasium's current MuJoCo tasks, by the task's name; none where it is not installed."""
    found = importlib.util.find_spec("gymnasium")
    if found is None or found.origin is None:
        return {}
    assets = Path(found.origin).parent / "envs" / "mujoco" / "assets"
    models = {path.stem: path for path in sorted(assets.glob("*.xml"))}
    # a task that was revised keeps its old model beside the new one: "walker2d" and "walker2d_v5"
    current = {name.partition("_v")[0]: path for name, path in models.items() if name.endswith("_v5")}
    old = {name for name in models if name.endswith("_v5")} | {"point"}
    return {**{name: path for name, path in models.items() if name not in old}, **current}


def named_models() -> dict[str, Path]:
    """All of them. A name that both have is the shipped one's; Gymnasium's is then "gymnasium/NAME"."""
    ours, theirs = shipped_models(), gymnasium_models()
    found = {**{name: path for name, path in theirs.items() if name not in ours}, **ours}
    found.update({f"gymnasium/{name}": path for name, path in theirs.items() if name in ours})
    return dict(sorted(found.items()))


def path_of(name: str) -> Path:
    """The file of a model; ValueError with the near names where there is none."""
    text("model", name)
    known = named_models()
    full = {**known, **{f"gymnasium/{key}": path for key, path in gymnasium_models().items()}}
    if name in full:
        return full[name]
    found = near(name, known, 3)
    listed = f"near it are: {', '.join(found)}" if found else f"there are: {', '.join(known)}"
    more = "" if gymnasium_models() else "; Gymnasium, once installed (pip install 'dualstep[envs]'), brings more"
    raise ValueError(f"there is no model '{name}'; {listed}{more}")

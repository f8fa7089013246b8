"""Files of models that packages of others bring: looked for when a task is made, and the package never imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.sax.saxutils import quoteattr

GYMNASIUM_ROBOTICS = "pip install --no-deps 'gymnasium-robotics>=1.4,<2'"
MYO_SIM = "pip install --no-deps 'myo-sim>=0.2,<0.3'"


def package_file(package: str, path: str, install: str) -> Path:
    """Where an installed package keeps a file; ImportError that says what to install where it is not there."""
    name = path.rsplit("/", 1)[-1]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"the model {name} comes with {package}, which is not installed: {install}")
    found = Path(next(iter(spec.submodule_search_locations))) / path
    if not found.exists():
        raise ImportError(f"{package} is installed and has no {name} where it is looked for: {install}")
    return found


def included(path: Path) -> str:
    """An element of MJCF that includes the file."""
    return f"<include file={quoteattr(str(path))}/>"

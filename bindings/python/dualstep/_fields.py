"""The arrays of a batch, a reference and a model as attributes, made from the tables of the compiled part.

Their types and docs stand in `_fields.pyi`, which bindings/stubs.py writes from the same tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualstep import _core
from dualstep._arrays import assign


class BatchFields:
    """State, records and outputs of a batch: properties, of which the state and the time can be set."""

    def _view(self, name: str) -> Any:
        raise NotImplementedError


def _property(name: str, axes: str, meaning: str, writable: bool) -> property:
    def get(self: BatchFields) -> np.ndarray:
        return self._view(name)

    def put(self: BatchFields, value: Any) -> None:
        assign(name, self._view(name), value)

    shape = ", ".join(["N", *axes.split()])
    return property(get, put if writable else None, doc=f"({shape}{',' if not axes else ''}) {meaning}")


for _name, _role, _axes, _meaning in _core.batch_fields():
    setattr(BatchFields, _name, _property(_name, _axes, _meaning, _role == "state" or _name == "time"))


class ReferenceFields:
    """The arrays of a reference, which finds them by name."""


class ModelFields:
    """MuJoCo's arrays of a model, which finds them by name."""

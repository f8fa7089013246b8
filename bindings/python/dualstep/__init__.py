"""dualstep: a batched rigid-body simulator, a step of which is a step on the contact dual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dualstep import envs
from dualstep.batch import Batch
from dualstep.errors import InfeasibleError, InvalidModelError, UnsupportedModelError
from dualstep.measure.audit import Audit, audit
from dualstep.model import Model
from dualstep.reference import Event, Reference
from dualstep.results import Contacts, Status, Summary
from dualstep.trajectories import rollout
from dualstep.tune import tune_lanes

if TYPE_CHECKING:
    from dualstep import formulations

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "Batch",
    "Contacts",
    "Event",
    "InfeasibleError",
    "InvalidModelError",
    "Model",
    "Reference",
    "Status",
    "Summary",
    "UnsupportedModelError",
    "__version__",
    "audit",
    "envs",
    "formulations",
    "rollout",
    "tune_lanes",
]


def __getattr__(name: str) -> Any:
    # a compiled part of its own, which a build may leave out: imported when it is first asked for
    if name == "formulations":
        from importlib import import_module

        return import_module("dualstep.formulations")
    raise AttributeError(f"module 'dualstep' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""dualstep: a batched rigid-body simulator, a step of which is a step on the contact dual."""

from dualstep import envs, formulations
from dualstep.batch import Batch
from dualstep.errors import InfeasibleError, InvalidModelError, UnsupportedModelError
from dualstep.measure.audit import Audit, audit
from dualstep.model import Model
from dualstep.reference import Event, Reference
from dualstep.results import Contacts, Status, Summary
from dualstep.trajectories import rollout
from dualstep.tune import tune_lanes

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

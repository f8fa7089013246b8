"""dualstep: a batched rigid-body simulator, a step of which is a step on the contact dual."""

from dualstep.batch import Batch, Contacts, Status
from dualstep.errors import InvalidModelError, UnsupportedModelError
from dualstep.model import Model

__version__ = "0.1.0"
__all__ = ["Batch", "Contacts", "InvalidModelError", "Model", "Status", "UnsupportedModelError", "__version__"]

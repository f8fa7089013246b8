"""dualstep: a batched rigid-body simulator, a step of which is a step on the contact dual."""

from dualstep.errors import InvalidModelError, UnsupportedModelError
from dualstep.model import Model
from dualstep.reference import Contacts, Reference

__version__ = "0.1.0"
__all__ = ["Contacts", "InvalidModelError", "Model", "Reference", "UnsupportedModelError", "__version__"]

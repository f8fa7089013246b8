"""The Python side of ``dualstep.formulations``: arguments, shapes and results; the arithmetic is in C++."""

from importlib.util import find_spec

from ..errors import LEFT_OUT

if find_spec("dualstep._formulations") is None:
    raise ImportError(f"dualstep.formulations is asked for, and {LEFT_OUT}")

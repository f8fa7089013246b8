"""The Python side of ``dualstep.formulations``: arguments, shapes and results; the arithmetic is in C++."""

"""What dualstep raises when a model cannot be simulated, or a problem not solved. All are ValueErrors."""

from __future__ import annotations

from collections.abc import Iterable

# of an ImportError, where a part of the package is asked for that a build may go without
LEFT_OUT = "this build leaves it out (-DDUALSTEP_REFERENCE=OFF): `pip install .` builds all, as ./run does in the end"


class UnsupportedModelError(ValueError):
    """The model holds things that change the physics and are not simulated.

    `problems` lists all of them as (feature, element, reason).
    """

    problems: list[tuple[str, str, str]] = []


class InvalidModelError(ValueError):
    """The model is malformed, or holds values that make no sense.

    `problems` lists the values as (field, element, reason).
    """

    problems: list[tuple[str, str, str]] = []


class InfeasibleError(ValueError):
    """A problem without solution: an LCP whose rows contradict each other, a dual without a lower bound.

    `problems` holds the batch index of each problem without solution; an unbatched call has the one index ().
    """

    def __init__(self, message: str, problems: Iterable[tuple[int, ...]] = ((),)) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

"""What dualstep raises when a model cannot be simulated. All are ValueErrors."""


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

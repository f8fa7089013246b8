"""What environments are given, in their own terms: modes of auto-reset, limits, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import error
from gymnasium.vector import AutoresetMode


def mode_of(given: AutoresetMode | str) -> AutoresetMode:
    if isinstance(given, AutoresetMode):
        return given
    for mode in AutoresetMode:
        if given in (mode.value, mode.name):
            return mode
    allowed = ", ".join(f"'{mode.value}'" for mode in AutoresetMode)
    raise ValueError(f"autoreset_mode {given!r} is given, and it must be a gymnasium.vector.AutoresetMode or {allowed}")


def limit_of(given: Any) -> int | None:
    """Where episodes are truncated."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given <= 0:
        raise ValueError(f"max_episode_steps {given!r} is given, and it must be a positive integer or None")
    return int(given)


def seed_of(given: Any) -> int | None:
    """As Gymnasium's own environments take seeds, and refuse them."""
    if given is None:
        return None
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, (int, np.integer)):
        raise error.Error(f"Seed must be a python integer, actual type: {type(given)}")
    if given < 0:
        raise error.Error(f"Seed must be greater or equal to zero, actual value: {given}")
    return int(given)

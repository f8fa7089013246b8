"""What a batch and a reference say of their environments: status, summary, contacts."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from dualstep import _core


class Status(enum.IntFlag):
    """Bits of `Batch.status`.

    DIVERGED: the state was not finite, or too large (1e10; `qpos` in float32 4e6). CONTACT_OVERFLOW: there
    were more contacts than `model.opt.contact_capacity`; of every pair the deepest and those far from it were kept.
    NOT_CONVERGED: the acceleration's error is, by its estimate, above what is promised.
    """

    DIVERGED = _core.STATUS_BITS["DIVERGED"]
    CONTACT_OVERFLOW = _core.STATUS_BITS["CONTACT_OVERFLOW"]
    NOT_CONVERGED = _core.STATUS_BITS["NOT_CONVERGED"]


class Summary(NamedTuple):
    """What `Batch.summary` gives: numbers about all environments after their last solve."""

    diverged: int
    contact_overflow: int
    not_converged: int
    """environments that have the bit in their status"""
    iterations: int
    """of all environments together"""
    most_iterations: int
    largest_residual: float
    """NaN where no environment has a residual that is a number"""
    worst: int
    """the environment that has it; -1 where there is none"""


class Contacts(NamedTuple):
    """The contacts of each environment, as live arrays; slots from `count` on are empty."""

    count: Any  # pyright: ignore[reportIncompatibleMethodOverride]
    """(N,) of a batch; the number of a reference"""
    dist: np.ndarray
    """(N, capacity) signed distance, negative in penetration [m]"""
    pos: np.ndarray
    """(N, capacity, 3) midpoint [m]"""
    frame: np.ndarray
    """(N, capacity, 3, 3) rows: normal from the first geom to the second, two tangents"""
    geom: np.ndarray
    """(N, capacity, 2) the two geoms"""
    force: np.ndarray
    """(N, capacity, 6) force [N] and moment [N m] on the second geom, in the contact frame"""

"""How far a step's accelerations are from the converged solution of the same step.

    error = |qacc - qacc*|_M / |qacc* - qacc_smooth|_M

where qacc* minimizes the same contact problem to convergence in double precision, qacc_smooth is the acceleration
without constraints, and |v|_M^2 = v'Mv (the norm in which the problem is posed: Todorov 2014). States without an
active constraint have no contact problem, and are left out.
"""

from __future__ import annotations

from contextlib import contextmanager
from collections.abc import Iterator

import numpy as np

from dualstep._reference_sensors import geoms_of_pairs, put
from dualstep.batch import Batch
from dualstep.measure.workload import States, host
from dualstep.model import Model
from dualstep.reference import Reference

# the converged solution is trusted below this relative KKT residual
CONVERGED = 1e-9
# the share of states that may be left out because their converged solution is not trusted
UNTRUSTED = 0.01
# accelerations of constraints below this share of the smooth ones are rounding
ACTIVE = 1e-9
# what the benchmark settings promise: median, 95th percentile
TARGET = (1e-3, 1e-2)


class Unchecked(RuntimeError):
    """The figures could not be checked, and must not be shown."""


@contextmanager
def options(model: Model, **values: object) -> Iterator[None]:
    """Sets options of the model for what is made inside."""
    before = {name: getattr(model.opt, name) for name in values}
    try:
        for name, value in values.items():
            setattr(model.opt, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(model.opt, name, value)


def energy_norm(mass: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """sqrt(v'Mv) of each."""
    return np.sqrt(np.maximum(np.einsum("ni,nij,nj->n", vectors, mass, vectors), 0))


def relative_error(qacc: np.ndarray, exact: np.ndarray, smooth: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The error of the states with an active constraint."""
    scale = energy_norm(mass, exact - smooth)
    active = scale > ACTIVE * np.maximum(energy_norm(mass, smooth), 1.0)
    return energy_norm(mass, qacc - exact)[active] / scale[active]


class Converged:
    """The converged solutions of a model's steps: double precision, the same problem, Newton until nothing moves.

    They are trusted by their own KKT residual, and some of them by the reference, which shares no code with the
    kernels.
    """

    CHECKED = 16

    def __init__(self, model: Model, count: int) -> None:
        with options(model, solver="pgs_newton", tolerance=1e-12, iterations=100):
            self._batch = Batch(model, count, device="cpu", dtype="float64")
        self._geoms = geoms_of_pairs(self._batch)
        self._reference = _reference(model)
        self.worst_residual = 0.0
        self.worst_disagreement: float | None = None
        self.solved = self.untrusted = self.checked = 0

    @property
    def has_reference(self) -> bool:
        return self._reference is not None

    def error(self, states: States, ctrl: np.ndarray, qacc: np.ndarray) -> np.ndarray:
        """The errors of accelerations that a batch found for these states."""
        batch = self._batch
        states.put(batch)
        batch.ctrl = ctrl.astype(batch.dtype)
        batch.forward()
        residual = host(batch.residual)
        exact, smooth, mass = host(batch.qacc), host(batch.qacc_smooth), batch.mass_matrix()
        # states that diverged have no solution; they are counted by their status
        trusted = (residual < CONVERGED) & np.isfinite(exact).all(axis=1) & np.isfinite(qacc).all(axis=1)
        self.solved += len(states)
        self.untrusted += int(np.sum(~trusted))
        if trusted.any():
            self.worst_residual = max(self.worst_residual, float(residual[trusted].max()))
        self._check(states, ctrl, exact, smooth, mass, trusted)
        return relative_error(qacc[trusted].astype(float), exact[trusted], smooth[trusted], mass[trusted])

    def _check(self, states: States, ctrl: np.ndarray, exact: np.ndarray, smooth: np.ndarray, mass: np.ndarray,
               trusted: np.ndarray) -> None:
        """Compares the first solutions with the reference's."""
        if self._reference is None:
            return
        for i in np.flatnonzero(trusted)[: max(0, self.CHECKED - self.checked)]:
            put(self._reference, {name: array[i] for name, array in states.arrays.items()}, self._geoms)
            self._reference.ctrl[...] = ctrl[i]
            self._reference.forward()
            off = energy_norm(mass[i : i + 1], (self._reference.qacc - exact[i])[None])[0]
            size = energy_norm(mass[i : i + 1], exact[i : i + 1])[0]
            self.worst_disagreement = max(self.worst_disagreement or 0.0, float(off / max(size, 1e-9)))
            self.checked += 1

    def demand(self) -> None:
        """Raises Unchecked where the converged solutions are not to be trusted."""
        if self.untrusted > UNTRUSTED * max(self.solved, 1):
            raise Unchecked(
                f"the converged solution of {self.untrusted} of {self.solved} states has a residual above {CONVERGED:g}"
            )
        if self.worst_disagreement is not None and self.worst_disagreement > 1e-6:
            raise Unchecked(
                f"the converged solution and the reference disagree by {self.worst_disagreement:.1e} (relative) on one "
                f"of {self.checked} states"
            )


def _reference(model: Model) -> Reference | None:
    try:
        return Reference(model)
    except (AttributeError, ImportError, ValueError):
        # a formulation or an option that the reference does not simulate, or a build without the reference
        return None

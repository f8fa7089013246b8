"""Arguments of the formulations: conversion, shapes, broadcasting of batches, and errors that name what was wrong."""

import numpy as np

from .. import _formulations
from ..errors import InfeasibleError

_SYMMETRY = 1e-9


def as_array(name, value, *, nan_allowed=False):
    """``value`` as float64, or a ValueError that names the argument."""
    try:
        raw = np.asarray(value)
        if np.iscomplexobj(raw):
            raise ValueError("complex numbers")
        array = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers, given {type(value).__name__} ({error})") from None
    bad = np.isinf(array) if nan_allowed else ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name} must be finite, given {array[where]} at index {where}")
    return array


def _wanted(core, sizes):
    known = ", ".join(f"{k} = {sizes[k]}" for k in core if k in sizes)
    shape = ", ".join(["..."] + list(core))
    return f"({shape})" + (f" with {known}" if known else "")


class Problems:
    """A batch of problems: named arrays with the same leading batch dimensions, flattened to one.

    Each argument is ``(name, value, core)``: ``core`` names its last dimensions, "nv nv" for a matrix, "" for a number.
    A dimension takes its size where its name first occurs; everything before the core is batch, broadcast as in numpy.
    """

    def __init__(self, *arguments, sizes=None, nan_allowed=()):
        self.sizes = dict(sizes or {})
        self._arrays = {}
        self._cores = {}
        for name, value, core in arguments:
            self._take(name, value, tuple(core.split()), name in nan_allowed)
        self._broadcast()

    def _take(self, name, value, core, nan_allowed):
        array = as_array(name, value, nan_allowed=nan_allowed)
        wanted = _wanted(core, self.sizes)
        if array.ndim < len(core):
            raise ValueError(f"{name} has shape {array.shape}, wanted {wanted}")
        tail = array.shape[array.ndim - len(core) :]
        sizes = dict(self.sizes)
        for label, size in zip(core, tail):
            if sizes.setdefault(label, size) != size:
                raise ValueError(f"{name} has shape {array.shape}, wanted {wanted}")
        if sizes.get("nv") == 0:
            raise ValueError(f"{name} has shape {array.shape}, wanted at least one degree of freedom")
        self.sizes = sizes
        self._arrays[name] = array
        self._cores[name] = core

    def _broadcast(self):
        heads = {k: a.shape[: a.ndim - len(self._cores[k])] for k, a in self._arrays.items()}
        try:
            self.shape = np.broadcast_shapes(*heads.values())
        except ValueError:
            given = ", ".join(f"{k} {h}" for k, h in heads.items() if h)
            raise ValueError(f"leading batch dimensions do not agree: {given}") from None
        self.count = int(np.prod(self.shape, dtype=np.int64))

    def __getitem__(self, name):
        """The argument as a contiguous array of shape (count, *core)."""
        array = self._arrays[name]
        tail = array.shape[array.ndim - len(self._cores[name]) :]
        return np.ascontiguousarray(np.broadcast_to(array, self.shape + tail)).reshape((self.count,) + tail)

    def columns(self, *names):
        """Arguments that are numbers, side by side: (count, len(names))."""
        return np.stack([self[name] for name in names], axis=-1)

    def require(self, name, holds, wanted):
        """A ValueError unless ``holds`` of every entry of the argument."""
        array = self._arrays[name]
        good = holds(array)
        if not np.all(good):
            where = tuple(int(i) for i in np.argwhere(~good)[0])
            at = f" at index {where}" if where else ""
            raise ValueError(f"{name} must be {wanted}, given {array[where]}{at}")

    def require_not_negative(self, *names):
        for name in names:
            self.require(name, lambda a: a >= 0, "zero or positive")

    def require_positive(self, *names):
        for name in names:
            self.require(name, lambda a: a > 0, "positive")

    def require_symmetric(self, name):
        array = self._arrays[name]
        if array.size == 0:
            return
        size = np.abs(array).max(axis=(-2, -1), keepdims=True)
        skew = np.abs(array - np.swapaxes(array, -1, -2))
        if np.any(skew > _SYMMETRY * size):
            where = tuple(int(i) for i in np.unravel_index(np.argmax(skew - _SYMMETRY * size), skew.shape))
            raise ValueError(
                f"{name} must be symmetric, but it differs from its transpose by {skew[where]:.3g} at {where}"
            )

    def solve(self, function, *arguments):
        """Run a function of the extension; its failures come back as errors that name the problem."""
        try:
            return function(*arguments)
        except _formulations.ProblemError as error:
            failures = error.args[0]
        places = [tuple(int(k) for k in np.unravel_index(i, self.shape)) if self.shape else () for i, _, _ in failures]
        invalid = [(place, message) for place, (_, kind, message) in zip(places, failures) if kind == "invalid"]
        if invalid:
            place, message = invalid[0]
            raise ValueError(message + (f", in problem {place}" if place else ""))
        message = failures[0][2]
        if self.shape:
            named = ", ".join(str(p[0] if len(p) == 1 else p) for p in places[:20])
            more = f" and {len(places) - 20} more" if len(places) > 20 else ""
            message += f"; in the batch of shape {self.shape} this holds for problem {named}{more}"
        raise InfeasibleError(message, places)

    def result(self, array, dtype=None):
        """A result of shape (count, *core) in the shape of the batch; a number where there is no batch."""
        out = np.asarray(array, dtype=dtype)
        return out.reshape(self.shape + out.shape[1:])[()]


def per_contact(name, value, contacts, batch, *, infinite=False):
    """One number per contact, (..., contacts): a lone number serves all, and one number a problem serves its
    contacts."""
    if infinite:
        array = as_array(name, np.where(np.isposinf(_real(name, value)), 0.0, value))
        array = np.where(np.isposinf(_real(name, value)), np.inf, array)
    else:
        array = as_array(name, value)
    if array.ndim == 0:
        return np.full((contacts,), array)
    if array.shape[-1] == contacts:
        return array
    if array.shape == tuple(batch):
        return np.repeat(array[..., None], contacts, axis=-1)
    raise ValueError(f"{name} has shape {array.shape}, wanted a number or (..., contacts) with contacts = {contacts}")


def _real(name, value):
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of real numbers, given {type(value).__name__} ({error})") from None


def contacts_of(name, rows, per=3):
    """How many contacts a Jacobian's rows make."""
    if rows % per:
        raise ValueError(f"{name} has {rows} rows, wanted {per} for every contact (n, t1, t2)")
    return rows // per


def check_directions(directions, *, circle=False):
    """The number of directions of a friction polygon."""
    if isinstance(directions, (bool, np.bool_)) or not isinstance(directions, (int, np.integer)):
        raise ValueError(f"directions must be an integer, given {directions!r}")
    if circle and directions == 0:
        return 0
    if directions < 2 or directions % 2:
        zero = ", or 0 for the circular cone" if circle else ""
        raise ValueError(f"directions must be even and at least 2{zero}, given {directions}")
    return int(directions)


def check_choice(name, value, choices):
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, given {value!r}")
    return value


def check_count(name, value):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"{name} must be a number of rows, zero or more, given {value!r}")
    return int(value)

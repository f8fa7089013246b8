"""The reference: one environment in double precision, written to be right and readable rather than fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualstep import _core, _memory
from dualstep._arrays import integer
from dualstep._fields import ReferenceFields
from dualstep._names import hint, missing, sensor_columns
from dualstep.errors import LEFT_OUT
from dualstep.results import Contacts, Status

if TYPE_CHECKING:
    # the class has an attribute _core
    _CoreReference = _core.Reference


class Event(NamedTuple):
    """What ended a stretch of smooth motion under `scheme = "event_driven"`.

    `kind` is "impact", "persistent" (an approach too slow to bounce), "release", "slip" (a reversal that does not
    stick too), "stick" or "limit". `joint` is -1 but for joint stops, whose `geom1` and `geom2` are -1. `impulse` is
    along n, t1, t2, in N s.
    """

    time: float
    kind: str
    geom1: int
    geom2: int
    joint: int
    qvel_before: np.ndarray
    qvel_after: np.ndarray
    impulse: np.ndarray


class Reference(ReferenceFields):
    """One environment of a model, in float64.

    Arrays carry MuJoCo's names (`qpos`, `qvel`, `qacc`, `xpos`, ...) and are live views: writing the state
    (`qpos`, `qvel`, `act`, `time`) and the inputs (`ctrl`, `qfrc_applied`, `xfrc_applied`, `mocap_pos`,
    `mocap_quat`) sets them. After `step()`, quantities derived from the state are those of the step's start.
    The methods from `mass_matrix` on, and the energies, are evaluated at the present state.

    The model and its options are read once, here. Raises UnsupportedModelError for options that the
    reference does not simulate, and MemoryError where its dense matrices would not fit.
    """

    model: _core.Model
    _core: _CoreReference
    _arrays: dict[str, np.ndarray]

    def __init__(self, model: _core.Model) -> None:
        if not isinstance(model, _core.Model):
            raise TypeError(f"Reference takes a dualstep.Model, and is given {type(model).__name__}")
        if not hasattr(_core, "Reference"):
            raise ImportError(f"dualstep.Reference is asked for, and {LEFT_OUT}")
        model.check()
        _memory.check_reference(model)
        core = _core.Reference(model)
        object.__setattr__(self, "_core", core)
        object.__setattr__(self, "_arrays", {name: core.array(name) for name in core.array_names()})
        object.__setattr__(self, "model", model)

    if not TYPE_CHECKING:  # the stub of ReferenceFields has their names

        def __getattr__(self, name: str) -> np.ndarray:
            arrays = self.__dict__.get("_arrays", {})
            if name in arrays:
                return arrays[name]
            raise missing(self, "a Reference", name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "time":
            object.__setattr__(self, name, value)
            return
        arrays = self.__dict__["_arrays"]
        if name not in arrays:
            raise AttributeError(f"a Reference has no '{name}' to set{hint(name, arrays)}")
        array = arrays[name]
        if not array.flags.writeable:
            raise AttributeError(f"'{name}' is computed and cannot be set")
        array[...] = self._vector(name, value, array.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a Reference cannot be pickled or copied: make one of its model, and give it this one's qpos, qvel, act, "
            "ctrl and time"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._arrays]

    @staticmethod
    def _vector(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
        """The value as float64 of this shape, or a ValueError that says what was given."""
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.shape != shape:
            given = f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"{name} is given {given}, and wants float64 of shape {shape}")
        return array.astype(np.float64)

    def step(self, nsubsteps: int = 1) -> None:
        """Advances by `nsubsteps` time steps; a divergence freezes the last good state and sets `status`."""
        nsubsteps = integer("nsubsteps", nsubsteps)
        if nsubsteps < 0:
            raise ValueError(f"step is given {nsubsteps} substeps, and wants 0 or more")
        self._core.step(nsubsteps)

    def advance(self, duration: float) -> list[Event]:
        """Advances by `duration` seconds under `scheme = "event_driven"`; returns the events on the way."""
        if not (np.isfinite(duration) and duration >= 0):
            raise ValueError(f"advance is given {duration} s, and wants 0 or more")
        return [Event(*event) for event in self._core.advance(float(duration))]

    def forward(self) -> None:
        """Derived quantities at the present state, no integration."""
        self._core.forward()

    def reset(self, keyframe: int | str | None = None) -> None:
        """The model's initial state, or a keyframe's by number or name; inputs zero or the keyframe's."""
        key = -1
        if isinstance(keyframe, str):
            key = self.model.id_of("key", keyframe)
            if key < 0:
                raise ValueError(f"the model has no keyframe '{keyframe}'")
        elif keyframe is not None:
            key = integer("keyframe", keyframe)
            if not 0 <= key < self.model.nkey:
                raise ValueError(f"keyframe {key} is given, and the model has {self.model.nkey}")
        self._core.reset(key)

    @property
    def time(self) -> float:
        """Simulated time in seconds."""
        return self._core.time

    @time.setter
    def time(self, seconds: float) -> None:
        self._core.time = float(self._vector("time", seconds, ()))

    @property
    def status(self) -> Status:
        """What went wrong; a set bit stays until `reset()`."""
        return Status(self._core.status)

    @property
    def residual(self) -> float:
        """KKT residual of the last solve."""
        return self._core.residual

    @property
    def iterations(self) -> int:
        """Iterations of the last solve."""
        return self._core.iterations

    @property
    def contacts_needed(self) -> int:
        """Contacts of the last `forward()`, or of the last step's start: a reference drops none."""
        return self.contacts().count

    def sensor(self, name: str) -> np.ndarray:
        """(dim,) the readings of one sensor, by its name: a view of `sensordata`."""
        return self.sensordata[sensor_columns(self.model, name)]

    def contacts(self) -> Contacts:
        """Contacts of the last `forward()`, or of the last step's start: a copy, `count` of them.

        `Batch.contacts()` without its leading axis, and with no empty slots.
        """
        found = self._core.contacts()
        return Contacts(len(found["dist"]), *(found[name] for name in Contacts._fields[1:]))

    def mass_matrix(self) -> np.ndarray:
        """M(q), (nv, nv), armature included."""
        return self._core.mass_matrix()

    def bias(self) -> np.ndarray:
        """Coriolis, centrifugal and gravity forces: what `inverse_dynamics` gives for qacc = 0."""
        return self._core.bias()

    def inverse_dynamics(self, qacc: np.ndarray) -> np.ndarray:
        """M qacc + bias by recursive Newton-Euler: no contacts, damping or springs."""
        return self._core.inverse_dynamics(self._vector("qacc", qacc, (self.model.nv,)))

    def forward_dynamics(self, tau: np.ndarray) -> np.ndarray:
        """The qacc with M qacc + bias = tau, by articulated bodies: no contacts, damping or springs."""
        return self._core.forward_dynamics(self._vector("tau", tau, (self.model.nv,)))

    def coriolis_matrix(self) -> np.ndarray:
        """C(q, v) with bias = C v + gravity and dM/dt - 2C skew.

        From Christoffel symbols where all joints are hinges and slides, else from body Jacobians.
        """
        return self._core.coriolis_matrix()

    def momentum(self) -> np.ndarray:
        """p = M v."""
        return self._core.momentum()

    def hamiltonian(self) -> float:
        """Kinetic plus potential energy."""
        return self.kinetic_energy + self.potential_energy

    @property
    def kinetic_energy(self) -> float:
        """1/2 v'Mv, armature included."""
        return self._core.kinetic_energy

    @property
    def potential_energy(self) -> float:
        """Of gravity and springs; zero with every mass at the world's origin and every spring at rest."""
        return self._core.potential_energy

"""Batches: thousands of environments of one model, stepped together."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep import _core, _memory, lane_choice
from dualstep._arrays import (
    OnDevice,
    array_of,
    dtype_of,
    host,
    integer,
    lanes_of,
    on_device,
    on_host,
    ready,
    substeps,
    text,
    word,
)
from dualstep._fields import BatchFields
from dualstep._names import missing, sensor_columns
from dualstep.model import Model
from dualstep.results import Contacts, Status, Summary

__all__ = ["Batch", "Contacts", "Status", "Summary"]

# the run-time compiler of CUDA, which makes steps for single models, may come as a package
_core.search_nvrtc_in(sys.path)

_POLICIES = ("freeze", "reset")
_STAGES = ("first", "last")
_NUMBERS_AT_ONCE = 2_000_000
# the class has a property _core
_CoreBatch = _core.Batch


class Batch(BatchFields):
    """N environments of one model on one device.

    `device`: "cpu", "cuda", "cuda:1", "emulated", or "auto" (cuda where there is one, else cpu).
    `num_threads`: of the CPU; 0 takes all. `isa`: "portable", "avx2" or "avx512"; None takes the best here.
    `lanes` (1, 2, 4, 8, 16 or 32; on CUDA any where kernels are specialised, else those built in) is how many threads
    share an environment on the devices "cuda" and "emulated"; five numbers launch the step in parts (smooth, collide,
    rows, solve, integrate), each with threads of its own; "tuned" tries what is fastest here and remembers it
    (`tune_lanes`); None takes what was remembered, else 8. `order` ("ordered", "reversed" or "shuffled", by `seed`) is
    in which order emulated ones run
    between barriers. None of these changes a bit of the results. `diverged`: what happens to an environment whose state
    is no longer finite: "freeze" leaves it at its last good state until it is reset, "reset" resets it after the step
    and counts it in `reset_count`. `rk4_outputs`: which evaluation of a step with RK4 the outputs are of: "first", at
    its start, or "last", its last stage, which is what MuJoCo leaves in its data. The model's options are read now;
    later changes to them are not seen.

    Arrays have shape (num_envs, ...): write to the state to set it. On the CPU they are numpy views, on CUDA
    objects that torch.from_dlpack, jax.dlpack.from_dlpack and cupy.asarray take without a copy, that are assigned
    as a whole (`sim.ctrl = actions`, of the host or of the device), and that give a copy by `.numpy()`. `sensordata` is
    computed by every step once it was asked for; its clock shows the time of the state, after a step that of its end.
    Contact sensors of contacts with a gap and torques on the world are left to the reference: all sensors of such a
    model are then read one environment after another, into a new array each time. `seed` is for
    those who draw random numbers for the batch; the simulation itself draws none.
    """

    def __init__(
        self,
        model: Model,
        num_envs: int,
        device: str = "auto",
        dtype: Any = "float32",
        num_threads: int = 0,
        seed: int = 0,
        *,
        isa: str | None = None,
        lanes: int | Sequence[int] | str | None = None,
        order: str | None = None,
        diverged: str = "freeze",
        rk4_outputs: str = "first",
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"a Batch takes a dualstep.Model, and is given {type(model).__name__}")
        num_envs = integer("num_envs", num_envs)
        if not 1 <= num_envs < 2**31:
            raise ValueError(f"num_envs {num_envs} is given, and it must be from 1 to {2**31 - 1}")
        num_threads = integer("num_threads", num_threads)
        if not 0 <= num_threads < 2**31:
            raise ValueError(f"num_threads {num_threads} is given, and it must be 0 (all) or positive")
        if not isinstance(device, str):
            raise ValueError(f"device {device!r} is given, and it must be a string")
        self._dtype = dtype_of(dtype)
        word("diverged", diverged, _POLICIES)
        word("rk4_outputs", rk4_outputs, _STAGES)
        if isa is not None:
            word("isa", isa, ("portable", "avx2", "avx512"))
        chosen = lanes_of(lanes)
        if order is not None:
            word("order", order, ("ordered", "reversed", "shuffled"))
        _memory.check(model, num_envs, device, self._dtype)
        # what it is made again from, elsewhere
        self._made = {
            "device": device, "dtype": self._dtype.name, "num_threads": num_threads, "isa": isa, "lanes": lanes,
            "order": order, "diverged": diverged, "rk4_outputs": rk4_outputs,
        }  # fmt: skip
        self._model = model
        self._seed = integer("seed", seed)
        self._diverged = diverged
        self._views: dict[str, Any] = {}

        options = _core.BatchOptions()
        options.num_envs = num_envs
        options.device = device
        options.float64 = self._dtype == np.float64
        options.num_threads = num_threads
        options.isa = isa or ""
        options.order = order or ""
        options.seed = self._seed % 2**64
        options.reset_diverged = diverged == "reset"
        options.last_stage_outputs = rk4_outputs == "last"

        def make(lanes: list[int]) -> _CoreBatch:
            options.lanes = lanes
            try:
                return _core.Batch(model, options)
            except MemoryError as error:
                why = str(error).replace("std::bad_alloc", "no more is to be had")
                raise MemoryError(
                    f"{num_envs} environments of {model!r} want more memory than there is: {why}"
                ) from None

        if lanes == "tuned":
            chosen = lanes_of(lane_choice.tuned_lanes(Batch, model, num_envs, device))
        self._core_batch: _CoreBatch | None = make(chosen)
        if lanes is None and self.device.startswith("cuda") and not os.environ.get("DUALSTEP_CUDA_LANES"):
            remembered = lane_choice.remembered_lanes(model, num_envs, self.description)
            if remembered is not None:
                # there may be no memory for two
                self._core_batch = None
                self._core_batch = make(lanes_of(remembered))

    # what it is -------------------------------------------------------------------------------------------

    @property
    def _core(self) -> _CoreBatch:
        if self._core_batch is None:
            raise RuntimeError("this batch is closed")
        return self._core_batch

    @property
    def model(self) -> Model:
        return self._model

    @property
    def num_envs(self) -> int:
        return self._core.num_envs

    @property
    def device(self) -> str:
        """Where the batch lives: "cpu", "cuda:0", "emulated"."""
        return self._core.device

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def diverged(self) -> str:
        return self._diverged

    @property
    def description(self) -> str:
        """How it runs: device, instruction set, environments side by side, threads."""
        return self._core.description

    @property
    def stream(self) -> int:
        """On CUDA, the handle of the stream that the batch's work is queued in; 0 is the legacy stream.

        To set: a handle, or a stream of torch or CuPy, which the batch then keeps alive. What was queued before comes
        first. A step in a stream that captures is captured.
        """
        return self._core.stream

    @stream.setter
    def stream(self, stream: Any) -> None:
        owner = stream
        for attribute in ("cuda_stream", "ptr", "handle"):
            stream = getattr(stream, attribute, stream)
        if self._core.device_index < 0:
            raise ValueError(f"a stream is given, and this batch is on device '{self.device}'")
        self._core.stream = integer("stream", stream)
        self._stream_owner = owner  # the one before it may go: the new one waits for it

    def __len__(self) -> int:
        return self.num_envs

    def __repr__(self) -> str:
        if self._core_batch is None:
            return "Batch(closed)"
        return f"Batch({self.num_envs} of {self._model!r}, {self._dtype}, {self.description})"

    def __setattr__(self, name: str, value: Any) -> None:
        kind = getattr(type(self), name, None)
        if kind is None and not name.startswith("_"):
            near = difflib.get_close_matches(name, [n for n in dir(type(self)) if not n.startswith("_")], 1)
            raise AttributeError(f"a Batch has no '{name}' to set" + (f"; '{near[0]}' is near" if near else ""))
        if isinstance(kind, property) and kind.fset is None:
            raise AttributeError(f"'{name}' is computed and cannot be set")
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing(self, "a Batch", name)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._core_batch is None:
            raise TypeError("this batch is closed: it cannot be pickled or copied")
        return _restored, (self._model, self.num_envs, {**self._made, "seed": self._seed}, self.save())

    def close(self) -> None:
        """Ends the threads of the batch. Arrays that were taken from it stay valid."""
        self._core_batch = None
        self._views.clear()

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _view(self, name: str) -> Any:
        array = self._views.get(name)
        if name == "sensordata" and not self._core.sensors_in_step:
            from dualstep._reference_sensors import readings

            return readings(self)
        if array is None:
            array = self._views[name] = self._core.view(name)
        elif name.startswith("contact_"):
            self._core.want([name])
        return array

    # running ----------------------------------------------------------------------------------------------

    def step(self, nsubsteps: int = 1) -> None:
        """Advances every environment by `nsubsteps` timesteps; outputs are those of the last one's start.

        Ctrl-C ends it soon, as it does every call: no environment has done more substeps than others.
        """
        self._core.step(substeps(nsubsteps))

    def rollout(
        self, ctrl: Any, nsubsteps: int = 1, outputs: Sequence[str] = ("qpos", "qvel")
    ) -> Mapping[str, np.ndarray]:
        """Steps through controls (T, N, nu), each held for `nsubsteps`: {name: (T, N, ...)}, on the host.

        Row t is what the array holds after step t; the state is then that of its end. Ctrl-C stops it between steps.
        """
        from dualstep._rollout import rollout_of

        return rollout_of(self, ctrl, nsubsteps, outputs)

    def wait(self) -> None:
        """Returns when a device has done all that the batch was told: for those who time it."""
        self._core.wait()

    def forward(self, mask: Any = None) -> None:
        """Outputs at the current state, of all environments or of those where mask is true; time does not advance.

        `mask`: (num_envs,) booleans, on the host or on the batch's own device.
        """
        near = None if mask is None else self._marks(mask)
        if near is None:
            self._core.forward(None if mask is None else self._mask(mask))
        else:
            self._core.forward_marked(near.pointer, near.stream)
            self._has_read(near)

    def reset(self, mask: Any = None, keyframe: int | str | None = None) -> None:
        """Puts environments back to the model's reference configuration, or to a keyframe, by id or name.

        `mask`: (num_envs,) booleans, those to reset; None resets all. Outputs are then those of the new state.
        """
        key = -1 if keyframe is None else self._keyframe(keyframe)
        near = None if mask is None else self._marks(mask)
        if near is None:
            self._core.reset(None if mask is None else self._mask(mask), key)
        else:
            self._core.reset_marked(near.pointer, near.stream, key)
            self._has_read(near)

    def summary(self) -> Summary:
        """Counts and maxima over all environments, taken together where the batch lives: one small answer."""
        return Summary(*self._core.summary())

    def inspect(self, name: str, env: int = 0) -> np.ndarray:
        """An array of one environment's workspace, as its last evaluation leaves it: a copy, to debug a stage.

        On device "emulated" alone. Names, sizes and meanings are the SCRATCH rows of kernels/data/fields.inl ("cdof",
        "LD", "con_f", ...); of the islands of a scene they are "islands." and a row of kernels/data/island_arena.inl
        ("islands.head", "islands.tree_island", "islands.H", ...), integers or real numbers, one axis each. The
        evaluation is run once more and changes nothing. NaN stands where no stage wrote.
        """
        names = [row[0] for row in _core.scratch_fields()] + ["islands." + row[0] for row in _core.island_fields()]
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=3)
            raise ValueError(
                f"inspect: {name!r} is given, and no array of the workspace is called so"
                + (f"; near are {', '.join(near)}" if near else "")
            )
        env = integer("env", env)
        if not 0 <= env < self.num_envs:
            raise ValueError(f"env {env} is given, and the batch has {self.num_envs}")
        values, integers = self._core.inspect(name, env)
        return values.astype(np.int32 if integers else self._dtype)

    def clear_status(self, mask: Any = None) -> None:
        """Clears the status bits of all environments, or of those where mask is true."""
        self._core.clear_status(None if mask is None else self._mask(mask))

    def _marks(self, mask: Any) -> OnDevice | None:
        """A mask that lies on the batch's device; None where it is one of the host."""
        index = self._core.device_index
        near = on_device("mask", mask, index)
        if near is None:
            return None
        if near.shape != (self.num_envs,) or near.dtype != np.dtype(bool):
            raise ValueError(
                f"mask: an array of shape {near.shape} and dtype {near.dtype} is given, and an array of shape "
                f"({self.num_envs},) and dtype bool is wanted"
            )
        return near if near.said else ready("mask", mask, near, index, self._core.stream)

    def _has_read(self, near: OnDevice) -> None:
        if near.owner is not None:
            self._core.wait()

    def _mask(self, mask: Any) -> np.ndarray:
        return np.ascontiguousarray(array_of("mask", mask, (self.num_envs,), np.dtype(bool)))

    def _keyframe(self, keyframe: int | str) -> int:
        nkey = self._model.nkey
        if isinstance(keyframe, str):
            found = self._model.id_of("key", keyframe)
            if found < 0:
                names = [self._model.name_of("key", i) for i in range(nkey)]
                listed = ", ".join(f"'{name}'" for name in names) or "none"
                raise ValueError(f"keyframe '{keyframe}' is given, and the model's keyframes are: {listed}")
            return found
        index = integer("keyframe", keyframe)
        if not 0 <= index < nkey:
            has = f"keyframes 0 to {nkey - 1}" if nkey else "no keyframes"
            raise ValueError(f"keyframe {index} is given, and the model has {has}")
        return index

    # derived quantities that are no plain array -----------------------------------------------------------

    def mass_matrix(self) -> np.ndarray:
        """The joint-space mass matrices of the last evaluation, dense: (N, nv, nv). A copy."""
        core, nv = self._core, self._model.nv
        packed = host(self._view("qM"))
        rows = np.repeat(np.arange(nv), np.diff(core.integers("M_rowadr")))
        columns = core.integers("M_col")
        dense = np.empty((self.num_envs, nv, nv), self._dtype)
        # numpy hears no Ctrl-C
        some = max(1, _NUMBERS_AT_ONCE // max(1, nv * nv))
        for first in range(0, self.num_envs, some):
            part, values = dense[first : first + some], packed[first : first + some]
            part[...] = 0
            part[:, rows, columns] = values
            part[:, columns, rows] = values
        return dense

    def sensor(self, name: str) -> np.ndarray:
        """(N, dim) the readings of one sensor, by its name: a view of `sensordata`, on CUDA a copy on the host."""
        return host(self.sensordata)[:, sensor_columns(self._model, name)]

    def ray(
        self,
        origin: Any,
        direction: Any,
        groups: Sequence[int] | None = None,
        exclude_body: int = -1,
        fixed: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where rays first meet a geom, at the poses of the last evaluation: distances and geoms, (N, M) each.

        `origin`, `direction`: (N, M, 3) in world axes, or what broadcasts to that. A ray that meets nothing has -1 and
        -1; distances are in units of the length of the direction, as in MuJoCo's mj_ray. `groups` are the groups of
        geoms that are met, of 0 to 5 (None: all); geoms of `exclude_body` are not, nor, where not `fixed`, those of
        bodies that are fixed to the world, nor ever those whose colour has no opacity. The host casts them, whatever
        the device.
        """
        rays = []
        for name, x in (("origin", origin), ("direction", direction)):
            given = np.asarray(on_host(name, x))
            if given.dtype.kind not in "iuf":
                raise ValueError(f"{name}: dtype {given.dtype} is given, and real numbers are wanted")
            rays.append(given.astype(self._dtype, copy=False))
        try:
            shape = np.broadcast_shapes(*(x.shape for x in rays), (self.num_envs, 1, 3))
        except ValueError:
            shape = ()
        if len(shape) != 3 or shape[::2] != (self.num_envs, 3):
            raise ValueError(
                f"rays of shapes {rays[0].shape} and {rays[1].shape} are given, and ({self.num_envs}, M, 3) is wanted"
            )
        exclude_body = integer("exclude_body", exclude_body)
        if not -1 <= exclude_body < self._model.nbody:
            raise ValueError(
                f"exclude_body {exclude_body} is given, and it must be one of the bodies 0 to {self._model.nbody - 1}, "
                "or -1 for none"
            )
        if groups is not None and not isinstance(groups, Iterable):
            raise TypeError(f"groups {groups!r} is given, and it must be a sequence of groups: [{groups!r}]")
        wanted = range(6) if groups is None else [integer("groups", group) for group in groups]
        if any(not 0 <= group < 6 for group in wanted):
            raise ValueError(f"groups {list(wanted)} are given, and there are groups 0 to 5")
        bits = sum(1 << group for group in set(wanted))
        first, second = (np.ascontiguousarray(np.broadcast_to(x, shape)) for x in rays)
        return self._core.ray(first, second, bits, exclude_body, bool(fixed))

    def contacts(self) -> Contacts:
        """The contacts of the last evaluation: after step(), those of its (last) substep's start."""
        names = [f"contact_{field}" for field in Contacts._fields]
        self._core.want(names)
        return Contacts(*(self._view(name) for name in names))

    # parameters of single environments --------------------------------------------------------------------

    def _envs(self, envs: Any) -> list[int]:
        """Indices from None (all), one index, a list of them, or a mask."""
        n = self.num_envs
        if envs is None:
            return list(range(n))
        given = np.atleast_1d(np.asarray(on_host("envs", envs)))
        if given.dtype == bool:
            return np.flatnonzero(array_of("envs", given, (n,), np.dtype(bool))).tolist()
        if given.size == 0:
            return []
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise ValueError(
                f"envs: an array of shape {given.shape} and dtype {given.dtype} is given, and indices of environments, "
                f"or a mask of shape ({n},), are wanted"
            )
        if given.min() < 0 or given.max() >= n:
            raise ValueError(f"envs: environments {given.min()} to {given.max()} are given, of 0 to {n - 1}")
        if np.unique(given).size != given.size:
            raise ValueError("envs: an environment is given twice")
        return given.tolist()

    def _parameter_shape(self, name: str) -> tuple[int, ...]:
        try:
            return tuple(self._core.parameter_shape(text("parameter", name)))
        except ValueError as error:
            near = difflib.get_close_matches(name, _core.parameter_names(), n=3)
            if "there is no" not in str(error) or not near:
                raise
            listed = ", ".join(f"'{word}'" for word in near)
            raise ValueError(f"there is no parameter '{name}'; near it are {listed}") from None

    def get_parameter(self, name: str, envs: Any = None) -> np.ndarray:
        """A model parameter in MuJoCo's name and shape, as each environment has it: (len(envs), ...), float64."""
        self._parameter_shape(name)
        return self._core.get_parameter(name, self._envs(envs))

    def set_parameter(self, name: str, values: Any, envs: Any = None) -> None:
        """Gives environments their own values of a model parameter, by MuJoCo's name ("geom_friction").

        `values` has shape (len(envs), ...), or that of one environment, for all of them alike. What follows from
        the parameter (subtree masses, inverse weights, bounding radii) is derived anew, and outputs of these
        environments are then of the last evaluation as it would have been with them. `opt_gravity` is gravity.
        """
        shape, chosen = self._parameter_shape(name), self._envs(envs)
        try:
            given = np.asarray(on_host(name, values))
            if given.dtype.kind not in "iuf":
                raise TypeError(f"dtype {given.dtype} is given")
        except TypeError as error:
            raise ValueError(f"{name}: real numbers are wanted ({error})") from None
        whole = (len(chosen), *shape)
        if given.shape == shape:
            given = np.broadcast_to(given, whole)
        if given.shape != whole:
            raise ValueError(f"{name}: an array of shape {given.shape} is given, and one of shape {whole} is wanted")
        self._core.set_parameter(name, np.ascontiguousarray(given, np.float64), chosen)

    # saving -----------------------------------------------------------------------------------------------

    def save(self, envs: Any = None) -> bytes:
        """Everything that the future of the environments depends on. Loading it gives the same bits."""
        return self._core.save(self._envs(envs))

    def load(self, state: bytes, envs: Any = None) -> None:
        """Restores what `save` gave: its environment i comes to place envs[i].

        Raises ValueError, and changes nothing, where the state is of another model or dtype, or damaged.
        """
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise ValueError(f"state: {type(state).__name__} is given, and the bytes of save() are wanted")
        self._core.load(bytes(state), self._envs(envs))


def _restored(model: Model, num_envs: int, options: dict[str, Any], state: bytes) -> Batch:
    """A batch as it was pickled."""
    batch = Batch(model, num_envs, **options)
    batch.load(state)
    return batch

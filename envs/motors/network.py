"""A motor that was learned: a network from what its joint did to its torque.

After Hwangbo et al. 2019 ("Learning agile and dynamic motor skills for legged robots", Science Robotics 4). For each
joint the network is given the errors of its position (target less position) and its velocities, now and some timesteps
ago (`lags`), first all errors, then all velocities, and gives the torque. It is evaluated in every timestep of the
task, also where a law of contact makes shorter ones, which then share a torque; in single precision, of all
environments and joints in one call. Until there is something older, what an episode remembers is 0. Its torques are
the controls of torque motors, explicit in time: the damping of position actuators is not there to be integrated
implicitly.

A file is TorchScript (.pt, .pth, .jit), from (rows, 2 lags) to (rows, 1), or .npz: weight_0 (out, in), bias_0 (out,),
weight_1, ..., and activation, the name of one of `ACTIVATIONS`, between layers.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep.envs.arrays import require
from dualstep.envs.motors.dcmotor import FORCE, LAW, write_motors
from dualstep.envs.motors.model import POSITION, MotorModel, Numbers
from dualstep.envs.task import number

if TYPE_CHECKING:
    from dualstep.envs.task import View

SCRIPTS = (".pt", ".pth", ".jit")
ORDERS = ("position_velocity", "velocity_position")
PAST = "motor_past"
ACTIVATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "tanh": lambda xp, x: xp.tanh(x),
    "elu": lambda xp, x: xp.where(x > 0, x, xp.expm1(xp.clip(x, None, 0))),
    "relu": lambda xp, x: xp.clip(x, 0, None),
    "softsign": lambda xp, x: x / (1 + abs(x)),
}
# by the name that a task gives: networks that a checkpoint brought
_kept: dict[str, bytes] = {}


def keep(name: str, stored: bytes) -> None:
    """From now on a network of this name is this one, and not a file."""
    _kept[name] = stored


def stored(motor: MotorModel | None) -> tuple[str, bytes] | None:
    """The network of a task by its name, where it is numbers alone."""
    if isinstance(motor, Network) and not Network.runs_code(motor.model):
        return motor.model, motor.content
    return None


@dataclasses.dataclass(kw_only=True)
class Network(MotorModel):
    """`lags`: timesteps back from now, that inputs are of. `order`: whether errors or velocities come first. The
    scales multiply inputs and the output. With a `velocity_limit`, torques end as a dcmotor's do (dcmotor.py), and
    `saturation_effort` is what they end at, at a standstill."""

    named = f"the path of a network ({', '.join(('.npz', *SCRIPTS))})"
    kinds = (POSITION,)

    lags: tuple[int, ...] = (0, 1, 2)
    order: str = ORDERS[0]
    position_scale: float = 1.0
    velocity_scale: float = 1.0
    torque_scale: float = 1.0
    saturation_effort: Numbers | None = None
    velocity_limit: Numbers | None = None

    content: bytes = dataclasses.field(init=False, repr=False)
    evaluations: int = dataclasses.field(init=False, repr=False)
    """in a step"""
    layers: list[np.ndarray] = dataclasses.field(init=False, repr=False, default_factory=list)
    activation: str = dataclasses.field(init=False, repr=False, default="")
    scripts: dict[str, Any] = dataclasses.field(init=False, repr=False, default_factory=dict)
    """TorchScript by the device that it is on"""

    @classmethod
    def serves(cls, name: str) -> bool:
        return Path(name).suffix in (".npz", *SCRIPTS)

    @classmethod
    def runs_code(cls, name: str) -> bool:
        return Path(name).suffix in SCRIPTS

    def __post_init__(self) -> None:
        what = self.what
        whole = isinstance(self.lags, (tuple, list)) and all(type(k) is int and 0 <= k <= 1000 for k in self.lags)
        if not whole or not self.lags:
            raise ValueError(f"{what}: lags {self.lags!r} is given, and timesteps from 0 to 1000 are wanted")
        if self.order not in ORDERS:
            raise ValueError(f"{what}: order {self.order!r} is given, and {' or '.join(map(repr, ORDERS))} is wanted")
        for name in ("position_scale", "velocity_scale", "torque_scale"):
            number(f"{what}: {name}", getattr(self, name))
        if self.saturation_effort is not None and self.velocity_limit is None:
            raise ValueError(f"{what}: saturation_effort is given, and velocity_limit is wanted beside it")
        self.wanted = (
            f"from {2 * len(self.lags)} numbers (errors and velocities at the lags {self.lags!r}) to 1 is wanted"
        )
        self._read()

    # the file ----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        path = Path(self.model).expanduser()
        if self.model in _kept:
            self.content = _kept[self.model]
        elif path.is_file():
            self.content = path.read_bytes()
        else:
            raise FileNotFoundError(f"{self.what} is given, and there is no such file in {Path.cwd()}")
        read = self._script_read if self.runs_code(self.model) else self._npz_read
        read()
        given = np.zeros((2, 2 * len(self.lags)), np.float32)
        try:
            torque = self._apply_on_host(given)
            shape = tuple(torque.shape)
        except Exception as error:
            told = " ".join(str(error).split())
            raise ValueError(f"{self.what}: a network {self.wanted}, and this one fails: {told[-200:]}") from None
        if shape != (2, 1):
            made = f"this one makes {shape} of {given.shape}"
            raise ValueError(f"{self.what}: a network {self.wanted}, and {made}")
        if not np.isfinite(torque).all():
            raise ValueError(f"{self.what}: its torque is {float(torque[0, 0])} where all inputs are 0")

    def _npz_read(self) -> None:
        try:
            with np.load(io.BytesIO(self.content), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except Exception as error:
            raise ValueError(f"{self.what} is no .npz of numbers: {error}") from None
        count = sum(name.startswith("weight_") for name in arrays)
        names = [f"{part}_{i}" for i in range(count) for part in ("weight", "bias")]
        missing = [name for name in ("weight_0", *names, "activation") if name not in arrays]
        if missing:
            there, wanted = ", ".join(arrays) or "nothing", "weight_0, bias_0, ... and activation are wanted"
            raise ValueError(f"{self.what} has no {missing[0]}: {wanted}, and it has {there}")
        self.activation = str(arrays["activation"])
        if self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"{self.what}: activation {self.activation!r} is given, and one of {known} is wanted")
        width = 2 * len(self.lags)
        for i in range(count):
            weight, bias = arrays[f"weight_{i}"], arrays[f"bias_{i}"]
            out = 1 if i == count - 1 else "k"
            fits = weight.ndim == 2 and weight.shape[1] == width and bias.shape == weight.shape[:1]
            if not fits or (out == 1 and len(weight) != 1):
                raise ValueError(
                    f"{self.what}: weight_{i} is {weight.shape} and bias_{i} {bias.shape}, and ({out}, {width}) and "
                    f"({out},) are wanted: a network {self.wanted}"
                )
            width = len(weight)
        self.layers = [np.asarray(arrays[name], np.float32) for name in names]
        wrong = [name for name, array in zip(names, self.layers, strict=True) if not np.isfinite(array).all()]
        if wrong:
            raise ValueError(f"{self.what}: {wrong[0]} is not finite")

    def _script_read(self) -> None:
        torch = require("torch", "train")
        try:
            self.scripts["cpu"] = torch.jit.load(io.BytesIO(self.content), map_location="cpu").eval().float()
        except Exception as error:
            first = str(error).strip().split("\n", 1)[0]
            raise ValueError(f"{self.what} is no TorchScript: {first[:200]}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "scripts": {}}

    # its torques -------------------------------------------------------------------------------------------

    def _script_on(self, device: Any) -> Any:
        if "cpu" not in self.scripts:
            self._script_read()
        if str(device) not in self.scripts:
            torch = require("torch", "train")
            self.scripts[str(device)] = torch.jit.load(io.BytesIO(self.content), map_location=device).eval().float()
        return self.scripts[str(device)]

    def _mlp(self, xp: Any, table: Callable[[np.ndarray], Any], x: Any) -> Any:
        for i in range(0, len(self.layers), 2):
            x = x @ table(self.layers[i]).T + table(self.layers[i + 1])
            if i + 2 < len(self.layers):
                x = ACTIVATIONS[self.activation](xp, x)
        return x

    def _apply_on_host(self, x: np.ndarray) -> np.ndarray:
        if self.layers:
            # what is not finite is noticed, and told by name
            with np.errstate(over="ignore", invalid="ignore"):
                return self._mlp(np, lambda array: array, x)
        torch = require("torch", "train")
        with torch.no_grad():
            return self._script_on("cpu")(torch.from_numpy(np.ascontiguousarray(x))).numpy()

    def _apply(self, s: View, x: Any) -> Any:
        """(rows, inputs) in single precision to (rows, 1), where the batch is."""
        if s.arrays.on_host:
            return self._apply_on_host(x)
        if self.layers:
            return self._mlp(s.xp, functools.partial(s.table, dtype=np.float32), x)
        with require("torch", "train").no_grad():
            return self._script_on(x.device)(x)

    # the task ----------------------------------------------------------------------------------------------

    @property
    def memory(self) -> dict[str, int | tuple[int, ...]]:
        return {PAST: (max(self.lags) + 1, 2, len(self.actuators.rows))}

    def take(self, task: Any) -> None:
        super().take(task)
        self.evaluations = task.frame_skip
        velocity_first = self.order == ORDERS[1]
        scale = np.array([self.position_scale, self.velocity_scale])
        # of [error, velocity], in the network's order
        self.sources = np.array([1, 0] if velocity_first else [0, 1])
        self.scale = scale[self.sources][:, None]
        self.ago = np.array(self.lags)

    def edit(self, mj_model: Any) -> None:
        a = self.actuators
        none = np.zeros(len(a.rows))
        if self.velocity_limit is not None:
            write_motors(mj_model, self, none, none, np.full(len(a.rows), FORCE))
        else:
            for name in LAW:
                getattr(mj_model, "actuator_" + name)[a.rows] = 0
            mj_model.actuator_gainprm[a.rows, 0] = 1
            mj_model.actuator_dynprm[a.rows, 0] = 1
            mj_model.actuator_ctrlspec[a.rows] = self.given.mj_model.actuator_ctrlspec[a.rows]
        # what a task asks for is a position, and its range is not the torque's
        mj_model.actuator_ctrllimited[a.rows] = 0

    def advance(self, view: Callable[[], View], timesteps: Callable[[int], None], count: int) -> Any:
        s, a = view(), self.actuators
        xp, rows = s.xp, s.table(a.rows, np.int64)
        control = s.arrays.native(s.sim.ctrl)
        target = xp.clip(control[:, rows], s.table(a.low), s.table(a.high)) / s.table(a.gear)
        bad = target != target
        for _ in range(self.evaluations):
            torque = self._torques(view(), target)
            bad = bad | ~xp.isfinite(torque)
            torque = xp.where(bad, xp.zeros_like(torque), torque)
            control[:, rows] = torque / s.table(a.gear)
            timesteps(count // self.evaluations)
        return xp.where(bad, xp.full_like(target, math.nan), xp.zeros_like(target))

    def _torques(self, s: View, target: Any) -> Any:
        """(N, n) of the present state, which is remembered; 0 where that is not finite, as of diverged environments."""
        xp, a = s.xp, self.actuators
        error = target - s.qpos[:, s.table(a.qpos, np.int64)]
        velocity = s.qvel[:, s.table(a.dof, np.int64)]
        now = xp.concatenate([error[:, None], velocity[:, None]], axis=1)
        fine: Any = xp.isfinite(now).all(axis=1)
        now = xp.where(fine[:, None], now, xp.zeros_like(now))
        past = xp.concatenate([now[:, None], s.recall(PAST)[:, :-1]], axis=1)
        s.keep(PAST, past)
        # (N, lags, 2, n): by environment and joint, errors of all lags, then velocities, or the other way round
        chosen = past[:, s.table(self.ago, np.int64)][:, :, s.table(self.sources, np.int64)] * s.table(self.scale)
        inputs = s.arrays.real(chosen.swapaxes(1, 3).reshape(-1, 2 * len(self.lags)), np.float32)
        torque = s.arrays.real(self._apply(s, inputs), s.sim.dtype).reshape(error.shape)
        return xp.where(fine, torque * self.torque_scale, xp.zeros_like(torque))

"""A task: a model, and four small functions over the arrays of all environments at once.

    reset(s, draw)    the state that an episode begins with, for the environments of s
    observe(s)        what the policy sees: (rows, n); or a dict of such by group, of which "policy" is one
    reward(s)         (rows,), and the terms it is made of
    terminated(s)     (rows,) booleans, or None where episodes only end by their time limit

Where that is not enough: `memory` names arrays that last from step to step, `control` turns actions into controls,
and `events` happens after each step, with draws of its own: commands that change, pushes.

`s` is a `View`: the batch's arrays by name (`s.qpos`, `s.xpos`, `s.sensordata`, ...), for all environments or for
some of them. The functions are written in what numpy and torch have in common (`s.xp` is one or the other), so
that the same task runs on the host and on a GPU.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep.envs.assets import load
from dualstep.model import Model

if TYPE_CHECKING:
    from dualstep.batch import Batch
    from dualstep.envs.arrays import HostArrays, TorchArrays
    from dualstep.envs.draws import Draws
    from dualstep.envs.motors import MotorModel


class View:
    """The batch as a task sees it: `rows` of it, or all where rows is None."""

    def __init__(
        self,
        task: Task,
        sim: Batch,
        arrays: HostArrays | TorchArrays,
        constants: dict[str, Any],
        memory: dict[str, Any],
        rows: Any = None,
    ) -> None:
        self.task = task
        self.sim = sim
        self._constants = constants
        self._memory = memory
        self.arrays = arrays
        self.xp = arrays.xp
        self.rows = rows
        self.action: Any = None
        """(rows, nu) what the policy asked for"""
        self.rate: Any = None
        """(rows, k) the change of `task.track` over the step, per second"""
        self.fresh: Any = None
        """(rows,) true where the episode has just begun"""
        self._kept: dict[str, Any] = {}

    def _of(self, array: Any) -> Any:
        whole = self.arrays.native(array)
        return whole if self.rows is None else whole[self.rows]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._kept:
            self._kept[name] = self._of(getattr(self.sim, name))
        return self._kept[name]

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """What `compute` gives, computed where it is asked for first: several functions of a task see one view, of one
        state."""
        key = f"once {name}"
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]

    @property
    def model(self) -> Model:
        return self.sim.model

    def table(self, values: np.ndarray, dtype: Any = None) -> Any:
        """An array that the task keeps, where the batch is and in its precision; it is brought there once."""
        key = f"table {id(values)} {dtype}"
        if key not in self._constants:
            # kept with its source, so that no other array can have the same id
            self._constants[key] = (values, self.arrays.from_host(np.asarray(values, dtype or self.sim.dtype)))
        return self._constants[key][1]

    def _kept_by(self, name: str) -> Any:
        if name not in self._memory:
            there = ", ".join(map(repr, self._memory)) or "nothing"
            raise KeyError(f"{type(self.task).__name__}.memory has no {name!r}; there is: {there}")
        return self._memory[name]

    def recall(self, name: str) -> Any:
        """(rows, ...) what the task keeps by this name in its `memory`; zero where the episode has just begun, but for
        what is `lasting`."""
        whole = self._kept_by(name)
        return whole if self.rows is None else whole[self.rows]

    def keep(self, name: str, values: Any) -> None:
        """Keeps this for the steps to come, copied."""
        whole = self._kept_by(name)
        whole[... if self.rows is None else self.rows] = self.arrays.real(values, whole_dtype(whole))

    def constant(self, name: str) -> Any:
        """An array of the model (the one that all environments share), in the precision of the batch."""
        if name not in self._constants:
            given = np.asarray(getattr(self.sim.model, name))
            dtype = self.sim.dtype if given.dtype.kind == "f" else np.int64
            self._constants[name] = self.arrays.from_host(given.astype(dtype))
        return self._constants[name]

    @property
    def cfrc_ext(self) -> Any:
        """(rows, nbody, 6) moment and force on each body from outside (contacts, equalities, tendons, applied), about
        its tree's centre of mass, world axes; zero where no step was taken since the reset, which is when Gymnasium
        has none yet."""

        def found() -> Any:
            wrench = self._of(self.sim.cfrc_ext)
            return wrench if self.fresh is None else wrench * ~self.fresh[:, None, None]

        return self.once("cfrc_ext", found)

    @property
    def tendon_length(self) -> Any:
        """(rows, ntendon) of fixed tendons, at the current positions; MuJoCo leaves those of the last evaluation"""
        return self.qpos @ self._tendon_moments("jnt_qposadr", self.qpos.shape[1])

    @property
    def tendon_velocity(self) -> Any:
        """(rows, ntendon) at the current velocities; MuJoCo leaves those of the last evaluation"""
        return self.qvel @ self._tendon_moments("jnt_dofadr", self.qvel.shape[1])

    def _tendon_moments(self, address: str, width: int) -> Any:
        """(width, ntendon) coefficients: lengths are linear in the joints."""
        key = f"tendons by {address}"
        if key not in self._constants:
            m = self.model
            table = np.zeros((width, m.ntendon), self.sim.dtype)
            for t in range(m.ntendon):
                first = int(m.tendon_adr[t])
                for w in range(first, first + int(m.tendon_num[t])):
                    table[getattr(m, address)[m.wrap_objid[w]], t] += m.wrap_prm[w]
            self._constants[key] = self.arrays.from_host(table)
        return self._constants[key]


def whole_dtype(array: Any) -> np.dtype:
    """numpy's name of the type of an array of numpy or torch."""
    return _numpy_dtype(array.dtype)


@functools.cache
def _numpy_dtype(dtype: Any) -> np.dtype:
    return np.dtype(str(dtype).removeprefix("torch."))


# of the contact solver, where a task names its model by a file: a few states in a hundred need one more iteration,
# and with it a step agrees with MuJoCo's to 1e-3 in single precision
TOLERANCE = 1e-4


def number(name: str, given: Any, least: float = -math.inf, *, finite: bool = True) -> float:
    """An option that is a number; ValueError or TypeError where it is none that makes sense."""
    wanted = "a finite number" if finite else "a number"
    wanted += "" if least == -math.inf else f" of {least:g} or more"
    if not isinstance(given, numbers.Real):
        raise TypeError(f"{name} {given!r} is given, and {wanted} is wanted")
    value = float(given)
    if not value >= least or (finite and not math.isfinite(value)):
        raise ValueError(f"{name} {given!r} is given, and {wanted} is wanted")
    return value


def pair(name: str, given: Any, least: float = -math.inf) -> None:
    """An option that is a range."""
    wanted = "(least, most)" + ("" if least == -math.inf else f" from {least:g} on")
    if np.ndim(given) != 1 or len(given) != 2:
        raise TypeError(f"{name} {given!r} is given, and {wanted} is wanted")
    low, high = (number(name, bound, finite=False) for bound in given)
    if not least <= low <= high:
        raise ValueError(f"{name} {given!r} is given, and {wanted} is wanted")


class Task:
    """What a task is. Subclasses give the four functions, and options as keyword arguments of `__init__`."""

    derived = True
    """whether observe() or track() read more than qpos and qvel: then outputs are evaluated at resets too"""

    looks: Any = None
    """a `mujoco.MjModel` with the same joints, to draw; None draws the model itself"""

    camera: dict[str, Any] = {}
    """where a picture is taken from, in the words of mujoco's camera"""

    motor: MotorModel | None = None
    """what its option `motor_model` made of the actuators; None: what the model has"""

    no_load_velocity: Mapping[str, float] = {}
    """[rad/s] where its motors have no torque left, by patterns of joints' names, where the task knows it"""

    model_name: str | None = None
    """the name by which the task asked for a file of the user's own: a checkpoint brings that model along"""

    def __init__(self, model: Model | str, frame_skip: int = 1) -> None:
        if isinstance(model, Model):
            self.model = model
        else:
            self.model, own = load(model, type(self))
            self.model_name = model if own else None
            self.model.opt.tolerance = TOLERANCE
        if int(frame_skip) != frame_skip or frame_skip < 1:
            raise ValueError(f"frame_skip {frame_skip!r} is given, and it must be a positive integer")
        self.frame_skip = int(frame_skip)

    @property
    def drawn(self) -> Any:
        """The `mujoco.MjModel` that pictures are made of."""
        return self.model.mj_model if self.looks is None else self.looks

    @property
    def dt(self) -> float:
        """Seconds between actions."""
        return float(self.model.opt.timestep) * self.frame_skip

    @property
    def init_qpos(self) -> np.ndarray:
        return np.asarray(self.model.qpos0)

    memory: dict[str, int | tuple[int, ...]] = {}
    """arrays of each environment that last, by name, with their shapes: `s.recall(name)`, `s.keep(name, values)`"""

    lasting: tuple[str, ...] = ()
    """of `memory`, what lasts from episode to episode, such as a curriculum's level: zero at the first of a seed"""

    randomization: tuple[Any, ...] = ()
    """what `Vary` says of the model's parameters, unless the environment is made with another `randomize`"""

    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(k,), (k,): the least and the largest action; by default the ranges of the actuators."""
        # a motor model may take other controls than the task gives
        model = self.model if self.motor is None else self.motor.given
        bounds = np.asarray(model.actuator_ctrlrange, np.float32).reshape(-1, 2)
        free = ~np.asarray(model.actuator_ctrllimited, bool).reshape(-1)
        bounds = np.where(free[:, None], np.array([-np.inf, np.inf], np.float32), bounds)
        return bounds[:, 0].copy(), bounds[:, 1].copy()

    def control(self, s: View, action: Any) -> Any:
        """(rows, nu) what an action means for the actuators; by default it is what they get."""
        return action

    def events(self, s: View, draw: Draws) -> dict[str, Any]:
        """What happens between a step, once it was paid for, and what is observed of it: state arrays to write."""
        return {}

    def stepped(self, s: View) -> None:
        """Comes after the timesteps of a step, before anything is read of them: `s.sim.forward()` evaluates outputs
        anew, where they are wanted of the state that the step ended in."""

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        """State arrays by name, (rows, ...); those that are not named are the model's."""
        raise NotImplementedError

    def observe(self, s: View) -> Any:
        raise NotImplementedError

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        raise NotImplementedError

    def terminated(self, s: View) -> Any:
        return None

    def track(self, s: View) -> Any:
        """(rows, k) what the reward wants the rate of; `s.rate` then has it. None: nothing."""
        return None

    def info(self, s: View) -> dict[str, Any]:
        """Numbers about the state, (rows, ...), that go into `info` at every step and reset."""
        return {}

    def trained(self, share: float) -> None:
        """A training says before each of its iterations which share of its steps was taken, for what gets harder
        with it. An environment that no training steps is one whose training has ended: 1."""

    def check_options(self) -> None:
        """Refuses options that make no sense, of those that are kept under their own names: a number is wanted where
        the default is one, (least, most) for ..._range and ..._seconds; scales, shares and seconds are not below 0."""
        for name, parameter in inspect.signature(type(self).__init__).parameters.items():
            least = 0 if name.endswith(("_scale", "_share", "_seconds")) else -math.inf
            if not hasattr(self, name) or isinstance(parameter.default, bool):
                continue
            if name.endswith(("_range", "_seconds")):
                pair(name, getattr(self, name), least)
            elif isinstance(parameter.default, (int, float)):
                number(name, getattr(self, name), least)

    @classmethod
    def options(cls) -> list[str]:
        """The names of the keyword arguments."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return [p.name for p in inspect.signature(cls.__init__).parameters.values() if p.kind in kinds][1:]

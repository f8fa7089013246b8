"""What every motor model has, and what it is told of the actuators that it takes the place of.

Torques, velocities and gains are those of joints, [N m], [rad/s] (of slides [N], [m/s]); an actuator's own are these
through its gear g: its length is g q, its force f makes the torque g f.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dualstep.envs.task import number

if TYPE_CHECKING:
    from dualstep.envs.task import Task, View
    from dualstep.model import Model

# of all joints, or by patterns of their whole names
Numbers = float | Mapping[str, float]
POSITION, TORQUE = KINDS = "position", "torque"


def matches(pattern: str, name: str, what: str) -> bool:
    """Whether it is the whole name; `what` begins the message where it is no pattern."""
    try:
        return re.fullmatch(pattern, name) is not None
    except (re.error, TypeError):
        raise ValueError(f"{what}: {pattern!r} is given, and a pattern (re) of joints' names is wanted") from None


class Actuators:
    """Some actuators of a model, all on hinges and slides, (n,) each."""

    def __init__(self, model: Model, rows: list[int]) -> None:
        def of(name: str, width: int) -> np.ndarray:
            return np.array(getattr(model, "actuator_" + name), float).reshape(-1, width)[rows]

        joints = [int(np.asarray(model.actuator_trnid).reshape(-1, 2)[a, 0]) for a in rows]
        self.rows = np.array(rows)
        self.joints = [model.name_of("joint", j) or f"joint {j}" for j in joints]
        self.qpos, self.dof = np.asarray(model.jnt_qposadr)[joints], np.asarray(model.jnt_dofadr)[joints]
        self.gear = of("gear", 6)[:, 0]
        self.on_torque = np.array([kind_of(model, a) == TORQUE for a in rows])
        bias, force, control = of("biasprm", 10), of("forcerange", 2), of("ctrlrange", 2)
        self.stiffness, self.damping = -bias[:, 1] * self.gear**2, -bias[:, 2] * self.gear**2
        limited = of("ctrllimited", 1) > 0
        self.low, self.high = np.where(limited, control, [-np.inf, np.inf]).T
        # a torque motor is as strong as the largest control asks for
        most = np.where(self.on_torque, np.maximum(-self.low, self.high), np.inf)
        forced = np.where(of("forcelimited", 1)[:, 0] > 0, abs(force).max(axis=1), np.inf)
        self.effort = np.minimum(most, forced) * abs(self.gear)

    def numbers(self, name: str, given: Numbers | None, default: np.ndarray | None, what: str) -> np.ndarray:
        """(n,) an option: one number, or some by joint; where it has none, what is known. `what` begins messages."""
        found = np.full(len(self.joints), np.nan) if default is None else np.array(default, float)
        table = given if isinstance(given, Mapping) else {} if given is None else {".*": given}
        left = np.full(len(self.joints), True)
        for pattern, value in table.items():
            value = number(f"{what}: {name}", value, 0.0)
            chosen = np.array([matches(pattern, joint, what) for joint in self.joints])
            if not chosen.any():
                raise ValueError(f"{what}: {name} has '{pattern}', and there are the joints {', '.join(self.joints)}")
            # the first pattern that matches
            found[chosen & left] = value
            left &= ~chosen
        unknown = [joint for joint, value in zip(self.joints, found, strict=True) if not np.isfinite(value)]
        if unknown:
            raise ValueError(f"{what}: {name} is wanted, of {', '.join(unknown)}, of which the task does not know it")
        return found


def kind_of(model: Model, a: int) -> str | None:
    """POSITION: k (u - l) - d l'; TORQUE: u; None: anything else, or on no hinge or slide."""
    import mujoco

    def of(name: str) -> np.ndarray:
        return np.asarray(getattr(model, "actuator_" + name)).reshape(model.nu, -1)[a]

    def code(name: str) -> int:
        return int(of(name)[0])

    joints = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
    on_joint = code("trntype") == int(mujoco.mjtTrn.mjTRN_JOINT) and int(model.jnt_type[code("trnid")]) in joints
    plain = code("dyntype") == int(mujoco.mjtDyn.mjDYN_NONE) and code("gaintype") == int(mujoco.mjtGain.mjGAIN_FIXED)
    if not on_joint or not plain:
        return None
    gain, bias = of("gainprm")[0], of("biasprm")
    if code("biastype") == int(mujoco.mjtBias.mjBIAS_NONE):
        return TORQUE if gain == 1 else None
    if code("biastype") != int(mujoco.mjtBias.mjBIAS_AFFINE):
        return None
    return POSITION if gain > 0 and bias[0] == 0 and bias[1] == -gain and bias[2] <= 0 else None


@dataclasses.dataclass(kw_only=True)
class MotorModel:
    """`joints`: a pattern of the names of those that have such motors; None: all actuators, which then must fit.
    `effort_limit`: the most that a motor may do, otherwise the actuators' own."""

    named: ClassVar[str]
    """how messages call it"""
    kinds: ClassVar[tuple[str, ...]] = KINDS
    """the actuators whose place it can take"""

    model: str
    joints: str | None = None
    effort_limit: Numbers | None = None

    given: Model = dataclasses.field(init=False, repr=False)
    """the task's model as it was"""
    actuators: Actuators = dataclasses.field(init=False, repr=False)
    no_load: Mapping[str, float] = dataclasses.field(init=False, repr=False)
    """what the task says of its motors"""

    @classmethod
    def serves(cls, name: str) -> bool:
        """Whether this is what is meant."""
        raise NotImplementedError

    @classmethod
    def runs_code(cls, name: str) -> bool:
        return False

    @property
    def what(self) -> str:
        """What messages begin with."""
        return f"motor_model {self.model!r}"

    @property
    def memory(self) -> dict[str, int | tuple[int, ...]]:
        """What it remembers, as `Task.memory`: zero where an episode begins."""
        return {}

    def edit(self, mj_model: Any) -> None:
        """Writes its actuators into a `mujoco.MjModel`."""
        raise NotImplementedError

    def advance(self, view: Callable[[], View], timesteps: Callable[[int], None], count: int) -> Any:
        """Takes the `count` timesteps of a step. What it returns, (N, n), must be finite."""
        timesteps(count)
        return None

    def take(self, task: Task) -> None:
        """Takes the place of the task's actuators."""
        self.given, self.no_load = task.model, task.no_load_velocity
        self.actuators = Actuators(task.model, self._chosen(type(task).__name__))
        edited = copy.copy(task.model.mj_model)
        if self.effort_limit is not None:
            most = self.values("effort_limit", self.actuators.effort) / abs(self.actuators.gear)
            edited.actuator_forcelimited[self.actuators.rows] = 1
            edited.actuator_forcerange[self.actuators.rows] = np.stack([-most, most], axis=1)
            self.actuators.effort = most * abs(self.actuators.gear)
        self.edit(edited)
        task.model = task.model.with_arrays_of(edited)

    def values(self, name: str, default: np.ndarray | None = None, positive: bool = True) -> np.ndarray:
        """(n,) of an option."""
        found = self.actuators.numbers(name, getattr(self, name), default, self.what)
        if positive and not (found > 0).all():
            raise ValueError(f"{self.what}: {name} {getattr(self, name)!r} is given, and more than 0 is wanted")
        return found

    def _chosen(self, task: str) -> list[int]:
        m = self.given
        rows = list(range(m.nu))
        if self.joints is not None:
            joint_of = np.asarray(m.actuator_trnid).reshape(-1, 2)[:, 0]
            rows = [a for a in rows if m.actuator_trntype[a] == 0]
            rows = [a for a in rows if matches(self.joints, m.name_of("joint", int(joint_of[a])) or "", self.what)]
        others = [m.name_of("actuator", a) or str(a) for a in rows if kind_of(m, a) not in self.kinds]
        wanted = f"{' or '.join(self.kinds)} actuators on hinges or slides are wanted"
        if others or not rows:
            no_such = f"none is on a joint that '{self.joints}' matches" if self.joints else "it has none"
            found = f"of {task} these are others: {', '.join(others)}" if others else f"{no_such}, of {task}"
            raise ValueError(f"{self.what} is given, {wanted}, and {found}")
        return rows

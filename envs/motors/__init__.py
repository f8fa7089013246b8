"""Models of the motors of a task, in place of its ideal actuators.

    make("Go1Joystick", 64, motor_model="dcmotor")
    make("Go1Joystick", 64, motor_model={"model": "dcmotor", "saturation_effort": 40.0, "velocity_limit": 25.0})
    make("Go1Joystick", 64, motor_model="./actuator.npz")                     # a network (network.py)

A model is a file of this folder and one of `MODELS`: a subclass of `MotorModel` whose fields are its options.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dualstep._names import hint
from dualstep.envs.motors.dcmotor import DCMotor
from dualstep.envs.motors.model import MotorModel
from dualstep.envs.motors.network import Network, keep, stored
from dualstep.envs.task import Task

OPTION = "motor_model"
MODELS: tuple[type[MotorModel], ...] = (DCMotor, Network)
__all__ = ["MODELS", "OPTION", "MotorModel", "apply", "keep", "motor_of", "runs_code", "stored"]


def motor_of(given: Any) -> MotorModel:
    """The model that is named, or that a dict names as "model" beside its options."""
    options = dict(given) if isinstance(given, Mapping) else {"model": given}
    name = options.get("model")
    wanted = " or ".join(kind.named for kind in MODELS)
    if not isinstance(name, str):
        raise TypeError(f"{OPTION} {given!r} is given, and {wanted}, or a dict with it as 'model', is wanted")
    kind = next((kind for kind in MODELS if kind.serves(name)), None)
    if kind is None:
        raise ValueError(f"{OPTION} {name!r} is given, and {wanted} is wanted")
    known = [field.name for field in dataclasses.fields(kind) if field.init]
    for option in options:
        if option not in known:
            near = hint(str(option), known) or f"; there are: {', '.join(known)}"
            raise TypeError(f"{OPTION} {name!r} has no option {option!r}{near}")
    return kind(**options)


def runs_code(given: Any) -> bool:
    """Whether a model is one whose file is a program, which a checkpoint may not name by itself."""
    name = given.get("model") if isinstance(given, Mapping) else given
    return isinstance(name, str) and any(kind.runs_code(name) for kind in MODELS)


def apply(task: Task, given: Any) -> None:
    """Gives a task these motors: its model is edited, and what they remember becomes part of its `memory`."""
    from dualstep.envs.arguments import memory_of

    motor = motor_of(given)
    motor.take(task)
    task.motor = motor
    task.memory = {**memory_of(task), **motor.memory}

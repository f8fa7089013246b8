"""A DC motor, whose torque ends where its voltage does.

With the torque tau that is asked for (k (u - q) - d q', or a torque motor's control), the stall torque tau_s
(`saturation_effort`), the no-load velocity w (`velocity_limit`) and the effort limit tau_c:

    clip(tau, max(tau_s (-1 - q'/w), -tau_c), min(tau_s (1 - q'/w), tau_c)),   q' within w (1 + tau_c/tau_s)

which is DCMotor of Isaac Lab 2 (isaaclab/actuators/actuator_pd.py). Its physics: a winding of resistance R turns with
the torque K i at the current i = (V - K q')/R, |V| <= Vmax, so tau_s = K Vmax/R and w = Vmax/K (Hughes, Drury 2019,
Electric Motors and Drives, chapter 3). A dcmotor of MuJoCo's (kernels/smooth/actuators/dcmotor.h) whose controller
asks for tau clips V to Vmax, and the force to tau_c after that: the same numbers, for any R. So the task's model gets
such actuators, with R = 1, and they are evaluated in every timestep, with the slopes that implicit integrators want.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from dualstep.envs.motors.model import MotorModel, Numbers, matches

# what mujoco.MjModel has of an actuator's law
LAW = ("dyntype", "gaintype", "biastype", "dynprm", "gainprm", "biasprm", "actearly", "ctrlspec")
# a control that is the set point of the length, or of the force
LENGTH, FORCE = 1, 4


@dataclasses.dataclass(kw_only=True)
class DCMotor(MotorModel):
    """`saturation_effort`: the torque at a standstill; otherwise the effort limit. `velocity_limit`: where there is no
    torque left; otherwise what the task knows. `stiffness`, `damping`: of position actuators, otherwise their own."""

    named = "'dcmotor'"

    saturation_effort: Numbers | None = None
    velocity_limit: Numbers | None = None
    stiffness: Numbers | None = None
    damping: Numbers | None = None

    @classmethod
    def serves(cls, name: str) -> bool:
        return name == "dcmotor"

    def edit(self, mj_model: Any) -> None:
        a = self.actuators
        stiffness = self.values("stiffness", a.stiffness, positive=False)
        damping = self.values("damping", a.damping, positive=False)
        if a.on_torque.any() and (self.stiffness is not None or self.damping is not None):
            torque = ", ".join(joint for joint, on in zip(a.joints, a.on_torque, strict=True) if on)
            raise ValueError(
                f"{self.what} has stiffness or damping, position actuators are wanted for them, and those of "
                f"{torque} are torque motors"
            )
        write_motors(mj_model, self, stiffness, damping, LENGTH - a.on_torque * (LENGTH - FORCE))


def write_motors(mj_model: Any, motor: Any, stiffness: np.ndarray, damping: np.ndarray, control: np.ndarray) -> None:
    """Makes dcmotors of a model's actuators: MuJoCo writes them into a model of their own, from where they are taken.
    `control`: what the control of each is the set point of."""
    import mujoco

    a = motor.actuators
    gear = abs(a.gear)
    stall = motor.values("saturation_effort", a.effort) / gear
    default = None
    # what the task knows of joints that have no such motor does not count
    known = {
        pattern: speed
        for pattern, speed in motor.no_load.items()
        if any(matches(pattern, joint, motor.what) for joint in a.joints)
    }
    if motor.velocity_limit is None and known:
        default = a.numbers("velocity_limit", known, None, motor.what)
    speed = motor.values("velocity_limit", default) * gear
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_joint(name="joint")
    body.add_geom(size=[1, 0, 0])
    for k in range(len(a.rows)):
        # K^2 is the slope of the curve, at a resistance of 1
        constant = float(np.sqrt(stall[k] / speed[k]))
        most = constant * speed[k]
        controller = [stiffness[k] / gear[k] ** 2, 0, damping[k] / gear[k] ** 2, 0, 0, most]
        made = spec.add_actuator(target="joint", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        made.set_to_dcmotor([constant, 0], 1.0, controller=controller, ctrlspec=int(control[k]))
    compiled = spec.compile()
    for name in LAW:
        getattr(mj_model, "actuator_" + name)[a.rows] = getattr(compiled, "actuator_" + name)

"""Unitree's Go1 and G1: what the joystick tasks know of each robot, and its model out of the package mjlab.

mjlab is looked for when a task is made and never imported: its MJCF gets a floor, position actuators from the data of
the motors, and its collision geoms' parameters here. Numbers are those of mjlab 1.6.
"""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

from dualstep.envs.randomize import Vary
from dualstep.envs.tasks.packages import package_folder, without_looks
from dualstep.envs.terrain import Terrain
from dualstep.model import Model

# of a term of the reward, or what it is before it grows with the training and after that
Weight = float | tuple[float, float]
INSTALL = "pip install --no-deps 'mjlab>=1.6,<2'"


@dataclasses.dataclass(frozen=True)
class Motor:
    """Of some joints: a rotor behind gears, as a spring of 10 Hz with a damping ratio of 2."""

    joints: str
    armature: float
    torque: float
    velocity: float
    """[rad/s] where there is no torque left"""

    @property
    def stiffness(self) -> float:
        return self.armature * (20 * math.pi) ** 2

    @property
    def damping(self) -> float:
        return 4 * self.armature * 20 * math.pi


def two_stages(rotors: tuple[float, float, float], first: float, second: float) -> float:
    """Inertia of the rotor, the carrier and the output of a planetary gearbox of two stages, as the output feels it."""
    return rotors[0] * (first * second) ** 2 + rotors[1] * second**2 + rotors[2]


@dataclasses.dataclass(frozen=True)
class Robot:
    """What the task knows of a robot; patterns are matched with whole names."""

    file: str
    base: str
    upright: str
    height: float
    stance: dict[str, float]
    motors: tuple[Motor, ...]
    feet: tuple[str, ...]
    """the geoms of each foot"""
    sites: tuple[str, ...]
    foot_condim: int
    foot_friction: tuple[float, ...]
    cone: str
    impratio: float
    solref: tuple[float, float]
    standing: dict[str, float]
    walking: dict[str, float]
    running: dict[str, float]
    randomization: tuple[Vary, ...]
    more_weights: dict[str, float] = dataclasses.field(default_factory=dict)
    """of terms that this robot alone has"""
    own_weights: dict[str, Weight] = dataclasses.field(default_factory=dict)
    """of terms that this robot does not learn from with the weights of all"""
    terrain_scale: float = 1.0
    """of the heights of terrain"""


_FEET = ("FR", "FL", "RR", "RL")
_GO1_FEET = "(FR|FL|RR|RL)_foot_collision"
_GO1_LOOSE = {".*calf.*": 0.6, ".*": 0.3}

GO1 = Robot(
    file="unitree_go1/xmls/go1.xml",
    base="trunk",
    upright="trunk",
    height=0.278,
    stance={".*thigh_joint": 0.9, ".*calf_joint": -1.8, ".R_hip_joint": 0.1, ".L_hip_joint": -0.1},
    motors=(
        Motor(".*(hip|thigh)_joint", 0.000111842 * 6**2, 23.7, 30.1),
        Motor(".*calf_joint", 0.000111842 * 9**2, 35.55, 20.06),
    ),
    feet=tuple(f"{leg}_foot_collision" for leg in _FEET),
    sites=_FEET,
    foot_condim=6,
    foot_friction=(1.0, 5e-3, 5e-4),
    cone="elliptic",
    impratio=10.0,
    solref=(0.01, 1.0),
    standing={".*calf.*": 0.1, ".*": 0.05},
    walking=_GO1_LOOSE,
    running=_GO1_LOOSE,
    randomization=(
        Vary("geom_friction", 0.3, 1.5, "set", of=_GO1_FEET, axes=(0,), together=True, when="start"),
        Vary("geom_friction", 1e-4, 2e-2, "set", "log_uniform", _GO1_FEET, (1,), together=True, when="start"),
        Vary("geom_friction", 1e-5, 5e-3, "set", "log_uniform", _GO1_FEET, (2,), together=True, when="start"),
        Vary("body_ipos", -0.025, 0.025, "add", of="trunk", axes=(0, 1), when="start"),
        Vary("body_ipos", -0.03, 0.03, "add", of="trunk", axes=(2,), when="start"),
    ),
)

_SMALL = two_stages((0.139e-4, 0.017e-4, 0.169e-4), 1 + 46 / 18, 1 + 56 / 16)
_LEG = two_stages((0.489e-4, 0.098e-4, 0.533e-4), 4.5, 1 + 48 / 22)
_KNEE = two_stages((0.489e-4, 0.109e-4, 0.738e-4), 4.5, 5)
_WRIST = two_stages((0.068e-4, 0.0, 0.0), 5, 5)
_G1_FEET = "(left|right)_foot[1-7]_collision"

G1 = Robot(
    file="unitree_g1/xmls/g1.xml",
    base="pelvis",
    upright="torso_link",
    height=0.76,
    stance={
        ".*hip_pitch_joint": -0.312,
        ".*knee_joint": 0.669,
        ".*ankle_pitch_joint": -0.363,
        ".*elbow_joint": 0.6,
        "left_shoulder_roll_joint": 0.2,
        "right_shoulder_roll_joint": -0.2,
        ".*shoulder_pitch_joint": 0.2,
    },
    motors=(
        Motor(".*(elbow|shoulder_pitch|shoulder_roll|shoulder_yaw|wrist_roll)_joint", _SMALL, 25.0, 37.0),
        Motor(".*hip_(pitch|yaw)_joint|waist_yaw_joint", _LEG, 88.0, 32.0),
        Motor(".*(hip_roll|knee)_joint", _KNEE, 139.0, 20.0),
        Motor(".*wrist_(pitch|yaw)_joint", _WRIST, 5.0, 22.0),
        # two motors side by side
        Motor("waist_(pitch|roll)_joint|.*ankle_(pitch|roll)_joint", 2 * _SMALL, 50.0, 37.0),
    ),
    feet=("left_foot[1-7]_collision", "right_foot[1-7]_collision"),
    sites=("left_foot", "right_foot"),
    foot_condim=3,
    foot_friction=(0.6,),
    cone="pyramidal",
    impratio=1.0,
    solref=(0.02, 1.0),
    standing={".*": 0.05},
    walking={
        ".*hip_pitch.*": 0.3, ".*hip_(roll|yaw).*": 0.15, ".*knee.*": 0.35, ".*ankle_pitch.*": 0.25,
        ".*ankle_roll.*": 0.1, "waist_yaw.*": 0.2, "waist_roll.*": 0.08, "waist_pitch.*": 0.1,
        ".*shoulder_(pitch|roll).*": 0.15, ".*shoulder_yaw.*": 0.1, ".*elbow.*": 0.15, ".*wrist.*": 0.3,
    },
    running={
        ".*hip_pitch.*": 0.5, ".*hip_(roll|yaw).*": 0.2, ".*knee.*": 0.6, ".*ankle_pitch.*": 0.35,
        ".*ankle_roll.*": 0.15, "waist_yaw.*": 0.3, "waist_roll.*": 0.08, "waist_pitch.*": 0.2,
        ".*shoulder_pitch.*": 0.5, ".*shoulder_roll.*": 0.2, ".*shoulder_yaw.*": 0.15, ".*elbow.*": 0.35,
        ".*wrist.*": 0.3,
    },
    randomization=(
        Vary("geom_friction", 0.3, 1.2, "set", of=_G1_FEET, axes=(0,), together=True, when="start"),
        Vary("body_ipos", -0.025, 0.025, "add", of="torso_link", axes=(0, 1), when="start"),
        Vary("body_ipos", -0.03, 0.03, "add", of="torso_link", axes=(2,), when="start"),
    ),
    more_weights={"spin": 0.05, "self_contact": 1.0},
    # a humanoid falls before it walks: where distances from the command cost more than standing pays, it learns to
    # fall. They grow once it stands
    own_weights={
        "velocity_distance": (0.5, 2.5), "turning_distance": (0.2, 2.0), "upright": (2.0, 3.5), "pose": (1.0, 0.75),
    },
    terrain_scale=1.5,
)  # fmt: skip


def robot_file(robot: Robot) -> Path:
    """Where mjlab keeps the robot; ImportError that says what to install where it is not there."""
    folder = package_folder("mjlab", f"the model {Path(robot.file).name} comes", INSTALL)
    path = folder / "asset_zoo" / "robots" / robot.file
    if not path.is_file():
        raise ImportError(f"mjlab is installed and has no {path.name} where version 1.6 has it: {INSTALL}")
    return path


def match(table: dict[str, float], name: str, default: float | None = None) -> float:
    """The first pattern's value that matches the whole name."""
    for pattern, value in table.items():
        if re.fullmatch(pattern, name):
            return value
    if default is None:
        raise ValueError(f"no value is given for '{name}'")
    return default


def build(robot: Robot, terrain: Terrain | None = None) -> tuple[Model, Any]:
    """The robot on the ground, with its actuators; and the `mujoco.MjModel` of the same that has its looks too."""
    import mujoco

    path = robot_file(robot)
    spec = mujoco.MjSpec.from_file(str(path))
    if terrain is None:
        floor = spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.01])
    else:
        floor = terrain.add_to(spec)
    floor.rgba = [0.8, 0.84, 0.88, 1]
    light = spec.worldbody.add_light(pos=[0, 0, 4])
    light.dir, light.type = [0.2, 0.2, -1], mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    feet = "|".join(robot.feet)
    for geom in spec.geoms:
        if not re.fullmatch(r".*_collision\d*", geom.name or ""):
            continue
        foot = re.fullmatch(feet, geom.name) is not None
        geom.contype = geom.conaffinity = 1
        geom.condim, geom.priority = (robot.foot_condim, 1) if foot else (1, 0)
        geom.solref[:] = robot.solref
        if foot:
            geom.friction[: len(robot.foot_friction)] = robot.foot_friction
    joints = [joint for joint in spec.joints if joint.type != mujoco.mjtJoint.mjJNT_FREE]
    for joint in joints:
        motor = next((m for m in robot.motors if re.fullmatch(m.joints, joint.name)), None)
        if motor is None:
            raise ImportError(f"{path.name} has a joint '{joint.name}', and mjlab 1.6 has none such: {INSTALL}")
        joint.armature = motor.armature
        actuator = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.gaintype, actuator.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = motor.stiffness
        actuator.biasprm[1], actuator.biasprm[2] = -motor.stiffness, -motor.damping
        actuator.forcelimited, actuator.forcerange = True, [-motor.torque, motor.torque]
        # targets may lie beyond the range: the force is what is limited
        actuator.ctrllimited = False
    spec.option.timestep = 0.005
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    elliptic = robot.cone == "elliptic"
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if elliptic else mujoco.mjtCone.mjCONE_PYRAMIDAL
    spec.option.impratio = robot.impratio
    return without_looks(spec)

"""PandaLift: an arm of seven joints with a gripper takes a cube from a table and holds it at a goal in the air.

Control is by steps of the gripper's tip, as in robosuite (Zhu et al. 2020, "robosuite: A Modular Simulation Framework
and Benchmark for Robot Learning"); the reward has the parts of those of Isaac Lab (Mittal et al. 2023, "Orbit") and
MuJoCo Playground (Zakka et al. 2025): near the cube, shut there, off the table, near the goal. The arm is
that of the kitchen of gymnasium-robotics (Gupta et al. 2019, "Relay Policy Learning"), looked for when the task is
made: its servos, its limits and the tips of its fingers, which alone touch anything; its weight is compensated, as the
real one does it.

An action is a step of the tip (x, y, z) and how far the gripper closes. Steps become changes of the joints' targets by
damped least squares (Nakamura, Hanafusa 1986), dq = J' (J J' + d^2)^-1 [step, turn], where the turn brings the gripper
back to pointing down.
"""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.randomize import Vary
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import length, squares
from dualstep.envs.tasks.packages import GYMNASIUM_ROBOTICS, included, package_file, without_looks
from dualstep.envs.tasks.rotations import about_vertical, columns
from dualstep.model import Model

_FOLDER = "envs/assets/kitchen_franka/franka_assets"
_JOINTS = [f"robot:panda0_joint{i}" for i in range(1, 8)]
_FINGERS = [f"robot:panda0_finger_joint{i}" for i in (1, 2)]
# the tip at (0.5, 0, 0.2) from the foot of the arm, pointing down
HOME = np.array([0.0, -0.0168, 0.0, -2.3493, 0.0, 0.7626, 0.0])
# of the hand's axes, where it points down with the fingers to the left and right
DOWN = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
DAMPING = 1e-3 * np.eye(6)
OPEN = 0.04  # of a finger [m]
HALF = 0.02  # of the cube's edge [m]
# where the tip may be sent, from the foot of the arm [m]: the ends of the fingers are 15 mm below it
REACH = np.array([[0.25, -0.35, 0.018], [0.75, 0.35, 0.6]])
# where cubes lie, and where goals are
TABLE = np.array([[0.4, -0.2], [0.6, 0.2]])
AIR = np.array([[0.4, -0.2, 0.12], [0.6, 0.2, 0.35]])

WEIGHTS = {"near": 1.0, "grip": 1.0, "lift": 4.0, "goal": 8.0, "action_rate": 0.005}


def build() -> tuple[Model, Any]:
    """The arm on a table with a cube; and the `mujoco.MjModel` of the same that has its looks too."""
    import mujoco

    folder = package_file("gymnasium_robotics", _FOLDER, GYMNASIUM_ROBOTICS)
    scene = mujoco.MjSpec.from_string(
        f"<mujoco>{included(folder / 'assets.xml')}"
        f"<compiler angle='radian' inertiagrouprange='3 5' meshdir={quoteattr(str(folder / 'meshes'))}/>"
        f"<worldbody><body name='arm'>{included(folder / 'chain.xml')}</body></worldbody>"
        f"{included(folder / 'actuator.xml')}</mujoco>"
    )
    # masses are those of the meshes that collide there, and stay when these are gone
    compiled = scene.compile()
    for body in scene.bodies[1:]:
        i = compiled.body(body.name).id
        body.mass, body.ipos, body.iquat = compiled.body_mass[i], compiled.body_ipos[i], compiled.body_iquat[i]
        body.inertia, body.explicitinertial, body.gravcomp = compiled.body_inertia[i], True, 1.0
    scene.compiler.inertiagrouprange = [0, 5]
    hand = scene.body("panda0_link7")
    # between the tips, with axes along and across the fingers
    hand.add_site(name="tip", pos=[0, 0, 0.245], quat=[0.92388, 0, 0, -0.382683], size=[0.004, 0, 0])
    for geom in scene.geoms:
        is_tip = geom.type == mujoco.mjtGeom.mjGEOM_CAPSULE and geom.fromto[2] > 0.07
        geom.contype, geom.conaffinity, geom.condim = (1, 2, 4) if is_tip else (0, 0, 1)
        geom.friction[:] = [1, 0.02, 1e-4]

    scene.modelname = "panda lift"
    scene.option.timestep = 0.005
    scene.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    scene.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    scene.option.impratio = 10
    world = scene.worldbody
    light = world.add_light(pos=[0.5, 0, 3])
    light.dir, light.type = [0, 0, -1], mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    table = world.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.5, 0.6, 0.05], pos=[0.4, 0, -0.05])
    table.rgba, table.contype, table.conaffinity = [0.55, 0.45, 0.35, 1], 2, 1
    cube = world.add_body(name="cube", pos=[0.5, 0, HALF])
    cube.add_freejoint(name="cube")
    block = cube.add_geom(name="cube", type=mujoco.mjtGeom.mjGEOM_BOX, size=[HALF, HALF, HALF], mass=0.064)
    block.rgba, block.contype, block.conaffinity = [0.8, 0.2, 0.1, 1], 2, 3
    block.condim, block.friction[:] = 4, [1, 0.02, 1e-4]
    goal = world.add_body(name="goal", mocap=True, pos=[0.5, 0, 0.2])
    shown = goal.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[HALF, HALF, HALF], contype=0, conaffinity=0)
    shown.rgba = [0.2, 0.7, 0.3, 0.3]
    return without_looks(scene)


class PandaLift(Task):
    """A Panda arm that takes a cube from a table and holds it at a goal in the air; episodes end where it falls off.

    `step_scale`: how far an action of 1 sends the tip in a step [m]. `goal_radius`: within which the cube is there [m].
    `noise_scale`: of what is seen of the cube's place [m]."""

    camera = {"lookat": (0.45, 0.0, 0.15), "distance": 1.5, "azimuth": 145.0, "elevation": -20.0}
    randomization = (
        Vary("geom_friction", 0.7, 1.3, of="cube", axes=(0,), when="start"),
        Vary("body_mass", 0.5, 2.0, of="cube", when="start"),
    )

    def __init__(
        self,
        frame_skip: int = 4,
        step_scale: float = 0.01,
        goal_radius: float = 0.02,
        noise_scale: float = 0.0,
        near_weight: float = WEIGHTS["near"],
        grip_weight: float = WEIGHTS["grip"],
        lift_weight: float = WEIGHTS["lift"],
        goal_weight: float = WEIGHTS["goal"],
        action_rate_weight: float = WEIGHTS["action_rate"],
    ) -> None:
        model, self.looks = build()
        super().__init__(model, frame_skip)
        self.step_scale, self.goal_radius, self.noise_scale = step_scale, goal_radius, noise_scale
        self.near_weight, self.grip_weight = near_weight, grip_weight
        self.lift_weight, self.goal_weight = lift_weight, goal_weight
        self.action_rate_weight = action_rate_weight
        self.check_options()
        m = self.model
        joints = [m.id_of("joint", name) for name in _JOINTS + _FINGERS]
        self.tip, self.cube = m.id_of("site", "tip"), m.id_of("body", "cube")
        if min(joints) < 0:
            raise ImportError(f"the arm of gymnasium-robotics lacks joints that version 1.4 has: {GYMNASIUM_ROBOTICS}")
        # the arm stands before the cube in the tree: joints 0 to 8, then the cube's 7 positions
        assert joints == list(range(9)) and m.nq == 16
        assert not np.asarray(m.jnt_pos)[:7].any() and (np.asarray(m.jnt_axis)[:7] == [0, 0, 1]).all()
        self.links = [int(body) for body in m.jnt_bodyid[:7]]
        self.range = np.asarray(m.jnt_range)[:7].T.copy()
        self.memory = {"target": 7, "goal": 3, "action": 4, "rate": 4, "noise": 3}

    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        one = np.ones(4, np.float32)
        return -one, one

    def control(self, s: View, action: Any) -> Any:
        xp = s.xp
        action = xp.clip(action, -1, 1)
        s.keep("rate", action - s.recall("action"))
        s.keep("action", action)
        low, high = s.table(REACH)
        place = s.site_xpos[:, self.tip]
        step = xp.clip(place + self.step_scale * action[:, :3], low, high) - place
        low, high = s.table(self.range)
        # a target that the arm is kept from reaching waits for it, a tenth of a radian ahead
        joints = s.qpos[:, :7]
        ahead = xp.clip(s.recall("target") + self.to_joints(s, step) - joints, -0.1, 0.1)
        target = xp.clip(joints + ahead, low, high)
        s.keep("target", target)
        finger = OPEN * (1 - action[:, 3:]) / 2
        return xp.concatenate([target, finger, finger], axis=1)

    def to_joints(self, s: View, step: Any) -> Any:
        """(rows, 7) the change of the joints that moves the tip by a step, and turns the hand down."""
        xp = s.xp
        # each joint turns its link about the link's own third axis
        w, x, y, z = (s.xquat[:, self.links, i] for i in range(4))
        axes = xp.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)
        arms = s.site_xpos[:, [self.tip]] - s.xpos[:, self.links]
        jacobian = xp.concatenate([_cross(xp, axes, arms), axes], axis=2)
        hand = s.site_xmat[:, self.tip].reshape(-1, 3, 3)
        down = s.table(DOWN)[None] + 0 * hand
        turn = 0.5 * _cross(xp, xp.moveaxis(hand, 2, 1), xp.moveaxis(down, 2, 1)).sum(axis=1)
        wanted = xp.concatenate([step, 0.1 * turn], axis=1)
        square = xp.einsum("rji,rjk->rik", jacobian, jacobian) + s.table(DAMPING)
        return xp.einsum("rji,ri->rj", jacobian, xp.linalg.solve(square, wanted[..., None])[..., 0])

    # episodes ----------------------------------------------------------------------------------------------

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        joints = s.table(HOME, float) + draw.uniform(-0.03, 0.03, 7)
        (table_low, table_high), (air_low, air_high) = s.table(TABLE, float), s.table(AIR, float)
        place = draw.uniform(table_low, table_high, 2)
        turn = draw.uniform(-np.pi, np.pi, 1)
        goal = draw.uniform(air_low, air_high, 3)
        s.keep("target", joints)
        s.keep("goal", goal)
        s.keep("noise", self.noise_scale * draw.normal(3))
        open_, height = 0 * joints[:, :2] + OPEN, 0 * turn + HALF
        qpos = xp.concatenate([joints, open_, place, height, about_vertical(xp, turn)], axis=1)
        return {"qpos": qpos, "mocap_pos": goal[:, None]}

    def events(self, s: View, draw: Draws) -> dict[str, Any]:
        if self.noise_scale:
            s.keep("noise", self.noise_scale * draw.normal(3))
        return {}

    def terminated(self, s: View) -> Any:
        return s.qpos[:, 11] < -HALF

    # what is seen ------------------------------------------------------------------------------------------

    def to_goal(self, s: View) -> Any:
        return s.recall("goal") - s.qpos[:, 9:12]

    def to_cube(self, s: View) -> Any:
        return s.qpos[:, 9:12] - s.site_xpos[:, self.tip]

    def to_funnel(self, s: View) -> Any:
        """(rows, 3) to the cube, or to a place above it where the tip is beside: fingers that come from the side only
        push it away."""
        to = self.to_cube(s)
        height = s.xp.clip(2 * (length(s.xp, to[:, :2]) - 0.01), 0, 0.08)
        return s.xp.concatenate([to[:, :2], to[:, 2:] + height[:, None]], axis=1)

    def observe(self, s: View) -> Any:
        noise = s.recall("noise")
        parts = [
            s.qpos[:, :7] - s.table(HOME), s.qpos[:, 7:9] / OPEN, s.qvel[:, :7], s.site_xpos[:, self.tip],
            self.to_cube(s) + noise, columns(s.xp, s.qpos[:, 12:16]), s.qvel[:, 9:], self.to_goal(s) - noise,
            s.recall("target") - s.qpos[:, :7], s.recall("action"),
        ]  # fmt: skip
        return s.xp.concatenate(parts, axis=1)

    # what it is worth --------------------------------------------------------------------------------------

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp = s.xp
        height = s.qpos[:, 11] - HALF
        # of a cube that stands on the table, or on an edge of itself, nothing is lifted
        lifted = height > 0.02
        away = length(xp, self.to_cube(s))
        shut = (1 + s.recall("action")[:, 3]) / 2
        paid = {
            "reward_near": self.near_weight * (1 - xp.tanh(5 * length(xp, self.to_funnel(s)))),
            "reward_grip": self.grip_weight * shut * xp.exp(-((away / HALF) ** 2)),
            "reward_lift": self.lift_weight * xp.clip(height / 0.1, 0, 1),
            "reward_goal": self.goal_weight * (1 - xp.tanh(5 * length(xp, self.to_goal(s)))) * lifted,
            "reward_action_rate": -self.action_rate_weight * squares(xp, s.recall("rate")),
        }
        return sum(paid.values()), paid

    def info(self, s: View) -> dict[str, Any]:
        away, lifted = length(s.xp, self.to_goal(s)), s.qpos[:, 11] > HALF + 0.04
        marks = {"lifted": lifted, "success": away < self.goal_radius}
        return {"goal_error": away, **{name: s.arrays.real(mark, s.sim.dtype) for name, mark in marks.items()}}


def _cross(xp: Any, a: Any, b: Any) -> Any:
    """Along the last axis."""
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return xp.stack(parts, axis=-1)

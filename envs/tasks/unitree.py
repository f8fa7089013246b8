"""Velocity tracking ("joystick") for Unitree's Go1 and G1: walk as commanded, though pushed, whatever the friction.

The robots are those of `unitree_robots.py`. The terms of the reward, the noise, the pushes and the randomization are
those of mjlab's flat-ground tasks (Mjlab-Velocity-Flat-Unitree-Go1 and -G1). Deviations: policy and critic see the
same; commands are velocities and never headings; velocities are those of the base and not of the place where the IMU
sits; the limits of commands do not grow during training; the whole body's angular momentum is not penalized.

mjlab's weights are there by `weights="mjlab"`. With them a policy that stands is paid so well that one which learns
from few steps goes on standing: a bell about the commanded velocity is flat where the robot stands. By default the
distance from the command costs too, as much for each of its parts however long it is, and what a gait looks like
counts less (`WEIGHTS`, and a robot's `own_weights`).

With `terrain` the ground is a field of tiles (`dualstep.envs.terrain`), and each environment has a level: it begins
episodes in the middle of a tile of that level. One that walked at least three quarters of the way that its commands
asked for goes up a level, one that fell or walked less than half goes down; from the hardest it goes to any. The
policy then also sees the ground around it, and rewards of feet are paid for their height over the ground.

An action is a change of the joints' targets from the stance, in units of a quarter of what the motor's strongest
torque would turn its spring by.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View, number
from dualstep.envs.tasks.common import length, squares
from dualstep.envs.tasks.rotations import about_vertical
from dualstep.envs.tasks.unitree_robots import G1, GO1, INSTALL, Robot, Weight, build, match
from dualstep.envs.terrain import terrain_of

# the most that a push changes of the base's velocities, straight and angular [m/s, rad/s]
PUSH = np.array([0.5, 0.5, 0.4, 0.52, 0.52, 0.78])
# places around the base where the policy sees the height of the ground, ahead and to the left [m]
SCAN = np.stack(np.meshgrid(np.arange(-0.6, 0.61, 0.2), np.arange(-0.4, 0.41, 0.2)), axis=-1).reshape(-1, 2)

# Of the entries of a rotation, row by row: two products of entries of its quaternion (4 i + j: entries i and j), the
# sign of the second, and the unit matrix: 1 - 2 (q_i^2 + q_j^2) on the diagonal, 2 (q_i q_j +- q_0 q_k) elsewhere
_W, _X, _Y, _Z = range(4)
_FIRST = [(_Y, _Y), (_X, _Y), (_X, _Z), (_X, _Y), (_X, _X), (_Y, _Z), (_X, _Z), (_Y, _Z), (_X, _X)]
_SECOND = [(_Z, _Z), (_W, _Z), (_W, _Y), (_W, _Z), (_Z, _Z), (_W, _X), (_W, _Y), (_W, _X), (_Y, _Y)]
ROTATION = (
    (np.array([4 * i + j for i, j in _FIRST]), int),
    (np.array([4 * i + j for i, j in _SECOND]), int),
    (np.array([[1], [-1], [1], [1], [1], [-1], [-1], [1], [1]]), None),
    (np.eye(3).reshape(9, 1), None),
)

# what the terms of the reward are multiplied with, for each second
MJLAB = {
    "velocity": 2.0, "turning": 2.0, "velocity_distance": 0.0, "turning_distance": 0.0, "upright": 1.0, "pose": 1.0,
    "limits": 1.0, "action_rate": 0.1, "clearance": 2.0, "swing": 0.25, "slip": 0.1, "landing": 1e-5,
}  # fmt: skip
WEIGHTS = MJLAB | {
    "velocity_distance": 1.5, "turning_distance": 0.5, "pose": 0.5, "action_rate": 0.01, "clearance": 0.5,
    "swing": 0.0625,
}  # fmt: skip


GROWS = 0.5, 0.8  # over these shares of a training weights grow that are two numbers


def both(weight: Any) -> tuple[Any, Any]:
    """Before and after."""
    return (weight[0], weight[1]) if isinstance(weight, (tuple, list)) and len(weight) == 2 else (weight, weight)


def weights_of(robot: Robot, given: Mapping[str, Weight] | str | None) -> Mapping[str, Weight]:
    """What each term of the reward is multiplied with; ValueError or TypeError where a name or a number is none."""
    if given == "mjlab":
        return MJLAB | robot.more_weights
    known = WEIGHTS | robot.more_weights | robot.own_weights
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"weights {given!r} is given, and a dict of numbers by term or 'mjlab' is wanted")
    for name, weight in (given or {}).items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3) or known
            raise ValueError(f"weights has '{name}', and the reward has no such term; there are: {', '.join(near)}")
        for each in both(weight):
            number(f"weights[{name!r}]", each)
    return {**known, **(given or {})}


class Joystick(Task):
    """`weights`: of the reward's terms, by name, in place of those of `WEIGHTS`; or "mjlab", all of that package's.
    `pushes`, `noise`: whether there are any. Commands: forwards, to the left, turning, each within its bounds.
    `terrain`: "stairs" or another kind of ground, several, "mixed", or a dict of what `Terrain` takes; `curriculum`:
    whether levels rise and fall with success, from one of the first `first_levels`, or stay as they were drawn."""

    robot: Robot

    def __init__(
        self,
        frame_skip: int = 4,
        forward_range: tuple[float, float] = (-1.0, 1.0),
        sideways_range: tuple[float, float] = (-1.0, 1.0),
        turning_range: tuple[float, float] = (-0.5, 0.5),
        standing_share: float = 0.1,
        command_seconds: tuple[float, float] = (3.0, 8.0),
        pushes: bool = True,
        push_seconds: tuple[float, float] = (1.0, 3.0),
        noise: bool = True,
        weights: Mapping[str, Weight] | str | None = None,
        terrain: Any = None,
        curriculum: bool = True,
        first_levels: int = 2,
    ) -> None:
        robot = self.robot
        self.terrain = terrain_of(terrain, scale=robot.terrain_scale)
        model, self.looks = build(robot, self.terrain)
        super().__init__(model, frame_skip)
        m = self.model
        self.forward_range, self.sideways_range, self.turning_range = forward_range, sideways_range, turning_range
        self.standing_share = standing_share
        self.command_seconds, self.push_seconds = command_seconds, push_seconds
        self.given_weights = weights_of(robot, weights)
        self.trained(1.0)
        self.check_options()
        self.low, self.high = np.array([forward_range, sideways_range, turning_range], float).T
        self.pushes, self.noisy = pushes, noise
        self.curriculum, self.first_levels = curriculum, min(first_levels, self.terrain.levels if self.terrain else 1)
        if self.first_levels < 1:
            raise ValueError(f"first_levels {first_levels!r} is given, and a number of 1 or more is wanted")
        self.joints = [m.name_of("joint", j) for j in range(1, m.njnt)]
        self.count = len(self.joints)
        self.stance = np.array([match(robot.stance, name, 0.0) for name in self.joints])
        motor_of = {name: next(m for m in robot.motors if re.fullmatch(m.joints, name)) for name in self.joints}
        self.scale = np.array([0.25 * motor_of[name].torque / motor_of[name].stiffness for name in self.joints])
        self.spreads = [
            np.array([match(t, n) for n in self.joints]) for t in (robot.standing, robot.walking, robot.running)
        ]
        limits = np.asarray(m.jnt_range)[1:]
        middle, half = limits.mean(axis=1), 0.45 * np.diff(limits, axis=1)[:, 0]
        self.soft = middle - half, middle + half
        self.base, self.up = m.id_of("body", robot.base), m.id_of("body", robot.upright)
        self.sites = [m.id_of("site", name) for name in robot.sites]
        self.site_body = [int(m.site_bodyid[site]) for site in self.sites]
        # which foot a geom is of; -1 none; and whether it is of the robot at all
        self.foot_of = np.full(m.ngeom, -1)
        for geom in range(m.ngeom):
            for foot, pattern in enumerate(robot.feet):
                if re.fullmatch(pattern, m.name_of("geom", geom) or ""):
                    self.foot_of[geom] = foot
        if min(self.sites) < 0 or min(self.base, self.up) < 0 or len(set(self.foot_of)) != len(robot.feet) + 1:
            raise ImportError(f"{Path(robot.file).name} lacks bodies or sites that version 1.6 of mjlab has: {INSTALL}")
        self.randomization = robot.randomization
        self.no_load_velocity = {motor.joints: motor.velocity for motor in robot.motors}
        n, feet = self.count, len(robot.feet)
        self.blind = 12 + 3 * n
        self.width = self.blind + (len(SCAN) if self.terrain else 0)
        self.camera = {"trackbodyid": self.base, "distance": 2.0 if robot is GO1 else 3.0, "elevation": -15.0}
        self.memory = {
            "command": 3, "command_left": 1, "push_left": 1, "action": n, "rate": n, "air": feet, "peak": feet,
            "bias": n, "noise": self.blind,
        }  # fmt: skip
        if self.terrain:
            self.lasting = ("level", "column", "asked", "walked", "fell", "places")
            self.memory.update(dict.fromkeys(self.lasting, 1))
        self.noise_size = self.noisy * np.concatenate(
            [np.full(3, 0.5), np.full(3, 0.2), np.full(3, 0.05), np.full(n, 0.01), np.full(n, 1.5), np.zeros(n + 3)]
        )

    def action_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        free = np.full(self.count, np.inf, np.float32)
        return -free, free

    def control(self, s: View, action: Any) -> Any:
        s.keep("rate", action - s.recall("action"))
        s.keep("action", action)
        return s.table(self.stance) + s.table(self.scale) * action

    # episodes ----------------------------------------------------------------------------------------------

    def _command(self, s: View, draw: Draws) -> tuple[Any, Any]:
        """New commands, and the seconds that they stand for; every one that is asked for is drawn anew."""
        command = draw.uniform(s.table(self.low, float), s.table(self.high, float), 3)
        moves = draw.uniform(0, 1, 1) >= self.standing_share
        return command * moves, draw.uniform(*self.command_seconds, 1)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        place, height = draw.uniform(-0.5, 0.5, 2), self.robot.height + draw.uniform(0.01, 0.05, 1)
        if self.terrain:
            origin = self._origin(s, draw)
            place, height = place + origin[:, :2], height + origin[:, 2:]
        yaw = draw.uniform(-math.pi, math.pi, 1)
        joints = s.table(self.stance, float)[None] + 0 * yaw
        command, left = self._command(s, draw)
        s.keep("command", command)
        s.keep("command_left", left)
        s.keep("push_left", draw.uniform(*self.push_seconds, 1))
        s.keep("bias", draw.uniform(-0.015, 0.015, self.count) * self.noisy)
        s.keep("noise", self._noise(s, draw))
        parts = [place, height, about_vertical(xp, yaw), joints]
        return {"qpos": xp.concatenate(parts, axis=1)}

    def _noise(self, s: View, draw: Draws) -> Any:
        return s.table(self.noise_size, float) * draw.uniform(-1, 1, self.blind)

    def _origin(self, s: View, draw: Draws) -> Any:
        """(rows, 3) where the episode begins, after what the last one has shown."""
        assert self.terrain is not None
        xp, levels = s.xp, self.terrain.levels
        level, asked, walked = (s.recall(name) for name in ("level", "asked", "walked"))
        if self.curriculum:
            fell = s.recall("fell") > 0
            # an episode that asked for less than a metre shows nothing, but a fall
            up = (asked > 1) & (walked > 0.75 * asked) & ~fell
            down = ((asked > 1) & (walked < 0.5 * asked)) | fell
            level = level + 1 * up - 1 * down
        drawn = draw.uniform(0, 1, 3)
        anywhere = xp.floor(drawn[:, 1:2] * levels)
        level = xp.where(level > levels - 1, anywhere, xp.clip(level, 0, None))
        # nothing is known before the first episode of a seed
        first = s.recall("places") == 0
        start = xp.floor(drawn[:, :1] * self.first_levels) if self.curriculum else anywhere
        level = xp.where(first, start, level)
        column = xp.floor(drawn[:, 2:] * self.terrain.columns)
        s.keep("level", level)
        s.keep("column", column)
        s.keep("places", s.recall("places") + 1)
        for name in ("asked", "walked", "fell"):
            s.keep(name, 0 * level)
        row, column = (s.arrays.real(a[:, 0], np.int64) for a in (level, column))
        return s.table(self.terrain.origins, float)[row, column]

    def _remember_way(self, s: View) -> None:
        """How far the commands of the step asked to go, how far it went that way, and whether it fell."""
        linear, _, _ = self.motion(s)
        command = s.recall("command")
        asked = length(s.xp, command[:, :2])
        walked = (linear[:, :2] * command[:, :2]).sum(axis=1) / s.xp.clip(asked, 1e-6, None)
        s.keep("asked", s.recall("asked") + self.dt * asked[:, None])
        # what is walked faster than was asked for makes up for nothing
        s.keep("walked", s.recall("walked") + self.dt * s.xp.clip(s.xp.minimum(walked, asked), -1, None)[:, None])
        s.keep("fell", s.recall("fell") + self.terminated(s)[:, None])

    def events(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        if self.terrain:
            self._remember_way(s)
        touches, height = self.foot_forces(s) > 0, self.foot_heights(s)
        s.keep("air", xp.where(touches, 0 * height, s.recall("air") + self.dt))
        s.keep("peak", xp.where(touches, 0 * height, xp.maximum(s.recall("peak"), height)))
        command, seconds = self._command(s, draw)
        left = s.recall("command_left") - self.dt
        due = left <= 0
        s.keep("command", xp.where(due, command, s.recall("command")))
        s.keep("command_left", xp.where(due, seconds, left))
        s.keep("noise", self._noise(s, draw))
        if not self.pushes:
            return {}
        left = s.recall("push_left") - self.dt
        due = left <= 0
        push = draw.uniform(-1, 1, 6) * s.table(PUSH, float) * due
        s.keep("push_left", xp.where(due, draw.uniform(*self.push_seconds, 1), left))
        push = xp.concatenate([push, 0 * s.recall("bias")], axis=1)
        return {"qvel": s.qvel + s.arrays.real(push, s.sim.dtype)}

    # what is seen ------------------------------------------------------------------------------------------

    def axes(self, s: View) -> Any:
        """(rows, 3, 3): columns are the axes of the base, from the present quaternion."""
        return s.once("axes", lambda: self._axes(s))

    def _axes(self, s: View) -> Any:
        # entries side by side: (9, rows)
        q = s.arrays.copy(s.qpos[:, 3:7].T)
        products = (q[:, None] * q).reshape(16, -1)
        first, second, sign, unit = (s.table(part, kind) for part, kind in ROTATION)
        half = products[first] + sign * products[second]
        return s.xp.moveaxis((unit + (2 - 4 * unit) * half).reshape(3, 3, -1), -1, 0)

    def motion(self, s: View) -> tuple[Any, Any, Any]:
        """Velocity of the base and direction of gravity, in the base's axes, and its angular velocity."""
        axes = self.axes(s)
        linear = s.once("linear", lambda: s.xp.einsum("rij,ri->rj", axes, s.qvel[:, :3]))
        return linear, s.qvel[:, 3:6], -axes[:, 2]

    def errors(self, s: View) -> tuple[Any, Any]:
        """(rows,) how far the velocity along the ground is from the command [m/s], and the turning [rad/s]."""
        linear, angular, _ = self.motion(s)
        command = s.recall("command")
        return length(s.xp, command[:, :2] - linear[:, :2]), abs(command[:, 2] - angular[:, 2])

    def observe(self, s: View) -> Any:
        linear, angular, gravity = self.motion(s)
        joints = s.qpos[:, 7:] - s.table(self.stance) + s.recall("bias")
        parts = [linear, angular, gravity, joints, s.qvel[:, 6:], s.recall("action"), s.recall("command")]
        seen = s.xp.concatenate(parts, axis=1) + s.recall("noise")
        return s.xp.concatenate([seen, self.scan(s)], axis=1) if self.terrain else seen

    def scan(self, s: View) -> Any:
        """(rows, places) how far the base is over the ground around it, less what it is over flat ground."""
        assert self.terrain is not None
        w, x, y, z = (s.qpos[:, 3 + i] for i in range(4))
        # the horizontal part of the base's first axis
        ahead, aside = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z)
        size = s.xp.sqrt(ahead * ahead + aside * aside) + 1e-9
        cos, sin = (ahead / size)[:, None], (aside / size)[:, None]
        near = s.table(SCAN)
        places = (
            s.qpos[:, :1] + cos * near[:, 0] - sin * near[:, 1],
            s.qpos[:, 1:2] + sin * near[:, 0] + cos * near[:, 1],
        )
        return s.xp.clip(s.qpos[:, 2:3] - self.terrain.height(s, *places) - self.robot.height, -1, 1)

    def foot_heights(self, s: View) -> Any:
        """(rows, feet) of the sites of the feet over the ground."""
        return s.once("foot_heights", lambda: self._foot_heights(s))

    def _foot_heights(self, s: View) -> Any:
        place = s.site_xpos[:, self.sites]
        if not self.terrain:
            return place[..., 2]
        return place[..., 2] - self.terrain.height(s, place[..., 0], place[..., 1])

    def pressed(self, s: View) -> tuple[Any, Any, Any]:
        """(rows, slots in use) the size of each contact's force, and both geoms of it."""
        return s.once("pressed", lambda: self._pressed(s))

    def _pressed(self, s: View) -> tuple[Any, Any, Any]:
        xp = s.xp
        contacts = s.sim.contacts()
        count = s._of(contacts.count)
        slots = s.arrays.eights_in_use(count, contacts.force.shape[1])
        force = s._of(contacts.force)[:, :slots, :3]
        force = xp.sqrt(xp.einsum("rsi,rsi->rs", force, force))
        slot = s.arrays.arange(slots)[None, :]
        force = xp.where(slot < count[:, None], force, xp.zeros_like(force))
        geom = s._of(contacts.geom)[:, :slots]
        # an empty slot names no geom
        return force, xp.maximum(geom[..., 0], 0 * geom[..., 0]), xp.maximum(geom[..., 1], 0 * geom[..., 1])

    def foot_forces(self, s: View) -> Any:
        """(rows, feet) what each foot presses on anything with."""
        return s.once("foot_forces", lambda: self._foot_forces(s))

    def _foot_forces(self, s: View) -> Any:
        force, first, second = self.pressed(s)
        foot_of = s.table(self.foot_of, int)
        a, b = foot_of[first], foot_of[second]
        of_foot = [(force * ((a == foot) | (b == foot))).sum(axis=1) for foot in range(len(self.robot.feet))]
        return s.xp.stack(of_foot, axis=-1)

    def self_contacts(self, s: View) -> Any:
        """(rows,) contacts of the robot with itself, of more than 10 N."""
        force, first, second = self.pressed(s)
        body = s.constant("geom_bodyid")
        return ((body[first] > 0) & (body[second] > 0) & (force > 10)).sum(axis=1)

    def foot_speeds(self, s: View) -> Any:
        """(rows, feet) of the sites of the feet, along the ground."""
        arm = s.site_xpos[:, self.sites] - s.subtree_com[:, [self.base]]
        spin, linear = s.cvel[:, self.site_body, :3], s.cvel[:, self.site_body, 3:]
        x = linear[..., 0] + spin[..., 1] * arm[..., 2] - spin[..., 2] * arm[..., 1]
        y = linear[..., 1] + spin[..., 2] * arm[..., 0] - spin[..., 0] * arm[..., 2]
        return s.xp.sqrt(x * x + y * y)

    # what it is worth --------------------------------------------------------------------------------------

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        xp = s.xp
        linear, angular, _ = self.motion(s)
        command = s.recall("command")
        astray, turned = self.errors(s)
        speed = length(xp, command[:, :2]) + abs(command[:, 2])
        moving = speed > 0.05
        force = self.foot_forces(s)
        touches = force > 0
        lands = touches & (s.recall("air") > 0)

        def slide() -> Any:
            return s.once("foot_speeds", lambda: self.foot_speeds(s))

        # those that have no weight are not worked out
        terms: dict[str, Callable[[], Any]] = {
            "velocity": lambda: xp.exp(-(astray**2 + linear[:, 2] ** 2) / 0.25),
            "turning": lambda: xp.exp(-(turned**2 + squares(xp, angular[:, :2])) / 0.5),
            "velocity_distance": lambda: -astray,
            "turning_distance": lambda: -turned,
            "upright": lambda: xp.exp(-self.lean(s) / 0.2),
            "pose": lambda: xp.exp(-self.off_stance(s, speed, moving) / self.count),
            "limits": lambda: -self.beyond_limits(s),
            "action_rate": lambda: -squares(xp, s.recall("rate")),
            "clearance": lambda: -(abs(self.foot_heights(s) - 0.1) * slide()).sum(axis=1) * moving,
            "swing": lambda: -((s.recall("peak") / 0.1 - 1) ** 2 * lands).sum(axis=1) * moving,
            "slip": lambda: -(slide() ** 2 * touches).sum(axis=1) * moving,
            "landing": lambda: -(force * lands).sum(axis=1) * moving,
            "spin": lambda: -squares(xp, s.cvel[:, self.up, :2]),
            "self_contact": lambda: -self.self_contacts(s),
        }
        paid = {f"reward_{name}": self.dt * weight * terms[name]() for name, weight in self.weights.items() if weight}
        return sum(paid.values()), paid

    def trained(self, share: float) -> None:
        """Weights that are given as two numbers go from the first to the second, in a line over the share GROWS."""
        grown = min(max((share - GROWS[0]) / (GROWS[1] - GROWS[0]), 0.0), 1.0)
        weights = {name: both(weight) for name, weight in self.given_weights.items()}
        self.weights = {name: first + grown * (last - first) for name, (first, last) in weights.items()}

    def lean(self, s: View) -> Any:
        """(rows,) sine, squared, of how far the body leans: R33 = 1 - 2 (x^2 + y^2)."""
        return 1 - (1 - 2 * squares(s.xp, s.xquat[:, self.up, 1:3])) ** 2

    def off_stance(self, s: View, speed: Any, moving: Any) -> Any:
        """(rows,) squares of how far joints are from the stance, in what a robot that stands, walks or runs needs."""
        standing, walking, running = (s.table(spread) for spread in self.spreads)
        spread = s.xp.where((speed < 1.5)[:, None], walking, running)
        spread = s.xp.where(moving[:, None], spread, standing)
        return squares(s.xp, (s.qpos[:, 7:] - s.table(self.stance)) / spread)

    def beyond_limits(self, s: View) -> Any:
        """(rows,) how far joints are beyond the inner part of their ranges [rad], together."""
        low, high = (s.table(bound) for bound in self.soft)
        joints = s.qpos[:, 7:]
        return (s.xp.clip(low - joints, 0, None) + s.xp.clip(joints - high, 0, None)).sum(axis=1)

    def terminated(self, s: View) -> Any:
        # it leans by more than 70 degrees
        leans = self.axes(s)[:, 2, 2] < math.cos(math.radians(70))
        # or it walked off the field
        return leans | (s.qpos[:, 2] < self.terrain.low - 1) if self.terrain else leans

    def info(self, s: View) -> dict[str, Any]:
        straight, turning = self.errors(s)
        told = {"velocity_error": straight, "turning_error": turning}
        if self.terrain:
            told["terrain_level"] = s.recall("level")[:, 0]
        return told


class Go1(Joystick):
    """Unitree's Go1, four legs: walks as commanded, though pushed, whatever the friction."""

    robot = GO1


class G1Robot(Joystick):
    """Unitree's G1, a humanoid of 29 joints: walks as commanded, though pushed, whatever the friction."""

    robot = G1

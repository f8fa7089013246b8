"""What the tasks of dm_control's suite share: their models, the shape of their rewards, how episodes begin.

The suite reads its state after a step as it is then, and only the sensors of forces (touch, force, torque,
accelerometer) as they were within the last timestep. So outputs are evaluated anew after each step
(`SuiteTask.stepped`), where a task reads any. Targets that the suite moves by writing into its model are mocap bodies
here, whose places are part of the state.
"""

from __future__ import annotations

import copy
import functools
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import TOLERANCE, Task, View
from dualstep.envs.tasks.packages import package_folder
from dualstep.model import Model

INSTALL = "pip install --no-deps dm_control"
_HINGE, _SLIDE, _FREE = 3, 2, 0


# models --------------------------------------------------------------------------------------------------


def suite_folder() -> Path:
    """Where dm_control keeps the suite; ImportError that says what to install where it is not there."""
    return package_folder("dm_control", "the suite's models come", INSTALL) / "suite"


@functools.cache
def _parsed(path: Path) -> ET.Element:
    root = ET.parse(path).getroot()
    for at, child in reversed(list(enumerate(root))):
        if child.tag == "include":
            root[at : at + 1] = list(_parsed((path.parent / child.attrib["file"]).resolve()))
    return root


def read(name: str) -> ET.Element:
    """The text of one of the suite's models, with what it includes, to be changed."""
    path = suite_folder() / name
    if not path.is_file():
        raise ImportError(f"dm_control is installed and has no {name} in its suite: {INSTALL}")
    return copy.deepcopy(_parsed(path.resolve()))


def named(root: ET.Element, kind: str, name: str) -> ET.Element:
    found = root.find(f".//{kind}[@name='{name}']")
    if found is None:
        raise ImportError(f"dm_control's {root.attrib.get('model')} has no {kind} '{name}', which is wanted: {INSTALL}")
    return found


def without(root: ET.Element, kind: str, names: Iterable[str]) -> None:
    parents = {child: parent for parent in root.iter() for child in parent}
    for name in names:
        gone = named(root, kind, name)
        parents[gone].remove(gone)


def with_sensors(root: ET.Element, names: Sequence[str]) -> None:
    """Leaves these sensors alone: what nobody reads need not be computed."""
    for sensors in root.findall("sensor"):
        for sensor in list(sensors):
            if sensor.get("name") not in names:
                sensors.remove(sensor)


def movable(root: ET.Element, kind: str, name: str, *more: tuple[str, str]) -> None:
    """Puts a geom or site of the world, and what else goes along, on a mocap body of the same name."""
    world = root.find("worldbody")
    assert world is not None
    place = named(root, kind, name)
    origin = np.array([float(x) for x in place.get("pos", "0 0 0").split()])
    body = ET.SubElement(world, "body", name=name, mocap="true", pos=place.get("pos", "0 0 0"))
    for what, called in ((kind, name), *more):
        child = named(root, what, called)
        world.remove(child)
        at = np.array([float(x) for x in child.get("pos", "0 0 0").split()]) - origin
        child.set("pos", " ".join(f"{x:.17g}" for x in at))
        body.append(child)


def compiled(root: ET.Element, folder: str | None = None) -> Model:
    """The model; `folder` of the suite has its meshes and pictures."""
    import mujoco

    assets = {}
    if folder is not None:
        assets = {path.name: path.read_bytes() for path in (suite_folder() / folder).iterdir() if path.is_file()}
        for compiler in root.findall("compiler"):
            for directory in ("meshdir", "texturedir"):
                compiler.attrib.pop(directory, None)
    model = Model.from_mujoco(mujoco.MjModel.from_xml_string(ET.tostring(root, encoding="unicode"), assets))
    model.opt.tolerance = TOLERANCE
    return model


# rewards -------------------------------------------------------------------------------------------------


def tolerance(
    xp: Any,
    x: Any,
    low: float = 0.0,
    high: float = 0.0,
    margin: float = 0.0,
    value: float = 0.1,
    shape: str = "gaussian",
) -> Any:
    """1 where x is from low to high; beyond that it falls with the distance, in units of the margin, to `value` where
    that is 1 (Tassa et al. 2018, arXiv 1801.00690, "Reward"). Without a margin it is 0 there."""
    beyond = xp.clip(low - x, 0, None) + xp.clip(x - high, 0, None)
    if margin == 0:
        return 1.0 * (beyond <= 0)
    d = beyond / margin
    if shape == "gaussian":
        return xp.exp(math.log(value) * d * d)
    if shape == "linear":
        return xp.clip(1 - (1 - value) * d, 0, None)
    if shape == "quadratic":
        return xp.clip(1 - (1 - value) * d * d, 0, None)
    if shape == "long_tail":
        return 1 / (1 + (1 / value - 1) * d * d)
    if shape == "reciprocal":
        return 1 / (1 + (1 / value - 1) * d)
    raise ValueError(f"shape {shape!r} is given, and there are gaussian, linear, quadratic, long_tail, reciprocal")


def small_control(s: View, control: Any = None) -> Any:
    """(rows,) 0.8 to 1: the mean over the controls of what is left of 1 after their squares."""
    control = s.ctrl if control is None else control
    return (4 + tolerance(s.xp, control, margin=1, value=0, shape="quadratic").mean(axis=1)) / 5


# frames --------------------------------------------------------------------------------------------------


def row_z(xp: Any, quat: Any) -> Any:
    """(..., 3) the last row of the rotation of each quaternion: heights of the ends of a frame's axes."""
    w, x, y, z = (quat[..., i] for i in range(4))
    return xp.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)


def upright(quat: Any) -> Any:
    """(...) the z axis' height."""
    x, y = quat[..., 1], quat[..., 2]
    return 1 - 2 * (x * x + y * y)


def rotation(xp: Any, quat: Any) -> Any:
    """(..., 3, 3) columns are the frame's axes."""
    w, x, y, z = (quat[..., i] for i in range(4))
    first = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]
    second = [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]
    return xp.stack([xp.stack(first, axis=-1), xp.stack(second, axis=-1), row_z(xp, quat)], axis=-2)


def within(xp: Any, axes: Any, vectors: Any) -> Any:
    """(rows, n, 3) vectors in a frame's axes (rows, 3, 3)."""
    return xp.einsum("rni,rij->rnj", vectors, axes)


def cross(a: Any, b: Any) -> Any:
    """(rows, 3)"""
    ahead, behind = [1, 2, 0], [2, 0, 1]
    return a[:, ahead] * b[:, behind] - a[:, behind] * b[:, ahead]


def flat(x: Any) -> Any:
    return x.reshape(x.shape[0], -1)


def unit(xp: Any, x: Any) -> Any:
    """(rows, n) each of length 1."""
    return x / xp.sqrt((x * x).sum(axis=1))[:, None]


# tasks ---------------------------------------------------------------------------------------------------


class SuiteTask(Task):
    """`step`: seconds between actions."""

    felt: tuple[str, ...] = ()
    """sensors of forces that are read"""
    sensors: tuple[str, ...] = ()
    """the others"""
    anew = True
    """whether outputs are read besides those sensors, and evaluated after each step for that"""

    def __init__(self, model: Model, step: float | None = None) -> None:
        timestep = float(model.opt.timestep)
        super().__init__(model, 1 if step is None else round(step / timestep))
        self._columns = {name: self._column(name) for name in (*self.felt, *self.sensors)}
        self._felt = [column for name in self.felt for column in self._columns[name]]
        if self._felt and self.anew:
            self.memory = {**self.memory, "felt": len(self._felt)}

    def _column(self, name: str) -> range:
        sensor = self.model.id_of("sensor", name)
        first = int(self.model.sensor_adr[sensor])
        return range(first, first + int(self.model.sensor_dim[sensor]))

    def ids(self, kind: str, *names: str) -> list[int]:
        found = [self.model.id_of(kind, name) for name in names]
        for name, at in zip(names, found, strict=True):
            if at < 0:
                raise ImportError(f"dm_control's model has no {kind} '{name}', which this task looks for: {INSTALL}")
        return found

    def qpos_of(self, *joints: str) -> list[int]:
        return [int(self.model.jnt_qposadr[joint]) for joint in self.ids("joint", *joints)]

    def qvel_of(self, *joints: str) -> list[int]:
        return [int(self.model.jnt_dofadr[joint]) for joint in self.ids("joint", *joints)]

    def hinges(self) -> tuple[list[int], list[int]]:
        """Where the positions and the velocities of the hinges are."""
        hinges = np.flatnonzero(np.asarray(self.model.jnt_type) == _HINGE)
        at = (self.model.jnt_qposadr, self.model.jnt_dofadr)
        qpos, qvel = ([int(address[joint]) for joint in hinges] for address in at)
        return qpos, qvel

    def stepped(self, s: View) -> None:
        if not self.anew:
            return
        if self._felt:
            s.keep("felt", s.sensordata[:, self._felt])
        s.sim.forward()

    def sensed(self, s: View, name: str) -> Any:
        """(rows, n) of the present state."""
        columns = self._columns[name]
        return s.sensordata[:, columns.start : columns.stop]

    def feels(self, s: View) -> Any:
        """(rows, n) all of `felt`, of within the last timestep; where the episode has just begun, of its state."""
        now = s.sensordata[:, self._felt]
        if not self.anew:
            return now
        return s.recall("felt") if s.fresh is None else s.xp.where(s.fresh[:, None], now, s.recall("felt"))


# how episodes begin --------------------------------------------------------------------------------------


def joint_bounds(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """(nq,), (nq,): what positions are drawn between: ranges of joints, whole turns of free hinges; slides without a
    range and places of free joints stay. Quaternions of free joints are drawn in the positive orthant, as the suite
    does it."""
    low = np.array(model.qpos0, float)
    high = low.copy()
    for joint in range(model.njnt):
        at, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
        if kind == _FREE:
            low[at + 3 : at + 7], high[at + 3 : at + 7] = 0, 1
        elif kind in (_HINGE, _SLIDE) and model.jnt_limited[joint]:
            low[at], high[at] = model.jnt_range[joint]
        elif kind == _HINGE:
            low[at], high[at] = -math.pi, math.pi
        elif kind != _SLIDE:
            raise ValueError(f"joint {joint} is a ball, and the suite has none")
    return low, high


def anywhere(s: View, draw: Draws, bounds: tuple[np.ndarray, np.ndarray], free: Sequence[int] = ()) -> Any:
    """(rows, nq) a draw between `joint_bounds`; `free` are where free joints' quaternions begin."""
    low, high = (s.table(bound, float) for bound in bounds)
    qpos = draw.uniform(low, high, low.shape[0])
    for at in free:
        parts = [qpos[:, :at], unit(s.xp, qpos[:, at : at + 4]), qpos[:, at + 4 :]]
        qpos = s.xp.concatenate(parts, axis=1)
    return qpos


def marks(s: View, chosen: Any) -> Any:
    """(num_envs,) true at those rows of the view where `chosen` is."""
    mask = s.arrays.zeros((s.sim.num_envs,), bool)
    mask[... if s.rows is None else s.rows] = chosen
    return mask


def place(s: View, state: dict[str, Any], chosen: Any) -> None:
    """Puts rows into a state and has what follows from it evaluated, for those that are chosen."""
    for name, values in state.items():
        into = s.arrays.native(getattr(s.sim, name))
        into[... if s.rows is None else s.rows] = s.arrays.real(values, s.sim.dtype)
    s.sim.forward(marks(s, chosen))


def every_row(x: Any) -> Any:
    """(rows,) true"""
    return flat(x)[:, 0] < np.inf


def touching(s: View, state: dict[str, Any], chosen: Any) -> Any:
    """(rows,) whether anything touches in this state, of those that are chosen."""
    place(s, state, chosen)
    return (s._of(s.sim.contact_count) > 0) & chosen


def apart(s: View, one: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Of the states that `one` draws, for each row the first in which nothing touches."""
    found = one()
    again = touching(s, found, every_row(next(iter(found.values()))))
    while bool(again.any()):
        other = one()
        for name, values in found.items():
            which = again.reshape(-1, *[1] * (len(values.shape) - 1))
            found[name] = s.xp.where(which, other[name], values)
        again = touching(s, found, again)
    return found

"""Swimmer: a planar chain of links in a viscous medium that brings its nose to a target."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.suite.common import (
    SuiteTask, anywhere, compiled, joint_bounds, movable, named, read, rotation, tolerance, with_sensors, within,
)  # fmt: skip
from dualstep.model import Model


def chain(links: int) -> Model:
    root = read("swimmer.xml")
    with_sensors(root, ("head_vel", "head_gyro"))
    movable(root, "geom", "target", ("light", "target_light"))
    actuators, sensors = ET.SubElement(root, "actuator"), ET.SubElement(root, "sensor")
    parent, bound = named(root, "body", "head"), 360 / links
    for i in range(links - 1):
        parent = ET.SubElement(parent, "body", name=f"segment_{i}", pos="0 .1 0")
        for kind in ("visual", "inertial"):
            ET.SubElement(parent, "geom", {"class": kind, "name": f"{kind}_{i}"})
        ET.SubElement(parent, "site", name=f"site_{i}")
        ET.SubElement(parent, "joint", name=f"joint_{i}", range=f"{-bound} {bound}")
        ET.SubElement(actuators, "motor", name=f"motor_{i}", joint=f"joint_{i}")
        ET.SubElement(sensors, "velocimeter", name=f"velocimeter_{i}", site=f"site_{i}")
        ET.SubElement(sensors, "gyro", name=f"gyro_{i}", site=f"site_{i}")
    for camera in root.iter("camera"):
        if camera.get("mode") == "trackcom":
            camera.set("pos", " ".join(str(float(x) * links / 6) for x in camera.get("pos", "").split()))
    return compiled(root)


class Swimmer6(SuiteTask):
    """dm_control swimmer-swimmer6: a chain of six links, paid for having its nose at a target."""

    links = 6

    def __init__(self) -> None:
        super().__init__(chain(self.links), 0.03)
        self.head, self.nose = self.ids("body", "head")[0], self.ids("geom", "nose")[0]
        self.radius = float(self.model.geom_size[self.ids("geom", "target")[0]][0])
        self.bounds = joint_bounds(self.model)

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        close = draw.uniform(0, 1, 1) < 0.2
        target = draw.uniform(-1, 1, 2) * (0.3 * close + 2 * ~close)
        target = xp.concatenate([target, s.mocap_pos[:, 0, 2:] + 0 * target[:, :1]], axis=1)
        return {"qpos": anywhere(s, draw, self.bounds), "mocap_pos": target[:, None]}

    def to_target(self, s: View) -> Any:
        """(rows, 2) from the nose, in the head's axes."""
        away = s.mocap_pos[:, 0] - s.geom_xpos[:, self.nose]
        return within(s.xp, rotation(s.xp, s.xquat[:, self.head]), away[:, None])[:, 0, :2]

    def observe(self, s: View) -> Any:
        # of each link, in its own axes: along x and y, and the turning about z
        velocities = s.sensordata.reshape(s.qpos.shape[0], self.links, 6)[:, :, [0, 1, 5]]
        parts = [s.qpos[:, 3:], self.to_target(s), velocities.reshape(s.qpos.shape[0], -1)]
        return s.xp.concatenate(parts, axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        away = length(s.xp, self.to_target(s))
        return tolerance(s.xp, away, 0, self.radius, 5 * self.radius, shape="long_tail"), {"distance": away}


class Swimmer15(Swimmer6):
    """dm_control swimmer-swimmer15: the same with fifteen links."""

    links = 15

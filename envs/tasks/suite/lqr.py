"""LQR: a chain of masses on springs, of which some have a motor: a linear system with quadratic costs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.randomize import Vary
from dualstep.envs.task import View
from dualstep.envs.tasks.common import squares
from dualstep.envs.tasks.suite.common import SuiteTask, compiled, read, unit
from dualstep.model import Model

STIFFNESS = 15.0, 25.0


def masses(count: int, motors: int) -> Model:
    root = read("lqr.xml")
    parent = root.find("worldbody")
    assert parent is not None
    actuators, tendons = ET.SubElement(root, "actuator"), ET.SubElement(root, "tendon")
    for i in range(count):
        parent = ET.SubElement(parent, "body", name=f"body_{i}", pos=".25 0 0" if i else ".25 0 .1")
        ET.SubElement(parent, "joint", name=f"joint_{i}", stiffness=str(sum(STIFFNESS) / 2))
        ET.SubElement(parent, "geom", name=f"geom_{i}")
        ET.SubElement(parent, "site", name=f"site_{i}")
        if i < motors:
            ET.SubElement(actuators, "motor", name=f"motor_{i}", joint=f"joint_{i}")
        if i > 0:
            # to be looked at
            tendon = ET.SubElement(tendons, "spatial", name=f"tendon_{i - 1}")
            for end in (i - 1, i):
                ET.SubElement(tendon, "site", site=f"site_{end}")
    return compiled(root)


class Lqr21(SuiteTask):
    """dm_control lqr-lqr_2_1: two masses, the first with a motor; costs are squares of positions and controls.

    Springs differ between environments, as they do between the suite's; episodes end where all is still.
    """

    derived = anew = False
    count, motors = 2, 1
    randomization = (Vary("jnt_stiffness", *STIFFNESS, "set", when="start"),)

    def __init__(self) -> None:
        super().__init__(masses(self.count, self.motors))

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return {"qpos": 2**0.5 * unit(s.xp, draw.normal(self.count))}

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        state, control = squares(s.xp, s.qpos) / 2, 0.1 * squares(s.xp, s.ctrl) / 2
        return 1 - (state + control), {"reward_state": -state, "reward_ctrl": -control}

    def terminated(self, s: View) -> Any:
        return squares(s.xp, s.qpos) + squares(s.xp, s.qvel) < 1e-12


class Lqr62(Lqr21):
    """dm_control lqr-lqr_6_2: six masses, the first two with a motor."""

    count, motors = 6, 2

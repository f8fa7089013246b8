"""The planar arm with a hand of two fingers that manipulator and stacker share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import View
from dualstep.envs.tasks.common import length
from dualstep.envs.tasks.suite.common import SuiteTask, flat
from dualstep.model import Model

JOINTS = ("arm_root", "arm_shoulder", "arm_elbow", "arm_wrist", "finger", "fingertip", "thumb", "thumbtip")


class PlanarArm(SuiteTask):
    felt = ("palm_touch", "finger_touch", "thumb_touch", "fingertip_touch", "thumbtip_touch")

    def __init__(self, model: Model, things: Sequence[str]) -> None:
        super().__init__(model, 0.01)
        self.joints, self.dofs = self.qpos_of(*JOINTS), self.qvel_of(*JOINTS)
        self.thing_dofs = self.qvel_of(*things)
        self.hand = self.ids("body", "hand")[0]
        m = model
        limited = [bool(m.jnt_limited[joint]) for joint in self.ids("joint", *JOINTS)]
        ranges = [m.jnt_range[joint] for joint in self.ids("joint", *JOINTS)]
        bounds = [tuple(r) if has else (-math.pi, math.pi) for has, r in zip(limited, ranges, strict=True)]
        self.low, self.high = np.array(bounds).T.copy()
        self.order = np.argsort(self.joints)

    def arm(self, s: View, draw: Draws) -> Any:
        """(rows, 8) angles between the joints' limits, the fingers alike."""
        angles = draw.uniform(s.table(self.low, float), s.table(self.high, float), len(JOINTS))
        finger, thumb = JOINTS.index("finger"), JOINTS.index("thumb")
        parts = [angles[:, :finger], angles[:, thumb : thumb + 1], angles[:, finger + 1 :]]
        return s.xp.concatenate(parts, axis=1)

    def configuration(self, s: View, arm: Any, things: Any) -> Any:
        """(rows, nq) of the arm's joints and of those of the things, which come after them in the model."""
        return s.xp.concatenate([arm[:, s.table(self.order, int)], things], axis=1)

    def poses(self, s: View, bodies: Sequence[int]) -> Any:
        """(rows, 4 * bodies) x and z of each, w and y of its quaternion."""
        place, quat = s.xpos[:, list(bodies)], s.xquat[:, list(bodies)]
        return flat(s.xp.stack([place[..., 0], place[..., 2], quat[..., 0], quat[..., 2]], axis=-1))

    def observe_arm(self, s: View) -> list[Any]:
        angles = s.qpos[:, self.joints]
        turns = flat(s.xp.stack([s.xp.sin(angles), s.xp.cos(angles)], axis=-1))
        return [turns, s.qvel[:, self.dofs], s.xp.log1p(self.feels(s))]

    def distance(self, s: View, first: int, second: int) -> Any:
        """(rows,) between two sites."""
        return length(s.xp, s.site_xpos[:, first] - s.site_xpos[:, second])

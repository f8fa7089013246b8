"""Reacher and Pusher: arms that bring their tip to a target, or a puck to a goal. Episodes end by their time."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import length, squares

_PUCK = np.array([[-0.3, -0.2], [0.0, 0.2]])


def _body(task: Task, name: str) -> int:
    found = task.model.id_of("body", name)
    if found < 0:
        raise ValueError(f"the model has no body '{name}', which this task looks for")
    return found


class Reacher(Task):
    """An arm of two links that brings its tip to a target. Episodes end by their time."""

    camera = {"trackbodyid": 0}

    def __init__(
        self,
        xml_file: str = "reacher.xml",
        frame_skip: int = 2,
        reward_dist_weight: float = 1,
        reward_control_weight: float = 1,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.reward_dist_weight = reward_dist_weight
        self.reward_control_weight = reward_control_weight
        self.check_options()
        self.tip, self.target = _body(self, "fingertip"), _body(self, "target")

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        nq, nv = s.model.nq, s.model.nv
        qpos = s.constant("qpos0") + draw.uniform(-0.1, 0.1, nq)
        qvel = draw.uniform(-0.005, 0.005, nv)
        goal = draw.uniform_where(lambda g: length(s.xp, g) < 0.2, -0.2, 0.2, 2)
        return {
            "qpos": s.xp.concatenate([qpos[:, :-2], goal], axis=1),
            "qvel": s.xp.concatenate([qvel[:, :-2], 0 * goal], axis=1),
        }

    def to_target(self, s: View) -> Any:
        return s.xpos[:, self.tip] - s.xpos[:, self.target]

    def observe(self, s: View) -> Any:
        angles = s.qpos[:, :2]
        parts = [s.xp.cos(angles), s.xp.sin(angles), s.qpos[:, 2:], s.qvel[:, :2], self.to_target(s)[:, :2]]
        return s.xp.concatenate(parts, axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        distance = -self.reward_dist_weight * length(s.xp, self.to_target(s))
        control = -self.reward_control_weight * squares(s.xp, s.action)
        return distance + control, {"reward_dist": distance, "reward_ctrl": control}


class Pusher(Task):
    """An arm of seven joints that pushes a puck to a goal. Episodes end by their time."""

    camera = {"trackbodyid": -1, "distance": 4.0}

    def __init__(
        self,
        xml_file: str = "pusher_v5.xml",
        frame_skip: int = 5,
        reward_near_weight: float = 0.5,
        reward_dist_weight: float = 1,
        reward_control_weight: float = 0.1,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.reward_near_weight = reward_near_weight
        self.reward_dist_weight = reward_dist_weight
        self.reward_control_weight = reward_control_weight
        self.check_options()
        self.tip, self.puck, self.goal = (_body(self, name) for name in ("tips_arm", "object", "goal"))

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        xp = s.xp
        qvel = draw.uniform(-0.005, 0.005, s.model.nv)
        # on one side of the table, x in [-0.3, 0) and y in [-0.2, 0.2), but not on the goal
        low, high = s.arrays.from_host(_PUCK[0]), s.arrays.from_host(_PUCK[1])
        puck = draw.uniform_where(lambda p: length(xp, p) > 0.17, low, high, 2)
        rest = s.constant("qpos0")[None, :-4] + 0 * qvel[:, :1]
        return {
            "qpos": xp.concatenate([rest, puck, 0 * puck], axis=1),
            "qvel": xp.concatenate([qvel[:, :-4], 0 * puck, 0 * puck], axis=1),
        }

    def observe(self, s: View) -> Any:
        bodies = [s.xpos[:, body] for body in (self.tip, self.puck, self.goal)]
        return s.xp.concatenate([s.qpos[:, :7], s.qvel[:, :7], *bodies], axis=1)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        near = -self.reward_near_weight * length(s.xp, s.xpos[:, self.puck] - s.xpos[:, self.tip])
        distance = -self.reward_dist_weight * length(s.xp, s.xpos[:, self.puck] - s.xpos[:, self.goal])
        control = -self.reward_control_weight * squares(s.xp, s.action)
        return distance + control + near, {
            "reward_dist": distance,
            "reward_ctrl": control,
            "reward_near": near,
        }

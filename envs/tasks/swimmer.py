"""Swimmer: three links in a viscous plane, paid for speed."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import around_start, length, squares


class Swimmer(Task):
    derived = False

    def __init__(
        self,
        xml_file: str = "swimmer.xml",
        frame_skip: int = 4,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-4,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.forward_reward_weight = forward_reward_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.reset_noise_scale = reset_noise_scale
        self.first = 2 if exclude_current_positions_from_observation else 0
        self.check_options()

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return around_start(s, draw, self.reset_noise_scale)

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos[:, self.first :], s.qvel], axis=1)

    def track(self, s: View) -> Any:
        return s.qpos[:, :2]

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        forward = self.forward_reward_weight * s.rate[:, 0]
        control = -self.ctrl_cost_weight * squares(s.xp, s.action)
        terms = {
            "x_velocity": s.rate[:, 0],
            "y_velocity": s.rate[:, 1],
            "reward_forward": forward,
            "reward_ctrl": control,
        }
        return forward + control, terms

    def info(self, s: View) -> dict[str, Any]:
        return {
            "x_position": s.qpos[:, 0],
            "y_position": s.qpos[:, 1],
            "distance_from_origin": length(s.xp, s.qpos[:, :2]),
        }

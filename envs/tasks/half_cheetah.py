"""HalfCheetah: a planar runner, paid for speed."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import around_start, squares


class HalfCheetah(Task):
    derived = False
    camera = {"distance": 4.0}

    def __init__(
        self,
        xml_file: str = "half_cheetah.xml",
        frame_skip: int = 5,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 0.1,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.forward_reward_weight = forward_reward_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.reset_noise_scale = reset_noise_scale
        self.first = 1 if exclude_current_positions_from_observation else 0
        self.check_options()

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return around_start(s, draw, self.reset_noise_scale, normal_velocity=True)

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos[:, self.first :], s.qvel], axis=1)

    def track(self, s: View) -> Any:
        return s.qpos[:, :1]

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        forward = self.forward_reward_weight * s.rate[:, 0]
        control = -self.ctrl_cost_weight * squares(s.xp, s.action)
        return forward + control, {"x_velocity": s.rate[:, 0], "reward_forward": forward, "reward_ctrl": control}

    def info(self, s: View) -> dict[str, Any]:
        return {"x_position": s.qpos[:, 0]}

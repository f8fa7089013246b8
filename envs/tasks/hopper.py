"""Hopper: one leg in a plane, paid for speed and for staying upright."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import around_start, squares, strictly_within

Range = tuple[float, float]


class PlanarWalker(Task):
    """What Hopper and Walker2d share: x, z and pitch lead the coordinates of a body that must stay upright."""

    derived = False
    healthy_state_range: Range | None = None

    def __init__(
        self,
        xml_file: str,
        frame_skip: int,
        forward_reward_weight: float,
        ctrl_cost_weight: float,
        healthy_reward: float,
        terminate_when_unhealthy: bool,
        healthy_z_range: Range,
        healthy_angle_range: Range,
        reset_noise_scale: float,
        exclude_current_positions_from_observation: bool,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.forward_reward_weight = forward_reward_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.healthy_reward = healthy_reward
        self.terminate_when_unhealthy = terminate_when_unhealthy
        self.healthy_z_range = healthy_z_range
        self.healthy_angle_range = healthy_angle_range
        self.reset_noise_scale = reset_noise_scale
        self.first = 1 if exclude_current_positions_from_observation else 0
        self.check_options()

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return around_start(s, draw, self.reset_noise_scale)

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos[:, self.first :], s.xp.clip(s.qvel, -10, 10)], axis=1)

    def track(self, s: View) -> Any:
        return s.qpos[:, :1]

    def healthy(self, s: View) -> Any:
        good = strictly_within(s.qpos[:, 1], self.healthy_z_range)
        good = good & strictly_within(s.qpos[:, 2], self.healthy_angle_range)
        if self.healthy_state_range is not None:
            state = s.xp.concatenate([s.qpos[:, 2:], s.qvel], axis=1)
            good = good & strictly_within(state, self.healthy_state_range).all(axis=1)
        return good

    def terminated(self, s: View) -> Any:
        return ~self.healthy(s) if self.terminate_when_unhealthy else None

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        forward = self.forward_reward_weight * s.rate[:, 0]
        control = -self.ctrl_cost_weight * squares(s.xp, s.action)
        survive = self.healthy_reward * self.healthy(s)
        terms = {
            "x_velocity": s.rate[:, 0],
            "reward_forward": forward,
            "reward_ctrl": control,
            "reward_survive": survive,
        }
        return forward + survive + control, terms

    def info(self, s: View) -> dict[str, Any]:
        return {
            "x_position": s.qpos[:, 0],
            "z_distance_from_origin": s.qpos[:, 1] - float(self.init_qpos[1]),
        }


class Hopper(PlanarWalker):
    """One leg in a plane, paid for speed and for staying upright."""

    camera = {"trackbodyid": 2, "distance": 3.0, "lookat": (0.0, 0.0, 1.15), "elevation": -20.0}

    def __init__(
        self,
        xml_file: str = "hopper.xml",
        frame_skip: int = 4,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_state_range: Range = (-100.0, 100.0),
        healthy_z_range: Range = (0.7, float("inf")),
        healthy_angle_range: Range = (-0.2, 0.2),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
    ) -> None:
        self.healthy_state_range = healthy_state_range
        super().__init__(
            xml_file,
            frame_skip,
            forward_reward_weight,
            ctrl_cost_weight,
            healthy_reward,
            terminate_when_unhealthy,
            healthy_z_range,
            healthy_angle_range,
            reset_noise_scale,
            exclude_current_positions_from_observation,
        )

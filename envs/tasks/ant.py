"""Ant: four legs and a free torso, paid for speed and for staying up; it feels contact forces."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import around_start, length, squares


class Ant(Task):
    camera = {"distance": 4.0}

    def __init__(
        self,
        xml_file: str = "ant.xml",
        frame_skip: int = 5,
        forward_reward_weight: float = 1,
        ctrl_cost_weight: float = 0.5,
        contact_cost_weight: float = 5e-4,
        healthy_reward: float = 1.0,
        main_body: int | str = 1,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.2, 1.0),
        contact_force_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.forward_reward_weight = forward_reward_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.contact_cost_weight = contact_cost_weight
        self.healthy_reward = healthy_reward
        self.main_body = self.model.id_of("body", main_body) if isinstance(main_body, str) else int(main_body)
        if not 0 <= self.main_body < self.model.nbody:
            raise ValueError(f"main_body {main_body!r} is given, and the model has no such body")
        self.terminate_when_unhealthy = terminate_when_unhealthy
        self.healthy_z_range = healthy_z_range
        self.contact_force_range = contact_force_range
        self.reset_noise_scale = reset_noise_scale
        self.first = 2 if exclude_current_positions_from_observation else 0
        self.feels_contacts = include_cfrc_ext_in_observation
        self.check_options()

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return around_start(s, draw, self.reset_noise_scale, normal_velocity=True)

    def contact_forces(self, s: View) -> Any:
        return s.xp.clip(s.cfrc_ext, *self.contact_force_range)

    def observe(self, s: View) -> Any:
        parts = [s.qpos[:, self.first :], s.qvel]
        if self.feels_contacts:
            parts.append(self.contact_forces(s)[:, 1:].reshape(s.qpos.shape[0], -1))
        return s.xp.concatenate(parts, axis=1)

    def track(self, s: View) -> Any:
        return s.xpos[:, self.main_body, :2]

    def healthy(self, s: View) -> Any:
        low, high = self.healthy_z_range
        finite = s.xp.isfinite(s.qpos).all(axis=1) & s.xp.isfinite(s.qvel).all(axis=1)
        return finite & (low <= s.qpos[:, 2]) & (s.qpos[:, 2] <= high)

    def terminated(self, s: View) -> Any:
        return ~self.healthy(s) if self.terminate_when_unhealthy else None

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        forward = self.forward_reward_weight * s.rate[:, 0]
        survive = self.healthy_reward * self.healthy(s)
        control = -self.ctrl_cost_weight * squares(s.xp, s.action)
        contact = -self.contact_cost_weight * squares(s.xp, self.contact_forces(s))
        terms = {
            "x_velocity": s.rate[:, 0],
            "y_velocity": s.rate[:, 1],
            "reward_forward": forward,
            "reward_ctrl": control,
            "reward_contact": contact,
            "reward_survive": survive,
        }
        return forward + survive + control + contact, terms

    def info(self, s: View) -> dict[str, Any]:
        return {
            "x_position": s.qpos[:, 0],
            "y_position": s.qpos[:, 1],
            "distance_from_origin": length(s.xp, s.qpos[:, :2]),
        }

"""Humanoid: a body of seventeen joints, paid for speed and for staying up; it feels inertias and forces."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import around_start, length, squares, strictly_within

Range = tuple[float, float]


class HumanoidBody(Task):
    """What Humanoid and HumanoidStandup share: the long observation."""

    def __init__(
        self,
        xml_file: str,
        frame_skip: int,
        reset_noise_scale: float,
        exclude_current_positions_from_observation: bool,
        include_cinert_in_observation: bool,
        include_cvel_in_observation: bool,
        include_qfrc_actuator_in_observation: bool,
        include_cfrc_ext_in_observation: bool,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.reset_noise_scale = reset_noise_scale
        self.first = 2 if exclude_current_positions_from_observation else 0
        self.feels = [
            name
            for name, wanted in (
                ("cinert", include_cinert_in_observation),
                ("cvel", include_cvel_in_observation),
                ("qfrc_actuator", include_qfrc_actuator_in_observation),
                ("cfrc_ext", include_cfrc_ext_in_observation),
            )
            if wanted
        ]

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return around_start(s, draw, self.reset_noise_scale)

    def observe(self, s: View) -> Any:
        parts = [s.qpos[:, self.first :], s.qvel]
        for name in self.feels:
            # no actuator moves the six dofs of the root; body 0 is the world
            begin = 6 if name == "qfrc_actuator" else 1
            parts.append(getattr(s, name)[:, begin:].reshape(s.qpos.shape[0], -1))
        return s.xp.concatenate(parts, axis=1)

    def bounded_contact_cost(self, s: View, weight: float, bounds: Range) -> Any:
        return s.xp.clip(weight * squares(s.xp, s.cfrc_ext), *bounds)

    def info(self, s: View) -> dict[str, Any]:
        return {
            "x_position": s.qpos[:, 0],
            "y_position": s.qpos[:, 1],
            "tendon_length": s.tendon_length,
            "tendon_velocity": s.tendon_velocity,
        }


class Humanoid(HumanoidBody):
    """A body of seventeen joints, paid for speed and for staying up; it feels inertias and forces."""

    camera = {"trackbodyid": 1, "distance": 4.0, "lookat": (0.0, 0.0, 2.0), "elevation": -20.0}

    def __init__(
        self,
        xml_file: str = "humanoid.xml",
        frame_skip: int = 5,
        forward_reward_weight: float = 1.25,
        ctrl_cost_weight: float = 0.1,
        contact_cost_weight: float = 5e-7,
        contact_cost_range: Range = (-float("inf"), 10.0),
        healthy_reward: float = 5.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: Range = (1.0, 2.0),
        reset_noise_scale: float = 1e-2,
        exclude_current_positions_from_observation: bool = True,
        include_cinert_in_observation: bool = True,
        include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
    ) -> None:
        super().__init__(
            xml_file,
            frame_skip,
            reset_noise_scale,
            exclude_current_positions_from_observation,
            include_cinert_in_observation,
            include_cvel_in_observation,
            include_qfrc_actuator_in_observation,
            include_cfrc_ext_in_observation,
        )
        self.forward_reward_weight = forward_reward_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.contact_cost_weight = contact_cost_weight
        self.contact_cost_range = contact_cost_range
        self.healthy_reward = healthy_reward
        self.terminate_when_unhealthy = terminate_when_unhealthy
        self.healthy_z_range = healthy_z_range
        self.check_options()

    def track(self, s: View) -> Any:
        # the centre of mass of everything
        mass = s.constant("body_mass")
        return (s.xipos[..., :2] * mass[None, :, None]).sum(axis=1) / mass.sum()

    def healthy(self, s: View) -> Any:
        return strictly_within(s.qpos[:, 2], self.healthy_z_range)

    def terminated(self, s: View) -> Any:
        return ~self.healthy(s) if self.terminate_when_unhealthy else None

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        forward = self.forward_reward_weight * s.rate[:, 0]
        survive = self.healthy_reward * self.healthy(s)
        control = -self.ctrl_cost_weight * squares(s.xp, s.ctrl)
        contact = -self.bounded_contact_cost(s, self.contact_cost_weight, self.contact_cost_range)
        terms = {
            "x_velocity": s.rate[:, 0],
            "y_velocity": s.rate[:, 1],
            "reward_survive": survive,
            "reward_forward": forward,
            "reward_ctrl": control,
            "reward_contact": contact,
        }
        return forward + survive + control + contact, terms

    def info(self, s: View) -> dict[str, Any]:
        return {**super().info(s), "distance_from_origin": length(s.xp, s.qpos[:, :2])}


class HumanoidStandup(HumanoidBody):
    """The same body on its back, paid for the height of its torso."""

    camera = {"trackbodyid": 1, "distance": 4.0, "lookat": (0.0, 0.0, 0.8925), "elevation": -20.0}

    def __init__(
        self,
        xml_file: str = "humanoidstandup.xml",
        frame_skip: int = 5,
        uph_cost_weight: float = 1,
        ctrl_cost_weight: float = 0.1,
        impact_cost_weight: float = 0.5e-6,
        impact_cost_range: Range = (-float("inf"), 10.0),
        reset_noise_scale: float = 1e-2,
        exclude_current_positions_from_observation: bool = True,
        include_cinert_in_observation: bool = True,
        include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
    ) -> None:
        super().__init__(
            xml_file,
            frame_skip,
            reset_noise_scale,
            exclude_current_positions_from_observation,
            include_cinert_in_observation,
            include_cvel_in_observation,
            include_qfrc_actuator_in_observation,
            include_cfrc_ext_in_observation,
        )
        # Gymnasium takes this weight and does not use it
        self.uph_cost_weight = uph_cost_weight
        self.ctrl_cost_weight = ctrl_cost_weight
        self.impact_cost_weight = impact_cost_weight
        self.impact_cost_range = impact_cost_range
        self.check_options()

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        up = s.qpos[:, 2] / float(self.model.opt.timestep)
        control = -self.ctrl_cost_weight * squares(s.xp, s.ctrl)
        impact = -self.bounded_contact_cost(s, self.impact_cost_weight, self.impact_cost_range)
        return up + control + impact + 1, {
            "reward_linup": up,
            "reward_quadctrl": control,
            "reward_impact": impact,
        }

    def info(self, s: View) -> dict[str, Any]:
        return {**super().info(s), "z_distance_from_origin": s.qpos[:, 2] - float(self.init_qpos[2])}

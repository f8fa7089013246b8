"""InvertedPendulum and InvertedDoublePendulum: poles on a cart, paid for staying up."""

from __future__ import annotations

from typing import Any

from dualstep.envs.draws import Draws
from dualstep.envs.task import Task, View
from dualstep.envs.tasks.common import around_start


class InvertedPendulum(Task):
    """A pole on a cart, paid for staying up."""

    derived = False
    camera = {"trackbodyid": 0, "distance": 2.04}

    def __init__(
        self, xml_file: str = "inverted_pendulum.xml", frame_skip: int = 2, reset_noise_scale: float = 0.01
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.reset_noise_scale = reset_noise_scale
        self.check_options()

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return around_start(s, draw, self.reset_noise_scale)

    def observe(self, s: View) -> Any:
        return s.xp.concatenate([s.qpos, s.qvel], axis=1)

    def terminated(self, s: View) -> Any:
        finite = s.xp.isfinite(s.qpos).all(axis=1) & s.xp.isfinite(s.qvel).all(axis=1)
        return ~finite | (abs(s.qpos[:, 1]) > 0.2)

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        up = 1.0 * ~self.terminated(s)
        return up, {"reward_survive": up}


class InvertedDoublePendulum(Task):
    """Two poles on a cart, one on the other, paid for staying up.

    Its tip and the force that holds the cart on the rail are those of the last evaluation.
    """

    def __init__(
        self,
        xml_file: str = "inverted_double_pendulum.xml",
        frame_skip: int = 5,
        healthy_reward: float = 10.0,
        reset_noise_scale: float = 0.1,
    ) -> None:
        super().__init__(xml_file, frame_skip)
        self.healthy_reward = healthy_reward
        self.reset_noise_scale = reset_noise_scale
        self.check_options()

    def reset(self, s: View, draw: Draws) -> dict[str, Any]:
        return around_start(s, draw, self.reset_noise_scale, normal_velocity=True)

    def observe(self, s: View) -> Any:
        xp, angles = s.xp, s.qpos[:, 1:]
        force = xp.clip(s.qfrc_constraint[:, :1], -10, 10)
        return xp.concatenate([s.qpos[:, :1], xp.sin(angles), xp.cos(angles), xp.clip(s.qvel, -10, 10), force], axis=1)

    def terminated(self, s: View) -> Any:
        return s.site_xpos[:, 0, 2] <= 1

    def reward(self, s: View) -> tuple[Any, dict[str, Any]]:
        x, y = s.site_xpos[:, 0, 0], s.site_xpos[:, 0, 2]
        alive = self.healthy_reward * ~self.terminated(s)
        distance = -(0.01 * x**2 + (y - 2) ** 2)
        velocity = -(1e-3 * s.qvel[:, 1] ** 2 + 5e-3 * s.qvel[:, 2] ** 2)
        return alive + distance + velocity, {
            "reward_survive": alive,
            "distance_penalty": distance,
            "velocity_penalty": velocity,
        }

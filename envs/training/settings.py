"""What PPO is run with. The numbers of each task were found by running it; the rest share the defaults."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Settings:
    """Of one training. Batch size is num_envs * num_steps; it is gone through `epochs` times in `mini_batches`."""

    num_envs: int = 64
    total_steps: int = 5_000_000
    """of all environments together, when training ends"""
    num_steps: int = 32
    """of each environment, between updates"""
    epochs: int = 5
    mini_batches: int = 8
    learning_rate: float = 1e-3
    desired_kl: float = 0.01
    """the learning rate follows it; 0 keeps the learning rate"""
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    value_weight: float = 0.5
    max_grad_norm: float = 1.0
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "elu"
    init_std: float = 1.0
    reward_scale: float = 0.1
    """what rewards are multiplied with before they are learned from; returns are shown without it"""
    task_options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def replace(self, **changes: Any) -> Settings:
        known = {field.name for field in dataclasses.fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(f"there is no setting '{unknown[0]}'; there are: {', '.join(sorted(known))}")
        return dataclasses.replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def rsl_rl(self) -> dict[str, Any]:
        """In the words of rsl_rl's runner."""
        network = {
            "class_name": "MLPModel",
            "hidden_dims": list(self.hidden),
            "activation": self.activation,
            "obs_normalization": True,
        }
        spread = {"class_name": "GaussianDistribution", "init_std": self.init_std, "std_type": "log"}
        return {
            "num_steps_per_env": self.num_steps,
            "save_interval": 0,
            "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
            "actor": {**network, "distribution_cfg": spread},
            "critic": dict(network),
            "algorithm": {
                "class_name": "PPO",
                "num_learning_epochs": self.epochs,
                "num_mini_batches": self.mini_batches,
                "clip_param": self.clip,
                "gamma": self.gamma,
                "lam": self.lam,
                "value_loss_coef": self.value_weight,
                "entropy_coef": self.entropy,
                "learning_rate": self.learning_rate,
                "max_grad_norm": self.max_grad_norm,
                "use_clipped_value_loss": False,
                "schedule": "adaptive" if self.desired_kl > 0 else "fixed",
                "desired_kl": self.desired_kl or None,
            },
        }


_tasks: dict[str, Settings] = {
    "InvertedPendulum": Settings(total_steps=300_000),
    "InvertedDoublePendulum": Settings(total_steps=500_000),
    "Reacher": Settings(total_steps=1_000_000, reward_scale=1.0),
    "Pusher": Settings(total_steps=2_000_000, reward_scale=1.0),
    "Swimmer": Settings(total_steps=2_000_000, gamma=0.999),
    "HalfCheetah": Settings(total_steps=5_000_000),
    "Hopper": Settings(total_steps=5_000_000),
    "Walker2d": Settings(total_steps=8_000_000),
    "Ant": Settings(num_envs=128, total_steps=20_000_000, hidden=(128, 128)),
    "Humanoid": Settings(num_envs=128, total_steps=20_000_000, hidden=(256, 128)),
    "HumanoidStandup": Settings(num_envs=128, total_steps=20_000_000, hidden=(256, 128), reward_scale=0.01),
}


def settings_of(task: str) -> Settings:
    """The settings for a task, by its short name."""
    return _tasks.get(task, Settings())

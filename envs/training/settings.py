"""What PPO is run with.

Found by running them: InvertedDoublePendulum, HalfCheetah, Hopper, Ant, Humanoid, Go1Joystick (envs/README.md has the
curves). The others have what seemed near.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any


# rsl_rl's
ACTIVATIONS = "elu selu relu crelu lrelu tanh sigmoid softplus gelu swish mish identity".split()
# of rsl_rl's configuration, what `rsl_rl_options` may have
_SECTIONS = ("actor", "critic", "algorithm", "obs_groups")
# of recurrent models, by rsl_rl's names; any other one would be an LSTM there without a word
_CELLS = ("lstm", "gru")
_MAY_BE_ZERO = ("desired_kl", "entropy", "value_weight")


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _not_negative(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


# by the types of the fields: what fits, and in words
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "int": (_count, "a positive integer"),
    "float": (lambda value: _not_negative(value) and value > 0, "a positive number"),
    "str": (lambda value: value in ACTIVATIONS, "one of " + ", ".join(ACTIVATIONS)),
    "tuple[int, ...]": (
        lambda value: isinstance(value, tuple) and value != () and all(map(_count, value)),
        "a tuple of positive integers",
    ),
    "dict[str, Any]": (lambda value: isinstance(value, dict), "a dict"),
}


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
    final_pace: float = 1.0
    """the share of desired_kl (of the learning rate, where that is kept) that is left when training ends: linear"""
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    value_weight: float = 0.5
    max_grad_norm: float = 1.0
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "elu"
    init_std: float = 1.0
    final_std: float | None = None
    """exploration stays below a line from init_std to this at the end, so that the policy that is kept, which does
    not explore, is near the one that was paid; None: it is learned alone"""
    clip_observation: float = 10.0
    """in deviations from the mean, which are learned"""
    reward_scale: float = 0.1
    """what rewards are multiplied with before they are learned from; returns are shown without it"""
    episode_steps: int | None = None
    """where episodes end while it learns, so that it sees more beginnings; None: where they end anyway. An option
    max_episode_steps of the task says it for learning and for evaluation alike, and instead of this"""
    task_options: dict[str, Any] = dataclasses.field(default_factory=dict)
    rsl_rl_options: dict[str, Any] = dataclasses.field(default_factory=dict)
    """what rsl_rl is configured with besides, in its own words: {"algorithm": {"symmetry_cfg": {...}}, "actor":
    {"class_name": "RNNModel", "rnn_type": "gru"}, ...}; entries replace those made of the settings above"""

    def __post_init__(self) -> None:
        if isinstance(self.hidden, list):
            object.__setattr__(self, "hidden", tuple(self.hidden))
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            fits, wanted = _CHECKS[field.type.removesuffix(" | None")]
            if field.name in _MAY_BE_ZERO:
                fits, wanted = _not_negative, "a number of 0 or more"
            if not (fits(value) or value is None and field.type.endswith(" | None")):
                raise ValueError(f"{field.name} {value!r} is given, and it must be {wanted}")
        if self.gamma > 1 or self.lam > 1 or self.final_pace > 1:
            raise ValueError(
                f"gamma {self.gamma}, lam {self.lam}, final_pace {self.final_pace} are given, and none may be above 1"
            )
        if self.num_envs * self.num_steps < self.mini_batches:
            raise ValueError(f"{self.mini_batches} mini_batches are given, of {self.num_envs * self.num_steps} samples")
        options = self.rsl_rl_options
        if not all(name in _SECTIONS and isinstance(section, dict) for name, section in options.items()):
            raise ValueError(
                f"rsl_rl_options {options!r} is given, and it must be a dict of dicts, of {', '.join(_SECTIONS)}"
            )
        kind = options.get("algorithm", {}).get("class_name")
        if str(kind).rpartition(":")[2].rpartition(".")[2] == "Distillation":
            raise ValueError(
                f"rsl_rl_options: the algorithm {kind!r} is given, and a training is by PPO: a student learns from a "
                "teacher by rsl_rl's DistillationRunner, which takes a RslRlEnv (dualstep.envs.adapters.rsl_rl)"
            )
        for name, section in options.items():
            if str(cell := section.get("rnn_type", "gru")).lower() not in _CELLS:
                raise ValueError(
                    f"rsl_rl_options[{name!r}]['rnn_type'] {cell!r} is given, and it must be {' or '.join(_CELLS)}"
                )

    def code(self) -> list[str]:
        """Names of classes and functions in `rsl_rl_options` that are not rsl_rl's own."""
        found: list[str] = []

        def look(value: Any) -> None:
            if isinstance(value, (dict, list, tuple)):
                for entry in value.values() if isinstance(value, dict) else value:
                    look(entry)
            elif value is not None and not isinstance(value, (int, float)) and not str(value).isidentifier():
                found.append(str(value))

        look(self.rsl_rl_options)
        return found

    def replace(self, **changes: Any) -> Settings:
        known = {field.name for field in dataclasses.fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ValueError(f"there is no setting '{unknown[0]}'; there are: {', '.join(sorted(known))}")
        return dataclasses.replace(self, **changes)

    def learning_options(self) -> dict[str, Any]:
        """Options of the environments that are learned from."""
        limit = {} if self.episode_steps is None else {"max_episode_steps": self.episode_steps}
        return {**limit, **self.task_options}

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def rsl_rl(self) -> dict[str, Any]:
        """In the words of rsl_rl's runner."""
        network = {
            "class_name": "dualstep.envs.training.network:ClippedMLP",
            "clip": self.clip_observation,
            "hidden_dims": list(self.hidden),
            "activation": self.activation,
            "obs_normalization": True,
        }
        spread = {"class_name": "GaussianDistribution", "init_std": self.init_std, "std_type": "log"}
        made = {
            "num_steps_per_env": self.num_steps,
            "save_interval": 0,
            "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
            "actor": {**network, "distribution_cfg": spread},
            "critic": dict(network),
            "algorithm": {
                "class_name": "dualstep.envs.training.explicit_ppo:ExplicitPPO",
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
        for name, section in self.rsl_rl_options.items():
            made[name] = {**made[name], **section}
            if name in ("actor", "critic") and "class_name" in section and "clip" not in section:
                del made[name]["clip"]  # which other networks do not know
        return made


_BALANCE = Settings(num_envs=128, num_steps=16, mini_batches=4, gamma=0.98, episode_steps=150, total_steps=400_000)
_RUN = Settings(mini_batches=4, activation="tanh", desired_kl=0.02)
# a hopper's policy that was paid with much exploration falls without it: there is little of it at the end
_HOP = Settings(final_pace=0.1, final_std=0.1)
_HUMANOID = _RUN.replace(num_envs=128, total_steps=20_000_000, hidden=(256, 128), init_std=0.4)
# of Go1, by one or two seeds of each: with gamma of 0.99 it tracks commands later, and with 0.97 it falls
_ROBOT = Settings(
    num_envs=256,
    num_steps=24,
    mini_batches=4,
    learning_rate=5e-4,
    desired_kl=0,
    final_pace=0.2,
    gamma=0.98,
    value_weight=1.0,
    entropy=0.005,
    hidden=(128, 64),
    reward_scale=1.0,
    total_steps=5_000_000,
)
# a cube that is thrown about teaches little: actions begin small
_CUBE = Settings(
    num_envs=256,
    num_steps=24,
    mini_batches=4,
    learning_rate=5e-4,
    activation="elu",
    hidden=(128, 128),
    reward_scale=0.1,
    init_std=0.5,
)

_tasks: dict[str, Settings] = {
    "InvertedPendulum": _BALANCE.replace(total_steps=200_000),
    "InvertedDoublePendulum": _BALANCE,
    "Reacher": Settings(total_steps=1_000_000, reward_scale=1.0),
    "Pusher": Settings(total_steps=2_000_000, reward_scale=1.0),
    "Swimmer": Settings(total_steps=2_000_000, gamma=0.999),
    # one that slides on its back goes on sliding, at a return of 2,000: in episodes of 1,000 steps one seed in four
    # does, with 64 environments more, whatever entropy is paid. In those of 250 four of four run
    "HalfCheetah": _RUN.replace(
        num_envs=256, num_steps=16, epochs=4, episode_steps=250, total_steps=2_400_000, entropy=0.003
    ),
    "Hopper": _HOP.replace(total_steps=1_200_000),
    "Walker2d": _HOP.replace(total_steps=6_000_000),
    # its forces are within 1 as they come
    "Ant": _RUN.replace(num_envs=128, total_steps=20_000_000, hidden=(128, 128), clip_observation=1e6),
    "Humanoid": _HUMANOID,
    "HumanoidStandup": _HUMANOID.replace(reward_scale=0.01),
    "Go1Joystick": _ROBOT,
    "G1Joystick": _ROBOT.replace(total_steps=20_000_000),
    "PandaLift": _CUBE.replace(num_envs=128, total_steps=1_500_000),
    "HandReorient": _CUBE.replace(total_steps=1_000_000),
    "MyoReach": Settings(total_steps=1_000_000, num_envs=128),
}


def settings_of(task: str) -> Settings:
    """The settings for a task, by its short name."""
    return _tasks.get(task, Settings())

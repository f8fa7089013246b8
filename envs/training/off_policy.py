"""SAC of Stable-Baselines3 on a task: `dualstep train TASK --algorithm sac`.

It has what the command line and the recorder use of `learner.Learner`. One update of the networks for each step of an
environment: a hundred times as many as PPO does, so that it learns from fewer steps and takes longer for each.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dualstep.envs import registry
from dualstep.envs.adapters.stable_baselines3 import SB3Env
from dualstep.envs.training.actors import ACTIVATIONS, policy_of
from dualstep.envs.training.files import brought, write_checkpoint
from dualstep.envs.training.finite import check, explained
from dualstep.envs.training.learner import FORMAT, CheckpointError, Point, read_checkpoint
from dualstep.envs.training.settings import Settings
from dualstep.envs.training.threads import torch_threads

import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback

SETTINGS = Settings(num_envs=16, total_steps=200_000, hidden=(256, 256), activation="relu", learning_rate=3e-4,
                    num_steps=64, mini_batches=1, reward_scale=1.0)  # fmt: skip
"""`num_steps` of each environment are between two points of the curve"""
USED = ("num_envs", "total_steps", "num_steps", "learning_rate", "gamma", "hidden", "activation", "episode_steps")
"""of all settings; the others are PPO's"""
REPLAY, BATCH, FIRST = 1_000_000, 256, 2_000
_MODULES = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "elu": torch.nn.ELU}


def _first(steps: int) -> int:
    """Of so many steps those that fill the replay before anything is learned."""
    return min(FIRST, max(steps, 0) // 4)


class _TimedEnv(SB3Env):
    """Counts the seconds of the simulation."""

    seconds = 0.0

    def step_wait(self) -> Any:
        began = time.perf_counter()
        found = super().step_wait()
        self.seconds += time.perf_counter() - began
        return found


class _Reporter(BaseCallback):
    """A point of the curve now and then; learning ends where it says so."""

    def __init__(self, learner: SacLearner, limit: float | None, report: Callable[[Point], bool | None] | None) -> None:
        super().__init__()
        self._learner, self._limit, self._report = learner, limit, report
        self._began = time.perf_counter()

    def _on_step(self) -> bool:
        learner = self._learner
        for info in self.locals["infos"]:
            if "episode" in info:
                learner.finished.append((info["episode"]["r"], info["episode"]["l"]))
                learner.episodes += 1
        learner.steps += learner.settings.num_envs
        if learner.steps % learner.batch_size >= learner.settings.num_envs:
            return True
        point = learner.point()
        check(learner, learner.iteration)
        stop = self._report is not None and bool(self._report(point))
        return not (stop or (self._limit is not None and time.perf_counter() - self._began >= self._limit))


class _Sac(SAC):
    """Acts at random until the replay has something to learn from; by its policy where that knows something already."""

    goes_on = False

    def _sample_action(self, learning_starts: int, *args: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        return super()._sample_action(0 if self.goes_on else learning_starts, *args, **options)


class SacLearner:
    """A policy for one task. `device`, `num_threads`: of the simulation; networks are on the host."""

    world = 1
    diverged_everywhere = 0

    def __init__(
        self, task: str, settings: Settings, *, seed: int = 0, device: str = "auto", num_threads: int = 0
    ) -> None:
        if settings.activation not in ACTIVATIONS:
            raise ValueError(f"activation {settings.activation!r} is given, and SAC has {', '.join(ACTIVATIONS)}")
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise ValueError(f"{os.environ['WORLD_SIZE']} processes are given (WORLD_SIZE), and SAC trains on one")
        self.task, self.settings, self.seed = task, settings, seed
        self.env = _TimedEnv(task, settings.num_envs, seed=seed * 1_000_003, device=device, num_threads=num_threads,
                             nonfinite="clamp", **settings.learning_options())  # fmt: skip
        self._space = self.env.env.single_action_space
        if not np.isfinite(self._space.low).all() or self.env.env.groups:
            what = "groups of observations" if self.env.env.groups else "actions without bounds"
            raise ValueError(f"{task} has {what}, and SAC wants one array, and bounds: --algorithm ppo takes it")
        kind = dict(net_arch=list(settings.hidden), activation_fn=_MODULES[settings.activation])
        self.algorithm: Any = _Sac(
            "MlpPolicy", self.env, learning_rate=settings.learning_rate, gamma=settings.gamma, batch_size=BATCH,
            buffer_size=max(min(REPLAY, settings.total_steps), 1_000),
            learning_starts=_first(settings.total_steps), train_freq=1,
            gradient_steps=-1, policy_kwargs=kind, seed=seed, device="cpu",
        )  # fmt: skip
        self.curve: list[Point] = []
        self.iteration = self.steps = self.episodes = 0
        self.seconds = {"simulation": 0.0, "learning": 0.0, "glue": 0.0}
        self.finished: deque[tuple[float, float]] = deque(maxlen=100)
        self._last, self._processor = time.perf_counter(), time.process_time()

    @property
    def batch_size(self) -> int:
        return self.settings.num_envs * self.settings.num_steps

    @property
    def nonfinite(self) -> dict[str, int]:
        return dict(self.env.env.nonfinite_counts)

    def agree(self, flag: bool) -> bool:
        return flag

    def count_everywhere(self) -> None:
        self.diverged_everywhere = self.env.env.diverged_count

    def learn(
        self, total_steps: int, *, seconds: float | None = None, report: Callable[[Point], bool | None] | None = None
    ) -> None:
        """Goes on until `total_steps` (of the whole training) or `seconds` (of this call); `report` may stop it."""
        self._last, self._processor = time.perf_counter(), time.process_time()
        self.env.env.trained(self.done)
        with torch_threads(1), explained(self):
            self.algorithm.learn(max(total_steps - self.steps, 0), _Reporter(self, seconds, report),
                                 reset_num_timesteps=False, log_interval=None)  # fmt: skip

    @property
    def done(self) -> float:
        """The share of the training's steps that were taken."""
        return min(self.steps / self.settings.total_steps, 1.0)

    def point(self) -> Point:
        self.env.env.trained(self.done)
        now, processor = time.perf_counter(), time.process_time()
        simulated, self.env.seconds = self.env.seconds, 0.0
        self.seconds["simulation"] += simulated
        self.seconds["learning"] += now - self._last - simulated
        spent = (self.curve[-1].processor if self.curve else 0.0) + processor - self._processor
        self._last, self._processor = now, processor
        self.iteration += 1
        recent = list(self.finished)
        mean = [sum(column) / len(recent) for column in zip(*recent, strict=True)] if recent else [float("nan")] * 2
        point = Point(self.iteration, self.steps, sum(self.seconds.values()), mean[0], mean[1], self.episodes,
                      float("nan"), self.settings.learning_rate, float("nan"), spent)  # fmt: skip
        self.curve.append(point)
        return point

    def weights(self) -> dict[str, Any]:
        """Of all its networks."""
        return self.algorithm.get_parameters()

    def _actor(self) -> dict[str, Any]:
        network: Any = self.algorithm.actor
        layers = [layer for layer in network.latent_pi if isinstance(layer, torch.nn.Linear)] + [network.mu]
        found: dict[str, Any] = {"activation": self.settings.activation}
        for i, layer in enumerate(layers):
            found[f"weight_{i}"], found[f"bias_{i}"] = layer.weight.detach().clone(), layer.bias.detach().clone()
        return {**found, "low": torch.from_numpy(self._space.low), "high": torch.from_numpy(self._space.high)}

    def policy(self) -> Callable[[torch.Tensor], torch.Tensor]:
        """From observations (N, n) to actions in the task's own units, without exploration."""
        return policy_of(self._actor())

    def save(self, path: Path) -> None:
        """The networks and their optimizers, the curve; not the replay, which fills anew."""
        write_checkpoint(path, {
            "dualstep": FORMAT, "library": "sac", "task": self.task, "source": registry.find(self.task)[1].source,
            **brought(self.env.env.task), "settings": self.settings.as_dict(), "seed": self.seed,
            "iteration": self.iteration, "steps": self.steps, "seconds": dict(self.seconds), "episodes": self.episodes,
            "finished": list(self.finished), "curve": [tuple(point) for point in self.curve], "actor": self._actor(),
            "algorithm": self.algorithm.get_parameters(), "entropy": self.algorithm.log_ent_coef.detach().clone(),
            "dtype": self.env.env.sim.dtype.name, "places": [],
        })  # fmt: skip

    def load(self, path: Path) -> bool:
        """Goes on with the networks of a checkpoint; episodes and the replay begin anew (false)."""
        whole = read_checkpoint(path, self.task)
        try:
            self.algorithm.set_parameters(whole["algorithm"], device="cpu")
        except (RuntimeError, ValueError, KeyError) as error:
            raise CheckpointError(f"{path} holds another network than these settings make: {error}") from None
        self.algorithm.log_ent_coef.data.copy_(whole["entropy"])
        self.iteration, self.steps, self.episodes = whole["iteration"], whole["steps"], whole["episodes"]
        self.seconds, self.curve = dict(whole["seconds"]), [Point(*values) for values in whole["curve"]]
        self.finished.extend(tuple(pair) for pair in whole["finished"])
        self.algorithm.goes_on = True
        self.algorithm.learning_starts = _first(self.settings.total_steps - self.steps)
        return False

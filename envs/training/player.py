"""What a checkpoint can do without a learner: its policy, its environments, a film of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from dualstep.envs import make
from dualstep.envs.contact import for_few
from dualstep.envs.training import film
from dualstep.envs.training.acting import follow, seen
from dualstep.envs.training.learner import CheckpointError, Learner, check_code, read_checkpoint, settings_from
from dualstep.envs.training.runs import find_checkpoint
from dualstep.envs.training.settings import Settings

Policy = Callable[[Any], torch.Tensor]


def load_policy(path: Path, task: str | None = None, *, trust: bool = False) -> tuple[str, Settings, Policy]:
    """The task of a checkpoint (a file, or a run's folder), its settings, and its policy without exploration.

    `task`: refused where the checkpoint is of another one. `trust`: import the task that the checkpoint names.
    """
    path = find_checkpoint(path)
    whole = read_checkpoint(path, task, trust=trust)
    if whole.get("library") == "sac":
        from dualstep.envs.training.actors import policy_of

        settings = settings_from(whole)
        check_code(settings, path, trust)
        return whole["task"], settings, policy_of(whole["actor"])
    learner, settings = _load(path, task, trust)
    return learner.task, settings, learner.policy()


def load_learner(
    path: Path, task: str | None = None, *, num_envs: int = 1, seed: int = 0, trust: bool = False
) -> Learner:
    """The policy of a checkpoint with a few environments, on the CPU."""
    return _load(path, task, trust, num_envs, seed)[0]


def _load(path: Path, task: str | None, trust: bool, num_envs: int = 1, seed: int = 0) -> tuple[Learner, Settings]:
    path = find_checkpoint(path)
    whole = read_checkpoint(path, task, trust=trust)
    if whole.get("library") == "sac":
        raise CheckpointError(f"'{path}' is of SAC: its policy is played and audited, and those of PPO are exported")
    settings = settings_from(whole)
    check_code(settings, path, trust)
    # networks need one environment to know their sizes
    options = for_few(settings.task_options, num_envs)
    # nothing is learned there, from however few environments
    given = {name: dict(section) for name, section in settings.rsl_rl_options.items()}
    given.get("algorithm", {}).pop("num_mini_batches", None)
    changes = {"num_envs": num_envs, "mini_batches": 1, "task_options": options, "rsl_rl_options": given}
    small = settings.replace(**changes)
    learner = Learner(whole["task"], small, seed=seed, device="cpu", num_threads=1)
    try:
        learner.algorithm.load(whole["algorithm"], {"actor": True}, True)
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        told = " ".join(str(error).split())[:300]
        raise CheckpointError(f"'{path}' holds another network than its settings make: {told}") from None
    return learner, settings


def make_env(task: str, settings: Settings, num_envs: int, **options: Any) -> Any:
    """Environments of the task as it was trained, that a policy can act in."""
    given = {"num_threads": 1, "nonfinite": "clamp", "output": "torch", **settings.task_options, **options}
    # of several contact models, the first: one batch can be shown
    if isinstance(given.get("contact"), (list, tuple)):
        given["contact"] = given["contact"][0]
    return make(task, num_envs, **given)


def film_of(
    task: str, settings: Settings, policy: Policy, path: Path, seconds: float, *, seed: int = 10_000, num_envs: int = 1
) -> Path:
    """Records environments with the policy, and has the film drawn; returns the file."""
    env = make_env(task, settings, num_envs, device="cpu")
    follow(env, policy)
    try:
        recorded = film.record(env, lambda observation: policy(seen(policy, observation)), seconds, seed=seed)
        return film.draw(env.task.drawn, recorded, path, env.task.camera)
    finally:
        env.close()

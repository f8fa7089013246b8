"""A policy for other programs: one network from observations, as the task gives them, to actions, in its units.

Normalization, clipping and the range of the actuators are in it; exploration is not. What is written is read again and
compared with the policy, on observations of an episode, before it is told to be there.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dualstep.envs.training.acting import seen
from dualstep.envs.training.files import write_whole
from dualstep.envs.training.learner import CheckpointError
from dualstep.envs.training.player import load_learner

import torch

OPSET = 18
# of a reader that computes in another order
TOLERANCE = 1e-4


class ExportedPolicy(torch.nn.Module):
    """`learner`: of a checkpoint. Observations (N, n) to actions (N, k), both float32; of several groups that an actor
    sees, one after the other."""

    limit: torch.Tensor
    offset: torch.Tensor
    scale: torch.Tensor

    def __init__(self, learner: Any) -> None:
        super().__init__()
        network, env = learner.algorithm.get_policy(), learner.env
        exportable = network.as_jit()
        self.normalizer = copy.deepcopy(exportable.obs_normalizer)
        self.mlp = copy.deepcopy(exportable.mlp)
        self.mean = copy.deepcopy(exportable.deterministic_output)
        # rsl_rl's own networks do not cut observations off
        self.clip = float(getattr(network, "clip", math.inf))
        # without bounds, an action is what the policy says
        free = torch.full_like(env._middle, torch.finfo(torch.float32).max)
        limit = free if env.clip is None else torch.where(env._bounded, torch.full_like(free, env.clip), free)
        self.register_buffer("limit", limit)
        self.register_buffer("offset", env._middle.clone())
        self.register_buffer("scale", env._half.clone())
        self.eval()

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        latent = self.normalizer(observation).clamp(-self.clip, self.clip)
        given = self.mean(self.mlp(latent))
        return self.offset + self.scale * torch.maximum(torch.minimum(given, self.limit), -self.limit)


def export(
    checkpoint: Path,
    out: Path,
    kind: str,
    task: str | None = None,
    *,
    num_envs: int = 4,
    seed: int = 0,
    trust: bool = False,
) -> dict[str, Any]:
    """Writes the policy of a checkpoint, `kind` "onnx" or "torchscript"; facts about what was written.

    `num_envs`, `seed`: of the environments whose observations it is compared on. `trust`: import the task that the
    checkpoint names.
    """
    learner = load_learner(checkpoint, task, num_envs=num_envs, seed=seed, trust=trust)
    if learner.algorithm.get_policy().is_recurrent:
        raise CheckpointError(f"'{checkpoint}' is of a recurrent network, and those that remember nothing are exported")
    policy = ExportedPolicy(learner)
    observations, wanted = _acted(learner, seed)
    written = to_onnx(policy, observations[:1]) if kind == "onnx" else to_torchscript(policy, observations[:1])
    found = run_onnx(written, observations) if kind == "onnx" else run_torchscript(written, observations)
    difference = float((torch.as_tensor(found) - wanted).abs().max())
    if not difference < TOLERANCE * max(1.0, float(wanted.abs().max())):
        raise RuntimeError(f"what was exported acts otherwise than the policy: by up to {difference:g}")
    write_whole(out, written)
    return {
        "task": learner.task,
        "checkpoint": str(checkpoint),
        "file": str(out),
        "kind": kind,
        "observations": observations.shape[1],
        "actions": wanted.shape[1],
        "seconds of a step": learner.env.env.task.dt,
        "difference": difference,
    }


def _acted(learner: Any, seed: int, steps: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    """What the policy sees in the beginning of episodes, and what it does."""
    policy, env = learner.policy(), learner.env.env
    observation, _ = env.reset(seed=seed)
    given, actions = [], []
    for _ in range(steps + 1):
        shown = seen(policy, observation)
        given.append(torch.cat(list(shown.values()), dim=1) if isinstance(shown, dict) else shown)
        actions.append(policy(shown))
        observation, *_ = env.step(actions[-1])
    return torch.cat(given), torch.cat(actions)


@contextlib.contextmanager
def _as_it_is() -> Iterator[None]:
    """torch calls TorchScript old; programs in C++ load it, and the exporter through it needs nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def to_torchscript(policy: ExportedPolicy, example: torch.Tensor) -> bytes:
    buffer = io.BytesIO()
    with torch.no_grad(), _as_it_is():
        torch.jit.save(torch.jit.trace(policy, (example,)), buffer)
    return buffer.getvalue()


def run_torchscript(written: bytes, observations: torch.Tensor) -> torch.Tensor:
    with torch.no_grad(), _as_it_is():
        return torch.jit.load(io.BytesIO(written))(observations)


def to_onnx(policy: ExportedPolicy, example: torch.Tensor) -> bytes:
    with tempfile.TemporaryDirectory() as folder, _as_it_is():
        path = Path(folder) / "policy.onnx"
        torch.onnx.export(
            policy, (example,), path, input_names=["observation"], output_names=["action"], opset_version=OPSET,
            dynamic_axes={"observation": {0: "batch"}, "action": {0: "batch"}}, dynamo=False,
        )  # fmt: skip
        return path.read_bytes()


def run_onnx(written: bytes, observations: torch.Tensor) -> np.ndarray:
    """By ONNX's own reference implementation, which is slow and needs nothing more."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_model_from_string(written)
    onnx.checker.check_model(model)
    actions, *_ = ReferenceEvaluator(model).run(None, {"observation": observations.numpy()})
    return np.asarray(actions)

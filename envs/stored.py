"""Policies that the package ships: the weights of a trained actor, evaluated by numpy alone.

    python -m dualstep.envs.stored CHECKPOINT FILE.npz        writes one of a training (PPO, tanh or elu)

They are what `dualstep demo` shows, where no learner is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent / "policies"
# what rsl_rl adds to a deviation before it divides by it
LEAST_DEVIATION = 1e-2
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
}


def names() -> list[str]:
    """The policies here, by their tasks."""
    return sorted(path.stem for path in HERE.glob("*.npz"))


class StoredPolicy:
    """Observations (N, n) to actions of the task (N, k), without exploration."""

    def __init__(self, path: str | Path) -> None:
        with np.load(path, allow_pickle=False) as file:
            self._arrays = {name: file[name] for name in file.files}
        self.task = str(self._arrays["task"])
        self._activation = _ACTIVATIONS[str(self._arrays["activation"])]
        self._layers = sum(name.startswith("weight_") for name in self._arrays)

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        a = self._arrays
        x = (observation - a["mean"]) / (a["std"] + LEAST_DEVIATION)
        x = np.clip(x, -a["clip"], a["clip"]).astype(np.float32)
        for i in range(self._layers):
            x = x @ a[f"weight_{i}"].T + a[f"bias_{i}"]
            if i + 1 < self._layers:
                x = self._activation(x)
        low, high = a["low"], a["high"]
        return ((low + high) / 2 + (high - low) / 2 * np.clip(x, -1, 1)).astype(np.float32)


def named(task: str) -> StoredPolicy:
    """The policy of this task that the package ships."""
    path = HERE / f"{task}.npz"
    if not path.is_file():
        raise ValueError(f"there is no policy for '{task}'; there are: {', '.join(names())}")
    return StoredPolicy(path)


def store(checkpoint: Path, out: Path) -> None:
    """Writes the actor of a checkpoint."""
    from dualstep.envs.training.learner import read_checkpoint
    from dualstep.envs.training.player import load_learner

    whole = read_checkpoint(checkpoint)
    actor, settings = whole["algorithm"]["actor_state_dict"], whole["settings"]
    space = load_learner(checkpoint).env.env.single_action_space
    layers = sorted((name for name in actor if name.startswith("mlp.") and name.endswith("weight")),
                    key=lambda name: int(name.split(".")[1]))  # fmt: skip
    arrays = {
        "task": np.array(whole["task"]), "activation": np.array(settings["activation"]),
        "clip": np.float32(settings["clip_observation"]), "low": space.low, "high": space.high,
        "mean": actor["obs_normalizer._mean"][0].numpy(), "std": actor["obs_normalizer._std"][0].numpy(),
    }  # fmt: skip
    for i, name in enumerate(layers):
        arrays[f"weight_{i}"] = actor[name].numpy()
        arrays[f"bias_{i}"] = actor[name.replace("weight", "bias")].numpy()
    np.savez_compressed(out, allow_pickle=False, **arrays)


if __name__ == "__main__":
    store(Path(sys.argv[1]), Path(sys.argv[2]))

"""Rollouts on several machines by Ray: an actor a worker, each with a batch and seeds of its own.

    python -m dualstep.envs.examples.ray_rollouts Hopper --workers 2                # a cluster on this machine
    python -m dualstep.envs.examples.ray_rollouts Ant --address auto --workers 16   # one that `ray start` made

A round: the policy's weights go out once, every worker rolls out and returns a block of transitions, and the driver
has them all. What happens between (placing, moving, retrying) is Ray's. Environment i of worker w has the seed
seed + w * num_envs + i, so that the same transitions come out however the workers are placed.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from dualstep.cli.common import positive
from dualstep.envs import registry
from dualstep.envs.arrays import require

require("gymnasium", "ray")
require("torch", "ray")
require("ray", "ray")
import ray  # noqa: E402
import torch  # noqa: E402


def policy_of(observations: int, actions: int, hidden: int = 64) -> torch.nn.Sequential:
    """A small network that gives means of actions between -1 and 1."""
    return torch.nn.Sequential(
        torch.nn.Linear(observations, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, actions), torch.nn.Tanh()
    )


class Worker:
    """Steps a batch with whatever weights it is sent."""

    def __init__(self, task: str, num_envs: int, seed: int, rank: int, **options: Any) -> None:
        import dualstep as ds

        torch.set_num_threads(1)
        self.env = ds.envs.make(task, num_envs, **{"num_threads": 1, "nonfinite": "clamp", **options})
        self.observation, _ = self.env.reset(seed=seed + rank * num_envs)
        self.random = np.random.default_rng([seed, rank])
        observed, acted = self.observation.shape[1], self.env.single_action_space.shape[0]
        self._sizes = observed, acted
        self.policy = policy_of(*self._sizes)
        high = self.env.single_action_space.high
        self.half = np.where(np.isfinite(high), high, 1).astype(np.float32)

    def sizes(self) -> tuple[int, int]:
        return self._sizes

    def where(self) -> str:
        """The node that this worker runs on."""
        return ray.get_runtime_context().get_node_id()

    def rollout(self, weights: dict[str, torch.Tensor], steps: int, spread: float = 0.3) -> dict[str, np.ndarray]:
        """(steps, num_envs, ...) observations, actions, rewards, ends, and the true next observations."""
        self.policy.load_state_dict(weights)
        block: dict[str, list[np.ndarray]] = {
            name: [] for name in ("obs", "action", "reward", "terminated", "truncated", "next")
        }
        for _ in range(steps):
            with torch.inference_mode():
                mean = self.policy(torch.as_tensor(self.observation, dtype=torch.float32)).numpy()
            action = np.clip(mean + spread * self.random.normal(size=mean.shape), -1, 1).astype(np.float32)
            after, reward, terminated, truncated, info = self.env.step(self.half * action)
            true_next = info.get("final_obs", after)
            row = (self.observation, action, reward, terminated, truncated, true_next)
            for name, values in zip(block, row, strict=True):
                block[name].append(values)
            self.observation = after
        return {name: np.stack(values) for name, values in block.items()}


def collect(workers: list[Any], weights: dict[str, torch.Tensor], steps: int) -> dict[str, np.ndarray]:
    """One round: blocks of all workers beside each other, in the workers' order."""
    shared = ray.put(weights)
    blocks = ray.get([worker.rollout.remote(shared, steps) for worker in workers])
    return {name: np.concatenate([block[name] for block in blocks], axis=1) for name in blocks[0]}


def start(task: str, count: int, num_envs: int, seed: int = 0, **options: Any) -> list[Any]:
    """Workers, each with a processor of its own, on as many nodes as there are."""
    remote = ray.remote(num_cpus=1, scheduling_strategy="SPREAD")(Worker)
    return [remote.remote(task, num_envs, seed, rank, **options) for rank in range(count)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Rollouts by Ray.")
    parser.add_argument("task", nargs="?", default="Hopper")
    parser.add_argument("--address", help="of a cluster; left out, one is made here")
    parser.add_argument("--workers", type=positive, default=2)
    parser.add_argument("--num-envs", type=positive, default=64, help="of each worker")
    parser.add_argument("--steps", type=positive, default=100, help="of a round")
    parser.add_argument("--rounds", type=positive, default=3)
    args = parser.parse_args(argv)
    try:
        registry.find(args.task)
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    ray.init(address=args.address, num_cpus=None if args.address else args.workers, include_dashboard=False)
    workers = start(args.task, args.workers, args.num_envs)
    sizes = ray.get(workers[0].sizes.remote())
    policy = policy_of(*sizes)
    for number in range(args.rounds):
        block = collect(workers, policy.state_dict(), args.steps)
        ends = int((block["terminated"] | block["truncated"]).sum())
        print(
            f"round {number}: {block['reward'].size:,} transitions, {ends} episodes ended, reward "
            f"{block['reward'].mean():.3f}"
        )
    print(f"on {len(set(ray.get([worker.where.remote() for worker in workers])))} nodes")
    ray.shutdown()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

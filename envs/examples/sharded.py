"""One set of environments on many processes: each takes its share, on a GPU of its own, and writes what it saw.

    python -m dualstep.envs.examples.sharded Hopper --num-envs 12 --out out/one
    torchrun --nproc_per_node=4 -m dualstep.envs.examples.sharded Hopper --num-envs 12 --out out/four
    srun --nodes=2 --ntasks-per-node=4 --gpus-per-task=1 \\
        python -m dualstep.envs.examples.sharded Ant --num-envs 32768 --device cuda --out out/eight

The files of all processes, in their order, hold the same bits whatever the number of processes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import dualstep.envs  # noqa: F401  registers the tasks
from dualstep._folders import make_folder
from dualstep.cli.common import a_path, not_negative, positive
from dualstep.envs import registry
from dualstep.envs.sharding import shard


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", help="Hopper, Ant, ...")
    parser.add_argument("--num-envs", type=positive, default=12, help="of all processes (default: %(default)s)")
    parser.add_argument("--steps", type=positive, default=20)
    parser.add_argument("--seed", type=not_negative, default=0)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda (default: %(default)s)")
    parser.add_argument("--num-threads", type=not_negative, default=1)
    parser.add_argument("--episode", type=positive, default=8, help="steps of an episode (default: %(default)s)")
    parser.add_argument("--out", type=a_path, default=Path("out/sharded"))
    args = parser.parse_args(argv)
    try:
        task, _ = registry.find(args.task)
        here = shard(args.num_envs)
        make_folder(args.out, "nothing")
        env = gymnasium.make_vec(
            f"dualstep/{task}-v0", here.num_envs, device=here.device(args.device), num_threads=args.num_threads,
            seed=args.seed + here.first, max_episode_steps=args.episode,
        )  # fmt: skip
    except (TypeError, ValueError, RuntimeError) as error:
        parser.error(str(error))
    seen = [env.reset()[0]]
    rewards = []
    space: Any = env.unwrapped.single_action_space
    low, high = space.low, space.high
    for step in range(args.steps):
        # those of environment i depend on i alone
        whole = np.random.default_rng([args.seed, step]).uniform(low, high, (here.total, len(low)))
        observation, reward, *_ = env.step(whole[here.first : here.first + here.num_envs].astype(np.float32))
        seen.append(observation)
        rewards.append(reward)
    file = args.out / f"{here.rank:04d}.npz"
    np.savez(file, observations=np.stack(seen, 1), rewards=np.stack(rewards, 1), first=here.first)
    print(f"process {here.rank} of {here.world}: environments {here.first} to {here.first + here.num_envs - 1}, {file}")
    env.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

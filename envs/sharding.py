"""Which environments of a whole belong to this process, under torchrun, srun, or by itself.

Environments are numbered over all processes, and environment i is seeded with seed + i wherever it lives: any number of
processes gives the same trajectories, to the bit.

    here = shard(4096)
    env = gymnasium.make_vec("dualstep/Ant-v0", here.num_envs, device=here.device("cuda"), seed=seed + here.first)
"""

from __future__ import annotations

import os
from dataclasses import dataclass

# number of this process, of all, and of this one on its machine: torchrun's names, and srun's
_VARIABLES = (("RANK", "WORLD_SIZE", "LOCAL_RANK"), ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"))


@dataclass(frozen=True)
class Shard:
    """Environments `first` to `first + num_envs - 1` of `total`."""

    rank: int
    world: int
    local_rank: int
    first: int
    num_envs: int
    total: int

    def device(self, device: str = "auto") -> str:
        """Of a GPU each process of a machine has its own, by number; where one alone can be seen, that one."""
        if device != "cuda":
            return device
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        # srun --gpus-per-task=1 shows each process its own as the first
        return "cuda:0" if len(visible) == 1 and visible[0] else f"cuda:{self.local_rank}"


def shard(total: int) -> Shard:
    """The share of this process in `total` environments; the first processes have one more where it does not divide."""
    rank, world, local = 0, 1, 0
    for names in _VARIABLES:
        if names[0] in os.environ and names[1] in os.environ:
            rank, world = (int(os.environ[name]) for name in names[:2])
            local = int(os.environ.get(names[2], "0"))
            break
    if not 0 <= rank < world:
        raise ValueError(f"this is process {rank} of {world}: such a process there is not")
    if total < world:
        raise ValueError(f"{total} environments are given, and there are {world} processes")
    more = total % world
    return Shard(rank, world, local, rank * (total // world) + min(rank, more), total // world + (rank < more), total)

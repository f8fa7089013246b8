"""Environments on 1, 2 and 4 processes: the same trajectories, to the bit, under torchrun and under srun's variables."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import dualstep as ds
from dualstep.envs.sharding import shard

MODULE = "dualstep.envs.examples.sharded"
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "CUDA_VISIBLE_DEVICES")


def environment(**more):
    package = str(pathlib.Path(ds.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    return {k: v for k, v in os.environ.items() if k not in NAMES} | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}


def trajectories(folder, commands):
    processes = [
        subprocess.Popen([sys.executable, *words, "Hopper", "--num-envs", "10", "--out", str(folder)], env=env,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for words, env in commands
    ]  # fmt: skip
    said = [process.communicate(timeout=600)[0] for process in processes]
    assert not any(process.returncode for process in processes), said
    files = [np.load(file) for file in sorted(folder.glob("*.npz"))]
    assert [int(file["first"]) for file in files] == sorted(int(file["first"]) for file in files)
    return len(files), *(np.concatenate([file[name] for file in files]) for name in ("observations", "rewards"))


def test_any_number_of_processes_gives_the_same_bits(tmp_path):
    one = trajectories(tmp_path / "1", [(["-m", MODULE], environment())])
    srun = [
        (["-m", MODULE], environment(SLURM_PROCID=str(rank), SLURM_NTASKS="4", SLURM_LOCALID=str(rank % 2)))
        for rank in range(4)
    ]
    four = trajectories(tmp_path / "4", srun)
    answers = [(4, four)]
    if importlib.util.find_spec("torch"):
        torchrun = ["-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=0", "--standalone", "-m", MODULE]
        answers.append((2, trajectories(tmp_path / "2", [(torchrun, environment())])))
    assert one[0] == 1 and one[1].shape[:2] == (10, 21)
    # episodes began anew on the way
    assert (one[1][:, 0] != one[1][0, 0]).any() and len(np.unique(one[2])) > 100
    for count, (files, observations, rewards) in answers:
        assert files == count
        assert observations.tobytes() == one[1].tobytes() and rewards.tobytes() == one[2].tobytes()


def test_shares(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    assert shard(7) == shard(7) and (shard(7).first, shard(7).num_envs, shard(7).device("cuda")) == (0, 7, "cuda:0")
    monkeypatch.setenv("WORLD_SIZE", "3")
    found = []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("LOCAL_RANK", str(rank))
        found.append((shard(8).first, shard(8).num_envs, shard(8).device("cuda"), shard(8).device("cpu")))
    assert found == [(0, 3, "cuda:0", "cpu"), (3, 3, "cuda:1", "cpu"), (6, 2, "cuda:2", "cpu")]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    assert shard(8).device("cuda") == "cuda:0"
    with pytest.raises(ValueError, match="2 environments are given, and there are 3 processes"):
        shard(2)
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(ValueError, match="process 3 of 3"):
        shard(8)

"""What comes from others runs nothing: checkpoints, and the tasks that they name."""

import os
import pickle
import sys

import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import main

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")

from dualstep.envs.training.learner import CheckpointError, Learner, read_checkpoint
from dualstep.envs.training.player import load_policy
from dualstep.envs.training.settings import Settings

TASK = """
import pathlib
from dualstep.envs.tasks.pendulums import InvertedPendulum
(pathlib.Path(__file__).with_name("ran.txt")).write_text("ran")
class Mine(InvertedPendulum):
    pass
"""
PLAY = ["--episodes", "1", "--device", "cpu", "--num-envs", "1"]


def forget():
    ds.envs.registry._entries.pop("Mine", None)
    ds.envs.registry._file.cache_clear()
    for name in [name for name in sys.modules if name.startswith("dualstep_task_")]:
        del sys.modules[name]


@pytest.fixture
def checkpoint(tmp_path):
    """Of a task of one's own, whose file says when it is run."""
    (tmp_path / "mine.py").write_text(TASK)
    name, _ = ds.envs.registry.find(f"{tmp_path / 'mine.py'}:Mine")
    learner = Learner(name, Settings(num_envs=2, num_steps=8, hidden=(4,)), seed=0, device="cpu", num_threads=1)
    learner.save(tmp_path / "latest.pt")
    learner.close()
    forget()
    (tmp_path / "ran.txt").unlink()
    yield tmp_path / "latest.pt"
    forget()


def test_a_checkpoint_imports_nothing_unless_it_is_told_to(checkpoint, capsys):
    ran = checkpoint.with_name("ran.txt")
    with pytest.raises(CheckpointError, match="no code is run that a checkpoint names; --task .* and --trust imports"):
        load_policy(checkpoint)
    assert main(["play", str(checkpoint), *PLAY]) == 2
    told = capsys.readouterr().err.strip()
    assert "mine.py:Mine" in told and "--trust" in told and "\n" not in told
    assert main(["export", str(checkpoint), "--out", str(checkpoint.with_name("p.pt"))]) == 2
    assert "--trust" in capsys.readouterr().err
    assert not ran.exists()
    assert load_policy(checkpoint, trust=True)[0] == "Mine" and ran.exists()


def test_a_task_that_the_user_names_is_enough(checkpoint, capsys, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.py").write_text(TASK)
    assert main(["play", str(checkpoint), *PLAY, "--task", f"{tmp_path / 'other' / 'mine.py'}:Mine"]) == 0
    assert (tmp_path / "other" / "ran.txt").exists() and not checkpoint.with_name("ran.txt").exists()


@pytest.mark.parametrize("name", ["os:path", "mine.py:Mine", "/tmp/evil.py:Task", "subprocess:Popen"])
def test_the_name_of_a_task_is_no_way_to_import(checkpoint, name):
    whole = torch.load(checkpoint, weights_only=True)
    torch.save({**whole, "task": name, "source": name}, checkpoint)
    with pytest.raises(CheckpointError, match="no code is run"):
        read_checkpoint(checkpoint)
    assert not checkpoint.with_name("ran.txt").exists()


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_a_pickle_in_a_checkpoint_is_not_run(checkpoint, tmp_path):
    whole = torch.load(checkpoint, weights_only=True)
    torch.save({**whole, "curve": Evil(tmp_path / "evil")}, checkpoint)
    with pytest.raises(CheckpointError, match="is no checkpoint of dualstep"):
        read_checkpoint(checkpoint)
    checkpoint.write_bytes(pickle.dumps(Evil(tmp_path / "evil")))
    with pytest.raises(CheckpointError, match="is no checkpoint of dualstep"):
        read_checkpoint(checkpoint)
    assert not (tmp_path / "evil").exists()


def test_malformed_checkpoints_are_a_line(checkpoint, capsys):
    """Fields that are missing, of other types, or of other shapes; bytes that were changed or cut."""
    whole, bytes_ = torch.load(checkpoint, weights_only=True), checkpoint.read_bytes()
    wrong = [{**whole, name: value} for name in whole for value in (None, 3, "x", [], {}, (1, 2), -1, [None], {"a": 1})]
    wrong += [{k: v for k, v in whole.items() if k != name} for name in whole]
    wrong += [{**whole, "settings": {**whole["settings"], name: "x"}} for name in whole["settings"]]
    wrong += [{**whole, "settings": {**whole["settings"], "hidden": hidden}} for hidden in ([3], [10**12], ["a"], [])]
    wrong += [{**whole, "algorithm": {**whole["algorithm"], name: value}} for name in whole["algorithm"] for value in (None, {}, {"x": 1})]
    rng = np.random.default_rng(0)
    files = [bytes_[: rng.integers(len(bytes_))] for _ in range(8)]
    for _ in range(24):
        changed = bytearray(bytes_)
        for at in rng.integers(len(changed), size=20):
            changed[at] ^= 1 << rng.integers(8)
        files.append(bytes(changed))
    refused = 0
    ds.envs.registry.find(f"{checkpoint.with_name('mine.py')}:Mine")
    for content in [*wrong, *files]:
        if isinstance(content, bytes):
            checkpoint.write_bytes(content)
        else:
            torch.save(content, checkpoint)
        try:
            load_policy(checkpoint, "Mine")
        except (CheckpointError, ValueError, TypeError, ImportError, FileNotFoundError) as error:
            refused += 1
            assert str(error) and str(error).count("\n") == 0, str(error)
    assert refused > 60

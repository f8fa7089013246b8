"""SAC from the command line: trained, played, gone on with, audited; what it cannot do is said."""

import json

import numpy as np
import pytest

for module in ("gymnasium", "torch", "rsl_rl", "stable_baselines3", "matplotlib"):
    pytest.importorskip(module)

import torch

from dualstep import cli

SMALL = ["--num-envs", "4", "--set", "hidden=(8,)", "--set", "num_steps=8", "--video-seconds", "0", "--no-tensorboard"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "sac"
    command = ["train", "InvertedPendulum", "--algorithm", "sac", "--steps", "96", "--episodes", "0", "--out", str(out)]
    assert cli.main([*command, *SMALL]) == 0
    return out


def test_the_policy_of_the_checkpoint_is_the_librarys(trained):
    from dualstep.envs.training.off_policy import SacLearner
    from dualstep.envs.training.player import load_policy, settings_from
    from dualstep.envs.training.learner import read_checkpoint

    task, settings, policy = load_policy(trained)
    learner = SacLearner(task, settings_from(read_checkpoint(trained / "latest.pt")), device="cpu")
    assert learner.load(trained / "latest.pt") is False and learner.steps == 96
    observation = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
    theirs, _ = learner.algorithm.predict(observation, deterministic=True)
    assert policy(torch.from_numpy(observation)).numpy() == pytest.approx(theirs, abs=1e-6)
    assert learner.policy()(torch.from_numpy(observation)).numpy() == pytest.approx(theirs, abs=1e-6)
    assert len((trained / "curve.csv").read_text().splitlines()) == 4


def test_it_is_played_and_gone_on_with(trained, capsys):
    assert cli.main(["play", str(trained), "--episodes", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["return"]["episodes"] == 2
    command = ["train", "InvertedPendulum", "--resume", "--steps", "128", "--episodes", "0", "--out", str(trained)]
    assert cli.main([*command, *SMALL]) == 0
    assert "episodes that begin anew" in capsys.readouterr().err
    assert cli.main([*command, "--algorithm", "ppo", *SMALL]) == 2
    assert "is of sac" in capsys.readouterr().err


def test_one_that_goes_on_acts_by_its_policy_while_the_replay_fills(trained, monkeypatch):
    from dualstep.envs.training.learner import read_checkpoint, settings_from
    from dualstep.envs.training.off_policy import SacLearner

    whole = read_checkpoint(trained / "latest.pt")
    total = whole["steps"] + 64
    learner = SacLearner("InvertedPendulum", settings_from(whole).replace(total_steps=total), device="cpu", num_threads=1)
    learner.load(trained / "latest.pt")
    assert learner.algorithm.learning_starts == 16
    acted, predict = [], learner.algorithm.predict
    monkeypatch.setattr(learner.algorithm, "predict", lambda *args, **options: acted.append(1) or predict(*args, **options))
    learner.learn(total)
    assert len(acted) == 64 // 4 and learner.steps == total


def test_the_task_is_told_how_far_the_training_is(monkeypatch):
    from dualstep.envs.training.off_policy import SacLearner
    from dualstep.envs.training.settings import Settings

    told = []
    monkeypatch.setattr("dualstep.envs.task.Task.trained", lambda task, share: told.append(share))
    settings = Settings(num_envs=4, num_steps=8, hidden=(8,), total_steps=128)
    SacLearner("InvertedPendulum", settings, device="cpu", num_threads=1).learn(128)
    assert told == [0, 0.25, 0.5, 0.75, 1]


def test_what_it_does_not_do_is_said(trained, capsys):
    assert cli.main(["export", str(trained), "--out", str(trained / "policy.pt")]) == 2
    assert "is of SAC" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["epochs=3", "rsl_rl_options={'algorithm': {}}", "entropy=0.1"])
def test_settings_that_it_has_no_use_for_are_refused(words, tmp_path, capsys):
    command = ["train", "InvertedPendulum", "--algorithm", "sac", "--set", words, "--out", str(tmp_path / "run")]
    assert cli.main(command) == 2
    assert f"--set {words} is given, and SAC has no such setting; it has: num_envs" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_it_is_of_one_process(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert cli.main(["train", "InvertedPendulum", "--algorithm", "sac", "--out", str(tmp_path / "run")]) == 2
    assert "2 processes are given (WORLD_SIZE), and SAC trains on one" in capsys.readouterr().err

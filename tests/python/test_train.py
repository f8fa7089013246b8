"""`dualstep train`: learns, stops, goes on, refuses, and says what it found. Short runs of small networks."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")

from dualstep.cli import main
from dualstep.envs.training import curves
from dualstep.envs.training.learner import CheckpointError, Learner, read_checkpoint
from dualstep.envs.training.settings import Settings, settings_of

SMALL = ["--num-envs", "16", "--num-threads", "1", "--set", "hidden=(16,16)", "--set", "num_steps=16"]
SMALL += ["--video-seconds", "1"]


def train(*words):
    return main(["train", *words])


def test_a_run_leaves_checkpoint_curve_and_figures(tmp_path, capsys):
    folder = tmp_path / "run"
    arguments = ["InvertedPendulum", "--steps", "4096", "--out", str(folder), "--episodes", "2", "--json", *SMALL]
    assert train(*arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 4096 and found["iterations"] == 16
    assert sum(found["share"].values()) == pytest.approx(1, abs=0.01)
    assert found["return"]["episodes"] == found["gymnasium"]["episodes"] == 2
    # the physics is that of MuJoCo: the same policy is worth about the same there
    assert found["return"]["mean"] > 1 and found["gymnasium"]["mean"] > 1
    assert found.get("video", found.get("no_video"))
    lines = (folder / "curve.csv").read_text().splitlines()
    assert len(lines) == 17 and lines[0].startswith("iteration,steps,seconds,episode_return")
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    # and goes on
    again = ["--out", str(folder), "--resume", "--episodes", "0", "--video-seconds", "0", "--json"]
    assert train("InvertedPendulum", "--steps", "6144", *again) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == 6144 and found["iterations"] == 24
    assert len((folder / "curve.csv").read_text().splitlines()) == 25
    whole = read_checkpoint(folder / "latest.pt")
    assert whole["task"] == "InvertedPendulum" and whole["settings"]["hidden"] == (16, 16)
    # a checkpoint of another task is refused
    assert train("Hopper", "--checkpoint", str(folder / "latest.pt")) == 2
    assert "is a checkpoint of InvertedPendulum, and Hopper is wanted" in capsys.readouterr().err


def test_what_is_refused(tmp_path, capsys):
    for words, message in (
        (["Humanid"], "near it are: Humanoid"),
        (["Ant", "--set", "learning_rat=1"], "there is no setting 'learning_rat'"),
        (["Ant", "--set", "task.frame_ski=1"], "near it are: frame_skip"),
        (["Ant", "--set", "gamma"], "NAME=VALUE"),
        (["Ant", "--checkpoint", str(tmp_path / "none.pt")], "there is no checkpoint"),
        (["Ant", "--set", "gamma=2"], "none may be above 1"),
        (["Ant", "--set", "final_pace=2"], "none may be above 1"),
        (["Ant", "--set", "final_std=0"], "final_std 0 is given, and it must be a positive number"),
        (["Ant", "--set", "epochs=0"], "must be a positive integer"),
        (["Ant", "--set", "learning_rate=fast"], "must be a positive number"),
        (["Ant", "--set", "task.randomize=[{'parameter': 'body_mas', 'low': 1, 'high': 2}]"], "near it are 'body_mass'"),
    ):
        assert train(*words) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "bad.pt").write_bytes(b"nothing of the kind")
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        read_checkpoint(tmp_path / "bad.pt")


def test_it_learns():
    """Poles that fall at once are held up after a few updates."""
    settings = Settings(num_envs=32, num_steps=32, hidden=(32, 32))
    learner = Learner("InvertedPendulum", settings, seed=1, device="cpu", num_threads=1)
    learner.learn(30_000)
    first = next(point for point in learner.curve if point.episodes > 50)
    assert learner.curve[-1].episode_return > 3 * first.episode_return
    assert set(learner.seconds) == {"simulation", "learning", "glue"} and min(learner.seconds.values()) > 0


def test_seeds_repeat_a_run():
    settings = Settings(num_envs=8, num_steps=8, hidden=(8,))
    curves = []
    for seed in (3, 3, 4):
        learner = Learner("Hopper", settings, seed=seed, device="cpu", num_threads=1)
        learner.learn(8 * 64)
        curves.append([point.value_loss for point in learner.curve])
    assert curves[0] == curves[1] != curves[2]


def test_a_diverged_environment_does_not_stop_training():
    settings = Settings(num_envs=8, num_steps=8, hidden=(8,))
    learner = Learner("Ant", settings, device="cpu", num_threads=1)
    learner.learn(128)
    learner.env.env.sim.qvel[3] = 1e30
    learner.learn(512)
    assert learner.env.env.diverged_count == 1
    assert all(np.isfinite(point.value_loss) for point in learner.curve)


def test_environments_that_diverged_are_told_of(tmp_path, capsys):
    settings = Settings(num_envs=8, num_steps=8, hidden=(8,))
    learner = Learner("Ant", settings, device="cpu", num_threads=1)
    learner.learn(128)
    learner.env.env.sim.qvel[[3, 5]] = 1e30
    learner.learn(256)
    learner.save(tmp_path / "latest.pt")
    words = ["--out", str(tmp_path), "--resume", "--steps", "384", "--episodes", "0", "--video-seconds", "0"]
    assert train("Ant", "--device", "cpu", "--num-threads", "1", *words) == 0
    told = capsys.readouterr().out
    assert "2 episodes ended because their simulation diverged" in told
    assert "simulation" in told and "learning" in told and "glue" in told


def test_updates_and_exploration_become_smaller():
    settings = Settings(num_envs=8, num_steps=8, hidden=(8,), total_steps=640, final_pace=0.1, final_std=0.1)
    learner = Learner("Hopper", settings, device="cpu", num_threads=1)
    spread, limits = learner.algorithm.get_policy().distribution.log_std_param, []

    def report(_):
        limits.append((float(spread.detach().exp().max()), learner.algorithm.desired_kl))

    learner.learn(640, report=report)
    std, kl = np.array(limits).T
    # a line from 1 to 0.1, held against the steps before the update
    assert (std <= 1 - 0.09 * np.arange(10) + 1e-6).all() and std[-1] == pytest.approx(0.19)
    assert kl == pytest.approx(0.01 * (1 - 0.09 * np.arange(10)))
    # where the rate is kept, it falls by itself
    learner = Learner("Hopper", settings.replace(desired_kl=0), device="cpu", num_threads=1)
    learner.learn(640)
    rates = [point.learning_rate for point in learner.curve]
    assert rates == pytest.approx(1e-3 * (1 - 0.09 * np.arange(10)))
    assert learner.algorithm.optimizer.param_groups[0]["lr"] == rates[-1]


def test_observations_are_cut_off():
    settings = Settings(num_envs=4, num_steps=8, hidden=(8,), clip_observation=3.0)
    learner = Learner("Hopper", settings, device="cpu", num_threads=1)
    learner.learn(64)
    policy = learner.policy()
    far = torch.zeros(3, 11)
    far[0, 0], far[1, 0] = 1e3, 1e6
    found = policy(far)
    assert torch.allclose(found[0], found[1], atol=1e-6) and not torch.allclose(found[0], found[2], atol=1e-3)


def test_runs_are_drawn_together(tmp_path):
    for seed in (0, 1):
        (tmp_path / f"Hopper-{seed}").mkdir()
        (tmp_path / f"Hopper-{seed}" / "curve.csv").write_text(f"steps,episode_return\n1,nan\n2,{seed}\n")
    curves.draw_runs(tmp_path / "all.png", [tmp_path / "Hopper-0", tmp_path / "Hopper-1"])
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert curves.read_table(tmp_path / "Hopper-1" / "curve.csv")["episode_return"][1] == 1


def test_settings():
    assert settings_of("Ant").num_envs > 0 and settings_of("of a user") == Settings()
    with pytest.raises(ValueError, match="there is no setting"):
        Settings().replace(lerning_rate=1)

"""Runs that are stopped and gone on with, on one process and on two; films; policies out of checkpoints."""

import csv
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")

import dualstep as ds
import users_task
from dualstep.cli import main
from dualstep.envs.training import film, player
from dualstep.envs.training.learner import Learner, read_checkpoint
from dualstep.envs.training.settings import Settings

MASS = {"parameter": "body_mass", "low": 0.8, "high": 1.2}
SMALL = Settings(num_envs=8, num_steps=8, hidden=(8,), task_options={"randomize": [MASS], "max_episode_steps": 20})


def learner_of(settings=SMALL, **options):
    return Learner("Ant", settings, seed=5, device="cpu", num_threads=1, **options)


def curve_of(learner):
    return [(p.steps, p.episode_return, p.episodes, p.value_loss, p.std, p.learning_rate) for p in learner.curve]


def assert_goes_on_exactly(made, half, until, path):
    """A run that is saved after `half` steps, and one that goes on from there, are the same after `until`."""
    whole = made()
    whole.learn(half)
    whole.save(path)
    whole.learn(until)
    other = made()
    assert other.load(path)
    other.learn(until)
    assert curve_of(other) == curve_of(whole)
    for a, b in zip(whole.algorithm.get_policy().parameters(), other.algorithm.get_policy().parameters(), strict=True):
        assert torch.equal(a, b)
    return whole


def test_a_run_goes_on_exactly_where_it_was(tmp_path):
    whole = assert_goes_on_exactly(learner_of, 5 * 64, 12 * 64, tmp_path / "half.pt")
    assert len(whole.curve) == 12
    found = read_checkpoint(tmp_path / "half.pt")
    assert found["randomization"][0]["parameter"] == "body_mass" and found["randomization"][0]["when"] == "reset"
    # with another number of environments the policy goes on, and episodes begin anew
    assert not learner_of(SMALL.replace(num_envs=4)).load(tmp_path / "half.pt")


def test_environments_without_arrays_that_are_kept_now_begin_anew(tmp_path):
    whole = learner_of()
    whole.learn(2 * 64)
    whole.save(tmp_path / "half.pt")
    old = torch.load(tmp_path / "half.pt", weights_only=True)
    for name in ("observed", "vary_asked"):
        del old["places"][0]["environments"][name]
    torch.save(old, tmp_path / "old.pt")
    other = learner_of()
    assert not other.load(tmp_path / "old.pt") and other.steps == 2 * 64
    other.learn(3 * 64)
    assert len(other.curve) == 3


@pytest.mark.parametrize("actor, critic", [("gru", None), (None, "gru"), ("lstm", "lstm")])
def test_recurrent_networks_go_on_with_what_they_remember(tmp_path, actor, critic):
    kinds = {"actor": actor, "critic": critic}
    recurrent = {"class_name": "RNNModel", "rnn_hidden_dim": 8}
    options = {name: {**recurrent, "rnn_type": kind} for name, kind in kinds.items() if kind}
    settings = Settings(num_envs=4, num_steps=8, mini_batches=2, hidden=(8,), rsl_rl_options=options)

    def made():
        return Learner("InvertedPendulum", settings, seed=1, device="cpu", num_threads=1)

    assert_goes_on_exactly(made, 4 * 32, 8 * 32, tmp_path / "half.pt")
    # a checkpoint without hidden states is taken, with episodes that begin anew
    old = torch.load(tmp_path / "half.pt", weights_only=True)
    del old["places"][0]["hidden"]
    torch.save(old, tmp_path / "old.pt")
    assert not made().load(tmp_path / "old.pt")


# `python -m dualstep`, once and again: most of a run this short is what its imports take
TWICE = """
import runpy, sys
for words in (sys.argv[1:], [*sys.argv[1:], "--steps", "960", "--resume"]):
    sys.argv[1:] = words
    try:
        runpy.run_module("dualstep", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert not end.code, end.code
"""


def test_two_processes_learn_together(tmp_path):
    """torchrun, gradients averaged over gloo: both end with the same policy, from environments of their own."""
    (tmp_path / "twice.py").write_text(TWICE)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=0", "--standalone"]
    command += [str(tmp_path / "twice.py"), "train", "Hopper", "--device", "cpu", "--num-envs", "4", "--num-threads", "1"]
    command += ["--set", "hidden=(8,8)", "--set", "num_steps=8", "--out", str(tmp_path), "--json"]
    # no episodes for figures, no film: this is about learning
    command += ["--episodes", "0", "--video-seconds", "0", "--steps", "640"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.path.dirname(os.path.dirname(ds.__file__)),
                                                              os.environ.get("PYTHONPATH")]))  # fmt: skip
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    first, end = json.JSONDecoder().raw_decode(run.stdout)
    second = json.loads(run.stdout[end:])
    assert first["steps"] == 640 and first["iterations"] == 10 and first["processes"] == 2
    # and goes on, as two
    assert "exactly where it was" in run.stderr and second["steps"] == 960 and second["iterations"] == 15
    with open(tmp_path / "curve.csv") as file:
        assert [int(row["iteration"]) for row in csv.DictReader(file)] == list(range(1, 16))
    whole = read_checkpoint(tmp_path / "latest.pt")
    mine, others = (place["environments"] for place in whole["places"])
    assert not set(mine["seeds"].tolist()) & set(others["seeds"].tolist())
    assert not torch.equal(whole["places"][0]["observation"], whole["places"][1]["observation"])
    assert whole["policies_agree"]


def trained(tmp_path, task="InvertedPendulum"):
    learner = Learner(task, Settings(num_envs=4, num_steps=8, hidden=(8,)), device="cpu", num_threads=1)
    learner.learn(64)
    learner.save(tmp_path / "latest.pt")
    return learner


def test_a_policy_out_of_a_checkpoint(tmp_path):
    learner = trained(tmp_path)
    task, settings, policy = player.load_policy(tmp_path / "latest.pt")
    assert task == "InvertedPendulum" and settings.num_envs == 4
    seen = torch.randn(5, 4)
    assert torch.equal(policy(seen), learner.policy()(seen))
    with pytest.raises(ValueError, match="is a checkpoint of InvertedPendulum"):
        player.load_policy(tmp_path / "latest.pt", "Hopper")


def test_a_film(tmp_path):
    pytest.importorskip("OpenGL", reason="MuJoCo's renderer is an extra")
    env = ds.envs.make("InvertedPendulum", 2, num_threads=1)
    recorded = film.record(env, lambda observation: np.full((2, 1), 1.0), 0.4)
    assert recorded["qpos"].shape == (11, 2, 2) and recorded["fps"] == 25
    # a reward of one each step
    assert recorded["returns"].shape == (11, 2) and np.allclose(np.diff(recorded["returns"][:3, 0]), 1)
    # a push to the right moves the cart there
    assert (recorded["qpos"][3, :, 0] > recorded["qpos"][0, :, 0] + 0.005).all()
    try:
        path = film.draw(env.task.model.mj_model, recorded, tmp_path / "film", env.task.camera)
    except RuntimeError as error:
        pytest.skip(f"no off-screen OpenGL here: {error}")
    assert path.suffix in (".mp4", ".gif") and path.stat().st_size > 2000


def test_a_film_tells_what_each_episode_has_earned():
    env = ds.envs.make("InvertedPendulum", 2, num_threads=1, max_episode_steps=3)
    returns = film.record(env, lambda observation: np.zeros((2, 1)), 0.28)["returns"]
    assert returns[:, 0].tolist() == returns[:, 1].tolist() == [0, 1, 2, 3, 1, 2, 3, 1]


def test_its_pictures():
    assert [film.grid(n) for n in (1, 2, 3, 4, 5, 9, 10)] == [(1, 1), (1, 2), (2, 2), (2, 2), (2, 3), (3, 3), (3, 4)]
    plain = np.full((360, 640, 3), 100, np.uint8)
    with_text = film.caption(plain, 1.5, -12.25)
    changed = (with_text != plain).any(-1)
    # a line of white letters in the upper left corner, and the rest as it was
    assert with_text.shape == plain.shape and (with_text[changed] == 255).any()
    assert changed[:40].sum() > 300 and not changed[40:].any()
    assert (film.caption(plain, 2.5, -12.25) != with_text).any() and (film.caption(plain, 1.5, -12.0) != with_text).any()


def test_episodes_that_nothing_ends_have_an_end(monkeypatch):
    from dualstep.cli.train import worth
    from dualstep.envs.training import evaluate
    from dualstep.envs.training.contact_audit import audit_policy

    monkeypatch.setattr(evaluate, "UNLIMITED", 5)
    still = lambda observation: torch.zeros(len(observation), 1)
    assert ds.envs.registry.find("Lqr21")[1].max_episode_steps is None
    options = {"max_episode_steps": None}
    found = worth("Lqr21", Settings(task_options=options), still, 2, "cpu")
    assert found["return"]["episodes"] == 2 and found["return"]["ended_early"] == 0
    assert audit_policy("Lqr21", still, options, chosen=["todorov"], episodes=1).rows[0].returns
    # a limit that the options take away is the task's own again
    assert evaluate.time_limit("Hopper", options) == 1000 and evaluate.time_limit("Hopper", {"max_episode_steps": 7}) == 7


def test_play_prints_what_a_policy_is_worth(tmp_path, capsys):
    trained(tmp_path)
    checkpoint = str(tmp_path / "latest.pt")
    assert main(["play", checkpoint, "--episodes", "3", "--device", "cpu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["task"] == "InvertedPendulum" and found["return"]["episodes"] == 3
    assert abs(found["gymnasium"]["mean"] - found["return"]["mean"]) < 0.5 * found["return"]["mean"]
    for words, message in (
        ([str(tmp_path / "none.pt")], "there is no checkpoint"),
        ([checkpoint, "--task", "Hopper"], "is a checkpoint of InvertedPendulum, and Hopper is wanted"),
    ):
        assert main(["play", *words]) == 2
        assert message in capsys.readouterr().err


def test_play_has_seeds_of_its_own(tmp_path, capsys):
    trained(tmp_path, "Hopper")
    found = []
    for seed in ("0", "0", "1"):
        words = ["--episodes", "2", "--device", "cpu", "--json", "--seed", seed]
        assert main(["play", str(tmp_path), *words]) == 0
        found.append(json.loads(capsys.readouterr().out)["return"]["mean"])
    assert found[0] == found[1] != found[2]


def test_films_have_folders_made_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(film, "CONTEXTS", ())
    with pytest.raises(RuntimeError, match="no film could be drawn"):
        film.draw(ds.envs.make("InvertedPendulum").task.drawn, {}, tmp_path / "films" / "x.mp4")
    assert (tmp_path / "films").is_dir()


def test_a_task_out_of_a_file_is_trained_and_found_again(tmp_path):
    """Each command in a process of its own, which knows nothing of the others; the last from another folder."""
    shutil.copy(users_task.__file__, tmp_path / "tasks.py")
    (tmp_path / "elsewhere").mkdir()
    home = os.path.dirname(os.path.dirname(ds.__file__))
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}

    def run(words, folder=tmp_path):
        command = [sys.executable, "-m", "dualstep", *words, "--device", "cpu"]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    learn = ["train", "tasks.py:Upright", "--num-envs", "4", "--num-threads", "1", "--set", "num_steps=8", "--json"]
    learn += ["--set", "task.target=0.5", "--set", "task.max_episode_steps=30", "--set", "hidden=(8,)"]
    learn += ["--episodes", "0", "--video-seconds", "0", "--out", "out"]
    assert run([*learn, "--steps", "64"])["steps"] == 64
    assert run([*learn, "--steps", "128", "--resume"])["steps"] == 128
    found = run(["play", "../out", "--trust", "--episodes", "2", "--json"], tmp_path / "elsewhere")
    assert found["task"] == "Upright" and 0 < found["return"]["mean"] <= 30


def test_play_shows_a_policy_in_a_web_page(tmp_path, capsys):
    pytest.importorskip("viser")
    trained(tmp_path)
    words = ["--device", "cpu", "--num-envs", "2", "--port", "8193", "--for", "0.5"]
    assert main(["play", str(tmp_path), *words]) == 0
    assert "InvertedPendulum" in capsys.readouterr().err

"""What ends a training, or keeps it from beginning: weights that are no numbers, steps that were taken, odd limits."""

import json
import shlex

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")

from dualstep.cli import main
from dualstep.envs import registry
from dualstep.envs.training.learner import Learner, read_checkpoint

TINY = ["--num-envs", "4", "--num-threads", "1", "--device", "cpu", "--set", "hidden=(8,)", "--set", "num_steps=8"]
TINY += ["--video-seconds", "0", "--no-tensorboard"]


def train(*words):
    return main(["train", "InvertedPendulum", *words, "--episodes", "0", *TINY])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A folder with a run of 64 steps in 'run', and nothing printed yet."""
    monkeypatch.chdir(tmp_path)
    assert train("--steps", "64", "--out", "run") == 0
    capsys.readouterr()
    return tmp_path


# weights that are no numbers -----------------------------------------------------------------------------------


def spoiled(kind, method, networks):
    """The method, after which in iteration 3 a weight is NaN."""
    plain = getattr(kind, method)

    def spoil(self, *args):
        found = plain(self, *args)
        if self.iteration == 3:
            next(networks(self).parameters()).data.view(-1)[0] = float("nan")
        return found

    return spoil


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_it_stops_where_weights_are_no_numbers(tmp_path, monkeypatch, capsys, algorithm):
    kind, method, networks = Learner, "_iterate", lambda learner: learner.algorithm.get_policy()
    if algorithm == "sac":
        pytest.importorskip("stable_baselines3")
        from dualstep.envs.training.off_policy import SacLearner

        kind, method, networks = SacLearner, "point", lambda learner: learner.algorithm.actor
    monkeypatch.setattr(kind, method, spoiled(kind, method, networks))
    monkeypatch.chdir(tmp_path)
    words = ["--algorithm", algorithm, "--steps", "160", "--out", "run", "--keep", "5", "--set", "learning_rate=1e-4"]
    assert train(*words) == 1
    told = "the policy's weights are no numbers after iteration 3 (learning_rate 0.0001); the last checkpoint before it"
    assert capsys.readouterr().err.splitlines()[-1] == f"dualstep train: {told} is 'run/latest.pt'"
    assert read_checkpoint(tmp_path / "run" / "latest.pt")["iteration"] == 2
    # and goes on from there
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert train("--steps", "96", "--out", "run", "--resume") == 0


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_what_torch_refuses_of_such_weights_is_told_as_that(tmp_path, monkeypatch, capsys, algorithm):
    if algorithm == "sac":
        pytest.importorskip("stable_baselines3")
    monkeypatch.chdir(tmp_path)
    words = ["--algorithm", algorithm, "--steps", "256", "--set", "learning_rate=1e30"]
    words += ["--set", "desired_kl=0"] if algorithm == "ppo" else []
    assert train(*words, "--out", "run", "--keep", "0") == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert "the policy's weights are no numbers after iteration" in error
    assert error.endswith("(learning_rate 1e+30); no checkpoint was written before it")


def test_a_checkpoint_of_such_weights_is_refused(run, capsys):
    whole = torch.load("run/latest.pt", weights_only=True)
    whole["algorithm"]["actor_state_dict"]["mlp.0.weight"][0, 0] = float("nan")
    torch.save(whole, "run/latest.pt")
    assert train("--steps", "96", "--out", "run", "--resume") == 2
    for words in (["play", "run", "--episodes", "1"], ["export", "run", "--out", "policy.pt"]):
        assert main(words) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and all("' holds a policy whose weights are no numbers" in line for line in said)


# where episodes end --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_a_limit_that_is_given_holds_for_learning_and_evaluation(tmp_path, monkeypatch, capsys, algorithm):
    """The task's settings have an `episode_steps` of their own, of 150."""
    pytest.importorskip("gymnasium")
    if algorithm == "sac":
        pytest.importorskip("stable_baselines3")
    monkeypatch.chdir(tmp_path)
    words = ["--algorithm", algorithm, "--steps", "128", "--out", "run", "--json", "--set", "task.max_episode_steps=3"]
    assert main(["train", "InvertedPendulum", *words, *TINY, "--episodes", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    # a reward of 1 for each step that it stands
    assert found["return"]["mean"] == found["gymnasium"]["mean"] == 3
    lengths = [length for _, length in read_checkpoint(tmp_path / "run" / "latest.pt")["finished"]]
    assert lengths and max(lengths) <= 3


def test_the_same_task_on_mujoco_has_that_limit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--steps", "32", "--out", "run", "--json", "--set", "task.max_episode_steps=3"]
    words += ["--set", "task.action_delay=1", "--episodes", "2"]
    assert main(["train", "InvertedPendulum", *words, *TINY]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["return"]["mean"] == found["mujoco"]["mean"] == 3


@pytest.mark.parametrize("limit", ["abc", "2.5", "1e9", "-4", "0"])
def test_limits_that_are_none_are_refused(tmp_path, monkeypatch, capsys, limit):
    monkeypatch.chdir(tmp_path)
    assert train("--steps", "64", "--out", "run", "--set", f"task.max_episode_steps={limit}") == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and "is given, and it must be a positive integer or None" in lines[0]
    assert not (tmp_path / "run").exists()


def test_one_of_two_limits_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--out", "run", "--set", "task.max_episode_steps=9", "--set", "episode_steps=5"]
    assert train("--steps", "64", *words) == 2
    said = "--set episode_steps=5 is given, and task.max_episode_steps=9 says where episodes end"
    assert said in capsys.readouterr().err


# steps that were taken -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("from_", [["--out", "run", "--resume"], ["--out", "new", "--checkpoint", "run"]])
@pytest.mark.parametrize("steps", ["64", "32"])
def test_steps_that_were_taken_are_not_asked_for_again(run, capsys, from_, steps):
    assert train(*from_, "--steps", steps) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and f"'run/latest.pt' has taken 64 steps, and --steps is {steps} in all" in lines[0]
    assert not (run / "new").exists()


# paths ---------------------------------------------------------------------------------------------------------


def test_films_that_cannot_be_written_are_refused_by_their_paths(run, capsys):
    (run / "d.gif").mkdir()
    (run / "file").write_text("")
    for video, message in (
        ("d.gif", "'d.gif': it is a folder"),
        (".", "'.': it is a folder"),
        ("file/x.gif", "'file/x.gif': "),
        ("/proc/none/x.gif", "'/proc/none/x.gif': "),
    ):
        assert main(["play", "run", "--video", video, "--device", "cpu"]) == 2
        error = capsys.readouterr().err
        assert f"no film can be written to {message}" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["train", "InvertedPendulum", "--out", ""],
        ["train", "InvertedPendulum", "--checkpoint", ""],
        ["play", ""],
        ["play", "run", "--video", ""],
        ["export", ""],
        ["export", "run", "--out", ""],
    ],
)
def test_empty_paths_are_refused(capsys, words):
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "'' is given, and it must be a path" in capsys.readouterr().err


def test_a_run_is_gone_on_with_or_begun_anew(run, capsys):
    assert train("--steps", "96", "--out", "run", "--resume", "--checkpoint", "run") == 2
    assert "--resume and --checkpoint are given" in capsys.readouterr().err


def test_a_model_without_a_name_is_refused(capsys):
    assert main(["info", ""]) == 2
    assert "there is no model file ''" in capsys.readouterr().err


def test_what_is_told_of_a_task_of_ones_own_is_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "from dualstep.envs.tasks.pendulums import InvertedPendulum\n\n\nclass Hinted(InvertedPendulum):\n    pass\n"
    (tmp_path / "my task.py").write_text(text)
    words = ["--steps", "32", "--out", "my run", "--episodes", "0"]
    assert main(["train", "my task.py:Hinted", *words, *TINY]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line == "  to see it move: dualstep play 'my run/latest.pt' --task 'my task.py:Hinted'"
    # as in a process that does not know the task
    registry._entries.pop("Hinted")
    assert main([*shlex.split(line.partition("dualstep ")[2]), "--episodes", "1", "--device", "cpu"]) == 0
    registry._entries.pop("Hinted")

"""`dualstep train`: learns, stops, goes on, refuses, and says what it found. Short runs of small networks."""

import importlib.util
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")
import scenes
from places import ROOT

import dualstep as ds
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
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert "train InvertedPendulum" in told.err and "100%" in told.err and "return" in told.err
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
    # the network is what it is
    again = ["InvertedPendulum", "--out", str(folder), "--resume", "--set"]
    assert train(*again, "hidden=(32,32)") == 2
    assert "--set hidden=(32, 32) is given, and the network in" in capsys.readouterr().err
    assert train(*again, "activation=relu") == 2
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
        (["Ant", "--set", "entropy=-1"], "entropy -1 is given, and it must be a number of 0 or more"),
        (["Ant", "--set", "epochs=True"], "epochs True is given, and it must be a positive integer"),
        (["Ant", "--set", "hidden=64"], "hidden 64 is given, and it must be a tuple of positive integers"),
        (["Ant", "--set", "hidden=(64,0)"], "must be a tuple of positive integers"),
        (["Ant", "--set", "activation=rleu"], "activation 'rleu' is given, and it must be one of elu, "),
        (["Ant", "--set", "task_options=1"], "task_options 1 is given, and it must be a dict"),
        (["Ant", "--set", "task.device=cpu"], "no option of the task: the learner has it: --device says it"),
        (["Ant", "--set", "task.num_envs=4"], "--num-envs says it"),
        (["Ant", "--set", "task.nonfinite=refuse"], "the learner has it, and cannot be changed"),
        (["InvertedPendulum", "--set", "task.zzz=1"], "reset_noise_scale, action_delay, observation_delay, motor_model, max_episode_steps, randomize, contact\n"),
        (["nowhere.py:Task"], "there is no file"),
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


def test_a_task_is_told_how_far_the_training_is(monkeypatch):
    told = []
    monkeypatch.setattr("dualstep.envs.task.Task.trained", lambda task, share: told.append((type(task).__name__, share)))
    learner = Learner("Hopper", Settings(num_envs=4, num_steps=8, hidden=(8,), total_steps=128), num_threads=1)
    learner.learn(128)
    assert told == [("Hopper", share) for share in (0, 0.25, 0.5, 0.75)]


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


@pytest.fixture
def kept_curves():
    path = ROOT / "bench" / "training.py"
    spec = importlib.util.spec_from_file_location("training_curves", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_curves_are_thinned_and_keep_their_ends(kept_curves, tmp_path, monkeypatch):
    folder, kept = tmp_path / "Hopper-7", tmp_path / "kept"
    folder.mkdir()
    kept.mkdir()
    monkeypatch.setattr(kept_curves, "KEPT", kept)
    lines = ["steps,seconds,processor,episode_return,episode_length,std,other"]
    lines += [f"{i},{2 * i},{3 * i},{i / 7},{i},1,0" for i in range(1000)]
    (folder / "curve.csv").write_text("\n".join(lines))
    found = {"seed": 7, "steps": 999, "processor_seconds": 12.0, "seconds": 20.0, "folder": "elsewhere"}
    found["share"] = {"simulation": 0.2, "learning": 0.75, "glue": 0.05}
    found |= {"return": {"mean": 1000.0, "std": 5.0}, "gymnasium": {"mean": 950.0, "std": 6.0}}
    (folder / "found.json").write_text(json.dumps(found))
    kept_curves.keep(folder)
    table = curves.read_table(kept / "Hopper-7.csv")
    assert len(table["steps"]) == 200 and table["steps"][0] == 0 and table["processor"][-1] == 2997
    assert "elsewhere" not in (kept / "Hopper-7.json").read_text()
    assert "| Hopper, 7 | 0.00 M | 12 s | 20, 75, 5 % | 1000 ± 5 | 950 ± 6 | 95% |" in kept_curves.table()


def test_the_page_tells_what_was_measured(kept_curves):
    assert kept_curves.table() in (ROOT / "envs" / "README.md").read_text()
    # what is wanted was reached, by every seed, and by the same policy on MuJoCo
    for task, goal in kept_curves.GOALS.items():
        found = [json.loads(path.with_suffix(".json").read_text()) for path in kept_curves.runs()[task]]
        assert found
        for one in found:
            assert one["return"]["mean"] > goal and one["gymnasium"]["mean"] > 0.9 * one["return"]["mean"]


def test_settings():
    assert settings_of("Ant").num_envs > 0 and settings_of("of a user") == Settings()
    with pytest.raises(ValueError, match="there is no setting"):
        Settings().replace(lerning_rate=1)


@pytest.mark.parametrize("task", ["Hopper", "Walker2d"])
def test_a_policy_is_worth_on_mujoco_what_it_is_here(task):
    from dualstep.envs.training.evaluate import episodes_here, episodes_on_mujoco

    def policy(observation):
        # it falls, in its own time in each environment
        return torch.full((len(observation), width), 0.2) - 0.1 * observation[:, 1:2]

    width = {"Hopper": 3, "Walker2d": 6}[task]
    here = episodes_here(task, policy, 8, seed=3, device="cpu", dtype="float64")
    there = episodes_on_mujoco(task, policy, 8, seed=3)
    assert here.ended_early.all() and there.ended_early.all()
    np.testing.assert_allclose(here.returns, there.returns, rtol=0.02)
    assert np.ptp(here.returns) > 0.01 * abs(here.returns.mean())
    assert here.told.keys() == there.told.keys() and "x_velocity" in here.told
    np.testing.assert_allclose(here.told["x_velocity"], there.told["x_velocity"], atol=0.02)


class Writes(ds.envs.Task):
    """Writes every array that pushes or remembers: controls with a delay, applied forces, a mocap body that pulls."""

    MOCAP = """<body name="hand" mocap="true" pos=".5 0 1"/></worldbody>
      <equality><connect body1="hand" body2="tip" anchor="0 0 0" solref=".2 1"/></equality>"""

    def __init__(self) -> None:
        text = scenes.SCENES["actuator_delay"].read_text().replace("</worldbody>", self.MOCAP)
        text = text.replace('<body pos="0.3 0 0">', '<body name="tip" pos="0.3 0 0">')
        super().__init__(ds.Model.from_mjcf(text), frame_skip=3)

    def reset(self, s, draw):
        kept = draw.normal(s.ctrl_history.shape[1])
        return {"qvel": draw.normal(2), "ctrl_history": kept, "qfrc_applied": 0.2 * draw.normal(2)}

    def events(self, s, draw):
        push = 0.3 * draw.normal(s.xfrc_applied[0].size).reshape(s.xfrc_applied.shape)
        return {"xfrc_applied": push, "mocap_pos": s.mocap_pos + 0.01 * draw.normal(3)[:, None]}

    def control(self, s, action):
        return 0.5 * action

    def observe(self, s):
        return s.xp.concatenate([s.qpos, s.qvel, s.act, s.ctrl_history], axis=1)

    def reward(self, s):
        return s.qpos[:, 0], {}


def test_what_a_task_writes_acts_on_mujoco_too():
    from dualstep.envs.training.evaluate import MujocoStepped

    options = dict(dtype="float64", num_threads=1, device="cpu", max_episode_steps=5)
    here, there = ds.envs.BatchEnv(Writes(), 3, **options), MujocoStepped(Writes(), 3, **options)
    actions = np.random.default_rng(0).uniform(-1, 1, (12, 3, here.task.model.nu))
    seen = []
    for env in (here, there):
        env.reset(seed=2)
        # over the ends of episodes
        seen.append([env.step(action)[0] for action in actions])
    np.testing.assert_allclose(seen[1], seen[0], rtol=1e-4, atol=1e-4)
    assert np.ptp(seen[0]) > 1


@pytest.mark.skipif(importlib.util.find_spec("mjlab") is None, reason="the robot comes with mjlab")
def test_what_a_policy_is_worth_is_told_where_gymnasium_has_no_such_task(tmp_path, capsys):
    arguments = ["Go1Joystick", "--steps", "256", "--out", str(tmp_path / "run"), "--episodes", "2", *SMALL]
    assert train(*arguments, "--video-seconds", "0", "--set", "task.max_episode_steps=20") == 0
    lines = capsys.readouterr().out.splitlines()
    here, there = (next(line for line in lines if words in line) for words in ("return ", "the same task on MuJoCo: "))
    assert all("velocity_error 0." in line and "% ended early" in line for line in (here, there))

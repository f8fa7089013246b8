"""What users meet around a training: folders of runs, threads, full disks, Ctrl-C, models and NaN of their own, exports."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("matplotlib")

import dualstep as ds
from dualstep.cli import main
from dualstep.envs.training import export, runs, threads
from dualstep.envs.training.learner import Learner, read_checkpoint
from dualstep.envs.training.record import Recorder
from dualstep.envs.training.settings import Settings, settings_of

TINY = ["--num-envs", "4", "--num-threads", "1", "--device", "cpu", "--set", "hidden=(8,)", "--set", "num_steps=8"]
TINY += ["--episodes", "0", "--video-seconds", "0", "--no-tensorboard"]
SMALL = Settings(num_envs=4, num_steps=8, hidden=(8,))


def train(*words):
    return main(["train", *words, *TINY])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own, in which the test's own task is not known yet."""
    monkeypatch.chdir(tmp_path)
    ds.envs.registry._entries.pop("Own", None)
    yield tmp_path
    ds.envs.registry._entries.pop("Own", None)


# folders -------------------------------------------------------------------------------------------------------


def test_each_run_has_a_folder_and_nothing_is_lost(here, capsys):
    home = here / "out" / "train" / "InvertedPendulum-3"
    for _ in range(2):
        assert train("InvertedPendulum", "--steps", "128", "--seed", "3", "--keep", "2") == 0
    first, second = sorted(path for path in home.iterdir() if not path.is_symlink())
    assert (home / "latest").resolve() == second and os.readlink(home / "latest") == second.name
    for run in (first, second):
        assert [path.name for path in sorted((run / "checkpoints").iterdir())] == ["000000000064.pt", "000000000128.pt"]
        assert read_checkpoint(run / "checkpoints" / "000000000064.pt")["steps"] == 64
        assert len((run / "curve.csv").read_text().splitlines()) == 5
    # the folder of runs stands for the last of them
    kept = (first / "latest.pt").read_bytes()
    capsys.readouterr()
    assert main(["play", str(home), "--episodes", "1", "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["checkpoint"] == str(second / "latest.pt")
    # going on writes where it was, and only there
    assert train("InvertedPendulum", "--steps", "256", "--seed", "3", "--resume") == 0
    assert read_checkpoint(second / "latest.pt")["steps"] == 256 and (first / "latest.pt").read_bytes() == kept
    # beginning with what another run knows is a run of its own
    old = second / "checkpoints" / "000000000064.pt"
    assert train("InvertedPendulum", "--steps", "96", "--seed", "3", "--checkpoint", str(old), "--keep", "0") == 0
    third = (home / "latest").resolve()
    assert third not in (first, second) and read_checkpoint(third / "latest.pt")["steps"] == 96
    assert not (third / "checkpoints").exists()


def test_a_folder_that_was_named_is_not_written_over(here, capsys):
    assert train("InvertedPendulum", "--steps", "32", "--out", "mine") == 0
    before = (here / "mine" / "latest.pt").read_bytes()
    assert train("InvertedPendulum", "--steps", "32", "--out", "mine") == 2
    assert "'mine' holds a run: --resume goes on with it" in capsys.readouterr().err
    assert (here / "mine" / "latest.pt").read_bytes() == before


def test_a_run_keeps_its_seed(here):
    assert train("InvertedPendulum", "--steps", "64", "--out", "run", "--seed", "3") == 0
    assert train("InvertedPendulum", "--steps", "128", "--out", "run", "--resume") == 0
    assert read_checkpoint(here / "run" / "latest.pt")["seed"] == 3


def test_shares_are_of_what_is_paid(capsys):
    from dualstep.cli.train import print_worth

    for here_, there, share in ((10.0, 9.0, True), (-5.0, -5.2, False), (0.2, -0.5, False), (0.0, 0.0, False)):
        figures = [{"mean": mean, "std": 0.0, "episodes": 2} for mean in (here_, there)]
        print_worth({"return": figures[0], "mujoco": figures[1]})
        assert ("(90%)" in capsys.readouterr().out) == share


def test_two_trainings_do_not_write_to_one_folder(here, capsys):
    assert train("InvertedPendulum", "--steps", "64", "--out", "run") == 0
    held = runs.hold(here / "run")
    assert train("InvertedPendulum", "--steps", "128", "--out", "run", "--resume") == 2
    assert "another training writes to 'run': it must end before, or --out names another" in capsys.readouterr().err
    os.close(held)
    assert train("InvertedPendulum", "--steps", "128", "--out", "run", "--resume") == 0
    # what has ended holds nothing
    os.close(runs.hold(here / "run"))


def test_where_a_checkpoint_is_found(tmp_path):
    assert runs.find_checkpoint(tmp_path / "x.pt") == tmp_path / "x.pt"
    # nothing there yet: the name that is missed
    assert runs.find_checkpoint(tmp_path) == tmp_path / "latest.pt"
    one, two = runs.new_run(tmp_path, 1e9), runs.new_run(tmp_path, 1e9)
    assert two.name == one.name + "-2" and (tmp_path / "latest").resolve() == two
    for number, run in enumerate((two, one)):
        (run / "latest.pt").write_bytes(b"")
        os.utime(run / "latest.pt", (number, number))
    assert runs.find_checkpoint(tmp_path) == two / "latest.pt"
    (tmp_path / "latest.pt").write_bytes(b"of a version that had one run a folder")
    assert runs.find_checkpoint(tmp_path) == two / "latest.pt"
    (tmp_path / "latest.pt").unlink()
    # without a link, the one that was written last
    (tmp_path / "latest").unlink()
    assert runs.find_checkpoint(tmp_path) == one / "latest.pt"


def test_a_folder_that_nothing_can_be_written_to(tmp_path, monkeypatch):
    """As it is on a disk that is full or mounted to be read."""

    def write(self, data):
        open(self, "wb").close()
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(pathlib.Path, "write_bytes", write)
    for make in (runs.new_run, runs.own_folder):
        with pytest.raises(runs.FolderError, match=r"^no run can be written to '.*': read-only file system: "):
            make(tmp_path / "out")
        assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file", "'file' is a file, and a folder is wanted"),
        ("file/below", "'file/below' is in a file, and a folder is wanted"),
        ("/proc/none", "no run can be written to '/proc/none': "),
    ],
)
def test_folders_that_are_none(here, capsys, out, message):
    (here / "file").write_text("")
    assert train("InvertedPendulum", "--steps", "32", "--out", out) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error


def test_a_full_disk(here, capsys):
    folder = here / "run"
    folder.mkdir()
    learner = Learner("InvertedPendulum", SMALL, device="cpu", num_threads=1)
    # on a device that is always full; what could not be written whole is not left behind
    (folder / "latest.pt.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        learner.save(folder / "latest.pt")
    assert list(folder.iterdir()) == []
    # while it trains, that is said once, and the training goes on
    said = []
    recorder = Recorder(folder, learner, leads=True, kept=0, say=said.append)
    for _ in range(2):
        (folder / "latest.pt.part").symlink_to("/dev/full")
        recorder.save()
    assert len(said) == 1 and "training goes on: no space left on device" in said[0]
    # at its end, it is an error, in a line
    (folder / "latest.pt.part").symlink_to("/dev/full")
    assert train("InvertedPendulum", "--steps", "32", "--out", str(folder), "--keep", "0") == 1
    error = capsys.readouterr().err
    assert "nothing can be written to" in error and "no space left on device" in error and "Traceback" not in error


def test_ctrl_c_says_how_to_go_on(here, capsys, monkeypatch):
    plain = Learner._iterate

    def iterate(self):
        if self.iteration == 2:
            raise KeyboardInterrupt
        return plain(self)

    monkeypatch.setattr(Learner, "_iterate", iterate)
    assert train("InvertedPendulum", "--steps", "320", "--seed", "5") == 130
    told = capsys.readouterr().err
    assert "interrupted after 64 of 320 steps" in told and "100%" not in told
    line = told.splitlines()[-1]
    assert line == "to go on: dualstep train InvertedPendulum --seed 5 --resume"
    monkeypatch.setattr(Learner, "_iterate", plain)
    assert train(*line.split()[5:], "--steps", "96") == 0
    assert "exactly where it was" in capsys.readouterr().err


# threads -------------------------------------------------------------------------------------------------------


def test_small_networks_get_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 16)
    assert threads.wanted_threads(settings_of("Hopper"), 11, 3) == 1
    assert threads.wanted_threads(settings_of("HalfCheetah"), 17, 6) == 1
    large = Settings(num_envs=4096, num_steps=24, mini_batches=4, hidden=(512, 256, 128))
    assert threads.wanted_threads(large, 48, 12) == 16
    monkeypatch.undo()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    seen = []
    learner = Learner("InvertedPendulum", SMALL, device="cpu", num_threads=1)
    learner.learn(64, report=lambda _: seen.append(torch.get_num_threads()))
    assert seen == [1, 1] and torch.get_num_threads() == before
    # whoever says how many, has them
    monkeypatch.setenv("OMP_NUM_THREADS", str(before))
    learner.learn(96, report=lambda _: seen.append(torch.get_num_threads()))
    assert seen[2:] == [before]


def test_threads_that_wait_sleep(tmp_path):
    """libgomp tells its settings when it is loaded: they came in time."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "KMP_", "GOMP_"))}
    home = os.path.dirname(os.path.dirname(ds.__file__))
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    environment["OMP_DISPLAY_ENV"] = "true"
    command = [
        sys.executable,
        "-m",
        "dualstep",
        "train",
        "InvertedPendulum",
        "--steps",
        "32",
        "--out",
        str(tmp_path),
        *TINY,
    ]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    if "OMP_WAIT_POLICY" not in run.stderr:
        pytest.skip("this torch has another OpenMP")
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in run.stderr


# tasks of users -------------------------------------------------------------------------------------------------

TASK = """
import numpy as np
import dualstep as ds

class Own(ds.envs.Task):
    derived = False

    def __init__(self, broken: float = 0.0) -> None:
        super().__init__("{name}", frame_skip=2)
        self.broken = broken

    def reset(self, s, draw):
        return {{}}

    def observe(self, s):
        seen = s.xp.concatenate([s.qpos, s.qvel], axis=1)
        return seen * (np.nan if self.broken == 2 else 1)

    def reward(self, s):
        return s.xp.where(s.qpos[:, 0] > -1e9, s.qpos[:, 0] * (np.nan if self.broken == 1 else 1), 0), {{}}
"""
ROBOT = """<mujoco><worldbody><body><joint name='slide' type='slide' axis='1 0 0'/><geom size='.1' mass='{mass}'/></body>
</worldbody><actuator><motor joint='slide' ctrlrange='-1 1' ctrllimited='true'/></actuator></mujoco>"""


def own_task(folder, name="./robot.xml"):
    folder.mkdir(exist_ok=True)
    (folder / "own.py").write_text(TASK.format(name=name))
    (folder / "robot.xml").write_text(ROBOT.format(mass=3))
    return f"{folder / 'own.py'}:Own"


def mass_of(checkpoint):
    """What a checkpoint's policy acts on, by a process that knows nothing else."""
    script = (
        "import sys, pathlib\n"
        "from dualstep.envs.training.player import load_learner\n"
        "print(load_learner(pathlib.Path(sys.argv[1]), trust=True).env.env.task.model.body_mass[1])"
    )
    home = os.path.dirname(os.path.dirname(ds.__file__))
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", script, str(checkpoint)]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return float(run.stdout)


def test_a_model_of_ones_own_goes_with_the_checkpoint(here, monkeypatch):
    source = own_task(here / "work")
    monkeypatch.chdir(here / "work")
    assert train("own.py:Own", "--steps", "32", "--out", "../run") == 0
    name, stored = read_checkpoint(here / "run" / "latest.pt")["model"]
    assert name == "./robot.xml" and len(stored) > 100
    # from another folder, where another robot has that name, and its own is gone
    (here / "work" / "robot.xml").unlink()
    (here / "robot.xml").write_text(ROBOT.format(mass=7))
    monkeypatch.chdir(here)
    assert mass_of(here / "run") == 3
    assert source.endswith("own.py:Own")


def test_where_models_are_looked_for(here, monkeypatch):
    from dualstep.envs.assets import find_asset

    (here / "other").mkdir()
    (here / "robot.xml").write_text(ROBOT.format(mass=1))
    # without "./" too, and by the task's own file from anywhere
    assert find_asset("robot.xml") == find_asset("./robot.xml") == str(here / "robot.xml")
    own_task(here / "work", "robot.xml")
    monkeypatch.chdir(here / "other")
    cls = ds.envs.registry.task_class(ds.envs.registry.find(f"{here / 'work' / 'own.py'}:Own")[1])
    assert cls().model.body_mass[1] == 3
    assert pathlib.Path(find_asset("hopper.xml")).parent.name == "assets"
    with pytest.raises(FileNotFoundError, match=r"no model file './none.xml' in .*other"):
        find_asset("./none.xml")
    with pytest.raises(FileNotFoundError, match="and Gymnasium has none of that name"):
        find_asset("none.xml")
    with pytest.raises(FileNotFoundError, match="there is no model file '/none.xml'$"):
        find_asset("/none.xml")


def test_a_model_file_that_is_missing_is_an_error_in_a_line(capsys):
    assert train("Hopper", "--set", "task.xml_file=none.xml") == 2
    error = capsys.readouterr().err
    assert "there is no model file 'none.xml'" in error and error.count("\n") == 1


@pytest.mark.parametrize(("broken", "function"), [(1, "reward()"), (2, "observe()")])
def test_nan_of_a_task_is_named_and_counted(here, capsys, broken, function):
    own_task(here)
    task = f"{here / 'own.py'}:Own"
    name = ds.envs.registry.find(task)[0]
    cls = ds.envs.registry.task_class(ds.envs.registry.find(task)[1])
    with pytest.raises(
        ValueError, match=rf"Own\.{function[:-2]}\(\) is not finite in 3 of 3 environments: \[0, 1, 2\]"
    ):
        env = ds.envs.BatchEnv(cls(broken=broken), 3, num_threads=1)
        env.reset(seed=0)
        env.step(np.zeros((3, 1), np.float32))
    assert train(task, "--steps", "64", "--set", f"task.broken={broken}", "--out", "run", "--json") == 0
    told = capsys.readouterr()
    found = json.loads(told.out)["nonfinite"]
    assert list(found) == [function] and found[function] >= 64
    assert f"{name}.{function} gave values that are not finite: they count as 0" in told.err


# what is written --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Policies with a few steps of learning: bounded actions, and one without bounds."""
    folder = tmp_path_factory.mktemp("trained")
    for task in ("Hopper", "InvertedPendulum"):
        learner = Learner(task, SMALL, device="cpu", num_threads=1)
        learner.learn(64)
        learner.save(folder / f"{task}.pt")
    return folder


@pytest.mark.parametrize("task", ["Hopper", "InvertedPendulum"])
@pytest.mark.parametrize("kind", ["onnx", "torchscript"])
def test_an_exported_policy_acts_the_same(trained, tmp_path, task, kind, capsys):
    if kind == "onnx":
        pytest.importorskip("onnx")
    out = tmp_path / ("policy.onnx" if kind == "onnx" else "policy.pt")
    assert main(["export", str(trained / f"{task}.pt"), "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["task"] == task and found["kind"] == kind and found["difference"] < 1e-5
    # through episodes of Gymnasium's environment on MuJoCo, and far from what was seen
    from dualstep.envs.training.player import load_policy

    gymnasium = pytest.importorskip("gymnasium")
    policy = load_policy(trained / f"{task}.pt")[2]
    read = export.run_onnx if kind == "onnx" else export.run_torchscript
    written = out.read_bytes()
    envs = [gymnasium.make(f"{task}-v5") for _ in range(2)]
    seen = [env.reset(seed=4)[0] for env in envs]
    assert np.array_equal(*seen)
    for _ in range(15):
        row = torch.as_tensor(seen[0], dtype=torch.float32)[None]
        ours, theirs = policy(row).numpy()[0], np.asarray(read(written, row))[0]
        assert ours.dtype == theirs.dtype == np.float32
        np.testing.assert_allclose(theirs, ours, atol=1e-5)
        seen = [env.step(action)[0] for env, action in zip(envs, (ours, theirs), strict=True)]
        np.testing.assert_allclose(*seen, atol=1e-3)
    far = 100 * torch.randn(20, found["observations"], generator=torch.manual_seed(0))
    np.testing.assert_allclose(np.asarray(read(written, far)), policy(far).numpy(), atol=1e-4)


def test_what_export_refuses(trained, tmp_path, capsys):
    for words, message in (
        (["none.pt"], "there is no checkpoint 'none.pt'"),
        ([str(trained / "Hopper.pt"), "--out", "policy.txt"], "its ending must be .onnx, or .pt for TorchScript"),
        ([str(trained / "Hopper.pt"), "--out", str(trained / "Hopper.pt")], "which is the checkpoint itself"),
        ([str(trained / "Hopper.pt"), "--out", str(tmp_path / "no" / "p.pt")], "there is no folder"),
        ([str(trained / "Hopper.pt"), "--task", "Ant", "--out", str(tmp_path / "p.pt")], "is a checkpoint of Hopper"),
    ):
        assert main(["export", *words]) == 2
        assert message in capsys.readouterr().err


def test_tensorboard_and_weights_and_biases(here, monkeypatch):
    pytest.importorskip("tensorboard")
    calls = []

    class Run:
        def log(self, values, step):
            calls.append((step, values))

        def finish(self):
            calls.append("finished")

    fake = type(sys)("wandb")
    fake.__spec__ = type(sys)("spec")
    fake.init = lambda **options: calls.append(options) or Run()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    words = [word for word in TINY if word != "--no-tensorboard"]
    assert main(["train", "InvertedPendulum", "--steps", "640", "--out", "run", "--wandb", "poles", *words]) == 0
    assert calls[0]["project"] == "poles" and calls[0]["config"]["task"] == "InvertedPendulum"
    assert calls[-1] == "finished" and calls[-2][0] == 640 and "time/processor_seconds" in calls[-2][1]
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(here / "run"))
    events.Reload()
    assert [event.step for event in events.Scalars("policy/std")] == list(range(32, 641, 32))

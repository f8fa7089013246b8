"""The command line: what it says, what it measures, how it refuses."""

import importlib.util
import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dualstep as ds
from dualstep import _core, cli
from dualstep.measure import accuracy, picture, throughput, workload

QUICK = ["--num-envs", "16", "--seconds", "0.2"]


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help_and_the_common_arguments(command, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"])
    assert stop.value.code == 0
    told = capsys.readouterr().out
    assert all(argument in told for argument in ("--device", "--num-envs", "--seed"))


def test_it_is_a_module_and_says_its_version():
    told = subprocess.run([sys.executable, "-m", "dualstep", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["dualstep", ds.__version__]


def test_info_tells_what_a_batch_holds(capsys):
    assert cli.main(["info", "humanoid", "--json", "--num-envs", "3", "--device", "cpu"]) == 0
    told = json.loads(capsys.readouterr().out)
    model = told["model"]
    assert (model["sizes"]["nv"], model["sizes"]["nu"]) == (23, 17)
    assert model["runs on"].startswith("cpu")
    # its positions and velocities alone are 47 numbers of 4 bytes
    assert 47 * 4 < model["bytes of an environment"]["state and records"] < 2048
    assert told["installation"]["device cpu"].startswith("cpu")


def test_info_tells_what_would_have_to_be_removed(capsys, tmp_path):
    text = """<mujoco><option><flag sleep="enable"/></option><worldbody><body name="b" sleep="init"><joint name="j"/><geom size="1"/><site name="s"/></body>
      </worldbody><actuator><general joint="j" biastype="user"/></actuator>
      <sensor><user dim="1" objtype="site" objname="s"/></sensor></mujoco>"""
    (tmp_path / "arm.xml").write_text(text)
    assert cli.main(["info", str(tmp_path / "arm.xml"), "--device", "cpu"]) != 0
    told = capsys.readouterr().err
    assert "flag sleep: option" in told and "sensor user" in told
    assert "It loads without sleep (option), bias user (1 actuator), sensor user (1 sensor)" in told
    assert "drop=('actuator', 'sensor', 'sleep',)" in told
    assert len(told.splitlines()) < 40


def test_bench_prints_every_figure_with_its_accuracy(tmp_path, capsys):
    assert cli.main(["bench", "hopper", *QUICK, "--json", "--out", str(tmp_path)]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["steps_per_second"]["median"] > 0
    # the quartiles of the ratio are of single blocks, interleaved
    assert 0 < told["peer"]["ratio"]["low"] <= told["peer"]["ratio"]["median"] <= told["peer"]["ratio"]["high"]
    assert told["accuracy"]["met"] and told["accuracy"]["constrained"] > 0
    assert told["accuracy"]["converged"]["states_checked_by_reference"] > 0
    assert told["status"]["DIVERGED"] == 0 and told["status"]["of"] == 16 * told["steps_per_second"]["blocks"]
    assert told == json.loads((tmp_path / "hopper_bench.json").read_text())
    # where the time went, of the CPU alone
    stages = told["stages"]
    assert {"kinematics", "collide", "newton", "integrate"} <= stages.keys() and abs(sum(stages.values()) - 1) < 1e-9
    for name in ("hopper_bench.png", "hopper_envs.png"):
        assert (tmp_path / name).read_bytes()[:4] == bytes([137]) + b"PNG"


def test_bench_tells_people_the_same(capsys):
    assert cli.main(["bench", "inverted_pendulum", *QUICK]) == 0
    told = capsys.readouterr().out
    for word in ("environment-steps/s", "accuracy", "residual", "status", "x mujoco.batch"):
        assert word in told


def test_bench_compares_with_the_reference_alone(monkeypatch, capsys):
    assert cli.main(["bench", "hopper", "--check"]) == 0
    assert "hopper: 16 steps in double precision agree with the reference to" in capsys.readouterr().out
    assert cli.main(["bench", "swimmer", "--check", "--num-envs", "4", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["model"]["name"] == "swimmer" and told["checked"] == 4 and 0 <= told["off"] < 1e-9
    # as in a build without the reference
    monkeypatch.delattr(_core, "Reference")
    assert cli.main(["bench", "hopper", "--check"]) == 1
    assert "hopper: not checked: there is no reference of this model, or none in this build" in capsys.readouterr().err


def test_bench_refuses_figures_that_it_cannot_check(monkeypatch, capsys):
    # a solution is no longer trusted unless its residual is exactly nothing
    monkeypatch.setattr(accuracy, "CONVERGED", 0.0)
    assert cli.main(["bench", "hopper", *QUICK, "--no-peer"]) == 1
    told = capsys.readouterr()
    assert "could not be checked" in told.err and "steps/s" not in told.out


def test_bench_measures_nothing_until_all_is_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(throughput, "measure", lambda *_: pytest.fail("measured"))
    afile, damaged = tmp_path / "afile", tmp_path / "damaged.xml"
    afile.write_text("")
    damaged.write_text("<mujoco>")
    for words, told in (
        (["hopper", str(damaged)], "damaged.xml"),
        (["hopper", "--out", str(afile)], f"'{afile}' is a file, and a folder is wanted"),
        (["hopper", "--out", str(afile / "in")], "is in a file, and a folder is wanted"),
    ):
        assert cli.main(["bench", *words, *QUICK, "--json"]) == 2
        out, error = capsys.readouterr()
        assert told in error and out == ""


@pytest.mark.parametrize(("error", "status"), [(ValueError("too many"), 2), (MemoryError("too many"), 1)])
def test_bench_keeps_what_was_measured_before_a_model_failed(error, status, monkeypatch, capsys):
    def measure(model, settings, name, update):
        if name == "hopper":
            raise error
        return SimpleNamespace(to_dict=lambda: {"model": {"name": name}})

    monkeypatch.setattr(throughput, "measure", measure)
    assert cli.main(["bench", "swimmer", "hopper", "ant", "--no-peer", "--json"]) == status
    out, told = capsys.readouterr()
    assert json.loads(out) == [{"model": {"name": "swimmer"}}] and "too many" in told


@pytest.mark.parametrize("command", ["info", "bench", "view"])
def test_a_directory_is_no_model(command, tmp_path, capsys):
    assert cli.main([command, str(tmp_path)]) == 2
    assert f"'{tmp_path}' is a directory, and a model file" in capsys.readouterr().err


def test_a_reference_that_disagrees_is_seen(humanoid_path):
    model = ds.Model.from_mjcf(humanoid_path)
    judge = accuracy.Converged(model, 4)
    judge.worst_disagreement = 1e-3
    with pytest.raises(accuracy.Unchecked, match="disagree"):
        judge.demand()


def test_the_error_is_relative_to_the_constraints_in_the_norm_of_the_mass():
    mass = np.array([np.diag([4.0, 1.0])] * 2)
    smooth, exact = np.zeros((2, 2)), np.array([[3.0, 0.0], [0.0, 0.0]])
    found = accuracy.relative_error(exact + [[0.0, 0.6], [1.0, 1.0]], exact, smooth, mass)
    # the second state has no constraint at work, and no error
    np.testing.assert_allclose(found, [0.6 / 6.0])


def test_info_tells_what_is_missing_and_what_there_is(capsys, tmp_path):
    (tmp_path / "arm.urdf").write_text("""<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
        <joint name="turn" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>""")
    assert cli.main(["info", str(tmp_path / "arm.urdf"), "--device", "cpu"]) == 0
    told = capsys.readouterr().out
    assert "nu 0" in told and "nothing drives the joints (URDF has none: " in told
    assert cli.main(["info", "Ant", "--device", "cpu", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["model"]["sizes"]["nu"] == 8 and "actuators" not in told["model"]
    assert set(told["model"]["memory"]) == {"of 64 environments", "with all outputs", "free here"}
    present = told["installation"]["optional packages"].split(", ")
    known = ("viser", "rsl_rl", "stable_baselines3", "skrl", "torchrl", "gymnasium", "tensorboard", "onnx")
    assert {name for name in known if importlib.util.find_spec(name)} <= set(present)


def test_tasks_are_listed(capsys):
    assert cli.main(["tasks"]) == 0
    told = capsys.readouterr().out
    assert all(f"{name} " in told for name in ds.envs.names()) and "paid for speed" in told
    assert cli.main(["tasks", "hopper", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["observation"], found["action"], found["max_episode_steps"]) == (11, 3, 1000)
    assert found["options"]["ctrl_cost_weight"] == 1e-3 and found["seconds of a step"] == pytest.approx(0.008)
    assert cli.main(["tasks", "Hoper"]) == 2
    assert "near it are: Hopper" in capsys.readouterr().err


def test_more_than_the_memory_is_refused_in_a_line(capsys):
    assert cli.main(["bench", "hopper", "--num-envs", "2000000000", "--device", "cpu", "--no-peer"]) == 1
    error = capsys.readouterr().err
    assert "2,000,000,000 environments of 4 bodies take" in error and "is free" in error and "Traceback" not in error


def test_a_loose_solver_is_measured_as_loose(humanoid_path):
    """The measurement can tell a bad solver from a good one."""
    model = ds.Model.from_mjcf(humanoid_path)
    settings = throughput.Settings(num_envs=32, seconds=0.2, peer=False)
    good = throughput.measure(model, settings)
    model.opt.solver, model.opt.iterations = "pgs", 1
    bad = throughput.measure(model, settings)
    assert good.accurate() and np.median(good.errors) < 1e-4
    assert not bad.accurate() and np.median(bad.errors) > 1e-2


def test_an_environment_that_diverged_is_counted(humanoid_path, monkeypatch):
    draw = workload.Controls.draw
    monkeypatch.setattr(workload.Controls, "draw", lambda self, *shape, dtype: draw(self, *shape, dtype=dtype) * 1e30)
    model = ds.Model.from_mjcf(humanoid_path.with_name("swimmer.xml"))
    mj_model = model.mj_model
    mj_model.actuator_ctrllimited[:] = 0
    settings = throughput.Settings(num_envs=8, seconds=0.1, peer=False)
    try:
        counted = throughput.measure(ds.Model.from_mujoco(mj_model), settings).status["DIVERGED"]
    except accuracy.Unchecked:
        return
    assert counted > 0


def test_the_picture_falls_back_to_sticks(humanoid_path, tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "CONTEXTS", ())
    model = ds.Model.from_mjcf(humanoid_path)
    film = np.tile(model.mj_model.qpos0, (2, 1, 1)).astype(float)
    episode = workload.Episode(None, film, np.array([0.0, 1.0]))
    assert picture.draw(humanoid_path, episode, tmp_path / "sticks.png").startswith("sticks")
    assert (tmp_path / "sticks.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["bench", "humanoi"], "humanoid"),
        (["bench", "nowhere/robot.xml"], "there is no model file 'nowhere/robot.xml'"),
        (["bench", "ant", "--device", "tpu"], "device 'tpu'"),
        (["bench", "ant", "--seconds", "0"], "--seconds"),
        (["info", "ant", "--device", "cuda:99"], "cuda"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(words, told, capsys):
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "required"),
        (["dance"], "invalid choice"),
        (["bench", "ant", "--num-envs", "0"], "'0' is given, and it must be a positive integer"),
        (["bench", "ant", "--seed", "x"], "'x' is given, and it must be an integer of 0 or more"),
        (["bench", "ant", "--seed=-1"], "'-1' is given, and it must be an integer of 0 or more"),
        (["view", "ant", "--port", "70000"], "'70000' is given, and it must be an integer from 0 to 65535"),
        (["view", "ant", "--port=-5"], "'-5' is given, and it must be an integer from 0 to 65535"),
        (["view", "ant", "--for", "nan"], "'nan' is given, and it must be a positive number"),
        (["play", "x.pt", "--port", "70000"], "from 0 to 65535"),
        (["play", "x.pt", "--video", "x.avi"], "'x.avi' is given, and its ending must be .mp4 or .gif"),
        (["train", "Ant", "--steps", "inf"], "'inf' is given, and it must be a positive integer, such as 2000 or 2e6"),
        (["train", "Ant", "--steps", "0.5"], "it must be a positive integer"),
        (["train", "Ant", "--minutes", "inf"], "'inf' is given, and it must be a positive number"),
        (["train", "Ant", "--minutes", "soon"], "'soon' is given, and it must be a positive number"),
    ],
)
def test_wrong_arguments_end_with_usage(words, told, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    error = capsys.readouterr().err
    assert stop.value.code == 2 and "usage" in error and told in error

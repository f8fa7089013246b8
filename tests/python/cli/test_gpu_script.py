"""bench/gpu.sh: its whole path on the CPU, and what it says where there is no GPU."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from places import ROOT
from scenes import BENCH

import dualstep as ds
from dualstep.measure import gpu, receipt, sweep


def script(*arguments, **environment):
    package = str(pathlib.Path(ds.__file__).parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [ROOT / "bench" / "gpu.sh", *arguments], capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there may be a GPU here")
def test_without_a_gpu_it_says_so_and_builds_nothing():
    before = set(ROOT.glob("build*/*"))
    done = script()
    assert done.returncode == 1
    assert "no NVIDIA GPU here" in done.stderr and "Nothing was built" in done.stderr
    assert set(ROOT.glob("build*/*")) == before


def test_help_and_wrong_options():
    assert "usage: bench/gpu.sh" in script("--help").stdout
    done = script("--fast")
    assert done.returncode == 2 and "--fast is given" in done.stderr
    done = script("--python")
    assert done.returncode == 2 and "--python wants a value" in done.stderr
    done = script("--budget", "soon")
    assert done.returncode == 2 and "--budget soon is given, and wants seconds" in done.stderr


def test_parts_without_time_are_named():
    done = script("--cpu", "--quick", "--python", sys.executable, "--budget", "1")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if "no time is left" in line] == [
        f"bench/gpu.sh: {name}: no time is left" for name in ("golden", "cuda", "humanoid", "ant")
    ]


def test_the_commit_is_told_where_there_is_no_checkout(tmp_path):
    (tmp_path / "src" / "bench").mkdir(parents=True)
    assert receipt.commit(tmp_path / "src" / "bench") == "unknown"
    (tmp_path / "src" / "COMMIT").write_text("0123456789ab\n")
    assert receipt.commit(tmp_path / "src" / "bench") == "0123456789ab"


def test_processes_write_one_receipt_point_by_point(tmp_path, monkeypatch):
    """A process that ends in the middle leaves what it found."""
    monkeypatch.setattr(receipt, "machine", lambda *_: {"device": "x", "date": "d", "commit": "c"})
    monkeypatch.setattr(receipt, "page", lambda result: "")
    words = ["--device", "cpu", "--points", str(tmp_path / "points"), "--out", str(tmp_path)]
    speed = {"steps_per_second": {"median": 1.0}, "workload": "random", "num_envs": 8, "side": "dualstep"}
    for name in ("ant", "humanoid"):
        found = gpu.Found(gpu._arguments(words), sweep.Plan())
        found.note(f"of {name}")
        found.point(name, speed)
    (figures,) = tmp_path.glob("*.json")
    result = json.loads(figures.read_text())
    assert [point["model"] for point in result["points"]] == ["ant", "humanoid"]
    assert result["notes"] == ["of ant", "of humanoid"]


def test_the_rehearsal_goes_all_the_way(tmp_path):
    where = ("--python", sys.executable, "--out", str(tmp_path))
    done = script("--cpu", "--quick", *where, "--", "--models", "humanoid,g1,ant", "--peers", "none")
    assert done.returncode == 0, done.stderr
    figures, page = sorted(tmp_path.iterdir())
    result = json.loads(figures.read_text())
    assert result["device"] == "cpu"
    for name in (result["machine"]["date"], result["machine"]["commit"].replace("+", "-changed")):
        assert name in figures.stem
    checks = result["tests"]
    assert checks["run"] > 5 and checks["failed"] == 0 and checks["passed"] == checks["run"]
    assert checks["golden_checked"] == checks["golden_equal"] == 1
    points = [point for point in result["points"] if point["model"] != "g1"]
    wanted = {(model, workload) for model in ("humanoid", "ant") for workload in sweep.WORKLOADS}
    assert {(point["model"], point["workload"]) for point in points} == wanted
    for point in points:
        assert point["steps_per_second"]["median"] > 0
        assert point["accuracy"]["constrained"] > 0 and point["accuracy"]["met"]
        assert set(point["counts"]) == {"diverged", "overflowed", "unconverged", "of"} and point["counts"]["of"] > 0
    # a model that is not to be had is named, and is no failure
    assert any(p["model"] == "g1" for p in result["points"]) or any("g1 is left out" in n for n in result["notes"])
    text = page.read_text()
    assert "A rehearsal on the CPU" in text and "golden hashes: 1 of 1 equal" in text


def test_the_controls_are_those_of_the_peers_benchmark():
    model = ds.Model.from_mjcf(BENCH["bench_humanoid"])
    plan = sweep.Plan()
    work = sweep.Workload(model, "keyframe", plan, sweep.episode(model, plan, seconds=0.1))
    start = work.states(3).arrays
    assert np.array_equal(start["qpos"], np.tile(model.mj_model.key_qpos[0], (3, 1)))
    controls = np.array([work.controls(200) for _ in range(400)])[200:]
    # driven by uniform numbers: the mean is the keyframe's, the deviation 0.01/sqrt(3) of half the range
    half = (model.actuator_ctrlrange[:, 1] - model.actuator_ctrlrange[:, 0]) / 2
    centred = (controls - model.mj_model.key_ctrl[0]) / half
    assert abs(centred.mean()) < 2e-4
    assert abs(centred.std() / (sweep.NOISE / np.sqrt(3)) - 1) < 0.1
    rate = np.mean(centred[1:] * centred[:-1]) / np.mean(centred**2)
    assert abs(rate - np.exp(-model.opt.timestep / sweep.NOISE_SECONDS)) < 0.01


def test_what_failed_is_counted(tmp_path):
    (tmp_path / "t.xml").write_text(
        '<testsuites><testsuite><testcase name="test_golden_hash[ant-cuda]"/><testcase name="test_golden_hash[x-cuda]">'
        '<failure/></testcase><testcase name="a"><skipped/></testcase><testcase name="b"><error/></testcase></testsuite>'
        "</testsuites>"
    )
    found = receipt.tests([tmp_path / "t.xml"])
    assert found == {"run": 3, "passed": 1, "failed": 2, "skipped": 1, "golden_checked": 2, "golden_equal": 1}
    assert receipt.tests([tmp_path / "t.xml"] * 2) == {name: 2 * count for name, count in found.items()}
    assert receipt.tests([]) is None

"""bench/coverage.py on a folder of small models: what counts as one, what is said of it."""

import json
import subprocess
import sys

import pytest
from places import ROOT

ARM = """<mujoco><option{option}/><worldbody><geom type="plane" size="5 5 1"/><body name="b" pos="0 0 {height}"><joint axis="0 1 0"/>
  <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body></worldbody>{rest}</mujoco>"""


def arm(height=1.0, option="", rest=""):
    return ARM.format(height=height, option=option, rest=rest)


FILES = {
    "good/arm.xml": arm(),
    "good/copy.xml": arm(),
    "good/scene.xml": '<mujoco><include file="part.xml"/></mujoco>',
    "good/part.xml": arm(0.5),
    "good/broken.xml": "<mujoco><worldbody><geom size='-1'/></worldbody></mujoco>",
    "good/still.xml": "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>",
    "good/urdf.xml": "<robot name='r'/>",
    "good/lost.xml": '<mujoco><include file="alone.xml"/><include file="part.xml"/><asset><mesh file="no.stl"/></asset></mujoco>',
    "good/alone.xml": arm(0.7),
    "hard/noslip.xml": arm(option=' noslip_iterations="3" integrator="implicit"'),
    "hard/glue.xml": arm(2.0, rest='<actuator><adhesion body="b" ctrlrange="0 1"/></actuator>'),
    "hard/both.xml": arm(3.0, ' noslip_iterations="1"'),
    "empty/readme.xml": "<text/>",
}


def run(*arguments):
    command = [sys.executable, str(ROOT / "bench" / "coverage.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_models_are_counted_by_source(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    out = tmp_path / "out" / "coverage"
    ran = run("--path", tmp_path / "models", "--only", "good", "hard", "--out", out)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(out.with_suffix(".json").read_text())
    assert told["table"] == {
        "good": {"models": 3, "load": 3, "agree": 3, "agree but for contacts": 0, "no model": 4},
        "hard": {"models": 3, "load": 0, "agree": 0, "agree but for contacts": 0, "no model": 0},
    }
    assert told["reasons"] == {"noslip_iterations": 2, "integrator implicit": 1, "transmission body": 1}
    outcomes = {fact["file"]: fact["outcome"] for fact in told["models"]}
    assert outcomes == {
        "arm.xml": "agrees", "copy.xml": "same as another", "scene.xml": "agrees", "broken.xml": "not compiled",
        "lost.xml": "not compiled", "alone.xml": "agrees",
        "still.xml": "nothing moves", "noslip.xml": "refused", "glue.xml": "refused", "both.xml": "refused",
    }  # fmt: skip
    text = out.with_suffix(".md").read_text()
    assert (
        text in ran.stdout
        and "| **all** | | **6** | **3** | **3** | **0** |" in text
        and "| noslip_iterations | 2 |" in text
    )
    assert "100%" in ran.stderr


def test_a_model_that_takes_too_long_stops_nothing(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "arm.xml").write_text(arm())
    ran = run("--path", folder, "--only", "models", "--seconds", "0.01", "--out", tmp_path / "out", "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert json.loads((tmp_path / "out.json").read_text())["models"][0]["outcome"] == "out of time"
    assert "Not done within the time limit" in ran.stdout


def test_unknown_sources_are_named(tmp_path):
    ran = run("--path", tmp_path, "--only", "nothing")
    assert ran.returncode != 0 and "no package or folder 'nothing'" in ran.stderr

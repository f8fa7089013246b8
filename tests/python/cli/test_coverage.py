"""bench/coverage.py on a folder of small models: what counts as one, what is said of it."""

import json
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from places import ROOT

ARM = """<mujoco><option{option}/><worldbody><geom type="plane" size="5 5 1"/><body name="b" pos="0 0 {height}"><joint name="j" axis="0 1 0"/>
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
    "hard/both.xml": arm(option=' noslip_iterations="3"><flag diagexact="enable"/></option><option '),
    "hard/glue.xml": arm(2.0, rest='<actuator><general joint="j" biastype="user"/></actuator>'),
    "hard/slip.xml": arm(3.0, ' noslip_iterations="1"'),
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
    none = {"to the depth of contacts": 0, "but for contacts": 0}
    runs = {"sound in MuJoCo": 3, "run in float32": 3, "noslip left out": 0}
    assert told["table"] == {
        "good": {"models": 3, "load": 3, "agree": 3, **none, **runs, "no model": 4},
        "hard": {"models": 3, "load": 1, "agree": 1, **none, **dict.fromkeys(runs, 1), "no model": 0},
    }
    assert told["reasons"] == {"flag diagexact": 1, "bias user": 1}
    outcomes = {fact["file"]: fact["outcome"] for fact in told["models"]}
    assert outcomes == {
        "arm.xml": "agrees", "copy.xml": "same as another", "scene.xml": "agrees", "broken.xml": "not compiled",
        "lost.xml": "not compiled", "alone.xml": "agrees",
        "still.xml": "nothing moves", "both.xml": "refused", "glue.xml": "refused", "slip.xml": "agrees",
    }  # fmt: skip
    text = out.with_suffix(".md").read_text()
    assert (
        text in ran.stdout
        and "| **all** | | **6** | **4** | **4** | **0** | **0** | **4** | **4** | **1** |" in text
        and "| bias user | 1 |" in text
    )
    assert "100%" in ran.stderr


PRISM = "-.1 0 -.1 .1 0 -.1 -.1 .08 .05 .1 .08 .05 -.1 -.08 .05 .1 -.08 .05"
MESHES = """<mujoco><asset><mesh name="m" file="m.obj"/><mesh name="p" vertex="{prism}"/></asset><worldbody>
<geom type="box" size="1 1 .1"/><body pos="0 0 .3"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom type="mesh" mesh="p"/><geom type="mesh" mesh="m" contype="{touches}" conaffinity="{touches}" group="{group}"/></body></worldbody></mujoco>"""


def test_models_whose_meshes_are_missing_are_left_out(tmp_path):
    """But for those that are only drawn; and a second run takes up what the first one found."""
    folder = tmp_path / "models"
    folder.mkdir()
    points = [f"v {x} {y} {z}" for x in (0, 0.1) for y in (0, 0.1) for z in (0, 0.1)]
    (folder / "m.obj").write_text("\n".join([*points, "f 1 2 3", "f 5 6 7", "f 1 4 8"]))
    (folder / "drawn.xml").write_text(MESHES.format(prism=PRISM, touches=0, group=2))
    (folder / "needed.xml").write_text(MESHES.format(prism=PRISM, touches=1, group=0))
    (tmp_path / "missing.txt").write_text("models/m.obj\n")
    given = ["--path", folder, "--only", "models", "--out", tmp_path / "out", "--quiet"]
    ran = run(*given, "--missing", tmp_path / "missing.txt", "--note", "Nothing else is here.")
    assert ran.returncode == 0, ran.stderr
    facts = {fact["file"]: fact for fact in json.loads((tmp_path / "out.json").read_text())["models"]}
    assert facts["needed.xml"]["outcome"] == "meshes missing" and facts["needed.xml"]["why"] == "m.obj"
    assert facts["drawn.xml"]["shows"] == ["m.obj"] and facts["drawn.xml"]["outcome"].startswith("agrees")
    assert "Nothing else is here." in ran.stdout and "are only drawn were not to be had: 1 of models" in ran.stdout
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert len(lines) == 2
    # without the list both count; only what is asked for is looked at again
    again = run(*given, "--resume", "--again", "meshes missing")
    facts = {fact["file"]: fact for fact in json.loads((tmp_path / "out.json").read_text())["models"]}
    assert again.returncode == 0 and facts["needed.xml"]["outcome"].startswith("agrees")
    assert (tmp_path / "out.jsonl").read_text().splitlines()[:2] == lines


def test_contacts_are_held_against_supports():
    """Depths of shapes at known places; what misses one, or has it alone, is told."""
    sys.path.insert(0, str(ROOT / "bench"))
    import coverage_contacts

    m = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 .09"><freejoint/><geom size=".1"/></body>
        <body pos=".3 0 .19"><freejoint/><geom type="capsule" size=".1 .1"/></body>
        <body pos=".3 .15 .19"><freejoint/><geom type="cylinder" size=".1 .2"/></body>
        <body pos=".1 0 .09"><freejoint/><geom type="box" size=".05 .06 .1"/></body>
        <body pos="1 0 .09"><freejoint/><geom type="ellipsoid" size=".05 .06 .1"/></body></worldbody></mujoco>"""
    )
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    state = {"geom_xpos": d.geom_xpos, "geom_xmat": d.geom_xmat}
    up, x, y = np.eye(3)[[2, 0, 1]]
    for pair, normal, wanted in (
        ((0, 1), up, -0.01), ((0, 2), up, -0.01), ((0, 3), up, -0.01), ((0, 4), up, -0.01), ((0, 5), up, -0.01),
        ((1, 2), x, 0.1), ((2, 3), y, -0.05), ((1, 4), x, -0.05), ((2, 4), -x, 0.05), ((4, 5), x, 0.8),
    ):  # fmt: skip
        assert coverage_contacts.apart_along(m, state, pair, normal) == pytest.approx(wanted, abs=1e-12), pair
    contacts = [((1, 4), -0.05, x), ((0, 5), -0.01, up)]
    state["contacts"] = contacts
    told = coverage_contacts.contacts_against_supports(m, [state], [contacts])
    assert told["pairs"] == 2 and told["depth"] < 1e-12 and told["excess"] == 0 and told["alone"] == 0
    off = coverage_contacts.contacts_against_supports(m, [state], [[((1, 4), -0.04, x), ((2, 3), -0.05, y)]])
    # the smaller shape of the first pair is the ball; each side has one pair alone
    assert off["depth"] == pytest.approx(0.01 / 0.1) and off["alone"] == 2
    # a normal along which the shapes overlap by more than along MuJoCo's
    worse = coverage_contacts.contacts_against_supports(m, [state], [[((1, 4), -0.16, y), contacts[1]]])
    assert worse["depth"] < 1e-12 and worse["excess"] == pytest.approx((0.16 - 0.05) / 0.1)


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

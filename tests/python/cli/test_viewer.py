"""The viewer: shapes of geoms, what is shown, and the page itself in a headless Chromium."""

import importlib.util
import io
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

import chromium
import mujoco
import numpy as np
import pytest

import dualstep as ds
from dualstep.cli import main
from dualstep.viewer.shapes import parts_of

KINDS = {
    "sphere": ("size='0.3'", 4 / 3 * np.pi * 0.3**3),
    "capsule": ("size='0.2 0.5'", np.pi * 0.2**2 * (1.0 + 4 / 3 * 0.2)),
    "cylinder": ("size='0.2 0.5'", np.pi * 0.2**2 * 1.0),
    "ellipsoid": ("size='0.1 0.2 0.3'", 4 / 3 * np.pi * 0.1 * 0.2 * 0.3),
    "box": ("size='0.1 0.2 0.3'", 8 * 0.1 * 0.2 * 0.3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_are_closed_and_as_large_as_they_should_be(kind):
    size, volume = KINDS[kind]
    xml = f"""<mujoco><worldbody><body><freejoint/>
        <geom type='{kind}' {size} pos='1 2 3' euler='20 30 40' rgba='1 0 0 1'/></body></worldbody></mujoco>"""
    (part,) = parts_of(mujoco.MjModel.from_xml_string(xml))
    a, b, c = (part.vertices[part.faces[:, i]] - np.array([1, 2, 3]) for i in range(3))
    # triangles that all turn outwards enclose the volume; round ones have corners, and are a little small
    enclosed = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
    assert 0.94 * volume < enclosed < 1.0001 * volume
    assert part.rgb == (255, 0, 0) and part.body == 1


def test_which_environments():
    pytest.importorskip("viser")
    from dualstep.viewer.web import chosen

    assert chosen("0-2, 7", 8) == [0, 1, 2, 7] and chosen("3 3", 8) == [3]
    for text in ("8", "-1", "a", "", "2-1"):
        with pytest.raises(ValueError):
            chosen(text, 8)
    with pytest.raises(ValueError, match="'0-3-5' is given, and numbers of environments are wanted, as in '0-3, 8'"):
        chosen("0-3-5", 8)


@pytest.fixture
def shown_by():
    """Viewers that are closed in the end, on ports that are free."""
    pytest.importorskip("viser")
    from dualstep.viewer.web import Viewer

    viewers = []

    def make(env, controls, **options):
        viewers.append(Viewer(env, lambda _: controls, port=0, controls=controls, **options))
        return viewers[-1]

    yield make
    for viewer in viewers:
        viewer.close()


@pytest.mark.parametrize("count", [1, 2, 5, 16, 64])
def test_all_environments_are_in_the_picture(count, shown_by):
    """However many: bodies are projected as a camera of a square picture sees them, and none stands in another's place."""
    from dualstep.viewer import web

    env = ds.envs.make("Ant", count, num_threads=1, seed=0)
    viewer = shown_by(env, np.zeros((count, 8), np.float32))
    viewer.show(list(range(count)))
    position, target = map(np.array, viewer.camera())
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    up, reach = np.cross(right, forward), np.tan(web.FIELD_OF_VIEW / 2)
    places = np.array([viewer._shift(place) for place in range(count)]) + viewer._away[:count]
    if count > 1:
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        assert apart[~np.eye(count, dtype=bool)].min() > 0.99 * viewer._spread
    for positions in (mesh.batched_positions for _, mesh in viewer._meshes):
        away = positions - position
        depth = away @ forward
        assert (depth > 0).all()
        assert (abs(away @ right) < reach * depth).all() and (abs(away @ up) < reach * depth).all()


def test_a_model_without_rewards_has_no_plot_of_them(shown_by):
    from dualstep.viewer.plain import plain_env

    env = plain_env(ds.Model.named("hopper"), 1, "cpu", 0)
    controls = np.zeros((1, 3), np.float32)
    viewer = shown_by(env, controls, title="hopper")
    assert viewer._plot is None and not viewer._choice.visible and viewer._choice.value == "0"
    viewer.run(0.2)
    assert "return" not in viewer._told.content and "time" in viewer._told.content
    assert env.single_action_space.shape == (3,)


def test_forces_are_arrows_with_a_scale(shown_by):
    """A box that lies on the ground: its arrows end where they carry its weight."""
    from dualstep.viewer.plain import plain_env

    box = """<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .1'><freejoint/>
        <geom type='box' size='.1 .1 .1' mass='2'/></body></worldbody></mujoco>"""
    env = plain_env(ds.Model.from_mjcf(box), 2, "cpu", 0)
    viewer = shown_by(env, np.zeros((2, 0), np.float32))
    for _ in range(60):
        viewer.advance()
    arrows = viewer.forces()
    assert arrows.shape == (8, 2, 3)
    lengths = arrows[:, 1] - arrows[:, 0]
    assert lengths.sum(axis=0)[2] * viewer._newtons() == pytest.approx(2 * 2 * 9.81, rel=1e-2)
    viewer._show_forces.value = True
    viewer.run(0.2)
    assert viewer._forces.visible and viewer._forces.points.shape == (8, 2, 3)
    assert f"1 m of an arrow is {viewer._newtons():.3g} N" in viewer._told.content
    # in the air there are none
    env.sim.qpos[:, 2] = 3
    viewer.advance(), viewer._draw()
    assert not viewer._forces.visible


def test_joints_and_actuators_have_sliders(shown_by):
    from dualstep.viewer.plain import plain_env
    from dualstep.viewer.web import spoken

    assert spoken(1, "environment") == "1 environment" and spoken(1024, "environment") == "1,024 environments"
    env = plain_env(ds.Model.named("hopper"), 3, "cpu", 0)
    controls = np.zeros((3, 3), np.float32)
    viewer = shown_by(env, controls)
    viewer.show([0, 2])
    assert len(viewer._joints) == 6 and viewer.playing
    low, high = env.task.model.jnt_range[3]
    assert [viewer._joints[3][1].min, viewer._joints[3][1].max] == [low, high]
    viewer.run(0.2)

    class Event:
        client = object()

        class target:
            value = -0.5

    viewer._mover(3, 3)(Event)
    assert env.sim.qpos[:, 3].tolist()[::2] == [-0.5, -0.5] and env.sim.qpos[1, 3] != -0.5
    assert not viewer.playing and (env.sim.qvel[[0, 2], 3] == 0).all()
    # what the page moves by itself says nothing to the simulation
    Event.client, Event.target.value = None, 0.7
    viewer._mover(3, 3)(Event)
    assert env.sim.qpos[0, 3] == -0.5
    viewer._driver(1)(Event)
    assert (controls[:, 1] == np.float32(0.7)).all() and controls.sum() == controls[:, 1].sum()


def test_keyframes_are_gone_to(shown_by):
    from dualstep.viewer.plain import plain_env

    swing = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom type="capsule" size=".05" fromto="0 0 0 0 0 -1"/>
        </body></worldbody><actuator><motor joint="j" ctrlrange="-1 1"/></actuator>
        <keyframe><key name="up" qpos="3" ctrl=".5"/><key qpos="1" qvel="2"/></keyframe></mujoco>"""
    env = plain_env(ds.Model.from_mjcf(swing), 3, "cpu", 0)
    controls = np.zeros((3, 1), np.float32)
    viewer = shown_by(env, controls)
    assert viewer._keyframe.options == ("", "up", "key 1")
    viewer.show([0, 2])
    before = float(env.sim.qpos[1, 0])
    viewer.go_to(0)
    assert env.sim.qpos[:, 0].tolist() == [3, before, 3] and not viewer.playing
    assert controls[:, 0].tolist() == [0.5, 0, 0.5]
    viewer.go_to(1)
    assert env.sim.qpos[[0, 2], 0].tolist() == [1, 1] and env.sim.qvel[[0, 2], 0].tolist() == [2, 2]
    # a model without any offers none
    assert not hasattr(shown_by(plain_env(ds.Model.named("hopper"), 1, "cpu", 0), np.zeros((1, 3), np.float32)), "_keyframe")


def test_a_port_that_is_taken_is_an_error(capsys):
    pytest.importorskip("viser")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["view", "hopper", "--port", port, "--for", "0.2"]) == 1
    error = capsys.readouterr().err
    assert f"cannot be served on 127.0.0.1:{port}: address already in use; --port 0 takes any that is free" in error


def test_the_extra_that_the_page_needs(capsys, monkeypatch):
    found = importlib.util.find_spec
    for missing in ("gymnasium", "viser"):
        without = lambda name, missing=missing: None if name == missing else found(name)
        monkeypatch.setattr(importlib.util, "find_spec", without)
        assert main(["view", "hopper"]) == 2
        assert f"{missing} is missing: pip install 'dualstep[view]' brings it" in capsys.readouterr().err


def test_what_the_commands_refuse(capsys, tmp_path):
    assert main(["view", "humanod"]) == 2
    assert "humanoid" in capsys.readouterr().err
    assert main(["view", str(tmp_path / "none.xml")]) == 2
    assert "there is no model file" in capsys.readouterr().err


def test_mujocos_viewer_without_a_display(capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert main(["view", "hopper", "--native", "--for", "0.2"]) == 1
    assert "MuJoCo's viewer cannot be opened: " in capsys.readouterr().err


def test_mujocos_viewer_is_shown_the_first_environment(monkeypatch):
    """MuJoCo's window, as far as the rest of us sees it: a handle that is told to look again at its data."""
    pytest.importorskip("mujoco.viewer")
    from dualstep.viewer import native

    seen = []

    class Handle:
        def __init__(self, model, data):
            self.model, self.data = model, data

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def is_running(self):
            return len(seen) < 8

        def sync(self):
            seen.append((self.data.qpos.copy(), self.data.xpos.copy()))

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(mujoco.viewer, "launch_passive", Handle)
    env, twin = (ds.envs.make("Hopper", 2, num_threads=1) for _ in range(2))
    native.run(env, lambda observation: np.full((2, 3), 0.5), seed=4, seconds=None)
    twin.reset(seed=4)
    data = mujoco.MjData(env.task.drawn)
    for qpos, xpos in seen:
        twin.step(np.full((2, 3), 0.5))
        assert np.allclose(qpos, twin.sim.qpos[0])
        data.qpos[:] = qpos
        mujoco.mj_kinematics(env.task.drawn, data)
        assert np.allclose(xpos, data.xpos)


@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="no display in memory here")
def test_mujocos_viewer_opens_and_closes():
    pytest.importorskip("mujoco.viewer")
    # it writes the number of a display that is free
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "640x480x24", "+extension", "GLX"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        number = server.stdout.readline().strip()
        home = os.path.dirname(os.path.dirname(ds.__file__))
        environment = {**os.environ, "DISPLAY": f":{number}", "LIBGL_ALWAYS_SOFTWARE": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "dualstep", "view", "hopper", "--native", "--random", "--for", "1"]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    finally:
        server.terminate()
        server.wait(30)
    assert run.returncode == 0, run.stderr


def test_a_command_shows_a_model_for_a_while(capfd):
    pytest.importorskip("viser")
    assert main(["view", "inverted_pendulum", "--port", "8190", "--for", "0.5", "--num-envs", "2"]) == 0
    assert "http://127.0.0.1:" in capfd.readouterr().err


@pytest.mark.skipif(chromium.BINARY is None, reason="no Chromium here")
def test_the_page_in_a_browser(tmp_path):
    pytest.importorskip("viser")
    from dualstep.viewer.web import Viewer

    env = ds.envs.make("Ant", 3, num_threads=1, nonfinite="clamp", seed=0)
    rng = np.random.default_rng(0)
    viewer = Viewer(env, lambda _: rng.uniform(-0.5, 0.5, (3, 8)), title="Ant", port=8191)
    ends = threading.Event()

    def run():
        while not ends.is_set():
            viewer.run(0.1)

    def wait(condition):
        limit = time.monotonic() + 240
        while not condition():
            assert time.monotonic() < limit, "it never came about"
            time.sleep(0.1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with chromium.page(tmp_path / "profile") as page:
            page.open(f"http://127.0.0.1:{viewer.port}")
            wait(lambda: "Contact forces" in page.text())
            wait(lambda: page.evaluate("document.title") == "Ant - dualstep")
            page.click("Pause")
            wait(lambda: not viewer.playing and "Play" in page.text())
            before = viewer.steps
            page.click("Step")
            wait(lambda: viewer.steps == before + 1)
            viewer._show_forces.value = True
            page.click("Reset")
            wait(lambda: viewer.steps == 0)
            page.click("Play")
            wait(lambda: viewer.steps > 30)
            # bodies are drawn: pixels of the colour of ants, on a page that is otherwise grey, white and blue
            limit = time.monotonic() + 240
            while True:
                picture = page.screenshot()
                pixels = read(picture).astype(int)
                red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
                brown = (red > green + 10) & (green > blue + 10) & (red < 240)
                # and contact forces, in a colour that nothing else has
                forces = (red > green + 90) & (red > blue + 90)
                if (brown.mean() > 0.002 and forces.sum() > 10) or time.monotonic() > limit:
                    break
                time.sleep(0.5)
            kept = os.environ.get("DUALSTEP_PICTURES")
            if kept:
                pathlib.Path(kept, "viewer.png").write_bytes(picture)
            assert brown.mean() > 0.002 and forces.sum() > 10
            assert pixels.shape[0] > 500 and len(viewer._plot.data[0]) > 20
            # another choice of environments: fewer bodies on the page
            viewer.show([1])
            assert viewer.shown == [1] and len(viewer._meshes[0][1].batched_positions) == 1
    finally:
        ends.set()
        thread.join()
        viewer.close()


def read(png):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def test_a_model_without_joints_is_an_environment_too():
    from dualstep.viewer.plain import plain_env

    model = ds.Model.from_mjcf("<mujoco><worldbody><body pos='0 0 1'><geom size='.1'/></body></worldbody></mujoco>")
    env = plain_env(model, 2, "cpu", 0)
    assert model.nq == 0 and env.reset()[0].shape == (2, 0)
    observation, reward, *_ = env.step(np.zeros((2, 0)))
    assert observation.shape == (2, 0) and np.array_equal(reward, [0, 0])

"""The viewer: shapes of geoms, what is shown, and the page itself in a headless Chromium."""

import io
import os
import pathlib
import shutil
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
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
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
        limit = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < limit, "it never came about"
            time.sleep(0.1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        with chromium.page(tmp_path / "profile") as page:
            page.open(f"http://127.0.0.1:{viewer.port}")
            wait(lambda: "Contact forces" in page.text())
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
            limit = time.monotonic() + 60
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

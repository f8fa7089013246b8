"""Pictures by Gymnasium's renderer: of every task, and what is refused. Contexts are tried in other processes."""

import functools
import json
import os
import subprocess
import sys

import pytest

import dualstep as ds
from dualstep.envs import registry

pytest.importorskip("mujoco")

SCRIPT = """
import json, sys
import gymnasium, mujoco
from gymnasium.utils.env_checker import check_env
with mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 8, 8) as renderer:
    renderer.render()
print("it draws")
import dualstep as ds
seen = {}
for name in json.loads(sys.argv[1]):
    try:
        env = ds.envs.make(name, 2, num_threads=1, render_mode="rgb_array", width=64, height=48)
    except ImportError:  # models come with another package
        continue
    env.reset(seed=0)
    seen[name] = [[*frame.shape, int(frame.std() > 1)] for frame in env.render()]
    env.close()
print(json.dumps(seen))
env = gymnasium.make("dualstep/InvertedPendulum-v0", render_mode="rgb_array").unwrapped
env.spec = None  # it would try "human" too, which wants a display
check_env(env)
print("checked")
"""


@functools.cache
def drawn():
    home = os.path.dirname(os.path.dirname(ds.__file__))
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", SCRIPT, json.dumps(BUILT_IN)]
    for context in ("egl", "osmesa"):
        environment = {**os.environ, "PYTHONPATH": path, "MUJOCO_GL": context, "PYOPENGL_PLATFORM": context}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1500)
        if run.stdout.startswith("it draws"):
            assert run.returncode == 0, run.stderr
            return run.stdout.splitlines()
    pytest.skip("no off-screen OpenGL here")


def test_without_a_display_it_draws_by_egl():
    """Nothing says what to draw with: where EGL works at all, it is taken."""
    drawn()  # skips where there is none
    home = os.path.dirname(os.path.dirname(ds.__file__))
    environment = {key: value for key, value in os.environ.items() if key not in (
        "MUJOCO_GL", "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")}  # fmt: skip
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    script = """
import os, dualstep as ds
env = ds.envs.make("Hopper", 1, num_threads=1, render_mode="rgb_array", width=64, height=48)
env.reset(seed=0)
print(env.render()[0].shape, os.environ["MUJOCO_GL"])
env.close()
"""
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=1500)
    assert run.stdout == "(48, 64, 3) egl\n", run.stderr


@pytest.mark.parametrize(
    ("given", "chosen"),
    [({}, "egl"), ({"DISPLAY": ":0"}, None), ({"WAYLAND_DISPLAY": "w"}, None), ({"MUJOCO_GL": "osmesa"}, "osmesa")],
)
def test_what_is_drawn_with(given, chosen, monkeypatch):
    from dualstep.envs.render import choose_context

    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    choose_context()
    assert os.environ.get("MUJOCO_GL") == chosen


def test_a_window_without_a_display_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, "")
    env = ds.envs.make("Hopper", 1, num_threads=1, render_mode="human")
    env.reset(seed=0)
    with pytest.raises(RuntimeError, match="there is no display here"):
        env.render()
    env.close()


# those of the package: tests before these may have made more
BUILT_IN = [name for name in ds.envs.names() if str(registry.find(name)[1].task).startswith("dualstep.envs.tasks")]


def test_every_task_is_drawn():
    _, seen, checked = drawn()
    seen = json.loads(seen)
    assert all(registry.find(name)[1].family != registry.GYMNASIUM for name in set(BUILT_IN) - set(seen))
    for name, frames in seen.items():
        assert frames == [[48, 64, 3, 1]] * 2, name
    assert checked == "checked"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"render_envs": 0}, "render_envs 0 is given, and it must be a positive integer"),
        ({"camera_name": "behind"}, "camera_name 'behind' is given, and the model's cameras are: track"),
    ],
)
def test_what_is_refused(options, message):
    env = ds.envs.make("Ant", 1, num_threads=1, render_mode="rgb_array", **options)
    with pytest.raises(ValueError, match=message):
        env.render()

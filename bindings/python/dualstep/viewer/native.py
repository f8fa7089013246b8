"""MuJoCo's own viewer on the first environment of a batch; it wants a display, and GLFW."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dualstep._display import need_display


def run(env: Any, act: Callable[[Any], Any], *, seed: int, seconds: float | None) -> None:
    try:
        import mujoco
        import mujoco.viewer
    except ImportError as error:
        raise ImportError(f"{error}; pip install 'dualstep[view]' brings it") from None
    need_display()
    model = env.task.drawn
    data = mujoco.MjData(model)
    observation, _ = env.reset(seed=seed)
    known = set(threading.enumerate())
    with mujoco.viewer.launch_passive(model, data) as viewer:
        began = time.monotonic()
        while viewer.is_running() and (seconds is None or time.monotonic() - began < seconds):
            start = time.monotonic()
            observation = env.step(act(observation))[0]
            qpos = env.sim.qpos
            data.qpos[:] = np.asarray(qpos if isinstance(qpos, np.ndarray) else qpos.numpy())[0]
            mujoco.mj_forward(model, data)
            viewer.sync()
            time.sleep(max(0.0, env.task.dt - (time.monotonic() - start)))
        drawing = set(threading.enumerate()) - known
    # the window is closed by the thread that draws; where the process ends before it, GLFW crashes
    for thread in drawing:
        thread.join(timeout=5)

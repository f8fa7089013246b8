"""Pictures of environments, drawn by Gymnasium's own renderer for MuJoCo, which needs the full mujoco package."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstep._display import is_headless, need_display
from dualstep.envs.arrays import arrays_of

if TYPE_CHECKING:
    from dualstep.batch import Batch
    from dualstep.envs.task import Task


def choose_context() -> None:
    """EGL, which needs no display, where there is none and MUJOCO_GL does not say what to take."""
    if is_headless() and not os.environ.get("MUJOCO_GL"):
        os.environ["MUJOCO_GL"] = "egl"


class Renderer:
    """Copies the state of an environment into a `mujoco.MjData`, and has it drawn."""

    def __init__(self, task: Task, mode: str, options: dict[str, Any]) -> None:
        if mode == "human":
            need_display()
        else:
            choose_context()
        try:
            import mujoco
            from gymnasium.envs.mujoco.mujoco_rendering import MujocoRenderer
        except ImportError as error:
            raise ImportError(f"drawing needs mujoco and its viewers ({error}): pip install 'dualstep[view]'") from None
        self._mujoco = mujoco
        self._mode = mode
        self._model = task.drawn
        self._data = mujoco.MjData(self._model)
        self._count = options.get("render_envs", 1 if mode == "human" else 4)
        if isinstance(self._count, bool) or not isinstance(self._count, (int, np.integer)) or self._count < 1:
            raise ValueError(f"render_envs {self._count!r} is given, and it must be a positive integer")
        # Gymnasium writes into arrays of the camera, and sets all else
        camera = {key: np.asarray(value) if np.ndim(value) else value for key, value in task.camera.items()}
        if options.get("default_camera_config") is not None:
            camera = options["default_camera_config"]
        width, height = int(options.get("width", 480)), int(options.get("height", 480))
        named = [self._model.camera(i).name for i in range(self._model.ncam)]
        name = options.get("camera_name")
        if name is not None and name not in named:
            raise ValueError(f"camera_name {name!r} is given, and the model's cameras are: {', '.join(named)}")
        size = self._model.vis.global_
        size.offwidth, size.offheight = max(size.offwidth, width), max(size.offheight, height)
        self._renderer = MujocoRenderer(
            self._model,
            self._data,
            camera or None,
            width,
            height,
            options.get("max_geom", 1000),
            options.get("camera_id"),
            name,
            options.get("visual_options") or {},
        )

    def __call__(self, sim: Batch) -> tuple[Any, ...] | None:
        native = arrays_of(sim.device).native
        frames = []
        for env in range(min(self._count, sim.num_envs)):
            for name in ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat"):
                values = native(getattr(sim, name))[env]
                into = getattr(self._data, name)
                into[...] = np.asarray(values.cpu() if hasattr(values, "cpu") else values).reshape(into.shape)
            self._mujoco.mj_forward(self._model, self._data)
            frames.append(self._renderer.render(self._mode))
        return None if self._mode == "human" else tuple(frames)

    def close(self) -> None:
        self._renderer.close()

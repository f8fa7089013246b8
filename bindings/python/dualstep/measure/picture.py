"""The picture of a few environments: recorded configurations, drawn afterwards by MuJoCo's renderer.

Drawing happens in a second process (`python -m dualstep.measure.picture FILM PICTURE`): which of MuJoCo's
off-screen contexts works is found by trying them, and a driver that crashes takes nothing else with it. Where there
is no OpenGL at all the bodies are drawn as sticks by matplotlib, so a picture always comes out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dualstep.measure.workload import Episode

# off-screen contexts, the likelier first: EGL (a GPU, or Mesa in software), OSMesa (software)
CONTEXTS = ("egl", "osmesa")
TILE = 300
PATIENCE = 60


def draw(model: Path, episode: Episode, picture: Path) -> str:
    """Writes a PNG, a row an environment, a column a time; returns how it was drawn."""
    # the other process finds this package wherever it was imported from
    paths = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.npz"
        np.savez(film, model=str(model.resolve()), film=episode.film, times=episode.times)
        said = ""
        for context in (*CONTEXTS, "sticks"):
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
            environment["MUJOCO_GL"] = "" if context == "sticks" else context
            if context == "osmesa":
                environment["PYOPENGL_PLATFORM"] = "osmesa"
            command = [sys.executable, "-m", "dualstep.measure.picture", str(film), str(picture.resolve())]
            # MuJoCo leaves its log where it runs
            try:
                run = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, cwd=folder)
            except subprocess.TimeoutExpired:
                said = f"{context}: it took more than {PATIENCE} s"
                continue
            said = run.stderr.decode(errors="replace")
            if run.returncode == 0 and picture.is_file():
                return (
                    "sticks, for there is no OpenGL here" if context == "sticks" else f"rendered by MuJoCo, {context}"
                )
    raise RuntimeError("no picture could be drawn:\n" + said)


def camera_of(model, data):
    """A view of the whole model from the side and above."""
    import mujoco

    camera = mujoco.MjvCamera()
    moving = np.flatnonzero(np.asarray(model.body_weldid) > 0)
    points = data.xipos[moving] if moving.size else data.xipos
    camera.lookat[:] = (points.min(axis=0) + points.max(axis=0)) / 2
    size = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    camera.distance = 1.1 * max(size, 0.5 * model.stat.extent, 0.3) + 0.8 * model.stat.meansize
    camera.azimuth, camera.elevation = 120, -18
    return camera


def rendered(model, film: np.ndarray) -> np.ndarray:
    """(frames, environments, height, width, 3) pixels."""
    import mujoco

    data = mujoco.MjData(model)
    cameras = {}
    with mujoco.Renderer(model, TILE, TILE) as renderer:
        option = mujoco.MjvOption()
        tiles = np.empty((*film.shape[:2], TILE, TILE, 3), np.uint8)
        for frame, env in np.ndindex(film.shape[:2]):
            data.qpos[:] = film[frame, env]
            mujoco.mj_forward(model, data)
            here = camera_of(model, data)
            # the distance of the first frame, so that a figure does not change its size as it moves
            camera = cameras.setdefault(env, here)
            camera.lookat[:] = here.lookat
            renderer.update_scene(data, camera, option)
            tiles[frame, env] = renderer.render()
    if len(np.unique(tiles[0, 0].reshape(-1, 3), axis=0)) < 8:
        raise RuntimeError("the renderer drew an empty picture")
    return tiles


def _axes(rows: int, columns: int, times: np.ndarray, **kinds: object) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, figsize=(2.3 * columns, 2.35 * rows + 0.3), squeeze=False,
                                   layout="constrained", subplot_kw=kinds)  # fmt: skip
    for column, time in enumerate(times):
        axes[0, column].set_title(f"{time:.2f} s", fontsize=10)
    return figure, axes


def save_tiles(tiles: np.ndarray, times: np.ndarray, picture: Path) -> None:
    frames, envs = tiles.shape[:2]
    figure, axes = _axes(envs, frames, times)
    for frame, env in np.ndindex(frames, envs):
        axes[env, frame].imshow(tiles[frame, env])
        axes[env, frame].set(xticks=[], yticks=[])
    for env in range(envs):
        axes[env, 0].set_ylabel(f"environment {env}", fontsize=10)
    figure.savefig(picture, dpi=130)


def save_sticks(model, film: np.ndarray, times: np.ndarray, picture: Path) -> None:
    """A line from every body to its parent, and a dot at its centre of mass."""
    import mujoco

    data = mujoco.MjData(model)
    figure, axes = _axes(film.shape[1], len(times), times, projection="3d")
    for frame, env in np.ndindex(film.shape[:2]):
        data.qpos[:] = film[frame, env]
        mujoco.mj_kinematics(model, data)
        plot = axes[env, frame]
        for body in range(1, model.nbody):
            ends = [data.xipos[body], data.xpos[body]]
            parent = model.body_parentid[body]
            if parent:
                ends.append(data.xpos[parent])
            plot.plot(*np.array(ends).T, color="#1f6f8b", linewidth=2)
        dots = data.xipos[1:]
        plot.scatter(*dots.T, color="#c8553d", s=8)
        middle, half = dots.mean(axis=0), max(0.6 * np.ptp(dots, axis=0).max(), 0.3)
        for axis, at in zip("xyz", middle, strict=True):
            getattr(plot, f"set_{axis}lim")(at - half, at + half)
        plot.set(xticklabels=[], yticklabels=[], zticklabels=[], box_aspect=(1, 1, 1))
        if frame == 0:
            plot.text2D(0.0, 0.95, f"environment {env}", transform=plot.transAxes, fontsize=9)
    figure.savefig(picture, dpi=130)


def main(film_path: str, picture: str) -> None:
    # MuJoCo chooses its context when it is imported, by this variable
    offscreen = os.environ.get("MUJOCO_GL", "")
    import mujoco

    stored = np.load(film_path)
    model = mujoco.MjModel.from_xml_path(str(stored["model"]))
    film, times = stored["film"], stored["times"]
    if offscreen:
        save_tiles(rendered(model, film), times, Path(picture))
    else:
        save_sticks(model, film, times, Path(picture))


if __name__ == "__main__":
    main(*sys.argv[1:])

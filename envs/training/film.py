"""Films of episodes: configurations are recorded while the batch runs, and drawn afterwards.

Drawing is done by MuJoCo's renderer in a second process (`python -m dualstep.envs.training.film FILM OUT`), as
`measure/picture.py` does it and for its reasons: the off-screen context that works is found by trying, and needs no
display. The film is an MP4 where ffmpeg is there (imageio-ffmpeg), and otherwise an animated GIF. Its pictures are of
720p, whatever the number of environments, each with the time and with what it has earned in this episode.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dualstep._arrays import host
from dualstep._folders import explain

CONTEXTS = ("egl", "osmesa")
SIZE = (1280, 720)
FRAMES_PER_SECOND = 25
PATIENCE = 300


def record(env: Any, act: Callable[[Any], Any], seconds: float, *, seed: int = 0) -> dict[str, np.ndarray]:
    """Of a vector environment that a policy acts in: configurations (frames, num_envs, nq), places of what the user
    moves (frames, num_envs, nmocap, 7), their times, and what the rewards of the episode add up to by then (frames,
    num_envs)."""
    dt = env.task.dt
    every = max(1, round(1 / (FRAMES_PER_SECOND * dt)))

    def kept(array: Any) -> np.ndarray:
        return np.array(host(array), np.float64)

    def moved() -> np.ndarray:
        return np.concatenate([kept(env.sim.mocap_pos), kept(env.sim.mocap_quat)], axis=2)

    observation, _ = env.reset(seed=seed)
    total = np.zeros(env.num_envs)
    frames, mocap, times, returns = [kept(env.sim.qpos)], [moved()], [0.0], [total.copy()]
    over = np.zeros(env.num_envs, bool)
    for step in range(1, round(seconds / dt) + 1):
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        # what comes after an episode's last step is the next one's
        total = np.where(over, 0.0, total) + host(reward)
        over = host(terminated) | host(truncated)
        if step % every == 0:
            frames.append(kept(env.sim.qpos))
            mocap.append(moved())
            times.append(step * dt)
            returns.append(total.copy())
    return {"qpos": np.array(frames), "mocap": np.array(mocap), "times": np.array(times), "returns": np.array(returns),
            "fps": np.array(1 / (every * dt))}  # fmt: skip


class FilmError(RuntimeError):
    """A film that cannot be written where it is wanted."""


def can_write_mp4() -> bool:
    try:
        import imageio_ffmpeg

        return bool(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return False


def film_file(path: Path) -> Path:
    """Where the film of this name is written, a GIF without ffmpeg; FilmError where no file can be."""
    if path.name in ("", ".."):
        raise FilmError(f"no film can be written to '{path}': it is a folder")
    if path.suffix != ".gif":
        path = path.with_suffix(".mp4" if can_write_mp4() else ".gif")
    if path.is_dir():
        raise FilmError(f"no film can be written to '{path}': it is a folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.exists():
            with path.open("ab"):
                pass
    except OSError as error:
        raise FilmError(f"no film can be written to '{path}': {explain(error)}") from None
    return path


def draw(mj_model: Any, film: dict[str, np.ndarray], path: Path, camera: dict[str, Any] | None = None) -> Path:
    """Writes the film; returns where it is, since without ffmpeg it is a GIF. RuntimeError where nothing can draw."""
    import mujoco

    path = film_file(path)
    package = Path(str(sys.modules["dualstep"].__file__)).resolve().parents[1]
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "film.npz"
        compiled = Path(folder) / "model.mjb"
        mujoco.mj_saveModel(mj_model, str(compiled), None)
        view = {f"camera_{name}": np.asarray(value) for name, value in (camera or {}).items()}
        arrays: dict[str, Any] = {"model": str(compiled), **film, **view}
        np.savez(stored, **arrays)
        for context in CONTEXTS:
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MUJOCO_GL": context}
            if context == "osmesa":
                environment["PYOPENGL_PLATFORM"] = "osmesa"
            command = [sys.executable, "-m", "dualstep.envs.training.film", str(stored), str(path.resolve())]
            try:
                run = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, cwd=folder)
            except subprocess.TimeoutExpired:
                said = f"{context}: it took more than {PATIENCE} s"
                continue
            if run.returncode == 0 and path.is_file():
                return path
            said = run.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
            said = f"{context}: {said[0]}"
    raise RuntimeError(f"no film could be drawn ({said}): an off-screen OpenGL, EGL or OSMesa, is wanted")


def grid(count: int) -> tuple[int, int]:
    """Rows and columns in which so many pictures are largest; each keeps the shape of the whole."""
    columns = next(n for n in range(1, count + 1) if n * n >= count)
    return -(-count // columns), columns


def caption(tile: np.ndarray, seconds: float, earned: float) -> np.ndarray:
    """The picture with time and return in its upper left corner."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(tile)
    height = max(12, tile.shape[0] // 24)
    try:
        font = ImageFont.load_default(height)
    except TypeError:  # of Pillow before 10.1, of one size
        font = ImageFont.load_default()
    told, white, black = f"t = {seconds:.2f} s   return = {earned:,.1f}", (255, 255, 255), (0, 0, 0)
    ImageDraw.Draw(image).text((height, height / 2), told, white, font, stroke_width=2, stroke_fill=black)
    return np.asarray(image)


def pictures(mj_model: Any, stored: dict[str, Any]):
    """(height, width, 3) pixels of each frame: environments in a grid, the camera going along."""
    import mujoco

    data = mujoco.MjData(mj_model)
    moving = np.flatnonzero(np.asarray(mj_model.body_weldid) > 0)
    followed = int(stored.get("camera_trackbodyid", moving[0] if moving.size else 0))
    camera = mujoco.MjvCamera()
    camera.distance = float(stored.get("camera_distance", 3 * max(mj_model.stat.extent, 0.3)))
    camera.elevation = float(stored.get("camera_elevation", -15))
    camera.azimuth = float(stored.get("camera_azimuth", 120))
    large = mj_model.vis.global_
    rows, columns = grid(stored["qpos"].shape[1])
    # sides that encoders take are even
    width, height = SIZE[0] // columns // 2 * 2, SIZE[1] // rows // 2 * 2
    large.offwidth, large.offheight = max(large.offwidth, width), max(large.offheight, height)
    with mujoco.Renderer(mj_model, height, width) as renderer:
        together = (stored[name] for name in ("times", "qpos", "mocap", "returns"))
        for seconds, configurations, mocap, earned in zip(*together, strict=True):
            whole = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
            for env, qpos in enumerate(configurations):
                data.qpos[:] = qpos
                data.mocap_pos[:], data.mocap_quat[:] = mocap[env][:, :3], mocap[env][:, 3:]
                mujoco.mj_forward(mj_model, data)
                camera.lookat[:] = stored.get("camera_lookat", mj_model.stat.center)
                if followed > 0:
                    # along the ground, not up and down
                    camera.lookat[:2] = data.subtree_com[followed][:2]
                renderer.update_scene(data, camera)
                row, column = divmod(env, columns)
                tile = caption(renderer.render(), seconds, earned[env])
                whole[row * height : (row + 1) * height, column * width : (column + 1) * width] = tile
            yield whole


def write(frames: Any, path: Path, fps: float) -> None:
    if path.suffix == ".mp4":
        import imageio_ffmpeg

        writer = None
        for frame in frames:
            if writer is None:
                size = (frame.shape[1], frame.shape[0])
                writer = imageio_ffmpeg.write_frames(str(path), size, fps=fps,  # pyright: ignore[reportArgumentType]
                                                     macro_block_size=1, output_params=["-crf", "23"])
                writer.send(None)
            writer.send(np.ascontiguousarray(frame))
        if writer is not None:
            writer.close()
        return
    from PIL import Image

    images = [Image.fromarray(frame).quantize(128) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0)


def main(film: str, path: str) -> None:
    import mujoco

    stored = dict(np.load(film))
    model = mujoco.MjModel.from_binary_path(str(stored["model"]))
    seen = 0

    def checked():
        nonlocal seen
        for frame in pictures(model, stored):
            seen = max(seen, len(np.unique(frame[::4, ::4].reshape(-1, 3), axis=0)))
            yield frame

    write(checked(), Path(path), float(stored["fps"]))
    if seen < 8:
        raise RuntimeError("the renderer drew empty pictures")


if __name__ == "__main__":
    main(*sys.argv[1:])

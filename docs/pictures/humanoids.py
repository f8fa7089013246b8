"""Draws docs/pictures/humanoids.gif: a batch of MuJoCo's benchmark humanoids under random actions, side by side.

    MUJOCO_GL=egl python docs/pictures/humanoids.py [FILE]

Every environment is simulated by itself; only the picture shows them on one floor.
"""

import pathlib
import sys

import imageio
import mujoco
import numpy as np

import dualstep as ds

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "bench/models/humanoid.xml"
ROWS, COLUMNS, SPACING = 5, 8, 1.5
SECONDS, FRAMES_PER_SECOND, SIZE = 3.2, 15, (260, 600)


def simulate():
    """Positions of all environments, a frame each: (frames, num_envs, nq)."""
    model = ds.Model.from_mjcf(MODEL)
    sim = ds.Batch(model, ROWS * COLUMNS)
    rng = np.random.default_rng(0)
    sim.qpos[:, 2] += rng.uniform(0.0, 0.6, sim.num_envs)
    steps = round(1 / FRAMES_PER_SECOND / model.opt.timestep)
    film = []
    for _ in range(round(SECONDS * FRAMES_PER_SECOND)):
        film.append(np.array(sim.qpos))
        sim.ctrl[:] = np.clip(0.7 * sim.ctrl + rng.normal(0, 0.5, sim.ctrl.shape), -1, 1)
        sim.step(nsubsteps=steps)
    return model.mj_model, np.array(film)


def draw(mj_model, film):
    """Pixels of each frame; the other environments are added to the scene of the first."""
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    places = SPACING * np.stack([row - (ROWS - 1) / 2, column - (COLUMNS - 1) / 2], axis=1)
    mj_model.vis.global_.offwidth, mj_model.vis.global_.offheight = SIZE[1], SIZE[0]
    mj_model.vis.headlight.ambient[:], mj_model.vis.headlight.diffuse[:] = 0.5, 0.6
    mj_model.light_active[:] = False
    mj_model.mat_reflectance[:] = 0
    data = mujoco.MjData(mj_model)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = 0, 0, 0.4
    camera.distance, camera.azimuth, camera.elevation = 9.0, 180, -28
    option, perturbation = mujoco.MjvOption(), mujoco.MjvPerturb()
    with mujoco.Renderer(mj_model, *SIZE, max_geom=4000) as renderer:
        for positions in film:
            for env, qpos in enumerate(positions):
                data.qpos[:] = qpos
                data.qpos[:2] += places[env]
                mujoco.mj_forward(mj_model, data)
                if env == 0:
                    renderer.update_scene(data, camera, option)
                else:
                    mujoco.mjv_addGeoms(mj_model, data, option, perturbation, mujoco.mjtCatBit.mjCAT_DYNAMIC, renderer.scene)
            yield renderer.render()


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "humanoids.gif"
    imageio.mimsave(target, list(draw(*simulate())), duration=1000 / FRAMES_PER_SECOND, loop=0, palettesize=48, subrectangles=True)
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")

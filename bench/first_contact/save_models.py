"""Robots whose files come with a package, compiled by MuJoCo into one file each: save_models.py FOLDER."""

import pathlib
import sys

import mujoco

from dualstep.envs.tasks.unitree_robots import G1, GO1, build

folder = pathlib.Path(sys.argv[1])
for name, robot in (("g1", G1), ("go1", GO1)):
    mujoco.mj_saveModel(build(robot)[0].mj_model, str(folder / f"{name}.mjb"), None)
    print(name, (folder / f"{name}.mjb").stat().st_size, "bytes")

"""Humanoid_CMU: the tasks of `humanoid.py` with a body of 56 joints."""

from __future__ import annotations

from dualstep.envs.tasks.suite import humanoid


class Stand(humanoid.Stand):
    """dm_control humanoid_CMU-stand: as humanoid-stand, with a body of 56 joints."""

    file, step = "humanoid_CMU.xml", 0.02
    torso = "thorax"
    sensors = ("thorax_subtreelinvel",)
    limbs = ("lhand", "lfoot", "rhand", "rfoot")
    up = 1


class Walk(Stand):
    """dm_control humanoid_CMU-walk: paid for standing and for going at 1 m/s or more."""

    speed = 1.0


class Run(Stand):
    """dm_control humanoid_CMU-run: paid for standing and for going at 10 m/s or more."""

    speed = 10.0

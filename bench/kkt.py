"""The residual of the constraints' problem, by MuJoCo's own rows and forces: a figure of `python bench/reliability.py`.

At a state of a batch MuJoCo makes its own contacts and rows in double precision, and the forces f(a) that its laws give at the
batch's accelerations a. What is left of M a = M a_smooth + J' f(a) is compared with the largest of the three. Where rows
are stiff, much is left by an acceleration that is all but right, so its error stands beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

import dualstep as ds


class Residuals(NamedTuple):
    """Of the states of one model."""

    relative: np.ndarray
    """(states): 0 where nothing is in the way of motion"""
    error: np.ndarray
    """(states): |a - a*| / |a* - a_smooth| in the norm of the mass matrix, a* MuJoCo's converged accelerations"""
    status: np.ndarray


class Rows:
    """MuJoCo's rows at a state, and the forces that its laws give at accelerations."""

    def __init__(self, m: mujoco.MjModel) -> None:
        self.m, self.data = m, mujoco.MjData(m)
        m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
        m.opt.solver, m.opt.iterations, m.opt.ls_iterations, m.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 300, 200, 0
        self.mass = np.zeros((m.nv, m.nv))

    def residual(self, batch: ds.Batch, env: int) -> tuple[float, float]:
        """Relative, of an environment's accelerations, and their error."""
        m, d = self.m, self.data
        for name in ("qpos", "qvel", "act", "ctrl"):
            getattr(d, name)[:] = getattr(batch, name)[env]
        mujoco.mj_forward(m, d)
        if d.nefc == 0:
            return 0.0, 0.0
        mujoco.mj_fullM(m, d, self.mass)
        qacc, exact, J = np.array(batch.qacc[env], float), d.qacc.copy(), d.efc_J.reshape(d.nefc, m.nv)
        mujoco.mj_constraintUpdate(m, d, J @ qacc - d.efc_aref, np.zeros(1), 0)
        inertial, smooth, forces = self.mass @ qacc, self.mass @ d.qacc_smooth, J.T @ d.efc_force
        size = max(np.linalg.norm(inertial), np.linalg.norm(smooth), np.linalg.norm(forces))
        off, pushed = qacc - exact, exact - d.qacc_smooth
        error = np.sqrt(off @ self.mass @ off / max(pushed @ self.mass @ pushed, 1e-12))
        return float(np.linalg.norm(inertial - smooth - forces) / size) if size > 0 else 0.0, float(error)


def residuals(model: ds.Model, batch: ds.Batch, act, turns: int) -> Residuals:
    """Of all environments, `turns` times, with `act(batch)` between."""
    rows, found, status = Rows(model.mj_model), [], []
    for _ in range(turns):
        act(batch)
        batch.clear_status()
        batch.forward()
        found += [rows.residual(batch, env) for env in range(batch.num_envs)]
        status += list(np.array(batch.status))
    relative, error = np.array(found).T
    return Residuals(relative, error, np.array(status))

"""The peer: mujoco.batch, MuJoCo's own batch on the CPU, on the same states and actions."""

from __future__ import annotations

import numpy as np

from dualstep import _drop
from dualstep.measure.accuracy import relative_error
from dualstep.measure.workload import MUJOCO_STATE, States
from dualstep.model import Model


def available() -> str | None:
    """Why there is no mujoco.batch here; None where there is one."""
    try:
        import mujoco.batch  # noqa: F401
    except ImportError as error:
        return f"mujoco.batch came with MuJoCo 3.17, and is not here ({error})"
    return None


class Peer:
    """A mujoco.batch of a model. Its solver is MuJoCo's default: Newton, at MuJoCo's default tolerances. Trees at
    rest do not sleep in it, as they do not in a Batch."""

    def __init__(self, model: Model, count: int, num_threads: int) -> None:
        import mujoco
        import mujoco.batch

        self._mujoco = mujoco
        self.version = mujoco.__version__
        self._model = _drop.awake(model.mj_model)
        default = mujoco.MjOption()
        default.solver = mujoco.mjtSolver.mjSOL_NEWTON
        for name in ("solver", "iterations", "tolerance", "ls_iterations", "ls_tolerance"):
            setattr(self._model.opt, name, getattr(default, name))
        self.batch = mujoco.batch.Batch(self._model, count, nthread=num_threads)
        self.count = count

    def put(self, states: States) -> None:
        for name in MUJOCO_STATE:
            if states.arrays[name].shape[1]:
                getattr(self.batch, name)[...] = states.arrays[name]

    def step(self, controls: np.ndarray, substeps: int) -> None:
        """Holds each of the (times, count, nu) controls for `substeps`."""
        for ctrl in controls:
            if ctrl.shape[1]:
                self.batch.ctrl[...] = ctrl
            self.batch.step(nstep=substeps)

    def error(self, states: States, ctrl: np.ndarray) -> np.ndarray:
        """Its errors against its own converged solution, at states warm started as in a rollout."""
        mujoco = self._mujoco
        import copy

        exact_model = copy.copy(self._model)
        exact_model.opt.tolerance, exact_model.opt.iterations = 0, 1000
        data, nv = mujoco.MjData(self._model), self._model.nv
        rows = []
        for i in range(len(states)):
            for name in MUJOCO_STATE:
                getattr(data, name)[:] = states.arrays[name][i]
            data.ctrl[:] = ctrl[i]
            mujoco.mj_forward(self._model, data)
            qacc, smooth = data.qacc.copy(), data.qacc_smooth.copy()
            mujoco.mj_forward(exact_model, data)
            mass = np.zeros((nv, nv))
            mujoco.mj_fullM(self._model, data, mass)
            rows.append((qacc, data.qacc.copy(), smooth, mass))
        return relative_error(*(np.array(column) for column in zip(*rows, strict=True)))

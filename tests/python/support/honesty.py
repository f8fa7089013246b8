"""How often status says what is so: errors of float32 steps against the converged solution in double precision, and of that
against MuJoCo's."""

import dataclasses

import mujoco
import numpy as np

import dualstep as ds
from dualstep.measure.accuracy import energy_norm, options

WRONG = 1e-2  # of the acceleration that the constraints give; what status 0 excludes
RIGHT = 1e-3  # a flag at such an error is false
ROUNDING = 1e-5  # of the whole acceleration: what single precision leaves of it, beside its error without constraints
CONVERGED = 1e-9  # residual of a solution that is trusted
PEERS = 2  # environments a step whose converged solution is compared with MuJoCo's


@dataclasses.dataclass
class Counts:
    """Environment-steps: how many were judged, and what was found."""

    steps: int = 0
    silent_wrong: int = 0  # status 0, error above WRONG
    not_finite: int = 0  # status 0, a number of the outputs that is not finite
    flagged: int = 0  # NOT_CONVERGED
    false_flags: int = 0  # of them, error below RIGHT
    diverged: int = 0
    other_contacts: int = 0  # single precision saw other contacts than double: not judged
    untrusted: int = 0  # double precision did not converge: not judged
    compared: int = 0  # converged solutions that were compared with MuJoCo's, of as many contacts
    unlike_mujoco: int = 0  # of them, error above WRONG
    worst: float = 0.0  # error with status 0

    def __add__(self, other):
        mine, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        counts = {f.name: a + b for f, a, b in zip(dataclasses.fields(self), mine, theirs, strict=True)}
        return Counts(**(counts | {"worst": max(self.worst, other.worst)}))


OUTPUTS = ("qpos", "qvel", "qacc", "residual", "qfrc_constraint", "time")


def errors(batch, truth, state):
    """The error of each environment's qacc, and whether the converged one is trusted and has the same contacts."""
    for name, rows in state.items():
        getattr(truth, name)[...] = rows
    truth.forward()
    exact, smooth, mass = np.array(truth.qacc), np.array(truth.qacc_smooth), truth.mass_matrix()
    trusted = (truth.residual < CONVERGED) & np.isfinite(exact).all(axis=1)
    same = np.asarray(truth.contact_count) == np.asarray(batch.contact_count)
    qacc = np.nan_to_num(np.array(batch.qacc, float), nan=1e30, posinf=1e30, neginf=-1e30)
    size, whole = energy_norm(mass, exact - smooth), energy_norm(mass, exact) + energy_norm(mass, smooth)
    rounding = ROUNDING * whole + energy_norm(mass, np.nan_to_num(np.array(batch.qacc_smooth, float)) - smooth)
    off = np.maximum(energy_norm(mass, qacc - exact) - rounding, 0)
    return off / np.maximum(size, 1e-12 * whole + 1e-30), trusted, same


class Peer:
    """MuJoCo's converged solution of a model given as MJCF text or a path."""

    def __init__(self, mjcf):
        load = mujoco.MjModel.from_xml_path if str(mjcf).endswith(".xml") else mujoco.MjModel.from_xml_string
        self.model = load(str(mjcf))
        self.model.opt.tolerance, self.model.opt.ls_tolerance = 0, 1e-6
        self.model.opt.iterations = self.model.opt.ls_iterations = 300
        self.model.opt.ccd_tolerance, self.model.opt.ccd_iterations = 1e-12, 500  # of millimetres too
        self.data = mujoco.MjData(self.model)

    def errors(self, truth, state, envs):
        """Of the first environments, as errors() has them; those of as many contacts alone."""
        mass = truth.mass_matrix()[:envs]
        for e in range(envs):
            mujoco.mj_resetData(self.model, self.data)
            for name, rows in state.items():
                getattr(self.data, name)[:] = rows[e]
            mujoco.mj_forward(self.model, self.data)
            if self.data.ncon != truth.contact_count[e] or not np.isfinite(self.data.qacc).all():
                continue
            norms = [
                energy_norm(mass[e : e + 1], x[None])[0]
                for x in (truth.qacc[e] - self.data.qacc, self.data.qacc - self.data.qacc_smooth, self.data.qacc_smooth)
            ]
            yield norms[0] / (norms[1] + ROUNDING * norms[2] + 1e-30)


def count(model, num_envs, steps, seed=0, dtype="float32", note=None, peer=None):
    """Plays random actions, held for ten steps, and judges every step. `note(state, error)` is told of what is silent and
    wrong; `peer` checks what is held for the truth."""
    rng = np.random.default_rng(seed)
    counts = Counts()
    with options(model, solver="pgs_newton", tolerance=1e-13, iterations=200):
        truth = ds.Batch(model, num_envs, device="cpu", dtype="float64", num_threads=1)
    with ds.Batch(model, num_envs, device="cpu", dtype=dtype, num_threads=1, diverged="reset") as batch, truth:
        batch.qvel[:] = rng.normal(0, 0.1, batch.qvel.shape)
        for step in range(steps):
            if step % 10 == 0:
                batch.ctrl[:] = rng.uniform(-1, 1, batch.ctrl.shape)
            state = {name: np.array(getattr(batch, name), float) for name in ("qpos", "qvel", "act", "ctrl")}
            batch.clear_status()
            batch.step()
            status = np.array(batch.status)
            error, trusted, same = errors(batch, truth, state)
            for error_of_truth in peer.errors(truth, state, min(PEERS, num_envs)) if peer else ():
                counts.compared += 1
                counts.unlike_mujoco += int(error_of_truth > WRONG)
            finite = np.all(
                [np.isfinite(np.reshape(getattr(batch, n), (num_envs, -1))).all(axis=1) for n in OUTPUTS], axis=0
            )
            flagged = (status & int(ds.Status.NOT_CONVERGED)) != 0
            counts.diverged += int(np.sum((status & int(ds.Status.DIVERGED)) != 0))
            counts.not_finite += int(np.sum(~finite & (status == 0)))
            counts.flagged += int(np.sum(flagged))
            judged = trusted & same & ((status == 0) | (status == int(ds.Status.NOT_CONVERGED)))
            counts.steps += int(np.sum(judged))
            counts.untrusted += int(np.sum(~trusted))
            counts.other_contacts += int(np.sum(trusted & ~same))
            silent = judged & ~flagged
            wrong = silent & (error > WRONG)
            counts.silent_wrong += int(np.sum(wrong))
            counts.false_flags += int(np.sum(judged & flagged & (error < RIGHT)))
            counts.worst = max(counts.worst, float(error[silent].max(initial=0)))
            for e in np.flatnonzero(wrong):
                if note is not None:
                    note({name: rows[e] for name, rows in state.items()}, float(error[e]))
    return counts

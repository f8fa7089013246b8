"""Motions with closed forms, and what motions conserve: figures of `python bench/reliability.py`.

The closed forms are of rigid bodies with dry friction; contacts here and in MuJoCo give way by design, so errors are the
softness of the settings, and stand beside MuJoCo's, converged, at the same ones.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import numpy as np

import dualstep as ds

HERE = pathlib.Path(__file__).resolve().parent
G, H = 9.81, 0.001
OPTION = f'<option timestep="{H}" cone="elliptic" gravity="{{gravity}}" solver="Newton" tolerance="0" iterations="100"/>'
# stiff and damped critically, with an impedance near one
CONTACT = '<default><geom solref="0.004 1" solimp=".99 .999 .001" friction="{mu} 0 0" condim="3"/></default>'


class Motion(NamedTuple):
    """A scene, its first velocities, how long it moves, and what is looked at; times in s, lengths in m."""

    scene: str
    qvel: tuple[float, ...]
    seconds: float
    look: Callable[[np.ndarray, np.ndarray], float]
    """of qpos and qvel at the end"""
    wanted: float
    gravity: str = f"0 0 {-G}"
    mu: float = 0.5

    def model(self) -> mujoco.MjModel:
        head = OPTION.format(gravity=self.gravity) + CONTACT.format(mu=self.mu)
        return mujoco.MjModel.from_xml_string(f"<mujoco>{head}<worldbody>{self.scene}</worldbody></mujoco>")

    def error(self, found: float) -> float:
        """Relative; of what must not move, to a metre a second."""
        return abs(found - self.wanted) / (abs(self.wanted) or 1.0)


PLANE = '<geom type="plane" size="9 9 1"/>'
BALL = '<body pos="0 0 .1"><freejoint/><geom type="sphere" size=".1"/></body>'
BOX = '<body pos="0 0 .05"><freejoint/><geom type="box" size=".1 .1 .05"/></body>'


def tilted(degrees: float) -> str:
    """Gravity beside a level plane, as on a slope down along x."""
    return f"{G * math.sin(math.radians(degrees))} 0 {-G * math.cos(math.radians(degrees))}"


def motions() -> dict[str, Motion]:
    """Those of Erez, Tassa and Todorov (2015) and of Drake's and RaiSim's tests that have a closed form."""
    sine, cosine = math.sin(math.radians(20)), math.cos(math.radians(20))
    return {
        # what slides without spin rolls in the end, at 5/7 of its speed
        "a ball that slides begins to roll": Motion(PLANE + BALL, (2, 0, 0, 0, 0, 0), 1.0, lambda q, v: v[0], 2 * 5 / 7),
        "its spin then": Motion(PLANE + BALL, (2, 0, 0, 0, 0, 0), 1.0, lambda q, v: 0.1 * v[4], 2 * 5 / 7),
        # 5/7 of the acceleration of what slides without friction
        "a ball rolls down a slope": Motion(
            PLANE + BALL, (0,) * 6, 1.0, lambda q, v: v[0], 5 / 7 * G * sine, gravity=tilted(20)
        ),
        "a box slides down a slope": Motion(
            PLANE + BOX, (0,) * 6, 1.0, lambda q, v: v[0], G * (sine - 0.2 * cosine), gravity=tilted(20), mu=0.2
        ),
        "a box on a slope less steep than its friction stays": Motion(
            PLANE + BOX, (0,) * 6, 1.0, lambda q, v: v[0], 0.0, gravity=tilted(20), mu=0.4
        ),
        "a box that slides stops": Motion(
            PLANE + BOX, (2, 0, 0, 0, 0, 0), 1.5, lambda q, v: q[0], 4 / (2 * 0.3 * G), mu=0.3
        ),
        "a body falls freely": Motion(
            '<body pos="0 0 9"><freejoint/><geom type="box" size=".1 .2 .3"/></body>', (1, 0, 3, 0, 0, 0), 1.0,
            # the sum of semi-implicit steps, exactly
            lambda q, v: q[2], 9 + 3 - G / 2 * (1 + H),
        ),
    }  # fmt: skip


def converged(m: mujoco.MjModel) -> ds.Model:
    """Solved as exactly here as there."""
    model = ds.Model.from_mujoco(m)
    model.opt.tolerance, model.opt.iterations = 1e-12, 100
    return model


def ends(motion: Motion) -> tuple[float, float]:
    """What is looked at, of a batch in double precision and of MuJoCo."""
    m, steps = motion.model(), round(motion.seconds / H)
    data = mujoco.MjData(m)
    data.qvel[:] = motion.qvel
    with ds.Batch(converged(m), 1, device="cpu", dtype="float64") as batch:
        batch.qvel[0] = motion.qvel
        batch.step(steps)
        mujoco.mj_step(m, data, steps)
        return motion.look(batch.qpos[0], batch.qvel[0]), motion.look(data.qpos, data.qvel)


def closed_forms() -> tuple[float, str]:
    """18: balls and boxes that slide, roll, stop and fall, and a stack of ten boxes: the largest relative error."""
    worst, told = 0.0, []
    errors = {name: tuple(motion.error(found) for found in ends(motion)) for name, motion in motions().items()}
    errors["the ground carries a stack of ten boxes"] = stack()
    for name, (here, there) in errors.items():
        # nowhere beyond MuJoCo's by more than a tenth
        worst = max(worst, here if here <= max(1.1 * there, 1e-9) else math.inf)
        told.append(f"{name} {here:.0e} ({there:.0e})")
    return worst, f"relative errors, and MuJoCo's: {', '.join(told)}"


def stack() -> tuple[float, float]:
    """Ten boxes at rest, one upon the other: relative errors of the load below, of a batch and of MuJoCo."""
    boxes = "".join(
        f'<body pos="0 0 {0.05 + 0.1 * k}"><freejoint/><geom type="box" size=".1 .1 .05" mass="1"/></body>' for k in range(10)
    )
    m, steps, weight = Motion(PLANE + boxes, (), 0, lambda q, v: 0.0, 1.0).model(), 4000, 10 * G
    data, wrench = mujoco.MjData(m), np.zeros(6)
    mujoco.mj_step(m, data, steps)
    mujoco.mj_forward(m, data)
    there = 0.0
    for k, contact in enumerate(data.contact):
        mujoco.mj_contactForce(m, data, k, wrench)
        there += wrench[0] if 0 in contact.geom else 0
    with ds.Batch(converged(m), 1, device="cpu", dtype="float64") as batch:
        batch.step(steps)
        batch.forward()
        found = batch.contacts()
        here = sum(float(found.force[0, k, 0]) for k in range(int(found.count[0])) if 0 in found.geom[0, k])
    return abs(here - weight) / weight, abs(there - weight) / weight


# --- what is conserved ---


def momenta(m: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    """Linear momentum, and angular momentum about the centre of mass, by MuJoCo's own sums."""
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:] = qpos, qvel
    mujoco.mj_forward(m, data)
    mujoco.mj_subtreeVel(m, data)
    return np.concatenate([m.body_subtreemass[0] * data.subtree_linvel[0], data.subtree_angmom[0]])


def free_motions() -> dict[str, mujoco.MjModel]:
    """Without gravity, damping or anything at rest."""
    option = '<option timestep=".002" gravity="0 0 0" integrator="{0}"/>'
    top = '<body pos="0 0 0"><freejoint/><geom type="box" size=".1 .2 .3"/></body>'
    balls = "".join(
        f'<body pos="{0.3 * k} {0.01 * k} {0.02 * k * k}"><freejoint/><geom size=".1" condim="1"/></body>' for k in range(4)
    )
    humanoid = mujoco.MjModel.from_xml_path(str(HERE / "models" / "humanoid.xml"))
    humanoid.opt.gravity[:], humanoid.opt.timestep = 0, 0.002
    humanoid.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    humanoid.dof_damping[:] = 0
    humanoid.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    scene = "<mujoco>{0}<worldbody>{1}</worldbody></mujoco>"
    return {
        "a top without torque": mujoco.MjModel.from_xml_string(scene.format(option.format("RK4"), top)),
        "balls that collide": mujoco.MjModel.from_xml_string(scene.format(option.format("Euler"), balls)),
        "a humanoid in free flight": humanoid,
    }


def momentum() -> tuple[float, str]:
    """17 again: momenta of free motions, RK4 and, where bodies collide, Euler: their drift over 1 s, relative to the largest,
    as a multiple of MuJoCo's or of 1e-10, whichever is larger."""
    worst, told = 0.0, []
    for name, m in free_motions().items():
        data, start = mujoco.MjData(m), np.random.default_rng(4).normal(0, 1, m.nv)
        if m.nbody > 2 and m.njnt == m.nbody - 1:  # balls: along a line, towards each other
            start = np.concatenate([[1.5 - k, 0, 0, 0, 0, 0] for k in range(m.njnt)])
        data.qvel[:] = start
        before = momenta(m, data.qpos, data.qvel)
        with ds.Batch(ds.Model.from_mujoco(m), 1, device="cpu", dtype="float64") as batch:
            batch.qvel[0] = start
            batch.step(500)
            mujoco.mj_step(m, data, 500)
            size = max(np.abs(before).max(), 1e-3)
            here = float(np.abs(momenta(m, batch.qpos[0], batch.qvel[0]) - before).max() / size)
            there = float(np.abs(momenta(m, data.qpos, data.qvel) - before).max() / size)
        worst = max(worst, here / max(there, 1e-10))
        told.append(f"{name} {here:.0e} ({there:.0e})")
    return worst, f"relative drift in a second, and MuJoCo's: {', '.join(told)}"


def rotation() -> tuple[float, str]:
    """20 again: a pile that is turned as a whole, and its gravity with it, in double precision."""
    turn = np.array([0.5, -0.3, 0.7, 0.4])
    turn /= np.linalg.norm(turn)
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, turn)
    matrix = matrix.reshape(3, 3)
    shapes = ('type="sphere" size=".1"', 'type="capsule" size=".06 .08"', 'type="box" size=".08 .1 .12"')
    places = [np.array([0.02 * k, 0.01 * k * k, 0.15 + 0.26 * k]) for k in range(6)]
    results = []
    for R, q in ((np.eye(3), (1, 0, 0, 0)), (matrix, tuple(turn))):
        place = [" ".join(f"{x:.17g}" for x in R @ p) for p in places]
        quat = " ".join(f"{x:.17g}" for x in q)
        bodies = "".join(
            f'<body pos="{at}" quat="{quat}"><freejoint/><geom {shapes[k % 3]}/></body>' for k, at in enumerate(place)
        )
        gravity = " ".join(f"{x:.17g}" for x in R @ [0, 0, -G])
        model = ds.Model.from_mjcf(
            f'<mujoco><option gravity="{gravity}" cone="elliptic"/><worldbody>'
            f'<geom type="plane" size="5 5 1" quat="{quat}"/>{bodies}</worldbody></mujoco>'
        )
        with ds.Batch(model, 1, device="cpu", dtype="float64") as batch:
            batch.step(300)
            results.append(batch.qpos[0].reshape(-1, 7)[:, :3] @ R)
    moved = float(np.abs(results[0] - results[1]).max())
    return moved, f"positions after 300 steps differ by {moved:.0e} m"

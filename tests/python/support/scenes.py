"""The models that tests run on, states drawn for them, and how two answers are compared.

`SCENES` maps a name to a file of tests/scenes (one feature a file), `GYM` to a model of gymnasium, `BENCH` to a
benchmark model. A state is drawn with energy: errors live in the terms quadratic in the velocity.
"""

import pathlib

import gymnasium
import mujoco
import numpy as np
from places import ROOT

_ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
_GYM_NAMES = (
    "ant half_cheetah hopper humanoid humanoidstandup inverted_pendulum inverted_double_pendulum pusher_v5 "
    "reacher swimmer walker2d_v5"
).split()

SCENES = {path.stem: path for path in sorted((ROOT / "tests" / "scenes").glob("*.xml"))}
GYM = {name: _ASSETS / f"{name}.xml" for name in _GYM_NAMES}
BENCH = {f"bench_{path.stem}": path for path in sorted((ROOT / "bench" / "models").glob("*.xml"))}
ALL = {**SCENES, **GYM, **BENCH}
MJ_INTEGRATOR = {
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}


def exactness(integrator):
    """How exact MuJoCo's steps are. Under discrete it solves iteratively where a tendon or actuator couples several dofs."""
    return 1e-7 if integrator == "discrete" else 1e-9


def compile_mj(source, *, constraints=False):
    """MuJoCo's model of a file or a string of XML; without constraints unless asked for."""
    text = str(source)
    load = mujoco.MjModel.from_xml_string if text.lstrip().startswith("<") else mujoco.MjModel.from_xml_path
    model = load(text)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    if not constraints:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


def draw_state(model, rng, *, speed=4.0, applied=True):
    """A random MjData of a model: any orientation, several rad/s, controls beyond their ranges."""
    data = mujoco.MjData(model)
    for j in range(model.njnt):
        # plain integers: numpy's do not compare with MuJoCo's enumerations from both sides
        adr, kind = model.jnt_qposadr[j], int(model.jnt_type[j])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            data.qpos[adr : adr + 3] += rng.normal(size=3)
            adr += 3
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            quat = rng.normal(size=4)
            # users write quaternions of any length
            data.qpos[adr : adr + 4] = quat / np.linalg.norm(quat) * rng.choice([1.0, 1.0, 1.3])
        else:
            data.qpos[adr] += rng.normal() * (1.0 if kind == mujoco.mjtJoint.mjJNT_HINGE else 0.3)
    data.qvel[:] = rng.normal(scale=speed, size=model.nv)
    data.ctrl[:] = rng.normal(scale=1.5, size=model.nu)
    data.act[:] = rng.normal(scale=0.7, size=model.na)
    data.mocap_pos[:] += rng.normal(scale=0.3, size=(model.nmocap, 3))
    data.mocap_quat[:] = rng.normal(size=(model.nmocap, 4))
    data.time = rng.uniform(0, 3)
    start_histories(model, data)
    if applied and rng.random() < 0.5:
        data.qfrc_applied[:] = rng.normal(size=model.nv)
        data.xfrc_applied[1:] = rng.normal(size=(model.nbody - 1, 6))
    return data


def start_histories(model, data, rng=None):
    """The samples of delayed controls up to one step ago, zero or drawn; as a Reference and a Batch keep them, (n,)."""
    kept = []
    for a in range(model.nactuator):
        count = model.actuator_history[a, 0]
        if model.actuator_delay[a] == 0 or count == 0:
            continue
        values = np.zeros((count, model.actuator_ctrlnum[a])) if rng is None else rng.normal(size=(count, model.actuator_ctrlnum[a]))
        times = data.time - model.opt.timestep * np.arange(count, 0, -1)
        mujoco.mj_initCtrlHistory(model, data, a, times, values)
        kept.append(values.T.reshape(-1))
    return np.concatenate(kept) if kept else np.zeros(0)


def copy_state(data, ref):
    """The state and inputs of an MjData into a Reference."""
    for name in ("qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"):
        getattr(ref, name)[...] = getattr(data, name)
    ref.time = data.time


def error(got, want, floor=1e-3):
    """The largest difference, relative to the largest entry (at least `floor`)."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    assert got.shape == want.shape, (got.shape, want.shape)
    if want.size == 0:
        return 0.0
    return float(np.max(np.abs(got - want)) / max(floor, np.max(np.abs(want))))


def dense_mass_matrix(model, data):
    """MuJoCo's mass matrix, full."""
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return M

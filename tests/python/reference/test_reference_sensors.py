"""Sensors that read constraint forces, against MuJoCo with its solver run to convergence."""

import mujoco
import numpy as np
import pytest
import scenes

import dualstep as ds

STATES = 200
TOLERANCE = 1e-8


def converged(path):
    model = scenes.compile_mj(path, constraints=True)
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.iterations, model.opt.tolerance = 1000, 0
    model.opt.ls_iterations, model.opt.ls_tolerance = 200, 1e-14
    return model


def near_rest(model, rng):
    """The pose of the file, moved a little: contacts, limits and loops act."""
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(scale=0.03, size=model.nv), 1)
    data.qvel[:] = rng.normal(scale=0.3, size=model.nv)
    data.xfrc_applied[1:] = rng.normal(scale=0.5, size=(model.nbody - 1, 6))
    return data


@pytest.mark.parametrize("name", ["sensor_touch", "sensor_contact_forces", "sensor_loop_forces"])
def test_sensors_of_constraint_forces(name):
    model = converged(scenes.SCENES[name])
    ref = ds.Reference(ds.Model.from_mujoco(model))
    sites = model.site_pos.copy()
    rng = np.random.default_rng(8)
    seen = np.zeros(model.nsensordata, int)
    for _ in range(STATES):
        if name == "sensor_touch":
            # other zones each time, some of them next to the contacts
            model.site_pos[:] = sites + rng.normal(scale=0.05, size=sites.shape)
            ref = ds.Reference(ds.Model.from_mujoco(model))
        data = near_rest(model, rng)
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        scenes.copy_state(data, ref)
        ref.forward()
        for array in ("sensordata", "cfrc_ext", "cfrc_int", "cacc"):
            assert scenes.error(getattr(ref, array), getattr(data, array)) <= TOLERANCE, array
        seen += data.sensordata != 0
    if name != "sensor_touch":
        assert seen.all()
        return
    # every zone but the one away from all contacts is met by some contacts and missed by others
    for s in range(model.nsensor):
        count = seen[model.sensor_adr[s]]
        assert count == 0 if model.site(model.sensor_objid[s]).name == "away" else 5 < count < STATES, (s, count)

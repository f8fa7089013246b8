"""Actuators on free and ball joints, whose lengths, velocities and moments are MuJoCo's."""

import mujoco
import numpy as np
import pytest

import dualstep as ds

SCENE = """<mujoco><option gravity="0 0 -2"/><worldbody>
<body name="free" pos="0 0 1"><freejoint name="free"/><geom type="box" size=".1 .2 .05" mass="1"/></body>
<body name="ball" pos="1 0 1"><joint name="ball" type="ball"/><geom type="capsule" size=".03" fromto="0 0 0 .2 .1 .3" mass="1"/></body>
</worldbody><actuator>
<velocity {kind}="free" gear="1 -.7 .4 .3 .2 -.5" kv="2"/><velocity {kind}="free" gear="0 0 0 1 2 3" kv=".1"/>
<position {kind}="ball" gear="1 .5 -.3" kp=".4" kv=".2"/><motor {kind}="ball" gear="0 1 0"/>
</actuator></mujoco>"""


@pytest.mark.parametrize("kind", ["joint", "jointinparent"])
def test_free_and_ball_joints_pull_as_mujocos(kind, rng):
    mj = mujoco.MjModel.from_xml_string(SCENE.format(kind=kind))
    data, count = mujoco.MjData(mj), 8
    with ds.Batch(ds.Model.from_mujoco(mj), count, dtype="float64") as sim:
        wanted = []
        for env in range(count):
            mujoco.mj_resetData(mj, data)
            mujoco.mj_integratePos(mj, data.qpos, rng.normal(size=mj.nv), 1)
            data.qvel[:], data.ctrl[:] = rng.normal(size=mj.nv), rng.normal(size=mj.nu)
            sim.qpos[env], sim.qvel[env], sim.ctrl[env] = data.qpos, data.qvel, data.ctrl
            mujoco.mj_forward(mj, data)
            wanted.append([data.qfrc_actuator.copy(), data.actuator_force.copy(), data.qacc.copy()])
        sim.forward()
        for name, values in zip(("qfrc_actuator", "actuator_force", "qacc"), zip(*wanted), strict=True):
            np.testing.assert_allclose(getattr(sim, name), values, rtol=1e-9, atol=1e-10, err_msg=name)


SWITCHED_OFF = """<mujoco><option integrator="{integrator}" actuatorgroupdisable="{group}"><flag actuation="{actuation}"/></option>
<worldbody><body><joint name="a" axis="0 1 0" actuatorfrcrange=".1 2"/><geom size=".1" pos="0 0 .3"/>
<body pos="0 0 .5"><joint name="b" axis="0 1 0"/><geom size=".1" pos="0 0 .3"/></body></body></worldbody>
<tendon><fixed name="t" {tendon}><joint joint="a" coef="1"/><joint joint="b" coef=".5"/></fixed></tendon><actuator>
<motor tendon="t" group="1" forcerange=".5 2"/><position joint="a" kp="3" group="1" forcerange=".2 1"/>
<position joint="b" kp="2" group="2" forcerange="-1 -.3"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize("tendon", ["", 'actuatorfrcrange="-3 .4"'])
@pytest.mark.parametrize("actuation, group", [("enable", 1), ("enable", 2), ("disable", 1), ("disable", 0)])
def test_ranges_without_zero_where_actuators_are_off(actuation, group, tendon, integrator):
    """A disabled group leaves its actuators' ranges; without actuation there is no range, nor one of a joint."""
    text = SWITCHED_OFF.format(actuation=actuation, group=group, tendon=tendon, integrator=integrator)
    model = ds.Model.from_mjcf(text)
    data, reference = mujoco.MjData(model.mj_model), ds.Reference(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = [0.3, -0.2], [0.1, 0.4], [0.7, -0.3, 0.2]
    with ds.Batch(model, 1, dtype="float64") as sim:
        for name in ("qpos", "qvel", "ctrl"):
            getattr(sim, name)[0] = getattr(reference, name)[:] = getattr(data, name)
        mujoco.mj_step(model.mj_model, data)
        sim.step()
        reference.step()
        for ours in (sim.qvel[0], reference.qvel):
            np.testing.assert_allclose(ours, data.qvel, rtol=0, atol=1e-12)
    forces = data.actuator_force
    assert (forces != 0).any() == (actuation == "enable")

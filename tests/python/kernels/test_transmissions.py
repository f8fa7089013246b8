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
